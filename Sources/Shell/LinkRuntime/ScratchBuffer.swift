/// Memory that every link of a loop uses in turn, so that no link keeps a buffer of its own.
@safe final class ScratchBuffer {
    private let base: UnsafeMutableRawPointer
    let count: Int

    init(count: Int) {
        self.count = count
        unsafe base = .allocate(byteCount: count, alignment: 16)
        // Never hand out what the allocator left here.
        unsafe base.initializeMemory(as: UInt8.self, repeating: 0, count: count)
    }

    deinit { unsafe base.deallocate() }

    /// The bytes from `offset`, `count` of them.
    @inline(__always) @unsafe
    func slice(_ offset: Int, _ count: Int) -> UnsafeMutableRawBufferPointer {
        precondition(
            offset >= 0 && count >= 0 && offset + count <= self.count, "a slice lies inside its buffer")
        return unsafe UnsafeMutableRawBufferPointer(start: base + offset, count: count)
    }
}

@available(*, unavailable)
extension ScratchBuffer: Sendable {}
