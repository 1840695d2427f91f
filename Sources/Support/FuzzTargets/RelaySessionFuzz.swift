internal import ChannelWire
internal import Operations
internal import PosixKit
internal import PuppetRelay
internal import RelayServer

/// A real relay, and a client that says the steps of the input over a true link: proofs and signatures are
/// made for it, everything else is the input's.
final class RelaySessionFuzz {
    private let directory: String
    private let server: RelayServer
    private var people = SessionPeople()

    init() {
        do {
            directory = try Posix.makeTemporaryDirectory(prefix: "antenna-fuzz-")
            var configuration = RelayConfiguration(state: directory + "/state")
            configuration.listen = .loopback(port: 0)
            configuration.drainSeconds = 0
            configuration.logMessagesMax = 200
            let log = Log(
                format: .text, minimum: .error, underJournal: true, colour: false,
                repetition: Log.Repetition(burst: 10), now: { Clock.nowMilliseconds() }, sink: { _ in })
            server = try RelayServer(configuration, log: log)
            try serve()
        } catch {
            preconditionFailure("a relay starts and takes the channel: \(error)")
        }
    }

    deinit {
        server.stop()
        server.waitUntilStopped()
        Posix.removeTree(directory)
    }

    /// Brings the channel to the relay, as an owner does.
    private func serve() throws {
        let client = try PuppetClient(to: server.listening)
        client.send(people.control(client.handshakeHash, invites: true, record: people.record()))
        client.send(.direct(body: SessionPeople.invitation()))
        let answer = try client.wait { if case .direct = $0 { true } else { false } }
        guard case .direct(let body) = answer, let event = try? Event.decode(json: body),
            case .relayAcpt(let acceptance) = event.params,
            case .relayChannel(let key, let host) = try AntennaLink.parse(acceptance.relayLink),
            let identity = host.identity
        else { preconditionFailure("an open relay accepts") }
        people.version = 2
        people.relays = [
            ChannelRecord.Relay(
                member: SessionPeople.relayMember, key: key, identity: identity, link: acceptance.relayLink)
        ]
        client.send(.recordPut(request: 1, record: people.record()))
        _ = try client.wait { if case .recordStored = $0 { true } else { false } }
    }

    func run(_ input: [UInt8]) {
        var steps = Steps(input)
        var taken = 0
        do {
            var client = try PuppetClient(to: server.listening)
            var speaker = SessionPeople.owner
            while !steps.isOver, taken < Steps.most {
                taken += 1
                step(&steps, &client, &speaker)
            }
            // Half a record would swallow a PING; its end does not.
            try client.finish()
        } catch PuppetClient.Failure.closed {
            // Refused in the handshake, as with too many connections.
        } catch {
            preconditionFailure("the relay does not answer any more: \(error)")
        }
    }

    private func step(
        _ steps: inout Steps, _ client: inout PuppetClient, _ speaker: inout SessionPeople.Person
    ) {
        let hash = client.handshakeHash
        switch steps.octet() % 16 {
        case 0:
            let type = steps.octet()
            let body = steps.bytes(atMost: Limits.frameBodyMax)
            client.send(
                plaintext: [type, UInt8(body.count >> 8), UInt8(truncatingIfNeeded: body.count)] + body)
        case 1: client.send(plaintext: steps.bytes(atMost: Limits.recordPlaintextMax))
        case 2: client.write(steps.bytes(atMost: 1 << 16))
        case 3:
            let flags = steps.octet()
            client.send(
                people.control(hash, invites: flags & 1 == 1, record: flags & 2 == 2 ? people.record() : []))
        case 4: client.send(.direct(body: SessionPeople.invitation()))
        case 5: client.send(.direct(body: SessionPeople.owner.element(steps.bytes(atMost: 12_000))))
        case 6: client.send(.direct(body: steps.bytes(atMost: Limits.frameBodyMax)))
        case 7:
            let version = people.version + Int64(steps.octet() % 4)
            client.send(.recordPut(request: 7, record: people.record(version: version)))
        case 8:
            let record = people.record(version: people.version, profile: steps.bytes(atMost: 12_000))
            client.send(.recordPut(request: 8, record: record))
        case 9:
            speaker = SessionPeople.readers[Int(steps.octet()) % SessionPeople.readers.count]
            client.send(SessionPeople.join(speaker))
        case 10:
            let start = steps.octet()
            let position = steps.number() & .max
            let epoch = [UInt8](repeating: start, count: 8)
            let wish: [Frame.Start] = [.live, .last(position), .cursor(epoch: epoch, position: position)]
            client.send(SessionPeople.attach(speaker, hash, wish[Int(start % 3)]))
        case 11: client.send(.publish(request: 11, body: speaker.element(steps.bytes(atMost: 15_000))))
        case 12: client.send(.publish(request: 12, body: steps.bytes(atMost: Limits.frameBodyMax - 4)))
        case 13:
            let mode = Frame.HistoryMode(rawValue: steps.octet() % 3) ?? .fromTime
            client.send(
                .historyGet(
                    request: 13, mode: mode, value: steps.number(), limit: UInt16(steps.octet()) << 8))
        case 14: client.send(.ping([UInt8](repeating: 14, count: 8)))
        default:
            guard let other = try? PuppetClient(to: server.listening) else { return }
            client = other
            if steps.octet() & 1 == 1 { speaker = SessionPeople.owner }
        }
    }
}
