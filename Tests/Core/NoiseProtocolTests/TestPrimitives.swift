import NoiseProtocol
import SodiumCrypto

/// libsodium in the shape that the handshake takes.
enum TestPrimitives {
    static func make(_ suite: AEADSuite) -> NoisePrimitives {
        NoisePrimitives(
            dh: NoisePrimitives.DH(name: "25519", keyByteCount: 32) { keyPair(X25519.generate()) },
            cipher: NoisePrimitives.Cipher(
                name: suite == .aesGCM ? "AESGCM" : "ChaChaPoly",
                seal: { key, nonce, data, text in
                    AEADKey(suite: suite, key: key).seal(text, nonce: nonce, associatedData: data)
                },
                open: { key, nonce, data, text in
                    AEADKey(suite: suite, key: key).open(text, nonce: nonce, associatedData: data)
                }),
            hash: NoisePrimitives.Hash(
                name: "BLAKE2b", byteCount: 64, digest: { Sodium.blake2b512($0, $1) },
                hmac: { Sodium.hmacBlake2b(key: $0, $1) }),
            wipe: { Sodium.wipe(&$0) })
    }

    static func keyPair(_ pair: X25519.KeyPair) -> DHKeyPair {
        DHKeyPair(publicKey: pair.publicKey) { other in
            X25519.sharedSecret(secret: pair.secretKey, public: other)?.copied()
        }
    }

    static func keyPair(secret: [UInt8]) -> DHKeyPair { keyPair(X25519.keyPair(seed: secret)) }

    /// The suites that this processor has.
    static let suites: [AEADSuite] = AEADSuite.aesAvailable ? [.chaChaPoly, .aesGCM] : [.chaChaPoly]
}
