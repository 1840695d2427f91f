internal import LinkRuntime

/// Frames of several segments side by side, for links that lag: each gets a part of it as one record.
///
/// ```
///   LogTail:    ┤ segment ├ segment ├ segment ├ segment ┤ head
///   FrameRun:        ┤ frames · frames · frames ┤ zeros ┤
///   readers:           ▲      ▲▲▲       ▲▲
/// ```
///
/// It grows at its end as readers come to it, so that a message is copied once for all that lag about as
/// much. Who lags far behind them begins anew.
struct FrameRun {
    /// Where a cursor stands before the first frame, and after the last one.
    private(set) var after: Int64 = 0
    private(set) var through: Int64 = 0
    /// Frames, and behind them the zeros that pad a record which ends with the last of them.
    private var bytes: [UInt8] = []
    /// Where frames end; counted from a place that lies `dropped` bytes before the first of `bytes`.
    private var marks: [LogSegment.Mark] = []
    private var dropped = 0

    /// Beyond this the oldest frames go, down to `keptMax`. Units: bytes.
    static let bytesMax = 256 << 10
    static let keptMax = 192 << 10
    /// So far it grows to a cursor beyond its end. Units: bytes, about.
    private static let reachMax = 64 << 10
    private static let zeros = RecordPadding.zerosMax(ChannelFeed.recordBytesMax)

    /// What one reader gets of it.
    struct Part: Equatable {
        let range: Range<Int>
        let frames: Int
        /// Where the reader's cursor stands afterwards.
        let through: Int64
        /// How many zeros lie behind the range.
        let zeros: Int
    }

    var byteCount: Int { max(0, bytes.count - FrameRun.zeros) }

    /// Whether what follows a cursor is here.
    func holds(_ cursor: Int64) -> Bool { cursor >= after && cursor < through }

    /// Gets what follows a cursor of the tail: by growing where that is near, else anew.
    mutating func reach(_ cursor: Int64, of tail: LogTail) {
        if !marks.isEmpty, cursor >= through {
            if cursor - through <= FrameRun.reachMax / max(1, byteCount / marks.count) {
                while through < cursor, grow(from: tail, room: FrameRun.reachMax) {}
            }
        }
        if marks.isEmpty || cursor < after || cursor > through { begin(after: cursor) }
        grow(from: tail, room: ChannelFeed.recordBytesMax)
    }

    /// The frames that a cursor has not seen, up to a record's worth and no further than `limit`, and at
    /// least one; of the tail what belongs to it is taken first. The run holds the cursor.
    mutating func part(after cursor: Int64, through limit: Int64 = .max, of tail: LogTail) -> Part {
        let first = index(after: cursor)
        precondition(first < marks.count, "the run holds what follows the cursor")
        let start = end(before: first)
        let missing = ChannelFeed.recordBytesMax - (end(before: marks.count) - start)
        if through < tail.head, missing > 0 { grow(from: tail, room: missing) }
        let last = marks.end(of: first..<fitting(from: first), through: limit)
        return Part(
            range: start - dropped..<marks[last - 1].end - dropped, frames: last - first,
            through: marks[last - 1].through, zeros: last == marks.count ? FrameRun.zeros : 0)
    }

    /// Lends the frames, and the zeros behind them.
    @unsafe
    func withUnsafeBytes(_ body: (UnsafeRawBufferPointer) -> Void) {
        unsafe bytes.withUnsafeBytes { unsafe body($0) }
    }

    private mutating func begin(after cursor: Int64) {
        after = cursor
        through = cursor
        dropped = 0
        marks.removeAll(keepingCapacity: true)
        bytes.removeAll(keepingCapacity: true)
        bytes += repeatElement(0, count: FrameRun.zeros)
    }

    /// Takes frames that follow the last one as long as they fit into `room`. Returns: whether any did.
    @discardableResult
    private mutating func grow(from tail: LogTail, room: Int) -> Bool {
        guard var (number, frame) = tail.position(after: through) else { return false }
        let before = marks.count
        bytes.removeLast(FrameRun.zeros)
        let limit = bytes.count + room
        while let segment = tail.segment(number) {
            let last = segment.fitting(from: frame, room: limit - bytes.count)
            if last > frame { take(segment, frame..<last) }
            guard last == segment.marks.count else { break }
            number += 1
            frame = 0
        }
        bytes += repeatElement(0, count: FrameRun.zeros)
        return marks.count > before
    }

    private mutating func take(_ segment: LogSegment, _ frames: Range<Int>) {
        let start = segment.start(of: frames.lowerBound)
        let shift = dropped + bytes.count - start
        for mark in segment.marks[frames] {
            marks.append(LogSegment.Mark(end: mark.end + shift, through: mark.through))
        }
        bytes += segment.padded[start..<segment.marks[frames.upperBound - 1].end]
        through = segment.marks[frames.upperBound - 1].through
    }

    /// Lets the oldest frames go where there are too many.
    mutating func trim() {
        guard byteCount > FrameRun.bytesMax else { return }
        let surplus = dropped + byteCount - FrameRun.keptMax
        let gone = marks.boundary { $0.end >= surplus } + 1
        let end = marks[gone - 1].end
        after = marks[gone - 1].through
        bytes.removeFirst(end - dropped)
        marks.removeFirst(gone)
        dropped = end
    }

    private func end(before index: Int) -> Int { index == 0 ? dropped : marks[index - 1].end }

    private func index(after cursor: Int64) -> Int {
        // Mostly there is a frame for each sequence.
        let guess = cursor - after
        if guess < marks.count, marks[Int(guess)].through == cursor + 1 { return Int(guess) }
        return marks.boundary { $0.through > cursor }
    }

    /// One past the last frame, from `index` on, that fits into a record.
    private func fitting(from index: Int) -> Int {
        let limit = end(before: index) + ChannelFeed.recordBytesMax
        if end(before: marks.count) <= limit { return marks.count }
        return marks.boundary { $0.end > limit }
    }
}

extension [LogSegment.Mark] {
    /// One past the last of some frames that a reader gets who is to get no more than `limit`, and at least
    /// one: a gap may reach beyond it.
    func end(of frames: Range<Int>, through limit: Int64) -> Int {
        if self[frames.upperBound - 1].through <= limit { return frames.upperBound }
        return Swift.max(frames.lowerBound + 1, boundary { $0.through > limit })
    }
}

extension Array {
    /// The first place whose element is beyond; before it none is, from it on all are.
    func boundary(_ isBeyond: (Element) -> Bool) -> Int {
        var low = 0
        var high = count
        while low < high {
            let middle = (low + high) / 2
            if isBeyond(self[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
