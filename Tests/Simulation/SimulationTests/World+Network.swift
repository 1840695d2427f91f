@testable import RelayServer

import CSimulatedMachine
import PosixKit
import TestKit

/// One connection between a client and a relay, with the network in the middle.
///
/// ```
///   client's socket ═══ clientEnd ── toRelay ──▶ relayEnd ═══ relay's socket
///                                 ◀── toClient ──
/// ```
final class Connection {
    let number: Int
    let client: Int
    let relay: Int
    private(set) var clientEnd: Int32
    private(set) var relayEnd: Int32 = -1
    var toRelay: SimulatedStream
    var toClient: SimulatedStream
    /// The end of what each side sends has been read.
    var isClientDone = false
    var isRelayDone = false

    init(number: Int, client: Int, relay: Int, clientEnd: Int32, weather: SimulatedStream.Weather) {
        self.number = number
        self.client = client
        self.relay = relay
        self.clientEnd = clientEnd
        toRelay = SimulatedStream(weather: weather)
        toClient = SimulatedStream(weather: weather)
    }

    func accepted(_ descriptor: Int32) { relayEnd = descriptor }
    var isClosed: Bool { clientEnd < 0 && relayEnd < 0 }

    func closeClientEnd() {
        if clientEnd >= 0 { machine_close(clientEnd) }
        clientEnd = -1
    }
    func closeRelayEnd() {
        if relayEnd >= 0 { machine_close(relayEnd) }
        relayEnd = -1
    }
    func close() {
        closeClientEnd()
        closeRelayEnd()
    }
}

extension World {
    /// What the ways between the parties are like, beside the ordinary.
    struct Weathers {
        var streams: [Int: SimulatedStream.Weather] = [:]
        /// Connections between these are refused (true) or never answered (false).
        var blocked: [Int: Bool] = [:]

        static func key(_ client: Int, _ relay: Int) -> Int { client * 100 + relay }
    }

    // MARK: Connecting

    /// A client's engine connects. Returns: an errno, or 0.
    func connect(_ port: UInt16, _ descriptor: Int32) -> Int32 {
        let relay = Int(port) - 20_000
        guard let client = connectingClient, relays.indices.contains(relay) else {
            machine_close(descriptor)
            return 111
        }
        let key = Weathers.key(client, relay)
        let blocked = weathers.blocked[key]
        if blocked == true || (!relays[relay].isUp && blocked == nil) {
            machine_close(descriptor)
            return 111
        }
        let connection = Connection(
            number: nextConnection, client: client, relay: relay, clientEnd: descriptor,
            weather: weathers.streams[key] ?? .fair)
        nextConnection += 1
        connections.append(connection)
        if Self.isVerbose { note("\(clients[client].name) connects to relay \(relay): \(connection.number)") }
        if blocked != nil {
            connection.toRelay.isDead = true
            connection.toClient.isDead = true
        } else {
            let travel = Int64.random(in: connection.toRelay.weather.latency, using: &random)
            time.plan(at: time.now + travel, .accept(connection: connection.number))
        }
        return 0
    }

    private func connection(_ number: Int) -> Connection? { connections.first { $0.number == number } }

    func accept(_ number: Int) {
        guard let connection = connection(number), connection.clientEnd >= 0 else { return }
        guard let parts = relays[connection.relay].parts else { return cut(connection) }
        var ends: [Int32] = [-1, -1]
        guard machine_socket_pair(&ends, 16_384) == 0 else { return problem("no more sockets") }
        connection.accepted(ends[1])
        let address = SocketAddress.loopback(port: UInt16(40_000 + number % 20_000))
        guard parts.shared.connections.enter(address) else { return cut(connection) }
        parts.loop.mailbox.post(.accepted(descriptor: ends[0], address))
        workers[.loop(connection.relay)].isReady = true
        // What the client has sent meanwhile.
        plan(connection, toRelay: true)
    }

    // MARK: Bytes

    func pump(client: Int) {
        for connection in connections where connection.client == client {
            pump(connection, fromClient: true)
        }
        forgetClosed()
    }

    func pump(relay: Int) {
        for connection in connections where connection.relay == relay {
            pump(connection, fromClient: false)
        }
        forgetClosed()
    }

    private func forgetClosed() { connections.removeAll(where: \.isClosed) }

