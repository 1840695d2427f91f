internal import ChannelWire
internal import LinkRuntime
internal import PosixKit

/// The links of one channel on one loop, and the tail of its log that they read from.
///
/// ```
///   LogTail:   ├─ segment ─┼─ segment ─┼─ segment ─┤ head
///   readers:        ▲ cursor      ▲▲▲         ▲▲▲▲▲▲▲▲▲
///              behind the tail: a page from the reader thread, then the tail
/// ```
///
/// A reader is fed when its link has nothing unsent: by `serve` when something was appended, by itself when
/// its link has become writable.
final class ChannelFeed {
    let channel: ChannelID
    private(set) var tail: LogTail
    private(set) var readers: ContiguousArray<MemberReader> = []
    /// It is on the loop's list of feeds to serve.
    var isUnserved = false
    /// The reader to serve next, and how many are still to serve since something was appended.
    private var nextReader = 0
    private var waitingReaders = 0
    /// What links that lag read from, and whether one did since the loop last asked.
    private var run = FrameRun()
    private var runIsUsed = false
    /// The loop knows that there is one.
    private var hasRun = false

    /// The most frame bytes of one record: with padding it stays below the largest record.
    static let recordBytesMax = 48 << 10
    /// How many readers are served before the time is looked at again; who lags gets much more at a time.
    private static let readersAtOnce = 128
    private static let lookedAtOnce = 64
    private static let feedsAtOnce = 4
    /// So many readers and their links stay in a processor's own cache from one message to the next.
    private static let readersInCache = 2048

    init(channel: ChannelID, head: Int64, tailBytesMax: Int) {
        self.channel = channel
        tail = LogTail(head: head, byteCountMax: tailBytesMax)
    }

    // MARK: Readers

    func add(_ reader: MemberReader) {
        reader.index = Int32(readers.count)
        readers.append(reader)
        // It stands between those that are still to serve: go round once more, so that none is missed.
        if waitingReaders > 0 { waitingReaders = readers.count }
    }

    func remove(_ reader: MemberReader) {
        let index = Int(reader.index)
        guard index >= 0, index < readers.count, readers[index] === reader else { return }
        readers.swapAt(index, readers.count - 1)
        readers.removeLast()
        reader.index = -1
        if index < readers.count { readers[index].index = Int32(index) }
        // The one that took the place may have been skipped by this: go round once more.
        if waitingReaders > 0 { waitingReaders = readers.count }
        if nextReader >= readers.count { nextReader = 0 }
    }

    // MARK: The tail

    func append(_ segment: LogSegment) {
        tail.append(segment)
        waitingReaders = readers.count
    }

    /// A message was erased: no link may get it any more, not even one that lags behind. Pages that wait for
    /// their links are read anew. Those on their way are not: who deletes much would keep all others from
    /// theirs.
    func erase(_ sequence: Int64) {
        tail.forget(through: sequence)
        run = FrameRun()
        for reader in readers { reader.forgetPage(erased: sequence) }
    }

    /// Gives back what is laid side by side, unless a link has come to it since this was last asked.
    /// Returns: whether nothing is left.
    func dropRunIfIdle() -> Bool {
        defer { runIsUsed = false }
        guard !runIsUsed else { return false }
        run = FrameRun()
        hasRun = false
        return true
    }

    // MARK: Serving

    /// Feeds readers until all have been looked at or the time is up. Returns: whether some are left.
    func serve(_ time: ServingTime, _ loop: RelayLoop) -> Bool {
        // Nobody comes or goes meanwhile: links that end are told of afterwards.
        let readers = readers
        while waitingReaders > 0 {
            if nextReader >= readers.count { nextReader = 0 }
            let isLarge = readers.count > ChannelFeed.readersInCache
            let atOnce = isLarge ? ChannelFeed.lookedAtOnce : ChannelFeed.readersAtOnce
            let many = min(atOnce, waitingReaders, readers.count - nextReader)
            let range = nextReader..<nextReader + many
            let few: Int
            // Nearly every reader has all but the newest segment, and gets that as it is.
            if let newest = tail.newest, newest.byteCount <= ChannelFeed.recordBytesMax {
                few = serve(readers, range, newest, time, loop)
            } else {
                few = feed(readers, range, time, loop)
            }
            nextReader += few
            waitingReaders -= few
            if loop.isOver(few == many ? time.all : time.behind, least: time.least) { break }
        }
        return waitingReaders > 0
    }

    /// Gives those of a few readers that have what comes before it a segment as one record, and the others
    /// what they take, as long as there is time for that. Returns: how many it came to.
    private func serve(
        _ readers: ContiguousArray<MemberReader>, _ range: Range<Int>, _ segment: LogSegment,
        _ time: ServingTime, _ loop: RelayLoop
    ) -> Int {
        if readers.count > ChannelFeed.readersInCache { lookAt(readers, range) }
        let after = segment.after
        let through = segment.through
        let count = segment.byteCount
        var served = 0
        var behind = 0
        var next = range.lowerBound
        unsafe segment.padded.withUnsafeBytes { padded in
            let record = unsafe BulkRecord(
                UnsafeRawBufferPointer(rebasing: padded[..<count]), zerosAfter: padded.count - count,
                for: loop.context)
            while next < range.upperBound {
                let reader = readers[next]
                next += 1
                if reader.wants(after: after), unsafe reader.link.sendBulk(record) {
                    reader.cursor = through
                    served += 1
                } else if reader.link.canSendBulk {
                    feed(reader, loop)
                    behind += 1
                    if behind % ChannelFeed.feedsAtOnce == 0, loop.isOver(time.behind, least: time.least) {
                        break
                    }
                }
            }
        }
        loop.delivered += Int64(served * segment.marks.count)
        return next - range.lowerBound
    }

