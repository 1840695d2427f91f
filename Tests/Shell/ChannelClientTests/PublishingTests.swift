import ChannelClient
import Testing

@Suite("Publishing", .serialized)
struct PublishingTests {
    private func code(_ body: () async throws -> Void) async -> ChannelClientError.Code? {
        do { try await body() } catch let error as ChannelClientError { return error.code } catch {}
        return nil
    }

    @Test("what no relay could take is refused here, and nothing of it is kept")
    func impossible() async throws {
        let relay = try TestRelay()
        let alice = try await Person("alice")
        _ = try await alice.create("news", on: [relay])
        for text in ["", "nul\0"] {
            #expect(await code { _ = try await alice.client.publish(text, to: "news") } == .invalidText)
        }
        let long = String(repeating: "x", count: 17_000)
        #expect(await code { _ = try await alice.client.publish(long, to: "news") } == .messageTooLarge)
        #expect(try await alice.client.messages(in: "news").isEmpty)
        #expect(try await alice.client.outbox().isEmpty)
    }

    @Test("what waits is taken out of the outbox only by who says so, and a current channel not at all")
    func discarding() async throws {
        let relays = [try TestRelay(), try TestRelay()]
        let alice = try await Person("alice", background: .none)
        _ = try await alice.create("news", on: relays)
        relays[0].stop()
        let receipt = try await alice.client.publish("half", to: "news")
        try await alice.client.discardOutbox(receipt.messageID, in: "news")
        #expect(try await alice.client.outbox().map(\.relay) == ["r0"])
        #expect(await code { try await alice.client.forgetChannel("news") } == .notPermitted)
        try await alice.client.discardOutbox(receipt.messageID, in: "news", pending: true)
        #expect(try await alice.client.outbox().isEmpty)
        #expect(try await alice.client.receipt(of: receipt.messageID, in: "news").acceptedCount == 1)
    }

    @Test("a deletion of the channel reaches the relay that was down when it was said")
    func deletedLater() async throws {
        let relays = [try TestRelay(), try TestRelay()]
        let alice = try await Person("alice")
        let creation = try await alice.create("news", on: relays)
        let bob = try await Person("bob")
        _ = try await bob.client.join(link: creation.link)
        relays[1].stop()
        _ = try await alice.client.deleteChannel("news")
        #expect(try await alice.client.channels().isEmpty)
        try relays[1].start()
        let report = try await alice.client.synchronize()
        #expect(report.delivered == 1 && report.pending == 0)
        _ = try await bob.client.synchronize()
        #expect(try await bob.client.channel(named: "news").ending == .deleted)
    }

    @Test("signing is turned off and on by the owner alone, and messages follow")
    func signing() async throws {
        let relay = try TestRelay()
        let alice = try await Person("alice")
        let creation = try await alice.create("news", on: [relay])
        let bob = try await Person("bob")
        _ = try await bob.client.join(link: creation.link)
        for (signs, text) in [(false, "plain"), (true, "signed")] {
            _ = try await alice.client.setChannel("news", signMessages: signs)
            _ = try await alice.client.publish(text, to: "news")
            _ = try await bob.client.synchronize()
            #expect(try await bob.client.channel(named: "news").signMessages == signs)
        }
        let messages = try await bob.client.messages(in: "news")
        #expect(messages.map(\.text) == ["plain", "signed"])
        #expect(messages.map(\.signature) == [.unsigned, .verified])
    }
}
