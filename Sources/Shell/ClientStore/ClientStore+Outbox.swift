package import ClientCore
internal import SQLiteKit

extension ClientStore {
    /// Queues an event for a relay; a row that is there already stays as it is.
    package func enqueue(event: Int64, relay: Int64, now: Int64) throws(ClientStoreError) {
        try run(
            """
            INSERT INTO outbox (event, relay, state, queued_at) VALUES (?, ?, 'pending', ?)
            ON CONFLICT (event, relay) DO NOTHING
            """,
            [.integer(event), .integer(relay), .integer(now)])
    }

    /// What waits for a relay, in the order in which it was written.
    package func pendingRows(relay: Int64, limit: Int) throws(ClientStoreError) -> [StoredOutboxRow] {
        try query(
            Self.selectOutbox + " WHERE o.relay = ? AND o.state = 'pending' ORDER BY o.event LIMIT ?",
            [.integer(relay), .integer(Int64(limit))], Self.outboxRow)
    }

    /// The rows of an event, one for each relay it is or was meant for.
    package func outboxRows(event: Int64) throws(ClientStoreError) -> [StoredOutboxRow] {
        try query(
            Self.selectOutbox + " WHERE o.event = ? ORDER BY o.relay", [.integer(event)], Self.outboxRow)
    }

    /// Everything that no relay has taken: waiting or refused, oldest first.
    package func openOutboxRows() throws(ClientStoreError) -> [StoredOutboxRow] {
        try query(
            Self.selectOutbox + " WHERE o.state <> 'accepted' ORDER BY o.event, o.relay", [], Self.outboxRow)
    }

    /// The relays for which something waits.
    package func relaysWithPendingRows() throws(ClientStoreError) -> [Int64] {
        try query("SELECT DISTINCT relay FROM outbox WHERE state = 'pending' ORDER BY relay") { $0.int64(0) }
    }

    /// Whether the message that an event changes still waits for the same relay.
    package func isPending(messageID: [UInt8], relay: Int64) throws(ClientStoreError) -> Bool {
        try first(
            """
            SELECT 1 FROM outbox AS o JOIN event AS e ON e.id = o.event
            WHERE o.relay = ? AND o.state = 'pending' AND e.message_id = ?
            """,
            [.integer(relay), .blob(messageID)]
        ) { _ in true } ?? false
    }

    /// Changes a row by the rules of `OutboxEntry`, as it is in the database now; answers the entry after it.
    ///
    /// Once no relay waits for an erased message any more, its bytes go too.
    @discardableResult
    package func changeOutbox(
        event: Int64, relay: Int64, _ change: (inout OutboxEntry) -> Void
    ) throws(ClientStoreError) -> OutboxEntry? {
        try write { () throws(ClientStoreError) -> OutboxEntry? in
            let row = try first(
                Self.selectOutbox + " WHERE o.event = ? AND o.relay = ?", [.integer(event), .integer(relay)],
                Self.outboxRow)
            guard let row else { return nil }
            var entry = row.entry
            change(&entry)
            guard entry != row.entry else { return entry }
            let (state, sequence, code): (String, Int64?, Int64?) =
                switch entry.state {
                case .pending: ("pending", nil, nil)
                case .accepted(let sequence): ("accepted", sequence, nil)
                case .refused(let code): ("refused", nil, Int64(code))
                }
            try run(
                """
                UPDATE outbox SET state = ?, sequence = ?, code = ?, attempts = ?, last_error = ?,
                    next_try_ms = ?
                WHERE event = ? AND relay = ?
                """,
                [
                    .text(state), SQLiteValue(sequence), SQLiteValue(code), .integer(Int64(entry.attempts)),
                    SQLiteValue(entry.lastError), .integer(entry.nextTryMilliseconds), .integer(event),
                    .integer(relay),
                ])
            if entry.state != .pending {
                try run(
                    """
                    UPDATE event SET element = x'' WHERE id = ?1
                        AND EXISTS (SELECT 1 FROM message WHERE event = ?1 AND deleted = 1)
                        AND NOT EXISTS (SELECT 1 FROM outbox WHERE event = ?1 AND state = 'pending')
                    """,
                    [.integer(event)])
            }
            return entry
        }
    }

    /// What a relay had accepted from a place of its log on waits for it again, the newest `resentMax`;
    /// answers how many. What was deleted since stays away.
    @discardableResult
    package func resendAccepted(relay: Int64, from first: Int64) throws(ClientStoreError) -> Int {
        try run(
            """
            UPDATE outbox SET state = 'pending', sequence = NULL, attempts = 0, next_try_ms = 0
            WHERE relay = ?1 AND event IN (
                SELECT o.event FROM outbox AS o JOIN event AS e ON e.id = o.event
                WHERE o.relay = ?1 AND o.state = 'accepted' AND o.sequence >= ?2 AND length(e.element) > 0
                    AND NOT EXISTS (SELECT 1 FROM message AS m WHERE m.event = e.id AND m.deleted = 1)
                ORDER BY o.event DESC LIMIT ?3)
            """,
            [.integer(relay), .integer(first), .integer(Self.resentMax)])
    }

