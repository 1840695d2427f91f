@testable import ChannelClient
@testable import ClientStore
@testable import RelayServer
@testable import RelayStore

import ChannelWire
import PosixKit
import SQLiteKit
import TestKit

/// Carries out a sabotage on the parties of one run.
final class Saboteur {
    let sabotage: Sabotage?
    /// Publishes that were acknowledged and are still to be done.
    private var acknowledged: [Int: [LinkReference: Set<UInt32>]] = [:]
    private(set) var early: [AuthorityMessage] = []
    private var earlyAnswers: [LoopMessage] = []
    private var turnedAway: [Int: [UInt8]] = [:]
    private var epochs: [Int: [UInt8]] = [:]
    private var staleRecords: [Int: [UInt8]] = [:]
    private var touched: Set<Int> = []

    init(_ sabotage: Sabotage?) { self.sabotage = sabotage }

    // MARK: The relay

    func authorityIsAsked(_ messages: inout [AuthorityMessage], _ relay: SimulatedRelay, _ world: World) {
        early = []
        earlyAnswers = []
        switch sabotage {
        case .ackBeforeCommit: acknowledgeEarly(&messages, relay, world)
        case .missingDeduplication:
            for case .publish(_, _, let items, _) in messages {
                for case .command(let command) in items { forgetMessage(command, relay, world) }
            }
        case .refusalKeyedByInvitation:
            for case .ask(_, .invite(let invite), _, _) in messages { forgetRefusal(invite, relay, world) }
        case .reencodedElement:
            for index in messages.indices {
                guard case .publish(let link, let request, let items, let bytes) = messages[index] else {
                    continue
                }
                messages[index] = .publish(link, request: request, items.map(Self.reencoded), bytes: bytes)
            }
        case .recordSaidToBeStored:
            messages.removeAll { message in
                guard case .ask(let link, .putRecord(let put), let question, let bytes) = message,
                    touched.contains(relay.index)
                else { return false }
                earlyAnswers.append(
                    .reply(link, question, .recordStored(version: put.record.version), bytes: bytes))
                return true
            }
            // The first record has to be stored, or the relay never comes into the channel.
            for case .ask(_, .putRecord, _, _) in messages { touched.insert(relay.index) }
        default: break
        }
    }

    private func acknowledgeEarly(
        _ messages: inout [AuthorityMessage], _ relay: SimulatedRelay, _ world: World
    ) {
        var head: Int64?
        messages.removeAll { message in
            guard case .publish(let link, let request, let items, let bytes) = message else { return false }
            if acknowledged[relay.index]?[link]?.contains(request) == true { return false }
            var results: [Frame.AckResult] = []
            for item in items {
                guard case .command(let command) = item else { return false }
                let next = (head ?? relay.reference.head(of: command.channel.bytes)) + 1
                guard
                    !relay.reference.holds(
                        .init(author: command.author.bytes, message: command.messageID.bytes),
                        in: command.channel.bytes)
                else { return false }
                head = next
                results.append(.stored(next))
            }
            acknowledged[relay.index, default: [:]][link, default: []].insert(request)
            early.append(message)
            earlyAnswers.append(.acked(link, request: request, results, bytes: bytes))
            world.time.plan(
                at: world.time.now + 40,
                .run { [weak relay] in relay?.parts?.shared.authority.post(message) })
            return true
        }
    }

    func authorityAnswered(_ messages: inout [LoopMessage], _ relay: SimulatedRelay, _ world: World) {
        messages.removeAll { message in
            guard case .acked(let link, let request, _, _) = message else { return false }
            return acknowledged[relay.index]?[link]?.contains(request) == true
        }
        messages += earlyAnswers
        for index in messages.indices {
            switch (sabotage, messages[index]) {
            case (.cursorOffByOneAtTheSeam, .reply(let link, .attach, .attached(var view), let bytes)):
                guard view.resume.resumeAfter > 0, view.resume.resumeAfter < view.window.head else { break }
                view.resume.resumeAfter += 1
                messages[index] = .reply(link, .attach, .attached(view), bytes: bytes)
            case (.refusalKeyedByInvitation, .operatorAnswered(_, .done(let summary), _)):
                turnedAway[relay.index] = invitedAs(summary.channel, relay)
            default: break
            }
        }
    }

    func readerAnswered(_ messages: inout [LoopMessage], _ relay: SimulatedRelay, _ world: World) {
        guard sabotage == .gapWithoutNotice else { return }
        for index in messages.indices {
            guard case .page(let link, let segment?, let head) = messages[index] else { continue }
            var bytes: [UInt8] = []
            var marks: [LogSegment.Mark] = []
            for (frame, mark) in segment.marks.enumerated() {
                let start = segment.start(of: frame)
                let isGap = segment.padded[start] == FrameType.gap.rawValue
                // A frame of a later version in its place, which everybody passes over.
                bytes += isGap ? [0x90, 0, 0] : segment.padded[start..<mark.end]
                marks.append(LogSegment.Mark(end: bytes.count, through: mark.through))
            }
            messages[index] = .page(
                link, LogSegment(after: segment.after, bytes: bytes, marks: marks), head: head)
        }
    }

