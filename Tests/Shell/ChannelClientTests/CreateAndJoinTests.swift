import ChannelClient
import Testing

@Suite("Creating, joining, publishing", .serialized)
struct CreateAndJoinTests {
    @Test("a channel on one relay becomes active, and a reader gets what was and what will be posted")
    func firstHour() async throws {
        let relay = try TestRelay()
        let alice = try await Person("alice")
        let creation = try await alice.create("news", on: [relay])
        #expect(creation.relays == [RelayOutcome(relay: "r0", result: .active)])
        let receipt = try await alice.client.publish("before", to: "#news")
        #expect(receipt.isComplete && receipt.acceptedCount == 1)

        let bob = try await Person("bob")
        let link = try await alice.client.link(to: "news")
        let preview = try await bob.client.preview(link: link)
        #expect(preview.displayName == "news" && preview.joinedAs == nil && preview.ownerCount == 1)
        let report = try await bob.client.join(link: link)
        #expect(report.relays.map(\.result) == [.active])
        #expect(report.channel.role == .observer)

        let stream = bob.client.follow("#news", since: .beginning)
        try await alice.client.publish("after", to: "news")
        let items = try await stream.items(2)
        #expect(items.map(\.line) == ["message before", "message after"])
        let messages = try await bob.client.messages(in: "news")
        #expect(messages.map(\.text) == ["before", "after"])
        #expect(messages.allSatisfy { $0.signature == .verified && $0.authorName == "alice" && !$0.own })
    }

