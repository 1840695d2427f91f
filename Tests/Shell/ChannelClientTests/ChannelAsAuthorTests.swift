import ChannelClient
import ChannelWire
import PuppetRelay
import Testing

@Suite("What is written as the channel", .serialized)
struct ChannelAsAuthorTests {
    @Test("comes back to who wrote it as the same message, with what was made of it")
    func once() async throws {
        let relays = [try TestRelay(), try TestRelay()]
        let alice = try await Person("alice")
        let creation = try await alice.create("news", on: relays, signMessages: false)
        let bob = try await Person("bob")
        _ = try await bob.client.join(link: creation.link)
        let posted = try await alice.client.publish("ours", to: "news", asGroup: true)
        _ = try await alice.client.edit(posted.messageID, in: "news", to: "all ours")
        for person in [alice, bob] {
            _ = try await person.client.synchronize()
            let shown = try await person.client.messages(in: "news")
            #expect(shown.map(\.text) == ["all ours"] && shown.map(\.edited) == [true], "\(person.name)")
            #expect(shown.map(\.relays.count) == [2], "\(person.name)")
            #expect(shown.map(\.own) == [person.name == "alice"])
        }
        let read = try #require(try await bob.client.messages(in: "news").first)
        #expect(read.author == nil && read.authorName == "news")
        _ = try await alice.client.deleteMessage(posted.messageID, in: "news")
        for person in [alice, bob] {
            _ = try await person.client.synchronize()
            let shown = try await person.client.messages(in: "news")
            #expect(shown.map(\.deleted) == [true] && shown.map(\.text) == [""], "\(person.name)")
        }
    }

    @Test(
        "a deletion that one relay told first takes away what another brings later", arguments: [false, true])
    func deletedFirst(asGroup: Bool) async throws {
        let relays = [try TestRelay(), try TestRelay()]
        let alice = try await Person("alice", background: .none)
        let creation = try await alice.create("news", on: relays, signMessages: false)
        let posted = try await alice.client.publish(
            "secret", to: "news", asGroup: asGroup, minimumRelays: 2)
        relays[1].stop()
        let gone = try await alice.client.deleteMessage(posted.messageID, in: "news")
        #expect(gone.acceptedCount == 1)
        let bob = try await Person("bob", background: .none)
        #expect(try await bob.client.join(link: creation.link).relays.count { $0.result == .active } == 1)
        // The other one still has it, and knows of no deletion yet.
        try relays[1].start()
        _ = try await bob.client.synchronize()
        let shown = try await bob.client.messages(in: "news")
        #expect(shown.map(\.deleted) == [true] && shown.map(\.text) == [""])
        _ = try await alice.client.synchronize()
        _ = try await bob.client.synchronize()
        #expect(try await bob.client.messages(in: "news") == shown)
    }

    @Test("other bytes under the id of what a sole owner wrote are a relay's, told as such and not shown")
    func altered() async throws {
        let relay = try PuppetRelay()
        let alice = try await Person("alice", background: .always)
        try await alice.client.addRelay(name: "r", address: relay.address)
        _ = try await alice.client.createChannel(
            name: "news", relays: ["r"], signMessages: false, timeout: .seconds(20))
        let events = alice.client.events
        let posted = try await alice.client.publish(
            "ours", to: "news", asGroup: true, timeout: .seconds(20))
        let json =
            #"{"event":"x.msg.new","msgId":"\#(posted.messageID)","params":{"asGroup":true,"#
            + #""content":{"type":"text","text":"theirs"}}}"#
        // As sequence 1 the relay delivered what it was given.
        let forward = ForwardElement(sender: .channel, timestamp: 1_800_000_000, inner: Array(json.utf8))
        relay.say(.deliver(sequence: 2, batch: Body.encodeBatch([forward.bytes])))
        let found = try await events.first { LiarTests.disagreement($0) }
        #expect(found.kind == .altered && found.messageID == posted.messageID && found.relay == "r")
        let messages = try await alice.client.messages(in: "news")
        #expect(messages.map(\.text) == ["ours"] && messages.map(\.time) == [1_800_000_000])
        // Of what another home wrote as the channel nothing can be changed here.
        let strange = json.replacing(posted.messageID, with: "AQIDBAUGBwgJCgsM")
        let other = ForwardElement(sender: .channel, timestamp: 1_800_000_001, inner: Array(strange.utf8))
        relay.say(.deliver(sequence: 3, batch: Body.encodeBatch([other.bytes])))
        let received = try await events.first { event in
            if case .messageReceived(let message) = event, message.text == "theirs" { message } else { nil }
        }
        let error = await #expect(throws: ChannelClientError.self) {
            _ = try await alice.client.edit(received.id, in: "news", to: "mine")
        }
        #expect(error?.code == .notPermitted)
        #expect(try await alice.client.messages(in: "news").map(\.text) == ["ours", "theirs"])
    }

    @Test("a relay whose first copy of it has other bytes is told as that, too")
    func alteredAtOnce() async throws {
        let relay = try PuppetRelay { frame, honest in
            guard case .publish(let request, var body) = frame,
                let at = body.firstRange(of: Array("ours".utf8))?.lowerBound
            else { return honest }
            body[at] = UInt8(ascii: "y")
            let forward = ForwardElement(sender: .channel, timestamp: 1_800_000_000, inner: body)
            return [
                .ack(request: request, results: [.stored(1)]),
                .deliver(sequence: 1, batch: Body.encodeBatch([forward.bytes])),
            ]
        }
        let alice = try await Person("alice", background: .always)
        try await alice.client.addRelay(name: "r", address: relay.address)
        _ = try await alice.client.createChannel(
            name: "news", relays: ["r"], signMessages: false, timeout: .seconds(20))
        let events = alice.client.events
        let posted = try await alice.client.publish(
            "ours", to: "news", asGroup: true, timeout: .seconds(20))
        let found = try await events.first { LiarTests.disagreement($0) }
        #expect(found.kind == .altered && found.messageID == posted.messageID)
        #expect(try await alice.client.messages(in: "news").map(\.text) == ["ours"])
    }
}
