@testable import ChannelClient
@testable import LibeventLoop
@testable import RelayServer

import CSimulatedMachine
import ChannelWire
import PosixKit
import TestKit

/// One run: the parties, their network, and the clock that they share.
///
/// ```
///   ready parties ── one is drawn, takes a turn ──▶ what it sent is put under way ──▶ its promises are checked
///   nobody ready  ── the clock goes on to what happens next
/// ```
final class World {
    let plan: Plan
    let sabotage: Sabotage?
    let folder: String
    var random: Random
    var time = SimulatedTime<Happening>()
    private(set) var relays: [SimulatedRelay] = []
    private(set) var clients: [SimulatedClient] = []
    var connections: [Connection] = []
    var nextConnection = 1
    var workers = WorkerTable()
    private(set) var order: [Worker] = []
    var truth = Truth()
    var liar: Liar?
    /// What was found wrong; the run ends with the first.
    var problems: [String] = []
    private(set) var trace: [String] = []
    private(set) var turnCount = 0
    /// A digest over everything that happened, to compare two runs of one seed.
    private(set) var fingerprint: UInt64 = 14_695_981_039_346_656_037
    private var fuses: [Int32: Int] = [:]
    private var doomed: [Int32: Machine.Image] = [:]
    private var idleFor: Int32?
    private var ready: [Worker] = []
    private weak var driven: EventLoop?
    var isHealed = false
    var weathers = Weathers()
    /// Whose engine is at work.
    private(set) var connectingClient: Int?
    lazy var saboteur = Saboteur(sabotage)

    enum Happening {
        case step(Step)
        case arrival(connection: Int, toRelay: Bool)
        case accept(connection: Int)
        case startRelay(Int)
        case startClient(Int)
        case wake(Worker)
        case clearWeather(client: Int, relay: Int)
        case unblock(client: Int, relay: Int)
        case cut(connection: Int)
        case upkeep
        case run(() -> Void)
    }

    /// What takes turns.
    enum Worker: Equatable {
        case loop(Int)
        case authority(Int)
        case reader(Int)
        case client(Int)
        var number: Int {
            switch self {
            case .loop(let relay): 10 + relay
            case .authority(let relay): 20 + relay
            case .reader(let relay): 30 + relay
            case .client(let client): 40 + client
            }
        }
    }

    struct WorkerState {
        var isReady = false
        /// When its loop wants to look again by itself.
        var deadline: Int64 = .max
        /// It does not get a turn before this: a slow disk, a busy processor.
        var busyUntil: Int64 = 0
    }

    /// The states of all workers, each at its place.
    struct WorkerTable {
        private var relays: [WorkerState] = []
        private var clients: [WorkerState] = []

        init() {}
        init(relays: Int, clients: Int) {
            self.relays = Array(repeating: WorkerState(), count: 3 * relays)
            self.clients = Array(repeating: WorkerState(), count: clients)
        }

        subscript(worker: Worker) -> WorkerState {
            get {
                switch worker {
                case .loop(let relay): relays[3 * relay]
                case .authority(let relay): relays[3 * relay + 1]
                case .reader(let relay): relays[3 * relay + 2]
                case .client(let client): clients[client]
                }
            }
            set {
                switch worker {
                case .loop(let relay): relays[3 * relay] = newValue
                case .authority(let relay): relays[3 * relay + 1] = newValue
                case .reader(let relay): relays[3 * relay + 2] = newValue
                case .client(let client): clients[client] = newValue
                }
            }
        }
    }

    init(plan: Plan, sabotage: Sabotage?, folder: String) {
        self.plan = plan
        self.sabotage = sabotage
        self.folder = folder
        random = Random(seed: plan.seed)
    }

    // MARK: Telling

    func note(_ line: @autoclosure () -> String) {
        guard Self.isVerbose || trace.count < Self.traceMax else { return }
        let line = "\(time.now) \(line())"
        trace.append(line)
        if Self.isVerbose { print(line) }
    }

    nonisolated(unsafe) static var isVerbose = false
    private static let traceMax = 4000

    func mark(_ value: UInt64) {
        fingerprint = (fingerprint ^ value) &* 1_099_511_628_211
    }

    func problem(_ text: String) {
        note("PROBLEM \(text)")
        problems.append(text)
    }

    // MARK: Beginning and end

