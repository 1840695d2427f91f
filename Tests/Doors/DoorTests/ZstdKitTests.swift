import Testing
import ZstdKit

@Suite struct ZstdTests {
    @Test(arguments: [0, 1, 100, 65536])
    func `a block comes back as it was, up to the very limit`(count: Int) {
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 / 7) }
        let frame = Zstd.compress(bytes)
        #expect(Zstd.decompress(frame, limit: count) == bytes)
        if count > 0 { #expect(Zstd.decompress(frame, limit: count - 1) == nil) }
    }

    @Test(arguments: [1, 3, 19])
    func `every level makes frames that open`(level: Int) {
        let bytes = [UInt8](repeating: 5, count: 5000)
        let frame = Zstd.compress(bytes, level: level)
        #expect(frame.count < 200)
        #expect(Zstd.decompress(frame, limit: 5000) == bytes)
    }

    @Test func `a header that promises more than the limit is refused at once`() {
        // Single segment, content size in 8 bytes: 2^60, and no blocks.
        let boast: [UInt8] = [0x28, 0xb5, 0x2f, 0xfd, 0xe0, 0, 0, 0, 0, 0, 0, 0, 0x10]
        #expect(Zstd.decompress(boast, limit: .max) == nil)
        #expect(Zstd.decompress(boast, limit: 65536) == nil)
        #expect(Zstd.decompress(Zstd.compress([1]), limit: -1) == nil)
    }

    @Test func `a frame without a content size is refused`() {
        // Made by `printf hello | zstd --no-check`: what zstd writes for a stream of unknown length.
        let unsized: [UInt8] = [
            0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x58, 0x29, 0x00, 0x00, 0x68, 0x65, 0x6c, 0x6c, 0x6f,
        ]
        #expect(Zstd.decompress(unsized, limit: 65536) == nil)
        // The same block under a header with the size.
        let sized: [UInt8] = [
            0x28, 0xb5, 0x2f, 0xfd, 0x20, 0x05, 0x29, 0x00, 0x00, 0x68, 0x65, 0x6c, 0x6c, 0x6f,
        ]
        #expect(Zstd.decompress(sized, limit: 65536) == [UInt8]("hello".utf8))
    }

    @Test func `damage, a cut, a tail and a skippable frame are refused`() {
        let bytes = (0..<500).map { UInt8(truncatingIfNeeded: $0 &* $0) }
        let frame = Zstd.compress(bytes)
        for count in frame.indices { #expect(Zstd.decompress(Array(frame[..<count]), limit: 65536) == nil) }
        #expect(Zstd.decompress(frame + [0], limit: 65536) == nil)
        #expect(Zstd.decompress(frame + frame, limit: 65536) == nil)
        #expect(Zstd.decompress([0x50, 0x2a, 0x4d, 0x18, 1, 0, 0, 0, 9], limit: 65536) == nil)
        #expect(Zstd.decompress([], limit: 65536) == nil)
    }
}
