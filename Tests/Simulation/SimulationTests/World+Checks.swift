@testable import ChannelClient
@testable import RelayServer
@testable import RelayStore

import ChannelWire
import TestKit

extension World {
    // MARK: The relay's turns

    func authorityTurn(_ relay: SimulatedRelay) {
        guard let parts = relay.parts else { return }
        var messages = parts.shared.authority.drain()
        saboteur.authorityIsAsked(&messages, relay, self)
        // What waits for the loop already was looked at when it came.
        let earlier = parts.loop.mailbox.drain()
        work(for: relay.party) { _ = parts.authority.turn(messages) }
        var answers = parts.loop.mailbox.drain()
        saboteur.authorityAnswered(&answers, relay, self)
        if isDoomed(relay.party) {
            for case .operatorAsks(_, .allow) in messages { relay.isAllowUnderWay = true }
        } else {
            mark(UInt64(answers.count))
            check(relay, asked: messages + saboteur.early, answered: answers)
        }
        if let liar, liar.relay == relay.index { liar.tell(&answers, self) }
        var all = earlier + answers
        parts.loop.mailbox.post(emptying: &all)
    }

    func readerTurn(_ relay: SimulatedRelay) {
        guard let parts = relay.parts else { return }
        let messages = parts.shared.reader.drain()
        let earlier = parts.loop.mailbox.drain()
        work(for: relay.party) { _ = parts.reader.turn(messages) }
        var answers = parts.loop.mailbox.drain()
        saboteur.readerAnswered(&answers, relay, self)
        if let liar, liar.relay == relay.index { liar.tell(&answers, self) }
        var all = earlier + answers
        parts.loop.mailbox.post(emptying: &all)
    }

    private func tell(_ relay: SimulatedRelay, _ answer: LoopMessage) {
        switch answer {
        case .reply(_, let question, let reply, _):
            let text = "\(reply)".prefix(160)
            note("relay \(relay.index) answers \(question): \(text)")
        case .acked(_, let request, let results, _):
            note(
                "relay \(relay.index) acks \(request): \(results.map { "\($0.outcome) \($0.sequence) \($0.code)" })"
            )
        default: break
        }
    }

    /// Holds what a relay has just said against the reference.
    private func check(_ relay: SimulatedRelay, asked: [AuthorityMessage], answered: [LoopMessage]) {
        var found: [String] = []
        for answer in answered {
            if Self.isVerbose { tell(relay, answer) }
            switch answer {
            case .appended(let channel, let segment):
                let entries = Delivered.read(Array(segment.padded[..<segment.byteCount]))
                if entries.count != segment.marks.count { found.append("an entry does not decode") }
                found += relay.reference.appended(
                    entries.map { .init(sequence: $0.sequence, key: $0.key, element: $0.element) },
                    to: channel.bytes)
                for entry in entries { found += checkAuthor(entry, of: relay) }
            case .acked(let link, let request, let results, _):
                found += checkAck(relay, asked, link, request, results)
            case .reply(let link, .invite, .invitation(let answer), _):
                guard let channel = invitedChannel(asked, link) else { break }
                var wasRefused = false
                switch answer {
                case .reject: wasRefused = true
                case .accept: relay.acceptances += 1
                case .hold: break
                case .comeBack: found.append("puts an invitation off, though few have come")
                }
                found += relay.reference.invited(channel.bytes, wasRefused: wasRefused)
            case .operatorAnswered(let reference, let reply, _):
                operatorAnswered(relay, reference, reply)
            default: break
            }
        }
        for line in relay.complaints.take() { found.append("complains: \(line)") }
        for text in found { problem("relay \(relay.index): \(text)") }
    }

    /// What a relay stores was written by the one it names, byte for byte.
    private func checkAuthor(_ entry: Delivered, of relay: SimulatedRelay) -> [String] {
        guard let written = truth.written[entry.key] else {
            // Its own leave, and what members say of themselves, is not the owner's.
            return entry.key.author == ownerMember ? ["stored what the owner did not write"] : []
        }
        return written.element == entry.element ? [] : ["stored other bytes than the owner wrote"]
    }

