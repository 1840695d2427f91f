@testable import ChannelClient
@testable import ClientStore
@testable import RelayServer

import ChannelWire
import TestKit

extension World {
    /// Runs everything: the troubles, the time to get over them, and the last look.
    func runAll() {
        run(until: Plan.troubles)
        guard problems.isEmpty else { return }
        heal()
        // What was switched off or delayed in the last moment comes back by itself.
        var open = ["nothing was looked at yet"]
        while problems.isEmpty, !open.isEmpty, time.now < Plan.troubles + Self.patience {
            nudge()
            run(until: time.now + 3_000)
            open = unsettled()
        }
        guard problems.isEmpty else { return }
        if !open.isEmpty { for client in clients { note(client.summary) } }
        for text in open { problem("not settled after \(Self.patience / 1000) s of peace: \(text)") }
        // Time to tell what is withheld from what is late.
        if liar != nil { run(until: time.now + Int64(SimulatedClient.graceSeconds) * 2_000) }
        if problems.isEmpty { lastLook() }
    }

    private static let patience: Int64 = 120_000

    /// People look in now and then, and a reader who has lost every relay asks for a newer link.
    private func nudge() {
        if owner.openCalls == 0 {
            ask(owner) { owner in owner.call { $0.synchronize(only: nil, milliseconds: 3_000, $1) } }
        }
        let serving = owner.relayRows().filter { $0.status == "active" }.map(\.identity)
        let lying = liar.map { relays[$0.relay].identityKey }
        for reader in clients where reader.part == .reader && reader.isUp && reader.openCalls == 0 {
            guard reader.channel()?.state == "current",
                !reader.relayRows().contains(where: {
                    $0.status == "active" && serving.contains($0.identity) && $0.identity != lying
                })
            else { continue }
            // Nobody whom it knows can lead it on.
            join(reader.index - 1)
        }
    }

    /// What has not come right yet.
    private func unsettled() -> [String] {
        var open: [String] = []
        for relay in relays where !relay.isUp { open.append("relay \(relay.index) is down") }
        for client in clients where !client.isUp { open.append("\(client.name) is down") }
        guard open.isEmpty, let channel = truth.channel else { return open }
        let rows = owner.relayRows()
        let version = owner.channel()?.version ?? 0
        var active: [Int] = []
        for row in rows {
            guard let index = relays.firstIndex(where: { $0.identityKey == row.identity }) else { continue }
            let isRefused = relays[index].reference.refuses(channel)
            switch row.status {
            case "rejected", "inactive": break
            case "active" where !isRefused:
                active.append(index)
                let stored = relays[index].recordVersion(of: channel)
                // One that was put back from a backup learns it anew.
                if stored < row.storedVersion, relays[index].restoreCount > 0 {
                    open.append("relay \(index) has lost record \(row.storedVersion)")
                } else if stored < row.storedVersion {
                    problem(
                        "the owner was told that relay \(index) has record \(row.storedVersion): it has \(stored)"
                    )
                }
                if row.storedVersion < version {
                    open.append("relay \(index) has record \(row.storedVersion) of \(version)")
                }
            default:
                open.append(
                    "the owner sees relay \(index) as \(row.status)\(isRefused ? ", it refuses" : "")")
            }
        }
        for row in owner.outbox() where row.state == "pending" {
            if let index = relays.firstIndex(where: { $0.identityKey == row.relay }) {
                open.append("a message waits for relay \(index)")
            }
        }
        for reader in clients where reader.part == .reader {
            open += unsettled(reader, active, channel)
        }
        return open
    }

    private func unsettled(_ reader: SimulatedClient, _ active: [Int], _ channel: [UInt8]) -> [String] {
        guard let membership = reader.channel(), membership.state == "current", !active.isEmpty else {
            return []
        }
        var open: [String] = []
        let rows = reader.relayRows()
        for index in active where index != liar?.relay {
            let relay = relays[index]
            guard let row = rows.first(where: { $0.identity == relay.identityKey }), row.status == "active"
            else {
                open.append("\(reader.name) does not know of relay \(index)")
                continue
            }
            let stored = relay.storedChannels().first { $0.channel == channel }
            let position = reader.position(at: relay.identityKey)
            if position < stored?.head ?? 0 {
                open.append("\(reader.name) is at \(position) of \(stored?.head ?? 0) of relay \(index)")
            }
        }
        return open
    }

    /// All is quiet: everybody has what they should have.
    private func lastLook() {
        guard let channel = truth.channel else { return }
        for relay in relays { checkDiskWhileRunning(relay) }
        let deleted = deletedMessages()
        for row in owner.outbox() where row.state == "accepted" {
            guard let relay = relays.first(where: { $0.identityKey == row.relay }), relay.restoreCount == 0
            else { continue }
            if !relay.reference.holds(row.key, in: channel) {
                problem("the owner was told that relay \(relay.index) has a message, and it has not")
            }
        }
        let serving = Set(owner.relayRows().filter { $0.status == "active" }.map(\.identity))
        for reader in clients where reader.part == .reader {
            guard reader.channel()?.state == "current" else { continue }
            lastLook(reader, serving, channel, deleted)
        }
    }

