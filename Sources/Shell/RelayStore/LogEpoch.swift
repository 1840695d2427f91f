import ChannelWire
import PosixKit
import SQLiteKit
import SodiumCrypto

/// The name of this database's logs, which changes when the database may have gone back in time.
///
/// A restored copy repeats sequences that readers have seen with other content, so their cursors must stop
/// meaning anything. Two marks tell a copy from the original: a nonce kept both in the database and in a file
/// beside it, renewed at each start and clean stop (a copy put in the place of the original holds an old
/// one), and the inode of the database file (a copy of the whole directory has another one). The file also
/// says whether the relay is at work: one that did not close its database has left a write-ahead log, and
/// where that is gone what was committed last has gone with it. When a mark differs, the epoch is drawn anew.
/// That costs readers one look at the whole stored log, so a false alarm is cheap and a missed one is not.
enum LogEpoch {
    /// Checks the marks, renews them, and answers the epoch in force (8 bytes).
    ///
    /// On a full volume nothing can be renewed, and a relay that does not start serves nobody: then `isKept`
    /// is false, and `keep` has to be called when there is room.
    static func settle(
        _ database: Database, in directory: StateDirectory
    ) throws -> (epoch: [UInt8], isKept: Bool, lostLog: Bool) {
        let inside = try value("instance", database)
        let before = try value("instance_before", database)
        let file = try value("file", database)
        let isFile = Posix.status(directory.instancePath)?.isRegular ?? false
        let beside = isFile ? try? Posix.readFile(directory.instancePath, limit: 1024) : nil
        let inode = fileMark(directory)
        let nonce = beside.map { Array($0.prefix(nonceByteCount)) }
        let wasAtWork = beside?.suffix(atWork.count).elementsEqual(atWork) ?? false
        let known = try value("epoch", database)
        let lostLog = wasAtWork && !directory.hadLog && known != nil

        // A crash between the two writes of `renew` leaves the nonce before last in the file.
        let isOriginal =
            nonce != nil && (nonce == inside || nonce == before) && file == inode && !lostLog
        var epoch = known ?? []
        if !isOriginal || epoch.count != 8 { epoch = Sodium.random(8) }
        do {
            try keep(epoch, database, in: directory)
        } catch  where isForWantOfRoom(error) {
            return (epoch, false, lostLog)
        }
        return (epoch, true, lostLog)
    }

    /// Writes the epoch in force and marks this database as the original.
    static func keep(_ epoch: [UInt8], _ database: Database, in directory: StateDirectory) throws {
        try database.transaction {
            try set("epoch", epoch, database)
            try set("file", fileMark(directory), database)
        }
        try renew(database, in: directory)
    }

    private static func fileMark(_ directory: StateDirectory) -> [UInt8] {
        Array("\(Posix.status(directory.databasePath)?.inode ?? 0)".utf8)
    }

    private static func isForWantOfRoom(_ error: any Error) -> Bool {
        (error as? SQLiteError)?.isFull ?? (error as? PosixError)?.isNoSpace ?? false
    }

    /// The epoch of one channel's log: another one also when the channel was forgotten and came back.
    static func ofLog(_ channel: ChannelState, in epoch: [UInt8]) -> [UInt8] {
        Array(Sodium.sha256(epoch + channel.logNonce).prefix(8))
    }

    /// Draws a new nonce, first in the database, then in the file.
    static func renew(_ database: Database, in directory: StateDirectory) throws {
        let nonce = Array(Sodium.random(nonceByteCount / 2).map { hex($0) }.joined().utf8)
        let current = try value("instance", database)
        try database.transaction {
            if let current { try set("instance_before", current, database) }
            try set("instance", nonce, database)
        }
        try Posix.writeFileAtomically(directory.instancePath, nonce + atWork, mode: 0o600)
    }

    /// The database was closed and its write-ahead log is empty: it need not be there at the next start.
    static func rest(in directory: StateDirectory) throws(PosixError) {
        let beside = try Posix.readFile(directory.instancePath, limit: 1024)
        try Posix.writeFileAtomically(
            directory.instancePath, Array(beside.prefix(nonceByteCount)), mode: 0o600)
    }

    private static let nonceByteCount = 32
    private static let atWork = Array(" at work\n".utf8)

    /// Makes a copy differ from the original, so that the relay which opens it draws a new epoch.
    static func markCopy(_ database: Database) throws {
        try database.transaction {
            try set("instance", Array("copy".utf8), database)
            try set("instance_before", Array("copy".utf8), database)
        }
    }

    // MARK: Whose it is

    /// The identity key of the relay whose database it is. A copy has it too.
    static func owner(_ database: Database) throws(SQLiteError) -> [UInt8]? {
        try value("identity", database)
    }

    static func setOwner(_ identity: [UInt8], _ database: Database) throws {
        try database.transaction { try set("identity", identity, database) }
    }

    static func words(belongsTo owner: [UInt8]) -> String {
        "it belongs to the relay with the key \(Base64URL.encode(owner, padded: false))"
    }

    private static func value(_ name: String, _ database: Database) throws(SQLiteError) -> [UInt8]? {
        try database.first("SELECT value FROM meta WHERE name = ?", [.text(name)]) { $0.blob(0) }
    }

    private static func set(_ name: String, _ value: [UInt8], _ database: Database) throws(SQLiteError) {
        try database.run(
            """
            INSERT INTO meta (name, value) VALUES (?, ?)
            ON CONFLICT (name) DO UPDATE SET value = excluded.value
            """,
            [.text(name), .blob(value)])
    }

    private static func hex(_ byte: UInt8) -> String {
        (byte < 16 ? "0" : "") + String(byte, radix: 16)
    }
}
