import ChannelClient
import ChannelWire
import PosixKit
import PuppetRelay
import Synchronization
import Testing

@Suite("Silent and refusing relays", .serialized)
struct SilentRelayTests {
    @Test("up, refusing and silent: three separate outcomes within the timeout")
    func threeOutcomes() async throws {
        let up = try TestRelay()
        let closed = try TestRelay { $0.admission = .closed }
        let silent = try BlackHole()
        let alice = try await Person("alice")
        for (name, address) in [("up", up.address), ("closed", closed.address), ("silent", silent.address)] {
            try await alice.client.addRelay(name: name, address: address)
        }
        let clock = ContinuousClock()
        let start = clock.now
        let creation = try await alice.client.createChannel(
            name: "news", relays: ["up", "closed", "silent"], timeout: .seconds(3))
        #expect(clock.now - start < .seconds(4))
        #expect(creation.relays.map(\.relay) == ["up", "closed", "silent"])
        #expect(creation.relays[0].result == .active)
        #expect(creation.relays[1].result == .rejected("not_accepting"))
        guard case .failed(_, retriable: true) = creation.relays[2].result else {
            Issue.record("a silent relay came to \(creation.relays[2].result)")
            return
        }
        let receipt = try await alice.client.publish("hello", to: "news", timeout: .seconds(2))
        #expect(receipt.relays.first { $0.relay == "up" }?.isAccepted == true)
        #expect(receipt.acceptedCount == 1)
        #expect(try await alice.client.outbox().map(\.relay) == ["silent"])
    }

    @Test(
        "a relay that puts an invitation off is invited again after the time that it says, and is no reject")
    func putOff() async throws {
        let advice: UInt32 = 1500
        let isPutOff = Mutex(0)
        let relay = try PuppetRelay { frame, honest in
            guard case .direct(let body) = frame, body.firstRange(of: Array("x.grp.relay.inv".utf8)) != nil,
                isPutOff.withLock({ count in
                    count += 1
                    return count <= 2
                })
            else { return honest }
            return [.error(LinkError(.rateLimited, retryAfterMs: advice))]
        }
        let alice = try await Person("alice")
        try await alice.client.addRelay(name: "r", address: relay.address)
        let clock = ContinuousClock()
        let start = clock.now
        let creation = try await alice.client.createChannel(
            name: "news", relays: ["r"], timeout: .seconds(30))
        #expect(creation.relays.map(\.result) == [.active])
        #expect(clock.now - start >= .milliseconds(2 * Int(advice)))
    }

    @Test("a reader joins through the relay that answers, however many of the link do not")
    func silentInLink() async throws {
        let up = try TestRelay()
        let silent = try BlackHole()
        let alice = try await Person("alice")
        let creation = try await alice.create("news", on: [up])
        // The same channel id, with a relay in front that never answers.
        let key = try #require(creation.link.split(separator: "#").last?.split(separator: "?").first)
        let port = try #require(silent.address.split(separator: "=").last)
        let upPort = try #require(up.address.split(separator: "=").last)
        let link = "https://127.0.0.1/c#\(key)?h=127.0.0.1&p=\(port),\(upPort)"
        let bob = try await Person("bob")
        let clock = ContinuousClock()
        let start = clock.now
        let report = try await bob.client.join(link: link, timeout: .seconds(10))
        #expect(report.relays.map(\.result) == [.active])
        #expect(clock.now - start < .seconds(8))
    }

    @Test("a call that nothing answers ends with its timeout")
    func timeout() async throws {
        let silent = try BlackHole()
        let alice = try await Person("alice")
        let clock = ContinuousClock()
        let start = clock.now
        let report = try await alice.client.testRelay(name: silent.address, timeout: .seconds(1))
        #expect(!report.ok && clock.now - start < .seconds(3))
    }

    @Test("a call whose task is cancelled ends at once")
    func cancelled() async throws {
        let silent = try BlackHole()
        let alice = try await Person("alice")
        let address = silent.address
        let task = Task { try await alice.client.testRelay(name: address, timeout: .seconds(60)) }
        task.cancel()
        let error = await #expect(throws: ChannelClientError.self) { _ = try await task.value }
        #expect(error?.code == .cancelled)
    }

    @Test(
        "a relay that refuses a question keeps nobody from the answer of another",
        arguments: [true, false])
    func refusedQuestion(isOfMembers: Bool) async throws {
        let (isAsked, isOver) = (Signal(), Signal())
        let refusing = try PuppetRelay(rawLie: { frame, honest in
            switch frame {
            case .membersGet(let request, _, _), .historyGet(let request, _, _, _):
                // Both are asked before this one answers; then it hangs up.
                isAsked.wait()
                return [.frame(.error(LinkError(.internal, request: request))), .hangUp]
            // Who comes back has read the refusal.
            case .control, .attach: if isAsked.isGiven { isOver.give() }
            default: break
            }
            return honest.map { .frame($0) }
        })
        let answering = try PuppetRelay { frame, honest in
            switch frame {
            case .membersGet, .historyGet:
                isAsked.give()
                isOver.wait()
            default: break
            }
            return honest
        }
        let alice = try await Person("alice", background: .always)
        for (name, relay) in [("refusing", refusing), ("answering", answering)] {
            try await alice.client.addRelay(name: name, address: relay.address)
        }
        _ = try await alice.client.createChannel(
            name: "news", relays: ["refusing", "answering"], signMessages: false, timeout: .seconds(20))
        if isOfMembers {
            #expect(try await alice.client.members(of: "news", timeout: .seconds(20)).members.isEmpty)
        } else {
            #expect(try await alice.client.history(of: "news", timeout: .seconds(20)).isEmpty)
        }
        #expect(isOver.isGiven)
    }
}

/// Something that one thread waits for and others give.
final class Signal: Sendable {
    private let flag = Mutex(false)
    private let given = Mailbox<Void>()

    var isGiven: Bool { flag.withLock { $0 } }

    func give() {
        flag.withLock { $0 = true }
        given.post(())
    }

    /// At most ten seconds.
    func wait() { if !isGiven { _ = given.waitDrain(timeoutMilliseconds: 10_000) } }
}
