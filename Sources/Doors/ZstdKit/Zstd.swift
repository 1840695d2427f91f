internal import CZstd

/// Zstandard (RFC 8878), one frame at a time.
package enum Zstd {
    /// One frame, with the content's size in its header. Shape: `level` 1 (fast) to 19 (small).
    package static func compress(_ bytes: [UInt8], level: Int = 3) -> [UInt8] {
        let bound = ZSTD_compressBound(bytes.count)
        var code = 0
        let frame = unsafe [UInt8](unsafeUninitializedCapacity: bound) { buffer, filled in
            code = unsafe ZSTD_compress(buffer.baseAddress, bound, bytes, bytes.count, Int32(clamping: level))
            filled = ZSTD_isError(code) == 0 ? code : 0
        }
        // With the bound given it can only be short of memory, which no Swift array survives either.
        precondition(ZSTD_isError(code) == 0, "zstd could not compress")
        return frame
    }

    /// The content of one frame, or nil when it is no such frame, is damaged or would be larger than `limit`.
    ///
    /// The size is read from the header and judged before anything is allocated. Without a size: nil.
    package static func decompress(_ frame: [UInt8], limit: Int) -> [UInt8]? {
        guard frame.starts(with: magic) else { return nil }
        let declared = unsafe ZSTD_getFrameContentSize(frame, frame.count)
        // The two largest numbers mean an error and an unknown size.
        guard declared <= UInt64(max(limit, 0)) else { return nil }
        // Nothing may follow the frame: two readers must not take two views of the same bytes.
        guard unsafe ZSTD_findFrameCompressedSize(frame, frame.count) == frame.count else { return nil }
        let count = Int(declared)
        var decoded = 0
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            decoded = unsafe ZSTD_decompress(buffer.baseAddress, count, frame, frame.count)
            filled = decoded == count ? count : 0
        }
        return decoded == count ? bytes : nil
    }
}

/// Skippable frames begin otherwise, and carry no content.
private let magic: [UInt8] = [0x28, 0xb5, 0x2f, 0xfd]
