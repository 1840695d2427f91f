internal import ChannelWire
internal import ClientCore
internal import ClientStore

/// The answers of a link's relays to one question for the record.
final class RecordFetch {
    private let channel: ChannelID
    private(set) var open: Int
    private var best: VerifiedRecord?
    private var failures: [RelayOutcome] = []
    private var isInvalid = false
    private var isOver = false
    var hasRecord: Bool { best != nil }

    init(channel: ChannelID, open: Int) {
        self.channel = channel
        self.open = open
    }

    func answered(_ bytes: [UInt8], crypto: ChannelCrypto, host: String) {
        open -= 1
        do throws(VerifiedRecord.Problem) {
            let record = try VerifiedRecord(bytes, expected: channel, crypto: crypto)
            if best == nil || record.version > (best?.version ?? 0) { best = record }
        } catch {
            isInvalid = true
            failures.append(
                RelayOutcome(
                    relay: host, result: .failed("the record does not verify: \(error)", retriable: false)))
        }
    }

    func failed(_ failure: ConnectionFailure, host: String) {
        open -= 1
        failures.append(
            RelayOutcome(relay: host, result: .failed(failure.text, retriable: failure.retriable)))
    }

    /// Hands over the result, once.
    func end(_ done: (Result<VerifiedRecord, ChannelClientError>) -> Void) {
        guard !isOver else { return }
        isOver = true
        done(result)
    }

    private var result: Result<VerifiedRecord, ChannelClientError> {
        if let best { return .success(best) }
        if isInvalid {
            return .failure(
                .init(
                    .invalidRecord, "What the relay serves for this channel does not verify.",
                    relays: failures))
        }
        let detail = failures.first.map { outcome in
            if case .failed(let text, _) = outcome.result {
                "\(outcome.relay): \(text)"
            } else {
                outcome.relay
            }
        }
        return .failure(
            .init(
                .unreachable,
                "No relay of the link serves this channel (\((detail ?? "no relay").withoutFullStop)).",
                relays: failures))
    }
}

/// One page of members, from the first relay that answers.
final class MembersQuestion {
    private let runtime: ChannelRuntime
    private let after: MemberID?
    private let limit: Int
    private var sessions: [(session: RelaySession, failures: Int, isAsked: Bool, hasRefused: Bool)]
    private var demands: [RelaySession.Demand] = []
    private var answer: Frame.MembersPage?
    private var failure: ConnectionFailure?

    init(runtime: ChannelRuntime, sessions: [RelaySession], after: MemberID?, limit: Int) {
        self.runtime = runtime
        self.after = after
        self.limit = limit
        self.sessions = sessions.map { ($0, $0.control.failureCount, false, false) }
        demands = sessions.map { $0.demandControl() }
    }

    func end() { demands = [] }

    /// Nil while nobody has answered.
    func proceed(expired: Bool) -> Result<MemberPage, ChannelClientError>? {
        for index in sessions.indices {
            let session = sessions[index].session
            guard session.control.isControlling, !sessions[index].isAsked else { continue }
            sessions[index].isAsked = true
            session.control.members(after: after, limit: limit) {
                [weak self, weak engine = runtime.engine] result in
                switch result {
                case .success(let page): if self?.answer == nil { self?.answer = page }
                case .failure(let failure):
                    self?.sessions[index].hasRefused = true
                    self?.failure = failure
                }
                engine?.changed()
            }
        }
        if let answer { return .success(page(answer)) }
        let isOver = sessions.allSatisfy {
            $0.isAsked ? $0.hasRefused : $0.session.control.failureCount > $0.failures
        }
        guard expired || isOver else { return nil }
        let reason =
            failure?.text ?? sessions.compactMap { $0.session.control.connection.lastFailure?.text }.first
        return .failure(
            .init(
                expired && !isOver ? .timedOut : .unreachable,
                "No relay told the members: \((reason ?? "no answer in time").withoutFullStop)."))
    }

    private func page(_ page: Frame.MembersPage) -> MemberPage {
        MemberPage(
            members: page.rows.map {
                ChannelMember(
                    id: $0.member.text, name: printable($0.name), role: .init(rawValue: printable($0.role)),
                    status: printable($0.status), joinedAt: $0.joinedAt > 0 ? $0.joinedAt : nil,
                    isSelf: $0.member == runtime.me)
            }, total: page.total, next: page.more ? page.rows.last?.member.text : nil)
    }
}

/// One page of history, from the first relay that answers.
final class HistoryQuestion {
    private let runtime: ChannelRuntime
    private let before: StoredMessage?
    private let limit: Int
    private var sessions: [(session: RelaySession, failures: Int, isAsked: Bool, hasRefused: Bool)]
    private var demands: [RelaySession.Demand] = []
    private var isAnswered = false
    private var failure: ConnectionFailure?

    init(runtime: ChannelRuntime, sessions: [RelaySession], before: StoredMessage?, limit: Int) {
        self.runtime = runtime
        self.before = before
        self.limit = limit
        self.sessions = sessions.map { ($0, $0.member.failureCount, false, false) }
        demands = sessions.map { $0.demandMember() }
    }

    func end() { demands = [] }

