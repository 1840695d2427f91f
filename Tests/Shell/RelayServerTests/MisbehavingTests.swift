import ChannelWire
import LinkRuntime
import PosixKit
import RelayServer
import SodiumCrypto
import Testing

@Suite("A relay and clients that misbehave")
struct MisbehavingTests {
    enum State: CaseIterable { case open, control, joined, member }

    static let foreign: [(State, Frame)] = [
        (.open, .publish(request: 1, body: [0x7B])),
        (.open, .membersGet(request: 1, after: nil, limit: 1)),
        (.open, .recordPut(request: 1, record: [])),
        (.open, .historyGet(request: 1, mode: .fromTime, value: 0, limit: 1)),
        (.open, .controlled(status: "", recordVersion: 0)),
        (.open, .direct(body: Array(#"{"v":"9-19","event":"x.ok","params":{}}"#.utf8))),
        (.control, .publish(request: 1, body: [0x7B])),
        (.control, .recordGet(request: 1, channel: TestChannel().id)),
        (.control, .historyGet(request: 1, mode: .fromTime, value: 0, limit: 1)),
        (.joined, .publish(request: 1, body: [0x7B])),
        (.joined, .membersGet(request: 1, after: nil, limit: 1)),
        (.joined, .attach(otherChannel)),
        (.member, .membersGet(request: 1, after: nil, limit: 1)),
        (.member, .recordGet(request: 1, channel: TestChannel().id)),
        (.member, .direct(body: [0x7B])),
        (.member, .recordPut(request: 1, record: [])),
        (.member, .deliver(sequence: 1, batch: [])),
    ]

    private static var otherChannel: Frame.Attach {
        let person = TestPerson()
        return Frame.Attach(
            channel: TestChannel().id, member: person.id, signature: sign([], person.pair), start: .live)
    }

    @Test("a frame that its state does not list ends the link with error 1", arguments: foreign)
    func foreignFrame(state: State, frame: Frame) throws {
        let relay = try TestRelay()
        let net = try TestNet()
        let channel = TestChannel()
        try channel.serve(relay, net)
        let client: TestClient
        switch state {
        case .open: client = try net.connect(relay).opened()
        case .control:
            client = try net.connect(relay).opened()
            client.send(try channel.control(client, invites: false))
            _ = try client.next()
        case .joined:
            client = try net.connect(relay).opened()
            client.send(channel.join(TestPerson()))
            _ = try client.next()
        case .member: client = try channel.subscribe(relay, net).0
        }
        client.send(frame)
        #expect(try client.ended() == .protocolViolation)
    }

    @Test("an owner who says more signed things at once than owners have to say is told to slow down")
    func signedAtOnce() throws {
        let relay = try TestRelay()
        let net = try TestNet()
        let channel = TestChannel()
        try channel.serve(relay, net)
        let signed = channel.owner.post(channel.id, "nothing that a relay listens to")
        let client = try net.connect(relay).opened()
        client.send(try channel.control(client, invites: false))
        _ = try client.next()
        client.send(.direct(body: Body.encodeBatch(Array(repeating: signed, count: 8))))
        client.send(.membersGet(request: 5, after: nil, limit: 1))
        guard case .members = try client.next() else { throw TestFailure() }
        client.send(.direct(body: Body.encodeBatch(Array(repeating: signed, count: 9))))
        #expect(try client.ended() == .rateLimited)
    }

    @Test("the ninth anonymous question ends the link")
    func questions() throws {
        let relay = try TestRelay()
        let net = try TestNet()
        let channel = TestChannel()
        let client = try net.connect(relay).opened()
        for request in UInt32(1)...8 {
            client.send(.recordGet(request: request, channel: channel.id))
            guard case .error(let error) = try client.next() else { throw TestFailure() }
            #expect(error.request == request)
            #expect(error.known == .unknownChannel)
        }
        client.send(.recordGet(request: 9, channel: channel.id))
        #expect(try client.ended() == .protocolViolation)
    }

    @Test("of questions asked in one go as many as may be are answered, then the link ends")
    func questionsAtOnce() throws {
        let relay = try TestRelay()
        let net = try TestNet()
        let channel = TestChannel()
        let client = try net.connect(relay).opened()
        for request in UInt32(1)...12 { client.send(.recordGet(request: request, channel: channel.id)) }
        for request in UInt32(1)...8 {
            guard case .error(let error) = try client.next() else { throw TestFailure() }
            #expect(error.request == request)
        }
        #expect(try client.ended() == .protocolViolation)
    }

    @Test("a proof of key for another link or by another key is worth nothing")
    func proofs() throws {
        let relay = try TestRelay()
        let net = try TestNet()
        let channel = TestChannel()
        try channel.serve(relay, net)
        let (first, person, _) = try channel.subscribe(relay, net)
        let other = try net.connect(relay).opened()
        other.send(person.attach(channel.id, first))
        #expect(try other.ended() == .badProof)
        let third = try net.connect(relay).opened()
        third.send(try channel.control(first, invites: false))
        #expect(try third.ended() == .badProof)
        let stranger = try net.connect(relay).opened()
        stranger.send(TestPerson().attach(channel.id, stranger))
        #expect(try stranger.ended() == .unknownMember)
    }

    @Test("a join that is not what it says is refused with its own number")
    func joins() throws {
        let relay = try TestRelay { $0.subscribersPerChannelMax = 3 }
        let net = try TestNet()
        let channel = TestChannel()
        try channel.serve(relay, net)
        func answer(_ frame: Frame) throws -> LinkErrorCode? {
            let client = try net.connect(relay).opened()
            client.send(frame)
            return try client.ended()
        }
        let person = TestPerson()
        var element = channel.joinElement(person)
        element[element.count - 5] ^= 1
        #expect(
            [.badSignature, .malformedEvent].contains(
                try answer(.join(channel: channel.id, element: element))))
        #expect(try answer(.join(channel: channel.id, element: [1, 2, 3])) == .malformedEvent)
        let unsigned = try #require(Element.decode(channel.joinElement(person)).json)
        #expect(try answer(.join(channel: channel.id, element: unsigned)) == .signatureRequired)
        #expect(try answer(channel.join(person, name: "")) == .joinRefused)
        #expect(try answer(TestChannel().join(person)) == .unknownChannel)
        let (_, known, _) = try channel.subscribe(relay, net)
        let thief = TestPerson(id: known.id)
        #expect(try answer(channel.join(thief)) == .memberKeyMismatch)
        _ = try channel.subscribe(relay, net)
        #expect(try answer(channel.join(TestPerson())) == .channelFull)
    }

    @Test("an address that has invited often enough is told when to come back")
    func invitations() throws {
        let relay = try TestRelay { $0.invitationsPerAddressMax = 1 }
        let net = try TestNet()
        try TestChannel("first").serve(relay, net)
        let second = TestChannel("second")
        let client = try net.connect(relay).opened()
        client.send(try second.control(client, invites: true))
        client.send(second.invitation())
        #expect(try client.ended() == .rateLimited)
        guard case .peerError(let error) = client.closed else { throw TestFailure() }
        #expect(error.retryAfterMs > 3_600_000)
    }

    @Test("one connection too many is refused in the preface")
    func connections() throws {
        let relay = try TestRelay { $0.connectionsPerAddressMax = 3 }
        let net = try TestNet()
        let held = try (0..<3).map { _ in try net.connect(relay).opened() }
        #expect(held.allSatisfy { $0.isOpen })
        let fourth = net.connect(relay)
        try net.wait("the refusal") { fourth.closed != nil }
        #expect(fourth.closed == .refused(code: LinkErrorCode.tooManyConnections.rawValue))
        #expect(relay.operate("status", "--json").output.contains("\"refused\":1}"))
        held[0].close()
        try net.wait("room for one more") {
            let again = net.connect(relay)
            guard (try? again.opened()) != nil else { return false }
            return again.isOpen
        }
    }

    @Test("a reader that takes nothing is cut, and costs the others nothing")
    func frozenReader() throws {
        let relay = try TestRelay { $0.slowReaderSeconds = 1 }
        let net = try TestNet()
        let frozenNet = try TestNet()
        let channel = TestChannel()
        try channel.serve(relay, net)
        let (fast, _, _) = try channel.subscribe(relay, net)
        let (frozen, frozenPerson, attached) = try channel.subscribe(relay, frozenNet)
        let writer = try channel.attachOwner(relay, net)
        writer.each { _ in }
        var delivered: Int64 = 0
        fast.each { frame in
            guard case .deliver(let sequence, _) = frame else { return }
            if sequence == delivered + 1 { delivered = sequence }
        }
        let text = String(repeating: "x", count: 14_000)
        // Far more than the kernel buffers of one connection; the frozen client's loop does not run.
        for number in 0..<1200 {
            writer.send(.publish(request: UInt32(number + 1), body: channel.owner.post(channel.id, text)))
            try net.wait("room") { writer.link?.queuedBytes ?? 0 < 32 << 10 }
        }
        try net.wait("every delivery") { delivered == 1200 }
        try net.wait("the cut") { relay.lines.text.contains("link.slow-reader-cut") }
        // After the thaw it resumes at its position.
        frozen.close()
        let (thawed, answer) = try channel.attach(
            frozenPerson, relay, net, .cursor(epoch: attached.epoch, position: 0))
        #expect(answer.resumeAfter == 0)
        var resumed: Int64 = 0
        thawed.each { frame in
            guard case .deliver(let sequence, _) = frame else { return }
            if sequence == resumed + 1 { resumed = sequence }
        }
        try net.wait("everything once more") { resumed == 1200 }
    }

    @Test("frames beyond those that may wait for an answer end the link")
    func flood() throws {
        let relay = try TestRelay()
        let net = try TestNet()
        let channel = TestChannel()
        let client = try net.connect(relay).opened()
        client.send(try channel.control(client, invites: true))
        for request in UInt32(1)...200 { client.send(.recordGet(request: request, channel: channel.id)) }
        #expect(try client.ended() == .rateLimited)
        // The relay lives and serves others.
        let other = try net.connect(relay).opened()
        other.send(.recordGet(request: 1, channel: channel.id))
        guard case .error = try other.next() else { throw TestFailure() }
    }
}
