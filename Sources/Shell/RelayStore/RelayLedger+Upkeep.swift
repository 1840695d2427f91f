import ChannelWire
import RelayCore
import SQLiteKit

/// What keeps the database small, clean and sound between batches.
extension RelayLedger {
    /// Sweeps a few channels for what retention drops, gives freed pages back to the disk, and wipes erased
    /// text out of the write-ahead log. Call it about once a minute.
    ///
    /// A reader in the middle of a page only makes it do less. Cost: some milliseconds, more while there is
    /// much to drop.
    package func maintain(now: Int64) {
        sweep(now)
        allowance.forgetFull(now: now)
        maintain()
    }

    /// Gives freed pages back to the disk and wipes erased text out of the write-ahead log.
    package func maintain() {
        keepEpoch()
        _ = try? database.execute("PRAGMA incremental_vacuum(2000)")
        // While somebody reads, the log is cut the next time.
        withoutWaiting {
            if (try? database.checkpoint(.truncate)) != nil { needsScrubbing = false }
        }
    }

    /// Frees what is kept of the database in memory.
    package func releaseMemory() { database.releaseMemory() }

    /// Whether text that was erased still stands in the write-ahead log.
    package var wantsMaintenance: Bool { needsScrubbing }

    /// Brings the next few channels down to what is kept. After the last of them it begins again.
    private func sweep(_ now: Int64) {
        do throws(SQLiteError) {
            try database.begin()
            let rows = try database.query(
                "SELECT channel, channel_id FROM channels WHERE channel > ? ORDER BY channel LIMIT ?",
                [.integer(sweptThrough), .integer(channelsPerSweep)]
            ) { (row: $0.int64(0), id: ChannelID(bytes: $0.blob(1))) }
            var swept: Int64 = 0
            for (row, id) in rows {
                if let id, let channel = try book.find(id) {
                    // The rest of a large one comes with the next sweep.
                    guard try prune(channel, now).isWhole else { break }
                }
                swept = row
            }
            try trimLists()
            try book.flush()
            try database.commit()
            let isWhole = swept == rows.last?.row
            sweptThrough = isWhole && rows.count < channelsPerSweep ? 0 : max(swept, sweptThrough)
        } catch {
            database.rollback()
            book.dropAll()
        }
    }

    /// Checks the structure of the database, and what must hold between its rows.
    ///
    /// Shape: one line a fault, empty when it is sound.
    package func check() throws(RelayStoreError) -> [String] {
        try storing(database.path) {
            let faults = try database.quickCheck()
            guard faults.isEmpty else { return faults }
            return try StoreAudit.problem(database, everyRow: true).map { [$0] } ?? []
        }
    }
}

/// More channels than these would make a sweep felt by those who publish.
private let channelsPerSweep: Int64 = 200