    /// Nil while nobody has answered; then nil or the error.
    func proceed(expired: Bool) -> (error: ChannelClientError?, Void)? {
        for index in sessions.indices {
            let session = sessions[index].session
            guard session.member.isCaughtUp, !sessions[index].isAsked else { continue }
            sessions[index].isAsked = true
            let (mode, value) = start(session.relayID)
            session.member.history(mode: mode, value: value, limit: limit) {
                [weak self, weak engine = runtime.engine] result in
                switch result {
                case .success: self?.isAnswered = true
                case .failure(let failure):
                    self?.sessions[index].hasRefused = true
                    self?.failure = failure
                }
                engine?.changed()
            }
        }
        if isAnswered { return (nil, ()) }
        let isOver = sessions.allSatisfy {
            $0.isAsked ? $0.hasRefused : $0.session.member.failureCount > $0.failures
        }
        guard expired || isOver else { return nil }
        let reason =
            failure?.text ?? sessions.compactMap { $0.session.member.connection.lastFailure?.text }.first
        return (
            .init(
                expired && !isOver ? .timedOut : .unreachable,
                "No relay told the history: \((reason ?? "no answer in time").withoutFullStop)."), ()
        )
    }

    /// By the relay's sequence where it delivered the message, else by time.
    private func start(_ relayID: Int64) -> (Frame.HistoryMode, Int64) {
        guard let before else { return (.beforeSequence, .max) }
        let engine = runtime.engine
        let sequence =
            engine.background { try engine.store.sequence(of: before.event, relay: relayID) } ?? nil
        if let sequence, sequence > 0 { return (.beforeSequence, sequence) }
        return (.beforeTime, before.time == .max ? .max : before.time + 1)
    }
}

/// One relay of one channel in a call that catches up.
final class SynchronizeTarget {
    let runtime: ChannelRuntime
    let relayID: Int64
    private let session: RelaySession
    private let memberFailures: Int
    private let controlFailures: Int
    private var demands: [RelaySession.Demand] = []

    /// Connects within `spread` milliseconds: a call that catches up wants every membership at once.
    init(runtime: ChannelRuntime, row: StoredChannelRelay, spread: Int64) {
        self.runtime = runtime
        relayID = row.id
        session = runtime.session(row)
        memberFailures = session.member.failureCount
        controlFailures = session.control.failureCount
        demands = [session.demandMember(within: spread)]
        if runtime.isOwner { demands.append(session.demandControl(within: spread)) }
    }

    private var memberFailed: Bool {
        session.member.failureCount > memberFailures || session.member.isSuspended
    }
    private var controlFailed: Bool {
        session.control.failureCount > controlFailures || session.control.isSuspended
    }

    /// Everything is said and heard, or the relay cannot be reached now.
    var isSettled: Bool {
        guard let row = runtime.row(relayID) else { return true }
        // A record that is about to be made is still to be told.
        if runtime.recordTimer != nil { return false }
        if row.relay.awaitsRejection, runtime.isOwner { return controlFailed }
        guard row.relay.takesMessages else { return true }
        if runtime.isOwner, !isControlSettled(row) { return false }
        let usable = runtime.isOwner ? row.relay.isPublishable : row.relay.status == .active
        guard usable else { return true }
        if memberFailed { return true }
        guard session.member.isCaughtUp, !session.member.awaitsRecord else { return false }
        let engine = runtime.engine
        return engine.background { try engine.store.pendingRows(relay: relayID, limit: 1).isEmpty } ?? true
    }

    private func isControlSettled(_ row: StoredChannelRelay) -> Bool {
        if controlFailed { return true }
        guard session.control.isControlling else { return false }
        switch row.relay.status {
        case .new, .accepted, .acknowledgedRoster: return false
        // Where the operator has not decided there is nothing to wait for; where they have, the answer is on
        // its way.
        case .invited: return session.control.isOperatorsTurn
        case .active, .inactive, .rejected: return !session.control.needsRecord(row)
        }
    }

    var failure: (channel: String, relay: String, reason: String)? {
        guard let row = runtime.row(relayID), row.relay.takesMessages else { return nil }
        let usable = runtime.isOwner ? row.relay.isPublishable : row.relay.status == .active
        let connection =
            usable && !session.member.isAttached
            ? session.member.connection
            : runtime.isOwner && !session.control.isControlling ? session.control.connection : nil
        guard let connection else { return nil }
        return (runtime.localName, row.name, connection.lastFailure?.text ?? "no answer in time")
    }
}

/// All relays of a call that catches up.
final class SynchronizeRound {
    private var targets: [SynchronizeTarget]

    init(_ targets: [SynchronizeTarget]) { self.targets = targets }

    /// A record that comes meanwhile may bring other relays; they belong to it, too.
    var isSettled: Bool {
        guard targets.allSatisfy(\.isSettled) else { return false }
        let known = Set(targets.map(\.relayID))
        var added: [SynchronizeTarget] = []
        var seen: Set<Int64> = []
        for runtime in targets.map(\.runtime) where runtime.isCurrent && seen.insert(runtime.id).inserted {
            for row in runtime.relayRows() where row.relay.takesMessages && !known.contains(row.id) {
                added.append(SynchronizeTarget(runtime: runtime, row: row, spread: 0))
            }
        }
        targets += added
        return added.isEmpty
    }
    var failures: [(channel: String, relay: String, reason: String)] { targets.compactMap(\.failure) }
    var reached: Int { targets.count - failures.count }
    func end() { targets = [] }
}

extension String {
    /// For the middle of a sentence: what relays say may end like a whole one.
    fileprivate var withoutFullStop: String { hasSuffix(".") ? String(dropLast()) : self }
}
