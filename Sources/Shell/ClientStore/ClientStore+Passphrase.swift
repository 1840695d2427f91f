internal import SQLiteKit
package import SodiumCrypto

/// How the secrets of a home are written: as they are, or sealed with a key that a passphrase unlocks.
///
/// Shape: 32 bytes as they are; or nonce Word64 (random) and the sealed 32 bytes with their tag, bound to the
/// channel.
struct SecretVault {
    let key: AEADKey?

    func seal(_ secret: SecretBytes, channelID: [UInt8]) -> [UInt8] {
        guard let key else { return secret.copied() }
        let nonce = Sodium.random(Self.nonceByteCount)
        return nonce + key.seal(secret.copied(), nonce: Self.number(nonce), associatedData: channelID)
    }

    /// Nil: sealed with a key that this vault does not have.
    func open(_ bytes: [UInt8], channelID: [UInt8]) -> SecretBytes? {
        if bytes.count == Self.seedByteCount { return SecretBytes(bytes) }
        guard let key, bytes.count == Self.nonceByteCount + Self.seedByteCount + AEADKey.tagByteCount,
            var opened = key.open(
                [UInt8](bytes[Self.nonceByteCount...]),
                nonce: Self.number([UInt8](bytes[..<Self.nonceByteCount])), associatedData: channelID)
        else { return nil }
        return SecretBytes(moving: &opened)
    }

    private static func number(_ bytes: [UInt8]) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
    private static let nonceByteCount = 8
    private static let seedByteCount = 32
}

extension ClientStore {
    /// Whether the home has a passphrase.
    package func hasPassphrase() throws(ClientStoreError) -> Bool {
        try first("SELECT 1 FROM home_key") { _ in true } ?? false
    }

    /// Sets, changes or (nil) takes away the passphrase; every secret is written anew where that is needed.
    ///
    /// What stood there before is overwritten, in the write-ahead log, too, unless another process is reading
    /// the home just now; then the log goes with the last program that uses it.
    package func setPassphrase(
        _ passphrase: SecretBytes?, strength: PassphraseBox.Strength = .moderate
    ) throws(ClientStoreError) {
        // The key derivation takes long and has no place inside a transaction.
        let fresh: (key: SecretBytes, box: [UInt8])?
        if let passphrase {
            let key = SecretBytes.random(AEADKey.keyByteCount)
            do throws(PassphraseBox.Failure) {
                fresh = (key, try PassphraseBox.lock(key, passphrase: passphrase, strength: strength))
            } catch {
                throw .defect("the passphrase could not be used: \(error)")
            }
        } else {
            fresh = nil
        }
        let next = SecretVault(key: fresh.map { AEADKey(suite: .chaChaPoly, key: $0.key) })
        try write { () throws(ClientStoreError) in
            for channel in try channels() {
                try run(
                    "UPDATE channel SET root_secret = ?, member_secret = ? WHERE id = ?",
                    [
                        SQLiteValue(channel.rootSecret.map { next.seal($0, channelID: channel.channelID) }),
                        .blob(next.seal(channel.memberSecret, channelID: channel.channelID)),
                        .integer(channel.id),
                    ])
            }
            try run("DELETE FROM home_key")
            if let fresh { try run("INSERT INTO home_key (one, box) VALUES (1, ?)", [.blob(fresh.box)]) }
        }
        vault = next
        wipeLog()
    }

    /// Opens the home's key, or protects a home that has no channel yet.
    func unlock(_ passphrase: SecretBytes?) throws(ClientStoreError) {
        if let box = try first("SELECT box FROM home_key", [], { $0.blob(0) }) {
            guard let passphrase else { throw .passphraseNeeded }
            do throws(PassphraseBox.Failure) {
                vault = SecretVault(
                    key: AEADKey(
                        suite: .chaChaPoly, key: try PassphraseBox.unlock(box, passphrase: passphrase)))
            } catch {
                switch error {
                case .wrongPassphraseOrDamaged: throw .wrongPassphrase
                case .outOfMemory: throw .inputOutput("there is not enough memory to try the passphrase")
                case .malformed, .unknownVersion, .costTooHigh: throw .corrupt("the home's key is damaged")
                }
            }
        } else if passphrase != nil {
            guard try channels().isEmpty else { throw .noPassphrase }
            try setPassphrase(passphrase)
        }
    }
}
