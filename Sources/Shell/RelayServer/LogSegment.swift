internal import LinkRuntime

/// A run of ready frames of one channel's log, immutable and shared by all threads.
///
/// The frames are DELIVER and GAP frames (or HISTORY frames of one answer) as they stand in a record, one
/// after the other. Nobody copies them per subscriber: a link is a cursor, and seals straight from these
/// bytes.
package final class LogSegment: Sendable {
    /// The end of one frame, and where a cursor stands once it was sent.
    package struct Mark: Sendable, Equatable {
        package let end: Int
        package let through: Int64
    }

    /// Where a cursor stands before the first frame.
    package let after: Int64
    package let marks: [Mark]
    /// The frames, and behind them the zeros that pad a record which ends with the last of them.
    package let padded: [UInt8]

    package init(after: Int64, bytes: [UInt8], marks: [Mark]) {
        precondition(marks.last?.end ?? 0 == bytes.count, "the last mark ends the bytes")
        self.after = after
        self.marks = marks
        padded = bytes + [UInt8](repeating: 0, count: RecordPadding.zerosMax(bytes.count))
    }

    /// The frames alone. Units: bytes.
    package var byteCount: Int { marks.last?.end ?? 0 }

    /// Where a cursor stands after the last frame.
    package var through: Int64 { marks.last?.through ?? after }

    /// The first frame that a cursor has not seen; `marks.count` when it has seen all.
    package func index(after cursor: Int64) -> Int {
        // Live segments have a frame for each sequence, so the guess is nearly always right.
        let guess = cursor - after
        if guess >= 0, guess < marks.count {
            let index = Int(guess)
            if marks[index].through > cursor, index == 0 || marks[index - 1].through <= cursor {
                return index
            }
        }
        return marks.boundary { $0.through > cursor }
    }

    /// How many zeros lie behind the frame before `index`.
    package func zeros(after index: Int) -> Int { index == marks.count ? padded.count - byteCount : 0 }

    package func start(of index: Int) -> Int { index == 0 ? 0 : marks[index - 1].end }

    /// One past the last frame, from `index` on, that fits into `room` bytes.
    package func fitting(from index: Int, room: Int) -> Int {
        let limit = start(of: index) + room
        if byteCount <= limit { return marks.count }
        var end = index
        while end < marks.count, marks[end].end <= limit { end += 1 }
        return end
    }
}

extension LogSegment {
    /// Finds the frames in a run of ready DELIVER and GAP frames; nil when the run is no such thing.
    ///
    /// Shape: type, Word16 length, body; a DELIVER's body begins with its sequence, a GAP's with from and to.
    package convenience init?(after: Int64, frames: [UInt8]) {
        var marks: [Mark] = []
        var offset = 0
        var through = after
        while offset < frames.count {
            guard frames.count - offset >= 11 else { return nil }
            let end = offset + 3 + (Int(frames[offset + 1]) << 8 | Int(frames[offset + 2]))
            guard end <= frames.count, end - offset >= 11 else { return nil }
            let value: Int64
            switch frames[offset] {
            case LogSegment.deliverType: value = LogSegment.int64(frames, offset + 3)
            case LogSegment.gapType where end - offset >= 19: value = LogSegment.int64(frames, offset + 11)
            default: return nil
            }
            guard value > through else { return nil }
            through = value
            marks.append(Mark(end: end, through: through))
            offset = end
        }
        self.init(after: after, bytes: frames, marks: marks)
    }

    private static let deliverType: UInt8 = 0x24
    private static let gapType: UInt8 = 0x25

    private static func int64(_ bytes: [UInt8], _ offset: Int) -> Int64 {
        var value: UInt64 = 0
        for index in offset..<offset + 8 { value = value << 8 | UInt64(bytes[index]) }
        return Int64(bitPattern: value)
    }
}

/// The newest segments of a channel, with a limit in bytes: what links read from without touching the disk.
package struct LogTail {
    private var segments: [LogSegment] = []
    /// Segments before this index are gone already; they are dropped from the array in runs.
    private var firstIndex = 0
    package private(set) var byteCount = 0
    private let byteCountMax: Int
    /// The newest sequence, also when the tail is empty.
    package private(set) var head: Int64

    package init(head: Int64, byteCountMax: Int) {
        self.head = head
        self.byteCountMax = byteCountMax
    }

    /// A cursor at or beyond this finds everything that follows it in the tail.
    package var start: Int64 { firstIndex < segments.count ? segments[firstIndex].after : head }

    package mutating func append(_ segment: LogSegment) {
        guard segment.through > head else { return }
        // A hole can only mean that something was lost on the way: what is older than the hole is on disk.
        if segment.after != head { forget() }
        head = segment.through
        segments.append(segment)
        byteCount += segment.byteCount
        while byteCount > byteCountMax, firstIndex < segments.count { dropFirst() }
    }

    /// Drops everything up to the segment that holds `sequence`: an erased message must not be sent any more.
    package mutating func forget(through sequence: Int64) {
        while firstIndex < segments.count, segments[firstIndex].after < sequence { dropFirst() }
    }

    /// Drops everything; links read from the disk until new segments come.
    package mutating func forget() {
        while firstIndex < segments.count { dropFirst() }
    }

    private mutating func dropFirst() {
        byteCount -= segments[firstIndex].byteCount
        firstIndex += 1
        if firstIndex >= 64, firstIndex * 2 >= segments.count {
            segments.removeFirst(firstIndex)
            firstIndex = 0
        }
    }

    /// The segment with the first frame that `cursor` has not seen, and that frame's index in it.
    package func position(after cursor: Int64) -> (segment: Int, frame: Int)? {
        guard cursor >= start, cursor < head else { return nil }
        // Nearly every link reads the newest segment.
        var index = segments.count - 1
        if segments[index].after > cursor {
            var low = firstIndex
            var high = index
            while low < high {
                let middle = (low + high) / 2
                if segments[middle].through > cursor { high = middle } else { low = middle + 1 }
            }
            index = low
        }
        return (index, segments[index].index(after: cursor))
    }

    package var newest: LogSegment? { firstIndex < segments.count ? segments[segments.count - 1] : nil }

    package func segment(_ index: Int) -> LogSegment? { index < segments.count ? segments[index] : nil }
}
