internal import ChannelWire
internal import SodiumCrypto
internal import ZstdKit

extension ChannelCrypto {
    /// libsodium and libzstd for what Core checks.
    static let client = ChannelCrypto(
        verify: { signature, message, key in
            Ed25519.verify(signature: signature.bytes, message: message, publicKey: key.raw)
        },
        sha256: { Sodium.sha256($0) },
        sha512: { Sodium.sha512($0) },
        decompress: { Zstd.decompress($0, limit: $1) },
        compress: { Zstd.compress($0) })
}

extension Ed25519.KeyPair {
    var key: PublicKey {
        guard let key = PublicKey(raw: publicKey) else { preconditionFailure("an Ed25519 key has 32 bytes") }
        return key
    }

    func signature(over message: [UInt8]) -> Signature {
        guard let signature = Signature(bytes: Ed25519.sign(message, with: self)) else {
            preconditionFailure("an Ed25519 signature has 64 bytes")
        }
        return signature
    }
}

extension MemberID {
    static func fresh() -> MemberID { MemberID(random: Sodium.random(12)) }
}

extension MessageID {
    static func fresh() -> MessageID { MessageID(random: Sodium.random(12)) }
}
