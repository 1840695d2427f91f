import ChannelWire
import RelayCore
import SQLiteKit

/// What the operator sees, and how the operator's names are understood.
extension RelayLedger {
    // MARK: Names

    /// Finds the one channel that a selector means and goes on with it, or declines.
    ///
    /// An id counts first, then the unique name, then the title where only one channel has it.
    func with(
        _ selector: ChannelSelector, _ body: (Target) throws(SQLiteError) -> LedgerReply
    ) throws(SQLiteError) -> LedgerReply {
        if let id = selector.id, let target = try target(id) { return try body(target) }
        let named = try database.query(
            """
            SELECT channel_id FROM channels WHERE name = ?1
            UNION SELECT channel_id FROM refusals WHERE name = ?1
            """,
            [.text(selector.name)]
        ) { ChannelID(bytes: $0.blob(0)) }.compactMap { $0 }
        if named.count == 1, let target = try target(named[0]) { return try body(target) }
        let titled = try database.query(
            "SELECT channel_id, name FROM channels WHERE title = ? ORDER BY name LIMIT 100",
            [.text(selector.name)]
        ) { (id: ChannelID(bytes: $0.blob(0)), name: $0.text(1)) }
        if titled.count > 1 || named.count > 1 {
            return .declined(.ambiguous(selector.text, candidates: titled.map(\.name)))
        }
        if let id = titled.first?.id, let target = try target(id) { return try body(target) }
        return .declined(.unknownChannel(selector.text, similar: try similar(selector.name)))
    }

    private func target(_ id: ChannelID) throws(SQLiteError) -> Target? {
        if let channel = try book.find(id) { return Target(id: id, name: channel.name, channel: channel) }
        let name = try database.first("SELECT name FROM refusals WHERE channel_id = ?", [.blob(id.bytes)]) {
            $0.text(0)
        }
        return name.map { Target(id: id, name: $0, channel: nil) }
    }

    private func similar(_ name: String) throws(SQLiteError) -> [String] {
        guard !name.isEmpty else { return [] }
        return try database.query(
            """
            SELECT name FROM (SELECT name FROM channels UNION SELECT name FROM refusals)
            WHERE instr(lower(name), lower(?1)) > 0 OR instr(lower(?1), lower(name)) > 0 ORDER BY name LIMIT 5
            """, [.text(name)]
        ) { $0.text(0) }
    }

    // MARK: Listings

    func summary(_ target: Target) throws(SQLiteError) -> ChannelSummary {
        // What changed in this batch may stand in memory only.
        try book.flush()
        let found = try summaries("WHERE channel_id = ?", [.blob(target.id.bytes)])
        if let first = found.first { return first }
        return try refusedOnly("WHERE channel_id = ?", [.blob(target.id.bytes)]).first
            ?? ChannelSummary(channel: target.id, name: target.name)
    }

    func listChannels() throws(SQLiteError) -> [ChannelSummary] {
        try book.flush()
        let known = try summaries("ORDER BY name", [])
        return known
            + (try refusedOnly("WHERE channel_id NOT IN (SELECT channel_id FROM channels) ORDER BY name", []))
    }

    private func summaries(_ condition: String, _ values: [SQLiteValue]) throws(SQLiteError)
        -> [ChannelSummary]
    {
        try database.query(
            """
            SELECT channel_id, name, title, status, deleted, member_count, log_count, log_bytes, log_head,
                record_version, created_at, reason, refused_at, refused_by
            FROM channels JOIN counters USING (channel) LEFT JOIN (
                SELECT channel_id AS refused_id, reason, refused_at, refused_by FROM refusals)
            ON refused_id = channel_id \(condition)
            """, values
        ) { row in
            guard let id = ChannelID(bytes: row.blob(0)) else { return nil }
            var summary = ChannelSummary(channel: id, name: row.text(1))
            summary.title = row.text(2)
            summary.status = Admission.State(rawValue: row.text(3)) ?? .inactive
            summary.deleted = row.bool(4)
            summary.members = row.int64(5)
            summary.messages = row.int64(6)
            summary.bytes = row.int64(7)
            summary.head = row.int64(8)
            summary.recordVersion = row.int64(9)
            summary.createdAt = row.int64(10)
            if !row.isNull(12) {
                summary.status = .rejected
                summary.refusal = Refusal(reason: row.text(11), time: row.int64(12), actor: row.text(13))
            }
            return summary
        }.compactMap { $0 }
    }

