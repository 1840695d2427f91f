internal import CSodium

/// Key agreement: X25519 as in RFC 7748.
package enum X25519 {
    package static let keyByteCount = 32

    package struct KeyPair: Sendable {
        package let publicKey: [UInt8]
        package let secretKey: SecretBytes

        /// The key pair of a secret key of 32 bytes, which is clamped when it is used, not before.
        package init(secretKey: SecretBytes) {
            precondition(secretKey.count == keyByteCount, "an X25519 secret key has 32 bytes")
            var publicKey = [UInt8](repeating: 0, count: keyByteCount)
            unsafe secretKey.withPointer { secret in
                unsafe _ = crypto_scalarmult_curve25519_base(&publicKey, secret)
            }
            self.publicKey = publicKey
            self.secretKey = secretKey
        }
    }

    package static func generate() -> KeyPair { KeyPair(secretKey: .random(keyByteCount)) }

    /// The key pair whose secret key is `seed` itself.
    package static func keyPair(seed: [UInt8]) -> KeyPair { KeyPair(secretKey: SecretBytes(seed)) }

    /// The shared secret, or nil when the other's key is of the wrong size or of small order.
    package static func sharedSecret(secret: SecretBytes, `public`: [UInt8]) -> SecretBytes? {
        precondition(secret.count == keyByteCount, "an X25519 secret key has 32 bytes")
        guard `public`.count == keyByteCount else { return nil }
        var code: Int32 = -1
        let shared = unsafe SecretBytes(count: keyByteCount) { out in
            code = unsafe secret.withPointer { secret in
                unsafe crypto_scalarmult_curve25519(out, secret, `public`)
            }
        }
        return code == 0 ? shared : nil
    }
}