    private func checkAck(
        _ relay: SimulatedRelay, _ asked: [AuthorityMessage], _ link: LinkReference, _ request: UInt32,
        _ results: [Frame.AckResult]
    ) -> [String] {
        for case .publish(link, let number, let items, _) in asked where number == request {
            var found: [String] = []
            for (item, result) in zip(items, results) {
                guard case .command(let command) = item, result.outcome != .refused else { continue }
                found += relay.reference.promised(
                    .init(author: command.author.bytes, message: command.messageID.bytes),
                    as: result.sequence, in: command.channel.bytes)
            }
            return found
        }
        return ["an ack for what was not asked"]
    }

    private func invitedChannel(_ asked: [AuthorityMessage], _ link: LinkReference) -> ChannelID? {
        for case .ask(link, .invite(let invite), _, _) in asked { return invite.channel }
        return nil
    }

    private func operatorAnswered(
        _ relay: SimulatedRelay, _ reference: ControlReference, _ reply: LedgerReply
    ) {
        note("relay \(relay.index): \(reference.command) answered \(reply)")
        guard case .done(let summary) = reply else { return }
        switch reference.command {
        case .leave: relay.reference.operatorLeft(summary.channel.bytes)
        case .allow: relay.reference.operatorAllowed(summary.channel.bytes)
        default: break
        }
    }

    /// After a start: what was promised is on the disk.
    func checkDisk(_ relay: SimulatedRelay) {
        guard let database = relay.parts?.ledger.database else { return }
        let stored = relay.storedChannels()
        if relay.wasRestored {
            relay.wasRestored = false
            if relay.parts?.ledger.epoch == relay.epochBeforeRestore {
                problem(
                    "relay \(relay.index): logs that were put back go by the name of what was there before")
            }
            for log in stored { relay.reference.restored(log.entries, head: log.head, in: log.channel) }
            for channel in relay.reference.channels where !stored.contains(where: { $0.channel == channel }) {
                relay.reference.restored([], head: 0, in: channel)
            }
        } else {
            for log in stored {
                for text in relay.reference.recovered(
                    log.entries, head: log.head, dropped: log.first, erased: log.erased, in: log.channel)
                {
                    problem("relay \(relay.index): \(text)")
                }
            }
            for channel in relay.reference.channels
            where relay.reference.head(of: channel) > 0 && !stored.contains(where: { $0.channel == channel })
            {
                problem("relay \(relay.index): a channel is gone after a crash")
            }
        }
        guard let channel = truth.channel else { return }
        let refusals = try? database.first(
            "SELECT count(*) FROM refusals WHERE channel_id = ?", [.blob(channel)]
        ) { $0.int64(0) }
        if refusals == 0, relay.reference.refuses(channel) {
            // The power may have gone between the operator's word and the answer to it.
            if relay.isAllowUnderWay {
                relay.reference.operatorAllowed(channel)
            } else {
                problem("relay \(relay.index): a refusal is gone after a start")
            }
        }
        relay.isAllowUnderWay = false
    }

    // MARK: The clients' turns

    var ownerMember: [UInt8] { truth.ownerMember }

    func check(_ client: SimulatedClient) {
        guard client.isUp else { return }
        if client.part == .owner { noteWritten(client) }
        for line in client.newJournal() { check(line, client) }
        // With a join that comes to nothing all is forgotten that it brought.
        let version = client.channel()?.version ?? 0
        if version > 0, version < client.recordVersion {
            problem("\(client.name): record \(client.recordVersion) gave way to \(version)")
        }
        client.recordVersion = version
        if sabotage != nil { work(for: client.party) { saboteur.clientTurned(client, self) } }
    }