    /// Gives a few readers what they take, as long as there is time. Returns: how many it came to.
    private func feed(
        _ readers: ContiguousArray<MemberReader>, _ range: Range<Int>, _ time: ServingTime, _ loop: RelayLoop
    ) -> Int {
        var next = range.lowerBound
        while next < range.upperBound {
            feed(readers[next], loop)
            next += 1
            if (next - range.lowerBound) % ChannelFeed.feedsAtOnce == 0,
                loop.isOver(time.behind, least: time.least)
            {
                break
            }
        }
        return next - range.lowerBound
    }

    /// What is read of thousands of readers and links is in no cache. Here, where nothing lies between, the
    /// processor fetches it for all of these at a time.
    private func lookAt(_ readers: ContiguousArray<MemberReader>, _ range: Range<Int>) {
        var strangers = 0
        for index in range { if case .client = readers[index].link.side { strangers &+= 1 } }
        precondition(strangers == 0, "the links of readers are the relay's")
    }

    /// Gives a reader what its link takes now.
    @inline(never)
    func feed(_ reader: MemberReader, _ loop: RelayLoop) {
        let link = reader.link
        // A link that takes everything must not keep the loop from the others.
        var records = 4
        while link.canSendBulk {
            if let answer = reader.nextAnswer {
                sendAnswer(answer, reader, loop)
            } else if let end = reader.end, reader.cursor >= end.through {
                return reader.finishIfDone()
            } else if let page = reader.page {
                sendPage(page, reader, loop)
            } else if reader.cursor < tail.head {
                guard sendFromTail(reader, loop) else { return loop.requestPage(reader) }
            } else {
                return
            }
            records -= 1
            if records == 0 {
                // Whatever the link still takes, it gets in its next turn.
                if link.canSendBulk { loop.serveLater(reader) }
                return
            }
        }
    }

    /// Returns: whether the tail has what comes after the reader's cursor.
    private func sendFromTail(_ reader: MemberReader, _ loop: RelayLoop) -> Bool {
        if let newest = tail.newest, reader.cursor >= newest.after {
            send(newest, from: newest.index(after: reader.cursor), reader, loop)
            return true
        }
        if !run.holds(reader.cursor) {
            guard let place = tail.position(after: reader.cursor), let segment = tail.segment(place.segment)
            else {
                return false
            }
            // Enough lies together already.
            if segment.byteCount - segment.start(of: place.frame) >= ChannelFeed.recordBytesMax / 2 {
                send(segment, from: place.frame, reader, loop)
                return true
            }
            run.reach(reader.cursor, of: tail)
            if !hasRun { loop.runBegan(self) }
            hasRun = true
        }
        runIsUsed = true
        let part = run.part(after: reader.cursor, through: reader.lastSequence, of: tail)
        loop.delivered += Int64(part.frames)
        loop.lag.sent(part.range.count)
        reader.cursor = part.through
        unsafe run.withUnsafeBytes {
            unsafe reader.link.sendBulk(
                UnsafeRawBufferPointer(rebasing: $0[part.range]), zerosAfter: part.zeros)
        }
        run.trim()
        return true
    }

    private func send(_ segment: LogSegment, from frame: Int, _ reader: MemberReader, _ loop: RelayLoop) {
        let fitting = segment.fitting(from: frame, room: ChannelFeed.recordBytesMax)
        let end = segment.marks.end(of: frame..<fitting, through: reader.lastSequence)
        let range = segment.start(of: frame)..<segment.marks[end - 1].end
        loop.delivered += Int64(end - frame)
        loop.lag.sent(range.count)
        reader.cursor = segment.marks[end - 1].through
        unsafe segment.padded.withUnsafeBytes {
            unsafe reader.link.sendBulk(
                UnsafeRawBufferPointer(rebasing: $0[range]), zerosAfter: segment.zeros(after: end))
        }
    }

    private func sendPage(_ page: LogSegment, _ reader: MemberReader, _ loop: RelayLoop) {
        let frame = page.index(after: reader.cursor)
        guard frame < page.marks.count else {
            reader.page = nil
            return
        }
        send(page, from: frame, reader, loop)
        if reader.cursor >= page.through { reader.page = nil }
    }

    private func sendAnswer(_ answer: HistoryAnswer, _ reader: MemberReader, _ loop: RelayLoop) {
        let end = answer.segment.fitting(from: answer.sent, room: ChannelFeed.recordBytesMax)
        let range = answer.segment.start(of: answer.sent)..<answer.segment.start(of: end)
        if end == answer.segment.marks.count {
            reader.nextAnswer = nil
        } else {
            reader.nextAnswer?.sent = end
        }
        unsafe answer.segment.padded.withUnsafeBytes {
            unsafe reader.link.sendBulk(
                UnsafeRawBufferPointer(rebasing: $0[range]), zerosAfter: answer.segment.zeros(after: end))
        }
    }
}

@available(*, unavailable)
extension ChannelFeed: Sendable {}
