internal import CSodium

/// Signatures: Ed25519 as in RFC 8032, without prehashing.
package enum Ed25519 {
    package static let seedByteCount = 32
    package static let publicKeyByteCount = 32
    package static let signatureByteCount = 64

    package struct KeyPair: Sendable {
        package let publicKey: [UInt8]
        /// The secret key as libsodium keeps it. Shape: 32 bytes of seed, then the 32 of the public key.
        package let secretKey: SecretBytes

        /// The key pair that belongs to 32 bytes of seed.
        package init(seed: SecretBytes) {
            precondition(seed.count == seedByteCount, "an Ed25519 seed has 32 bytes")
            var publicKey = [UInt8](repeating: 0, count: publicKeyByteCount)
            secretKey = unsafe SecretBytes(count: Int(crypto_sign_ed25519_SECRETKEYBYTES)) { out in
                unsafe seed.withPointer { seed in
                    unsafe _ = crypto_sign_ed25519_seed_keypair(&publicKey, out, seed)
                }
            }
            self.publicKey = publicKey
        }

        package init(seed: [UInt8]) { self.init(seed: SecretBytes(seed)) }

        package static func generate() -> KeyPair { KeyPair(seed: .random(seedByteCount)) }

        /// The seed, which is all that a key file needs to keep.
        package var seed: SecretBytes {
            unsafe SecretBytes(count: seedByteCount) { out in
                unsafe secretKey.withPointer { secret in
                    unsafe _ = crypto_sign_ed25519_sk_to_seed(out, secret)
                }
            }
        }
    }

    /// Shape: 64 bytes, the same for the same message and key.
    package static func sign(_ message: [UInt8], with key: KeyPair) -> [UInt8] {
        var signature = [UInt8](repeating: 0, count: signatureByteCount)
        unsafe key.secretKey.withPointer { secret in
            unsafe _ = crypto_sign_ed25519_detached(&signature, nil, message, UInt64(message.count), secret)
        }
        return signature
    }

    /// Whether the signature is right: no second encoding of it, and no key of small order, will do.
    package static func verify(signature: [UInt8], message: [UInt8], publicKey: [UInt8]) -> Bool {
        guard signature.count == signatureByteCount, publicKey.count == publicKeyByteCount else {
            return false
        }
        return unsafe crypto_sign_ed25519_verify_detached(
            signature, message, UInt64(message.count), publicKey) == 0
    }
}
