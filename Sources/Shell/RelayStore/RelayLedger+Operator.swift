import ChannelWire
import RelayCore
import SQLiteKit
import SodiumCrypto

/// What the operator does: leave, allow, decide about invitations, clean up.
extension RelayLedger {
    /// A channel that an operator named. It may have no row any more, and only a refusal.
    struct Target {
        let id: ChannelID
        let name: String
        let channel: ChannelState?
    }

    // MARK: Leave and allow

    /// Leaves a channel for good, in one transaction: status, refusal, the signed farewell, invitations,
    /// audit.
    func leave(
        _ selector: ChannelSelector, _ word: LedgerCommand.Word, _ now: Int64
    ) throws(SQLiteError) -> LedgerReply {
        try with(selector) { (target: Target) throws(SQLiteError) -> LedgerReply in
            var admission = try admission(target.id, target.channel)
            switch admission.operatorLeft() {
            case .unknownChannel: return .declined(.unknownChannel(selector.text, similar: []))
            case .alreadyRejected: return .declined(.alreadyRejected(target.id, target.name))
            case .leave(let announce):
                guard let channel = target.channel else {
                    return .failed(.internal("only a known channel is left"))
                }
                if announce { try appendFarewell(channel, now) }
                channel.admission = admission
                try book.save(channel, statusAt: now)
                try database.run(
                    """
                    INSERT INTO refusals (channel_id, name, reason, refused_at, refused_by)
                    VALUES (?, ?, ?, ?, ?)
                    """,
                    [
                        .blob(target.id.bytes), .text(target.name), .text(word.reason ?? ""), .integer(now),
                        .text(word.actor),
                    ])
                if let pending = try pendingOwner(channel) {
                    notices.append(.invitationDecided(target.id, owner: pending, .reject(.rejoinRejected)))
                    try database.run("DELETE FROM invitations WHERE channel = ?", [.integer(channel.row)])
                }
                try audit("leave", word, target.id, target.name, now)
                notices.append(.statusChanged(target.id, .rejected))
                notices.append(.channelEnded(target.id, .channelRejected, .rejoinRejected))
                return .done(try summary(target))
            }
        }
    }

    /// Appends the relay's own signed `x.grp.leave`.
    private func appendFarewell(_ channel: ChannelState, _ now: Int64) throws(SQLiteError) {
        guard let relay = channel.relay else { return }
        let messageID = MessageID(random: Sodium.random(12))
        let json = Event(messageID: messageID, params: .leave).encode()
        let element = Signing.element(json: json, channel: channel.id, member: relay.id) { message in
            guard let signature = Signature(bytes: Ed25519.sign(message, with: relay.keyPair)) else {
                preconditionFailure("an Ed25519 signature has 64 bytes")
            }
            return signature
        }
        channel.time = max(channel.time, now)
        let forward = ForwardElement(
            sender: .member(relay.id, name: options.relayName), timestamp: channel.time, inner: element)
        let draft = LogTable.Draft(
            author: relay.id, messageID: messageID, tag: EventTag.grpLeave.rawValue, amends: nil,
            forward: forward.bytes)
        notices.append(.appended(try log.append(draft, digest: Sodium.sha256(element), to: channel)))
    }

    /// Takes a refusal back. Nobody is told: an owner who wants the relay invites it again.
    func allow(
        _ selector: ChannelSelector, _ word: LedgerCommand.Word, _ now: Int64
    ) throws(SQLiteError) -> LedgerReply {
        try with(selector) { (target: Target) throws(SQLiteError) -> LedgerReply in
            var admission = try admission(target.id, target.channel)
            switch admission.operatorAllowed() {
            case .unknownChannel: return .declined(.unknownChannel(selector.text, similar: []))
            case .notRejected: return .declined(.notRejected(target.name))
            case .allow:
                try database.run("DELETE FROM refusals WHERE channel_id = ?", [.blob(target.id.bytes)])
                if let channel = target.channel {
                    channel.admission = admission
                    try book.save(channel, statusAt: now)
                }
                try audit("allow", word, target.id, target.name, now)
                return .done(try summary(target))
            }
        }
    }