    private func noteWritten(_ owner: SimulatedClient) {
        if truth.channel == nil, let channel = owner.channel() { truth.channel = channel.id }
        for event in owner.ownEvents(after: truth.ownRow) {
            truth.ownRow = event.row
            truth.ownerMember = event.key.author
            truth.written[event.key] = Truth.Written(tag: event.tag, element: event.element)
        }
    }

    private func check(_ line: SimulatedClient.JournalLine, _ client: SimulatedClient) {
        mark(UInt64(bitPattern: line.id))
        switch line.kind {
        case "message":
            guard let key = line.key else { return problem("\(client.name): a message without its event") }
            if !client.shown.insert(key).inserted {
                problem("\(client.name): a message was shown twice")
            }
            if let written = truth.written[key] {
                // Promise 4: what was deleted since keeps no bytes.
                if !line.element.isEmpty, written.element != line.element, !mayBeAltered {
                    problem("\(client.name): other bytes were shown than were written")
                }
            } else if liar?.lie != .invents || line.signature == "verified" {
                // What is not signed is shown as such.
                problem("\(client.name): a message was shown that nobody wrote")
            }
        case "disagreement":
            guard let text = line.detail,
                let found = JournalText.disagreement(text, channel: "news")
            else { return problem("\(client.name): a disagreement does not decode") }
            note("\(client.name): \(found.kind.rawValue) \(found.relay) \(found.detail)")
            let relay = relayIndex(found.relay)
            client.accusations.append((found.kind, relay, found.messageID))
            if relay != liar?.relay, !isFair(found, relay) {
                problem("\(client.name): the honest relay \(relay) is accused: \(text)")
            }
        case "gap":
            guard let text = line.detail, let gap = JournalText.gap(text, channel: "news") else {
                return problem("\(client.name): a gap does not decode")
            }
            note("\(client.name): gap \(gap.relay) \(gap.from) to \(gap.to) \(gap.reason.rawValue)")
            client.gaps.append(gap)
            let relay = relayIndex(gap.relay)
            if relay != liar?.relay, !isExplained(gap, relay) {
                problem("\(client.name): an honest relay has a gap without a reason: \(text)")
            }
        default:
            note("\(client.name): \(line.kind) \(line.detail ?? "")")
        }
    }

    /// What may be said of an honest relay.
    private func isFair(_ found: RelayDisagreement, _ relay: Int) -> Bool {
        switch found.kind {
        // It may be behind: its owner cannot reach it, or an older state was put back.
        case .staleRecord: true
        // Where nothing is signed nobody can tell which of two relays lies, so both are named.
        case .altered: mayBeAltered
        // One that was taken out of the channel and in again keeps what it had, and nothing in its log says so.
        // One whose retention has dropped a message refuses its change, and no reader can tell when it did.
        case .withheld:
            mayBeAltered || relays[relay].acceptances > 1
                || (plan.shortLog?.relay == relay && isChange(found.messageID))
        case .unverifiable, .conflictingRecord: false
        }
    }

    private func isChange(_ message: String?) -> Bool {
        truth.written.contains {
            $0.value.tag != EventTag.msgNew.rawValue && MessageID(bytes: $0.key.message)?.text == message
        }
    }

    /// Who asks for no signatures gets no proof of what was written.
    private var mayBeAltered: Bool { !plan.signsMessages && liar != nil }

    /// Promise 2: a gap has one of the reasons that there are.
    private func isExplained(_ gap: DeliveryGap, _ relay: Int) -> Bool {
        guard relays.indices.contains(relay) else { return false }
        switch gap.reason {
        case .erased: return true
        case .pruned: return plan.shortLog?.relay == relay
        case .epoch: return relays[relay].restoreCount > 0
        case .unknown: return false
        }
    }

    /// A client's name for a relay: `r1`, or the host and the port that it is reached at.
    func relayIndex(_ name: String) -> Int {
        let plain = name.split(separator: "_").first.map(String.init) ?? name
        if plain.first == "r", let index = Int(plain.dropFirst()) { return index }
        return (plain.split(separator: ":").last.flatMap { Int($0) } ?? 0) - 20_000
    }
}
