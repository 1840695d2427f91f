import PosixKit
import SQLiteKit

/// Why nothing that peers send is stored now. The raw value is what the operator is told.
package enum LackOfRoom: String, Equatable, Sendable {
    case quota = "the database has reached its limit"
    case volume = "the volume is nearly full"
    /// What was committed cannot move into the database while somebody reads an older state of it.
    case heldLog = "another program reads the database for long, so its write-ahead log cannot be emptied"
    /// What is written now goes into files that have no name any more, and is gone when the relay ends.
    case replaced =
        "the database was replaced or removed while the relay works; put it back, or restart the relay"
}

/// Which files a ledger has opened, to notice when others stand in their place.
struct OpenFiles {
    private let database: FileStatus?
    /// Nil until something was written.
    private var log: FileStatus?

    init(_ path: String) {
        database = Posix.status(path)
        log = Posix.status(path + "-wal")
    }

    mutating func areInPlace(database: FileStatus?, log: FileStatus?) -> Bool {
        if self.log == nil { self.log = log }
        func isSame(_ known: FileStatus?, _ found: FileStatus?) -> Bool {
            guard let known else { return true }
            return found.map { $0.isSameFile(as: known) } ?? false
        }
        return isSame(self.database, database) && isSame(self.log, log)
    }
}

/// How much may be stored.
extension RelayLedger {
    func applyQuota() {
        let pageSize = 4096
        let pages = options.quotaBytes.map { max(1, ($0 + options.quotaSlackBytes) / Int64(pageSize)) }
        _ = try? database.setPragma("max_page_count", to: Int(clamping: pages ?? 4_294_967_294))
    }

    /// Whether messages, members and channels may be added now: nil, or what is in the way.
    package func lackOfRoom() -> LackOfRoom? {
        let written = Posix.status(database.path + "-wal")
        if !files.areInPlace(database: Posix.status(database.path), log: written) { return .replaced }
        if options.volumeReserveBytes > 0, let free = try? Posix.freeBytes(directory),
            free < UInt64(options.volumeReserveBytes)
        {
            return .volume
        }
        if (written?.size ?? 0) > options.walBytesMax, isLogHeld() { return .heldLog }
        guard let quota = options.quotaBytes, let used = try? usedBytes() else { return nil }
        return used < quota ? nil : .quota
    }

    /// Whether the write-ahead log is over its limit and cannot be emptied.
    private func isLogHeld() -> Bool {
        let path = database.path + "-wal"
        func isOver() -> Bool { (Posix.status(path)?.size ?? 0) > options.walBytesMax }
        guard isOver(), !database.isInTransaction else { return isOver() }
        withoutWaiting { _ = try? database.checkpoint(.truncate) }
        return isOver()
    }

    /// Runs what must not make those who publish wait for a reader.
    func withoutWaiting(_ body: () -> Void) {
        database.setBusyTimeout(milliseconds: 0)
        body()
        database.setBusyTimeout(milliseconds: busyTimeoutMilliseconds)
    }

    /// What the database holds, without pages that are free in it.
    func usedBytes() throws(SQLiteError) -> Int64 {
        try number(
            """
            SELECT (page_count - freelist_count) * page_size
            FROM pragma_page_count, pragma_freelist_count, pragma_page_size
            """)
    }
}
