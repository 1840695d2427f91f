internal import ChannelWire
internal import SQLiteKit

/// What must hold of the few rows that everything else rests on: names, keys, channels, relays, positions.
///
/// A home that a disk or a hand has changed is refused with a sentence, instead of ending the program in the
/// middle. Cost: those rows; messages are looked at when they are used.
enum ClientAudit {
    /// The first thing that is wrong, as a sentence; nil where nothing is.
    static func problem(_ database: Database) throws(SQLiteError) -> String? {
        for rule in rules {
            let sql = "SELECT 1 FROM \(rule.table) WHERE \(rule.broken) LIMIT 1"
            if try database.first(sql, [], { _ in true }) == true { return rule.words }
        }
        let names = try database.query("SELECT display_name FROM profile") { $0.text(0) }
        return names.allSatisfy { DisplayName.problem($0) == nil } ? nil : "the name in its profile is none"
    }

    private struct Rule {
        let table: String
        let words: String
        /// True for a row that is wrong; NULL counts as wrong only where it is asked for.
        let broken: String
    }

    private static let ids = "NOT BETWEEN 1 AND \(Limits.identifierBytesMax)"

    private static let rules = [
        Rule(
            table: "relay", words: "a relay of its address book has no name, no address or no key",
            broken: """
                name IS NULL OR name = '' OR address IS NULL OR identity IS NULL OR length(identity) <> 32
                """),
        Rule(
            table: "channel", words: "a channel has no id, no name, no keys or no record",
            broken: """
                channel_id IS NULL OR length(channel_id) <> 32 OR local_name IS NULL OR local_name = ''
                OR member_id IS NULL OR length(member_id) \(ids) OR member_secret IS NULL
                OR member_secret = x'' OR member_name IS NULL OR record IS NULL
                """),
        Rule(
            table: "channel", words: "a channel has a state, a role or a number that there is not",
            broken: """
                state IS NULL OR state NOT IN ('current', 'left', 'removed', 'deleted') OR role IS NULL
                OR length(role) \(ids) OR record_version IS NULL OR record_version < 0
                OR length(member_name) > \(Limits.displayNameBytesMax)
                """),
        Rule(
            table: "channel_relay", words: "a channel's relay has no id, no name, no address or no key",
            broken: """
                name IS NULL OR name = '' OR member_id IS NULL OR length(member_id) \(ids) OR address IS NULL
                OR identity IS NULL OR length(identity) <> 32 OR length(relay_key) <> 32
                """),
        Rule(
            table: "channel_relay", words: "a channel's relay has a status or a number that there is not",
            broken: """
                status IS NULL OR member_status IS NULL OR joined NOT IN (0, 1) OR stored_version IS NULL
                OR stored_version < 0 OR since IS NULL
                """),
        Rule(
            table: "log_cursor", words: "a position in a relay's log is none",
            broken: "epoch IS NULL OR length(epoch) > 255 OR position IS NULL OR position < 0"),
    ]
}
