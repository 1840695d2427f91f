/// The cryptography that a handshake uses, handed in from outside.
package struct NoisePrimitives: Sendable {
    /// One Diffie-Hellman function of the specification's section 4.1.
    package struct DH: Sendable {
        package let name: String
        /// The size of public keys. Units: bytes (DHLEN).
        package let keyByteCount: Int
        package let generateKeyPair: @Sendable () -> DHKeyPair

        package init(name: String, keyByteCount: Int, generateKeyPair: @escaping @Sendable () -> DHKeyPair) {
            self.name = name
            self.keyByteCount = keyByteCount
            self.generateKeyPair = generateKeyPair
        }
    }

    /// One cipher of section 4.2. Both functions take: key, nonce, associated data, text.
    package struct Cipher: Sendable {
        package typealias Seal =
            @Sendable (_ key: [UInt8], _ nonce: UInt64, _ data: [UInt8], _ text: [UInt8]) -> [UInt8]
        package typealias Open =
            @Sendable (_ key: [UInt8], _ nonce: UInt64, _ data: [UInt8], _ text: [UInt8]) -> [UInt8]?

        package let name: String
        package let seal: Seal
        /// Answers nil when the text was not sealed with this key, nonce and data.
        package let open: Open

        package init(name: String, seal: @escaping Seal, open: @escaping Open) {
            self.name = name
            (self.seal, self.open) = (seal, open)
        }
    }

    /// One hash function of section 4.3, and HMAC over it.
    package struct Hash: Sendable {
        package let name: String
        /// Units: bytes (HASHLEN).
        package let byteCount: Int
        /// The hash of two byte strings, one after the other.
        package let digest: @Sendable (_ first: [UInt8], _ second: [UInt8]) -> [UInt8]
        package let hmac: @Sendable (_ key: [UInt8], _ message: [UInt8]) -> [UInt8]

        package init(
            name: String, byteCount: Int, digest: @escaping @Sendable ([UInt8], [UInt8]) -> [UInt8],
            hmac: @escaping @Sendable ([UInt8], [UInt8]) -> [UInt8]
        ) {
            self.name = name
            self.byteCount = byteCount
            self.digest = digest
            self.hmac = hmac
        }
    }

    package let dh: DH
    package let cipher: Cipher
    package let hash: Hash
    /// Overwrites an array's memory in a way that is not optimised away, and empties it.
    package let wipe: @Sendable (inout [UInt8]) -> Void

    package init(dh: DH, cipher: Cipher, hash: Hash, wipe: @escaping @Sendable (inout [UInt8]) -> Void) {
        self.dh = dh
        self.cipher = cipher
        self.hash = hash
        self.wipe = wipe
    }

    /// HKDF of section 4.3, with two outputs.
    func hkdf(chainingKey: [UInt8], input: [UInt8]) -> ([UInt8], [UInt8]) {
        var temporary = hash.hmac(chainingKey, input)
        let first = hash.hmac(temporary, [1])
        var chained = first + [2]
        let second = hash.hmac(temporary, chained)
        wipe(&temporary)
        wipe(&chained)
        return (first, second)
    }
}

/// A key pair whose secret half stays outside: what remains of it here is the function that uses it.
package struct DHKeyPair: Sendable {
    package let publicKey: [UInt8]
    /// The secret shared with the owner of another public key, or nil when that key is unusable.
    package let sharedSecret: @Sendable (_ publicKey: [UInt8]) -> [UInt8]?

    package init(publicKey: [UInt8], sharedSecret: @escaping @Sendable ([UInt8]) -> [UInt8]?) {
        self.publicKey = publicKey
        self.sharedSecret = sharedSecret
    }
}

/// Why a handshake message, or a message after it, was refused.
package enum NoiseError: Error, Equatable, Sendable {
    /// The message ends before what its pattern calls for.
    case truncated(needed: Int, have: Int)
    /// More than the 65535 bytes that a Noise message may have.
    case tooLong(Int)
    /// Not sealed with the key, the nonce and the history that we have.
    case notAuthentic
    /// A public key with which no secret can be shared.
    case unusableKey
    /// The 2^64 - 1 nonces of a key are used up.
    case nonceExhausted
}

extension NoiseError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .truncated(let needed, let have): "truncated: needs \(needed) bytes, has \(have)"
        case .tooLong(let count): "too long: \(count) bytes"
        case .notAuthentic: "not sealed by who it should be, or changed on the way"
        case .unusableKey: "a key with which no secret can be shared"
        case .nonceExhausted: "the key has been used as often as it may"
        }
    }
}