    func relayStarts(_ relay: SimulatedRelay) {
        // The numbers of links begin anew.
        acknowledged[relay.index] = nil
        guard sabotage == .refusalForgottenAtStart, let database = try? open(relay) else { return }
        _ = try? database.run("DELETE FROM refusals")
        _ = try? database.run("UPDATE channels SET status = 'inactive' WHERE status = 'rejected'")
        database.close()
    }

    func relayStarted(_ relay: SimulatedRelay) {
        guard sabotage == .commitWithoutSync else { return }
        _ = try? relay.parts?.ledger.database.setPragma("synchronous", to: "OFF")
    }

    func relayIsRestored(_ relay: SimulatedRelay) {
        guard sabotage == .epochKeptAfterRestore, let database = try? open(relay),
            let nonce = try? Posix.readFile(relay.directory + "/relay.instance"),
            let inode = Posix.status(relay.directory + "/relay.db")?.inode, let epoch = epochs[relay.index]
        else { return }
        for (name, value) in [("epoch", epoch), ("instance", nonce), ("file", Array("\(inode)".utf8))] {
            _ = try? database.run("UPDATE meta SET value = ? WHERE name = ?", [.blob(value), .text(name)])
        }
        database.close()
    }

    func relayWillBeRestored(_ relay: SimulatedRelay) { epochs[relay.index] = relay.parts?.ledger.epoch }

    private func open(_ relay: SimulatedRelay) throws -> Database {
        try Database(path: relay.directory + "/relay.db", mode: .readWrite)
    }

    // MARK: What is done to a relay's database

    private func change(_ relay: SimulatedRelay, _ world: World, _ sql: String, _ values: [SQLiteValue]) {
        guard let ledger = relay.parts?.ledger else { return }
        world.work(for: relay.party) { _ = try? ledger.database.run(sql, values) }
        ledger.book.dropAll()
    }

    private func forgetMessage(_ command: LedgerCommand.Publish, _ relay: SimulatedRelay, _ world: World) {
        change(
            relay, world,
            "UPDATE log SET message_id = CAST(message_id || x'00' AS BLOB) WHERE author = ? AND message_id = ?",
            [.blob(command.author.bytes), .blob(command.messageID.bytes)])
    }

    private func invitedAs(_ channel: ChannelID, _ relay: SimulatedRelay) -> [UInt8]? {
        (try? relay.parts?.ledger.database.first(
            "SELECT relay_member_id FROM channels WHERE channel_id = ?", [.blob(channel.bytes)]
        ) { $0.blob(0) }) ?? nil
    }

    private func forgetRefusal(_ invite: LedgerCommand.Invite, _ relay: SimulatedRelay, _ world: World) {
        guard let known = turnedAway[relay.index], known != invite.invitation.relayMember.bytes else {
            return
        }
        change(relay, world, "DELETE FROM refusals WHERE channel_id = ?", [.blob(invite.channel.bytes)])
        change(
            relay, world,
            "UPDATE channels SET status = 'inactive' WHERE channel_id = ? AND status = 'rejected'",
            [.blob(invite.channel.bytes)])
    }

    private static func reencoded(_ item: PublishItem) -> PublishItem {
        guard case .command(var command) = item else { return item }
        command.element.append(UInt8(ascii: " "))
        return .command(command)
    }

    // MARK: The reader

    func clientTurned(_ client: SimulatedClient, _ world: World) {
        guard client.part == .reader, let database = client.engine?.store.database else { return }
        switch sabotage {
        case .readerShowsTwice:
            _ = try? database.run(
                "UPDATE event SET message_id = CAST(message_id || x'00' AS BLOB) WHERE own = 0 AND length(message_id) <= 16"
            )
        case .positionBeforeMessages:
            guard !touched.contains(client.index) else { return }
            let moved = try? database.run(
                "UPDATE log_cursor SET position = position + 1 WHERE relay = (SELECT min(relay) FROM log_cursor)"
            )
            if moved == 1 { touched.insert(client.index) }
        case .erasedIsBelieved:
            guard let stored = try? client.engine?.store.channels().first,
                let runtime = try? client.engine?.runtime(stored.id)
            else { return }
            for gap in client.gaps where gap.reason == .erased {
                runtime.comparison.excused(relay: gap.relay)
            }
        case .staleRecordAccepted:
            guard let stored = try? client.engine?.store.channels().first,
                let runtime = try? client.engine?.runtime(stored.id)
            else { return }
            if staleRecords[client.index] == nil { staleRecords[client.index] = stored.record }
            guard client.accusations.contains(where: { $0.kind == .staleRecord }),
                let old = staleRecords[client.index], old != stored.record,
                let record = try? VerifiedRecord(
                    old, expected: runtime.channelID, crypto: ChannelCrypto.client)
            else { return }
            _ = try? database.run(
                "UPDATE channel SET record = ?, record_version = ?", [.blob(old), .integer(record.version)])
            runtime.setRecord(record)
        default: break
        }
    }
}
