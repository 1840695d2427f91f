import ChannelWire
import RelayCore
import SQLiteKit
import SodiumCrypto

/// What the ledger keeps in memory of one channel. The database is the truth: after a failed commit all are
/// dropped.
final class ChannelState {
    let row: Int64
    let id: ChannelID
    /// Drawn when the row was made: a channel that was forgotten and came back has another log.
    let logNonce: [UInt8]
    var name: String
    var admission: Admission
    /// An owner published `x.grp.del`.
    var deleted: Bool
    var recordVersion: Int64
    var record: [UInt8]
    var profile: [UInt8]
    var title: String
    var signMessages: Bool
    var relay: RelayMember?
    var rosterVersion: Int64
    var memberCount: Int64
    var first: Int64
    var head: Int64
    var count: Int64
    var bytes: Int64
    /// The time of the newest entry; later ones are never dated before it, so that time rises with the
    /// sequence.
    var time: Int64
    /// Members who published lately, as they are in the database.
    var authors: [MemberID: MemberTable.Member] = [:]
    /// Counters, or the time, differ from the row.
    var isDirty = false { didSet { if isDirty, !oldValue { changes.add(self) } } }
    /// The profile or what is taken from it differs from the row. Apart, since the title has an index, and a
    /// batch of messages would write that as well.
    fileprivate var hasNewProfile = false { didSet { if hasNewProfile, !oldValue { changes.add(self) } } }
    private let changes: ChannelChanges

    init(
        row: Int64, id: ChannelID, logNonce: [UInt8], name: String, admission: Admission, record: [UInt8],
        recordVersion: Int64, profile: ProfileView, changes: ChannelChanges
    ) {
        self.changes = changes
        self.row = row
        self.id = id
        self.logNonce = logNonce
        self.name = name
        self.admission = admission
        self.deleted = false
        self.recordVersion = recordVersion
        self.record = record
        self.profile = profile.json
        self.title = profile.title
        self.signMessages = profile.signMessages
        self.rosterVersion = -1
        self.memberCount = 0
        self.first = 1
        self.head = 0
        self.count = 0
        self.bytes = 0
        self.time = 0
    }

    func take(_ profile: ProfileView) {
        self.profile = profile.json
        title = profile.title
        signMessages = profile.signMessages
        hasNewProfile = true
    }
}

/// This relay's own membership of a channel: the id that an owner gave it and the key it made for it.
struct RelayMember {
    let id: MemberID
    let keyPair: Ed25519.KeyPair
}

/// The channels that differ from their rows: a batch changes few of very many.
final class ChannelChanges {
    /// One may be named twice.
    private(set) var states: [ChannelState] = []

    fileprivate func add(_ state: ChannelState) { states.append(state) }
    fileprivate func forget() { states.removeAll(keepingCapacity: true) }
}

/// The channels of the database by id, loaded when first needed.
final class ChannelBook {
    private let database: Database
    private var loaded: [ChannelID: ChannelState] = [:]
    private let changes = ChannelChanges()

    init(_ database: Database) {
        self.database = database
    }

    func dropAll() {
        loaded.removeAll()
        changes.forget()
    }

    /// The channel, or nil when the relay has no row for it. A refusal may stand without one.
    func find(_ id: ChannelID) throws(SQLiteError) -> ChannelState? {
        if let known = loaded[id] { return known }
        if loaded.count >= loadedChannelsMax {
            try flush()
            loaded.removeAll()
        }
        let found = try database.first(
            """
            SELECT channel, name, status, deleted, record_version, record, profile, relay_member_id,
                relay_key_seed, roster_version, member_count, log_first, log_head, log_count, log_bytes,
                log_time,
                EXISTS (SELECT 1 FROM refusals WHERE refusals.channel_id = channels.channel_id), log_nonce
            FROM channels JOIN counters USING (channel) WHERE channel_id = ?
            """, [.blob(id.bytes)]
        ) { row in
            // Either of the two marks of a refusal is enough.
            let stored = Admission.State(rawValue: row.text(2)) ?? .inactive
            let state = ChannelState(
                row: row.int64(0), id: id, logNonce: row.blob(17), name: row.text(1),
                admission: Admission(row.bool(16) ? .rejected : stored),
                record: row.blob(5), recordVersion: row.int64(4), profile: ProfileView(json: row.blob(6)),
                changes: changes)
            state.deleted = row.bool(3)
            if let memberID = MemberID(bytes: row.blob(7)), let seed = row.blobOrNil(8) {
                state.relay = RelayMember(id: memberID, keyPair: Ed25519.KeyPair(seed: seed))
            }
            state.rosterVersion = row.int64(9)
            state.memberCount = row.int64(10)
            state.first = row.int64(11)
            state.head = row.int64(12)
            state.count = row.int64(13)
            state.bytes = row.int64(14)
            state.time = row.int64(15)
            return state
        }
        loaded[id] = found
        return found
    }

