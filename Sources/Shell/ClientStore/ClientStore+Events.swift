internal import SQLiteKit

extension ClientStore {
    package enum InsertedEvent: Equatable, Sendable {
        case new(Int64)
        /// The same author and message id are known; the digest is that of the bytes kept.
        case known(Int64, digest: [UInt8])

        package var id: Int64 {
            switch self {
            case .new(let id), .known(let id, _): id
            }
        }
    }

    /// Stores a published element once.
    package func insertEvent(_ event: NewEvent, channel: Int64) throws(ClientStoreError) -> InsertedEvent {
        try write { () throws(ClientStoreError) -> InsertedEvent in
            let known = try first(
                "SELECT id, digest FROM event WHERE channel = ? AND author = ? AND message_id = ?",
                [.integer(channel), .blob(event.author), .blob(event.messageID)]
            ) { InsertedEvent.known($0.int64(0), digest: $0.blob(1)) }
            if let known { return known }
            try run(
                """
                INSERT INTO event (channel, author, message_id, tag, time, signature, own, digest, target,
                    element)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """,
                [
                    .integer(channel), .blob(event.author), .blob(event.messageID), .text(event.tag),
                    .integer(event.time), .text(event.signature), SQLiteValue(event.own), .blob(event.digest),
                    SQLiteValue(event.target), .blob(event.element),
                ])
            return .new(database.lastInsertedRowID)
        }
    }

    /// The digest of what is kept as an author's event; nil where there is none.
    ///
    /// Shape: 32 bytes.
    package func digest(
        author: [UInt8], messageID: [UInt8], in channel: Int64
    ) throws(ClientStoreError) -> [UInt8]? {
        try first(
            "SELECT digest FROM event WHERE channel = ? AND author = ? AND message_id = ?",
            [.integer(channel), .blob(author), .blob(messageID)]
        ) { $0.blob(0) }
    }

    /// Events that change a message and came before it, oldest first.
    package func events(
        targeting messageID: [UInt8], in channel: Int64
    ) throws(ClientStoreError) -> [(author: [UInt8], tag: String, element: [UInt8])] {
        try query(
            "SELECT author, tag, element FROM event WHERE channel = ? AND target = ? ORDER BY id",
            [.integer(channel), .blob(messageID)]
        ) { (author: $0.blob(0), tag: $0.text(1), element: $0.blob(2)) }
    }

    /// The relays that delivered an event, with the digest of what each delivered.
    package func copies(of event: Int64) throws(ClientStoreError) -> [(relay: Int64, digest: [UInt8])] {
        try query("SELECT relay, digest FROM copy WHERE event = ? ORDER BY relay", [.integer(event)]) {
            (relay: $0.int64(0), digest: $0.blob(1))
        }
    }

    /// Notes that a relay delivered an event; false where that was known.
    package func insertCopy(
        event: Int64, relay: Int64, digest: [UInt8], sequence: Int64, now: Int64
    ) throws(ClientStoreError) -> Bool {
        try run(
            """
            INSERT INTO copy (event, relay, digest, sequence, arrived_at) VALUES (?, ?, ?, ?, ?)
            ON CONFLICT (event, relay) DO NOTHING
            """,
            [.integer(event), .integer(relay), .blob(digest), .integer(sequence), .integer(now)]) > 0
    }

    /// What a relay delivered first for an event; nil: it has not delivered it.
    ///
    /// Shape: a digest of 32 bytes.
    package func copyDigest(event: Int64, relay: Int64) throws(ClientStoreError) -> [UInt8]? {
        try query(
            "SELECT digest FROM copy WHERE event = ? AND relay = ?", [.integer(event), .integer(relay)]
        ) { $0.blob(0) }.first
    }

    /// The newest events of a channel with their copies, oldest first, to go on comparing after a restart.
    package func recentCopies(
        of channel: Int64, limit: Int
    ) throws(ClientStoreError) -> [(
        author: [UInt8], messageID: [UInt8], signature: String, target: [UInt8]?, relay: Int64,
        digest: [UInt8], sequence: Int64
    )] {
        try query(
            """
            SELECT e.author, e.message_id, e.signature, e.target, c.relay, c.digest, c.sequence
            FROM (SELECT id, author, message_id, signature, target FROM event WHERE channel = ? ORDER BY id DESC LIMIT ?) AS e
            JOIN copy AS c ON c.event = e.id
            ORDER BY e.id, c.arrived_at, c.relay
            """,
            [.integer(channel), .integer(Int64(limit))]
        ) {
            (
                author: $0.blob(0), messageID: $0.blob(1), signature: $0.text(2),
                target: $0.blobOrNil(3), relay: $0.int64(4), digest: $0.blob(5), sequence: $0.int64(6)
            )
        }
    }

    // MARK: Messages

    package func insertMessage(
        event: Int64, channel: Int64, author: [UInt8], messageID: [UInt8], authorName: String, asGroup: Bool,
        time: Int64, contentType: String, text: String, signature: String, historySequence: Int64? = nil
    ) throws(ClientStoreError) {
        // Times are whole seconds. What is fetched as history is older than what came live in the same
        // second.
        let rank = historySequence.map { $0 - (1 << 40) } ?? event
        try run(
            """
            INSERT INTO message (event, channel, author, message_id, author_name, as_group, time, rank,
                content_type,
                text, signature)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (event) DO NOTHING
            """,
            [
                .integer(event), .integer(channel), .blob(author), .blob(messageID), .text(authorName),
                SQLiteValue(asGroup), .integer(time), .integer(rank), .text(contentType), .text(text),
                .text(signature),
            ])
    }

