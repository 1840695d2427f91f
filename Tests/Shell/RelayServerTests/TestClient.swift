import ChannelWire
import LibeventLoop
import LinkRuntime
import PosixKit
import RelayServer
import SodiumCrypto
import Testing

/// A loop for the clients of one test. A test and its clients are on one thread; the relay has its own.
final class TestNet {
    let loop: EventLoop
    let context: LinkLoopContext
    private let ticker: LoopTimer

    init() throws {
        loop = try EventLoop()
        context = LinkLoopContext(loop: loop)
        // So that a wait that never ends comes back to its deadline.
        ticker = loop.timer(afterMilliseconds: 250, repeating: true) {}
    }

    /// Runs the loop until something holds; records an issue when it never does.
    func wait(
        _ what: String, seconds: UInt64 = 20, sourceLocation: SourceLocation = #_sourceLocation,
        until holds: () -> Bool
    ) throws {
        let deadline = Clock.monotonicNanoseconds() + seconds * 1_000_000_000
        while !holds() {
            guard Clock.monotonicNanoseconds() < deadline else {
                Issue.record("waited in vain for \(what)", sourceLocation: sourceLocation)
                throw TestFailure()
            }
            loop.runOnce()
        }
    }

    func connect(_ relay: TestRelay) -> TestClient { TestClient(self, relay.server) }
}

struct TestFailure: Error {}

/// One link to a relay, with what came on it.
final class TestClient: LinkDelegate {
    private let net: TestNet
    private(set) var link: Link?
    private(set) var frames: [Frame] = []
    private(set) var isOpen = false
    private(set) var closed: LinkCloseReason?
    private(set) var hash: [UInt8] = []
    /// Called for each frame instead of keeping it.
    private var onFrame: ((Frame) -> Void)?

    init(_ net: TestNet, _ server: RelayServer) {
        self.net = net
        link = Link.connect(
            to: [server.listening], context: net.context, settings: .client(),
            expectedIdentity: server.identity,
            delegate: self)
    }

    func linkDidOpen(_ link: Link) {
        isOpen = true
        hash = link.handshakeHash
    }
    func link(_ link: Link, didReceive frame: Frame) {
        if let onFrame { onFrame(frame) } else { frames.append(frame) }
    }
    func linkIsWritable(_ link: Link) {}
    func linkDidClose(_ link: Link, reason: LinkCloseReason) {
        closed = reason
        self.link = nil
    }

    /// Gives the frames that came, and those that come, to a function.
    func each(_ body: @escaping (Frame) -> Void) {
        onFrame = body
        let kept = frames
        frames = []
        for frame in kept { body(frame) }
    }

    func send(_ frame: Frame) { link?.send(frame) }
    func close() { link?.close(after: false) }

    @discardableResult
    func opened(sourceLocation: SourceLocation = #_sourceLocation) throws -> TestClient {
        try net.wait("the handshake", sourceLocation: sourceLocation) { isOpen || closed != nil }
        return self
    }

    /// The next frame.
    func next(sourceLocation: SourceLocation = #_sourceLocation) throws -> Frame {
        try net.wait("a frame", sourceLocation: sourceLocation) { !frames.isEmpty || closed != nil }
        guard !frames.isEmpty else {
            Issue.record("the link was closed: \(String(describing: closed))", sourceLocation: sourceLocation)
            throw TestFailure()
        }
        return frames.removeFirst()
    }

    /// The event of the next DIRECT.
    func nextDirect(sourceLocation: SourceLocation = #_sourceLocation) throws -> Event {
        guard case .direct(let body) = try next(sourceLocation: sourceLocation) else {
            Issue.record("not a DIRECT", sourceLocation: sourceLocation)
            throw TestFailure()
        }
        return try Event.decode(json: body)
    }

