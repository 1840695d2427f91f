internal import ChannelWire
internal import ClientCore
internal import ClientStore
internal import LibeventLoop

/// The relays of one call that invites, and what each came to.
final class Invitation {
    private let engine: Engine
    private let runtime: ChannelRuntime
    private let rows: [(row: StoredChannelRelay, failures: Int)]
    private var demands: [RelaySession.Demand] = []
    private let progress: Engine.RelayProgress?
    private var told: Set<Int64> = []
    private let began: Int64

    init(engine: Engine, runtime: ChannelRuntime, rows: [StoredChannelRelay], progress: Engine.RelayProgress?)
    {
        self.engine = engine
        self.runtime = runtime
        self.rows = rows.map { ($0, runtime.session($0).control.failureCount) }
        self.progress = progress
        began = engine.loop.nowMonotonicMilliseconds
        demands = rows.map { runtime.session($0).demandControl() }
        // A relay that waits for its operator says nothing: look again then.
        nudge = engine.loop.timer(afterMilliseconds: Self.operatorMilliseconds + 100, repeating: true) {
            [weak engine] in
            engine?.changed()
        }
    }

    private var nudge: LoopTimer?

    func end() {
        demands = []
        nudge = nil
    }

    /// All outcomes once each relay has one; where the time is over, with what is known.
    func outcomes(expired: Bool) -> [RelayOutcome]? {
        var outcomes: [RelayOutcome] = []
        var open: [RelayOutcome] = []
        for (row, failures) in rows {
            if let final = final(row, failures: failures) {
                outcomes.append(final)
                if told.insert(row.id).inserted { progress?(final) }
            } else {
                let current = current(row)
                outcomes.append(current)
                open.append(current)
            }
        }
        if open.isEmpty || expired
            || rows.allSatisfy({ isOperatorsTurn($0.row) || final($0.row, failures: $0.failures) != nil })
        {
            for (outcome, entry) in zip(outcomes, rows) where told.insert(entry.row.id).inserted {
                progress?(outcome)
            }
            return outcomes
        }
        return nil
    }

    private func final(_ row: StoredChannelRelay, failures: Int) -> RelayOutcome? {
        guard let now = runtime.row(row.id) else {
            return RelayOutcome(relay: row.name, result: .failed("removed", retriable: false))
        }
        switch now.relay.status {
        case .active: return RelayOutcome(relay: row.name, result: .active)
        case .rejected: return RelayOutcome(relay: row.name, result: .rejected(now.relay.reason ?? ""))
        case .inactive:
            return RelayOutcome(relay: row.name, result: .failed("the relay left", retriable: false))
        case .new, .invited, .accepted, .acknowledgedRoster: break
        }
        let control = runtime.session(now).control
        if control.isSuspended {
            return RelayOutcome(
                relay: row.name, result: .failed(now.lastError ?? "refused", retriable: false))
        }
        // A relay that cannot be reached at all is not waited for; the client goes on trying in the
        // background.
        if now.relay.status == .new, control.failureCount > failures,
            let failure = control.connection.lastFailure
        {
            return RelayOutcome(relay: row.name, result: .failed(failure.text, retriable: failure.retriable))
        }
        return nil
    }

    private func current(_ row: StoredChannelRelay) -> RelayOutcome {
        guard let now = runtime.row(row.id) else {
            return RelayOutcome(relay: row.name, result: .failed("removed", retriable: false))
        }
        if now.relay.status == .new {
            return RelayOutcome(
                relay: row.name, result: .failed(now.lastError ?? "no answer in time", retriable: true))
        }
        if !runtime.session(now).control.isControlling {
            return RelayOutcome(relay: row.name, result: .noAnswer(now.lastError ?? "no answer in time"))
        }
        return RelayOutcome(relay: row.name, result: .pending(engine.publicRelay(now).status))
    }

    /// The invitation arrived and the relay is silent: its operator decides, which may take days.
    private func isOperatorsTurn(_ row: StoredChannelRelay) -> Bool {
        guard let now = runtime.row(row.id), now.relay.status == .invited else { return false }
        let control = runtime.session(now).control
        guard control.isControlling, let invitedAt = control.invitedAt else { return false }
        return engine.loop.nowMonotonicMilliseconds - invitedAt >= Self.operatorMilliseconds
    }

    private static let operatorMilliseconds: Int64 = 3000
}
