import ChannelWire
import LinkRuntime
import PosixKit
import SodiumCrypto
import Testing

@testable import RelayServer

/// What a link asks of threads that do not answer.
@Suite("A link that waits for answers")
struct SessionBoundTests {
    private let bench: FeedBench

    init() throws {
        let identity = RelayIdentity.create(nowSeconds: Clock.nowSeconds())
        bench = try FeedBench(RelayLoopTests.loop(identity), identity)
        bench.session.stage = .member(bench.reader)
    }

    private func refusal(_ request: UInt32, _ code: LinkErrorCode) -> Frame {
        .error(LinkError(code, request: request))
    }

    enum Carrier: CaseIterable {
        case control, direct, deliver, history, join, joined, publish, record, recordPut

        /// Shape: 16,000 bytes, besides the frame's own.
        var frame: Frame {
            let large = [UInt8](repeating: 0, count: 16_000)
            let channel = TestChannel().id
            let person = TestPerson()
            return switch self {
            case .control:
                .control(
                    Frame.Control(
                        channel: channel, owner: person.id, signature: sign([], person.pair),
                        invitationFollows: false, record: large))
            case .direct: .direct(body: large)
            case .deliver: .deliver(sequence: 1, batch: large)
            case .history: .history(request: 1, sequence: 1, batch: large)
            case .join: .join(channel: channel, element: large)
            case .joined: .joined(batch: large)
            case .publish: .publish(request: 1, body: large)
            case .record: .record(request: 1, record: large)
            case .recordPut: .recordPut(request: 1, record: large)
            }
        }
    }

    @Test("holds back 64 KiB of frames, whatever they are", arguments: Carrier.allCases)
    func held(carrier: Carrier) throws {
        let frame = carrier.frame
        bench.session.stage = .asking(.join(bench.feed.channel, bench.reader.member))
        for _ in 0..<4 { bench.session.link(bench.reader.link, didReceive: frame) }
        guard case .asking = bench.session.stage else { throw TestFailure() }
        bench.session.link(bench.reader.link, didReceive: frame)
        bench.run("the link ends") { bench.client.error != nil }
        #expect(bench.client.error?.known == .rateLimited)
    }

    @Test(
        "reads no more while much is unanswered, and again once half of it is",
        arguments: [
            [Int](repeating: 0, count: Int(LinkSession.pendingMax)),
            [Int](repeating: Int(LinkSession.pendingBytesMax) / 4, count: 4),
        ])
    func pauses(asked: [Int]) {
        for bytes in asked { bench.session.began(bytes) }
        send(.publish(request: 3, body: []))
        for bytes in asked.prefix(asked.count / 2) { bench.session.settled(bytes) }
        bench.loop.loop.runOnce()
        #expect(bench.client.others.isEmpty)
        bench.session.settled(asked[0])
        bench.run("an answer") { !bench.client.others.isEmpty }
        #expect(bench.client.others == [refusal(3, .badFrame)])
    }

    /// Sends a frame, and lets the relay read it unless it reads nothing.
    private func send(_ frame: Frame) {
        bench.clientLink.send(frame)
        bench.run("it to leave") { bench.clientLink.canSendBulk && bench.clientLink.queuedBytes == 0 }
        for _ in 0..<2 { bench.loop.loop.runOnce() }
    }

    @Test("counts the bytes of an owner's invitations and rosters among what is unanswered")
    func owner() throws {
        let owner = TestPerson()
        let channel = bench.feed.channel
        let side = ControlSide(channel: channel, owner: owner.id, record: nil, invitationFollows: true)
        side.ownerKey = key(owner.pair)
        bench.session.stage = .control(side)
        let invitation = Event(
            params: .relayInv(
                RelayInvitation(
                    fromMember: MemberAndRole(memberID: owner.id, role: .owner),
                    fromMemberProfile: Profile(displayName: String(repeating: "n", count: 15_000)),
                    relayMemberID: owner.id, groupLink: "")))
        for _ in 0..<8 { side.receive(invitation.encode(), bench.session) }
        let message = MessageID(random: Sodium.random(12))
        let blob = Roster(
            entries: (0..<200).map { _ in
                Roster.Entry(member: TestPerson().id, key: key(owner.pair), role: .member)
            }
        ).blob()
        let header = Event(
            messageID: message,
            params: .roster(
                RosterHeader(version: 1, fileSize: Int64(blob.count), fileDigest: Sodium.sha512(blob))))
        let chunks = Roster.chunks(of: blob, message: message)
        #expect(blob.count > 13_000 && chunks.count == 1)
        for _ in 0..<11 {
            side.receive(owner.element(channel, header), bench.session)
            side.receive(chunks[0].bytes, bench.session)
        }
        // It would end the link.
        send(.publish(request: 3, body: []))
        guard case .control = bench.session.stage else { throw TestFailure() }
    }

    @Test("reads one page of the past at a time")
    func history() throws {
        func ask(_ request: UInt32) {
            bench.clientLink.send(.historyGet(request: request, mode: .fromTime, value: 0, limit: 1))
        }
        ask(1)
        ask(2)
        bench.run("a refusal") { !bench.client.others.isEmpty }
        #expect(bench.client.others == [refusal(2, .rateLimited)])
        // It is not on its way yet.
        bench.session.historyCame(1, try #require(LogSegment(after: 0, frames: bench.message(1))))
        bench.session.history(bench.reader, 3, .fromTime, 0, 1)
        bench.run("a refusal, and the page") {
            bench.client.others.count == 2 && bench.client.sequences == [1]
        }
        #expect(bench.client.others.last == refusal(3, .rateLimited))
        ask(4)
        bench.run("it is asked for") { bench.reader.isAwaitingHistory }
        #expect(bench.client.others.count == 2)
    }

    @Test("tells of a page that could not be read")
    func unreadable() {
        bench.session.began(0)
        bench.session.historyCame(7, nil)
        bench.session.began(0)
        bench.session.membersCame(8, nil)
        bench.run("both answers") { bench.client.others.count == 2 }
        #expect(bench.client.others == [refusal(7, .internal), refusal(8, .internal)])
        bench.session.pageCame(nil, head: nil)
        bench.run("the end") { bench.client.error != nil }
        #expect(bench.client.error?.known == .internal)
    }

    @Test("takes no message of a member whose membership has ended")
    func ended() {
        bench.reader.finish(through: 5, .memberRemoved)
        bench.clientLink.send(.publish(request: 3, body: Array("{}".utf8)))
        bench.run("an answer") { !bench.client.others.isEmpty }
        #expect(bench.client.others == [refusal(3, .memberRemoved)])
    }

    @Test("leaves out news while half of what may wait for the client waits")
    func news() {
        let link = bench.reader.link
        bench.session.sendNews([1])
        bench.run("news") { bench.client.others == [.direct(body: [1])] }
        bench.loop.context.run {
            while link.queuedBytes < Link.queueBytesMax / 2 - 1000 {
                bench.session.sendDirect([UInt8](repeating: 2, count: 1000))
            }
            let queued = link.queuedBytes
            bench.session.sendNews([UInt8](repeating: 3, count: 1001))
            #expect(link.queuedBytes == queued)
        }
    }
}
