internal import ClientCore
internal import SQLiteKit
package import SodiumCrypto

extension ClientStore {
    // MARK: Profile

    package func profileName() throws(ClientStoreError) -> String? {
        try first("SELECT display_name FROM profile") { $0.text(0) }
    }

    package func setProfileName(_ name: String) throws(ClientStoreError) {
        try run(
            """
            INSERT INTO profile (one, display_name) VALUES (1, ?) ON CONFLICT (one) DO UPDATE SET
                display_name = excluded.display_name
            """,
            [.text(name)])
    }

    // MARK: Address book

    /// False where the name is taken.
    package func addRelay(_ relay: StoredRelay) throws(ClientStoreError) -> Bool {
        try run(
            """
            INSERT INTO relay (name, address, identity, added_at) VALUES (?, ?, ?, ?) ON CONFLICT (name) DO
                NOTHING
            """,
            [.text(relay.name), .text(relay.address), .blob(relay.identity), .integer(relay.addedAt)]) > 0
    }

    package func relays() throws(ClientStoreError) -> [StoredRelay] {
        try query("SELECT name, address, identity, added_at FROM relay ORDER BY name") {
            StoredRelay(name: $0.text(0), address: $0.text(1), identity: $0.blob(2), addedAt: $0.int64(3))
        }
    }

    /// False where there is none of this name.
    package func removeRelay(name: String) throws(ClientStoreError) -> Bool {
        try run("DELETE FROM relay WHERE name = ?", [.text(name)]) > 0
    }

    // MARK: Channels

    /// Stores a new channel under its display name, or the display name with the first free suffix.
    ///
    /// `again` is the row of a membership that has ended: it becomes the new one, and keeps its name and its
    /// messages; its relays begin anew.
    /// Returns: nil where the channel is in this home already.
    package func insertChannel(
        again: Int64? = nil, channelID: [UInt8], displayName: String, role: String, rootSecret: SecretBytes?,
        memberID: [UInt8],
        memberName: String, memberSecret: SecretBytes, record: [UInt8], recordVersion: Int64, now: Int64
    ) throws(ClientStoreError) -> StoredChannel? {
        try write { () throws(ClientStoreError) -> StoredChannel? in
            if let again {
                let changed = try run(
                    """
                    UPDATE channel SET role = ?, state = 'current', member_id = ?, member_name = ?,
                        member_secret = ?, created_at = ?
                    WHERE id = ? AND channel_id = ? AND state <> 'current' AND root_secret IS NULL
                    """,
                    [
                        .text(role), .blob(memberID), .text(memberName),
                        .blob(vault.seal(memberSecret, channelID: channelID)), .integer(now),
                        .integer(again), .blob(channelID),
                    ])
                guard changed > 0 else { return nil }
                try run("DELETE FROM channel_relay WHERE channel = ?", [.integer(again)])
                _ = try storeRecord(again, version: recordVersion, bytes: record)
                return try channel(id: again)
            }
            guard try channel(channelID: channelID) == nil else { return nil }
            let taken = Set(try query("SELECT local_name FROM channel") { $0.text(0) })
            let name = ChannelNaming.localName(for: displayName, taken: taken)
            try run(
                """
                INSERT INTO channel (channel_id, local_name, role, state, root_secret, member_id, member_name,
                    member_secret, record, record_version, created_at)
                VALUES (?, ?, ?, 'current', ?, ?, ?, ?, ?, ?, ?)
                """,
                [
                    .blob(channelID), .text(name), .text(role),
                    SQLiteValue(rootSecret.map { vault.seal($0, channelID: channelID) }),
                    .blob(memberID),
                    .text(memberName), .blob(vault.seal(memberSecret, channelID: channelID)), .blob(record),
                    .integer(recordVersion),
                    .integer(now),
                ])
            return try channel(id: database.lastInsertedRowID)
        }
    }

    package func channels() throws(ClientStoreError) -> [StoredChannel] {
        try channels(" ORDER BY local_name")
    }

    package func channel(id: Int64) throws(ClientStoreError) -> StoredChannel? {
        try channels(" WHERE id = ?", .integer(id)).first
    }

    package func channel(channelID: [UInt8]) throws(ClientStoreError) -> StoredChannel? {
        try channels(" WHERE channel_id = ?", .blob(channelID)).first
    }

    package func channel(localName: String) throws(ClientStoreError) -> StoredChannel? {
        try channels(" WHERE local_name = ?", .text(localName)).first
    }

    package func setChannelState(_ id: Int64, _ state: ChannelState) throws(ClientStoreError) {
        try run("UPDATE channel SET state = ? WHERE id = ?", [.text(state.rawValue), .integer(id)])
    }

