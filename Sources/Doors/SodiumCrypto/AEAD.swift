internal import CSodium

/// The two ways to seal that the Noise specification lays out and libsodium has.
package enum AEADSuite: Sendable, Equatable, CaseIterable {
    /// ChaCha20-Poly1305 of RFC 8439. Nonce: four zero bytes and the counter, little endian.
    case chaChaPoly
    /// AES-256-GCM. Nonce: four zero bytes and the counter, big endian. Only with hardware for it.
    case aesGCM

    /// Whether this processor has what libsodium's AES-256-GCM needs.
    package static let aesAvailable: Bool = Sodium.ready && crypto_aead_aes256gcm_is_available() == 1
}

/// A key for sealing and opening, with its schedule computed once.
///
/// The nonce is the caller's counter: one key must never seal twice with the same one. Nothing here allocates
/// in the raw-buffer methods.
@safe
package final class AEADKey: @unchecked Sendable {
    package static var keyByteCount: Int { 32 }
    package static var tagByteCount: Int { 16 }

    package let suite: AEADSuite
    // SAFETY: loaded in `init` only, and only read from then on.
    private let schedule: AEADSchedule

    /// Keeps its own copy of `key`, in a form ready for use.
    package init(suite: AEADSuite, key: SecretBytes) {
        precondition(key.count == AEADKey.keyByteCount, "an AEAD key has 32 bytes")
        precondition(
            suite != .aesGCM || AEADSuite.aesAvailable, "AES-256-GCM was chosen on a processor without it")
        self.suite = suite
        let schedule = AEADSchedule(for: suite)
        unsafe key.withPointer { unsafe schedule.load(suite, $0) }
        self.schedule = schedule
    }

    package convenience init(suite: AEADSuite, key: [UInt8]) {
        self.init(suite: suite, key: SecretBytes(key))
    }

    // MARK: Raw buffers

    /// See `AEADSchedule.seal(_:plaintextCount:nonce:)`.
    @unsafe
    package func seal(_ buffer: UnsafeMutableRawBufferPointer, plaintextCount: Int, nonce: UInt64) {
        unsafe schedule.seal(buffer, plaintextCount: plaintextCount, nonce: nonce)
    }

    /// See `AEADSchedule.seal(_:into:nonce:associatedData:)`.
    @unsafe
    package func seal(
        _ plaintext: UnsafeRawBufferPointer, into target: UnsafeMutableRawBufferPointer, nonce: UInt64,
        associatedData: UnsafeRawBufferPointer
    ) {
        unsafe schedule.seal(plaintext, into: target, nonce: nonce, associatedData: associatedData)
    }

    /// See `AEADSchedule.open(_:nonce:)`.
    @unsafe
    package func open(_ buffer: UnsafeMutableRawBufferPointer, nonce: UInt64) -> Int? {
        unsafe schedule.open(buffer, nonce: nonce)
    }

    /// See `AEADSchedule.open(_:into:nonce:associatedData:)`.
    @unsafe
    package func open(
        _ ciphertext: UnsafeRawBufferPointer, into target: UnsafeMutableRawBufferPointer, nonce: UInt64,
        associatedData: UnsafeRawBufferPointer
    ) -> Int? {
        unsafe schedule.open(ciphertext, into: target, nonce: nonce, associatedData: associatedData)
    }

    // MARK: Arrays

    package func seal(_ plaintext: [UInt8], nonce: UInt64, associatedData: [UInt8] = []) -> [UInt8] {
        let count = plaintext.count + AEADKey.tagByteCount
        return unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            unsafe plaintext.withUnsafeBytes { plaintext in
                unsafe associatedData.withUnsafeBytes { associatedData in
                    unsafe seal(
                        plaintext, into: UnsafeMutableRawBufferPointer(buffer), nonce: nonce,
                        associatedData: associatedData)
                }
            }
            filled = count
        }
    }

    package func open(_ ciphertext: [UInt8], nonce: UInt64, associatedData: [UInt8] = []) -> [UInt8]? {
        let count = ciphertext.count - AEADKey.tagByteCount
        guard count >= 0 else { return nil }
        var opened = false
        let plaintext = unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            unsafe ciphertext.withUnsafeBytes { ciphertext in
                unsafe associatedData.withUnsafeBytes { associatedData in
                    opened =
                        unsafe open(
                            ciphertext, into: UnsafeMutableRawBufferPointer(buffer), nonce: nonce,
                            associatedData: associatedData) != nil
                }
            }
            filled = opened ? count : 0
        }
        return opened ? plaintext : nil
    }
}
