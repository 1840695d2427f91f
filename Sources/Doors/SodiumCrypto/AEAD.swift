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
    package static let keyByteCount = 32
    package static let tagByteCount = 16

    package let suite: AEADSuite
    // SAFETY: written in `init` only. It holds 32 bytes of key, or the AES key schedule, which wants
    // 16-byte alignment.
    private let state: UnsafeMutableRawPointer
    private let stateByteCount: Int

    /// Keeps its own copy of `key`, in a form ready for use.
    package init(suite: AEADSuite, key: SecretBytes) {
        precondition(key.count == AEADKey.keyByteCount, "an AEAD key has 32 bytes")
        Sodium.requireReady()
        self.suite = suite
        switch suite {
        case .chaChaPoly:
            stateByteCount = AEADKey.keyByteCount
            unsafe state = .allocate(byteCount: stateByteCount, alignment: 16)
            let target = unsafe state
            unsafe key.withPointer { key in
                unsafe target.copyMemory(from: key, byteCount: AEADKey.keyByteCount)
            }
        case .aesGCM:
            precondition(AEADSuite.aesAvailable, "AES-256-GCM was chosen on a processor without it")
            stateByteCount = crypto_aead_aes256gcm_statebytes()
            unsafe state = .allocate(byteCount: stateByteCount, alignment: 16)
            let target = unsafe state.bindMemory(to: crypto_aead_aes256gcm_state.self, capacity: 1)
            unsafe key.withPointer { key in unsafe _ = crypto_aead_aes256gcm_beforenm(target, key) }
        }
    }

    package convenience init(suite: AEADSuite, key: [UInt8]) {
        self.init(suite: suite, key: SecretBytes(key))
    }

    deinit {
        unsafe sodium_memzero(state, stateByteCount)
        unsafe state.deallocate()
    }

    // MARK: Raw buffers

    /// Seals the first `plaintextCount` bytes where they lie; the tag follows them.
    ///
    /// Shape: `buffer` has room for 16 bytes more than the plaintext.
    @unsafe
    package func seal(_ buffer: UnsafeMutableRawBufferPointer, plaintextCount: Int, nonce: UInt64) {
        unsafe seal(
            UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(buffer)[..<plaintextCount]), into: buffer,
            nonce: nonce, associatedData: UnsafeRawBufferPointer(start: nil, count: 0))
    }

    /// Seals `plaintext` into `target`: another buffer or the very same memory, with room for 16 bytes more.
    @unsafe
    package func seal(
        _ plaintext: UnsafeRawBufferPointer, into target: UnsafeMutableRawBufferPointer, nonce: UInt64,
        associatedData: UnsafeRawBufferPointer
    ) {
        precondition(
            target.count >= plaintext.count + AEADKey.tagByteCount,
            "there is no room for the tag of a sealed text")
        let code = unsafe withNonce(nonce) { nonce in
            // An empty buffer may have no address, and libsodium wants one that it will not use.
            let input =
                unsafe plaintext.baseAddress?.assumingMemoryBound(to: UInt8.self) ?? UnsafePointer(nonce)
            let output = unsafe target.baseAddress?.assumingMemoryBound(to: UInt8.self) ?? nonce
            let data = unsafe associatedData.baseAddress?.assumingMemoryBound(to: UInt8.self)
            switch suite {
            case .chaChaPoly:
                return unsafe crypto_aead_chacha20poly1305_ietf_encrypt(
                    output, nil, input, UInt64(plaintext.count), data, UInt64(associatedData.count), nil,
                    nonce,
                    state.assumingMemoryBound(to: UInt8.self))
            case .aesGCM:
                return unsafe crypto_aead_aes256gcm_encrypt_afternm(
                    output, nil, input, UInt64(plaintext.count), data, UInt64(associatedData.count), nil,
                    nonce,
                    state.assumingMemoryBound(to: crypto_aead_aes256gcm_state.self))
            }
        }
        precondition(code == 0, "libsodium refused to seal")
    }

    /// Opens a sealed text where it lies.
    ///
    /// Shape: the count of the plaintext at the buffer's beginning, or nil when text or key is not the right
    /// one; the buffer's content is then worthless.
    @unsafe
    package func open(_ buffer: UnsafeMutableRawBufferPointer, nonce: UInt64) -> Int? {
        unsafe open(
            UnsafeRawBufferPointer(buffer), into: buffer, nonce: nonce,
            associatedData: UnsafeRawBufferPointer(start: nil, count: 0))
    }

    /// Opens `ciphertext` into `target`, which is another buffer or the very same memory.
    @unsafe
    package func open(
        _ ciphertext: UnsafeRawBufferPointer, into target: UnsafeMutableRawBufferPointer, nonce: UInt64,
        associatedData: UnsafeRawBufferPointer
    ) -> Int? {
        let count = ciphertext.count - AEADKey.tagByteCount
        guard count >= 0 else { return nil }
        precondition(target.count >= count, "there is no room for an opened text")
        let code = unsafe withNonce(nonce) { nonce in
            let input =
                unsafe ciphertext.baseAddress?.assumingMemoryBound(to: UInt8.self) ?? UnsafePointer(nonce)
            let output = unsafe target.baseAddress?.assumingMemoryBound(to: UInt8.self) ?? nonce
            let data = unsafe associatedData.baseAddress?.assumingMemoryBound(to: UInt8.self)
            switch suite {
            case .chaChaPoly:
                return unsafe crypto_aead_chacha20poly1305_ietf_decrypt(
                    output, nil, nil, input, UInt64(ciphertext.count), data, UInt64(associatedData.count),
                    nonce,
                    state.assumingMemoryBound(to: UInt8.self))
            case .aesGCM:
                return unsafe crypto_aead_aes256gcm_decrypt_afternm(
                    output, nil, nil, input, UInt64(ciphertext.count), data, UInt64(associatedData.count),
                    nonce,
                    state.assumingMemoryBound(to: crypto_aead_aes256gcm_state.self))
            }
        }
        return code == 0 ? count : nil
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

    // MARK: Helpers

    /// The 12 bytes of nonce as the Noise specification lays them out for this suite.
    private func withNonce(_ counter: UInt64, _ body: (UnsafeMutablePointer<UInt8>) -> Int32) -> Int32 {
        var block: (UInt64, UInt64) = (0, 0)
        let word = suite == .chaChaPoly ? counter.littleEndian : counter.bigEndian
        return unsafe withUnsafeMutableBytes(of: &block) { bytes in
            unsafe bytes.storeBytes(of: word, toByteOffset: 4, as: UInt64.self)
            guard let base = bytes.baseAddress else { return -1 }
            return unsafe body(base.assumingMemoryBound(to: UInt8.self))
        }
    }
}
