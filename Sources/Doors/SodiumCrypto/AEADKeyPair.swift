internal import CSodium

/// The keys of the two directions of one connection: 64 bytes and nothing else, inside of what holds it.
///
/// A schedule is made of a key each time it is used. With AES that costs some 60 ns a record, and the
/// 512 bytes of a schedule need neither be kept nor be fetched into the cache for each of many connections.
/// It cannot be copied, so that `wipe` leaves nothing behind; the holder calls that at its end.
@safe
package struct AEADKeyPair: ~Copyable {
    private typealias Key = (UInt64, UInt64, UInt64, UInt64)

    /// Whether it holds keys.
    package private(set) var isSet = false
    package private(set) var suite = AEADSuite.chaChaPoly
    private var sending: Key = (0, 0, 0, 0)
    private var receiving: Key = (0, 0, 0, 0)

    /// Without keys yet.
    package init() {}

    /// Takes copies and wipes the originals. Shape: 32 bytes each.
    package mutating func set(_ suite: AEADSuite, sending: inout [UInt8], receiving: inout [UInt8]) {
        precondition(
            sending.count == AEADKey.keyByteCount && receiving.count == AEADKey.keyByteCount,
            "an AEAD key has 32 bytes")
        precondition(
            suite != .aesGCM || AEADSuite.aesAvailable, "AES-256-GCM was chosen on a processor without it")
        self.suite = suite
        unsafe withUnsafeMutableBytes(of: &self.sending) { unsafe $0.copyBytes(from: sending) }
        unsafe withUnsafeMutableBytes(of: &self.receiving) { unsafe $0.copyBytes(from: receiving) }
        Sodium.wipe(&sending)
        Sodium.wipe(&receiving)
        isSet = true
    }

    deinit { precondition(!isSet, "who holds the keys of a connection wipes them at its end") }

    /// Forgets the keys for good.
    package mutating func wipe() {
        unsafe withUnsafeMutableBytes(of: &sending) { unsafe AEADKeyPair.wipe($0) }
        unsafe withUnsafeMutableBytes(of: &receiving) { unsafe AEADKeyPair.wipe($0) }
        isSet = false
    }

    /// Seals what is sent.
    @unsafe
    package mutating func seal(_ job: AEADSchedule.Job, nonce: UInt64) {
        precondition(isSet, "a connection has its keys when it seals")
        // In place: a copy would leave the key where nobody wipes it.
        unsafe withUnsafePointer(to: &sending) { unsafe job.seal(suite, UnsafeRawPointer($0), nonce: nonce) }
    }

    /// Makes `schedule` ready to open what is received.
    package mutating func loadReceiving(into schedule: AEADSchedule) {
        precondition(isSet, "a connection has its keys when it opens")
        unsafe withUnsafeBytes(of: &receiving) { key in
            guard let key = unsafe key.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return }
            unsafe schedule.load(suite, key)
        }
    }

    private static func wipe(_ bytes: UnsafeMutableRawBufferPointer) {
        guard let base = bytes.baseAddress else { return }
        unsafe sodium_memzero(base, bytes.count)
    }
}

@available(*, unavailable)
extension AEADKeyPair: Sendable {}
