internal import ClientStore

/// Control links to the relays that carry a channel and lack its newest record, kept until they have it.
final class RecordTelling {
    private let runtime: ChannelRuntime
    private var sessions: [(session: RelaySession, failures: Int)] = []
    private var demands: [RelaySession.Demand] = []
    private let patience: Patience

    init(runtime: ChannelRuntime) {
        self.runtime = runtime
        patience = Patience(engine: runtime.engine, milliseconds: Self.silentMilliseconds)
    }

    /// Whether a record is about to be made or a relay still lacks the one that was.
    var isNeeded: Bool { runtime.isOwner && (runtime.recordTimer != nil || !lacking.isEmpty) }

    /// Every relay has the record or cannot be reached now; one that is silent is not waited for long.
    var isSettled: Bool {
        guard isNeeded, !patience.isOver else { return true }
        patience.begin()
        guard runtime.recordTimer == nil else { return false }
        return lacking.allSatisfy { row in
            guard let known = sessions.first(where: { $0.session.relayID == row.id }) else {
                let session = runtime.session(row)
                sessions.append((session, session.control.failureCount))
                demands.append(session.demandControl())
                return false
            }
            return known.session.control.isSuspended || known.session.control.failureCount > known.failures
        }
    }

    func end() {
        patience.end()
        demands = []
    }

    private var lacking: [StoredChannelRelay] {
        runtime.relayRows().filter { runtime.session($0).control.needsRecord($0) }
    }

    private static let silentMilliseconds: Int64 = 2000
}

extension Engine {
    /// Calls `done` once the relays have heard of the newest record, or the time is over.
    func tellRecord(of runtime: ChannelRuntime, milliseconds: Int64, _ done: @escaping () -> Void) {
        let telling = RecordTelling(runtime: runtime)
        wait(milliseconds: milliseconds) { [weak self] expired in
            guard expired || telling.isSettled else { return false }
            self?.later {
                telling.end()
                done()
            }
            return true
        }
    }
}
