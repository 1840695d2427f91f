@testable import ChannelClient
@testable import RelayServer
@testable import RelayStore

import ChannelWire
import ControlWire
import PosixKit
import TestKit

extension World {
    func happen(_ happening: Happening) {
        switch happening {
        case .step(let step):
            note("\(step)")
            take(step)
        case .arrival(let connection, let toRelay): arrive(connection, toRelay: toRelay)
        case .accept(let connection): accept(connection)
        case .startRelay(let index): startRelay(index)
        case .startClient(let index): startClient(index)
        case .wake(let worker): workers[worker].isReady = true
        case .clearWeather(let client, let relay): setWeather(client, relay, nil)
        case .unblock(let client, let relay): weathers.blocked[Weathers.key(client, relay)] = nil
        case .cut(let number):
            if let connection = connections.first(where: { $0.number == number }) { cut(connection) }
        case .upkeep: upkeep()
        case .run(let body): body()
        }
    }

    private func take(_ step: Step) {
        switch step {
        case .join(let reader): join(reader)
        case .publish(let bytes, let copies): for _ in 0..<copies { publish(bytes) }
        case .edit(let recent): edit(recent)
        case .delete(let recent): delete(recent)
        case .addRelay(let relay):
            ask(owner) { owner in
                owner.call { $0.addRelays(["r\(relay)"], to: "news", milliseconds: 8_000, progress: nil, $1) }
            }
        case .removeRelay(let relay):
            ask(owner) { owner in
                owner.call { $0.removeChannelRelay("r\(relay)", from: "news", milliseconds: 5_000, $1) }
            }
        case .leave(let relay): operate(relay, .leave)
        case .allow(let relay): operate(relay, .allow)
        case .backup(let relay): backup(relays[relay])
        case .restore(let relay, let downFor): restore(relays[relay], downFor)
        case .cut(let client, let relay): for connection in between(client, relay) { cut(connection) }
        case .stall(let client, let relay, let toRelay, let toClient, let milliseconds):
            for connection in between(client, relay) {
                if toRelay { connection.toRelay.stalledUntil = time.now + milliseconds }
                if toClient { connection.toClient.stalledUntil = time.now + milliseconds }
                plan(connection, toRelay: true)
                plan(connection, toRelay: false)
            }
        case .halfOpen(let client, let relay, let toRelay, let toClient):
            for connection in between(client, relay) {
                if toRelay { connection.toRelay.isDead = true }
                if toClient { connection.toClient.isDead = true }
            }
        case .slow(let client, let relay, let bytesPerSecond, let milliseconds):
            setWeather(client, relay, .init(latency: 5...40, bytesPerSecond: bytesPerSecond))
            time.plan(at: time.now + milliseconds, .clearWeather(client: client, relay: relay))
        case .latency(let client, let relay, let upTo, let milliseconds):
            setWeather(client, relay, .init(latency: 1...upTo))
            time.plan(at: time.now + milliseconds, .clearWeather(client: client, relay: relay))
        case .block(let client, let relay, let refused, let milliseconds):
            weathers.blocked[Weathers.key(client, relay)] = refused
            time.plan(at: time.now + milliseconds, .unblock(client: client, relay: relay))
        case .crashRelay(let relay, let operations, let silently, let downFor):
            guard relays[relay].isUp else { return }
            crash(relays[relay].party, after: operations, Crash(silently: silently, downFor: downFor))
        case .crashClient(let client, let operations, let silently, let downFor):
            guard clients[client].isUp else { return }
            crash(clients[client].party, after: operations, Crash(silently: silently, downFor: downFor))
        case .stepClock(let seconds): Machine.stepWallClock(seconds)
        case .slowDisk(let relay, let milliseconds):
            workers[.authority(relay)].busyUntil = time.now + milliseconds
            workers[.reader(relay)].busyUntil = time.now + milliseconds / 2
        }
    }

    // MARK: People

    func beginChannel() {
        ask(owner) { owner in
            guard let engine = owner.engine else { return }
            try? engine.setProfile("alice")
            for relay in relays {
                _ = try? engine.addRelay(name: "r\(relay.index)", address: relay.address)
            }
            createChannel(owner)
        }
        for client in clients where client.part == .reader {
            ask(client) { try? $0.engine?.setProfile("bob") }
        }
    }

    private func createChannel(_ owner: SimulatedClient) {
        owner.call({ engine, reply in
            engine.createChannel(
                name: "news", description: "", relays: plan.firstRelays.map { "r\($0)" },
                signMessages: plan.signsMessages, milliseconds: 6_000, progress: nil, reply)
        }) { [weak self] result in
            guard let self, case .failure = result, !self.isHealed else { return }
            self.time.plan(
                at: self.time.now + 1_000,
                .run { [weak self] in
                    guard let self, self.owner.channel() == nil else { return }
                    self.ask(self.owner) { self.createChannel($0) }
                })
        }
    }

