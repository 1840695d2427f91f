/// The channel's self-certifying description, decoded but not yet checked. **Source**:
/// docs/protocol/channel.md.
package struct ChannelRecord: Hashable, Sendable {
    /// One relay of the channel.
    package struct Relay: Hashable, Sendable {
        package let member: MemberID
        /// The relay's member key for this channel.
        package let key: PublicKey
        /// The key of the relay's address.
        package let identity: PublicKey
        /// A `g` link.
        package let link: String
        package init(member: MemberID, key: PublicKey, identity: PublicKey, link: String) {
            self.member = member
            self.key = key
            self.identity = identity
            self.link = link
        }
    }

    package let signature: Signature
    /// Nil: signed by the root key.
    package let signer: MemberID?
    package let content: Content
    /// The whole record, verbatim.
    package let bytes: [UInt8]
    /// What the signature covers, after the domain.
    let body: [UInt8]

    /// What an owner writes before signing.
    package struct Content: Hashable, Sendable {
        package var rootKey: PublicKey
        /// Strictly rising, from 1.
        package var version: Int64
        package var owners: [OwnerAuth]
        package var relays: [Relay]
        /// -1: no roster yet.
        package var rosterVersion: Int64
        /// SHA-512 of the roster blob, or empty.
        package var rosterDigest: [UInt8]
        /// Members without relays; owners count.
        package var memberCount: Int64
        /// JSON of the group profile, as its author wrote it.
        package var profile: [UInt8]

        package init(
            rootKey: PublicKey, version: Int64, owners: [OwnerAuth], relays: [Relay], rosterVersion: Int64,
            rosterDigest: [UInt8], memberCount: Int64, profile: [UInt8]
        ) {
            self.rootKey = rootKey
            self.version = version
            self.owners = owners
            self.relays = relays
            self.rosterVersion = rosterVersion
            self.rosterDigest = rosterDigest
            self.memberCount = memberCount
            self.profile = profile
        }
    }

    static let domain = "antenna/1 channel record"
    static let formatVersion: UInt8 = 1

    /// What a record's signature is over.
    static func signatureInput(body: [UInt8]) -> [UInt8] { Array(domain.utf8) + body }

    /// - Throws: `WireError` when the record is over 13784 bytes or does not fit its grammar.
    package static func decode(_ bytes: [UInt8]) throws(WireError) -> ChannelRecord {
        guard bytes.count <= Limits.channelRecordMax else {
            throw .tooLarge(limit: Limits.channelRecordMax, have: bytes.count)
        }
        var reader = ByteReader(bytes)
        guard try reader.octet() == formatVersion else { throw .malformed("a record begins with 01") }
        let signature = try reader.signature()
        let signer = try reader.len8()
        let body = reader.tail()
        return ChannelRecord(
            signature: signature, signer: MemberID(bytes: signer), content: try decodeContent(body),
            bytes: bytes,
            body: body)
    }

    /// Encodes and signs. The result is within the limit or nil.
    package static func make(
        _ content: Content, signer: MemberID?, sign: (_ message: [UInt8]) -> Signature
    ) -> ChannelRecord? {
        guard let body = encode(content) else { return nil }
        let signature = sign(signatureInput(body: body))
        var writer = ByteWriter(reserving: body.count + 100)
        writer.octet(formatVersion)
        writer.len8(signature.bytes)
        writer.len8(signer?.bytes ?? [])
        writer.raw(body)
        guard writer.bytes.count <= Limits.channelRecordMax else { return nil }
        return ChannelRecord(
            signature: signature, signer: signer, content: content, bytes: writer.bytes, body: body)
    }

    private static func encode(_ content: Content) -> [UInt8]? {
        guard 1...Limits.recordOwnersMax ~= content.owners.count,
            content.relays.count <= Limits.recordRelaysMax,
            content.profile.count <= Limits.channelRecordMax,
            content.relays.allSatisfy({ $0.link.utf8.count <= Limits.linkTextMax })
        else { return nil }
        var writer = ByteWriter(reserving: 1024)
        writer.len8(content.rootKey.der)
        writer.int64(content.version)
        writer.octet(UInt8(content.owners.count))
        for owner in content.owners { owner.encode(into: &writer) }
        writer.octet(UInt8(content.relays.count))
        for relay in content.relays {
            var inner = ByteWriter(reserving: 256)
            inner.len8(relay.member.bytes)
            inner.len8(relay.key.der)
            inner.len8(relay.identity.der)
            inner.text16(relay.link)
            writer.len16(inner.bytes)
        }
        writer.int64(content.rosterVersion)
        writer.len8(content.rosterDigest)
        writer.int64(content.memberCount)
        writer.len16(content.profile)
        return writer.bytes
    }

    private static func decodeContent(_ body: [UInt8]) throws(WireError) -> Content {
        var reader = ByteReader(body)
        let rootKey = try reader.publicKey()
        let version = try reader.int64()
        guard version >= 1 else { throw .malformed("a record's version is at least 1") }
        let ownerCount = try reader.octet()
        guard 1...Limits.recordOwnersMax ~= Int(ownerCount) else {
            throw .tooMany(limit: Limits.recordOwnersMax)
        }
        var owners: [OwnerAuth] = []
        for _ in 0..<ownerCount { owners.append(try OwnerAuth.decode(from: &reader)) }
        let relayCount = try reader.octet()
        guard Int(relayCount) <= Limits.recordRelaysMax else { throw .tooMany(limit: Limits.recordRelaysMax) }
        var relays: [Relay] = []
        for _ in 0..<relayCount { relays.append(try decodeRelay(try reader.len16())) }
        guard Set(relays.map(\.member)).count == relays.count else {
            throw .malformed("a relay is listed twice")
        }
        let rosterVersion = try reader.int64()
        let rosterDigest = try reader.len8()
        guard rosterDigest.isEmpty || rosterDigest.count == 64 else {
            throw .malformed("a roster digest has 64 bytes or none")
        }
        guard rosterVersion >= -1, (rosterVersion == -1) == rosterDigest.isEmpty else {
            throw .malformed("a roster version goes with a roster digest")
        }
        let memberCount = try reader.int64()
        guard memberCount >= 0 else { throw .malformed("a member count is not negative") }
        return Content(
            rootKey: rootKey, version: version, owners: owners, relays: relays, rosterVersion: rosterVersion,
            rosterDigest: rosterDigest, memberCount: memberCount, profile: try reader.len16())
    }
    private static func decodeRelay(_ bytes: [UInt8]) throws(WireError) -> Relay {
        var reader = ByteReader(bytes)
        let member = try reader.memberID()
        let key = try reader.publicKey()
        let identity = try reader.publicKey()
        let link = try reader.text16()
        guard link.utf8.count <= Limits.linkTextMax else {
            throw .tooLarge(limit: Limits.linkTextMax, have: link.utf8.count)
        }
        return Relay(member: member, key: key, identity: identity, link: link)
    }
}
