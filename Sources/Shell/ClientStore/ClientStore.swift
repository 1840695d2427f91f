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
    private var files: HomeFiles

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
        try Self.inspect(path)
        guard Posix.isWritable(home) else { throw .notWritable("\(home) may not be written by this user") }
        if !Posix.exists(path) { try Self.create(path) }
        do throws(SQLiteError) {
            database = try Database(
                path: path, mode: .readWrite, busyTimeoutMilliseconds: busyTimeoutMilliseconds)
        } catch {
            throw ClientStoreError(error)
        }
        files = HomeFiles(path)
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
    /// Throws: what `body` throws, with everything undone; `busy`, `full`; `notWritable` where the file was
    /// replaced or removed meanwhile.
    package func write<T>(_ body: () throws(ClientStoreError) -> T) throws(ClientStoreError) -> T {
        if database.isInTransaction { return try body() }
        try sql { () throws(SQLiteError) in try database.begin() }
        let result: T
        do {
            try files.checkInPlace()
            result = try body()
        } catch {
            database.rollback()
            throw error
        }
        try sql { () throws(SQLiteError) in try database.commit() }
        return result
    }

    /// Moves the write-ahead log into the database and empties it, so that what was overwritten is nowhere
    /// any more. While somebody else reads or writes it stays.
    func wipeLog() { _ = try? database.checkpoint(.truncate) }

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
        if !database.isInTransaction { try files.checkInPlace() }
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

    /// Refuses what is not ours, or a newer program's, before anything is written: opening alone may change
    /// it.
    private static func inspect(_ path: String) throws(ClientStoreError) {
        guard let status = Posix.status(path) else {
            guard !Posix.isDanglingLink(path) else {
                throw .notWritable("\(path) is a link to a file that is not there")
            }
            return
        }
        guard status.isRegular else { throw .notWritable("\(path) is not a file") }
        guard Posix.isReadable(path) else { throw .permission("\(path) may not be read by this user") }
        let bytes: [UInt8]
        do throws(PosixError) {
            bytes = try Posix.readPrefix(path, count: DatabaseHeader.byteCount)
        } catch {
            throw .inputOutput("\(path): \(error.reason)")
        }
        guard let header = DatabaseHeader(bytes) else { throw .foreign("the file is not a database") }
        guard header.applicationID == ClientSchema.applicationID else {
            throw .foreign("\(path) belongs to another program")
        }
        // A home's database gets its name when its first version is whole.
        guard header.userVersion >= 1 else { throw .corrupt("its version is \(header.userVersion)") }
        guard header.userVersion <= ClientSchema.version else {
            throw .tooNew(found: header.userVersion, known: ClientSchema.version)
        }
        guard Posix.isWritable(path) else { throw .notWritable("\(path) may not be written by this user") }
    }

    /// Makes the database under another name first: a half-made one is never taken for a home's, and where
    /// two processes do this at once, both use the one that was first.
    private static func create(_ path: String) throws(ClientStoreError) {
        let unfinished = "\(path).new-\(Posix.processID)"
        do throws(PosixError) {
            try Posix.removeFile(unfinished)
            try Posix.removeFile(unfinished + "-journal")
            // SQLite gives its other files the mode of this one.
            try Posix.writeFileAtomically(unfinished, [], mode: 0o600)
        } catch {
            throw ClientStoreError(error, path)
        }
        defer { try? Posix.removeFile(unfinished) }
        do throws(SQLiteError) {
            let database = try Database(path: unfinished, mode: .readWrite)
            for step in ClientSchema.migrations { try database.execute(step) }
            try database.setApplicationID(ClientSchema.applicationID)
            try database.setUserVersion(ClientSchema.version)
            database.close()
        } catch {
            throw ClientStoreError(error)
        }
        do throws(PosixError) {
            _ = try Posix.link(unfinished, as: path)
            try Posix.syncDirectory(of: path)
        } catch {
            throw ClientStoreError(error, path)
        }
    }

    private func prepare() throws(ClientStoreError) {
        do throws(SQLiteError) {
            if try database.pragma("journal_mode") != "wal" {
                try database.setPragma("journal_mode", to: "wal")
            }
            try database.setPragma("synchronous", to: "full")
            // Keys and texts that are taken away are overwritten.
            try database.setPragma("secure_delete", to: "ON")
        } catch {
            throw ClientStoreError(error)
        }
        try migrate()
    }

    private func migrate() throws(ClientStoreError) {
        // The write-ahead log may hold a later word than the header that was looked at.
        let (id, version) = try header()
        guard id == ClientSchema.applicationID else { throw .foreign("\(path) belongs to another program") }
        guard version >= 1 else { throw .corrupt("its version is \(version)") }
        guard version <= ClientSchema.version else {
            throw .tooNew(found: version, known: ClientSchema.version)
        }
        if version == ClientSchema.version { return try audit() }
        try write { () throws(ClientStoreError) in
            // Another process may have done it while this one waited for the lock.
            let version = try header().version
            for step in ClientSchema.migrations.dropFirst(Int(version)) {
                try sql { () throws(SQLiteError) in try database.execute(step) }
            }
            try sql { () throws(SQLiteError) in
                try database.setApplicationID(ClientSchema.applicationID)
                try database.setUserVersion(ClientSchema.version)
            }
        }
        try audit()
    }

    private func audit() throws(ClientStoreError) {
        let problem = try sql { () throws(SQLiteError) in try ClientAudit.problem(database) }
        if let problem { throw .corrupt(problem) }
    }

    private func header() throws(ClientStoreError) -> (id: Int32, version: Int32) {
        try sql { () throws(SQLiteError) in (try database.applicationID, try database.userVersion) }
    }
}

@available(*, unavailable)
extension ClientStore: Sendable {}
