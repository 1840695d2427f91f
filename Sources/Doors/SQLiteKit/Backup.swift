internal import CSQLite

/// A copy of a database in use, made a few pages at a time.
///
/// Writes by the source's own connection go into the copy too; writes by others start it again.
@safe
package final class Backup {
    package enum Progress: Equatable, Sendable { case more, finished }

    private let source: Database
    private let target: Database
    private var handle: OpaquePointer?

    /// Begins a copy of `source` into `target`, whose content it replaces.
    package init(from source: Database, to target: Database) throws(SQLiteError) {
        self.source = source
        self.target = target
        let from = unsafe source.checkedConnection()
        let into = unsafe target.checkedConnection()
        unsafe handle = sqlite3_backup_init(into, "main", from, "main")
        if unsafe handle == nil {
            throw unsafe Database.error(sqlite3_extended_errcode(into), into, sql: "")
        }
    }

    deinit { unsafe _ = sqlite3_backup_finish(handle) }

    /// Copies up to `pages` more pages, or all that remain.
    ///
    /// Throws: `isBusy` when the source is locked just now; the copy can go on with the next call.
    package func step(pages: Int? = nil) throws(SQLiteError) -> Progress {
        unsafe _ = source.checkedConnection()
        let into = unsafe target.checkedConnection()
        let code = unsafe sqlite3_backup_step(handle, pages.map { Int32(clamping: $0) } ?? -1)
        switch code {
        case SQLITE_OK: return .more
        case SQLITE_DONE: return .finished
        default: throw unsafe Database.error(code, into, sql: "")
        }
    }

    package var remainingPages: Int { Int(unsafe sqlite3_backup_remaining(handle)) }
    package var totalPages: Int { Int(unsafe sqlite3_backup_pagecount(handle)) }
}

@available(*, unavailable)
extension Backup: Sendable {}
