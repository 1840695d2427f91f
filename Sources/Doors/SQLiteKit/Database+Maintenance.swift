internal import CSQLite

extension Database {
    // MARK: Pragmas

    /// The first column of a pragma's first row, as text.
    package func pragma(_ name: String) throws(SQLiteError) -> String? {
        try first("PRAGMA \(pragmaName(name))") { row in row.textOrNil(0) } ?? nil
    }

    /// Sets a pragma and answers what SQLite reports back, which for some pragmas is what is now in force.
    @discardableResult
    package func setPragma(_ name: String, to value: String) throws(SQLiteError) -> String? {
        precondition(
            !value.isEmpty && value.utf8.allSatisfy { isWord($0) || $0 == UInt8(ascii: "-") },
            "a pragma was set to something that is not a word or a number")
        return try first("PRAGMA \(pragmaName(name)) = \(value)") { row in row.textOrNil(0) } ?? nil
    }

    @discardableResult
    package func setPragma(_ name: String, to value: Int) throws(SQLiteError) -> String? {
        try setPragma(name, to: String(value))
    }

    /// The application's own schema number in the file's header.
    package var userVersion: Int32 {
        get throws(SQLiteError) {
            try first("PRAGMA user_version") { row in Int32(truncatingIfNeeded: row.int64(0)) } ?? 0
        }
    }

    package func setUserVersion(_ version: Int32) throws(SQLiteError) {
        try execute("PRAGMA user_version = \(version)")
    }

    /// The number in the file's header that says which program it belongs to.
    package var applicationID: Int32 {
        get throws(SQLiteError) {
            try first("PRAGMA application_id") { row in Int32(truncatingIfNeeded: row.int64(0)) } ?? 0
        }
    }

    package func setApplicationID(_ id: Int32) throws(SQLiteError) {
        try execute("PRAGMA application_id = \(id)")
    }

    // MARK: Looking at the whole

    /// The schema as SQL, sorted by kind and name, for a golden file.
    package func schemaDump() throws(SQLiteError) -> String {
        let statements = try query(
            """
            SELECT sql FROM sqlite_schema
            WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
            ORDER BY CASE type WHEN 'table' THEN 0 WHEN 'index' THEN 1 WHEN 'view' THEN 2 ELSE 3 END, name
            """
        ) { row in row.text(0) + ";\n" }
        return statements.joined()
    }

    /// Checks the structure of the file. Shape: one line per fault, empty when it is sound.
    package func quickCheck() throws(SQLiteError) -> [String] {
        let lines = try query("PRAGMA quick_check") { row in row.text(0) }
        return lines == ["ok"] ? [] : lines
    }

    // MARK: The write-ahead log

    package enum CheckpointMode: Sendable { case passive, full, restart, truncate }

    package struct CheckpointResult: Equatable, Sendable {
        /// Pages in the log; -1 when the database has none.
        package let logPages: Int
        /// Pages of the log that are in the database file now.
        package let movedPages: Int

        package init(logPages: Int, movedPages: Int) {
            self.logPages = logPages
            self.movedPages = movedPages
        }
    }

    /// Moves pages from the log to the database file.
    ///
    /// Throws: `isBusy` when readers or a writer keep a mode other than `passive` from finishing.
    package func checkpoint(_ mode: CheckpointMode) throws(SQLiteError) -> CheckpointResult {
        let handle = unsafe checkedConnection()
        let value =
            switch mode {
            case .passive: SQLITE_CHECKPOINT_PASSIVE
            case .full: SQLITE_CHECKPOINT_FULL
            case .restart: SQLITE_CHECKPOINT_RESTART
            case .truncate: SQLITE_CHECKPOINT_TRUNCATE
            }
        var logPages: Int32 = -1
        var movedPages: Int32 = -1
        let code = unsafe sqlite3_wal_checkpoint_v2(handle, nil, value, &logPages, &movedPages)
        if code != SQLITE_OK { throw unsafe Database.error(code, handle, sql: "") }
        return CheckpointResult(logPages: Int(logPages), movedPages: Int(movedPages))
    }

    // MARK: Limits

    /// How long a statement waits for another connection's lock before it throws `isBusy`.
    package func setBusyTimeout(milliseconds: Int) {
        unsafe _ = sqlite3_busy_timeout(checkedConnection(), Int32(clamping: milliseconds))
    }

    /// Frees the pages that are kept for later; the next reads fetch them again.
    package func releaseMemory() { unsafe _ = sqlite3_db_release_memory(checkedConnection()) }

    private func pragmaName(_ name: String) -> String {
        precondition(!name.isEmpty && name.utf8.allSatisfy(isWord), "that is no pragma's name")
        return name
    }
}

private func isWord(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
        true
    default: false
    }
}
