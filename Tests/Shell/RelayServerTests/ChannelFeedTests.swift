import ChannelWire
import LinkRuntime
import PosixKit
import Testing

@testable import RelayServer

@Suite("A channel's feed")
struct ChannelFeedTests {
    private let bench: FeedBench

    init() throws {
        let identity = RelayIdentity.create(nowSeconds: Clock.nowSeconds())
        bench = try FeedBench(try RelayLoopTests.loop(identity), identity)
    }

    @Test("gives a reader that lags all it lacks, once and in order")
    func lagging() {
        bench.append(count: 50)
        bench.feed.feed(bench.reader, bench.loop)
        bench.run("all of it") { bench.client.sequences.count >= 50 }
        #expect(bench.client.sequences == Array(1...50))
        #expect(bench.loop.delivered == 50)
    }

    @Test("an erased message, and all before it, is sent from memory to nobody, however they lag")
    func erased() {
        bench.append(count: 50)
        // Frames lie side by side for this one; the other one comes later.
        bench.feed.feed(bench.reader, bench.loop)
        let other = bench.another(at: 20)
        bench.feed.erase(40)
        bench.feed.feed(other, bench.loop)
        #expect(other.cursor == 20 && other.isAwaitingPage)
        let third = bench.another(at: 40)
        bench.feed.feed(third, bench.loop)
        #expect(third.cursor == 50)
    }

    @Test("a page that waits for its link is read again when something in it was erased, and only then")
    func erasedPages() throws {
        bench.append(count: 9)
        bench.reader.page = try segment(after: 0, count: 2)
        let other = bench.another(at: 6)
        other.page = try segment(after: 6, count: 2)
        bench.feed.erase(2)
        #expect(bench.reader.page == nil)
        #expect(other.page != nil)
    }

    @Test(
        "a reader whose membership has ended gets no more than came before it",
        arguments: ["side by side", "the newest segment", "a page"])
    func ended(place: String) throws {
        let reader = bench.reader
        switch place {
        case "side by side":
            bench.append(count: 4)
            reader.finish(through: 4, .memberRemoved)
            bench.append(count: 3)
        case "the newest segment":
            bench.feed.append(try #require(LogSegment(after: 0, frames: (1...7).flatMap(bench.message))))
            reader.finish(through: 4, .memberRemoved)
        default:
            bench.append(count: 7)
            reader.page = try #require(LogSegment(after: 0, frames: (1...7).flatMap(bench.message)))
            reader.finish(through: 4, .memberRemoved)
        }
        bench.feed.feed(reader, bench.loop)
        bench.run("the goodbye") { bench.client.error != nil }
        #expect(bench.client.sequences == [1, 2, 3, 4])
        #expect(bench.client.error?.code == LinkErrorCode.memberRemoved.rawValue)
    }

    @Test("what lies side by side is given back when no reader has come to it for a while")
    func givenBack() {
        bench.append(count: 20)
        bench.feed.feed(bench.reader, bench.loop)
        #expect(!bench.feed.dropRunIfIdle(), "it was used")
        #expect(bench.feed.dropRunIfIdle())
        bench.append(count: 20)
        bench.feed.feed(bench.reader, bench.loop)
        bench.loop.dropIdleRuns()
        #expect(bench.feed.dropRunIfIdle(), "the loop had asked once, and knew of it")
    }
}
