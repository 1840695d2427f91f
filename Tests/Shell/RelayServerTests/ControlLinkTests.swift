import ChannelWire
import LinkRuntime
import PosixKit
import RelayServer
import SodiumCrypto
import Testing

@Suite("A relay and what owners say to it")
struct ControlLinkTests {
    private let relay: TestRelay
    private let net: TestNet
    private let channel = TestChannel()

    init() throws {
        relay = try TestRelay()
        net = try TestNet()
    }

    /// A control link of the channel's owner.
    private func control(invites: Bool = false) throws -> TestClient {
        let client = try net.connect(relay).opened()
        client.send(try channel.control(client, invites: invites))
        guard case .controlled = try client.next() else { throw TestFailure() }
        return client
    }

    private func roster(_ blob: [UInt8], _ message: MessageID) -> Event {
        Event(
            messageID: message,
            params: .roster(
                RosterHeader(version: 1, fileSize: Int64(blob.count), fileDigest: Sodium.sha512(blob))))
    }

    @Test("an invitation without a signature is no owner's")
    func unsignedInvitation() throws {
        let client = try control(invites: true)
        client.send(.direct(body: channel.invitationEvent.encode()))
        #expect(try client.ended() == .signatureRequired)
    }

    @Test("a roster without a signature is no owner's")
    func unsignedRoster() throws {
        try channel.serve(relay, net)
        let client = try control()
        client.send(.direct(body: roster(Roster().blob(), MessageID(random: Sodium.random(12))).encode()))
        #expect(try client.ended() == .signatureRequired)
    }

    @Test("a roster that was given up is answered once, and what is left of it goes nowhere")
    func rosterGivenUp() throws {
        try channel.serve(relay, net)
        let client = try control()
        let message = MessageID(random: Sodium.random(12))
        let blob = Roster().blob()
        let chunk = Roster.chunks(of: blob, message: message)[0]
        let stray = FileChunk(message: message, number: 2, data: blob)
        let header = channel.owner.element(channel.id, roster(blob, message))
        client.send(.direct(body: Body.encodeBatch([header, stray.bytes, chunk.bytes, stray.bytes])))
        // Answered after whatever the roster is answered by.
        client.send(.recordGet(request: 5, channel: channel.id))
        guard case .rosterAck(let answer) = try client.nextDirect().params else { throw TestFailure() }
        #expect(answer.version == 1 && answer.error != nil)
        guard case .record = try client.next() else { throw TestFailure() }
        // Begun anew, it is taken.
        client.send(.direct(body: Body.encodeBatch([header, chunk.bytes])))
        guard case .rosterAck(let taken) = try client.nextDirect().params else { throw TestFailure() }
        #expect(taken.error == nil)
    }

    @Test("a link of one channel takes no record of another, though it is genuine")
    func foreignRecord() throws {
        let other = TestChannel("other")
        try other.serve(relay, net)
        let client = try channel.serve(relay, net)
        other.version += 1
        client.send(.recordPut(request: 7, record: try other.record()))
        guard case .error(let error) = try client.next() else { throw TestFailure() }
        #expect(error.request == 7 && error.known == .recordInvalid)
    }

    @Test("nobody becomes an owner by a record of a channel of their own")
    func usurper() throws {
        try channel.serve(relay, net)
        let theirs = TestChannel("theirs")
        theirs.version = 100
        let client = try net.connect(relay).opened()
        let input = ProofOfKey.control.input(
            handshakeHash: client.hash, channel: channel.id, member: theirs.owner.id)
        client.send(
            .control(
                Frame.Control(
                    channel: channel.id, owner: theirs.owner.id, signature: sign(input, theirs.owner.pair),
                    invitationFollows: false, record: try theirs.record())))
        #expect(try client.ended() == .recordInvalid)
    }

    @Test("a newer record that comes with CONTROL is kept")
    func news() throws {
        try channel.serve(relay, net)
        channel.version += 1
        let client = try control()
        client.send(.recordGet(request: 3, channel: channel.id))
        #expect(try client.next() == .record(request: 3, record: try channel.record()))
    }

    @Test("the relay proves its identity for one challenge at a time, and to no answer")
    func identityTests() throws {
        let challenge = Event(params: .relayTest(RelayTest(challenge: Sodium.random(32)))).encode()
        let answer = RelayTest(challenge: Sodium.random(32), signature: sign([], channel.root))
        let bodies = [
            Body.encodeBatch([challenge, challenge]), Event(params: .relayTest(answer)).encode(),
        ]
        for body in bodies {
            let client = try net.connect(relay).opened()
            client.send(.direct(body: body))
            #expect(try client.ended() == .protocolViolation)
        }
    }
}
