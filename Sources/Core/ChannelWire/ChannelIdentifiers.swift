/// What a channel is called for ever: SHA-256 of its raw root public key. **Shape**: 32 bytes.
///
/// **Source**: docs/protocol/channel.md, "Ids and keys".
package struct ChannelID: Hashable, Sendable, CustomStringConvertible {
    package static let byteCount = Bytes32.byteCount
    private let content: Bytes32
    package var bytes: [UInt8] { content.bytes }

    package init?(bytes: [UInt8]) {
        guard let content = Bytes32(bytes) else { return nil }
        self.content = content
    }
    /// Base64url, padded or not.
    package init?(text: some StringProtocol) {
        guard let bytes = Base64URL.decode(text) else { return nil }
        self.init(bytes: bytes)
    }
    package init(rootKey: PublicKey, sha256: ([UInt8]) -> [UInt8]) {
        guard let content = Bytes32(sha256(rootKey.raw)) else {
            preconditionFailure("SHA-256 gives 32 bytes")
        }
        self.content = content
    }
    package var text: String { Base64URL.encode(bytes) }
    /// As links write it.
    package var unpaddedText: String { Base64URL.encode(bytes, padded: false) }
    package var description: String { text }
}

/// Names a member within one channel. **Shape**: 1 to 255 opaque bytes, 16 ASCII characters when we make it.
package struct MemberID: Hashable, Sendable, CustomStringConvertible {
    package let bytes: [UInt8]

    package init?(bytes: [UInt8]) {
        guard 1...Limits.identifierBytesMax ~= bytes.count else { return nil }
        self.bytes = bytes
    }
    package init?(text: some StringProtocol) {
        guard let bytes = Base64URL.decode(text) else { return nil }
        self.init(bytes: bytes)
    }
    /// A new id from 12 random bytes: the ASCII characters of their base64url.
    package init(random: [UInt8]) { bytes = newIdentifier(random) }
    package var text: String { Base64URL.encode(bytes) }
    package var description: String { text }
}

/// Names a message of one author within one channel. **Shape**: 1 to 255 opaque bytes.
package struct MessageID: Hashable, Sendable, CustomStringConvertible {
    package let bytes: [UInt8]

    package init?(bytes: [UInt8]) {
        guard 1...Limits.identifierBytesMax ~= bytes.count else { return nil }
        self.bytes = bytes
    }
    package init?(text: some StringProtocol) {
        guard let bytes = Base64URL.decode(text) else { return nil }
        self.init(bytes: bytes)
    }
    /// A new id from 12 random bytes: the ASCII characters of their base64url.
    package init(random: [UInt8]) { bytes = newIdentifier(random) }
    package var text: String { Base64URL.encode(bytes) }
    package var description: String { text }
}

private func newIdentifier(_ random: [UInt8]) -> [UInt8] {
    precondition(random.count == 12, "an identifier is made from 12 random bytes")
    return Array(Base64URL.encode(random).utf8)
}

/// An Ed25519 public key. **Shape**: 32 bytes raw, 44 as DER SubjectPublicKeyInfo.
package struct PublicKey: Hashable, Sendable, CustomStringConvertible {
    package static let byteCount = Bytes32.byteCount
    private static let derPrefix: [UInt8] = [
        0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00,
    ]
    private let content: Bytes32
    package var raw: [UInt8] { content.bytes }

    package init?(raw: [UInt8]) {
        guard let content = Bytes32(raw) else { return nil }
        self.content = content
    }
    package init?(der: [UInt8]) {
        guard der.starts(with: Self.derPrefix), let content = Bytes32(der.dropFirst(Self.derPrefix.count))
        else { return nil }
        self.content = content
    }
    /// Base64url of the DER form.
    package init?(text: some StringProtocol) {
        guard let der = Base64URL.decode(text) else { return nil }
        self.init(der: der)
    }
    package var der: [UInt8] { Self.derPrefix + raw }
    package var text: String { Base64URL.encode(der) }
    package var description: String { text }
}

/// An Ed25519 signature. **Shape**: 64 bytes.
package struct Signature: Hashable, Sendable {
    package static let byteCount = 64
    package let bytes: [UInt8]

    package init?(bytes: [UInt8]) {
        guard bytes.count == Self.byteCount else { return nil }
        self.bytes = bytes
    }
    package init?(text: some StringProtocol) {
        guard let bytes = Base64URL.decode(text) else { return nil }
        self.init(bytes: bytes)
    }
    package var text: String { Base64URL.encode(bytes) }
}

extension ByteReader {
    package mutating func channelID() throws(WireError) -> ChannelID {
        guard let id = ChannelID(bytes: try take(ChannelID.byteCount)) else { throw .malformed("channel id") }
        return id
    }
    package mutating func memberID() throws(WireError) -> MemberID {
        guard let id = MemberID(bytes: try len8()) else { throw .malformed("a member id has 1 to 255 bytes") }
        return id
    }
    package mutating func messageID() throws(WireError) -> MessageID {
        guard let id = MessageID(bytes: try len8()) else {
            throw .malformed("a message id has 1 to 255 bytes")
        }
        return id
    }
    /// A key in its DER form with a one-byte length.
    package mutating func publicKey() throws(WireError) -> PublicKey {
        guard let key = PublicKey(der: try len8()) else {
            throw .malformed("a key is 44 bytes of Ed25519 DER")
        }
        return key
    }
    package mutating func signature() throws(WireError) -> Signature {
        guard let signature = Signature(bytes: try len8()) else {
            throw .malformed("a signature has 64 bytes")
        }
        return signature
    }
}
