internal import CSQLite

/// What SQLite answered when it could not do something.
///
/// It carries the SQL text but never the bound values, so that it may be logged.
package struct SQLiteError: Error, Equatable, Sendable {
    /// SQLite's extended result code, such as 1555 for a primary key that exists.
    package let extendedCode: Int32
    package let message: String
    /// The statement, without its arguments; empty when no statement was involved.
    package let sql: String

    package init(extendedCode: Int32, message: String, sql: String) {
        self.extendedCode = extendedCode
        self.message = message
        self.sql = sql
    }

    /// The low byte of the extended code.
    package var primaryCode: Int32 { extendedCode & 0xff }

    /// Another connection holds the lock that we need, or changed what our snapshot shows. Try again later.
    package var isBusy: Bool { primaryCode == SQLITE_BUSY || primaryCode == SQLITE_LOCKED }
    /// The disk, the quota or `max_page_count` is exhausted.
    package var isFull: Bool {
        // The file beside a database that its connections share could not be given its size.
        primaryCode == SQLITE_FULL || extendedCode == SQLITE_IOERR | 19 << 8
    }
    package var isCorrupt: Bool { primaryCode == SQLITE_CORRUPT }
    package var isNotADatabase: Bool { primaryCode == SQLITE_NOTADB }
    package var isReadOnly: Bool { primaryCode == SQLITE_READONLY }
    package var isIO: Bool { primaryCode == SQLITE_IOERR }
    package var isCannotOpen: Bool { primaryCode == SQLITE_CANTOPEN }
    /// A `UNIQUE`, `NOT NULL`, `CHECK` or foreign key rule forbade the change.
    package var isConstraint: Bool { primaryCode == SQLITE_CONSTRAINT }
    package var isInterrupted: Bool { primaryCode == SQLITE_INTERRUPT }
}

extension SQLiteError: CustomStringConvertible {
    package var description: String {
        sql.isEmpty ? "SQLite \(extendedCode): \(message)" : "SQLite \(extendedCode): \(message) in: \(sql)"
    }
}
