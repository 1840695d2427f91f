@testable import ChannelClient
import ChannelWire
import PuppetRelay
import SodiumCrypto
import Synchronization
import Testing

@Suite("What owners and relays say to each other", .serialized)
struct OwnersLinkTests {
    /// What came to a relay, in order.
    private final class Heard: Sendable {
        private let frames = Mutex<[Frame]>([])
        func note(_ frame: Frame) { frames.withLock { $0.append(frame) } }
        var all: [Frame] { frames.withLock { $0 } }
        /// The records that were put, decoded.
        var records: [ChannelRecord] {
            all.compactMap {
                if case .recordPut(_, let bytes) = $0 { try? ChannelRecord.decode(bytes) } else { nil }
            }
        }
        func count(_ fits: (Frame) -> Bool) -> Int { all.count(where: fits) }
    }

    private func isRoster(_ frame: Frame) -> Bool {
        if case .direct(let body) = frame {
            body.firstRange(of: Array("x.grp.roster".utf8)) != nil
        } else {
            false
        }
    }

    private func owner(
        on relay: PuppetRelay, background: ChannelClient.Options.Background = .always
    ) async throws -> (Person, ChannelCreation) {
        let alice = try await Person("alice", background: background)
        try await alice.client.addRelay(name: "r", address: relay.address)
        let creation = try await alice.client.createChannel(
            name: "news", relays: ["r"], signMessages: false, timeout: .seconds(20))
        return (alice, creation)
    }

    @Test("a relay that cannot take the roster is out, with its reason")
    func rosterRefused() async throws {
        let relay = try PuppetRelay { frame, honest in
            guard isRoster(frame) else { return honest }
            let refusal = RosterAcknowledgement(version: 0, error: "too many")
            return [.direct(body: Event(params: .rosterAck(refusal)).encode())]
        }
        let error = await #expect(throws: ChannelClientError.self) { _ = try await owner(on: relay) }
        #expect(error?.relays.map(\.result) == [.rejected("too many")])
    }

    @Test("a roster whose link was lost goes again on the next")
    func rosterAgain() async throws {
        let heard = Heard()
        let relay = try PuppetRelay(rawLie: { frame, honest in
            heard.note(frame)
            if isRoster(frame), heard.count(isRoster) == 1 { return [.hangUp] }
            return honest.map { .frame($0) }
        })
        let (_, creation) = try await owner(on: relay)
        #expect(creation.relays.map(\.result) == [.active] && heard.count(isRoster) == 2)
    }

    @Test("a relay that lost the channel is invited anew, and the record has its new key")
    func lostChannel() async throws {
        let (isLost, heard) = (Signal(), Heard())
        let key = try #require(PublicKey(raw: Sodium.random(32)))
        let relay = try PuppetRelay { frame, honest in
            heard.note(frame)
            guard isLost.isGiven else { return honest }
            if case .control = frame { return [.controlled(status: "", recordVersion: 0)] }
            guard case .direct(let body)? = honest.first,
                case .relayAcpt(let acceptance)? = try? Event.decode(json: body).params,
                case .relayChannel(_, let host)? = try? AntennaLink.parse(acceptance.relayLink)
            else { return honest }
            let link = AntennaLink.relayChannel(key: key, host: host).text()
            return [.direct(body: Event(params: .relayAcpt(RelayAcceptance(relayLink: link))).encode())]
        }
        let (alice, creation) = try await owner(on: relay)
        let stream = alice.client.follow("news")
        let events = alice.client.events
        isLost.give()
        relay.hangUp()
        let version: Int64 = try await events.first {
            if case .recordUpdated(_, let version) = $0 { version } else { nil }
        }
        #expect(version == creation.channel.recordVersion + 1)
        _ = try await alice.client.synchronize(timeout: .seconds(20))
        #expect(heard.records.last?.content.relays.map(\.key) == [key])
        _ = stream
    }

