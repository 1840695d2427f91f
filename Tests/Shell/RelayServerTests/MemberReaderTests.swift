import ChannelWire
import LibeventLoop
import LinkRuntime
import PosixKit
import Testing

@testable import RelayServer

@Suite("A member's reader")
struct MemberReaderTests {
    /// Nobody speaks on these links.
    private final class Silent: LinkDelegate {
        func linkDidOpen(_ link: Link) {}
        func link(_ link: Link, didReceive frame: Frame) {}
        func linkIsWritable(_ link: Link) {}
        func linkDidClose(_ link: Link, reason: LinkCloseReason) {}
    }

    private let context: LinkLoopContext
    private let feed: ChannelFeed
    private let link: Link
    private let other: Int32

    init() throws {
        context = LinkLoopContext(loop: try EventLoop())
        let channel = try #require(ChannelID(bytes: [UInt8](repeating: 1, count: 32)))
        feed = ChannelFeed(channel: channel, head: 5, tailBytesMax: 1 << 16)
        let identity = RelayIdentity.create(nowSeconds: Clock.nowSeconds()).link
        let (ours, theirs) = try Posix.socketPair()
        other = theirs
        link = Link.accept(
            FileDescriptor(owning: ours), peer: nil, context: context, settings: .relay(identity),
            delegate: Silent())
    }

    private func reader(at cursor: Int64) throws -> MemberReader {
        let member = try #require(MemberID(bytes: [7]))
        let key = try #require(PublicKey(raw: [UInt8](repeating: 2, count: 32)))
        return MemberReader(
            link: link, number: 1, member: member, key: key, feed: feed, cursor: cursor)
    }

    @Test("gets the newest segment as it is only where it lacks just that")
    func cursor() throws {
        defer { Posix.closeRaw(other) }
        let reader = try reader(at: 5)
        #expect(reader.wants(after: 5))
        #expect(!reader.wants(after: 4) && !reader.wants(after: 6))
    }

    @Test("gets what it asked for, and what lies behind the tail, first")
    func answers() throws {
        defer { Posix.closeRaw(other) }
        let segment = try segment(after: 5, count: 1)
        let asking = try reader(at: 5)
        asking.nextAnswer = HistoryAnswer(segment: segment)
        #expect(!asking.wants(after: 5))
        let lagging = try reader(at: 5)
        lagging.page = segment
        #expect(!lagging.wants(after: 5))
    }

    @Test("gets nothing more once its membership has ended, also where it has everything before")
    func ended() throws {
        defer { Posix.closeRaw(other) }
        let reader = try reader(at: 5)
        reader.finish(through: 5, .memberRemoved)
        #expect(!reader.wants(after: 5))
        reader.finish(through: 9, .channelDeleted)
        #expect(reader.end?.through == 5 && reader.end?.code == .memberRemoved, "the first end counts")
    }
}
