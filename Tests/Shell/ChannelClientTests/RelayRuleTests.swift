import ChannelClient
import SQLiteKit
import Testing

@Suite("Relays that leave, are removed, come back", .serialized)
struct RelayRuleTests {
    @Test(
        "an operator who leaves makes the relay rejected and its member left; readers let go of it"
    )
    func operatorLeaves() async throws {
        let relays = [try TestRelay(), try TestRelay()]
        let alice = try await Person("alice", background: .always)
        let creation = try await alice.create("news", on: relays)
        let bob = try await Person("bob", background: .always)
        _ = try await bob.client.join(link: creation.link)
        let (owner, reader) = (alice.client.events, bob.client.events)

        #expect(relays[0].operate("leave", "#news") == .ok)
        let rejected = try await owner.first { event in
            if case .groupRelayUpdated(let channel, let member, let relay) = event, relay.status == .rejected
            {
                (channel, member, relay)
            } else {
                nil
            }
        }
        #expect(rejected.0.name == "news")
        #expect(rejected.1.role.rawValue == "relay" && rejected.1.status == "left")
        #expect(rejected.2.memberStatus == .left && rejected.2.reason == "rejoin_rejected")
        // The owner publishes a record without it, and the reader follows.
        _ = try await reader.first { event in
            if case .groupRelayUpdated(_, _, let relay) = event, relay.status == .inactive {
                true
            } else {
                nil
            }
        }
        _ = try await alice.client.synchronize()
        let receipt = try await alice.client.publish("on one", to: "news")
        #expect(receipt.relays.map(\.relay) == ["r1"] && receipt.isComplete)
        #expect(try await alice.client.link(to: "news").contains("%2C") == false)
    }

    @Test("an owner whose message a relay refuses for good has a record without it when the call returns")
    func refusedWhilePublishing() async throws {
        let relays = [try TestRelay(), try TestRelay()]
        let alice = try await Person("alice")
        let creation = try await alice.create("news", on: relays)
        #expect(creation.link.contains("%2C"))
        relays[0].operate("leave", "#news")
        #expect(try await alice.client.publish("one", to: "news").acceptedCount == 1)
        #expect(try await alice.client.link(to: "news").contains("%2C") == false)
        // The other relay has the record already: who joins now sees one relay.
        await alice.client.shutdown()
        let bob = try await Person("bob")
        #expect(try await bob.client.join(link: creation.link).relays.count == 1)
    }