    /// Inserts a channel that the relay has not known, under a name nobody has here.
    func insert(
        _ id: ChannelID, admission: Admission, record: [UInt8], recordVersion: Int64, profile: ProfileView,
        now: Int64
    ) throws(SQLiteError) -> ChannelState {
        let name = try freeName(for: profile.title)
        let nonce = Sodium.random(8)
        try database.run(
            """
            INSERT INTO channels (channel_id, name, title, status, status_at, created_at, record_version,
                record, profile, log_nonce)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            [
                .blob(id.bytes), .text(name), .text(profile.title), .text(admission.state.rawValue),
                .integer(now), .integer(now),
                .integer(recordVersion), .blob(record), .blob(profile.json),
                .blob(nonce),
            ])
        let row = database.lastInsertedRowID
        try database.run("INSERT INTO counters (channel) VALUES (?)", [.integer(row)])
        let state = ChannelState(
            row: row, id: id, logNonce: nonce, name: name, admission: admission,
            record: record,
            recordVersion: recordVersion, profile: profile, changes: changes)
        loaded[id] = state
        return state
    }

    /// Writes the channel's row now.
    func save(_ state: ChannelState, statusAt now: Int64? = nil) throws(SQLiteError) {
        try database.run(
            """
            UPDATE channels SET status = ?, status_at = coalesce(?, status_at), deleted = ?,
                record_version = ?, record = ?, relay_member_id = ?, relay_key_seed = ?, roster_version = ?
            WHERE channel = ?
            """,
            [
                .text(state.admission.state.rawValue), SQLiteValue(now), SQLiteValue(state.deleted),
                .integer(state.recordVersion), .blob(state.record),
                SQLiteValue(state.relay?.id.bytes), SQLiteValue(state.relay?.keyPair.seed.copied()),
                .integer(state.rosterVersion), .integer(state.row),
            ])
        state.isDirty = true
    }

    /// Writes the counters and profiles of all channels that moved, once a batch instead of once an entry.
    func flush() throws(SQLiteError) {
        for state in changes.states {
            if state.hasNewProfile {
                try database.run(
                    "UPDATE channels SET profile = ?, title = ? WHERE channel = ?",
                    [.blob(state.profile), .text(state.title), .integer(state.row)])
                state.hasNewProfile = false
            }
            if state.isDirty {
                try database.run(
                    """
                    UPDATE counters SET member_count = ?, log_first = ?, log_head = ?, log_count = ?,
                        log_bytes = ?, log_time = ?
                    WHERE channel = ?
                    """,
                    [
                        .integer(state.memberCount), .integer(state.first), .integer(state.head),
                        .integer(state.count), .integer(state.bytes), .integer(state.time),
                        .integer(state.row),
                    ])
                state.isDirty = false
            }
        }
        changes.forget()
    }

    func delete(_ state: ChannelState) throws(SQLiteError) {
        try database.run("DELETE FROM channels WHERE channel = ?", [.integer(state.row)])
        loaded[state.id] = nil
        // Its row may become another channel's.
        state.isDirty = false
        state.hasNewProfile = false
    }

    /// How many channels the relay serves.
    func servingCount() throws(SQLiteError) -> Int64 {
        try database.first(
            "SELECT count(*) FROM channels WHERE status IN ('accepted', 'acknowledged_roster', 'active')"
        ) { $0.int64(0) } ?? 0
    }

    /// `title`, or `title_1`, `title_2`… where others have it. Refused channels keep their names as well.
    private func freeName(for title: String) throws(SQLiteError) -> String {
        let base = ChannelName.make(from: title)
        var candidate = base
        var suffix = 0
        while try isTaken(candidate) {
            suffix += 1
            candidate = "\(base)_\(suffix)"
        }
        return candidate
    }

    private func isTaken(_ name: String) throws(SQLiteError) -> Bool {
        try database.first(
            """
            SELECT 1 WHERE EXISTS (SELECT 1 FROM channels WHERE name = ?1)
                OR EXISTS (SELECT 1 FROM refusals WHERE name = ?1)
            """, [.text(name)]
        ) { _ in true } ?? false
    }
}

/// More channels than this are not kept in memory at once.
private let loadedChannelsMax = 20_000