    @Test("a relay that leaves, as its log says, is out of the record that the others get")
    func leftByLog() async throws {
        let heard = Heard()
        let keys = Ed25519.KeyPair.generate()
        let key = try #require(PublicKey(raw: keys.publicKey))
        let leaving = try PuppetRelay { _, honest in
            guard case .direct(let body)? = honest.first,
                case .relayAcpt(let acceptance)? = try? Event.decode(json: body).params,
                case .relayChannel(_, let host)? = try? AntennaLink.parse(acceptance.relayLink)
            else { return honest }
            let link = AntennaLink.relayChannel(key: key, host: host).text()
            return [.direct(body: Event(params: .relayAcpt(RelayAcceptance(relayLink: link))).encode())]
        }
        let staying = try PuppetRelay { frame, honest in
            heard.note(frame)
            return honest
        }
        let alice = try await Person("alice", background: .always)
        for (name, relay) in [("leaving", leaving), ("staying", staying)] {
            try await alice.client.addRelay(name: name, address: relay.address)
        }
        let creation = try await alice.client.createChannel(
            name: "news", relays: ["leaving", "staying"], timeout: .seconds(20))
        #expect(creation.relays.map(\.result) == [.active, .active])
        _ = try await alice.client.synchronize(timeout: .seconds(20))
        let listed = try #require(heard.records.last?.content.relays.first { $0.key == key })
        let channel = try #require(ChannelID(text: creation.channel.id))
        let leave = Signing.element(
            json: Event(messageID: MessageID(bytes: [1]), params: .leave).encode(), channel: channel,
            member: listed.member
        ) { Signature(bytes: Ed25519.sign($0, with: keys))! }
        let forward = ForwardElement(
            sender: .member(listed.member, name: "relay"), timestamp: 1_800_000_000, inner: leave)
        let events = alice.client.events
        leaving.say(.deliver(sequence: 1, batch: Body.encodeBatch([forward.bytes])))
        let found = try await events.first { event in
            if case .groupRelayUpdated(_, _, let relay) = event { relay } else { nil }
        }
        #expect(found.name == "leaving" && found.status == .inactive && found.memberStatus == .left)
        _ = try await events.first { if case .recordUpdated = $0 { true } else { nil } }
        _ = try await alice.client.publish("hello", to: "news", timeout: .seconds(20))
        #expect(try await alice.client.link(to: "news").contains("%2C") == false)
    }

    @Test("a relay that is content with no record is left alone")
    func neverContent() async throws {
        let (isStubborn, heard) = (Signal(), Heard())
        let relay = try PuppetRelay { frame, honest in
            guard isStubborn.isGiven, case .recordPut(let request, _) = frame else { return honest }
            heard.note(frame)
            return [.error(LinkError(.recordConflict, request: request))]
        }
        let (alice, creation) = try await owner(on: relay)
        isStubborn.give()
        _ = try await alice.client.setChannel("news", description: "new", timeout: .seconds(20))
        let versions = heard.records.map(\.content.version)
        // A version above the one that was refused, a few times, and then no more.
        let version = creation.channel.recordVersion
        #expect(versions.first == version + 1 && versions.contains(version + 2) && versions.count <= 8)
    }

    @Test("what another attempt has stored already is accepted")
    func repeated() async throws {
        let relay = try PuppetRelay { frame, honest in
            guard case .publish(let request, _) = frame else { return honest }
            return [.ack(request: request, results: [.repeated(5)])]
        }
        let (alice, _) = try await owner(on: relay)
        let receipt = try await alice.client.publish("hello", to: "news", timeout: .seconds(20))
        #expect(receipt.relays.map(\.outcome) == [.accepted(sequence: 5)])
    }