    private func refusedOnly(_ condition: String, _ values: [SQLiteValue]) throws(SQLiteError)
        -> [ChannelSummary]
    {
        try database.query(
            "SELECT channel_id, name, reason, refused_at, refused_by FROM refusals \(condition)", values
        ) { row in
            guard let id = ChannelID(bytes: row.blob(0)) else { return nil }
            var summary = ChannelSummary(channel: id, name: row.text(1))
            summary.status = .rejected
            summary.createdAt = row.int64(3)
            summary.refusal = Refusal(reason: row.text(2), time: row.int64(3), actor: row.text(4))
            return summary
        }.compactMap { $0 }
    }

    func listInvitations() throws(SQLiteError) -> [PendingInvitation] {
        try database.query(
            """
            SELECT channel_id, name, title, owner_id, owner_name, invited_at
            FROM invitations JOIN channels USING (channel) ORDER BY invited_at, name
            """
        ) { row in
            guard let id = ChannelID(bytes: row.blob(0)), let owner = MemberID(bytes: row.blob(3)) else {
                return nil
            }
            return PendingInvitation(
                channel: id, name: row.text(1), title: row.text(2), owner: owner, ownerName: row.text(4),
                invitedAt: row.int64(5))
        }.compactMap { $0 }
    }

    /// The newest entries first.
    func listAudit(_ limit: Int) throws(SQLiteError) -> [AuditEntry] {
        try database.query(
            """
            SELECT audit, time, actor, action, channel_id, name, detail FROM audit ORDER BY audit DESC LIMIT ?
            """, [.integer(Int64(max(0, limit)))]
        ) { row in
            AuditEntry(
                number: row.int64(0), time: row.int64(1), actor: row.text(2), action: row.text(3),
                channel: row.blobOrNil(4).flatMap { ChannelID(bytes: $0) }, name: row.text(5),
                detail: row.text(6))
        }
    }

    func listMembers(
        _ selector: ChannelSelector, _ after: MemberID?, _ limit: Int
    ) throws(SQLiteError) -> LedgerReply {
        try with(selector) { (target: Target) throws(SQLiteError) -> LedgerReply in
            try book.flush()
            return .members(
                try members.page(target.id, after: after, limit: limit)
                    ?? MembersPage(members: [], total: 0, more: false))
        }
    }

    func status() throws(SQLiteError) -> LedgerStatus {
        try book.flush()
        var channels: [Admission.State: Int64] = [:]
        try database.forEach("SELECT status, count(*) FROM channels GROUP BY status") { row in
            if let state = Admission.State(rawValue: row.text(0)) { channels[state] = row.int64(1) }
            return .next
        }
        let pageSize = try number("PRAGMA page_size")
        return LedgerStatus(
            channels: channels, refusals: try number("SELECT count(*) FROM refusals"),
            pendingInvitations: try number("SELECT count(*) FROM invitations"),
            members: try number("SELECT coalesce(sum(member_count), 0) FROM counters"),
            messages: try number("SELECT coalesce(sum(log_count), 0) FROM counters"),
            logBytes: try number("SELECT coalesce(sum(log_bytes), 0) FROM counters"),
            databaseBytes: try number("PRAGMA page_count") * pageSize,
            freeBytesInDatabase: try number("PRAGMA freelist_count") * pageSize,
            quotaBytes: options.quotaBytes, lackOfRoom: lackOfRoom(),
            schemaVersion: try database.userVersion, epoch: epoch)
    }
}

extension ChannelSummary {
    init(channel: ChannelID, name: String) {
        self.init(
            channel: channel, name: name, title: name, status: .none, deleted: false, members: 0, messages: 0,
            bytes: 0,
            head: 0, recordVersion: 0, createdAt: 0, refusal: nil)
    }
}
