internal import PosixKit
internal import SQLiteKit
package import SodiumCrypto

/// The database of one home directory: keys, channels, relays, messages, outbox.
///
/// Several processes may use one home at once. Nothing is locked for longer than a transaction; what must not
/// happen twice (a record version, a local name) is decided inside BEGIN IMMEDIATE.
/// Thread: one at a time, as `Database`.
package final class ClientStore {
    let database: Database
    /// The path of the database file.
    package let path: String
    var vault = SecretVault(key: nil)

    /// Opens the home, making what is missing.
    ///
    /// Shape: `<home>/client.db`; a directory made here has mode 0700, the files always 0600.
    /// With `passphrase` a home without channels is protected by it from now on; a protected one is opened.
    /// Throws: `foreign`, `tooNew`, `corrupt`, `notWritable`, `permission`, `busy`, `full`, `inputOutput`,
    /// `passphraseNeeded`, `wrongPassphrase`, `noPassphrase`.
    package init(
        home: String, passphrase: SecretBytes? = nil, busyTimeoutMilliseconds: Int = 5000
    ) throws(ClientStoreError) {
        do throws(PosixError) {
            try Posix.createDirectory(home, mode: 0o700)
        } catch {
            if error.isNoSpace { throw .full }
            throw .notWritable("\(home): \(error.reason)")
        }
        let path = home + "/client.db"
        self.path = path
        let existed = Posix.exists(path)
        if existed {
            guard Posix.isReadable(path) else { throw .permission("\(path) may not be read by this user") }
            guard Posix.isWritable(path) else {
                throw .notWritable("\(path) may not be written by this user")
            }
        }
        guard Posix.isWritable(home) else { throw .notWritable("\(home) may not be written by this user") }
        do throws(SQLiteError) {
            database = try Database(
                path: path, mode: .create, busyTimeoutMilliseconds: busyTimeoutMilliseconds)
            if !existed {
                // The file appears with SQLite's own mode; nobody but us can reach it in a directory of ours
                // yet.
                try database.execute("PRAGMA application_id")
            }
        } catch {
            throw ClientStoreError(error)
        }
        do throws(PosixError) {
            if Posix.status(path)?.mode != 0o600 { try Posix.changeMode(path, 0o600) }
        } catch {
            throw error.isPermission
                ? .permission("\(path): \(error.reason)") : .inputOutput("\(path): \(error.reason)")
        }
        try prepare()
        try unlock(passphrase)
    }

    /// Lets go of the file.
    package func close() { database.close() }

    /// Lets another thread use the store from now on.
    package func detachFromThread() { database.detachFromThread() }

    /// Runs `body` in one transaction that holds the write lock from its beginning; inside another one it
    /// joins that.
    ///
    /// Throws: what `body` throws, with everything undone; `busy`, `full`.
    package func write<T>(_ body: () throws(ClientStoreError) -> T) throws(ClientStoreError) -> T {
        if database.isInTransaction { return try body() }
        try sql { () throws(SQLiteError) in try database.begin() }
        let result: T
        do {
            result = try body()
        } catch {
            database.rollback()
            throw error
        }
        try sql { () throws(SQLiteError) in try database.commit() }
        return result
    }

    /// The schema for the golden file.
    package func schemaDump() throws(ClientStoreError) -> String {
        try sql { () throws(SQLiteError) in try database.schemaDump() }
    }

    // MARK: Helpers

    func sql<T>(_ body: () throws(SQLiteError) -> T) throws(ClientStoreError) -> T {
        do { return try body() } catch { throw ClientStoreError(error) }
    }

    @discardableResult
    func run(_ text: String, _ values: [SQLiteValue] = []) throws(ClientStoreError) -> Int {
        do throws(SQLiteError) { return try database.run(text, values) } catch {
            throw ClientStoreError(error)
        }
    }

    func query<T>(_ text: String, _ values: [SQLiteValue] = [], _ map: (Row) -> T) throws(ClientStoreError)
        -> [T]
    {
        do throws(SQLiteError) { return try database.query(text, values, map) } catch {
            throw ClientStoreError(error)
        }
    }

    func first<T>(_ text: String, _ values: [SQLiteValue] = [], _ map: (Row) -> T) throws(ClientStoreError)
        -> T?
    {
        do throws(SQLiteError) { return try database.first(text, values, map) } catch {
            throw ClientStoreError(error)
        }
    }

    private func prepare() throws(ClientStoreError) {
        do throws(SQLiteError) {
            try checkHeader()
            if try database.pragma("journal_mode") != "wal" {
                try database.setPragma("journal_mode", to: "wal")
            }
            try database.setPragma("synchronous", to: "full")
        } catch {
            throw ClientStoreError(error)
        }
        try migrate()
    }

    /// The file is ours, or empty.
    private func checkHeader() throws(SQLiteError) {
        _ = try database.first("SELECT count(*) FROM sqlite_schema") { $0.int64(0) }
    }

    private func migrate() throws(ClientStoreError) {
        let (id, version, objects) = try header()
        if id == ClientSchema.applicationID, version == ClientSchema.version { return }
        guard id == ClientSchema.applicationID || (id == 0 && version == 0 && objects == 0) else {
            throw .foreign("\(path) belongs to another program")
        }
        guard version <= ClientSchema.version else {
            throw .tooNew(found: version, known: ClientSchema.version)
        }
        try write { () throws(ClientStoreError) in
            // Another process may have done it while this one waited for the lock.
            let (_, version, _) = try header()
            for step in ClientSchema.migrations.dropFirst(Int(version)) {
                try sql { () throws(SQLiteError) in try database.execute(step) }
            }
            try sql { () throws(SQLiteError) in
                try database.setApplicationID(ClientSchema.applicationID)
                try database.setUserVersion(ClientSchema.version)
            }
        }
    }

    private func header() throws(ClientStoreError) -> (id: Int32, version: Int32, objects: Int64) {
        try sql { () throws(SQLiteError) in
            (
                try database.applicationID, try database.userVersion,
                try database.first("SELECT count(*) FROM sqlite_schema") { $0.int64(0) } ?? 0
            )
        }
    }
}

@available(*, unavailable)
extension ClientStore: Sendable {}