    @Test("who answers at a relay's address and is another one is told nothing")
    func otherIdentity() async throws {
        let heard = Heard()
        let relay = try PuppetRelay { frame, honest in
            heard.note(frame)
            return honest
        }
        let other = try PuppetRelay()
        let keys = try [relay, other].map {
            try #require($0.address.split(separator: "#").last?.split(separator: "?").first)
        }
        let alice = try await Person("alice")
        try await alice.client.addRelay(name: "r", address: relay.address.replacing(keys[0], with: keys[1]))
        let error = await #expect(throws: ChannelClientError.self) {
            _ = try await alice.client.createChannel(name: "news", relays: ["r"], timeout: .seconds(20))
        }
        #expect(error?.code == .channelNotCreated && heard.all.isEmpty)
    }

    @Test("a relay that says when it is back is left alone until then, whoever waits")
    func drain() async throws {
        let relay = try PuppetRelay()
        let (alice, _) = try await owner(on: relay)
        _ = try await alice.client.publish("before", to: "news", timeout: .seconds(20))
        let events = alice.client.events
        let clock = ContinuousClock()
        let start = clock.now
        let json =
            #"{"event":"x.msg.new","msgId":"AQIDBAUGBwgJCgsM","params":{"asGroup":true,"#
            + #""content":{"type":"text","text":"marker"}}}"#
        let marker = ForwardElement(sender: .channel, timestamp: 1_800_000_000, inner: Array(json.utf8))
        relay.say(.drain(delayMs: 600), .deliver(sequence: 2, batch: Body.encodeBatch([marker.bytes])))
        _ = try await events.first { event in
            if case .messageReceived(let message) = event, message.text == "marker" { true } else { nil }
        }
        relay.hangUp()
        _ = try await events.first { if case .connectionChanged(_, _, false, _) = $0 { true } else { nil } }
        let receipt = try await alice.client.publish("after", to: "news", timeout: .seconds(20))
        #expect(receipt.isComplete && clock.now - start >= .milliseconds(600))
    }

    @Test("a relay that lets a client in and hangs up at once is asked less and less often")
    func revolvingDoor() async throws {
        let relay = try PuppetRelay()
        let (alice, _) = try await owner(on: relay)
        let events = alice.client.events
        let stream = alice.client.follow("news")
        let clock = ContinuousClock()
        let start = clock.now
        for _ in 0..<6 {
            relay.hangUp()
            _ = try await events.first {
                if case .connectionChanged(_, _, true, _) = $0 { true } else { nil }
            }
        }
        _ = stream
        // Half of 20, 40, 80, 160 and 200 milliseconds, at least.
        #expect(clock.now - start >= .milliseconds(250))
    }

    @Test("a leave that a relay was not there to hear goes to it later by itself")
    func leaveLater() async throws {
        let relays = [try TestRelay(), try TestRelay()]
        let alice = try await Person("alice")
        let creation = try await alice.create("news", on: relays)
        let bob = try await Person("bob")
        _ = try await bob.client.join(link: creation.link)
        relays[1].stop()
        let receipt = try await bob.client.leave("news")
        #expect(receipt.acceptedCount == 1)
        let events = bob.client.events
        try relays[1].start()
        _ = try await events.first { event in
            if case .outboxUpdated(_, _, let part) = event, part.isAccepted { true } else { nil }
        }
        #expect(try await bob.client.outbox().isEmpty)
    }

    @Test("with a proxy nothing is reached past it, not even a numeric address")
    func proxy() async throws {
        let relay = try TestRelay()
        let person = try await Person("alice")
        var options = ChannelClient.Options()
        // Nobody listens there.
        options.proxy = try ProxyAddress("socks5://127.0.0.1:1")
        let client = try ChannelClient(home: person.home, options: options)
        let report = try await client.testRelay(name: relay.address, timeout: .seconds(5))
        #expect(report.failedStep?.step == .connect)
        await client.shutdown()
    }

    @Test("a circuit is of one membership and one of its links, the same in each run")
    func circuits() {
        let (one, two) = (Ed25519.KeyPair.generate(), Ed25519.KeyPair.generate())
        let circuits = [one, two].flatMap { keys in
            ["member", "control"].map { Circuit.membership(keys, role: $0).token }
        }
        #expect(Set(circuits + [Circuit.fresh().token, Circuit.fresh().token]).count == 6)
        #expect(Circuit.membership(one, role: "member").token == circuits[0])
    }
}
