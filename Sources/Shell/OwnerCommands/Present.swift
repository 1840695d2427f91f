package import ChannelClient
package import Operations

/// How the library's values look as JSON (field names are stable) and as text for people.
package enum Present {
    // MARK: Channels and members

    static func json(_ channel: Channel) -> JSONValue {
        [
            "id": .string(channel.id), "name": .string(channel.name),
            "displayName": .string(channel.displayName),
            "description": .string(channel.description), "role": .string(channel.role.rawValue),
            "memberId": .string(channel.memberID), "current": .bool(channel.isCurrent),
            "ending": .optional(channel.ending?.rawValue),
            "memberCount": .integer(channel.memberCount), "recordVersion": .integer(channel.recordVersion),
            "signMessages": .bool(channel.signMessages), "createdAt": .integer(channel.createdAt),
            "lastMessageAt": .optional(channel.lastMessageAt),
        ]
    }

    static func json(_ member: ChannelMember) -> JSONValue {
        [
            "id": .string(member.id), "name": .string(member.name), "role": .string(member.role.rawValue),
            "status": .string(member.status), "joinedAt": .optional(member.joinedAt),
            "self": .bool(member.isSelf),
        ]
    }

    static func name(_ channel: String) -> String { ChannelName.display(channel) }

    // MARK: Relays

    static func json(_ relay: RelayEntry) -> JSONValue {
        [
            "name": .string(relay.name), "address": .string(relay.address),
            "identity": .string(relay.identity),
            "addedAt": .integer(relay.addedAt),
        ]
    }

    /// `answered`: whether it carries the channel and answered this command; whether a link is open in this
    /// very moment is a matter of chance here.
    static func json(_ relay: ChannelRelay, answered: Bool) -> JSONValue {
        [
            "name": .string(relay.name), "status": .string(relay.status.rawValue),
            "memberStatus": .string(relay.memberStatus.rawValue), "reason": .optional(relay.reason),
            "memberId": .string(relay.memberID), "address": .string(relay.address),
            "identity": .string(relay.identity), "since": .integer(relay.since),
            "connected": .bool(answered),
            "lastError": .optional(relay.lastError),
        ]
    }

    /// `done` is what to call a success: `active`, `removed`.
    package static func json(_ outcome: RelayOutcome, done: String = "active") -> JSONValue {
        let relay = ("relay", JSONValue.string(outcome.relay))
        return switch outcome.result {
        case .active: .object([relay, ("result", .string(done))])
        case .pending(let status):
            .object([relay, ("result", "pending"), ("status", .string(status.rawValue))])
        case .noAnswer(let reason): .object([relay, ("result", "noAnswer"), ("reason", .string(reason))])
        case .rejected(let reason): .object([relay, ("result", "rejected"), ("reason", .string(reason))])
        case .failed(let reason, let retriable):
            .object([
                relay, ("result", "failed"), ("reason", .string(reason)), ("retriable", .bool(retriable)),
            ])
        }
    }

    static func row(_ outcome: RelayOutcome) -> [String] {
        switch outcome.result {
        case .active: [outcome.relay, "active", ""]
        case .pending(let status):
            [outcome.relay, status.rawValue, "not final yet; antenna relays shows how it goes on"]
        case .noAnswer(let reason): [outcome.relay, "no answer", reason]
        case .rejected(let reason): [outcome.relay, "rejected", rejection(reason)]
        case .failed(let reason, _): [outcome.relay, "failed", reason]
        }
    }

    /// Why a relay rejects a channel, for people; an operator's own words stay as they are.
    ///
    /// Source: docs/protocol/relay-lifecycle.md.
    package static func rejection(_ reason: String) -> String {
        switch reason {
        case "rejoin_rejected": "its operator left the channel and refuses it until antennactl allow"
        case "not_accepted": "it does not accept the channel"
        default: reason
        }
    }

    /// 0: every relay serves; 2: some do, or their operators still decide; 69: none.
    package static func exitCode(_ outcomes: [RelayOutcome]) -> ExitCode {
        if outcomes.allSatisfy({ $0.result == .active }) { return .ok }
        let answered = outcomes.contains { outcome in
            switch outcome.result {
            case .active, .pending: true
            case .noAnswer, .rejected, .failed: false
            }
        }
        return answered ? .partial : .unavailable
    }

    // MARK: Messages

    static func json(_ message: Message) -> JSONValue {
        [
            "id": .string(message.id), "channel": .string(message.channel),
            "author": .optional(message.author),
            "authorName": .string(message.authorName), "text": .string(message.text),
            "contentType": .string(message.contentType), "time": .integer(message.time),
            "edited": .bool(message.edited), "deleted": .bool(message.deleted),
            "signature": .string(message.signature.rawValue), "own": .bool(message.own),
            "relays": .array(message.relays.map(JSONValue.string)),
        ]
    }

    /// `2026-07-14 09:30:05 alice: hello  (QWJjZGVm)`; further lines of the text are indented.
    package static func line(_ message: Message, isUnpublished: Bool = false) -> String {
        let text: String
        if message.deleted {
            text = "(deleted)"
        } else {
            let lines = TerminalText.escaped(message.text, keepingNewlines: true)
            text = lines.split(separator: "\n", omittingEmptySubsequences: false).joined(separator: "\n    ")
        }
        var marks = message.edited && !message.deleted ? ", edited" : ""
        switch message.signature {
        case .signatureMissing: marks += ", NOT SIGNED"
        case .signedNoKey: marks += ", author's key unknown"
        case .verified, .unsigned: break
        }
        if isUnpublished { marks += ", on no relay yet" }
        let author = TerminalText.escaped(message.authorName)
        return
            "\(TimeText.readable(seconds: message.time)) \(author): \(text)  (\(shortID(message.id))\(marks))"
    }

    /// Enough of a message id to name it by; commands accept any unique beginning of four characters or more.
    static func shortID(_ id: String) -> String { String(id.prefix(10)) }

    static func json(_ receipt: PublishReceipt) -> JSONValue {
        [
            "messageId": .string(receipt.messageID), "channel": .string(receipt.channel),
            "relays": .array(receipt.relays.map(json)), "accepted": .integer(Int64(receipt.acceptedCount)),
            "complete": .bool(receipt.isComplete),
        ]
    }

    static func json(_ part: PublishReceipt.RelayReceipt) -> JSONValue {
        let relay = ("relay", JSONValue.string(part.relay))
        return switch part.outcome {
        case .accepted(let sequence):
            .object([relay, ("outcome", "accepted"), ("sequence", .integer(sequence))])
        case .queued(let reason): .object([relay, ("outcome", "queued"), ("reason", .string(reason))])
        case .refused(let code, let name, let text):
            .object([
                relay, ("outcome", "refused"), ("code", .integer(Int64(code))), ("name", .string(name)),
                ("text", .string(text)),
            ])
        }
    }

    static func row(_ part: PublishReceipt.RelayReceipt) -> [String] {
        switch part.outcome {
        case .accepted(let sequence): [part.relay, "accepted", "sequence \(sequence)"]
        case .queued(let reason): [part.relay, "queued", reason]
        case .refused(let code, let name, let text): [part.relay, "refused", "\(code) \(name): \(text)"]
        }
    }

    static func lines(_ receipt: PublishReceipt, headline: String? = nil) -> [String] {
        [headline ?? "message \(receipt.messageID)"] + columns(receipt.relays.map(row))
    }

    /// 0: every relay has it, or as many as were asked for; 2: some; 69: none.
    package static func exitCode(_ receipt: PublishReceipt, minimum: Int = 0) -> ExitCode {
        if receipt.isComplete || (minimum > 0 && receipt.acceptedCount >= minimum) { return .ok }
        return receipt.acceptedCount > 0 ? .partial : .unavailable
    }

    /// 0: every relay was reached and has everything; 2: some; 69: none was reached.
    package static func exitCode(_ report: SynchronizeReport) -> ExitCode {
        if report.unreachable.isEmpty { return report.pending == 0 ? .ok : .partial }
        return report.reached > 0 ? .partial : .unavailable
    }

    // MARK: Following

    static func json(_ item: FollowItem) -> JSONValue {
        let position = ("position", JSONValue.integer(item.position))
        return switch item.kind {
        case .message(let message): .object([position, ("kind", "message"), ("message", json(message))])
        case .edited(let message): .object([position, ("kind", "edited"), ("message", json(message))])
        case .deleted(let message): .object([position, ("kind", "deleted"), ("message", json(message))])
        case .gap(let gap): .object([position, ("kind", "gap"), ("gap", json(gap))])
        case .disagreement(let found):
            .object([position, ("kind", "disagreement"), ("disagreement", json(found))])
        case .notice(let text): .object([position, ("kind", "notice"), ("text", .string(text))])
        }
    }

    package static func line(_ item: FollowItem) -> String {
        switch item.kind {
        case .message(let message), .edited(let message), .deleted(let message): return line(message)
        case .gap(let gap):
            let relay = TerminalText.escaped(gap.relay)
            if gap.reason == .epoch { return "-- \(relay) started a new log; earlier positions are gone" }
            let numbers =
                gap.from == gap.to
                ? "number \(gap.from) of its log is" : "numbers \(gap.from) to \(gap.to) of its log are"
            let why =
                switch gap.reason {
                case .erased: "deleted by their author or an owner"
                case .pruned: "older than what it keeps"
                case .epoch, .unknown: gap.reason.rawValue
                }
            return "-- \(relay): \(numbers) gone (\(why))"
        case .disagreement(let found):
            return "!! \(TerminalText.escaped(found.relay)): \(TerminalText.escaped(found.detail))"
        case .notice(let text): return "-- \(TerminalText.escaped(text))"
        }
    }

    static func json(_ gap: DeliveryGap) -> JSONValue {
        [
            "relay": .string(gap.relay), "from": .integer(gap.from), "to": .integer(gap.to),
            "reason": .string(gap.reason.rawValue),
        ]
    }

    static func json(_ found: RelayDisagreement) -> JSONValue {
        [
            "kind": .string(found.kind.rawValue), "relay": .string(found.relay),
            "comparedWith": .array(found.comparedWith.map(JSONValue.string)),
            "messageId": .optional(found.messageID), "detail": .string(found.detail),
        ]
    }

    // MARK: Tables

    /// Rows without a header, columns aligned.
    package static func columns(_ rows: [[String]]) -> [String] {
        guard let width = rows.map(\.count).max() else { return [] }
        return Output.table(Array(repeating: "", count: width), rows).dropFirst().map { line in
            String(line.reversed().drop(while: { $0 == " " }).reversed())
        }
    }
}
