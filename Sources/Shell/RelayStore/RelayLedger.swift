import ChannelWire
import PosixKit
import RelayCore
import SQLiteKit
import SodiumCrypto

/// The one writer of a relay's state: it decides by the machines of RelayCore, inside transactions.
///
/// ```
///   commands ──▶ perform ──▶ BEGIN IMMEDIATE, decide and apply each, COMMIT ──▶ replies, notices
///                              on any failure: ROLLBACK, caches dropped, each command again on its own
/// ```
///
/// A reply exists only when the commit that holds its effect has reached the disk. Thread: one, the first
/// that uses it after opening.
package final class RelayLedger {
    /// The version of the SQLite in use.
    package static var sqliteVersion: String { Database.libraryVersion }

    /// For a process that is a relay and nothing else, before its ledger is opened: SQLite leaves out what
    /// nobody asks it here.
    package static func prepareProcess() { Database.doNotCountMemory() }

    package let directory: String
    /// Names this database's log. Shape: 8 bytes.
    package let epoch: [UInt8]
    /// May be changed between batches.
    package var options: LedgerOptions {
        didSet { if options.quotaBytes != oldValue.quotaBytes { applyQuota() } }
    }

    /// Holds the lock; nil once closed.
    private var state: StateDirectory?
    let database: Database
    let book: ChannelBook
    let log: LogTable
    let members: MemberTable
    /// What the batch at work will tell others.
    var notices: [LedgerNotice] = []
    /// Erased text still stands in the write-ahead log.
    var needsScrubbing = false
    /// The volume was full when the epoch was settled: it is to be written down when there is room.
    private var epochIsKept = true
    /// The write-ahead log of a relay that did not end cleanly was gone at the start, and what was accepted
    /// last with it.
    package let lostLog: Bool
    var busyTimeoutMilliseconds = 5000
    /// What each address has had of invitations.
    var allowance = InvitationAllowance()
    var files: OpenFiles
    /// Where the sweep through all channels has come to.
    var sweptThrough: Int64 = 0

    /// Opens the state in a directory, creating it when there is none, and holds its lock until `close`.
    package init(directory: String, options: LedgerOptions = LedgerOptions()) throws(RelayStoreError) {
        self.directory = directory
        self.options = options
        let state = try StateDirectory(directory)
        let database = try state.openDatabase()
        (epoch, epochIsKept, lostLog) = try storing(state.databasePath) {
            try LogEpoch.settle(database, in: state)
        }
        self.state = state
        self.database = database
        files = OpenFiles(state.databasePath)
        book = ChannelBook(database)
        log = LogTable(database: database)
        members = MemberTable(database: database)
        applyQuota()
        database.detachFromThread()
    }

    // MARK: Batches

    /// Carries out commands in one transaction, and answers them in order.
    ///
    /// Units: `now` in seconds since 1970; entries are stamped with it.
    package func perform(_ commands: [LedgerCommand], now: Int64) -> LedgerBatch {
        guard !commands.isEmpty else { return LedgerBatch() }
        let lack = lackOfRoom()
        switch attempt(commands, lack, now) {
        case .success(let batch):
            return batch
        case .failure(let error):
            // A lock held by others or a failing disk is no single command's fault, and each try costs a
            // wait.
            guard commands.count > 1, !error.isBusy, !error.isIO else {
                return LedgerBatch(
                    replies: commands.map { _ in .failed(LedgerFailure(error)) },
                    noticeEnds: commands.map { _ in 0 })
            }
        }
        // One command may have spoiled it for the others.
        var whole = LedgerBatch()
        for command in commands {
            switch attempt([command], lack, now) {
            case .success(let batch):
                whole.replies += batch.replies
                whole.notices += batch.notices
            case .failure(let error):
                whole.replies.append(.failed(LedgerFailure(error)))
            }
            whole.noticeEnds.append(whole.notices.count)
        }
        return whole
    }

    /// Carries out one command.
    package func perform(_ command: LedgerCommand, now: Int64) -> LedgerBatch {
        perform([command], now: now)
    }

    private func attempt(
        _ commands: [LedgerCommand], _ lack: LackOfRoom?, _ now: Int64
    ) -> Result<LedgerBatch, SQLiteError> {
        notices = []
        var replies: [LedgerReply] = []
        replies.reserveCapacity(commands.count)
        var noticeEnds: [Int] = []
        noticeEnds.reserveCapacity(commands.count)
        let allowanceBefore = allowance
        do throws(SQLiteError) {
            try database.begin()
            for command in commands {
                if lack != nil, command.grows {
                    replies.append(.failed(.storageFull))
                } else if lack == .replaced, command.decides {
                    replies.append(.failed(.internal(LackOfRoom.replaced.rawValue)))
                } else {
                    replies.append(try carryOut(command, now))
                }
                noticeEnds.append(notices.count)
            }
            try book.flush()
            try database.commit()
        } catch {
            database.rollback()
            // What is in memory may hold what was rolled back.
            book.dropAll()
            allowance = allowanceBefore
            notices = []
            return .failure(error)
        }
        let batch = LedgerBatch(replies: replies, notices: notices, noticeEnds: noticeEnds)
        notices = []
        return .success(batch)
    }

    private func carryOut(_ command: LedgerCommand, _ now: Int64) throws(SQLiteError) -> LedgerReply {
        switch command {
        case .openControl(let control): try openControl(control)
        case .invite(let invite): try self.invite(invite, now)
        case .putRecord(let put): try putRecord(put, now)
        case .applyRoster(let roster): try applyRoster(roster, now)
        case .record(let channel): try record(channel)
        case .join(let join): try self.join(join, now)
        case .attach(let attach): try self.attach(attach)
        case .publish(let publish): .published(try self.publish(publish, now))
        case .leave(let selector, let word): try leave(selector, word, now)
        case .allow(let selector, let word): try allow(selector, word, now)
        case .acceptInvitation(let selector, let word): try acceptInvitation(selector, word, now)
        case .rejectInvitation(let selector, let word): try rejectInvitation(selector, word, now)
        case .forget(let selector, let word): try forget(selector, word, now)
        case .prune(let selector, let keep, let word): try prune(selector, keep, word, now)
        case .listChannels: .channels(try listChannels())
        case .listInvitations: .invitations(try listInvitations())
        case .listAudit(let limit): .audit(try listAudit(limit))
        case .members(let selector, let after, let limit): try listMembers(selector, after, limit)
        case .status: .status(try status())
        }
    }

    // MARK: Whose it is

    /// The identity key of the relay whose database this is; nil where none has claimed it yet.
    package func owner() throws(RelayStoreError) -> [UInt8]? {
        try storing(database.path) { try LogEpoch.owner(database) }
    }

    /// Makes this the database of the relay with an identity key, if it is nobody's.
    ///
    /// Throws: `foreign` where it is another relay's. A volume that is full leaves it nobody's.
    package func claim(for identity: [UInt8]) throws(RelayStoreError) {
        if let owner = try owner() {
            guard owner == identity else {
                throw .foreign(path: database.path, reason: LogEpoch.words(belongsTo: owner))
            }
            return
        }
        do throws(RelayStoreError) {
            try storing(database.path) { try LogEpoch.setOwner(identity, database) }
        } catch {
            guard error == .full else { throw error }
        }
    }

    // MARK: Helpers

    func number(_ sql: String, _ values: [SQLiteValue] = []) throws(SQLiteError) -> Int64 {
        try database.first(sql, values) { $0.int64(0) } ?? 0
    }

    /// How long a batch waits for a lock that another program holds on the database.
    package func setBusyTimeout(milliseconds: Int) {
        busyTimeoutMilliseconds = milliseconds
        database.setBusyTimeout(milliseconds: milliseconds)
    }

    /// Writes down an epoch that could not be written at the start.
    func keepEpoch() {
        guard !epochIsKept, let state else { return }
        epochIsKept = (try? LogEpoch.keep(epoch, database, in: state)) != nil
    }

    /// Lets go of the database, leaving it clean, and of the directory. Nothing may be asked afterwards.
    package func close() {
        guard let state else { return }
        keepEpoch()
        if epochIsKept { try? LogEpoch.renew(database, in: state) }
        let moved = try? database.checkpoint(.truncate)
        database.close()
        if moved != nil, epochIsKept { try? LogEpoch.rest(in: state) }
        self.state = nil
    }
}

@available(*, unavailable)
extension RelayLedger: Sendable {}

/// What came of a batch.
package struct LedgerBatch: Sendable {
    /// One a command, in order.
    package var replies: [LedgerReply] = []
    /// What others must learn of, in the order in which it happened.
    package var notices: [LedgerNotice] = []
    /// For each reply, how many of the notices had come up when its command was done.
    package var noticeEnds: [Int] = []
}

extension LedgerFailure {
    init(_ error: SQLiteError) {
        self = error.isFull ? .storageFull : .internal(error.description)
    }
}

extension LedgerCommand {
    /// It stores what peers send, so it waits while the disk is full. What reads, and what an operator does,
    /// goes on.
    var grows: Bool {
        switch self {
        case .invite, .putRecord, .applyRoster, .join, .publish: true
        default: false
        }
    }

    /// It is an operator's word that has to last.
    var decides: Bool {
        switch self {
        case .leave, .allow, .acceptInvitation, .rejectInvitation, .forget, .prune: true
        default: false
        }
    }

    /// It frees room, which is given back to the disk at once.
    package var drops: Bool {
        switch self {
        case .prune, .forget: true
        default: false
        }
    }
}
