import ChannelWire
import RelayCore
import SQLiteKit
import SodiumCrypto

/// What must hold between the rows of a sound database, beyond what SQLite looks at by itself.
///
/// A database that a disk, a program or a hand has changed is refused with a sentence, instead of ending the
/// relay in the middle of its work or telling readers what nobody wrote.
/// SQLite checks no CHECK of a database that it may not write, so the ones that matter are here once more.
enum StoreAudit {
    /// The first thing that is wrong, as a sentence; nil where nothing is.
    ///
    /// Cost: the channels; with `everyRow` each row, each message's digest and each record's signatures too.
    static func problem(_ database: Database, everyRow: Bool) throws(SQLiteError) -> String? {
        for rule in rules where everyRow || !rule.readsEveryRow {
            if let name = try database.first(rule.sql, [], { $0.text(0) }) { return rule.sentence(name) }
        }
        guard everyRow else { return nil }
        if let table = try database.first("PRAGMA foreign_key_check", [], { $0.text(0) }) {
            return "a row of \(table) belongs to nothing"
        }
        if let problem = try membersProblem(database) { return problem }
        if let problem = try recordsProblem(database) { return problem }
        return try logProblem(database)
    }

    /// The first thing that is wrong with the structure or the rows of a whole copy.
    static func wholeProblem(_ database: Database) throws(SQLiteError) -> String? {
        if let fault = try database.quickCheck().first { return fault }
        // The rows of an older schema are looked at once they are taken over.
        return try database.userVersion == Schema.latest ? problem(database, everyRow: true) : nil
    }

    // MARK: Rules in SQL

    private struct Rule {
        /// What is wrong with the channel, or where `isAboutTable` with the table.
        let words: String
        /// Selects the names of what breaks the rule.
        let sql: String
        var readsEveryRow = false
        var isAboutTable = false

        func sentence(_ name: String) -> String {
            isAboutTable ? words : StoreAudit.sentence(name, words)
        }

        static func channel(_ words: String, everyRow: Bool = false, _ condition: String) -> Rule {
            Rule(
                words: words,
                sql: """
                    SELECT name FROM channels LEFT JOIN counters USING (channel)
                    WHERE \(condition) LIMIT 1
                    """,
                readsEveryRow: everyRow)
        }

        static func table(_ name: String, _ words: String, everyRow: Bool = false, _ condition: String)
            -> Rule
        {
            Rule(
                words: words, sql: "SELECT '' FROM \(name) WHERE \(condition) LIMIT 1",
                readsEveryRow: everyRow, isAboutTable: true)
        }
    }

    private static func sentence(_ channel: String, _ words: String) -> String {
        // The name may be what was changed.
        "channel \(ChannelName.make(from: channel)): \(words)"
    }

    /// Numbers beyond this are nobody's; sums of a few of them stay far from the largest that there is.
    private static let numberMax: Int64 = 1 << 53