    /// Waits for the end. Returns: the number of the ERROR that came last, if one did.
    func ended(sourceLocation: SourceLocation = #_sourceLocation) throws -> LinkErrorCode? {
        try net.wait("the end of the link", sourceLocation: sourceLocation) { closed != nil }
        if case .peerError(let error) = closed { return error.known }
        return nil
    }
}

// MARK: - A channel and its people

let testCrypto = ChannelCrypto(
    verify: { Ed25519.verify(signature: $0.bytes, message: $1, publicKey: $2.raw) },
    sha256: { Sodium.sha256($0) },
    sha512: { Sodium.sha512($0) }, decompress: { _, _ in nil }, compress: { $0 })

func sign(_ message: [UInt8], _ pair: Ed25519.KeyPair) -> Signature {
    Signature(bytes: Ed25519.sign(message, with: pair))!
}
func key(_ pair: Ed25519.KeyPair) -> PublicKey { PublicKey(raw: pair.publicKey)! }

struct TestPerson {
    let id: MemberID
    let pair: Ed25519.KeyPair

    init(id: MemberID = MemberID(random: Sodium.random(12))) {
        self.id = id
        pair = Ed25519.KeyPair.generate()
    }

    func attach(_ channel: ChannelID, _ client: TestClient, _ start: Frame.Start = .live) -> Frame {
        let input = ProofOfKey.attach.input(handshakeHash: client.hash, channel: channel, member: id)
        return .attach(Frame.Attach(channel: channel, member: id, signature: sign(input, pair), start: start))
    }

    func element(_ channel: ChannelID, _ event: Event) -> [UInt8] {
        Signing.element(json: event.encode(), channel: channel, member: id) { sign($0, pair) }
    }

    func post(_ channel: ChannelID, _ text: String, id message: MessageID? = nil) -> [UInt8] {
        element(
            channel,
            Event(
                messageID: message ?? MessageID(random: Sodium.random(12)),
                params: .msgNew(MessageContainer(content: MessageContent(text: text)))))
    }
}

/// A channel as its owner has it.
final class TestChannel {
    let root = Ed25519.KeyPair.generate()
    let owner = TestPerson()
    let id: ChannelID
    var name: String
    var version: Int64 = 1
    var relays: [ChannelRecord.Relay] = []
    /// What this channel's owner calls the relay.
    let relayMember = MemberID(random: Sodium.random(12))

    init(_ name: String = "news") {
        self.name = name
        id = ChannelID(rootKey: key(root), sha256: { Sodium.sha256($0) })
    }

    func record() throws -> [UInt8] {
        let profile = GroupProfile(
            displayName: name,
            publicGroup: PublicGroup(
                groupLink: "https://relay.example/c#\(id.unpaddedText)", publicGroupID: id))
        let content = ChannelRecord.Content(
            rootKey: key(root), version: version,
            owners: [OwnerAuth(owner: owner.id, key: key(owner.pair)) { sign($0, root) }], relays: relays,
            rosterVersion: -1, rosterDigest: [], memberCount: 1, profile: profile.encode())
        return try #require(ChannelRecord.make(content, signer: nil) { sign($0, root) }).bytes
    }

    func control(_ client: TestClient, invites: Bool, withRecord: Bool = true) throws -> Frame {
        let input = ProofOfKey.control.input(handshakeHash: client.hash, channel: id, member: owner.id)
        return .control(
            Frame.Control(
                channel: id, owner: owner.id, signature: sign(input, owner.pair), invitationFollows: invites,
                record: withRecord ? try record() : []))
    }

    func invitation() -> Frame { .direct(body: owner.element(id, invitationEvent)) }

    var invitationEvent: Event {
        Event(
            params: .relayInv(
                RelayInvitation(
                    fromMember: MemberAndRole(memberID: owner.id, role: .owner),
                    fromMemberProfile: Profile(displayName: "alice"), relayMemberID: relayMember,
                    groupLink: "https://relay.example/c#\(id.unpaddedText)")))
    }