    private func lastLook(
        _ reader: SimulatedClient, _ serving: Set<[UInt8]>, _ channel: [UInt8],
        _ deleted: Set<ReferenceRelay.Key>
    ) {
        let messages = reader.messages()
        var shown: [ReferenceRelay.Key: SimulatedClient.Shown] = [:]
        for message in messages {
            if shown.updateValue(message, forKey: message.key) != nil {
                problem("\(reader.name) has a message twice")
            }
        }
        for relay in relays where serving.contains(relay.identityKey) && relay.index != liar?.relay {
            guard let log = relay.storedChannels().first(where: { $0.channel == channel }) else { continue }
            for entry in log.entries where truth.written[entry.key]?.tag == EventTag.msgNew.rawValue {
                guard shown[entry.key] == nil else { continue }
                problem("\(reader.name) lacks the message \(entry.sequence) of relay \(relay.index)")
            }
        }
        if let liar, liar.isProvable, serving.contains(relays[liar.relay].identityKey) {
            lookForTheLiar(liar, reader, shown)
        }
    }

    /// Promise 9, where another relay's copies prove it: one that delivered the message, and before and after
    /// it, in its own log, others that the liar delivered too.
    ///
    /// Two relays' logs prove nothing together: that one of them has a message which came before, and the
    /// other one which came after, says nothing of what the liar was given in between.
    private func lookForTheLiar(
        _ liar: Liar, _ reader: SimulatedClient, _ shown: [ReferenceRelay.Key: SimulatedClient.Shown]
    ) {
        guard !reader.accusations.contains(where: { $0.relay == liar.relay }),
            hasNoBreak(liar.relay, reader)
        else { return }
        let identity = relays[liar.relay].identityKey
        let position = reader.position(at: identity)
        let fromLiar = reader.copies(from: identity)
        let witnesses = relays.filter { $0.index != liar.relay && hasNoBreak($0.index, reader) }
            .map { reader.copies(from: $0.identityKey) }
        for (key, sequence) in liar.told where sequence <= position && shown[key]?.isDeleted == false {
            guard fromLiar[key] == nil, let first = fromLiar.values.min(), first < sequence else { continue }
            for witness in witnesses {
                guard let place = witness[key] else { continue }
                let both = witness.filter { truth.written[$0.key] != nil && fromLiar[$0.key] != nil }.values
                guard both.contains(where: { $0 < place }), both.contains(where: { $0 > place }) else {
                    continue
                }
                problem(
                    "\(reader.name) was not told of relay \(liar.relay), which lied (\(liar.lie.rawValue))")
                return
            }
        }
    }

    /// Whether a relay told a reader of nothing that may have parted its log.
    private func hasNoBreak(_ relay: Int, _ reader: SimulatedClient) -> Bool {
        !reader.gaps.contains { relayIndex($0.relay) == relay && $0.reason != .erased }
    }

    private func deletedMessages() -> Set<ReferenceRelay.Key> {
        Set(owner.messages().filter(\.isDeleted).map(\.key))
    }

    /// What a relay has told is on its disk, though it did not crash.
    private func checkDiskWhileRunning(_ relay: SimulatedRelay) {
        guard relay.isUp else { return }
        for log in relay.storedChannels() {
            for text in relay.reference.recovered(
                log.entries, head: log.head, dropped: log.first, erased: log.erased, in: log.channel)
            {
                problem("relay \(relay.index): \(text)")
            }
        }
    }
}

extension SimulatedClient {
    /// What stands in the home, on one line.
    var summary: String {
        let rows = relayRows().map {
            "\($0.name) \($0.status) (\($0.storedVersion)) \($0.lastError ?? "")"
        }
        return "\(name): \(channel().map { "\($0.state) \($0.version)" } ?? "no channel"); "
            + rows.joined(separator: ", ")
    }

    /// How far a relay's log was read.
    func position(at relay: [UInt8]) -> Int64 {
        guard let database = engine?.store.database else { return 0 }
        return
            (try? database.first(
                """
                SELECT position FROM log_cursor JOIN channel_relay ON channel_relay.id = log_cursor.relay
                WHERE identity = ?
                """, [.blob(relay)]
            ) { $0.int64(0) }) ?? 0
    }

    /// The messages that a relay delivered, and where they stood in its log.
    func copies(from relay: [UInt8]) -> [ReferenceRelay.Key: Int64] {
        guard let database = engine?.store.database else { return [:] }
        let rows =
            (try? database.query(
                """
                SELECT author, message_id, sequence FROM copy JOIN event ON event.id = copy.event
                JOIN channel_relay ON channel_relay.id = copy.relay WHERE identity = ?
                """, [.blob(relay)]
            ) { (ReferenceRelay.Key(author: $0.blob(0), message: $0.blob(1)), $0.int64(2)) }) ?? []
        return Dictionary(rows, uniquingKeysWith: { first, _ in first })
    }
}
