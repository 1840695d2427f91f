import ChannelClient
import ChannelWire
import PuppetRelay
import Synchronization
import Testing

/// Tells one lie, once: the first time that `pick` gives something else than the honest answer.
final class OneLie: Sendable {
    private let isTold = Mutex(false)
    let pick: @Sendable (Frame, [Frame]) -> [Frame]?

    init(_ pick: @escaping @Sendable (Frame, [Frame]) -> [Frame]?) { self.pick = pick }

    var wasTold: Bool { isTold.withLock { $0 } }

    func answer(_ frame: Frame, _ honest: [Frame]) -> [Frame] {
        guard let lie = pick(frame, honest) else { return honest }
        return isTold.withLock { told in
            defer { told = true }
            return told ? honest : lie
        }
    }
}

@Suite("A relay that answers too much, too little or nonsense", .serialized)
struct LyingAnswersTests {
    /// An owner whose channel is on a relay that lies once; what is published arrives all the same.
    private func publishesDespite(_ lie: OneLie, firstTry: Int? = nil) async throws {
        let relay = try PuppetRelay(lie: lie.answer)
        let alice = try await Person("alice", background: .always)
        try await alice.client.addRelay(name: "r", address: relay.address)
        let creation = try await alice.client.createChannel(
            name: "news", relays: ["r"], timeout: .seconds(20))
        #expect(creation.relays.map(\.result) == [.active])
        let receipt = try await alice.client.publish("hello", to: "news", timeout: .seconds(20))
        #expect(lie.wasTold)
        if let firstTry { #expect(receipt.acceptedCount == firstTry) }
        // What a lie cut short is sent again on the next link.
        if receipt.acceptedCount == 0 { _ = try await alice.client.synchronize(timeout: .seconds(20)) }
        #expect(try await alice.client.outbox().isEmpty)
    }

    static let acknowledgements: [[Frame.AckResult]] = [
        [], [.stored(1), .stored(2)], [Frame.AckResult](repeating: .stored(1), count: 255), [.stored(0)],
        [.stored(-1)], [.repeated(.min)], [Frame.AckResult(outcome: .stored, sequence: 1, code: 47)],
        [Frame.AckResult(outcome: .refused, sequence: 0, code: 0)],
        [Frame.AckResult(outcome: .refused, sequence: 5, code: 40)],
    ]
    @Test("an ACK that does not fit its PUBLISH is no receipt", arguments: acknowledgements)
    func acknowledgement(results: [Frame.AckResult]) async throws {
        try await publishesDespite(
            OneLie { frame, _ in
                if case .publish(let request, _) = frame {
                    [.ack(request: request, results: results)]
                } else {
                    nil
                }
            }, firstTry: 0)
    }

    static let positions: [(Int64, Int64, Int64)] = [
        (0, 0, 0), (-1, 0, 0), (1, -1, 0), (5, 3, 0), (1, 3, 4), (1, 3, -1), (.min, .min, .min),
        (.max, .min, 0), (1, 0, .max),
    ]
    @Test("an ATTACHED that cannot be is refused", arguments: positions)
    func attached(first: Int64, head: Int64, resumeAfter: Int64) async throws {
        try await publishesDespite(
            OneLie { frame, honest in
                guard case .attach = frame, case .attached(let honest)? = honest.first else { return nil }
                return [
                    .attached(
                        Frame.Attached(
                            epoch: honest.epoch, first: first, head: head, resumeAfter: resumeAfter,
                            role: "owner", recordVersion: honest.recordVersion))
                ]
            })
    }

    @Test(
        "no relay makes an owner, and none takes the right to rule from one",
        arguments: ["observer", "owner"])
    func roles(role: String) async throws {
        let relay = try PuppetRelay { _, honest in
            honest.map { answer in
                guard case .attached(let honest) = answer else { return answer }
                return .attached(
                    Frame.Attached(
                        epoch: honest.epoch, first: honest.first, head: honest.head,
                        resumeAfter: honest.resumeAfter, role: role, recordVersion: honest.recordVersion))
            }
        }
        let alice = try await Person("alice", background: .always)
        try await alice.client.addRelay(name: "r", address: relay.address)
        let creation = try await alice.client.createChannel(
            name: "news", relays: ["r"], timeout: .seconds(20))
        for text in ["one", "two"] {
            let receipt = try await alice.client.publish(text, to: "news", timeout: .seconds(20))
            #expect(receipt.acceptedCount == 1)
        }
        #expect(try await alice.client.channels().map(\.role) == [.owner])
        let bob = try await Person("bob")
        _ = try await bob.client.join(link: creation.link, timeout: .seconds(20))
        #expect(try await bob.client.channels().first?.role != .owner)
    }

    @Test("a record that is said to be stored with another version is put again", arguments: [0, -1, .max])
    func stored(version: Int64) async throws {
        try await publishesDespite(
            OneLie { frame, _ in
                guard case .recordPut(let request, _) = frame else { return nil }
                return [.recordStored(request: request, version: version)]
            })
    }

    @Test("a page of members that never ends, repeats itself or is too long is refused")
    func members() async throws {
        let id = MemberID(bytes: [5, 5])!
        let row = Frame.MembersPage.Row(member: id, role: "observer", status: "ok", name: "x", joinedAt: 1)
        let lower = Frame.MembersPage.Row(
            member: MemberID(bytes: [5])!, role: "observer", status: "ok", name: "x", joinedAt: .min)
        let pages: [(Bool, [Frame.MembersPage.Row])] = [
            (true, []), (false, [row, row]), (false, [row, lower]), (true, [row, row]),
        ]
        for (more, rows) in pages {
            let lie = OneLie { frame, _ in
                guard case .membersGet(let request, _, _) = frame else { return nil }
                return [.members(Frame.MembersPage(request: request, more: more, total: 1, rows: rows))]
            }
            let relay = try PuppetRelay(lie: lie.answer)
            let alice = try await Person("alice")
            try await alice.client.addRelay(name: "r", address: relay.address)
            _ = try await alice.client.createChannel(name: "news", relays: ["r"], timeout: .seconds(20))
            await #expect(throws: ChannelClientError.self) {
                _ = try await alice.client.members(of: "news", after: nil, limit: 10, timeout: .seconds(20))
            }
            #expect(lie.wasTold)
        }
    }