    /// Puts under way what one side has sent.
    private func pump(_ connection: Connection, fromClient: Bool) {
        let descriptor = fromClient ? connection.clientEnd : connection.relayEnd
        guard descriptor >= 0, !(fromClient ? connection.isClientDone : connection.isRelayDone) else {
            return
        }
        while fromClient ? connection.toRelay.isOpen : connection.toClient.isOpen {
            var buffer = [UInt8](repeating: 0, count: 16_384)
            let count = machine_read(descriptor, &buffer, buffer.count)
            if count == -1 { break }
            let bytes: [UInt8]? = count > 0 ? Array(buffer[..<count]) : nil
            if fromClient {
                _ = connection.toRelay.send(bytes, now: time.now, using: &random)
            } else {
                _ = connection.toClient.send(bytes, now: time.now, using: &random)
            }
            mark(UInt64(bytes?.count ?? 0) &+ 7)
            guard bytes != nil else {
                if Self.isVerbose {
                    note("connection \(connection.number) ends from the \(fromClient ? "client" : "relay")")
                }
                if fromClient { connection.isClientDone = true } else { connection.isRelayDone = true }
                break
            }
        }
        plan(connection, toRelay: fromClient)
    }

    func plan(_ connection: Connection, toRelay: Bool) {
        let next = toRelay ? connection.toRelay.nextArrival : connection.toClient.nextArrival
        guard let next else { return }
        time.plan(at: next, .arrival(connection: connection.number, toRelay: toRelay))
    }

    func arrive(_ number: Int, toRelay: Bool) {
        guard let connection = connection(number) else { return }
        let descriptor = toRelay ? connection.relayEnd : connection.clientEnd
        // It arrives where nobody listens yet: kept until the connection is accepted.
        if toRelay, connection.relayEnd < 0, connection.clientEnd >= 0 { return }
        while let arrival = toRelay
            ? connection.toRelay.takeArrival(now: time.now) : connection.toClient.takeArrival(now: time.now)
        {
            guard descriptor >= 0 else { continue }
            switch arrival {
            case .end:
                machine_end(descriptor)
                if connection.isClientDone, connection.isRelayDone { connection.close() }
            case .bytes(let bytes):
                let taken = machine_write(descriptor, bytes, bytes.count)
                if taken == -2 {
                    if toRelay { connection.closeRelayEnd() } else { connection.closeClientEnd() }
                    break
                }
                if taken < bytes.count {
                    // The receiver's buffer is full: a little later again.
                    let rest = Array(bytes[max(0, taken)...])
                    if toRelay {
                        connection.toRelay.giveBack(rest, until: time.now + 20)
                    } else {
                        connection.toClient.giveBack(rest, until: time.now + 20)
                    }
                    plan(connection, toRelay: toRelay)
                    break
                }
            }
        }
        wake(connection, relay: toRelay)
        // There is room for more now, and there may be more on its way.
        pump(connection, fromClient: toRelay)
        plan(connection, toRelay: toRelay)
        forgetClosed()
    }

    private func wake(_ connection: Connection, relay: Bool) {
        if relay {
            workers[.loop(connection.relay)].isReady = true
        } else {
            workers[.client(connection.client)].isReady = true
        }
    }

    // MARK: Troubles

    func between(_ client: Int, _ relay: Int) -> [Connection] {
        connections.filter { $0.client == client && $0.relay == relay }
    }

    /// Both sides see the connection end.
    func cut(_ connection: Connection) {
        connection.close()
        wake(connection, relay: true)
        wake(connection, relay: false)
        forgetClosed()
    }

    /// One side is gone. The other hears of it a little later, or (`silently`) not at all.
    func lose(_ connections: [Connection], silently: Bool, _ close: (Connection) -> Void) {
        for connection in connections {
            close(connection)
            connection.toRelay.isDead = true
            connection.toClient.isDead = true
            if !silently {
                time.plan(
                    at: time.now + Int64.random(in: 1...50, using: &random),
                    .cut(connection: connection.number))
            }
        }
        forgetClosed()
    }

    func setWeather(_ client: Int, _ relay: Int, _ weather: SimulatedStream.Weather?) {
        weathers.streams[Weathers.key(client, relay)] = weather
        for connection in between(client, relay) {
            connection.toRelay.weather = weather ?? .fair
            connection.toClient.weather = weather ?? .fair
        }
    }
}
