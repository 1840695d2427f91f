import TestKit
import Testing

@testable import RelayServer

@Suite("Frames side by side")
struct FrameRunTests {
    /// The sequences of the DELIVER frames in some bytes.
    private func sequences(_ bytes: [UInt8]) -> [Int64] {
        LogSegment(after: 0, frames: bytes)?.marks.map(\.through) ?? []
    }

    /// What a reader with a cursor gets, and what lies behind that.
    private func read(_ run: inout FrameRun, _ cursor: Int64, _ tail: LogTail) -> (
        part: FrameRun.Part, bytes: [UInt8], behind: [UInt8]
    )? {
        if !run.holds(cursor) { run.reach(cursor, of: tail) }
        guard run.holds(cursor) else { return nil }
        let part = run.part(after: cursor, of: tail)
        var bytes: [UInt8] = []
        var behind: [UInt8] = []
        unsafe run.withUnsafeBytes { all in
            bytes = Array(unsafe all[part.range])
            behind = Array(unsafe all[part.range.upperBound..<part.range.upperBound + part.zeros])
        }
        return (part, bytes, behind)
    }

    @Test("give every cursor what follows it, whole, in order and once", arguments: UInt64(1)...20)
    func anyCursor(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        var tail = LogTail(head: 0, byteCountMax: 1 << 20)
        var run = FrameRun()
        var cursors = [Int64](repeating: 0, count: 12)
        for _ in 0..<400 {
            let count = Int64.random(in: 1...6, using: &random)
            let size = Int.random(in: 1...3000, using: &random)
            tail.append(try segment(after: tail.head, count: count, size: size))
            for index in cursors.indices where Int.random(in: 0..<3, using: &random) == 0 {
                let cursor = cursors[index]
                guard cursor < tail.head else { continue }
                let got = try #require(read(&run, cursor, tail))
                let expected = Array(cursor + 1...got.part.through)
                #expect(sequences(got.bytes) == expected && got.part.frames == expected.count)
                #expect(got.bytes.count <= ChannelFeed.recordBytesMax)
                #expect(got.behind.allSatisfy { $0 == 0 })
                // Less than a record's worth only where there is no more.
                if got.part.through < tail.head {
                    #expect(got.bytes.count > ChannelFeed.recordBytesMax - 3100)
                }
                cursors[index] = got.part.through
                run.trim()
                #expect(run.byteCount <= FrameRun.bytesMax)
            }
        }
        #expect(tail.head > 1000 && cursors.allSatisfy { $0 > 0 })
    }

    @Test("copy a message once, however many lag")
    func copiedOnce() throws {
        var tail = LogTail(head: 0, byteCountMax: 1 << 20)
        var run = FrameRun()
        for start in Int64(0)..<20 { tail.append(try segment(after: start, count: 1)) }
        #expect(read(&run, 3, tail)?.part.range == 0..<17 * 21)
        // These stand in what is there already: another place, the same bytes.
        #expect(read(&run, 10, tail)?.part.range == 7 * 21..<17 * 21)
        tail.append(try segment(after: 20, count: 1))
        #expect(read(&run, 10, tail)?.part.range == 7 * 21..<18 * 21)
        #expect(run.after == 3 && run.through == 21)
        // Who lags further begins anew, and who lags less comes to that.
        #expect(read(&run, 1, tail)?.part.range == 0..<20 * 21)
        #expect(run.after == 1)
        #expect(read(&run, 10, tail)?.part.range == 9 * 21..<20 * 21)
        #expect(run.after == 1)
    }

    @Test("grow to a cursor not far beyond their end, and begin anew for one that is")
    func reach() throws {
        var tail = LogTail(head: 0, byteCountMax: 1 << 20)
        var run = FrameRun()
        for start in Int64(0)..<400 { tail.append(try segment(after: start, count: 1, size: 1000)) }
        #expect(read(&run, 0, tail)?.part.through == 48)
        #expect(read(&run, 100, tail)?.part.through == 148)
        #expect(run.after == 0)
        #expect(read(&run, 0, tail)?.part.through == 48)
        #expect(read(&run, 300, tail)?.part.through == 348)
        #expect(run.after == 300)
    }

    @Test("a reader gets no more than it is to get, but always a frame")
    func limit() throws {
        var tail = LogTail(head: 0, byteCountMax: 1 << 20)
        var run = FrameRun()
        for start in Int64(0)..<20 { tail.append(try segment(after: start, count: 1)) }
        run.reach(3, of: tail)
        #expect(run.part(after: 3, through: 9, of: tail).through == 9)
        #expect(run.part(after: 3, through: 9, of: tail).zeros == 0)
        #expect(run.part(after: 3, through: 20, of: tail).through == 20)
        // Only a gap reaches beyond what a reader is to get.
        #expect(run.part(after: 3, through: 2, of: tail).frames == 1)
    }

    @Test("has the zeros of the padding behind the last frame, and claims none behind others")
    func zeros() throws {
        var tail = LogTail(head: 0, byteCountMax: 1 << 20)
        var run = FrameRun()
        for start in Int64(0)..<100 { tail.append(try segment(after: start, count: 1, size: 1000)) }
        let first = try #require(read(&run, 0, tail))
        #expect(first.part.through == 48 && first.part.zeros > 2000)
        let second = try #require(read(&run, 20, tail))
        #expect(second.part.through == 68)
        let again = FrameRun.Part(range: first.part.range, frames: 48, through: 48, zeros: 0)
        #expect(read(&run, 0, tail)?.part == again)
    }

    @Test("the oldest go where there are too many")
    func trimmed() throws {
        var tail = LogTail(head: 0, byteCountMax: 1 << 20)
        var run = FrameRun()
        var cursor: Int64 = 0
        for start in Int64(0)..<300 { tail.append(try segment(after: start, count: 1, size: 1000)) }
        while let got = read(&run, cursor, tail) { cursor = got.part.through }
        #expect(cursor == 300 && run.byteCount == 300 * 1011)
        run.trim()
        #expect(run.byteCount <= FrameRun.keptMax && run.byteCount > FrameRun.keptMax - 1011)
        #expect(run.after == 300 - Int64(run.byteCount / 1011) && run.through == 300)
        #expect(sequences(try #require(read(&run, 290, tail)).bytes) == Array(291...300))
    }

    @Test("nothing is there for a cursor that the tail does not reach back to")
    func behindTheTail() throws {
        var tail = LogTail(head: 0, byteCountMax: 100)
        var run = FrameRun()
        for start in Int64(0)..<20 { tail.append(try segment(after: start, count: 1)) }
        #expect(read(&run, 3, tail) == nil)
        #expect(read(&run, tail.start, tail)?.part.through == 20)
        // A hole: what comes behind it does not follow what is here.
        tail.append(try segment(after: 30, count: 2))
        #expect(read(&run, 20, tail) == nil)
        #expect(read(&run, 30, tail)?.part.through == 32)
    }
}