    func join(_ person: TestPerson, name: String = "bob") -> Frame {
        .join(channel: id, element: joinElement(person, name: name))
    }

    func joinElement(_ person: TestPerson, name: String = "bob") -> [UInt8] {
        let event = Event(
            params: .member(
                JoinRequest(
                    profile: Profile(displayName: name), memberID: person.id, memberKey: key(person.pair),
                    viaRelay: relayMember)))
        return person.element(id, event)
    }

    // MARK: Whole steps

    /// Opens a control link and invites. Returns: the link and the relay's answer.
    func invite(_ relay: TestRelay, _ net: TestNet) throws -> (TestClient, Event) {
        let client = try net.connect(relay).opened()
        client.send(try control(client, invites: true))
        client.send(invitation())
        guard case .controlled = try client.next() else { throw TestFailure() }
        return (client, try client.nextDirect())
    }

    /// Makes the relay serve the channel, with its entry in the record. Returns: the control link.
    @discardableResult
    func serve(_ relay: TestRelay, _ net: TestNet) throws -> TestClient {
        let (client, answer) = try invite(relay, net)
        guard case .relayAcpt(let acceptance) = answer.params,
            case .relayChannel(let memberKey, let host) = try AntennaLink.parse(acceptance.relayLink),
            let identity = host.identity
        else {
            Issue.record("the invitation was answered \(answer)")
            throw TestFailure()
        }
        version += 1
        relays = [
            ChannelRecord.Relay(
                member: relayMember, key: memberKey, identity: identity, link: acceptance.relayLink)
        ]
        client.send(.recordPut(request: 1, record: try record()))
        guard case .recordStored(1, version) = try client.next() else { throw TestFailure() }
        return client
    }

    /// The owner's member link.
    func attachOwner(_ relay: TestRelay, _ net: TestNet, _ start: Frame.Start = .live) throws -> TestClient {
        try attach(owner, relay, net, start).0
    }

    func attach(
        _ person: TestPerson, _ relay: TestRelay, _ net: TestNet, _ start: Frame.Start = .live
    ) throws -> (TestClient, Frame.Attached) {
        let client = try net.connect(relay).opened()
        client.send(person.attach(id, client, start))
        return (client, try attached(client))
    }

    /// A new subscriber, joined and attached.
    func subscribe(
        _ relay: TestRelay, _ net: TestNet, _ start: Frame.Start = .live
    ) throws -> (TestClient, TestPerson, Frame.Attached) {
        let person = TestPerson()
        let client = try net.connect(relay).opened()
        client.send(join(person))
        guard case .joined = try client.next() else { throw TestFailure() }
        client.send(person.attach(id, client, start))
        return (client, person, try attached(client))
    }

    private func attached(_ client: TestClient) throws -> Frame.Attached {
        let frame = try client.next()
        guard case .attached(let attached) = frame else {
            Issue.record("ATTACH was answered \(frame)")
            throw TestFailure()
        }
        return attached
    }
}

extension TestClient {
    /// Publishes one body and answers what the ACK says.
    func publish(_ request: UInt32, _ body: [UInt8]) throws -> [Frame.AckResult] {
        send(.publish(request: request, body: body))
        while true {
            let frame = try next()
            if case .ack(request, let results) = frame { return results }
            if case .error(let error) = frame {
                Issue.record("PUBLISH was answered \(error)")
                throw TestFailure()
            }
            // Its own delivery may come first.
        }
    }

    /// The sequence of the next DELIVER, and the inner element.
    func nextDelivery(sourceLocation: SourceLocation = #_sourceLocation) throws -> (Int64, [UInt8]) {
        while true {
            let frame = try next(sourceLocation: sourceLocation)
            guard case .deliver(let sequence, let batch) = frame else { continue }
            guard case .success(.forward(let forward))? = try Body.decode(batch, crypto: testCrypto).first
            else {
                throw TestFailure()
            }
            return (sequence, forward.inner)
        }
    }
}
