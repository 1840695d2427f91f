import RelayServer
import Testing

/// A DELIVER frame with a batch of `size` zero bytes.
func deliver(_ sequence: Int64, size: Int = 10) -> [UInt8] {
    let length = 8 + size
    return [0x24, UInt8(length >> 8), UInt8(length & 0xFF)] + word(sequence)
        + [UInt8](repeating: 0, count: size)
}

func gap(_ from: Int64, _ to: Int64) -> [UInt8] { [0x25, 0, 17] + word(from) + word(to) + [1] }

private func word(_ value: Int64) -> [UInt8] {
    (0..<8).map { UInt8(truncatingIfNeeded: value >> (56 - 8 * Int64($0))) }
}

func segment(after: Int64, count: Int64, size: Int = 10) throws -> LogSegment {
    let frames = (1...count).flatMap { deliver(after + $0, size: size) }
    return try #require(LogSegment(after: after, frames: frames))
}

@Suite("A log segment")
struct LogSegmentTests {
    @Test("knows where each frame ends and what a cursor has seen after it")
    func marks() throws {
        let segment = try #require(LogSegment(after: 4, frames: deliver(5) + gap(6, 9) + deliver(10)))
        #expect(segment.marks.map(\.through) == [5, 9, 10])
        #expect(segment.marks.map(\.end) == [21, 41, 62])
        #expect(segment.through == 10)
        #expect((4...10).map { segment.index(after: $0) } == [0, 1, 1, 1, 1, 2, 3])
    }

    @Test("finds every cursor in a run without a hole")
    func indices() throws {
        let segment = try segment(after: 100, count: 50)
        for cursor in Int64(100)...150 { #expect(segment.index(after: cursor) == Int(cursor - 100)) }
    }

    @Test("takes as many whole frames as fit")
    func fitting() throws {
        let segment = try segment(after: 0, count: 5)
        #expect(segment.fitting(from: 0, room: 62) == 2)
        #expect(segment.fitting(from: 0, room: 63) == 3)
        #expect(segment.fitting(from: 3, room: 1000) == 5)
        #expect(segment.start(of: 3) == 63)
    }

    @Test("has the padding of its last frames behind them, and behind no others")
    func zeros() throws {
        let segment = try segment(after: 0, count: 5)
        #expect(segment.byteCount == 105)
        #expect(segment.padded.count == 105 + 7, "Padmé rounds 105 up to a multiple of 8")
        #expect(segment.padded[105...].allSatisfy { $0 == 0 })
        #expect((1...5).map { segment.zeros(after: $0) } == [0, 0, 0, 0, 7])
    }

    @Test("refuses what is no run of rising frames")
    func refused() {
        #expect(LogSegment(after: 0, frames: deliver(1) + deliver(1)) == nil)
        #expect(LogSegment(after: 1, frames: deliver(1)) == nil)
        #expect(LogSegment(after: 0, frames: Array(deliver(1).dropLast())) == nil)
        #expect(LogSegment(after: 0, frames: [0x03, 0, 8, 0, 0, 0, 0, 0, 0, 0, 1]) == nil)
    }
}

@Suite("A log tail")
struct LogTailTests {
    @Test("finds the segment of every cursor it still holds")
    func position() throws {
        var tail = LogTail(head: 10, byteCountMax: 1 << 20)
        for start in stride(from: Int64(10), to: 1010, by: 10) {
            tail.append(try segment(after: start, count: 10))
        }
        #expect(tail.head == 1010)
        #expect(tail.start == 10)
        for cursor in Int64(10)..<1010 {
            let found = try #require(tail.position(after: cursor))
            let marks = try #require(tail.segment(found.segment)).marks
            #expect(marks[found.frame].through == cursor + 1)
        }
        #expect(tail.position(after: 1010) == nil)
        #expect(tail.position(after: 9) == nil)
    }

    @Test("never holds more than its limit")
    func bound() throws {
        var tail = LogTail(head: 0, byteCountMax: 21 * 35)
        for start in stride(from: Int64(0), to: 5000, by: 10) {
            tail.append(try segment(after: start, count: 10))
            #expect(tail.byteCount <= 21 * 35)
        }
        #expect(tail.start == 4970)
        #expect(tail.position(after: 4969) == nil)
        #expect(tail.position(after: 4970) != nil)
    }

    @Test("an erased message and all before it leave the tail")
    func erased() throws {
        var tail = LogTail(head: 0, byteCountMax: 1 << 20)
        for start in stride(from: Int64(0), to: 100, by: 10) {
            tail.append(try segment(after: start, count: 10))
        }
        tail.forget(through: 35)
        #expect(tail.start == 40)
        #expect(tail.position(after: 34) == nil)
        #expect(tail.head == 100)
        tail.forget(through: 100)
        #expect(tail.start == 100)
        tail.append(try segment(after: 100, count: 1))
        #expect(tail.position(after: 100) != nil)
    }

    @Test("a segment that is known already changes nothing, and a hole starts the tail anew")
    func holes() throws {
        var tail = LogTail(head: 5, byteCountMax: 1 << 20)
        tail.append(try segment(after: 0, count: 5))
        #expect(tail.byteCount == 0)
        tail.append(try segment(after: 5, count: 5))
        tail.append(try segment(after: 12, count: 5))
        #expect(tail.start == 12)
        #expect(tail.head == 17)
    }
}
