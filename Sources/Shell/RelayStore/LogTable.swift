import ChannelWire
import RelayCore
import SQLiteKit
import SodiumCrypto

/// The logs of all channels: appending, finding, erasing, pruning.
///
/// The counters of a channel's log live in its `ChannelState`; every method here keeps them right.
struct LogTable {
    let database: Database

    struct Draft {
        let author: MemberID
        let messageID: MessageID
        let tag: String
        /// The message that this one changes, by the same author: it goes when that one is deleted.
        let amends: MessageID?
        /// The forward element that readers get.
        let forward: [UInt8]
    }

    // MARK: Appending

    /// Stores the next entry of a channel and answers it ready to send.
    func append(_ draft: Draft, digest: [UInt8], to channel: ChannelState) throws(SQLiteError) -> LogEntry {
        let sequence = channel.head + 1
        let frame = DeliverFrame.encode(sequence: sequence, forward: draft.forward)
        try database.run(
            """
            INSERT INTO log (channel, sequence, time, author, message_id, tag, amends, digest, frame)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            [
                .integer(channel.row), .integer(sequence), .integer(channel.time), .blob(draft.author.bytes),
                .blob(draft.messageID.bytes), .text(draft.tag), SQLiteValue(draft.amends?.bytes),
                .blob(digest),
                .blob(frame),
            ])
        channel.head = sequence
        channel.count += 1
        channel.bytes += Int64(frame.count)
        channel.isDirty = true
        return LogEntry(channel: channel.id, sequence: sequence, time: channel.time, frame: frame)
    }

    // MARK: Finding

    /// What stands under one author's message id.
    enum Place {
        case stored(sequence: Int64, digest: [UInt8])
        case erased
        case free
    }

    /// One query, since every message asks.
    func place(
        _ author: MemberID, _ message: MessageID, in channel: ChannelState
    ) throws(SQLiteError) -> Place {
        try database.first(
            """
            SELECT sequence, digest FROM log WHERE channel = ?1 AND author = ?2 AND message_id = ?3
            UNION ALL
            SELECT NULL, NULL FROM tombstones WHERE channel = ?1 AND author = ?2 AND message_id = ?3
            """, [.integer(channel.row), .blob(author.bytes), .blob(message.bytes)]
        ) { row in
            row.int64OrNil(0).map { .stored(sequence: $0, digest: row.blob(1)) } ?? .erased
        } ?? .free
    }

    /// The sequence of the `count`-th newest stored entry; nil when there are fewer.
    func newest(_ count: Int, in channel: ChannelState) throws(SQLiteError) -> Int64? {
        try database.first(
            "SELECT sequence FROM log WHERE channel = ? ORDER BY sequence DESC LIMIT 1 OFFSET ?",
            [.integer(channel.row), .integer(Int64(count - 1))]
        ) { $0.int64(0) }
    }

    // MARK: Erasing

    /// Erases a message and its edits, and keeps its id from ever being taken again.
    /// Returns: the newest sequence that went, if any.
    func erase(
        _ author: MemberID, _ message: MessageID, in channel: ChannelState, now: Int64
    ) throws(SQLiteError) -> Int64? {
        let values: [SQLiteValue] = [.integer(channel.row), .blob(author.bytes), .blob(message.bytes)]
        // Also when the message has not come yet, or was pruned: it must not appear later.
        try database.run(
            """
            INSERT OR IGNORE INTO tombstones (channel, author, message_id, erased_at)
            SELECT ?1, ?2, ?3, ?4 UNION ALL
            SELECT channel, author, message_id, ?4 FROM log WHERE channel = ?1 AND author = ?2 AND amends = ?3
            """, values + [.integer(now)])
        return try remove(LogTable.messageAndEdits, values, in: channel)
    }

    /// A message of an author and its edits. Each is looked up in an index of its own: with OR in one
    /// condition SQLite goes through all that the author has written.
    static let messageAndEdits = """
        channel = ?1 AND sequence IN (
            SELECT sequence FROM log WHERE channel = ?1 AND author = ?2 AND message_id = ?3
            UNION ALL SELECT sequence FROM log WHERE channel = ?1 AND author = ?2 AND amends = ?3)
        """

    /// Erases all content messages of one author.
    /// Returns: the newest sequence that went, if any.
    func eraseAll(of author: MemberID, in channel: ChannelState, now: Int64) throws(SQLiteError) -> Int64? {
        let content = "channel = ?1 AND author = ?2 AND tag IN ('x.msg.new', 'x.msg.update')"
        let values: [SQLiteValue] = [.integer(channel.row), .blob(author.bytes)]
        try database.run(
            """
            INSERT OR IGNORE INTO tombstones (channel, author, message_id, erased_at)
            SELECT channel, author, message_id, ?3 FROM log WHERE \(content)
            """, values + [.integer(now)])
        return try remove(content, values, in: channel)
    }

    @discardableResult
    private func remove(
        _ condition: String, _ values: [SQLiteValue], in channel: ChannelState
    ) throws(SQLiteError) -> Int64? {
        let (size, last): (Int64, Int64?) =
            try database.first(
                "SELECT coalesce(sum(length(frame)), 0), max(sequence) FROM log WHERE \(condition)", values
            ) { ($0.int64(0), $0.int64OrNil(1)) } ?? (0, nil)
        let removed = try database.run("DELETE FROM log WHERE \(condition)", values)
        channel.count -= Int64(removed)
        channel.bytes -= size
        channel.isDirty = true
        return last
    }

    // MARK: Pruning

    /// Drops the oldest entries until the excess is gone, or about `bytesMax` of it. The newest entry always
    /// stays.
    func prune(
        _ excess: Retention.Excess, bytesMax: Int64 = .max, in channel: ChannelState
    ) throws(SQLiteError) -> Pruned {
        var messages: Int64 = 0
        var bytes: Int64 = 0
        var last: Int64?
        var isWhole = true
        try database.forEach(
            "SELECT sequence, length(frame) FROM log WHERE channel = ? AND sequence < ? ORDER BY sequence",
            [.integer(channel.row), .integer(channel.head)]
        ) { row in
            guard messages < excess.messages || bytes < excess.bytes else { return .stop }
            guard bytes < bytesMax else {
                isWhole = false
                return .stop
            }
            messages += 1
            bytes += row.int64(1)
            last = row.int64(0)
            return .next
        }
        guard let last else { return Pruned() }
        var pruned = try prune(through: last, in: channel)
        pruned.isWhole = isWhole
        return pruned
    }

    /// Drops every entry up to a sequence.
    func prune(through last: Int64, in channel: ChannelState) throws(SQLiteError) -> Pruned {
        guard last >= channel.first else { return Pruned() }
        let values: [SQLiteValue] = [.integer(channel.row), .integer(last)]
        let before = (channel.count, channel.bytes)
        try remove("channel = ? AND sequence <= ?", values, in: channel)
        // Erased entries right after the cut are as gone as those before it.
        let oldest = try database.first(
            "SELECT sequence FROM log WHERE channel = ? ORDER BY sequence LIMIT 1", [.integer(channel.row)]
        ) { $0.int64(0) }
        channel.first = oldest ?? channel.head + 1
        return Pruned(messages: before.0 - channel.count, bytes: before.1 - channel.bytes)
    }

    /// Forgets the oldest deletions beyond what is remembered per channel.
    func boundTombstones(in channel: ChannelState) throws(SQLiteError) {
        try database.run(
            """
            DELETE FROM tombstones WHERE channel = ?1 AND (author, message_id) IN (
                SELECT author, message_id FROM tombstones WHERE channel = ?1
                ORDER BY erased_at DESC LIMIT -1 OFFSET ?2)
            """, [.integer(channel.row), .integer(tombstonesMax)])
    }

    /// The newest sequence among entries older than a time; nil when there is none.
    func newestBefore(time: Int64, in channel: ChannelState) throws(SQLiteError) -> Int64? {
        try LogSearch(database: database, channel: channel.row).lastSequence(before: time)
    }
}

/// What pruning took away.
package struct Pruned: Equatable, Sendable {
    package var messages: Int64 = 0
    package var bytes: Int64 = 0
    /// Nothing is left to be dropped by the same command. Otherwise it is to be carried out again.
    package var isWhole = true

    package static func += (left: inout Pruned, right: Pruned) {
        left.messages += right.messages
        left.bytes += right.bytes
        left.isWhole = left.isWhole && right.isWhole
    }
}

/// So many deletions are remembered per channel; older ones than these are past any retention.
private let tombstonesMax: Int64 = 100_000