    func setUp() throws {
        Machine.setTime(0)
        let context = Unmanaged.passUnretained(self).toOpaque()
        machine_on_idle(
            { context, timeout in
                guard let context else { return }
                Unmanaged<World>.fromOpaque(context).takeUnretainedValue().loopIsIdle(timeout)
            }, context)
        machine_on_fuse(
            { context, party in
                guard let context else { return }
                Unmanaged<World>.fromOpaque(context).takeUnretainedValue().powerGoes(party)
            }, context)
        machine_on_connect(
            { context, port, descriptor in
                guard let context else { return 111 }
                return Unmanaged<World>.fromOpaque(context).takeUnretainedValue().connect(port, descriptor)
            }, context)
        for index in 0..<plan.relays {
            let directory = "\(folder)/relay-\(index)"
            try Template.relay(directory)
            let relay = SimulatedRelay(index: index, directory: directory) { configuration in
                configuration.name = "relay \(index)"
                configuration.handshakeSeconds = 5
                configuration.idleSeconds = 15
                configuration.slowReaderSeconds = 8
                configuration.tailBytesMax = 4 << 10
                if let short = plan.shortLog, short.relay == index {
                    configuration.logMessagesMax = short.messages
                }
            }
            relays.append(relay)
            order += [.loop(index), .authority(index), .reader(index)]
        }
        for index in 0...plan.readers {
            let home = "\(folder)/client-\(index)"
            try Template.client(home)
            clients.append(
                SimulatedClient(
                    index: index, part: index == 0 ? .owner : .reader, home: home,
                    party: Int32(100 + index), seed: plan.seed &+ UInt64(index)))
            order.append(.client(index))
        }
        workers = WorkerTable(relays: plan.relays, clients: plan.readers + 1)
        if let planned = plan.liar { liar = Liar(planned.relay, planned.lie) }
        for relay in relays.indices { startRelay(relay) }
        for client in clients.indices { startClient(client) }
        beginChannel()
        for planned in plan.steps { time.plan(at: planned.at, .step(planned.step)) }
        time.plan(at: 5_000, .upkeep)
    }

    func tearDown() {
        for relay in relays { relay.end() }
        for client in clients { client.end() }
        for connection in connections { connection.close() }
        connections = []
    }

    var owner: SimulatedClient { clients[0] }

    /// Runs until a moment, or until something is wrong.
    func run(until end: Int64) {
        while problems.isEmpty {
            ready.removeAll(keepingCapacity: true)
            for worker in order where isReady(worker) { ready.append(worker) }
            if let worker = ready.randomElement(using: &random) {
                turn(worker)
                continue
            }
            guard let next = nextMoment(), next <= end else { break }
            time.advance(to: next)
            Machine.setTime(next)
            for worker in order where workers[worker].deadline <= next {
                workers[worker].deadline = .max
                workers[worker].isReady = true
            }
            while let happening = time.takeDue() { happen(happening) }
        }
        if problems.isEmpty, time.now < end {
            time.advance(to: end)
            Machine.setTime(end)
        }
    }

    private func isReady(_ worker: Worker) -> Bool {
        let state = workers[worker]
        guard state.busyUntil <= time.now else { return false }
        switch worker {
        case .loop(let relay): return state.isReady && relays[relay].isUp
        case .client(let client): return state.isReady && clients[client].isUp
        case .authority(let relay): return (relays[relay].parts?.shared.authority.count ?? 0) > 0
        case .reader(let relay): return (relays[relay].parts?.shared.reader.count ?? 0) > 0
        }
    }

    private func nextMoment() -> Int64? {
        var moment = time.next ?? .max
        for worker in order {
            let state = workers[worker]
            if state.deadline < moment { moment = state.deadline }
            guard state.busyUntil > time.now, state.busyUntil < moment else { continue }
            moment = state.busyUntil
        }
        return moment == .max ? nil : max(moment, time.now)
    }

    // MARK: Turns

    private func turn(_ worker: Worker) {
        turnCount += 1
        if turnCount > Self.turnsMax { return problem("the parties never come to rest") }
        mark(UInt64(bitPattern: time.now) &* 31 &+ UInt64(worker.number))
        switch worker {
        case .loop(let index):
            let relay = relays[index]
            guard let parts = relay.parts else { return }
            work(for: relay.party) { drive(parts.loop.loop, worker) }
            if finishDoomed(worker) { return }
            pump(relay: index)
        case .authority(let index):
            authorityTurn(relays[index])
            if finishDoomed(worker) { return }
            workers[.loop(index)].isReady = true
            // The next batch waits for as long as a disk takes.
            let pause = Int64.random(in: 0..<8, using: &random)
            let busyUntil = max(workers[worker].busyUntil, time.now + max(0, pause - 4))
            workers[worker].busyUntil = busyUntil
        case .reader(let index):
            readerTurn(relays[index])
            if finishDoomed(worker) { return }
            workers[.loop(index)].isReady = true
        case .client(let index):
            let client = clients[index]
            guard let engine = client.engine else { return }
            work(for: client.party) { drive(engine.loop, worker) }
            if finishDoomed(worker) { return }
            pump(client: index)
            check(client)
        }
    }

    private static let turnsMax = 200_000

    /// Runs a loop until it has nothing left to do.
    private func drive(_ loop: EventLoop, _ worker: Worker) {
        idleFor = nil
        driven = loop
        var rounds = 0
        while idleFor == nil {
            loop.runOnce(waiting: true)
            rounds += 1
            if rounds > Self.roundsMax {
                problem("\(worker) never waits")
                break
            }
        }
        driven = nil
        workers[worker].isReady = false
        if let idleFor, idleFor >= 0 {
            workers[worker].deadline = time.now + max(1, Int64(idleFor))
        } else {
            workers[worker].deadline = .max
        }
    }

