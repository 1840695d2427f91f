import ChannelClient
import Testing

@Suite("Reading, resuming, leaving", .serialized)
struct ReadingTests {
    @Test("a reader who was away gets what was missed, once and in order")
    func resume() async throws {
        let relay = try TestRelay()
        let alice = try await Person("alice")
        let creation = try await alice.create("news", on: [relay])
        let bob = try await Person("bob", background: .none)
        _ = try await bob.client.join(link: creation.link)
        _ = try await alice.client.publish("1", to: "news")
        var position: Int64 = 0
        for item in try await bob.client.follow("news").items(1) { position = item.position }
        await bob.client.shutdown()
        for text in ["2", "3"] { _ = try await alice.client.publish(text, to: "news") }
        let again = try bob.another(background: .none)
        #expect(
            try await again.follow("news", since: .after(position)).items(2).map(\.line) == [
                "message 2", "message 3",
            ])
        #expect(try await again.messages(in: "news").map(\.text) == ["1", "2", "3"])
        await again.shutdown()
    }

    @Test("following survives a restart of the relay")
    func relayRestarts() async throws {
        let relay = try TestRelay()
        let alice = try await Person("alice")
        let creation = try await alice.create("news", on: [relay])
        let bob = try await Person("bob")
        _ = try await bob.client.join(link: creation.link)
        let stream = bob.client.follow("news")
        _ = try await alice.client.publish("1", to: "news")
        relay.stop()
        try relay.start()
        _ = try await alice.client.publish("2", to: "news", minimumRelays: 1)
        #expect(try await stream.items(2).map(\.line) == ["message 1", "message 2"])
    }

    @Test("history goes back beyond what a new reader gets, page by page")
    func history() async throws {
        let relay = try TestRelay()
        let alice = try await Person("alice")
        let creation = try await alice.create("news", on: [relay])
        for n in 1...130 { _ = try await alice.client.publish("\(n)", to: "news") }
        let bob = try await Person("bob")
        _ = try await bob.client.join(link: creation.link)
        let stored = try await bob.client.messages(in: "news", limit: 1000)
        #expect(stored.count == 100 && stored.first?.text == "31")
        let first = try #require(stored.first)
        let page = try await bob.client.history(of: "news", before: first.id, limit: 20)
        #expect(page.map(\.text) == (11...30).map(String.init))
        let rest = try await bob.client.history(of: "news", before: page.first?.id, limit: 20)
        #expect(rest.map(\.text) == (1...10).map(String.init))
        #expect(rest.allSatisfy { $0.signature == .verified })
        // What is fetched of the past is no news.
        let news = try await bob.client.follow("news", since: .beginning).items(100)
        #expect(news.map(\.line) == (31...130).map { "message \($0)" })
        let marker = try await alice.client.publish("131", to: "news")
        _ = try await bob.client.synchronize()
        let next = try await bob.client.follow("news", since: .after(news[99].position)).items(1)
        #expect(marker.isComplete && next.map(\.line) == ["message 131"])
    }

    @Test("a reader cannot post, edit, remove or rule")
    func rights() async throws {
        let relay = try TestRelay()
        let alice = try await Person("alice")
        let creation = try await alice.create("news", on: [relay])
        let posted = try await alice.client.publish("hello", to: "news")
        let bob = try await Person("bob")
        _ = try await bob.client.join(link: creation.link)
        func code(_ body: () async throws -> Void) async -> ChannelClientError.Code? {
            do { try await body() } catch let error as ChannelClientError { return error.code } catch {}
            return nil
        }
        #expect(await code { _ = try await bob.client.publish("no", to: "news") } == .notPermitted)
        #expect(
            await code { _ = try await bob.client.edit(posted.messageID, in: "news", to: "no") }
                == .notPermitted)
        #expect(
            await code { _ = try await bob.client.deleteMessage(posted.messageID, in: "news") }
                == .notPermitted)
        #expect(await code { _ = try await bob.client.addRelays(["r0"], to: "news") } == .notOwner)
        #expect(await code { _ = try await bob.client.deleteChannel("news") } == .notOwner)
        #expect(await code { _ = try await bob.client.join(link: creation.link) } == .alreadyMember)
        #expect(await code { _ = try await bob.client.channel(named: "other") } == .unknownChannel)
    }

    @Test("the owner sees a new member, and removes it")
    func members() async throws {
        let relay = try TestRelay()
        let alice = try await Person("alice", background: .always)
        let creation = try await alice.create("news", on: [relay])
        let events = alice.client.events
        let bob = try await Person("bob", background: .always)
        let joined = try await bob.client.join(link: creation.link)
        let member = try await events.first { event in
            if case .memberJoined("news", let member) = event { member } else { nil }
        }
        #expect(member.name == "bob" && member.id == joined.channel.memberID)
        let page = try await alice.client.members(of: "news")
        #expect(page.members.contains { $0.name == "bob" && $0.role == .observer })
        #expect(page.members.contains { $0.isSelf && $0.role == .owner })

        let ended = bob.client.events
        _ = try await alice.client.removeMember(member.id, from: "news")
        _ = try await ended.first { event in
            if case .membershipEnded("news", _) = event { true } else { nil }
        }
        #expect(try await bob.client.channel(named: "news").isCurrent == false)
        try await bob.client.forgetChannel("news")
        #expect(try await bob.client.channels().isEmpty)
    }

    @Test("a member who was removed while away learns it from the relays, and may join again")
    func removedWhileAway() async throws {
        let relays = [try TestRelay(), try TestRelay()]
        let alice = try await Person("alice")
        let creation = try await alice.create("news", on: relays)
        _ = try await alice.client.publish("before", to: "news")
        let bob = try await Person("bob")
        let joined = try await bob.client.join(link: creation.link)
        _ = try await alice.client.removeMember(joined.channel.memberID, from: "news")

        // One relay's word is not enough: the other one might say something else.
        relays[0].stop()
        _ = try await bob.client.synchronize()
        #expect(try await bob.client.channel(named: "news").isCurrent)
        try relays[0].start()
        _ = try await bob.client.synchronize()
        #expect(try await bob.client.channel(named: "news").ending == .removed)
        let items = try await bob.client.follow("news").items(1)
        #expect(items.isEmpty)

        let again = try await bob.client.join(link: creation.link)
        #expect(again.channel.name == "news" && again.channel.isCurrent)
        #expect(again.channel.memberID != joined.channel.memberID)
        _ = try await alice.client.publish("after", to: "news")
        _ = try await bob.client.synchronize()
        #expect(try await bob.client.messages(in: "news").map(\.text) == ["before", "after"])
    }

    @Test("a reader who left may come back, and a return that fails changes nothing")
    func comingBack() async throws {
        let relay = try TestRelay()
        let alice = try await Person("alice")
        let creation = try await alice.create("news", on: [relay])
        _ = try await alice.client.publish("before", to: "news")
        let bob = try await Person("bob")
        _ = try await bob.client.join(link: creation.link)
        _ = try await bob.client.leave("news")
        relay.stop()
        await #expect(throws: ChannelClientError.self) { try await bob.client.join(link: creation.link) }
        #expect(try await bob.client.channel(named: "news").ending == .left)
        #expect(try await bob.client.messages(in: "news").map(\.text) == ["before"])
        try relay.start()
        #expect(try await bob.client.join(link: creation.link).channel.name == "news")
        await #expect(throws: ChannelClientError.self) { try await bob.client.join(link: creation.link) }
        #expect(try await bob.client.messages(in: "news").map(\.text) == ["before"])
    }

    @Test("a reader leaves; a sole owner cannot")
    func leaving() async throws {
        let relay = try TestRelay()
        let alice = try await Person("alice")
        let creation = try await alice.create("news", on: [relay])
        let bob = try await Person("bob")
        _ = try await bob.client.join(link: creation.link)
        let receipt = try await bob.client.leave("news")
        #expect(receipt.isComplete)
        #expect(try await bob.client.channel(named: "news").isCurrent == false)
        do {
            _ = try await alice.client.leave("news")
            Issue.record("a sole owner left")
        } catch let error as ChannelClientError {
            #expect(error.code == .soleOwner)
        }
    }

    @Test("a deleted channel ends for its readers, and is gone at the owner")
    func deleted() async throws {
        let relay = try TestRelay()
        let alice = try await Person("alice")
        let creation = try await alice.create("news", on: [relay])
        let bob = try await Person("bob")
        _ = try await bob.client.join(link: creation.link)
        let stream = bob.client.follow("news")
        let receipt = try await alice.client.deleteChannel("news")
        #expect(receipt.isComplete)
        #expect(try await alice.client.channels().isEmpty)
        let items = try await within { () async throws -> [FollowItem] in
            var items: [FollowItem] = []
            for try await item in stream { items.append(item) }
            return items
        }
        #expect(items.map(\.line) == ["notice The channel was deleted by an owner."])
    }

    @Test("a changed profile reaches the readers with a new record")
    func profile() async throws {
        let relay = try TestRelay()
        let alice = try await Person("alice")
        let creation = try await alice.create("news", on: [relay])
        let bob = try await Person("bob", background: .always)
        _ = try await bob.client.join(link: creation.link)
        let events = bob.client.events
        _ = try await alice.client.setChannel("news", name: "olds", description: "yesterday")
        _ = try await events.first { event in
            if case .recordUpdated("news", let version) = event, version > creation.channel.recordVersion {
                true
            } else {
                nil
            }
        }
        let channel = try await bob.client.channel(named: "news")
        #expect(channel.displayName == "olds" && channel.description == "yesterday" && channel.name == "news")
        // What does not fit changes nothing.
        for count in [15_200, 15_400, 20_000] {
            let long = String(repeating: "x", count: count)
            do {
                _ = try await alice.client.setChannel("news", description: long)
                #expect(try await alice.client.channel(named: "news").description == long)
            } catch {
                #expect(error.code == .messageTooLarge)
                #expect(try await alice.client.channel(named: "news").description != long)
            }
        }
    }

    @Test("two clients on one home post side by side, and neither loses a message")
    func twoProcesses() async throws {
        let relay = try TestRelay()
        let alice = try await Person("alice")
        let creation = try await alice.create("news", on: [relay])
        let other = try alice.another()
        let stream = other.follow("news")
        // The stream has begun once a later call of the same client is answered.
        _ = try await other.channels()
        async let one = alice.client.publish("one", to: "news")
        async let two = other.publish("two", to: "news")
        let receipts = [try await one, try await two]
        #expect(receipts.allSatisfy { $0.isComplete })
        let lines = try await stream.items(2).map(\.line)
        #expect(Set(lines) == ["message one", "message two"])
        let bob = try await Person("bob")
        _ = try await bob.client.join(link: creation.link)
        let texts = try await bob.client.messages(in: "news").map(\.text)
        #expect(Set(texts) == ["one", "two"])
        await other.shutdown()
    }

    @Test("a second channel of the same name gets a suffix, and both are found by name and id")
    func names() async throws {
        let relay = try TestRelay()
        let alice = try await Person("alice")
        let one = try await alice.create("my news", on: [relay])
        let two = try await alice.client.createChannel(name: "my news", relays: ["r0"])
        #expect(one.channel.name == "my news" && two.channel.name == "my news_1")
        #expect(try await alice.client.channel(named: "#'my news'").id == one.channel.id)
        #expect(try await alice.client.channel(named: two.channel.id).name == "my news_1")
    }

    @Test("after a shutdown calls fail and streams end")
    func shutdown() async throws {
        let bob = try await Person("bob")
        let events = bob.client.events
        await bob.client.shutdown()
        await #expect(throws: ChannelClientError(.shutDown, "The client was shut down.")) {
            try await bob.client.channels()
        }
        let left = try await within { () async throws -> Int in
            var count = 0
            for await _ in events { count += 1 }
            return count
        }
        #expect(left == 0)
        await bob.client.shutdown()
    }
}