    package func message(event: Int64) throws(ClientStoreError) -> StoredMessage? {
        try first(Self.selectMessage + " WHERE m.event = ?", [.integer(event)], Self.message)
    }

    /// Whether a message is deleted, or an event changed one that is.
    package func isErased(author: [UInt8], messageID: [UInt8], in channel: Int64) throws(ClientStoreError)
        -> Bool
    {
        try first(
            """
            SELECT 1 FROM message WHERE channel = ?1 AND message_id = ?3 AND author = ?2 AND deleted = 1
            UNION ALL
            SELECT 1 FROM message WHERE channel = ?1 AND deleted = 1 AND message_id IN (
                SELECT target FROM event WHERE channel = ?1 AND author = ?2 AND message_id = ?3)
            """, [.integer(channel), .blob(author), .blob(messageID)]
        ) { _ in true } ?? false
    }

    /// The messages with an id; more than one only where authors chose the same.
    package func messages(id: [UInt8], in channel: Int64) throws(ClientStoreError) -> [StoredMessage] {
        try query(
            Self.selectMessage + " WHERE m.channel = ? AND m.message_id = ? ORDER BY m.event",
            [.integer(channel), .blob(id)], Self.message)
    }

    /// The `limit` newest messages before a position (nil: the end), oldest first.
    package func messages(
        in channel: Int64, before: StoredMessage?, limit: Int
    ) throws(ClientStoreError) -> [StoredMessage] {
        let newestFirst = try query(
            Self.selectMessage
                + """
                 WHERE m.channel = ? AND (m.time, m.rank, m.event) < (?, ?, ?)
                ORDER BY m.time DESC, m.rank DESC, m.event DESC LIMIT ?
                """,
            [
                .integer(channel), .integer(before?.time ?? .max), .integer(before?.rank ?? .max),
                .integer(before?.event ?? .max), .integer(Int64(limit)),
            ],
            Self.message)
        return newestFirst.reversed()
    }

    package func lastMessageTime(in channel: Int64) throws(ClientStoreError) -> Int64? {
        try first(
            "SELECT time FROM message WHERE channel = ? ORDER BY time DESC, rank DESC LIMIT 1",
            [.integer(channel)]
        ) { $0.int64(0) }
    }

    /// The relay's time, once a relay has taken an own message.
    package func setMessageTime(event: Int64, _ time: Int64) throws(ClientStoreError) {
        try run("UPDATE message SET time = ? WHERE event = ?", [.integer(time), .integer(event)])
    }

    package func editMessage(event: Int64, contentType: String, text: String) throws(ClientStoreError) -> Bool
    {
        try run(
            "UPDATE message SET content_type = ?, text = ?, edited = 1 WHERE event = ? AND deleted = 0",
            [.text(contentType), .text(text), .integer(event)]) > 0
    }

    /// Erases a message and every edit of it: the rows stay, so that it cannot come back, the content goes.
    ///
    /// What still waits in the outbox keeps its bytes until the relays have it.
    package func eraseMessage(event: Int64) throws(ClientStoreError) -> Bool {
        try write { () throws(ClientStoreError) -> Bool in
            let erased = try run(
                "UPDATE message SET text = '', deleted = 1 WHERE event = ? AND deleted = 0", [.integer(event)]
            )
            guard erased > 0 else { return false }
            try run(
                """
                UPDATE event SET element = x'' WHERE id IN (
                    SELECT e.id FROM event AS e JOIN message AS m ON m.event = ?1
                    WHERE e.id = m.event
                        OR (e.channel = m.channel AND e.target = m.message_id AND e.author = m.author
                            AND e.tag = 'x.msg.update'))
                    AND id NOT IN (SELECT event FROM outbox WHERE state = 'pending')
                """,
                [.integer(event)])
            return true
        }
    }

    private static let selectMessage = """
        SELECT m.event, m.channel, m.author, m.message_id, m.author_name, m.as_group, m.time,
            m.content_type, m.text,
            m.signature, m.edited, m.deleted, e.own, m.rank
        FROM message AS m JOIN event AS e ON e.id = m.event
        """

    private static func message(_ row: Row) -> StoredMessage {
        StoredMessage(
            event: row.int64(0), channel: row.int64(1), author: row.blob(2), messageID: row.blob(3),
            authorName: row.text(4), asGroup: row.bool(5), time: row.int64(6), contentType: row.text(7),
            text: row.text(8), signature: row.text(9), edited: row.bool(10), deleted: row.bool(11),
            own: row.bool(12),
            rank: row.int64(13))
    }
}

extension ClientStore {
    /// The sequence under which a relay delivered or took an event.
    package func sequence(of event: Int64, relay: Int64) throws(ClientStoreError) -> Int64? {
        try first(
            "SELECT sequence FROM copy WHERE event = ? AND relay = ?", [.integer(event), .integer(relay)]
        ) {
            $0.int64(0)
        }
    }
}