    /// How much is sent again at most to a relay whose log is another one.
    package static var resentMax: Int64 { 10_000 }

    /// Takes rows out of the outbox; answers how many.
    package func discardOutbox(event: Int64, pendingToo: Bool) throws(ClientStoreError) -> Int {
        try run(
            "DELETE FROM outbox WHERE event = ? AND (state = 'refused' OR (? AND state = 'pending'))",
            [.integer(event), SQLiteValue(pendingToo)])
    }

    /// Takes what waits for a relay out of the outbox.
    package func discardPending(relay: Int64) throws(ClientStoreError) {
        try run("DELETE FROM outbox WHERE relay = ? AND state = 'pending'", [.integer(relay)])
    }

    /// The own events with a message id, newest first.
    package func ownEvent(messageID: [UInt8], in channel: Int64) throws(ClientStoreError) -> Int64? {
        try first(
            "SELECT id FROM event WHERE channel = ? AND message_id = ? AND own = 1 ORDER BY id DESC",
            [.integer(channel), .blob(messageID)]
        ) { $0.int64(0) }
    }

    private static let selectOutbox = """
        SELECT o.event, e.channel, o.relay, e.message_id, e.tag, e.target, e.element, o.state, o.sequence,
            o.code,
            o.attempts, o.last_error, o.next_try_ms, o.queued_at, e.digest
        FROM outbox AS o JOIN event AS e ON e.id = o.event
        """

    private static func outboxRow(_ row: Row) -> StoredOutboxRow {
        let state: OutboxEntry.State =
            switch row.text(7) {
            case "accepted": .accepted(sequence: row.int64(8))
            case "refused": .refused(code: UInt16(clamping: row.int64(9)))
            default: .pending
            }
        return StoredOutboxRow(
            event: row.int64(0), channel: row.int64(1), relay: row.int64(2), messageID: row.blob(3),
            tag: row.text(4),
            target: row.blobOrNil(5), element: row.blob(6), digest: row.blob(14),
            entry: OutboxEntry(
                state: state, attempts: row.int(10), lastError: row.textOrNil(11),
                nextTryMilliseconds: row.int64(12)),
            queuedAt: row.int64(13))
    }

    // MARK: Journal

    @discardableResult
    package func appendJournal(
        channel: Int64, kind: String, event: Int64? = nil, detail: String? = nil, now: Int64
    ) throws(ClientStoreError) -> Int64 {
        try run(
            "INSERT INTO journal (channel, kind, event, detail, at) VALUES (?, ?, ?, ?, ?)",
            [.integer(channel), .text(kind), SQLiteValue(event), SQLiteValue(detail), .integer(now)])
        return database.lastInsertedRowID
    }

    package func journal(
        of channel: Int64, after: Int64, limit: Int
    ) throws(ClientStoreError) -> [StoredJournalEntry] {
        try query(
            """
            SELECT id, channel, kind, event, detail, at FROM journal WHERE channel = ? AND id > ? ORDER BY
                id LIMIT ?
            """,
            [.integer(channel), .integer(after), .integer(Int64(limit))]
        ) {
            StoredJournalEntry(
                id: $0.int64(0), channel: $0.int64(1), kind: $0.text(2), event: $0.int64OrNil(3),
                detail: $0.textOrNil(4), at: $0.int64(5))
        }
    }

    /// Whether the journal of a channel holds an entry with this text already.
    package func journalHolds(_ kind: String, detail: String, of channel: Int64) throws(ClientStoreError)
        -> Bool
    {
        try first(
            "SELECT 1 FROM journal WHERE channel = ? AND kind = ? AND detail = ? LIMIT 1",
            [.integer(channel), .text(kind), .text(detail)]
        ) { _ in true } ?? false
    }

    /// The entries of one kind in a channel's journal, newest first.
    package func journal(
        of channel: Int64, kind: String, limit: Int
    ) throws(ClientStoreError) -> [String] {
        try query(
            "SELECT detail FROM journal WHERE channel = ? AND kind = ? ORDER BY id DESC LIMIT ?",
            [.integer(channel), .text(kind), .integer(Int64(limit))]
        ) { $0.text(0) }
    }

    /// The last position of a channel's journal; 0 where it is empty.
    package func lastJournalID(of channel: Int64) throws(ClientStoreError) -> Int64 {
        try first("SELECT max(id) FROM journal WHERE channel = ?", [.integer(channel)]) { $0.int64(0) } ?? 0
    }

    /// The position before the last `count` messages of a channel's journal.
    package func journalPosition(of channel: Int64, beforeLastMessages count: Int) throws(ClientStoreError)
        -> Int64
    {
        let first = try first(
            """
            SELECT min(id) FROM (SELECT id FROM journal WHERE channel = ? AND kind = 'message' ORDER BY id
                DESC LIMIT ?)
            """,
            [.integer(channel), .integer(Int64(count))]
        ) { $0.int64OrNil(0) }
        if let first = first ?? nil { return first - 1 }
        return try lastJournalID(of: channel)
    }
}