    package func setChannelRole(_ id: Int64, _ role: String) throws(ClientStoreError) {
        try run("UPDATE channel SET role = ? WHERE id = ?", [.text(role), .integer(id)])
    }

    package func deleteChannel(_ id: Int64) throws(ClientStoreError) {
        try run("DELETE FROM channel WHERE id = ?", [.integer(id)])
    }

    /// Keeps a record where it is newer than the one kept.
    package func storeRecord(_ channel: Int64, version: Int64, bytes: [UInt8]) throws(ClientStoreError)
        -> Bool
    {
        try run(
            "UPDATE channel SET record = ?, record_version = ? WHERE id = ? AND record_version < ?",
            [.blob(bytes), .integer(version), .integer(channel), .integer(version)]) > 0
    }

    /// Makes the next record of a channel and keeps it: no other process can take the same version meanwhile.
    ///
    /// `make` gets the channel and its relays as they are now and the version to use; it answers the signed
    /// bytes, or nil to change nothing.
    package func nextRecord(
        _ id: Int64, make: (StoredChannel, [StoredChannelRelay], Int64) -> [UInt8]?
    ) throws(ClientStoreError) -> (version: Int64, bytes: [UInt8])? {
        try write { () throws(ClientStoreError) -> (version: Int64, bytes: [UInt8])? in
            // Another owner can have used up the numbers; then there is no next one.
            guard let channel = try channel(id: id), channel.recordVersion < .max else { return nil }
            let version = channel.recordVersion + 1
            guard let bytes = make(channel, try channelRelays(of: id), version) else { return nil }
            try run(
                "UPDATE channel SET record = ?, record_version = ? WHERE id = ?",
                [.blob(bytes), .integer(version), .integer(id)])
            return (version, bytes)
        }
    }

    private static let selectChannel = """
        SELECT id, channel_id, local_name, role, state, root_secret, member_id, member_name,
            member_secret, record,
            record_version, created_at
        FROM channel
        """

    /// Throws: `passphraseNeeded` where another process has set a passphrase meanwhile.
    private func channels(_ rest: String, _ values: SQLiteValue...) throws(ClientStoreError)
        -> [StoredChannel]
    {
        let rows = try query(Self.selectChannel + rest, values) { row -> StoredChannel? in
            let channelID = row.blob(1)
            let root = row.blobOrNil(5)
            let rootSecret = root.flatMap { vault.open($0, channelID: channelID) }
            guard let memberSecret = vault.open(row.blob(8), channelID: channelID),
                (root == nil) == (rootSecret == nil)
            else { return nil }
            return StoredChannel(
                id: row.int64(0), channelID: channelID, localName: row.text(2), role: row.text(3),
                state: ChannelState(rawValue: row.text(4)) ?? .left, rootSecret: rootSecret,
                memberID: row.blob(6), memberName: row.text(7), memberSecret: memberSecret,
                record: row.blob(9),
                recordVersion: row.int64(10), createdAt: row.int64(11))
        }
        guard !rows.contains(where: { $0 == nil }) else { throw .passphraseNeeded }
        return rows.compactMap(\.self)
    }

    // MARK: Members

    package func members(of channel: Int64) throws(ClientStoreError) -> [StoredMember] {
        try query(
            """
            SELECT member_id, name, role, status, public_key, joined_at FROM member WHERE channel = ? ORDER
                BY member_id
            """,
            [.integer(channel)], Self.member)
    }

    package func member(_ memberID: [UInt8], of channel: Int64) throws(ClientStoreError) -> StoredMember? {
        try first(
            """
            SELECT member_id, name, role, status, public_key, joined_at FROM member WHERE channel = ? AND
                member_id = ?
            """,
            [.integer(channel), .blob(memberID)], Self.member)
    }

    /// Stores a member; a key once known is kept.
    package func upsertMember(_ member: StoredMember, of channel: Int64) throws(ClientStoreError) {
        try run(
            """
            INSERT INTO member (channel, member_id, name, role, status, public_key, joined_at) VALUES (?,
                ?, ?, ?, ?, ?, ?)
            ON CONFLICT (channel, member_id) DO UPDATE SET name = excluded.name, role = excluded.role,
                status = excluded.status, public_key = coalesce(public_key, excluded.public_key),
                joined_at = coalesce(joined_at, excluded.joined_at)
            """,
            [
                .integer(channel), .blob(member.memberID), .text(member.name), .text(member.role),
                .text(member.status), SQLiteValue(member.publicKey), SQLiteValue(member.joinedAt),
            ])
    }

    private static func member(_ row: Row) -> StoredMember {
        StoredMember(
            memberID: row.blob(0), name: row.text(1), role: row.text(2), status: row.text(3),
            publicKey: row.blobOrNil(4), joinedAt: row.int64OrNil(5))
    }
}
