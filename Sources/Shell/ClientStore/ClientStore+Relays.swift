internal import ChannelWire
package import ClientCore
internal import SQLiteKit

extension ClientStore {
    /// Stores a relay of a channel, with the first line of its history.
    ///
    /// Returns: nil where the relay is listed already, by identity or member id, in whatever status.
    package func insertChannelRelay(
        channel: Int64, name: String, memberID: [UInt8], identity: [UInt8], address: String,
        relayKey: [UInt8]? = nil,
        relayLink: String? = nil, relay: OwnerRelay = .init(), now: Int64
    ) throws(ClientStoreError) -> StoredChannelRelay? {
        try write { () throws(ClientStoreError) -> StoredChannelRelay? in
            let inserted = try run(
                """
                INSERT INTO channel_relay (channel, name, member_id, identity, address, relay_key,
                    relay_link, status,
                    member_status, reason, since)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING
                """,
                [
                    .integer(channel), .text(name), .blob(memberID), .blob(identity), .text(address),
                    SQLiteValue(relayKey), SQLiteValue(relayLink), .text(relay.status.rawValue),
                    .text(relay.memberStatus.rawValue), SQLiteValue(relay.reason), .integer(now),
                ])
            guard inserted > 0 else { return nil }
            let id = database.lastInsertedRowID
            try appendHistory(id, relay, now: now)
            return try channelRelay(id)
        }
    }

    package func channelRelays(of channel: Int64) throws(ClientStoreError) -> [StoredChannelRelay] {
        try query(Self.selectRelay + " WHERE channel = ? ORDER BY id", [.integer(channel)], Self.relay)
    }

    package func channelRelay(_ id: Int64) throws(ClientStoreError) -> StoredChannelRelay? {
        try first(Self.selectRelay + " WHERE id = ?", [.integer(id)], Self.relay)
    }

    /// Changes a relay's status by the rules of `OwnerRelay`, as it is in the database now.
    ///
    /// Two processes may hear of different things at once, so the rule is applied inside the transaction.
    /// Returns: the row after the change where the status changed, else nil.
    package func changeRelay<Answer>(
        _ id: Int64, now: Int64, _ change: (inout OwnerRelay) -> Answer
    ) throws(ClientStoreError) -> (answer: Answer, changed: StoredChannelRelay?)? {
        try write { () throws(ClientStoreError) -> (answer: Answer, changed: StoredChannelRelay?)? in
            guard let row = try channelRelay(id) else { return nil }
            var relay = row.relay
            let answer = change(&relay)
            guard relay != row.relay else { return (answer, nil) }
            try run(
                "UPDATE channel_relay SET status = ?, member_status = ?, reason = ?, since = ? WHERE id = ?",
                [
                    .text(relay.status.rawValue), .text(relay.memberStatus.rawValue),
                    SQLiteValue(relay.reason),
                    .integer(relay.status == row.relay.status ? row.since : now), .integer(id),
                ])
            try appendHistory(id, relay, now: now)
            return (answer, try channelRelay(id))
        }
    }

    package func setRelayEndpoint(
        _ id: Int64, key: [UInt8], link: String
    ) throws(ClientStoreError) {
        try run(
            "UPDATE channel_relay SET relay_key = ?, relay_link = ? WHERE id = ?",
            [.blob(key), .text(link), .integer(id)])
    }

    package func setRelayAddress(_ id: Int64, _ address: String) throws(ClientStoreError) {
        try run("UPDATE channel_relay SET address = ? WHERE id = ?", [.text(address), .integer(id)])
    }

    package func setRelayJoined(_ id: Int64, _ joined: Bool) throws(ClientStoreError) {
        try run("UPDATE channel_relay SET joined = ? WHERE id = ?", [SQLiteValue(joined), .integer(id)])
    }

    /// Notes which version of the record a relay is known to have; never lowers it.
    package func setRelayStoredVersion(_ id: Int64, _ version: Int64) throws(ClientStoreError) {
        try run(
            "UPDATE channel_relay SET stored_version = max(stored_version, ?) WHERE id = ?",
            [.integer(version), .integer(id)])
    }

    package func setRelayError(_ id: Int64, _ text: String?) throws(ClientStoreError) {
        try run(
            "UPDATE channel_relay SET last_error = ? WHERE id = ? AND last_error IS NOT ?",
            [SQLiteValue(text), .integer(id), SQLiteValue(text)])
    }

    /// Removes the row, and with it its history, copies, position and outbox rows.
    package func deleteChannelRelay(_ id: Int64) throws(ClientStoreError) {
        try run("DELETE FROM channel_relay WHERE id = ?", [.integer(id)])
    }

    /// What a relay's status has been, oldest first.
    package func relayHistory(_ id: Int64) throws(ClientStoreError) -> [StoredStatusChange] {
        try query(
            """
            SELECT status, member_status, reason, at FROM channel_relay_history WHERE channel_relay = ?
                ORDER BY id
            """,
            [.integer(id)]
        ) {
            StoredStatusChange(
                status: OwnerRelay.Status(rawValue: $0.text(0)) ?? .inactive,
                memberStatus: OwnerRelay.MemberStatus(rawValue: $0.text(1)) ?? .left, reason: $0.textOrNil(2),
                at: $0.int64(3))
        }
    }

    // MARK: Positions

    package func cursor(of relay: Int64) throws(ClientStoreError) -> DeliveryCursor? {
        try first("SELECT epoch, position FROM log_cursor WHERE relay = ?", [.integer(relay)]) {
            DeliveryCursor(epoch: $0.blob(0), position: $0.int64(1))
        }
    }

    /// Keeps a position: within one epoch it only ever rises, so that two processes cannot pull each other
    /// back.
    package func setCursor(_ cursor: DeliveryCursor, of relay: Int64) throws(ClientStoreError) {
        try run(
            """
            INSERT INTO log_cursor (relay, epoch, position) VALUES (?, ?, ?)
            ON CONFLICT (relay) DO UPDATE SET
                position = CASE WHEN epoch = excluded.epoch THEN max(position, excluded.position) ELSE
                    excluded.position END,
                epoch = excluded.epoch
            """,
            [.integer(relay), .blob(cursor.epoch), .integer(cursor.position)])
    }

    private func appendHistory(_ id: Int64, _ relay: OwnerRelay, now: Int64) throws(ClientStoreError) {
        try run(
            """
            INSERT INTO channel_relay_history (channel_relay, status, member_status, reason, at) VALUES (?,
                ?, ?, ?, ?)
            """,
            [
                .integer(id), .text(relay.status.rawValue), .text(relay.memberStatus.rawValue),
                SQLiteValue(relay.reason), .integer(now),
            ])
    }

    private static let selectRelay = """
        SELECT id, channel, name, member_id, identity, address, relay_key, relay_link, status,
            member_status, reason,
            since, joined, stored_version, last_error
        FROM channel_relay
        """

    private static func relay(_ row: Row) -> StoredChannelRelay {
        StoredChannelRelay(
            id: row.int64(0), channel: row.int64(1), name: row.text(2), memberID: row.blob(3),
            identity: row.blob(4),
            address: row.text(5), relayKey: row.blobOrNil(6), relayLink: row.textOrNil(7),
            relay: OwnerRelay(
                status: OwnerRelay.Status(rawValue: row.text(8)) ?? .inactive,
                memberStatus: OwnerRelay.MemberStatus(rawValue: row.text(9)) ?? .left,
                reason: row.textOrNil(10)),
            since: row.int64(11), joined: row.bool(12), storedVersion: row.int64(13),
            lastError: row.textOrNil(14))
    }
}
