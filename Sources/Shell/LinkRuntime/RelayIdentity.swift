internal import ChannelWire
package import SodiumCrypto

/// What a loop needs to answer handshakes: the static key and the certificate for it.
package struct RelayLinkIdentity: Sendable {
    package let staticKey: X25519.KeyPair
    package let certificate: LinkCertificate

    package init(staticKey: X25519.KeyPair, certificate: LinkCertificate) {
        precondition(staticKey.publicKey == certificate.staticKey, "the certificate is for this static key")
        self.staticKey = staticKey
        self.certificate = certificate
    }
}

/// The keys of a relay: the identity that its address names, and the static key of its links.
///
/// The identity's secret may stay off the machine: then `identity` is nil, and a new static key comes with a
/// certificate made elsewhere.
package struct RelayIdentity: Sendable {
    package let identity: Ed25519.KeyPair?
    package let link: RelayLinkIdentity

    package var publicKey: [UInt8] { link.certificate.identity }

    /// Fresh keys. Units: `validSeconds` from `nowSeconds` on.
    package static func create(nowSeconds: Int64, validSeconds: Int64 = defaultValidSeconds) -> RelayIdentity
    {
        issue(Ed25519.KeyPair.generate(), nowSeconds, validSeconds)
    }

    /// The same identity with a new static key and certificate; nil when the identity's secret is not here.
    package func rotated(nowSeconds: Int64, validSeconds: Int64 = defaultValidSeconds) -> RelayIdentity? {
        identity.map { Self.issue($0, nowSeconds, validSeconds) }
    }

    /// Whether the certificate should be replaced: less than a third of its time is left, or a clock that was
    /// ahead has made it and its time has not come yet.
    package func shouldRotate(nowSeconds: Int64) -> Bool {
        // A file of other making may hold any numbers; those before 1970 cannot overflow what follows.
        let from = max(0, link.certificate.notBefore)
        let until = max(0, link.certificate.notAfter)
        let now = max(0, nowSeconds)
        return now < from || until - now < (until - from) / 3
    }

    /// What a machine needs that only answers links: everything but the identity's secret.
    package var withoutIdentitySecret: RelayIdentity { RelayIdentity(identity: nil, link: link) }

    package static let defaultValidSeconds: Int64 = 365 * 86400

    private static func issue(_ identity: Ed25519.KeyPair, _ now: Int64, _ valid: Int64) -> RelayIdentity {
        let staticKey = X25519.generate()
        let certificate = LinkCertificate(
            // An hour back, for peers whose clocks are behind.
            identity: identity, staticKey: staticKey.publicKey, notBefore: now - 3600, notAfter: now + valid)
        return RelayIdentity(
            identity: identity, link: RelayLinkIdentity(staticKey: staticKey, certificate: certificate))
    }
}

// MARK: - The file

/// ```
/// antenna relay identity 1
/// identity-secret BASE64URL        (absent when it is kept elsewhere)
/// static-secret BASE64URL
/// certificate BASE64URL
/// ```
extension RelayIdentity {
    package enum FileProblem: Error, Equatable, Sendable, CustomStringConvertible {
        case notAnIdentity
        case line(Int)
        case missing(String)
        case certificate(LinkCertificate.Problem)
        /// Keys and certificate in the file do not belong together.
        case mismatch

        package var description: String {
            switch self {
            case .notAnIdentity: "not a relay identity file"
            case .line(let number): "line \(number) of the relay identity file cannot be read"
            case .missing(let name): "the relay identity file has no \(name)"
            case .certificate(let problem): "the certificate in the relay identity file is wrong: \(problem)"
            case .mismatch: "the keys in the relay identity file do not belong together"
            }
        }
    }

    /// The bytes of the file; it holds secrets, so its mode is 0600.
    package func encode() -> [UInt8] {
        var text = Self.firstLine + "\n"
        if let identity {
            text += "identity-secret \(Base64URL.encode(identity.seed.copied(), padded: false))\n"
        }
        text += "static-secret \(Base64URL.encode(link.staticKey.secretKey.copied(), padded: false))\n"
        text += "certificate \(Base64URL.encode(link.certificate.bytes, padded: false))\n"
        return Array(text.utf8)
    }

    package static func decode(_ bytes: [UInt8]) throws(FileProblem) -> RelayIdentity {
        let lines = String(decoding: bytes, as: UTF8.self).split(
            separator: "\n", omittingEmptySubsequences: false)
        guard lines.first.map(String.init) == firstLine else { throw .notAnIdentity }
        var values: [String: [UInt8]] = [:]
        for (index, line) in lines.enumerated().dropFirst() where !line.isEmpty {
            let words = line.split(separator: " ")
            guard words.count == 2,
                ["identity-secret", "static-secret", "certificate"].contains(String(words[0])),
                values[String(words[0])] == nil, let value = Base64URL.decode(String(words[1]))
            else { throw .line(index + 1) }
            values[String(words[0])] = value
        }
        guard let secret = values["static-secret"] else { throw .missing("static-secret") }
        guard let certificateBytes = values["certificate"] else { throw .missing("certificate") }
        guard secret.count == X25519.keyByteCount else { throw .mismatch }
        let certificate: LinkCertificate
        do throws(LinkCertificate.Problem) {
            certificate = try LinkCertificate(bytes: certificateBytes)
        } catch {
            throw .certificate(error)
        }
        let staticKey = X25519.KeyPair(secretKey: SecretBytes(secret))
        guard staticKey.publicKey == certificate.staticKey else { throw .mismatch }
        var identity: Ed25519.KeyPair?
        if let seed = values["identity-secret"] {
            guard seed.count == Ed25519.seedByteCount else { throw .mismatch }
            let pair = Ed25519.KeyPair(seed: seed)
            guard pair.publicKey == certificate.identity else { throw .mismatch }
            identity = pair
        }
        return RelayIdentity(
            identity: identity, link: RelayLinkIdentity(staticKey: staticKey, certificate: certificate))
    }

    private static let firstLine = "antenna relay identity 1"
}
