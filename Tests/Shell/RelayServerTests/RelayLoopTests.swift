import ChannelWire
import LinkRuntime
import Operations
import PosixKit
import Testing

@testable import RelayServer

@Suite("A loop of the relay")
struct RelayLoopTests {
    private let loop: RelayLoop
    private let identity = RelayIdentity.create(nowSeconds: Clock.nowSeconds())

    init() throws { loop = try Self.loop(identity) }

    /// A loop without a relay around it: nobody answers what it asks.
    static func loop(_ identity: RelayIdentity) throws -> RelayLoop {
        try RelayLoop(
            index: 0, relay: try shared(identity, loops: 1), link: identity.link,
            lifecycle: Mailbox<LifecycleMessage>())
    }

    static func shared(_ identity: RelayIdentity, loops: Int) throws -> RelayShared {
        var configuration = RelayConfiguration(state: "/nonexistent")
        configuration.loops = loops
        return RelayShared(
            configuration: configuration,
            log: Log(
                format: .text, minimum: .error, underJournal: true, colour: false,
                repetition: Log.Repetition(), now: { 0 }, sink: { _ in }),
            identityKey: try #require(PublicKey(raw: identity.publicKey)),
            identitySecret: identity.identity, listening: .loopback(port: 1),
            authority: Mailbox<AuthorityMessage>(), connectionsMax: 10, service: Supervisor())
    }

    @Test("gives way to the authority, but not where loops have to share processors")
    func givesWay() throws {
        let processors = Posix.processorCount
        #expect(try Self.shared(identity, loops: processors).loopsGiveWay)
        #expect(try !Self.shared(identity, loops: processors + 1).loopsGiveWay)
    }

    @Test("goes round, with the others, while all loops and the writer do")
    func goesRound() throws {
        let relay = loop.relay
        for pulse in [relay.writerPulse, relay.loopPulses[0]] {
            while pulse.ageMilliseconds < 20 { Clock.pause(milliseconds: 1) }
            for other in [relay.writerPulse] + relay.loopPulses where other !== pulse { other.beat() }
            #expect(!relay.goesRound(within: 19))
            pulse.beat()
            #expect(relay.goesRound(within: 10_000))
        }
    }

    @Test("serves readers until it is late, or until an ack waits and they have had a little")
    func over() {
        #expect(!loop.isOver(.max, least: 0))
        #expect(loop.isOver(1, least: .max))
        loop.mailbox.post(.hurry)
        #expect(!loop.isOver(.max, least: 0), "no ack is among it")
        var acks = [LoopMessage.hurry]
        loop.mailbox.post(emptying: &acks, urgent: true)
        #expect(loop.isOver(.max, least: 0))
        #expect(!loop.isOver(.max, least: .max))
        _ = loop.mailbox.drain()
        #expect(!loop.isOver(.max, least: 0))
    }

    @Test("feeds links that take more at once, up to their share; the others wait for the turn")
    func writable() throws {
        let bench = try FeedBench(loop, identity)
        bench.append(count: 2)
        loop.feedWritable(bench.reader)
        #expect(bench.reader.cursor == 2 && !bench.reader.isServedLater)
        #expect(loop.writable != WritableShare(), "it was counted")
        loop.writable.spend(from: 0, to: ServingTime.behindMax)
        bench.append(count: 2)
        loop.feedWritable(bench.reader)
        #expect(bench.reader.cursor == 2 && bench.reader.isServedLater)
        // The turn serves it, and gives the next ones their share.
        bench.run("its turn") { bench.reader.cursor == 4 }
        #expect(!loop.writable.isUsedUp)
    }

    @Test("who reads a channel that was left and forgotten meanwhile is told that, not of a failure")
    func forgotten() throws {
        let bench = try FeedBench(loop, identity)
        bench.session.stage = .member(bench.reader)
        bench.append(count: 2)
        bench.session.pageCame(LogSegment(after: 0, bytes: [], marks: []), head: nil)
        loop.mailbox.post(.notice(.channelEnded(bench.feed.channel, .channelRejected, nil)))
        bench.run("the link ends") { bench.client.error != nil }
        #expect(bench.client.error?.known == .channelRejected)
    }

    @Test("turns become longer the further those are behind who lag, up to those of readers that do not")
    func lag() {
        func time(_ records: Int...) -> ServingTime {
            var lag = Lag()
            for record in records { lag.sent(record) }
            return ServingTime(from: 1_000_000_000, lag: lag)
        }
        let short = time()
        #expect(short.all == 1_001_000_000 && short.behind == 1_000_250_000 && short.least == 1_000_125_000)
        let small = Int(Lag.smallMax)
        #expect(time(300, 2 * small - 301) == short)
        #expect(time(2 * small).behind == 1_000_500_000)
        #expect(time(3 * small, small).least == 1_000_250_000)
        let long = time(48 << 10)
        #expect(long.all == short.all && long.behind == long.all && long.least == 1_000_500_000)
        #expect(time(48 << 10, 48 << 10) == long)
    }

    @Test("what readers that lag get is counted, for one turn")
    func lagOfTurns() throws {
        let bench = try FeedBench(loop, identity)
        bench.append(count: 2)
        bench.feed.feed(bench.reader, loop)
        var lag = Lag()
        lag.sent(bench.message(1).count + bench.message(2).count)
        #expect(loop.lag == lag)
        loop.serveLater(bench.another(at: 2))
        bench.run("a turn") { loop.lag == Lag() }
    }

    @Test("gives them the share anew in each turn")
    func share() {
        var share = WritableShare()
        share.spend(from: 0, to: ServingTime.behindMax - 1)
        share.spend(from: 5, to: 4)
        #expect(!share.isUsedUp)
        share.spend(from: 0, to: 1)
        #expect(share.isUsedUp)
        share.beginTurn()
        #expect(!share.isUsedUp)
    }
}
