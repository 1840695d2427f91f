package import SodiumCrypto

/// The relay's word for its static key, signed by its identity. Source: link.md, "Handshake".
package struct LinkCertificate: Equatable, Sendable {
    package static let byteCount = 145

    package let identity: [UInt8]
    package let staticKey: [UInt8]
    /// Units: seconds since 1970.
    package let notBefore: Int64
    package let notAfter: Int64
    package let bytes: [UInt8]

    package enum Problem: Error, Equatable, Sendable, CaseIterable, CustomStringConvertible {
        case malformed
        case badSignature
        /// Signed for another static key than the one of this handshake.
        case otherStaticKey
        case tooEarly
        case expired
        /// Right in itself, but not the relay that was asked for.
        case otherIdentity

        package var description: String {
            switch self {
            case .malformed: "its certificate does not decode"
            case .badSignature: "the signature of its certificate is wrong"
            case .otherStaticKey: "its certificate is for another key than the one it uses"
            case .tooEarly: "its certificate is not valid yet; compare the clocks"
            case .expired: "its certificate is not valid any more; compare the clocks"
            case .otherIdentity: "it proves to be another relay"
            }
        }
    }

    /// Signs a certificate.
    package init(identity: Ed25519.KeyPair, staticKey: [UInt8], notBefore: Int64, notAfter: Int64) {
        precondition(staticKey.count == 32, "a static key has 32 bytes")
        precondition(notBefore < notAfter, "a certificate is valid for some time")
        var bytes: [UInt8] = [1] + identity.publicKey + staticKey
        for time in [notBefore, notAfter] {
            for shift in stride(from: 56, through: 0, by: -8) {
                bytes.append(UInt8(truncatingIfNeeded: time >> shift))
            }
        }
        bytes += Ed25519.sign(Self.domain + bytes, with: identity)
        self.identity = identity.publicKey
        self.staticKey = staticKey
        self.notBefore = notBefore
        self.notAfter = notAfter
        self.bytes = bytes
    }

    /// Reads a certificate and checks its signature, nothing else.
    package init(bytes: [UInt8]) throws(Problem) {
        guard bytes.count == Self.byteCount, bytes[0] == 1 else { throw .malformed }
        identity = Array(bytes[1..<33])
        staticKey = Array(bytes[33..<65])
        notBefore = Int64(bitPattern: bytes[65..<73].reduce(0) { $0 << 8 | UInt64($1) })
        notAfter = Int64(bitPattern: bytes[73..<81].reduce(0) { $0 << 8 | UInt64($1) })
        self.bytes = bytes
        let signed = Self.domain + bytes[..<81]
        guard Ed25519.verify(signature: Array(bytes[81...]), message: signed, publicKey: identity) else {
            throw .badSignature
        }
    }

    /// What a client checks of the payload of message 2.
    package static func check(
        _ payload: [UInt8], handshakeStatic: [UInt8]?, expectedIdentity: [UInt8]?, nowSeconds: Int64
    ) throws(Problem) -> LinkCertificate {
        let certificate = try LinkCertificate(bytes: payload)
        guard certificate.staticKey == handshakeStatic else { throw .otherStaticKey }
        if let expectedIdentity, certificate.identity != expectedIdentity { throw .otherIdentity }
        // Subtracting from or adding to the peer's numbers could overflow; ours are small.
        guard nowSeconds + toleranceSeconds >= certificate.notBefore else { throw .tooEarly }
        guard nowSeconds - toleranceSeconds <= certificate.notAfter else { throw .expired }
        return certificate
    }

    package static let toleranceSeconds: Int64 = 300
    private static let domain = Array("antenna/1 static key".utf8)
}
