import ChannelWire
import RelayCore
import SQLiteKit

/// The members of all channels, and the keys that owners pinned.
struct MemberTable {
    let database: Database

    struct Member {
        let row: Int64
        let view: MemberView

        var known: Membership.Known {
            Membership.Known(key: view.key, role: view.role, state: view.status)
        }
    }

    private static let columns = "member, member_id, public_key, role, status, name, joined_at"

    private static let findOne = "SELECT \(columns) FROM members WHERE channel = ? AND member_id = ?"

    private static func member(_ row: Row) -> Member? {
        guard let id = MemberID(bytes: row.blob(1)), let key = PublicKey(raw: row.blob(2)) else { return nil }
        return Member(
            row: row.int64(0),
            view: MemberView(
                id: id, key: key, role: Role(text: row.text(3)),
                status: Membership.State(rawValue: row.text(4)) ?? .removed, name: row.text(5),
                joinedAt: row.int64(6)))
    }

    func find(_ id: MemberID, in channel: ChannelState) throws(SQLiteError) -> Member? {
        try database.first(Self.findOne, [.integer(channel.row), .blob(id.bytes)]) { Self.member($0) } ?? nil
    }

    /// The same for whoever publishes: few do, and again and again.
    func author(_ id: MemberID, in channel: ChannelState) throws(SQLiteError) -> Member? {
        if let known = channel.authors[id] { return known }
        guard let found = try find(id, in: channel) else { return nil }
        if channel.authors.count >= Self.authorsMax { channel.authors.removeAll() }
        channel.authors[id] = found
        return found
    }

    /// Of one channel. There may be 20,000 channels in memory, so it is little.
    static let authorsMax = 8

    /// Changes rows of members: what was kept of them is looked up anew.
    @discardableResult
    private func change(
        _ channel: ChannelState, _ sql: String, _ values: [SQLiteValue]
    ) throws(SQLiteError) -> Int {
        channel.authors.removeAll()
        return try database.run(sql, values)
    }

    func insert(
        _ id: MemberID, key: PublicKey, role: Role, name: String, now: Int64, in channel: ChannelState
    ) throws(SQLiteError) -> MemberView {
        try database.run(
            """
            INSERT INTO members (channel, member_id, public_key, role, status, name, joined_at)
            VALUES (?, ?, ?, ?, ?, ?, ?)
            """,
            [
                .integer(channel.row), .blob(id.bytes), .blob(key.raw), .text(role.text),
                .text(Membership.State.current.rawValue), .text(name), .integer(now),
            ])
        channel.memberCount += 1
        channel.isDirty = true
        return MemberView(id: id, key: key, role: role, status: .current, name: name, joinedAt: now)
    }

    func setStatus(_ state: Membership.State, of member: Member, in channel: ChannelState) throws(SQLiteError)
    {
        guard member.view.status != state else { return }
        try change(
            channel, "UPDATE members SET status = ? WHERE member = ?",
            [.text(state.rawValue), .integer(member.row)])
        if member.view.status == .current { channel.memberCount -= 1 }
        if state == .current { channel.memberCount += 1 }
        channel.isDirty = true
    }

    func setRole(_ role: Role, of member: Member, in channel: ChannelState) throws(SQLiteError) {
        try change(
            channel, "UPDATE members SET role = ? WHERE member = ?",
            [.text(role.text), .integer(member.row)])
    }

    func setName(_ name: String, of id: MemberID, in channel: ChannelState) throws(SQLiteError) {
        try change(
            channel, "UPDATE members SET name = ? WHERE channel = ? AND member_id = ?",
            [.text(name), .integer(channel.row), .blob(id.bytes)])
    }

    /// Ends all memberships of a channel.
    func endAll(in channel: ChannelState) throws(SQLiteError) {
        try change(
            channel, "UPDATE members SET status = 'removed' WHERE channel = ? AND status = 'connected'",
            [.integer(channel.row)])
        channel.memberCount = 0
        channel.isDirty = true
    }

    func owners(in channel: ChannelState) throws(SQLiteError) -> [Member] {
        try database.query(
            """
            SELECT \(Self.columns) FROM members
            WHERE channel = ? AND role = 'owner' AND status = 'connected' ORDER BY member
            """, [.integer(channel.row)]
        ) { Self.member($0) }.compactMap { $0 }
    }