    @Test("any time that a relay says can be stored, listed and paged from", arguments: [.min, -1, .max])
    func times(time: Int64) async throws {
        let relay = try PuppetRelay { frame, honest in
            guard case .publish(let request, let body) = frame else { return honest }
            let forward = ForwardElement(sender: .channel, timestamp: time, inner: body)
            return [
                .ack(request: request, results: [.stored(1)]),
                .deliver(sequence: 1, batch: Body.encodeBatch([forward.bytes])),
            ]
        }
        let alice = try await Person("alice", background: .always)
        try await alice.client.addRelay(name: "r", address: relay.address)
        _ = try await alice.client.createChannel(
            name: "news", relays: ["r"], signMessages: false, timeout: .seconds(20))
        let stream = alice.client.follow("news", since: .beginning)
        // Said by the channel itself, so that it is news to its owner, too.
        let json =
            #"{"event":"x.msg.new","msgId":"AQIDBAUGBwgJCgsM","params":{"asGroup":true,"#
            + #""content":{"type":"text","text":"strange"}}}"#
        _ = try await alice.client.publish("hello", to: "news", timeout: .seconds(20))
        let forward = ForwardElement(sender: .channel, timestamp: time, inner: Array(json.utf8))
        relay.say(.deliver(sequence: 2, batch: Body.encodeBatch([forward.bytes])))
        _ = try await stream.items { $0.line == "message strange" }
        let messages = try await alice.client.messages(in: "news")
        let strange = try #require(messages.first { $0.text == "strange" })
        #expect((0...253_402_300_799).contains(strange.time))
        _ = try? await alice.client.messages(in: "news", limit: 5, before: strange.id)
    }
}
