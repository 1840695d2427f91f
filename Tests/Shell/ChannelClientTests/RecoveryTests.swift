import ChannelClient
import ChannelWire
import PosixKit
import PuppetRelay
import SQLiteKit
import Synchronization
import Testing

/// What a relay was given to publish, as texts, in order.
private final class Published: Sendable {
    private let bodies = Mutex<[[UInt8]]>([])
    func note(_ frame: Frame) {
        if case .publish(_, let body) = frame { bodies.withLock { $0.append(body) } }
    }
    /// Which of the texts each publish holds.
    func order(of texts: [String]) -> [String] {
        bodies.withLock { $0 }.compactMap { body in texts.first { body.firstRange(of: Array($0.utf8)) != nil }
        }
    }
}

@Suite("Coming back from what went wrong", .serialized)
struct RecoveryTests {
    private func home(_ person: Person, _ body: (Database) throws -> Void) throws {
        let database = try Database(path: person.home + "/client.db", mode: .readWrite)
        defer { database.close() }
        try body(database)
    }

    private func owner(on relay: PuppetRelay) async throws -> Person {
        let alice = try await Person("alice", background: .always)
        try await alice.client.addRelay(name: "r", address: relay.address)
        _ = try await alice.client.createChannel(
            name: "news", relays: ["r"], signMessages: false, timeout: .seconds(20))
        return alice
    }

    @Test("a log that goes on elsewhere, or is another one, is told, and what the relay had is sent again")
    func otherLog() async throws {
        let lie = Mutex<(@Sendable (Frame.Attached) -> Frame.Attached)?>(nil)
        let published = Published()
        let relay = try PuppetRelay { frame, honest in
            published.note(frame)
            guard case .attach = frame, case .attached(let told)? = honest.first,
                let lie = lie.withLock({ $0 })
            else { return honest }
            return [.attached(lie(told))]
        }
        let alice = try await owner(on: relay)
        _ = try await alice.client.publish("hello", to: "news", timeout: .seconds(20))
        let stream = alice.client.follow("news", since: .now)
        _ = try await alice.client.channels()
        lie.withLock { lie in
            lie = { told in
                Frame.Attached(
                    epoch: told.epoch, first: 1, head: 9, resumeAfter: 9, role: "owner", recordVersion: 1)
            }
        }
        relay.hangUp()
        #expect(try await stream.items(1).map(\.line) == ["gap unknown"])
        #expect(published.order(of: ["hello"]) == ["hello"])
        lie.withLock { lie in
            lie = { _ in
                Frame.Attached(
                    epoch: [9, 9, 9, 9, 9, 9, 9, 9], first: 1, head: 1, resumeAfter: 0, role: "owner",
                    recordVersion: 1)
            }
        }
        relay.hangUp()
        #expect(try await stream.items(1).map(\.line) == ["gap epoch"])
        _ = try await alice.client.synchronize(timeout: .seconds(20))
        #expect(published.order(of: ["hello"]) == ["hello", "hello"])
    }

    @Test("what is put off keeps its place before what was written after it")
    func order() async throws {
        let isPutOff = Mutex(false)
        let published = Published()
        let relay = try PuppetRelay { frame, honest in
            published.note(frame)
            guard case .publish(let request, _) = frame,
                !isPutOff.withLock({ isPutOff in
                    defer { isPutOff = true }
                    return isPutOff
                })
            else { return honest }
            return [.error(LinkError(.rateLimited, request: request, retryAfterMs: 300))]
        }
        let alice = try await owner(on: relay)
        let events = alice.client.events
        async let first = alice.client.publish("first", to: "news", timeout: .seconds(20))
        _ = try await events.first { if case .outboxUpdated = $0 { true } else { nil } }
        async let second = alice.client.publish("second", to: "news", timeout: .seconds(20))
        let receipts = [try await first, try await second]
        #expect(receipts.allSatisfy { $0.isComplete })
        #expect(published.order(of: ["first", "second"]) == ["first", "first", "second"])
    }

    @Test("what was damaged in the home goes to no relay, and is told as that")
    func damaged() async throws {
        let relay = try TestRelay()
        let alice = try await Person("alice", background: .none)
        _ = try await alice.create("news", on: [relay], signMessages: false)
        relay.stop()
        _ = try await alice.client.publish("hello", to: "news")
        try home(alice) { database in
            let changed = try database.run(
                "UPDATE event SET element = CAST(replace(element, 'hello', 'jello') AS BLOB) "
                    + "WHERE tag = 'x.msg.new'")
            #expect(changed == 1)
        }
        try relay.start()
        #expect(try await alice.client.synchronize().refused == 1)
        let rows = try await alice.client.outbox()
        #expect(rows.map(\.state) == ["refused"] && rows.map(\.lastError) == ["it is damaged in this home"])
        let bob = try await Person("bob")
        _ = try await bob.client.join(link: try await alice.client.link(to: "news"))
        #expect(try await bob.client.messages(in: "news").isEmpty)
    }

