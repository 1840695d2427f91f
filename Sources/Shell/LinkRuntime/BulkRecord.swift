internal import SodiumCrypto

/// A record that goes to many links of one loop: what is the same for all of them is worked out once.
///
/// It may be used as long as the frames it was made of lie where they lay, and the loop's context lives.
@unsafe
package struct BulkRecord {
    /// The loop's scratch memory, where the record is sealed: its length and the ciphertext.
    let memory: UnsafeMutableRawPointer
    /// The bytes of the record.
    let count: Int
    /// As it stands before the ciphertext.
    let length: UInt16
    let sealing: AEADSchedule.Job

    /// Shape: whole encoded frames, 1 to `Link.bulkBytesMax` bytes in all, and behind them `zerosAfter`
    /// readable bytes that are zero: as many as their padding has at least (`RecordPadding.zerosMax`).
    package init(_ frames: UnsafeRawBufferPointer, zerosAfter: Int, for context: LinkLoopContext) {
        unsafe precondition(
            !frames.isEmpty && frames.count <= Link.bulkBytesMax, "bulk frames fit into one record")
        let plaintext = RecordPadding.padded(frames.count)
        precondition(plaintext - frames.count <= zerosAfter, "the padding lies behind the frames")
        let ciphertext = plaintext + AEADKey.tagByteCount
        guard let start = unsafe context.seal.slice(0, 2 + ciphertext).baseAddress else {
            preconditionFailure("scratch memory has an address")
        }
        unsafe memory = start
        unsafe count = 2 + ciphertext
        unsafe length = UInt16(truncatingIfNeeded: ciphertext).bigEndian
        unsafe sealing = context.sealing.job(
            UnsafeRawBufferPointer(start: frames.baseAddress, count: plaintext),
            into: context.seal.slice(2, ciphertext))
    }
}