    private static let roundsMax = 20_000

    private func loopIsIdle(_ timeout: Int32) {
        idleFor = timeout
        driven?.stop()
    }

    /// Does something as a party: its writes are kept apart, and its fuse burns.
    func work(for party: Int32, _ body: () -> Void) {
        machine_disk_party(party)
        machine_set_fuse(Int32(fuses[party] ?? -1))
        connectingClient = party >= 100 ? Int(party) - 100 : nil
        body()
        connectingClient = nil
        if fuses[party] != nil { fuses[party] = doomed[party] == nil ? Int(machine_fuse_left()) : nil }
        machine_set_fuse(-1)
        machine_disk_party(0)
    }

    /// Calls an engine as one of its people would.
    func ask(_ client: SimulatedClient, _ body: (SimulatedClient) -> Void) {
        guard client.isUp else { return }
        work(for: client.party) { body(client) }
        workers[.client(client.index)].isReady = true
        _ = finishDoomed(.client(client.index))
    }

    // MARK: Power

    /// The fuse of the party at work has burnt down: what is on the disk now is all that will be.
    private func powerGoes(_ party: Int32) {
        guard doomed[party] == nil else { return }
        doomed[party] = Machine.imageAfterPowerLoss(directory(of: party), using: &random)
    }

    func isDoomed(_ party: Int32) -> Bool { doomed[party] != nil }

    private func directory(of party: Int32) -> String {
        party >= 100 ? clients[Int(party) - 100].home : relays[Int(party) - 1].directory
    }

    /// A party whose power went during its turn: nothing that it did since has happened.
    private func finishDoomed(_ worker: Worker) -> Bool {
        let party =
            switch worker {
            case .loop(let index), .authority(let index), .reader(let index): relays[index].party
            case .client(let index): clients[index].party
            }
        guard let image = doomed.removeValue(forKey: party) else { return false }
        lose(party, image)
        return true
    }

    private func lose(_ party: Int32, _ image: Machine.Image) {
        fuses[party] = nil
        let crash = crashes.removeValue(forKey: party) ?? Crash(silently: false, downFor: 1000)
        if party >= 100 {
            let client = clients[Int(party) - 100]
            note("\(client.name) crashes")
            lose(connections.filter { $0.client == client.index }, silently: crash.silently) {
                $0.closeClientEnd()
            }
            machine_disk_party(party)
            client.end()
            machine_disk_party(0)
            Machine.put(image, into: client.home)
            workers[.client(client.index)] = WorkerState()
            time.plan(at: time.now + crash.downFor, .startClient(client.index))
        } else {
            let relay = relays[Int(party) - 1]
            note("relay \(relay.index) crashes")
            lose(connections.filter { $0.relay == relay.index }, silently: crash.silently) {
                $0.closeRelayEnd()
            }
            machine_disk_party(party)
            relay.end()
            machine_disk_party(0)
            Machine.put(image, into: relay.directory)
            for worker in [Worker.loop(relay.index), .authority(relay.index), .reader(relay.index)] {
                workers[worker] = WorkerState()
            }
            time.plan(at: time.now + crash.downFor, .startRelay(relay.index))
        }
    }

    struct Crash {
        let silently: Bool
        let downFor: Int64
    }
    private var crashes: [Int32: Crash] = [:]

    /// Takes the power from a party: now, or with so many more writes and syncs of its disk.
    func crash(_ party: Int32, after operations: Int?, _ crash: Crash) {
        crashes[party] = crash
        if let operations {
            fuses[party] = operations
        } else {
            lose(party, Machine.imageAfterPowerLoss(directory(of: party), using: &random))
        }
    }

    /// No fuse burns any more.
    func keepPower() { fuses = [:] }

    func startRelay(_ index: Int) {
        let relay = relays[index]
        guard !relay.isUp else { return }
        work(for: relay.party) {
            saboteur.relayStarts(relay)
            do { try relay.start() } catch { problem("relay \(index) does not start: \(error)") }
            saboteur.relayStarted(relay)
        }
        note("relay \(index) starts")
        if finishDoomed(.authority(index)) { return }
        workers[.authority(index)] = WorkerState(isReady: true)
        workers[.loop(index)] = WorkerState(isReady: true)
        workers[.reader(index)] = WorkerState()
        checkDisk(relay)
    }

    func startClient(_ index: Int) {
        let client = clients[index]
        guard !client.isUp else { return }
        work(for: client.party) {
            do { try client.start() } catch { problem("\(client.name) does not start: \(error)") }
        }
        note("\(client.name) starts")
        if finishDoomed(.client(index)) { return }
        workers[.client(index)] = WorkerState(isReady: true)
    }
}
