internal import CSodium

/// A secret locked with a passphrase: Argon2id makes the key, XChaCha20-Poly1305 seals.
///
/// Shape: `%x01`, log2 of the memory in KiB (1 byte), passes (1 byte), salt (16), nonce (24), sealed secret
/// (+16).
package enum PassphraseBox {
    /// What it costs to try one passphrase.
    package enum Strength: Sendable {
        /// 64 MiB and two passes: some tenths of a second.
        case interactive
        /// 256 MiB and three passes: a second or so.
        case moderate
    }

    package enum Failure: Error, Equatable, Sendable, CustomStringConvertible {
        /// Not a locked secret, or cut short.
        case malformed
        /// Made by a version of this program that we do not know.
        case unknownVersion(UInt8)
        /// Opening it would cost more memory or time than any that we make.
        case costTooHigh
        case wrongPassphraseOrDamaged
        case outOfMemory

        package var description: String {
            switch self {
            case .malformed: "what is locked is cut short"
            case .unknownVersion(let version): "what is locked has the unknown version \(version)"
            case .costTooHigh: "opening it would cost too much memory or time"
            case .wrongPassphraseOrDamaged: "the passphrase is wrong, or what is locked is damaged"
            case .outOfMemory: "there is not enough memory"
            }
        }
    }

    /// Throws: `outOfMemory` only.
    package static func lock(
        _ secret: SecretBytes, passphrase: SecretBytes, strength: Strength = .moderate
    ) throws(Failure) -> [UInt8] {
        let (memory, passes): (UInt8, UInt8) =
            switch strength {
            case .interactive: (16, 2)
            case .moderate: (18, 3)
            }
        let salt = Sodium.random(saltByteCount)
        let nonce = Sodium.random(nonceByteCount)
        let key = try deriveKey(passphrase, salt: salt, memory: memory, passes: passes)
        var sealed = [UInt8](repeating: 0, count: secret.count + tagByteCount)
        unsafe secret.withPointer { secretBytes in
            unsafe key.withPointer { key in
                unsafe _ = crypto_secretbox_xchacha20poly1305_easy(
                    &sealed, secretBytes, UInt64(secret.count), nonce, key)
            }
        }
        return [version, memory, passes] + salt + nonce + sealed
    }

    package static func unlock(_ box: [UInt8], passphrase: SecretBytes) throws(Failure) -> SecretBytes {
        guard let first = box.first else { throw .malformed }
        guard first == version else { throw .unknownVersion(first) }
        guard box.count >= headByteCount + tagByteCount else { throw .malformed }
        let (memory, passes) = (box[1], box[2])
        // The head is not sealed: changing it only makes another key, and these bounds keep that cheap.
        guard (3...20).contains(memory), (1...10).contains(passes) else { throw .costTooHigh }
        let salt = [UInt8](box[3..<3 + saltByteCount])
        let nonce = [UInt8](box[3 + saltByteCount..<headByteCount])
        let sealed = [UInt8](box[headByteCount...])
        let key = try deriveKey(passphrase, salt: salt, memory: memory, passes: passes)
        var code: Int32 = -1
        let secret = unsafe SecretBytes(count: sealed.count - tagByteCount) { out in
            code = unsafe key.withPointer { key in
                unsafe crypto_secretbox_xchacha20poly1305_open_easy(
                    out, sealed, UInt64(sealed.count), nonce, key)
            }
        }
        guard code == 0 else { throw .wrongPassphraseOrDamaged }
        return secret
    }

    private static func deriveKey(
        _ passphrase: SecretBytes, salt: [UInt8], memory: UInt8, passes: UInt8
    ) throws(Failure) -> SecretBytes {
        Sodium.requireReady()
        var code: Int32 = -1
        let key = unsafe SecretBytes(count: keyByteCount) { out in
            unsafe passphrase.withPointer { bytes in
                unsafe bytes.withMemoryRebound(to: CChar.self, capacity: passphrase.count) { characters in
                    code = unsafe crypto_pwhash(
                        out, UInt64(keyByteCount), characters, UInt64(passphrase.count), salt, UInt64(passes),
                        1024 << Int(memory), crypto_pwhash_ALG_ARGON2ID13)
                }
            }
        }
        guard code == 0 else { throw .outOfMemory }
        return key
    }
}

private let version: UInt8 = 1
private let saltByteCount = 16
private let nonceByteCount = 24
private let tagByteCount = 16
private let keyByteCount = 32
private let headByteCount = 3 + saltByteCount + nonceByteCount