    /// Makes the owners of a record, and only them, the owners here. Answers whose membership ended by it.
    ///
    /// The record is the owners' own word: a key in it replaces whatever was known under that id.
    func follow(
        _ owners: [(id: MemberID, key: PublicKey)], now: Int64, in channel: ChannelState
    ) throws(SQLiteError) -> [MemberID] {
        var ended: [MemberID] = []
        for former in try self.owners(in: channel) where !owners.contains(where: { $0.id == former.view.id })
        {
            try setRole(.observer, of: former, in: channel)
            try setStatus(.removed, of: former, in: channel)
            ended.append(former.view.id)
        }
        for owner in owners {
            guard let member = try find(owner.id, in: channel) else {
                _ = try insert(owner.id, key: owner.key, role: .owner, name: "", now: now, in: channel)
                continue
            }
            if member.view.key != owner.key || member.view.role != .owner {
                try change(
                    channel, "UPDATE members SET public_key = ?, role = 'owner' WHERE member = ?",
                    [.blob(owner.key.raw), .integer(member.row)])
            }
            // One who left stays away; `mayLeave` has seen to it that another owner is there.
            if member.view.status == .removed { try setStatus(.current, of: member, in: channel) }
        }
        return ended
    }

    func page(_ channel: ChannelID, after: MemberID?, limit: Int) throws(SQLiteError) -> MembersPage? {
        let found = try database.first(
            """
            SELECT channel, member_count FROM channels JOIN counters USING (channel)
            WHERE channel_id = ?
            """, [.blob(channel.bytes)]
        ) { (row: $0.int64(0), total: $0.int64(1)) }
        guard let found else { return nil }
        let wanted = min(max(limit, 1), Limits.membersPageMax)
        var members = try database.query(
            """
            SELECT \(Self.columns) FROM members WHERE channel = ? AND member_id > ? ORDER BY member_id LIMIT ?
            """, [.integer(found.row), .blob(after?.bytes ?? []), .integer(Int64(wanted + 1))]
        ) { Self.member($0)?.view }.compactMap { $0 }
        let more = members.count > wanted
        if more { members.removeLast(members.count - wanted) }
        return MembersPage(members: members, total: found.total, more: more)
    }

    // MARK: Pins

    func pin(of id: MemberID, in channel: ChannelState) throws(SQLiteError) -> Membership.Pinned? {
        try database.first(
            "SELECT public_key, role FROM roster WHERE channel = ? AND member_id = ?",
            [.integer(channel.row), .blob(id.bytes)]
        ) { row in
            PublicKey(raw: row.blob(0)).map { Membership.Pinned(key: $0, role: Role(text: row.text(1))) }
        } ?? nil
    }

    /// Replaces the pins of a channel, and gives current members the roles that follow. Answers who got
    /// another role.
    func replacePins(_ pins: [Roster.Entry], in channel: ChannelState) throws(SQLiteError) -> [(
        MemberID, Role
    )] {
        let privileged = try database.query(
            """
            SELECT \(Self.columns) FROM members
            WHERE channel = ? AND role NOT IN ('owner', 'observer', 'relay')
            """, [.integer(channel.row)]
        ) { Self.member($0) }.compactMap { $0 }
        try database.run("DELETE FROM roster WHERE channel = ?", [.integer(channel.row)])
        var changed: [(MemberID, Role)] = []
        for member in privileged
        where !pins.contains(where: { $0.member == member.view.id && $0.key == member.view.key }) {
            try setRole(.observer, of: member, in: channel)
            changed.append((member.view.id, .observer))
        }
        for pin in pins {
            try database.run(
                "INSERT OR IGNORE INTO roster (channel, member_id, public_key, role) VALUES (?, ?, ?, ?)",
                [.integer(channel.row), .blob(pin.member.bytes), .blob(pin.key.raw), .text(pin.role.text)])
            // A key known under this id stays: the pin then waits for a member who has it, in vain.
            guard let member = try find(pin.member, in: channel), member.view.key == pin.key,
                member.view.role != .owner, member.view.role != pin.role
            else { continue }
            try setRole(pin.role, of: member, in: channel)
            changed.append((pin.member, pin.role))
        }
        return changed
    }
}
