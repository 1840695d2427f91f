import PosixKit
import SQLiteKit

/// Puts a backup in the place of a relay's database.
package enum Restore {
    /// What was brought back.
    package struct Report: Equatable, Sendable {
        package var channels: Int64
        package var messages: Int64
        /// Refusals that were newer than the backup: they stay in force.
        package var refusalsKept: Int
    }

    /// Restores `backup` into a directory in which no relay works. The backup itself stays as it is.
    ///
    /// Channels that the operator has left since the backup was made stay refused: no means no.
    /// `identity` is the key of the relay that works in the directory, where there is one.
    /// Throws: `inUse` while a relay works there; `foreign`, `tooNew` or `corrupt` for what is no sound
    /// backup, or another relay's. Then nothing has changed.
    package static func run(
        from backup: String, into directory: String, identity: [UInt8]? = nil
    ) throws(RelayStoreError) -> Report {
        guard Posix.exists(backup) else { throw .missing(path: backup) }
        try StateDirectory.inspectHeader(of: backup)
        let state = try StateDirectory(directory)
        return try storing(directory) {
            let refusals = keptRefusals(state)
            let unfinished = state.databasePath + ".new"
            let report = try prepare(backup, unfinished, refusals, identity)
            // A write-ahead log of the old database must not meet the new one.
            for suffix in ["-wal", "-shm"] { try Posix.removeFile(state.databasePath + suffix) }
            try Posix.rename(unfinished, to: state.databasePath)
            // Nobody need look for the log of what is no more.
            try? LogEpoch.rest(in: state)
            try Posix.syncDirectory(of: state.databasePath)
            return report
        }
    }

    private struct Kept {
        let channel: [UInt8]
        let name: String
        let reason: String
        let time: Int64
        let actor: String
    }

    /// The refusals of the database that is replaced; none when it cannot be read any more.
    private static func keptRefusals(_ state: StateDirectory) -> [Kept] {
        guard Posix.exists(state.databasePath),
            let old = try? Database(path: state.databasePath, mode: .readWrite)
        else { return [] }
        defer { old.close() }
        let kept = try? old.query(
            """
            SELECT channel_id, name, reason, refused_at, refused_by FROM refusals
            UNION SELECT channel_id, name, '', status_at, '' FROM channels
            WHERE status = 'rejected' AND channel_id NOT IN (SELECT channel_id FROM refusals)
            """
        ) { row in
            Kept(
                channel: row.blob(0), name: row.text(1), reason: row.text(2), time: row.int64(3),
                actor: row.text(4))
        }
        // So that removing the write-ahead log afterwards loses nothing if we are stopped in between.
        _ = try? old.checkpoint(.truncate)
        return kept ?? []
    }

    private static func prepare(
        _ backup: String, _ path: String, _ refusals: [Kept], _ identity: [UInt8]?
    ) throws -> Report {
        try Posix.removeFile(path)
        try Posix.removeFile(path + "-journal")
        try Posix.writeFileAtomically(path, [], mode: 0o600)
        let source = try Database(path: backup, mode: .readOnly)
        let copy = try Database(path: path, mode: .readWrite)
        _ = try Backup(from: source, to: copy).step()
        source.close()
        if let problem = try problem(copy) {
            copy.close()
            try Posix.removeFile(path)
            throw RelayStoreError.corrupt(path: backup, reason: problem)
        }
        if let identity, let owner = try LogEpoch.owner(copy), owner != identity {
            copy.close()
            try Posix.removeFile(path)
            throw RelayStoreError.foreign(path: backup, reason: LogEpoch.words(belongsTo: owner))
        }
        var kept = 0
        try copy.transaction {
            for refusal in refusals {
                kept += try copy.run(
                    """
                    INSERT OR IGNORE INTO refusals (channel_id, name, reason, refused_at, refused_by)
                    VALUES (?, ?, ?, ?, ?)
                    """,
                    [
                        .blob(refusal.channel), .text(refusal.name), .text(refusal.reason),
                        .integer(refusal.time),
                        .text(refusal.actor),
                    ])
            }
        }
        try LogEpoch.markCopy(copy)
        let report = Report(
            channels: try count("SELECT count(*) FROM channels", copy),
            messages: try count("SELECT coalesce(sum(log_count), 0) FROM counters", copy), refusalsKept: kept)
        copy.close()
        return report
    }

    /// Brings a copy of an older schema to the latest. Returns: what is wrong with it.
    private static func problem(_ copy: Database) throws -> String? {
        if let problem = try StoreAudit.wholeProblem(copy) { return problem }
        do { return try Migration.run(on: copy, from: copy.userVersion) } catch let error as SQLiteError {
            guard error.isFull else { return error.message }
            throw error
        }
    }

    private static func count(_ sql: String, _ database: Database) throws(SQLiteError) -> Int64 {
        try database.first(sql) { $0.int64(0) } ?? 0
    }
}
