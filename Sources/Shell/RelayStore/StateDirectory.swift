import PosixKit
import SQLiteKit

/// The directory that holds a relay's state, checked, locked and ready to be opened.
///
/// ```
/// relay.db        the database (with -wal and -shm while it is open)
/// relay.lock      held by the relay that works here
/// relay.instance  proves that relay.db was not replaced by an older copy
/// ```
///
/// Everything that can be refused is refused before the first byte is written: somebody else's directory
/// stays as it is.
package final class StateDirectory {
    package let path: String
    private let lock: FileLock
    /// Holds also where somebody deletes the lock's file; nil where the volume knows no locks of directories.
    private let directoryLock: FileLock?
    /// There was a write-ahead log when the database was opened.
    private(set) var hadLog = false

    package var databasePath: String { path + "/" + StateDirectory.databaseName }
    var instancePath: String { path + "/relay.instance" }

    package static let databaseName = "relay.db"
    package static let lockName = "relay.lock"

    /// Checks and locks the directory, creating it (mode 0700) when there is none.
    package init(_ path: String) throws(RelayStoreError) {
        self.path = path
        try StateDirectory.inspect(path)
        do throws(PosixError) {
            try Posix.createDirectory(path, mode: 0o700)
        } catch {
            throw .cannotCreate(path: path, reason: error.description)
        }
        let held: FileLock?
        do throws(PosixError) {
            held = try FileLock(path: path + "/" + StateDirectory.lockName)
        } catch {
            throw .cannotCreate(path: path, reason: error.description)
        }
        guard let held else { throw .inUse(path: path) }
        lock = held
        do throws(PosixError) {
            guard let whole = try FileLock(directory: path) else { throw PosixError.inUse }
            directoryLock = whole
        } catch {
            guard error != .inUse else { throw .inUse(path: path) }
            directoryLock = nil
        }
    }

    /// Looks at a directory without changing anything: refuses what is not a relay's, or a newer relay's.
    package static func inspect(_ path: String) throws(RelayStoreError) {
        guard let status = Posix.status(path) else { return }
        guard status.isDirectory else { throw .cannotCreate(path: path, reason: "it is not a directory") }
        let file = path + "/" + databaseName
        guard let database = Posix.status(file) else {
            guard !Posix.isDanglingLink(file) else {
                throw .cannotCreate(path: file, reason: "it is a link to a file that is not there")
            }
            return
        }
        guard database.isRegular else { throw .foreign(path: file, reason: "it is not a file") }
        try inspectHeader(of: file)
        guard Posix.isWritable(file), Posix.isWritable(path) else {
            throw .cannotCreate(path: file, reason: "it is not writable")
        }
    }

    /// Refuses a file to be written that would take the place of one of a state's own, or of what is no file.
    ///
    /// `besides`: the state's database.
    static func refuseToReplace(_ file: String, besides database: String) throws(RelayStoreError) {
        if let there = Posix.status(file), !there.isRegular {
            throw .cannotCreate(path: file, reason: "it is there and is not a file")
        }
        let (folder, name) = parts(file)
        guard let ours = Posix.status(parts(database).folder), let theirs = Posix.status(folder),
            theirs.isSameFile(as: ours)
        else { return }
        // relay.db and what SQLite keeps beside it, relay.identity, relay.lock, relay.instance, control.sock.
        guard !name.hasPrefix("relay."), !name.hasPrefix("control.sock") else {
            throw .cannotCreate(path: file, reason: "that name is one of the relay's own")
        }
    }

    private static func parts(_ path: String) -> (folder: String, name: Substring) {
        guard let slash = path.lastIndex(of: "/") else { return (".", path[...]) }
        return (String(path[...slash]), path[path.index(after: slash)...])
    }

    @discardableResult
    static func inspectHeader(of file: String) throws(RelayStoreError) -> DatabaseHeader {
        let bytes: [UInt8]
        do throws(PosixError) {
            bytes = try Posix.readPrefix(file, count: DatabaseHeader.byteCount)
        } catch {
            throw .cannotCreate(path: file, reason: error.description)
        }
        guard let header = DatabaseHeader(bytes) else {
            throw .foreign(path: file, reason: "it is not a database")
        }
        let id = header.applicationID
        guard id == Schema.applicationID else {
            throw .foreign(path: file, reason: "its application id is \(id)")
        }
        let version = header.userVersion
        // A database gets its name when its first version is whole.
        guard version >= 1 else { throw .corrupt(path: file, reason: "its schema is \(version)") }
        guard version <= Schema.latest else {
            throw .tooNew(path: file, version: version, supported: Schema.latest)
        }
        return header
    }

    // MARK: Opening the database

    /// Opens the database, creating or migrating it as needed.
    func openDatabase() throws(RelayStoreError) -> Database {
        try storing(databasePath) {
            hadLog = Posix.exists(databasePath + "-wal")
            if Posix.exists(databasePath) { try examine() } else { try create() }
            let database = try Database(path: databasePath, mode: .readWrite)
            guard try database.applicationID == Schema.applicationID else {
                throw RelayStoreError.foreign(path: databasePath, reason: "its application id is another")
            }
            let version = try database.userVersion
            guard version <= Schema.latest else {
                throw RelayStoreError.tooNew(path: databasePath, version: version, supported: Schema.latest)
            }
            let free = (try? Posix.freeBytes(Posix.directory(of: databasePath))) ?? 0
            try StateDirectory.configure(database, freeBytes: free)
            let isSmall = StateDirectory.isSmall(databasePath)
            if let problem = try Migration.run(on: database, from: version, everyRow: isSmall) {
                database.close()
                throw RelayStoreError.corrupt(path: databasePath, reason: problem)
            }
            return database
        }
    }

    /// Refuses a damaged database before anything is opened for writing: what is torn stays as it is.
    ///
    /// Cost: one look at each page and row, up to `examinedBytesMax`; in a larger one at the first pages and
    /// the channels alone.
    private func examine() throws {
        let hasLog = (Posix.status(databasePath + "-wal")?.size ?? 0) > 0
        let size = Posix.status(databasePath)?.size ?? 0
        let pageSize = try StateDirectory.inspectHeader(of: databasePath).pageSize
        // After a crash the missing part may stand in the log.
        guard hasLog || (pageSize > 0 && size % pageSize == 0) else {
            throw RelayStoreError.corrupt(path: databasePath, reason: "it ends in the middle of a page")
        }
        let database = try Database(path: databasePath, mode: hasLog ? .readOnly : .asItLies)
        defer { database.close() }
        _ = try database.schemaDump()
        let isSmall = StateDirectory.isSmall(databasePath)
        let faults = isSmall ? try database.quickCheck() : []
        guard faults.isEmpty else {
            throw RelayStoreError.corrupt(path: databasePath, reason: faults[0])
        }
        // The rows of an older schema are looked at once they are taken over.
        guard try database.userVersion == Schema.latest else { return }
        if let problem = try StoreAudit.problem(database, everyRow: isSmall) {
            throw RelayStoreError.corrupt(path: databasePath, reason: problem)
        }
    }

    private static func isSmall(_ path: String) -> Bool {
        (Posix.status(path)?.size ?? 0) <= examinedBytesMax
    }

    /// A second or two of a slow disk. Beyond it damage is found by who reads the page, and by every backup.
    private static let examinedBytesMax: Int64 = 256 << 20

    /// Makes the database under another name first: a half-made one is never taken for a relay's.
    private func create() throws {
        let unfinished = databasePath + ".new"
        try Posix.removeFile(unfinished)
        try Posix.removeFile(unfinished + "-journal")
        // SQLite gives its other files the mode of this one.
        try Posix.writeFileAtomically(unfinished, [], mode: 0o600)
        let database = try Database(path: unfinished, mode: .readWrite)
        // Must stand before the first table; freed pages can then be given back to the disk.
        try database.setPragma("auto_vacuum", to: "INCREMENTAL")
        try database.setApplicationID(Schema.applicationID)
        _ = try Migration.run(on: database, from: 0)
        try database.setPragma("journal_mode", to: "WAL")
        database.close()
        try Posix.rename(unfinished, to: databasePath)
        try Posix.syncDirectory(of: databasePath)
    }

    private static func configure(_ database: Database, freeBytes: UInt64) throws(SQLiteError) {
        try database.setPragma("journal_mode", to: "WAL")
        // A commit has reached the disk when it returns: acknowledgements rest on this.
        try database.setPragma("synchronous", to: "FULL")
        try database.setPragma("foreign_keys", to: "ON")
        // What is deleted is overwritten, not only forgotten.
        try database.setPragma("secure_delete", to: "ON")
        try database.setPragma("journal_size_limit", to: 16 << 20)
        try database.setPragma("wal_autocheckpoint", to: checkpointPages(freeBytes: freeBytes))
    }

    /// How long the write-ahead log gets before what stands in it moves into the database. Whoever waits for
    /// a commit waits for that, and many messages change the same pages, so seldom is better; on a small
    /// volume the log must be small. Units: pages of 4,096 bytes; they stay below `journal_size_limit`.
    static func checkpointPages(freeBytes: UInt64) -> Int {
        Int(min(3000, max(1000, freeBytes / 64 / 4096)))
    }
}

extension PosixError {
    /// Another process holds a lock.
    fileprivate static let inUse = PosixError(errno: 0, call: "flock")
}

/// Runs what may fail in any of the ways below this room, and names the failure in its terms.
func storing<T>(_ path: String, _ body: () throws -> T) throws(RelayStoreError) -> T {
    do {
        return try body()
    } catch let error as RelayStoreError {
        throw error
    } catch let error as SQLiteError {
        throw RelayStoreError(error, path: path)
    } catch let error as PosixError {
        throw error.isNoSpace ? .full : .cannotCreate(path: path, reason: error.description)
    } catch {
        preconditionFailure("nothing else is thrown below the store: \(error)")
    }
}