    @Test("edits and deletions reach the reader, and what is deleted is gone")
    func editAndDelete() async throws {
        let relay = try TestRelay()
        let alice = try await Person("alice")
        let creation = try await alice.create("news", on: [relay])
        let bob = try await Person("bob")
        _ = try await bob.client.join(link: creation.link)
        let stream = bob.client.follow("news")
        let posted = try await alice.client.publish("frist", to: "news")
        _ = try await alice.client.edit(posted.messageID, in: "news", to: "first")
        _ = try await alice.client.deleteMessage(posted.messageID, in: "news")
        // A reader who is behind may not see the text any more, but always the deletion.
        let gone = "deleted \(posted.messageID)"
        let lines = try await stream.items(until: { $0.line == gone }).map(\.line)
        #expect(lines.allSatisfy { ["message frist", "message first", "edited first", gone].contains($0) })
        let left = try #require(try await bob.client.messages(in: "news").first)
        #expect(left.deleted && left.text.isEmpty)
        await #expect(throws: ChannelClientError.self) {
            try await alice.client.edit(posted.messageID, in: "news", to: "again")
        }
    }

    @Test("on two relays a message comes once, and both are named")
    func twoRelays() async throws {
        let relays = [try TestRelay(), try TestRelay()]
        let alice = try await Person("alice")
        let creation = try await alice.create("news", on: relays)
        #expect(creation.relays.map(\.result) == [.active, .active])
        let bob = try await Person("bob")
        let report = try await bob.client.join(link: creation.link)
        #expect(report.relays.map(\.result) == [.active, .active])
        let stream = bob.client.follow("news")
        for text in ["1", "2", "3"] {
            let receipt = try await alice.client.publish(text, to: "news", minimumRelays: 2)
            #expect(receipt.acceptedCount == 2)
        }
        #expect(try await stream.items(3).map(\.line) == ["message 1", "message 2", "message 3"])
        // Both copies have come once the reader has caught up everywhere.
        _ = try await bob.client.synchronize()
        let messages = try await bob.client.messages(in: "news")
        #expect(messages.map(\.text) == ["1", "2", "3"])
        #expect(messages.allSatisfy { $0.relays.count == 2 })
    }

    @Test("both acceptances go into few versions of the record")
    func fewVersions() async throws {
        let relays = [try TestRelay(), try TestRelay(), try TestRelay()]
        let alice = try await Person("alice")
        let creation = try await alice.create("news", on: relays)
        #expect(creation.relays.allSatisfy { $0.result == .active })
        #expect(creation.channel.recordVersion <= 4)
        #expect(creation.link.contains("%2C"))
    }

    @Test("a channel that no relay takes is not created, and says why for each")
    func notCreated() async throws {
        let closed = try TestRelay { $0.admission = .closed }
        let stopped = try TestRelay()
        stopped.stop()
        let alice = try await Person("alice")
        do {
            _ = try await alice.create("news", on: [closed, stopped])
            Issue.record("a channel without relays was created")
        } catch let error as ChannelClientError {
            #expect(error.code == .channelNotCreated)
            #expect(error.exitStatus == 69)
            #expect(error.relays.map(\.relay) == ["r0", "r1"])
            #expect(error.relays.allSatisfy { !$0.mayServe })
        }
        #expect(try await alice.client.channels().isEmpty)
    }

    @Test("a relay that is down does not delay the other, and gets the channel and the posts when it is up")
    func startedLater() async throws {
        let up = try TestRelay()
        let late = try TestRelay()
        late.stop()
        let alice = try await Person("alice", background: .always)
        let creation = try await alice.create("news", on: [up, late])
        #expect(creation.relays.map(\.result).first == .active)
        let receipt = try await alice.client.publish("early", to: "news")
        #expect(receipt.acceptedCount == 1 && receipt.relays.count == 2)
        #expect(try await alice.client.outbox().map(\.relay) == ["r1"])

        let events = alice.client.events
        try late.start()
        _ = try await events.first { event in
            if case .outboxUpdated(receipt.messageID, "news", let part) = event, part.isAccepted {
                true
            } else {
                nil
            }
        }
        #expect(try await alice.client.outbox().isEmpty)
        #expect(try await alice.client.receipt(of: receipt.messageID, in: "news").isComplete)
        _ = try await alice.client.synchronize()
        #expect(try await alice.client.channelRelays(of: "news").map(\.status) == [.active, .active])
    }

    @Test("what was posted while a relay was down is delivered to its readers once")
    func repair() async throws {
        let relays = [try TestRelay(), try TestRelay()]
        let alice = try await Person("alice")
        let creation = try await alice.create("news", on: relays)
        let bob = try await Person("bob")
        _ = try await bob.client.join(link: creation.link)
        let stream = bob.client.follow("news")
        relays[1].stop()
        let receipt = try await alice.client.publish("half", to: "news")
        #expect(receipt.acceptedCount == 1)
        try relays[1].start()
        let report = try await alice.client.synchronize()
        #expect(report.delivered == 1 && report.pending == 0)
        _ = try await alice.client.publish("whole", to: "news", minimumRelays: 2)
        #expect(try await stream.items(2).map(\.line) == ["message half", "message whole"])
        _ = try await bob.client.synchronize()
        #expect(try await bob.client.messages(in: "news").map(\.relays.count) == [2, 2])
    }

    @Test("fewer relays than asked for is an error with the receipt, and the message stays in the outbox")
    func tooFewRelays() async throws {
        let relays = [try TestRelay(), try TestRelay()]
        let alice = try await Person("alice")
        _ = try await alice.create("news", on: relays)
        relays[0].stop()
        do {
            _ = try await alice.client.publish("half", to: "news", minimumRelays: 2)
            Issue.record("one relay counted as two")
        } catch let error as ChannelClientError {
            #expect(error.code == .tooFewRelays && error.exitStatus == 2)
            #expect(error.receipt?.acceptedCount == 1)
        }
        #expect(try await alice.client.outbox().count == 1)
    }

    @Test("a relay address where a channel link is wanted is refused with the title and text of the protocol")
    func relayAddress() async throws {
        let relay = try TestRelay()
        let bob = try await Person("bob")
        do {
            _ = try await bob.client.join(link: relay.address)
            Issue.record("a relay address was joined")
        } catch let error as ChannelClientError {
            #expect(error.title == "Relay address")
            #expect(error.message == "This is a chat relay address, it cannot be used to connect.")
        }
        #expect(try await bob.client.channels().isEmpty)
    }

    @Test("a relay test makes five steps, and names the one that fails")
    func relayTest() async throws {
        let relay = try TestRelay()
        let alice = try await Person("alice")
        try await alice.client.addRelay(name: "home", address: relay.address)
        let good = try await alice.client.testRelay(name: "home")
        #expect(good.ok && good.steps.map(\.step) == RelayTestStep.allCases)
        relay.stop()
        let bad = try await alice.client.testRelay(name: "home", timeout: .seconds(5))
        #expect(bad.failedStep?.step == .connect)
        let garbage = try await alice.client.testRelay(name: "https://127.0.0.1/c#AA")
        #expect(garbage.failedStep?.step == .parse)
    }

    @Test("an address with another identity fails in the handshake")
    func otherIdentity() async throws {
        let (one, two) = (try TestRelay(), try TestRelay())
        let key = try #require(two.address.split(separator: "#").last?.split(separator: "?").first)
        let own = try #require(one.address.split(separator: "#").last?.split(separator: "?").first)
        let alice = try await Person("alice")
        let report = try await alice.client.testRelay(
            name: one.address.replacing(own, with: key), timeout: .seconds(5))
        #expect(report.failedStep?.step == .handshake)
        #expect(report.failedStep?.detail.hasSuffix("it proves to be another relay") == true)
    }
}