    @Test("what the disk did not take is delivered again, once, and nobody is blamed")
    func diskRefuses() async throws {
        let relay = try TestRelay()
        let alice = try await Person("alice")
        let creation = try await alice.create("news", on: [relay])
        let bob = try await Person("bob", background: .always)
        _ = try await bob.client.join(link: creation.link)
        let stream = bob.client.follow("news")
        let events = bob.client.events
        try home(bob) {
            try $0.execute(
                "CREATE TRIGGER broken BEFORE INSERT ON message BEGIN SELECT RAISE(ABORT, 'broken'); END")
        }
        _ = try await alice.client.publish("hello", to: "news")
        _ = try await events.first { if case .connectionChanged(_, _, false, _) = $0 { true } else { nil } }
        try home(bob) { try $0.execute("DROP TRIGGER broken") }
        _ = try await alice.client.publish("again", to: "news")
        #expect(try await stream.items(2).map(\.line) == ["message hello", "message again"])
    }

    @Test("who reads hears that the home cannot be written")
    func failureIsTold() async throws {
        let relay = try TestRelay()
        let alice = try await Person("alice")
        let creation = try await alice.create("news", on: [relay])
        let bob = try await Person("bob", background: .always)
        _ = try await bob.client.join(link: creation.link)
        let events = bob.client.events
        try home(bob) {
            try $0.execute(
                "CREATE TRIGGER broken BEFORE UPDATE ON channel_relay BEGIN SELECT RAISE(ABORT, 'broken'); END"
            )
        }
        relay.stop()
        _ = try await events.first { if case .connectionChanged(_, _, false, _) = $0 { true } else { nil } }
        await #expect(throws: ChannelClientError.self) {
            _ = try await bob.client.follow("news").items(1)
        }
    }

    @Test("a relay that lost a member is joined anew")
    func lostMember() async throws {
        let isLost = Mutex(false)
        let joins = Mutex(0)
        let stage = try await Stage { frame, honest in
            if case .join = frame {
                joins.withLock { $0 += 1 }
                isLost.withLock { $0 = false }
            }
            if case .attach = frame, isLost.withLock({ $0 }) { return [.error(LinkError(.unknownMember))] }
            return honest
        }
        let bob = stage.bob.client
        _ = try await bob.join(link: stage.link, timeout: .seconds(20))
        let stream = bob.follow("news")
        isLost.withLock { $0 = true }
        let events = bob.events
        stage.relay.hangUp()
        _ = try await events.first { if case .connectionChanged(_, _, true, _) = $0 { true } else { nil } }
        #expect(joins.withLock { $0 } == 2)
        stage.relay.say(
            stage.delivery(1, 1, stage.text("hello"), by: .member(stage.owner, name: "alice")))
        #expect(try await stream.items(1).map(\.line) == ["message hello"])
    }

    enum Ending: CaseIterable, Sendable { case inactive, rejected }
    @Test(
        "an owner hears on either link that a relay carries the channel no more",
        arguments: Ending.allCases, [true, false])
    func notCarried(ending: Ending, onControl: Bool) async throws {
        let isOver = Mutex(false)
        let relay = try PuppetRelay { frame, honest in
            guard isOver.withLock({ $0 }) else { return honest }
            switch frame {
            // The other link is silent.
            case .control where !onControl, .attach where onControl: return []
            case .control where ending == .inactive:
                return [.controlled(status: "inactive", recordVersion: 1)]
            case .control: return [.error(LinkError(.channelRejected))]
            case .attach:
                return [.error(LinkError(ending == .inactive ? .channelInactive : .channelRejected))]
            default: return honest
            }
        }
        let alice = try await owner(on: relay)
        let events = alice.client.events
        let stream = alice.client.follow("news")
        isOver.withLock { $0 = true }
        relay.hangUp()
        let found = try await events.first { event in
            if case .groupRelayUpdated(_, _, let relay) = event { relay } else { nil }
        }
        #expect(found.status == (ending == .inactive ? .inactive : .rejected) && found.memberStatus == .left)
        let error = await #expect(throws: ChannelClientError.self) {
            _ = try await alice.client.publish("hello", to: "news")
        }
        #expect(error?.code == .noRelays)
        _ = stream
    }

    @Test("what waits for a relay that is out waits no longer after a restart")
    func outWhileAway() async throws {
        let relays = [try TestRelay(), try TestRelay()]
        let alice = try await Person("alice", background: .none)
        _ = try await alice.create("news", on: relays)
        relays[0].stop()
        _ = try await alice.client.publish("half", to: "news")
        await alice.client.shutdown()
        // As it stands where the power goes between the status and the rows that follow from it.
        try home(alice) {
            try $0.run(
                "UPDATE channel_relay SET status = 'rejected', member_status = 'left' WHERE name = 'r0'")
        }
        let next = try alice.another(background: .none)
        _ = try await next.synchronize("news")
        #expect(try await next.outbox().map(\.state) == ["refused"])
        await next.shutdown()
    }
}