    /// The channel's link as its owner would give it away now.
    var currentLink: String? {
        guard let engine = owner.engine, let stored = try? engine.store.channels().first,
            let runtime = try? engine.runtime(stored.id)
        else { return nil }
        return engine.linkText(runtime)
    }

    /// A reader follows the link, and does so again until it has led somewhere.
    func join(_ index: Int) {
        let reader = clients[index + 1]
        let again = Happening.run { [weak self] in self?.join(index) }
        guard reader.isUp, let link = currentLink else {
            if !isHealed { time.plan(at: time.now + 1_500, again) }
            return
        }
        ask(reader) { reader in
            reader.call({ $0.join(link: link, as: .profile, milliseconds: 6_000, $1) }) {
                [weak self] result in
                guard let self, case .failure(let error) = result else { return }
                self.note("\(reader.name) cannot join: \(error.message)")
                guard !self.isHealed, error.code != .alreadyMember else { return }
                self.time.plan(at: self.time.now + 2_000, again)
            }
        }
    }

    private func publish(_ bytes: Int) {
        truth.texts += 1
        let text = "message \(truth.texts) " + String(repeating: "x", count: max(0, bytes - 12))
        ask(owner) { owner in
            owner.call {
                $0.publishText(text, to: "news", asGroup: false, minimumRelays: 0, milliseconds: 5_000, $1)
            }
        }
    }

    private func recentMessage(_ recent: Int) -> String? {
        let messages = owner.messages().filter { !$0.isDeleted }
        guard messages.count > recent else { return nil }
        return Base64URL.encode(messages[messages.count - 1 - recent].key.message)
    }

    private func edit(_ recent: Int) {
        guard let message = recentMessage(recent) else { return }
        truth.texts += 1
        let text = "message \(truth.texts), edited"
        ask(owner) { owner in
            owner.call { $0.edit(message, in: "news", to: text, minimumRelays: 0, milliseconds: 5_000, $1) }
        }
    }

    private func delete(_ recent: Int) {
        guard let message = recentMessage(recent) else { return }
        ask(owner) { owner in
            owner.call { $0.deleteMessage(message, in: "news", minimumRelays: 0, milliseconds: 5_000, $1) }
        }
    }

    // MARK: Operators

    private func operate(_ index: Int, _ command: ControlCommand) {
        guard let channel = truth.channel, let id = ChannelID(bytes: channel), let parts = relays[index].parts
        else { return }
        truth.requests += 1
        let reference = ControlReference(connection: 0, request: truth.requests, command: command)
        let selector = ChannelSelector(id)
        let word = LedgerCommand.Word(actor: "operator")
        parts.shared.authority.post(
            .operatorAsks(reference, command == .leave ? .leave(selector, word) : .allow(selector, word)))
    }

    private func backup(_ relay: SimulatedRelay) {
        guard relay.isUp else { return }
        let file = "\(folder)/backup-\(relay.index)-\(relay.backups.count).db"
        do {
            try RelayReader(directory: relay.directory).backup(to: file)
            relay.backups.append(file)
        } catch {
            problem("a backup fails: \(error)")
        }
    }

    /// The operator stops the relay, puts its newest backup in the place of its state and starts it again.
    private func restore(_ relay: SimulatedRelay, _ downFor: Int64) {
        guard relay.isUp, let file = relay.backups.last else { return }
        saboteur.relayWillBeRestored(relay)
        relay.epochBeforeRestore = relay.parts?.ledger.epoch
        lose(connections.filter { $0.relay == relay.index }, silently: false) { $0.closeRelayEnd() }
        relay.end()
        for worker in [Worker.loop(relay.index), .authority(relay.index), .reader(relay.index)] {
            workers[worker] = WorkerState()
        }
        do {
            _ = try Restore.run(from: file, into: relay.directory)
        } catch {
            problem("a backup cannot be restored: \(error)")
        }
        saboteur.relayIsRestored(relay)
        relay.wasRestored = true
        relay.restoreCount += 1
        time.plan(at: time.now + downFor, .startRelay(relay.index))
    }

    /// What a relay does now and then by itself.
    private func upkeep() {
        for relay in relays {
            guard let parts = relay.parts else { continue }
            work(for: relay.party) { _ = parts.authority.turn([]) }
        }
        time.plan(at: time.now + 20_000, .upkeep)
    }

    // MARK: The end of all troubles

    /// From now on the network is fair, everybody is up and nobody's power goes.
    func heal() {
        isHealed = true
        keepPower()
        weathers = Weathers()
        for connection in connections {
            connection.toRelay.weather = .fair
            connection.toClient.weather = .fair
            connection.toRelay.stalledUntil = 0
            connection.toClient.stalledUntil = 0
            plan(connection, toRelay: true)
            plan(connection, toRelay: false)
        }
    }
}