    // MARK: Waiting invitations

    func acceptInvitation(
        _ selector: ChannelSelector, _ word: LedgerCommand.Word, _ now: Int64
    ) throws(SQLiteError) -> LedgerReply {
        try decide(selector) { (target, channel, pending) throws(SQLiteError) -> LedgerReply in
            switch channel.admission.operatorAccepted(room: try room()) {
            case .noRoom: return .declined(.noRoom(target.name))
            case .notPending, .reject: return .declined(.notPending(target.name))
            case .accept:
                let relay = try accept(channel, as: pending.relayMember, now)
                try members.setName(pending.ownerName, of: pending.owner, in: channel)
                notices.append(.invitationDecided(target.id, owner: pending.owner, .accept(relay.view)))
                try audit("accept", word, target.id, target.name, now)
                return .done(try summary(target))
            }
        }
    }

    func rejectInvitation(
        _ selector: ChannelSelector, _ word: LedgerCommand.Word, _ now: Int64
    ) throws(SQLiteError) -> LedgerReply {
        try decide(selector) { (target, channel, pending) throws(SQLiteError) -> LedgerReply in
            guard case .reject = channel.admission.operatorRejected() else {
                return .declined(.notPending(target.name))
            }
            let summary = try summary(target)
            try book.delete(channel)
            try database.run(
                """
                INSERT INTO turned_down (channel_id, relay_member_id, words, turned_down_at)
                VALUES (?, ?, ?, ?)
                ON CONFLICT (channel_id) DO UPDATE SET relay_member_id = excluded.relay_member_id,
                    words = excluded.words, turned_down_at = excluded.turned_down_at
                """,
                [
                    .blob(target.id.bytes), .blob(pending.relayMember.bytes), SQLiteValue(word.reason),
                    .integer(now),
                ])
            notices.append(
                .invitationDecided(target.id, owner: pending.owner, .reject(.byOperator(word.reason))))
            try audit("reject", word, target.id, target.name, now)
            return .done(summary)
        }
    }

    private struct Pending {
        let owner: MemberID
        let ownerName: String
        let relayMember: MemberID
    }

    private func decide(
        _ selector: ChannelSelector,
        _ body: (Target, ChannelState, Pending) throws(SQLiteError) -> LedgerReply
    ) throws(SQLiteError) -> LedgerReply {
        try with(selector) { (target: Target) throws(SQLiteError) -> LedgerReply in
            guard let channel = target.channel else { return .declined(.notPending(target.name)) }
            let pending: Pending? =
                try database.first(
                    "SELECT owner_id, owner_name, relay_member_id FROM invitations WHERE channel = ?",
                    [.integer(channel.row)]
                ) { row in
                    guard let owner = MemberID(bytes: row.blob(0)), let relay = MemberID(bytes: row.blob(2))
                    else {
                        return nil
                    }
                    return Pending(owner: owner, ownerName: row.text(1), relayMember: relay)
                } ?? nil
            guard let pending else { return .declined(.notPending(target.name)) }
            return try body(target, channel, pending)
        }
    }

    private func pendingOwner(_ channel: ChannelState) throws(SQLiteError) -> MemberID? {
        try database.first("SELECT owner_id FROM invitations WHERE channel = ?", [.integer(channel.row)]) {
            MemberID(bytes: $0.blob(0))
        } ?? nil
    }

    // MARK: Cleaning up

    /// Deletes everything about a channel that is not served, except the refusal if there is one.
    func forget(
        _ selector: ChannelSelector, _ word: LedgerCommand.Word, _ now: Int64
    ) throws(SQLiteError) -> LedgerReply {
        try with(selector) { (target: Target) throws(SQLiteError) -> LedgerReply in
            let summary = try summary(target)
            guard let channel = target.channel else { return .done(summary) }
            switch channel.admission.state {
            case .inactive, .rejected:
                guard channel.bytes <= options.dropBytesMax else {
                    let all = Retention.Excess(messages: channel.count, bytes: 0)
                    return .pruned(try log.prune(all, bytesMax: options.dropBytesMax, in: channel))
                }
                try book.delete(channel)
                needsScrubbing = true
                try audit("forget", word, target.id, target.name, now)
                return .done(summary)
            default:
                return .declined(.stillServed(target.name))
            }
        }
    }

