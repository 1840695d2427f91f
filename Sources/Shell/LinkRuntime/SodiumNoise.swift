package import NoiseProtocol
package import SodiumCrypto

/// libsodium's functions in the shape that the handshake wants.
package enum SodiumNoise {
    package static func primitives(_ suite: AEADSuite) -> NoisePrimitives {
        NoisePrimitives(
            dh: NoisePrimitives.DH(name: "25519", keyByteCount: X25519.keyByteCount) {
                keyPair(X25519.generate())
            },
            cipher: cipher(suite),
            hash: NoisePrimitives.Hash(
                name: "BLAKE2b", byteCount: 64, digest: { first, second in Sodium.blake2b512(first, second) },
                hmac: { key, message in Sodium.hmacBlake2b(key: key, message) }),
            wipe: { bytes in Sodium.wipe(&bytes) })
    }

    package static func keyPair(_ pair: X25519.KeyPair) -> DHKeyPair {
        DHKeyPair(publicKey: pair.publicKey) { other in
            X25519.sharedSecret(secret: pair.secretKey, public: other)?.copied()
        }
    }

    private static func cipher(_ suite: AEADSuite) -> NoisePrimitives.Cipher {
        NoisePrimitives.Cipher(
            name: suite == .chaChaPoly ? "ChaChaPoly" : "AESGCM",
            seal: { key, nonce, data, text in
                AEADKey(suite: suite, key: key).seal(text, nonce: nonce, associatedData: data)
            },
            open: { key, nonce, data, text in
                AEADKey(suite: suite, key: key).open(text, nonce: nonce, associatedData: data)
            })
    }
}
