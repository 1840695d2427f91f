package import ChannelWire
import PosixKit
import RelayCore
import SQLiteKit

/// Reads a relay's database on a thread of its own, while the ledger goes on writing.
///
/// Each method sees one state of the database. Thread: one at a time; the first to use it keeps it.
package final class RelayReader {
    private let database: Database
    private let path: String

    /// Opens the database of a directory that a `RelayLedger` has opened already.
    package init(directory: String) throws(RelayStoreError) {
        let file = directory + "/" + StateDirectory.databaseName
        path = file
        database = try storing(file) {
            let database = try Database(path: file, mode: .readOnly)
            try database.setPragma("query_only", to: "ON")
            return database
        }
    }

    /// Lets another thread take over.
    package func detachFromThread() {
        database.detachFromThread()
    }

    // MARK: Catching up

    /// A stretch of a log as frames, without a hole from `after` + 1 to `through`.
    package struct Page: Equatable, Sendable {
        /// Shape: whole DELIVER and GAP frames, ready to send.
        package var frames: [UInt8]
        /// The last sequence that the frames cover; `after` when there was nothing more.
        package var through: Int64
        /// The log's head when the page was read.
        package var head: Int64
        /// Entries that are no frames any more; readers are told of a gap in their place.
        package var damaged: [Int64] = []
    }

    /// Reads what follows a position, up to `maxBytes` of frames but at least one entry.
    ///
    /// Nil: the relay has no such channel any more.
    package func page(_ channel: ChannelID, after: Int64, maxBytes: Int) throws(RelayStoreError) -> Page? {
        try storing(path) {
            try database.snapshot {
                guard let log = try bounds(channel) else { return nil }
                return try page(log, after: after, maxBytes: maxBytes)
            }
        }
    }

    private struct Bounds {
        let row: Int64
        let first: Int64
        let head: Int64
    }

    private func bounds(_ channel: ChannelID) throws(SQLiteError) -> Bounds? {
        try database.first(
            """
            SELECT channel, log_first, log_head FROM channels JOIN counters USING (channel)
            WHERE channel_id = ?
            """, [.blob(channel.bytes)]
        ) { Bounds(row: $0.int64(0), first: $0.int64(1), head: $0.int64(2)) }
    }

    private func page(_ log: Bounds, after: Int64, maxBytes: Int) throws(SQLiteError) -> Page {
        var page = Page(frames: [], through: after, head: log.head)
        if after + 1 < log.first {
            page.frames += GapFrame.encode(from: after + 1, to: log.first - 1, reason: .pruned)
            page.through = log.first - 1
        }
        var isWhole = true
        try database.forEach(
            "SELECT sequence, frame FROM log WHERE channel = ? AND sequence > ? ORDER BY sequence",
            [.integer(log.row), .integer(page.through)]
        ) { row in
            let sequence = row.int64(0)
            let frame = row.blob(1)
            // A damaged row must not keep readers from what comes after it: it is gone as an erased one is.
            guard DeliverFrame.isWhole(frame, sequence: sequence) else {
                page.damaged.append(sequence)
                return .next
            }
            if !page.frames.isEmpty, page.frames.count + frame.count > maxBytes {
                isWhole = false
                return .stop
            }
            if sequence > page.through + 1 {
                page.frames += GapFrame.encode(from: page.through + 1, to: sequence - 1, reason: .erased)
            }
            page.frames += frame
            page.through = sequence
            return .next
        }
        if isWhole, page.through < log.head {
            page.frames += GapFrame.encode(from: page.through + 1, to: log.head, reason: .erased)
            page.through = log.head
        }
        return page
    }

    // MARK: History

    /// What a client asks of the past. Source: docs/protocol/frames.md, HISTORY_GET.
    package enum HistoryQuestion: Equatable, Sendable {
        /// The nearest messages before a sequence.
        case beforeSequence(Int64)
        /// The nearest messages before a time.
        case beforeTime(Int64)
        /// The oldest messages from a time on.
        case fromTime(Int64)
    }

    package struct HistoryPage: Equatable, Sendable {
        /// In rising sequence. Shape: each is the batch that a HISTORY frame carries.
        package var messages: [(sequence: Int64, batch: [UInt8])]
        /// There is more in the direction asked for.
        package var more: Bool

        package static func == (left: HistoryPage, right: HistoryPage) -> Bool {
            left.more == right.more
                && left.messages.elementsEqual(right.messages) {
                    $0.sequence == $1.sequence && $0.batch == $1.batch
                }
        }

        /// The lowest sequence of the page, 0 when it is empty.
        package var first: Int64 { messages.first?.sequence ?? 0 }
    }

    /// Reads a page of the past: at most `limit` messages, and no more than `maxBytes` of them.
    package func history(
        _ channel: ChannelID, _ question: HistoryQuestion, limit: Int, maxBytes: Int = 4 << 20
    ) throws(RelayStoreError) -> HistoryPage? {
        try storing(path) {
            try database.snapshot {
                guard let log = try bounds(channel) else { return nil }
                return try history(log, question, limit: limit, maxBytes: maxBytes)
            }
        }
    }

    private func history(
        _ log: Bounds, _ question: HistoryQuestion, limit: Int, maxBytes: Int
    ) throws(SQLiteError) -> HistoryPage {
        let search = LogSearch(database: database, channel: log.row)
        let isForward: Bool
        let from: Int64
        switch question {
        case .beforeSequence(let sequence):
            (isForward, from) = (false, sequence)
        case .beforeTime(let time):
            (isForward, from) = (
                false, try search.lastSequence(before: time).map { $0 + 1 } ?? 0
            )
        case .fromTime(let time):
            (isForward, from) = (true, try search.lastSequence(before: time) ?? 0)
        }
        let condition = isForward ? "sequence > ? ORDER BY sequence" : "sequence < ? ORDER BY sequence DESC"
        let wanted = min(max(limit, 1), Limits.historyPageMax)
        var page = HistoryPage(messages: [], more: false)
        var size = 0
        try database.forEach(
            "SELECT sequence, frame FROM log WHERE channel = ? AND \(condition)",
            [.integer(log.row), .integer(from)]
        ) { row in
            guard page.messages.count < wanted, page.messages.isEmpty || size < maxBytes else {
                page.more = true
                return .stop
            }
            let (sequence, frame) = (row.int64(0), row.blob(1))
            guard DeliverFrame.isWhole(frame, sequence: sequence) else { return .next }
            size += frame.count
            page.messages.append((sequence, Array(frame[DeliverFrame.batchOffset...])))
            return .next
        }
        if !isForward { page.messages.reverse() }
        return page
    }

    // MARK: Backup

    /// Writes a whole copy of the database as it is now, checked.
    ///
    /// It may be put to work in another directory, or by `Restore`. The ledger goes on writing meanwhile. The
    /// file appears under its name only when it is whole, in the place of an older one.
    /// Throws: `cannotCreate` where the name is that of a device, a directory or a file of the relay itself.
    package func backup(to path: String) throws(RelayStoreError) {
        try StateDirectory.refuseToReplace(path, besides: self.path)
        try storing(path) {
            let unfinished = path + ".new"
            try Posix.removeFile(unfinished)
            try Posix.writeFileAtomically(unfinished, [], mode: 0o600)
            let copy = try Database(path: unfinished, mode: .readWrite)
            // One step: a copy in several would begin again with every write of the ledger.
            _ = try Backup(from: database, to: copy).step()
            try copy.setPragma("journal_mode", to: "DELETE")
            try LogEpoch.markCopy(copy)
            let problem = try StoreAudit.wholeProblem(copy)
            copy.close()
            if let problem { throw RelayStoreError.corrupt(path: database.path, reason: problem) }
            try Posix.rename(unfinished, to: path)
            try Posix.syncDirectory(of: path)
        }
    }

    // MARK: Members

    /// A page of members by rising id, for an owner.
    package func members(
        _ channel: ChannelID, after: MemberID?, limit: Int
    ) throws(RelayStoreError) -> MembersPage? {
        try storing(path) {
            try database.snapshot {
                try MemberTable(database: database).page(channel, after: after, limit: limit)
            }
        }
    }
}

@available(*, unavailable)
extension RelayReader: Sendable {}