    private static let rules: [Rule] = [
        .channel(
            "its id, its key or its log's nonce has a wrong length",
            """
            length(channel_id) <> 32 OR length(log_nonce) <> 8 OR length(relay_key_seed) <> 32
            OR (relay_member_id IS NULL) <> (relay_key_seed IS NULL)
            OR length(relay_member_id) NOT BETWEEN 1 AND 255
            """),
        .channel(
            "its status is none",
            """
            status NOT IN ('invited', 'accepted', 'acknowledged_roster', 'active', 'inactive', 'rejected')
            OR deleted NOT IN (0, 1)
            """),
        .channel("it has no counters", "log_head IS NULL"),
        .channel(
            "its log ends before it begins",
            "log_first < 1 OR log_head > \(numberMax) OR log_head < log_first - 1"),
        .channel(
            "its counters are wrong",
            """
            log_count NOT BETWEEN 0 AND log_head - log_first + 1 OR log_bytes NOT BETWEEN 0 AND \(numberMax)
            OR member_count NOT BETWEEN 0 AND \(numberMax) OR record_version < 0 OR roster_version < -1
            """),
        .channel(
            "its time is nobody's",
            """
            log_time NOT BETWEEN 0 AND \(numberMax) OR status_at NOT BETWEEN -\(numberMax) AND \(numberMax)
            OR created_at NOT BETWEEN -\(numberMax) AND \(numberMax)
            """),
        .channel(
            "messages are stored beyond the ends of its log",
            """
            (SELECT min(sequence) FROM log WHERE log.channel = channels.channel) < log_first
            OR (SELECT max(sequence) FROM log WHERE log.channel = channels.channel) > log_head
            """),
        .table("refusals", "a rejection is of no channel", "length(channel_id) <> 32"),
        .table(
            "turned_down", "an invitation that was turned down is of no channel", "length(channel_id) <> 32"),
        .channel(
            "its counters are wrong", everyRow: true,
            """
            log_count <> (SELECT count(*) FROM log WHERE log.channel = channels.channel)
            OR log_bytes <> (
                SELECT coalesce(sum(length(frame)), 0) FROM log WHERE log.channel = channels.channel)
            OR member_count <> (
                SELECT count(*) FROM members
                WHERE members.channel = channels.channel AND status = 'connected')
            """),
        .table(
            "roster", "a pinned member has no id, no key or no role", everyRow: true,
            "length(member_id) NOT BETWEEN 1 AND 255 OR length(public_key) <> 32 OR length(role) > 255"),
    ]

    // MARK: Rules that need more than SQL

    /// The first problem that `look` finds in the rows of a question.
    private static func firstProblem(
        _ database: Database, _ sql: String, _ look: (Row) -> String?
    ) throws(SQLiteError) -> String? {
        var problem: String?
        try database.forEach(sql) { row in
            problem = look(row)
            return problem == nil ? .next : .stop
        }
        return problem
    }

    private static func membersProblem(_ database: Database) throws(SQLiteError) -> String? {
        try firstProblem(
            database,
            """
            SELECT channels.name, member_id, public_key, role, members.status, members.name
            FROM members JOIN channels USING (channel)
            """
        ) { row in
            let isWhole =
                MemberID(bytes: row.blob(1)) != nil && PublicKey(raw: row.blob(2)) != nil
                && row.text(3).utf8.count <= 255 && Membership.State(rawValue: row.text(4)) != nil
                && row.text(5).utf8.count <= Limits.displayNameBytesMax
            return isWhole ? nil : sentence(row.text(0), "what is stored of a member is wrong")
        }
    }

    private static func recordsProblem(_ database: Database) throws(SQLiteError) -> String? {
        try firstProblem(database, "SELECT name, channel_id, record, record_version FROM channels") { row in
            let record = ChannelID(bytes: row.blob(1)).flatMap {
                try? VerifiedRecord(row.blob(2), expected: $0, crypto: crypto)
            }
            return record?.version == row.int64(3)
                ? nil : sentence(row.text(0), "its record does not verify")
        }
    }

    private static func logProblem(_ database: Database) throws(SQLiteError) -> String? {
        var times: [Int64: Int64] = [:]
        return try firstProblem(
            database,
            """
            SELECT log.channel, name, sequence, time, author, digest, frame, log_time
            FROM log JOIN channels USING (channel) JOIN counters USING (channel) ORDER BY entry
            """
        ) { row in
            let (channel, sequence, time) = (row.int64(0), row.int64(2), row.int64(3))
            let forward = DeliverFrame.forward(in: row.blob(6), sequence: sequence)
            let isFromAuthor =
                if case .member(let id, _) = forward?.sender { id.bytes == row.blob(4) } else { true }
            guard let forward, isFromAuthor, forward.timestamp == time,
                Sodium.sha256(forward.inner) == row.blob(5),
                (times[channel] ?? 0)...max(times[channel] ?? 0, row.int64(7)) ~= time
            else { return sentence(row.text(1), "message \(sequence) is not what was stored") }
            times[channel] = time
            return nil
        }
    }

    /// Records are not compressed.
    private static let crypto = ChannelCrypto(
        verify: { Ed25519.verify(signature: $0.bytes, message: $1, publicKey: $2.raw) },
        sha256: Sodium.sha256, sha512: Sodium.sha512, decompress: { _, _ in nil }, compress: { $0 })
}
