internal import ChannelWire
internal import SQLiteKit

/// What must hold of the few rows that everything else rests on: names, keys, channels, relays, positions.
///
/// A home that a disk or a hand has changed is refused with a sentence, instead of ending the program in the
/// middle. Cost: those rows; messages are looked at when they are used.
enum ClientAudit {
    /// The first thing that is wrong, as a sentence; nil where nothing is.
    static func problem(_ database: Database) throws(SQLiteError) -> String? {
        for rule in rules where try database.first(rule.sql, [], { _ in true }) == true { return rule.words }
        let names = try database.query("SELECT display_name FROM profile") { $0.textOrNil(0) ?? "" }
        return names.allSatisfy { DisplayName.problem($0) == nil } ? nil : "the name in its profile is none"
    }

    private struct Rule {
        let table: String
        let words: String
        let texts: [String]
        let blobs: [String]
        let integers: [String]
        /// True for a row that is wrong.
        let broken: String

        var sql: String {
            // By type: SQLite takes IS NULL for false, without looking, where the schema says NOT NULL.
            let wrong =
                texts.map { "typeof(\($0)) <> 'text'" } + blobs.map { "typeof(\($0)) <> 'blob'" }
                + integers.map { "typeof(\($0)) <> 'integer'" } + [broken]
            return "SELECT 1 FROM \(table) WHERE \(wrong.joined(separator: " OR ")) LIMIT 1"
        }
    }

    private static let noID = "NOT BETWEEN 1 AND \(Limits.identifierBytesMax)"

    private static let rules = [
        Rule(
            table: "relay", words: "a relay of its address book has no name, no address or no key",
            texts: ["name", "address"], blobs: ["identity"], integers: ["added_at"],
            broken: "name = '' OR length(identity) <> 32"),
        Rule(
            table: "channel", words: "a channel has no id, no name, no keys or no record",
            texts: ["local_name", "member_name"],
            blobs: ["channel_id", "member_id", "member_secret", "record"], integers: [],
            broken: """
                length(channel_id) <> 32 OR local_name = '' OR length(member_id) \(noID)
                OR member_secret = x'' OR length(member_name) > \(Limits.displayNameBytesMax)
                """),
        Rule(
            table: "channel", words: "a channel has a state, a role or a number that there is not",
            texts: ["state", "role"], blobs: [], integers: ["record_version", "created_at"],
            broken: """
                state NOT IN ('current', 'left', 'removed', 'deleted') OR length(role) \(noID)
                OR record_version < 0
                """),
        Rule(
            table: "channel_relay", words: "a channel's relay has no id, no name, no address or no key",
            texts: ["name", "address"], blobs: ["member_id", "identity"], integers: [],
            broken: """
                name = '' OR length(member_id) \(noID) OR length(identity) <> 32 OR length(relay_key) <> 32
                """),
        Rule(
            table: "channel_relay", words: "a channel's relay has a status or a number that there is not",
            texts: ["status", "member_status"], blobs: [], integers: ["joined", "stored_version", "since"],
            broken: "joined NOT IN (0, 1) OR stored_version < 0"),
        Rule(
            table: "log_cursor", words: "a position in a relay's log is none", texts: [], blobs: ["epoch"],
            integers: ["position"], broken: "length(epoch) > 255 OR position < 0"),
    ]
}
