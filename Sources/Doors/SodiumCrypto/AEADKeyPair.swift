internal import CSodium

/// The keys of the two directions of one connection: 64 bytes and nothing else.
///
/// A schedule is made of a key each time it is used. With AES that costs some 60 ns a record, and the
/// 512 bytes of a schedule need neither be kept nor be fetched into the cache for each of many connections.
@safe
package final class AEADKeyPair {
    package let suite: AEADSuite
    // Unchecked: changed in `init` and `deinit` only, where nobody else looks.
    @exclusivity(unchecked)
    private var sending: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)
    @exclusivity(unchecked)
    private var receiving: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)

    /// Takes copies and wipes the originals. Shape: 32 bytes each.
    package init(suite: AEADSuite, sending: inout [UInt8], receiving: inout [UInt8]) {
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
    }

    deinit {
        unsafe withUnsafeMutableBytes(of: &sending) { unsafe AEADKeyPair.wipe($0) }
        unsafe withUnsafeMutableBytes(of: &receiving) { unsafe AEADKeyPair.wipe($0) }
    }

    /// Makes `schedule` ready to seal what is sent.
    @inline(__always)
    package func loadSending(into schedule: AEADSchedule) {
        unsafe withUnsafeBytes(of: &sending) { unsafe AEADKeyPair.load(suite, $0, schedule) }
    }

    /// Makes `schedule` ready to open what is received.
    package func loadReceiving(into schedule: AEADSchedule) {
        unsafe withUnsafeBytes(of: &receiving) { unsafe AEADKeyPair.load(suite, $0, schedule) }
    }

    @inline(__always)
    private static func load(
        _ suite: AEADSuite, _ key: UnsafeRawBufferPointer, _ schedule: AEADSchedule
    ) {
        guard let base = key.baseAddress else { return }
        unsafe schedule.load(suite, base.assumingMemoryBound(to: UInt8.self))
    }

    private static func wipe(_ bytes: UnsafeMutableRawBufferPointer) {
        guard let base = bytes.baseAddress else { return }
        unsafe sodium_memzero(base, bytes.count)
    }
}

@available(*, unavailable)
extension AEADKeyPair: Sendable {}
