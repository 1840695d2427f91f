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

    init() throws {
        loop = try RelayLoop(
            index: 0, relay: try Self.shared(identity, loops: 1), link: identity.link,
            lifecycle: Mailbox<LifecycleMessage>())
    }

    private static func shared(_ identity: RelayIdentity, loops: Int) throws -> RelayShared {
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

    @Test("serves readers until it is late, or until the authority has said something")
    func over() {
        #expect(!loop.isOver(.max))
        #expect(loop.isOver(1))
        loop.mailbox.post(.hurry)
        #expect(loop.isOver(.max), "an ack may be among it")
    }

    @Test("feeds links that take more at once, up to their share; the others wait for the turn")
    func writable() throws {
        let (ours, theirs) = try Posix.socketPair()
        defer { Posix.closeRaw(theirs) }
        let session = LinkSession(number: 1, loop: loop)
        let link = Link.accept(
            FileDescriptor(owning: ours), peer: nil, context: loop.context, settings: .relay(identity.link),
            delegate: session)
        let channel = try #require(ChannelID(bytes: [UInt8](repeating: 1, count: 32)))
        let member = try #require(MemberID(bytes: [7]))
        let key = try #require(PublicKey(raw: [UInt8](repeating: 2, count: 32)))
        let feed = loop.feed(channel, head: 5)
        let reader = MemberReader(
            link: link, number: 1, member: member, key: key, feed: feed, cursor: 5)
        loop.feedWritable(reader)
        #expect(!reader.isServedLater)
        loop.writable.spend(from: 0, to: ServingTime.behindMax)
        loop.feedWritable(reader)
        #expect(reader.isServedLater)
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