    /// Brings logs down to what is kept: of one channel, or of all. What is much goes in several calls.
    func prune(
        _ selector: ChannelSelector?, _ keep: Int64?, _ word: LedgerCommand.Word, _ now: Int64
    ) throws(SQLiteError) -> LedgerReply {
        var pruned = Pruned()
        if let selector {
            let reply = try with(selector) { (target: Target) throws(SQLiteError) -> LedgerReply in
                if let channel = target.channel { pruned += try prune(channel, keep: keep, now) }
                if let keep, pruned.isWhole {
                    try audit("prune", word, target.id, target.name, now, "kept \(keep)")
                }
                return .pruned(pruned)
            }
            guard case .pruned = reply else { return reply }
        } else {
            for id in try database.query(
                "SELECT channel_id FROM channels", [], { ChannelID(bytes: $0.blob(0)) })
            {
                if pruned.isWhole, let id, let channel = try book.find(id) {
                    pruned += try prune(channel, keep: keep, now)
                }
            }
            if let keep, pruned.isWhole { try audit("prune", word, nil, "", now, "kept \(keep) of each") }
        }
        try trimLists()
        needsScrubbing = needsScrubbing || pruned.messages > 0
        return .pruned(pruned)
    }

    /// Keeps the lists that only operators fill from growing for ever.
    func trimLists() throws(SQLiteError) {
        try database.run(
            "DELETE FROM audit WHERE audit <= (SELECT max(audit) FROM audit) - ?",
            [.integer(options.auditRowsMax)])
        try database.run(
            """
            DELETE FROM turned_down WHERE channel_id IN (
                SELECT channel_id FROM turned_down ORDER BY turned_down_at DESC LIMIT -1 OFFSET ?)
            """, [.integer(options.pendingInvitationsMax)])
    }

    /// Brings one channel's log and tombstones down to what is kept, about `dropBytesMax` at a time.
    func prune(_ channel: ChannelState, keep: Int64? = nil, _ now: Int64) throws(SQLiteError) -> Pruned {
        try log.boundTombstones(in: channel)
        if let keep, channel.count > keep {
            let excess = Retention.Excess(messages: channel.count - keep, bytes: 0)
            return try log.prune(excess, bytesMax: options.dropBytesMax, in: channel)
        }
        if !channel.admission.isServing {
            let since = try number(
                "SELECT status_at FROM channels WHERE channel = ?", [.integer(channel.row)])
            guard channel.count > 0, since <= now - options.unservedLogSeconds else { return Pruned() }
            guard channel.bytes <= options.dropBytesMax else {
                let all = Retention.Excess(messages: channel.count, bytes: 0)
                return try log.prune(all, bytesMax: options.dropBytesMax, in: channel)
            }
            return try log.prune(through: channel.head, in: channel)
        }
        var pruned = Pruned()
        if let excess = options.retention.excess(messages: channel.count, bytes: channel.bytes) {
            pruned += try log.prune(excess, bytesMax: options.dropBytesMax, in: channel)
            guard pruned.isWhole else { return pruned }
        }
        if let oldest = options.retention.oldestKept(now: now),
            let last = try log.newestBefore(time: oldest, in: channel)
        {
            pruned += try log.prune(through: last, in: channel)
        }
        return pruned
    }

    func audit(
        _ action: String, _ word: LedgerCommand.Word, _ id: ChannelID?, _ name: String, _ now: Int64,
        _ detail: String? = nil
    ) throws(SQLiteError) {
        try database.run(
            "INSERT INTO audit (time, actor, action, channel_id, name, detail) VALUES (?, ?, ?, ?, ?, ?)",
            [
                .integer(now), .text(word.actor), .text(action), SQLiteValue(id?.bytes), .text(name),
                .text(detail ?? word.reason ?? ""),
            ])
    }
}
