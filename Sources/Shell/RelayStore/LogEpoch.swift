import PosixKit
import SQLiteKit
import SodiumCrypto

/// The name of this database's logs, which changes when the database may have gone back in time.
///
/// A restored copy repeats sequences that readers have seen with other content, so their cursors must stop
/// meaning anything. Two marks tell a copy from the original: a nonce kept both in the database and in a file
/// beside it, renewed at each start and clean stop (a copy put in the place of the original holds an old
/// one), and the inode of the database file (a copy of the whole directory has another one). When a mark
/// differs, the epoch is drawn anew. That costs readers one look at the whole stored log, so a false alarm is
/// cheap and a missed one is not.
enum LogEpoch {
    /// Checks the marks, renews them, and answers the epoch in force. Shape: 8 bytes.
    static func settle(_ database: Database, in directory: StateDirectory) throws -> [UInt8] {
        let inside = try value("instance", database)
        let before = try value("instance_before", database)
        let file = try value("file", database)
        let beside = try? Posix.readFile(directory.instancePath, limit: 1024)
        let inode = Array("\(Posix.status(directory.databasePath)?.inode ?? 0)".utf8)
        let known = try value("epoch", database)

        // A crash between the two writes of `renew` leaves the nonce before last in the file.
        let isOriginal = beside != nil && (beside == inside || beside == before) && file == inode
        var epoch = known ?? []
        try database.transaction {
            if !isOriginal || epoch.count != 8 {
                epoch = Sodium.random(8)
                try set("epoch", epoch, database)
            }
            try set("file", inode, database)
        }
        try renew(database, in: directory)
        return epoch
    }

    /// The epoch of one channel's log: another one also when the channel was forgotten and came back.
    static func ofLog(_ channel: ChannelState, in epoch: [UInt8]) -> [UInt8] {
        Array(Sodium.sha256(epoch + channel.logNonce).prefix(8))
    }

    /// Draws a new nonce, first in the database, then in the file.
    static func renew(_ database: Database, in directory: StateDirectory) throws {
        let nonce = Array(Sodium.random(16).map { hex($0) }.joined().utf8)
        let current = try value("instance", database)
        try database.transaction {
            if let current { try set("instance_before", current, database) }
            try set("instance", nonce, database)
        }
        try Posix.writeFileAtomically(directory.instancePath, nonce, mode: 0o600)
    }

    /// Makes a copy differ from the original, so that the relay which opens it draws a new epoch.
    static func markCopy(_ database: Database) throws {
        try database.transaction {
            try set("instance", Array("copy".utf8), database)
            try set("instance_before", Array("copy".utf8), database)
        }
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
