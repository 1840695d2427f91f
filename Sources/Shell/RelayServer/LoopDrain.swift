internal import ChannelWire
internal import LibeventLoop
internal import LinkRuntime
internal import PosixKit

/// One loop's goodbye: every client is told when to come back, then the links are closed one after the other.
///
/// ```
///   begin: DRAIN with a delay of its own to each link
///   first half of the time: links close, each at its own moment, once nothing of them is under way
///   at the end of the time: what is left is closed
/// ```
final class LoopDrain {
    private unowned let loop: RelayLoop
    private let lifecycle: Mailbox<LifecycleMessage>
    private let milliseconds: Int64
    private var due: [(at: Int64, session: LinkSession)] = []
    private var ticker: LoopTimer?
    private var deadline: LoopTimer?
    private var isFinished = false

    /// Clients come back spread over this time at least, so that a restart is no stampede.
    private static let returnSpreadMilliseconds: Int64 = 10_000
    private static let tickMilliseconds: Int64 = 20

    init(milliseconds: Int64, loop: RelayLoop, lifecycle: Mailbox<LifecycleMessage>) {
        self.milliseconds = milliseconds
        self.loop = loop
        self.lifecycle = lifecycle
    }

    func begin(_ sessions: [LinkSession]) {
        guard !sessions.isEmpty else { return finish() }
        let now = loop.loop.nowMonotonicMilliseconds
        let spread = milliseconds / 2
        var random = SystemRandomNumberGenerator()
        for session in sessions {
            let delay = Int64.random(in: 500...LoopDrain.returnSpreadMilliseconds, using: &random)
            session.drainDelay = UInt32(delay)
            session.send(.drain(delayMs: UInt32(delay)))
            due.append((now + (spread > 0 ? Int64.random(in: 0...spread, using: &random) : 0), session))
        }
        // The next one stands last.
        due.sort { $0.at > $1.at }
        ticker = loop.loop.timer(afterMilliseconds: LoopDrain.tickMilliseconds, repeating: true) {
            [unowned self] in self.closeDue()
        }
        deadline = loop.loop.timer(afterMilliseconds: milliseconds) { [unowned self] in self.hurry() }
    }

    private func closeDue() {
        let now = loop.loop.nowMonotonicMilliseconds
        while let next = due.last, next.at <= now {
            due.removeLast()
            next.session.wantsToClose = true
            loop.closeIfQuiet(next.session)
        }
    }

    /// The time is up, or the operator is in a hurry.
    func hurry() {
        due = []
        loop.closeAllAtOnce()
    }

    /// No link is left.
    func finish() {
        guard !isFinished else { return }
        isFinished = true
        ticker = nil
        deadline = nil
        lifecycle.post(.loopDrained(loop.index))
    }
}

@available(*, unavailable)
extension LoopDrain: Sendable {}
