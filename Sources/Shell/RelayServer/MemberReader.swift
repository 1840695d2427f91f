internal import ChannelWire
internal import LinkRuntime

/// A member's link as a reader of its channel's log: a cursor.
///
/// There is one for each subscriber, so what it holds is counted in bytes.
final class MemberReader {
    // What a delivery touches comes first and lies together.

    let link: Link
    /// The last sequence that was handed to the link.
    var cursor: Int64
    /// It has a page, an answer or an end. Kept ready, since each delivery asks for it.
    private var hasMore = false
    /// A page of the log that the reader thread brought.
    var page: LogSegment? { didSet { lookForMore() } }
    var nextAnswer: HistoryAnswer? { didSet { lookForMore() } }
    private var ending: Ending? { didSet { lookForMore() } }

    /// The session that this reader belongs to, by its number.
    let number: UInt64
    unowned let feed: ChannelFeed
    let member: MemberID
    /// The key that the proof was checked with: what the member publishes is signed with it.
    let key: PublicKey
    /// The reader thread has been asked for a page and has not answered.
    var isAwaitingPage = false
    var isAwaitingHistory = false
    /// It is on the loop's list of readers to serve in the next turn.
    var isServedLater = false
    /// Its place in the feed.
    var index: Int32 = -1

    init(
        link: Link, number: UInt64, member: MemberID, key: PublicKey, feed: ChannelFeed, cursor: Int64
    ) {
        self.link = link
        self.number = number
        self.member = member
        self.key = key
        self.feed = feed
        self.cursor = cursor
    }

    var channel: ChannelID { feed.channel }

    /// Whether it is to get what lies after a position as it is: it has all before, wants nothing else first,
    /// and is a member still.
    @inline(__always)
    func wants(after position: Int64) -> Bool {
        cursor == position && !hasMore
    }

    private func lookForMore() { hasMore = page != nil || nextAnswer != nil || ending != nil }

    /// The membership or the channel has ended: deliver up to there, then say why and close.
    var end: (through: Int64, code: LinkErrorCode)? {
        ending.map { ($0.through, $0.code) }
    }

    /// The last that it is to get.
    var lastSequence: Int64 { ending?.through ?? .max }

    func finish(through: Int64, _ code: LinkErrorCode) {
        if ending == nil { ending = Ending(through, code) }
    }

    /// Something up to a sequence was erased: a page that may hold it is read anew.
    func forgetPage(erased sequence: Int64) {
        if let page, page.after < sequence { self.page = nil }
    }

    /// Says goodbye once everything before the end was handed over.
    func finishIfDone() {
        guard let end, cursor >= end.through else { return }
        link.close(error: end.code)
    }
}

/// The answer to a HISTORY_GET on its way out. An object, as the reader's end is: few readers have one.
final class HistoryAnswer {
    let segment: LogSegment
    /// How many of its frames have been sent.
    var sent = 0

    init(segment: LogSegment) { self.segment = segment }
}

private final class Ending {
    let through: Int64
    let code: LinkErrorCode

    init(_ through: Int64, _ code: LinkErrorCode) {
        self.through = through
        self.code = code
    }
}

@available(*, unavailable)
extension MemberReader: Sendable {}
