internal import CSodium

/// A key ready for use: what libsodium computes of it before the first byte is sealed.
///
/// It can be loaded with one key after the other, so that many keys that are used now and then share the
/// memory of one schedule. The nonce is the caller's counter: one key must never seal twice with the same
/// one. Nothing here allocates.
@safe
package final class AEADSchedule {
    // SAFETY: of this object alone. It holds 32 bytes of key, or the AES key schedule, which wants 16-byte
    // alignment, and behind them the nonce of a job.
    private let state: UnsafeMutableRawPointer
    private let stateByteCount: Int
    private var suite = AEADSuite.chaChaPoly
    private static let nonceByteCount = 16

    /// Room for a key of the one suite, or of any.
    package init(for suite: AEADSuite? = nil) {
        Sodium.requireReady()
        stateByteCount =
            suite == .chaChaPoly ? AEADKey.keyByteCount : crypto_aead_aes256gcm_statebytes()
        let byteCount = stateByteCount + AEADSchedule.nonceByteCount
        unsafe state = .allocate(byteCount: byteCount, alignment: 16)
        unsafe state.initializeMemory(as: UInt8.self, repeating: 0, count: byteCount)
    }

    deinit {
        unsafe sodium_memzero(state, stateByteCount)
        unsafe state.deallocate()
    }

    /// Shape: `key` is 32 bytes.
    @unsafe
    func load(_ suite: AEADSuite, _ key: UnsafePointer<UInt8>) {
        self.suite = suite
        switch suite {
        case .chaChaPoly: unsafe state.copyMemory(from: key, byteCount: AEADKey.keyByteCount)
        case .aesGCM:
            precondition(
                stateByteCount > AEADKey.keyByteCount, "the schedule has room for the suite that is used")
            unsafe _ = crypto_aead_aes256gcm_beforenm(
                state.assumingMemoryBound(to: crypto_aead_aes256gcm_state.self), key)
        }
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

    /// Opens `ciphertext` into `target`, which is another buffer or the very same memory.
    ///
    /// Shape: the count of the plaintext, or nil when text or key is not the right one; the target's content
    /// is then worthless.
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

    /// Seals the first `plaintextCount` bytes where they lie; the tag follows them.
    ///
    /// Shape: `buffer` has room for 16 bytes more than the plaintext.
    @inline(__always) @unsafe
    package func seal(_ buffer: UnsafeMutableRawBufferPointer, plaintextCount: Int, nonce: UInt64) {
        unsafe seal(
            UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(buffer)[..<plaintextCount]), into: buffer,
            nonce: nonce, associatedData: UnsafeRawBufferPointer(start: nil, count: 0))
    }

    /// Opens a sealed text where it lies; see the other `open`.
    @inline(__always) @unsafe
    package func open(_ buffer: UnsafeMutableRawBufferPointer, nonce: UInt64) -> Int? {
        unsafe open(
            UnsafeRawBufferPointer(buffer), into: buffer, nonce: nonce,
            associatedData: UnsafeRawBufferPointer(start: nil, count: 0))
    }

    // MARK: Many keys

    /// What to seal, where and in which memory; the same for one connection after the other, so that the
    /// checks are made once. It may be used as long as the schedule and the buffers live.
    @unsafe
    package struct Job {
        fileprivate let plaintext: UnsafePointer<UInt8>
        fileprivate let count: UInt64
        fileprivate let target: UnsafeMutablePointer<UInt8>
        fileprivate let state: UnsafeMutableRawPointer
        fileprivate let nonce: UnsafeMutableRawPointer

        @inline(__always)
        func seal(_ suite: AEADSuite, _ key: UnsafeRawPointer, nonce counter: UInt64) {
            let code: Int32
            switch suite {
            case .chaChaPoly:
                unsafe nonce.storeBytes(of: counter.littleEndian, toByteOffset: 4, as: UInt64.self)
                code = unsafe crypto_aead_chacha20poly1305_ietf_encrypt(
                    target, nil, plaintext, count, nil, 0, nil, nonce.assumingMemoryBound(to: UInt8.self),
                    key.assumingMemoryBound(to: UInt8.self))
            case .aesGCM:
                unsafe nonce.storeBytes(of: counter.bigEndian, toByteOffset: 4, as: UInt64.self)
                let state = unsafe state.assumingMemoryBound(to: crypto_aead_aes256gcm_state.self)
                unsafe _ = crypto_aead_aes256gcm_beforenm(state, key.assumingMemoryBound(to: UInt8.self))
                code = unsafe crypto_aead_aes256gcm_encrypt_afternm(
                    target, nil, plaintext, count, nil, 0, nil, nonce.assumingMemoryBound(to: UInt8.self),
                    state)
            }
            precondition(code == 0, "libsodium refused to seal")
        }
    }

    /// Shape: `target` is another buffer or the very same memory, with room for 16 bytes more than
    /// `plaintext`, which is not empty.
    @unsafe
    package func job(_ plaintext: UnsafeRawBufferPointer, into target: UnsafeMutableRawBufferPointer) -> Job {
        precondition(
            stateByteCount > AEADKey.keyByteCount, "a schedule that seals for many has room for each suite")
        guard let from = plaintext.baseAddress, let to = target.baseAddress,
            target.count >= plaintext.count + AEADKey.tagByteCount
        else { preconditionFailure("a text to seal has bytes, and there is room for its tag") }
        return unsafe Job(
            plaintext: from.assumingMemoryBound(to: UInt8.self), count: UInt64(plaintext.count),
            target: to.assumingMemoryBound(to: UInt8.self), state: state, nonce: state + stateByteCount)
    }

    // MARK: Helpers

    /// The 12 bytes of nonce as the Noise specification lays them out for this suite.
    @inline(__always)
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

@available(*, unavailable)
extension AEADSchedule: Sendable {}