    @Test("where the last run did not come to follow a record, the next one does")
    func unfollowedRecord() async throws {
        let relay = try TestRelay()
        let alice = try await Person("alice", background: .always)
        let creation = try await alice.create("news", on: [relay])
        let bob = try await Person("bob")
        _ = try await bob.client.join(link: creation.link)
        await bob.client.shutdown()
        // As it stands where the power goes between a record with another link and the row of its relay.
        let database = try Database(path: bob.home + "/client.db", mode: .readWrite)
        let link = try #require(
            try database.first("SELECT relay_link FROM channel_relay", []) { $0.text(0) })
        let before = link.replacing("?p=\(relay.port)", with: "?p=1")
        #expect(before != link)
        try database.run(
            "UPDATE channel_relay SET relay_link = ?, address = ?", [.text(before), .text(before)])
        database.close()
        let next = try bob.another()
        let stream = next.follow("news", since: .now)
        _ = try await alice.client.publish("hello", to: "news")
        #expect(try await stream.items(1).map(\.line) == ["message hello"])
        await next.shutdown()
    }

    @Test("a record that the last run owed is made by the next one")
    func owedRecord() async throws {
        let relays = [try TestRelay(), try TestRelay()]
        let alice = try await Person("alice")
        let creation = try await alice.create("news", on: relays)
        relays[0].operate("leave", "#news")
        await alice.client.shutdown()
        // Another run learns of it and ends at once, before it could make the record.
        let hasty = try alice.another()
        let events = hasty.events
        async let _ = try? hasty.synchronize("news")
        _ = try await events.first { event in
            if case .groupRelayUpdated(_, _, let relay) = event, relay.status == .rejected {
                true
            } else {
                nil
            }
        }
        await hasty.shutdown()
        let next = try alice.another()
        _ = try await next.synchronize()
        #expect(try await next.link(to: "news").contains("%2C") == false)
        await next.shutdown()
        let bob = try await Person("bob")
        #expect(try await bob.client.join(link: creation.link).relays.count == 1)
    }

    @Test("a reader whose relays were all taken out finds the one that comes back, without a new link")
    func allRemoved() async throws {
        let relay = try TestRelay()
        let alice = try await Person("alice")
        let creation = try await alice.create("news", on: [relay])
        let bob = try await Person("bob")
        let joined = try await bob.client.join(link: creation.link)
        let stream = bob.client.follow("news")
        let away = try await Person("carol")
        _ = try await away.client.join(link: creation.link)

        _ = try await alice.client.removeRelay("r0", from: "news")
        _ = try await away.client.synchronize()
        _ = try await stream.items(1)
        #expect(try await alice.client.addRelays(["r0"], to: "news").map(\.result) == [.active])
        _ = try await alice.client.publish("back", to: "news")
        _ = try await bob.client.follow("news", since: .beginning).items(until: { $0.line == "message back" })
        #expect(try await bob.client.channel(named: "news").memberID == joined.channel.memberID)
        _ = try await away.client.synchronize()
        #expect(try await away.client.messages(in: "news").map(\.text) == ["back"])
    }

    @Test("a newer link leads a member from relays that refuse to those that came after")
    func movedOn() async throws {
        let relays = [try TestRelay(), try TestRelay()]
        let alice = try await Person("alice")
        let creation = try await alice.create("news", on: [relays[0]])
        let bob = try await Person("bob")
        let joined = try await bob.client.join(link: creation.link)
        await #expect(throws: ChannelClientError.self) { try await bob.client.join(link: creation.link) }
        relays[0].operate("leave", "#news")
        try await alice.client.addRelay(name: "second", address: relays[1].address)
        _ = try await alice.client.addRelays(["second"], to: "news")
        _ = try await alice.client.publish("here", to: "news")
        let link = try await alice.client.link(to: "news")

        let moved = try await bob.client.join(link: link)
        #expect(moved.channel.memberID == joined.channel.memberID && moved.relays.map(\.result) == [.active])
        #expect(try await bob.client.messages(in: "news").map(\.text) == ["here"])
        await #expect(throws: ChannelClientError.self) { try await bob.client.join(link: link) }
    }

    @Test("an owner who was away finds the refusal on coming back")
    func rejectWhileAway() async throws {
        let relays = [try TestRelay(), try TestRelay()]
        let alice = try await Person("alice", background: .none)
        _ = try await alice.create("news", on: relays)
        relays[0].operate("leave", "#news")
        #expect(try await alice.client.channelRelays(of: "news").map(\.status) == [.active, .active])
        _ = try await alice.client.synchronize()
        let found = try await alice.client.channelRelays(of: "news")
        #expect(found.map(\.status) == [.rejected, .active])
        #expect(found[0].memberStatus == .left)
    }

    @Test(
        "a rejected relay cannot be added while listed; removed and added again it refuses until it allows"
    )
    func rejectedAllowed() async throws {
        let relays = [try TestRelay(), try TestRelay()]
        let alice = try await Person("alice")
        _ = try await alice.create("news", on: relays)
        relays[0].operate("leave", "#news")
        _ = try await alice.client.synchronize()

        await #expect(throws: ChannelClientError.self) {
            try await alice.client.addRelays(["r0"], to: "news")
        }
        _ = try await alice.client.removeRelay("r0", from: "news")
        let refused = try await alice.client.addRelays(["r0"], to: "news")
        #expect(refused == [RelayOutcome(relay: "r0", result: .rejected("rejoin_rejected"))])

        #expect(relays[0].operate("allow", "#news") == .ok)
        _ = try await alice.client.synchronize()
        #expect(
            try await alice.client.channelRelays(of: "news").first { $0.name == "r0" }?.status == .rejected)

        _ = try await alice.client.removeRelay("r0", from: "news")
        let taken = try await alice.client.addRelays(["r0"], to: "news")
        #expect(taken == [RelayOutcome(relay: "r0", result: .active)])
    }

    @Test("a relay that is listed cannot be added, and nothing is sent")
    func listed() async throws {
        let relay = try TestRelay()
        let alice = try await Person("alice")
        _ = try await alice.create("news", on: [relay])
        try await alice.client.addRelay(name: "same relay", address: relay.address)
        do {
            _ = try await alice.client.addRelays(["same relay"], to: "news")
            Issue.record("a listed relay was added under another name")
        } catch {
            #expect(error.code == .relayAlreadyListed)
        }
        #expect(try await alice.client.channelRelays(of: "news").count == 1)
    }

    @Test("a removed relay is told, readers move on, and the channel goes on elsewhere")
    func removed() async throws {
        let relays = [try TestRelay(), try TestRelay()]
        let alice = try await Person("alice")
        let creation = try await alice.create("news", on: relays)
        let bob = try await Person("bob")
        _ = try await bob.client.join(link: creation.link)
        let stream = bob.client.follow("news")
        let outcome = try await alice.client.removeRelay("r0", from: "news")
        #expect(outcome == [RelayOutcome(relay: "r0", result: .active)])
        #expect(try await alice.client.channelRelays(of: "news").map(\.name) == ["r1"])
        _ = try await alice.client.publish("on one", to: "news")
        let items = try await stream.items(until: { $0.line == "message on one" })
        #expect(items.count(where: { if case .message = $0.kind { true } else { false } }) == 1)
    }

    @Test("a relay added later is joined by readers, without a new link")
    func addedLater() async throws {
        let relays = [try TestRelay(), try TestRelay()]
        let alice = try await Person("alice")
        let creation = try await alice.create("news", on: [relays[0]])
        let bob = try await Person("bob", background: .always)
        _ = try await bob.client.join(link: creation.link)
        let events = bob.client.events
        try await alice.client.addRelay(name: "second", address: relays[1].address)
        #expect(try await alice.client.addRelays(["second"], to: "news").map(\.result) == [.active])
        // Two links open: the reader knew only one relay.
        _ = try await events.first { event in
            if case .connectionChanged("news", let relay, true, _) = event, relay != "127.0.0.1" {
                relay
            } else {
                nil
            }
        }
        let stream = bob.client.follow("news")
        relays[0].stop()
        let receipt = try await alice.client.publish("through the second", to: "news")
        #expect(receipt.acceptedCount == 1)
        #expect(try await stream.items(1).map(\.line) == ["message through the second"])
    }

    @Test("a relay whose operator decides is pending, then active or rejected", arguments: [true, false])
    func manual(accepts: Bool) async throws {
        let open = try TestRelay()
        let manual = try TestRelay { $0.admission = .manual }
        let alice = try await Person("alice", background: .always)
        let creation = try await alice.create("news", on: [open, manual])
        #expect(creation.relays.map(\.result) == [.active, .pending(.invited)])
        let events = alice.client.events
        if accepts {
            #expect(manual.operate("accept", "#news") == .ok)
        } else {
            #expect(manual.operate("reject", "#news") == .ok)
        }
        let status: RelayStatus = try await events.first { event in
            if case .groupRelayUpdated(_, _, let relay) = event, relay.name == "r1",
                relay.status == .active || relay.status == .rejected
            {
                relay.status
            } else {
                nil
            }
        }
        #expect(status == (accepts ? .active : .rejected))
    }
}
