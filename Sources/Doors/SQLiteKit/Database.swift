internal import CSQLite

/// One SQLite connection, for one thread at a time.
///
/// It binds itself to the thread that first uses it after opening; `detachFromThread` lets the next one take
/// over. Statements are prepared once per SQL text, kept, and always reset before a method returns.
@safe
package final class Database {
    package enum OpenMode: Sendable {
        /// Reads and writes; creates the file when there is none.
        case create
        /// Reads and writes a file that exists.
        case readWrite
        /// Reads a file that exists; any change is refused by SQLite.
        case readOnly
        /// Reads a file that nobody changes meanwhile, without its write-ahead log; makes no file beside it.
        case asItLies
    }

    /// Whether `forEach` goes on to the next row.
    package enum Iteration: Sendable { case next, stop }

    package let path: String

    /// The version of the SQLite in use, as in `3.40.1`.
    package static var libraryVersion: String { unsafe String(cString: sqlite3_libversion()) }

    /// Has SQLite not sum up what it allocates, under a lock, each time. It holds for the whole process, so
    /// it is for a program to say and not for a library, before its first database.
    package static func doNotCountMemory() { _ = antenna_sqlite_do_not_count_memory() }

    private var connection: OpaquePointer?
    private var statements: [String: Statement] = [:]
    /// The same by where their text lies: a literal lies at one place for good, and to hash its text each
    /// time would cost more than many a statement does.
    private var placed: [UInt: Statement] = [:]
    private var thread: UInt = 0

    /// Opens `path`, with foreign keys enforced and the schema treated as data, not as code to trust.
    ///
    /// Throws: `isCannotOpen` for a missing file or folder. A file that is not a database is noticed at
    /// first use.
    package init(path: String, mode: OpenMode, busyTimeoutMilliseconds: Int = 5000) throws(SQLiteError) {
        self.path = path
        let access =
            switch mode {
            case .create: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
            case .readWrite: SQLITE_OPEN_READWRITE
            case .readOnly: SQLITE_OPEN_READONLY
            case .asItLies: SQLITE_OPEN_READONLY | SQLITE_OPEN_URI
            }
        let name = if case .asItLies = mode { Database.immutable(path) } else { path }
        // No mutex: the thread check below is what keeps two threads apart.
        let flags = access | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE
        var handle: OpaquePointer?
        let code = unsafe sqlite3_open_v2(name, &handle, flags, nil)
        guard code == SQLITE_OK, let handle = unsafe handle else {
            let error = unsafe Database.error(code, handle, sql: "")
            unsafe _ = sqlite3_close_v2(handle)
            throw error
        }
        unsafe connection = handle
        unsafe _ = antenna_sqlite_set(handle, SQLITE_DBCONFIG_DEFENSIVE, 1)
        unsafe _ = antenna_sqlite_set(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
        unsafe _ = antenna_sqlite_set(handle, SQLITE_DBCONFIG_DQS_DML, 0)
        unsafe _ = antenna_sqlite_set(handle, SQLITE_DBCONFIG_DQS_DDL, 0)
        unsafe _ = antenna_sqlite_set(handle, SQLITE_DBCONFIG_ENABLE_FKEY, 1)
        unsafe _ = sqlite3_busy_timeout(handle, Int32(clamping: busyTimeoutMilliseconds))
    }

    /// Source: "Uniform Resource Identifiers" of SQLite: %, ? and # have a meaning there.
    private static func immutable(_ path: String) -> String {
        var name = "file:"
        for scalar in path.unicodeScalars {
            switch scalar {
            case "%": name += "%25"
            case "?": name += "%3f"
            case "#": name += "%23"
            default: name.unicodeScalars.append(scalar)
            }
        }
        return name + "?immutable=1"
    }

    deinit {
        statements.removeAll()
        placed.removeAll()
        // SAFETY: the last reference is gone, and the statements with it.
        unsafe _ = sqlite3_close_v2(connection)
    }

    /// Lets go of the file. Using the database afterwards is our own bug.
    package func close() {
        guard unsafe connection != nil else { return }
        let handle = unsafe checkedConnection()
        precondition(
            !statements.values.contains { $0.isInUse }, "a database was closed inside one of its own queries")
        statements.removeAll()
        placed.removeAll()
        unsafe _ = sqlite3_close_v2(handle)
        unsafe connection = nil
    }

    /// Forgets which thread uses this database, so that the next one to use it may be another.
    package func detachFromThread() {
        unsafe _ = checkedConnection()
        thread = 0
    }

    // MARK: Statements

    /// Runs a script of any number of statements without arguments.
    package func execute(_ script: String) throws(SQLiteError) {
        let handle = unsafe checkedConnection()
        let code = unsafe sqlite3_exec(handle, script, nil, nil, nil)
        if code != SQLITE_OK { throw unsafe Database.error(code, handle, sql: script) }
    }

    /// Runs one statement to its end and answers how many rows it changed.
    @discardableResult
    package func run(_ sql: String, _ values: [SQLiteValue] = []) throws(SQLiteError) -> Int {
        let handle = unsafe checkedConnection()
        let before = unsafe sqlite3_total_changes64(handle)
        try forEach(sql, values) { _ in .next }
        // `sqlite3_changes` keeps the count of an earlier statement when this one was no INSERT, UPDATE or
        // DELETE.
        return unsafe sqlite3_total_changes64(handle) == before ? 0 : Int(sqlite3_changes64(handle))
    }

    /// Every row of a query, mapped.
    package func query<T>(
        _ sql: String, _ values: [SQLiteValue] = [], _ map: (Row) -> T
    ) throws(SQLiteError) -> [T] {
        var rows: [T] = []
        try forEach(sql, values) { row in
            rows.append(map(row))
            return .next
        }
        return rows
    }

    /// The first row of a query, mapped, or nil when there is none.
    package func first<T>(
        _ sql: String, _ values: [SQLiteValue] = [], _ map: (Row) -> T
    ) throws(SQLiteError) -> T? {
        var found: T?
        try forEach(sql, values) { row in
            found = map(row)
            return .stop
        }
        return found
    }

    /// Walks the rows of a query one at a time until they end or `body` says stop.
    package func forEach(
        _ sql: String, _ values: [SQLiteValue] = [], _ body: (Row) -> Iteration
    ) throws(SQLiteError) {
        let statement = try take(sql)
        defer { giveBack(statement) }
        let bound = statement.bind(values)
        if bound != SQLITE_OK { throw unsafe Database.error(bound, connection, sql: sql) }
        while true {
            let code = statement.step()
            switch code {
            case SQLITE_ROW:
                if case .stop = body(Row(statement)) { return }
            case SQLITE_DONE:
                return
            default:
                throw unsafe Database.error(code, connection, sql: sql)
            }
        }
    }

    package var lastInsertedRowID: Int64 { unsafe sqlite3_last_insert_rowid(checkedConnection()) }

    // MARK: Helpers

    /// The open connection, having checked that it is open and that this is its thread.
    func checkedConnection() -> OpaquePointer {
        guard let connection = unsafe connection else {
            preconditionFailure("a closed database was used: \(path)")
        }
        let current = antenna_sqlite_thread()
        if thread != current {
            precondition(thread == 0, "a database was used on two threads: \(path)")
            thread = current
        }
        return unsafe connection
    }

    /// How many statements are kept ready.
    package var cachedStatementCount: Int { statements.count }

    static func error(_ code: Int32, _ connection: OpaquePointer?, sql: String) -> SQLiteError {
        var message = unsafe String(cString: sqlite3_errstr(code))
        if let connection = unsafe connection, unsafe sqlite3_extended_errcode(connection) == code,
            let detail = unsafe sqlite3_errmsg(connection)
        {
            message = unsafe String(cString: detail)
        }
        return SQLiteError(extendedCode: code, message: message, sql: sql)
    }

    private func take(_ sql: String) throws(SQLiteError) -> Statement {
        let handle = unsafe checkedConnection()
        let place = Database.place(sql)
        // Another text may have come to lie there meanwhile.
        if let place, let kept = placed[place], kept.sql == sql, !kept.isInUse {
            kept.isInUse = true
            return kept
        }
        if let kept = statements[sql], !kept.isInUse {
            kept.isInUse = true
            remember(kept, at: place)
            return kept
        }
        var prepared: OpaquePointer?
        let code = unsafe sqlite3_prepare_v3(
            handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &prepared, nil)
        if code != SQLITE_OK { throw unsafe Database.error(code, handle, sql: sql) }
        guard let prepared = unsafe prepared else {
            preconditionFailure("a statement without SQL was run: \(sql)")
        }
        let statement = unsafe Statement(prepared, sql: sql)
        statement.isInUse = true
        // A query run inside its own rows gets a statement of its own, which is not kept.
        if statements[sql] == nil {
            if statements.count >= cachedStatementsMax {
                statements = statements.filter { $0.value.isInUse }
                placed.removeAll()
            }
            statements[sql] = statement
            remember(statement, at: place)
        }
        return statement
    }

    private func remember(_ statement: Statement, at place: UInt?) {
        guard let place else { return }
        if placed.count >= cachedStatementsMax { placed.removeAll() }
        placed[place] = statement
    }

    /// Where a text lies; nil for a short one, which lies in the string itself and is soon hashed.
    private static func place(_ sql: String) -> UInt? {
        guard sql.utf8.count > 15 else { return nil }
        return unsafe sql.utf8.withContiguousStorageIfAvailable { UInt(bitPattern: $0.baseAddress) }
    }

    private func giveBack(_ statement: Statement) {
        statement.reset()
        statement.isInUse = false
    }
}

@available(*, unavailable)
extension Database: Sendable {}

/// SQL texts are written in the source, so more than this means that somebody builds them from values.
private let cachedStatementsMax = 512
