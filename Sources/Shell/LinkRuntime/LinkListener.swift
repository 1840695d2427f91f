package import ChannelWire
package import LibeventLoop
package import PosixKit
internal import Synchronization

/// Takes connections of a listening socket and hands them on, to this loop or another.
///
/// When descriptors run out it stops asking for a while instead of spinning, and when connections come faster
/// than links can be opened they wait with the kernel, where they cost nothing:
/// ```
///  accepting ── no descriptor ──▶ backing off (100 ms, 200 ms … 1 s) ── time passed ──▶ accepting
///      └─────── credit used up ─▶ waiting (some milliseconds) ─────── time passed ──▶ accepting
/// ```
package final class LinkListener {
    /// Gets each connection that was let in.
    package typealias Take = (_ connection: consuming FileDescriptor, _ peer: SocketAddress?) -> Void
    /// Nil lets the connection in; an error is told to the client in the refusal, as with too many
    /// connections.
    package typealias Admit = (_ peer: SocketAddress?) -> LinkErrorCode?

    private let loop: EventLoop
    private let socket: FileDescriptor
    private let admit: Admit
    private let take: Take
    private let trouble: (PosixError) -> Void
    private let accept: (Int32) -> AcceptResult
    private let pace: UInt64
    private var event: LoopEvent?
    private var timer: LoopTimer?
    private var delay: Int64 = 0
    private var isInTrouble = false
    /// Connections that may be accepted now.
    private var credit = LinkListener.creditMax
    private var creditedAt = Clock.monotonicNanoseconds()

    package private(set) var refusedCount: UInt64 = 0
    /// Whether the listener waits for descriptors to become free.
    package var isBackingOff: Bool { delay > 0 && timer?.isRunning == true }
    package var address: SocketAddress? { Posix.localAddress(socket.raw) }

    /// Starts at once.
    /// `trouble` is called once for each time that accepting begins to fail, not for each attempt. `accept`
    /// is another function in tests only. `pace` is the time for each connection, in nanoseconds.
    package init(
        loop: EventLoop, socket: consuming FileDescriptor, admit: @escaping Admit = { _ in nil },
        trouble: @escaping (PosixError) -> Void, accept: @escaping (Int32) -> AcceptResult = Posix.accept,
        pace: UInt64 = LinkListener.pace, take: @escaping Take
    ) {
        self.pace = pace
        self.loop = loop
        self.socket = socket
        self.admit = admit
        self.take = take
        self.trouble = trouble
        self.accept = accept
        event = loop.watch(self.socket.raw, .read, persist: true) { [unowned self] in self.acceptSome() }
        event?.add()
    }

    /// Stops accepting for good; connections that are let in already go on.
    package func stop() {
        event?.remove()
        event = nil
        timer = nil
    }

    deinit { event?.remove() }

    /// Bounded in each turn and in each second, so that a flood of connections leaves the loop's links their
    /// time.
    private func acceptSome() {
        earnCredit()
        for _ in 0..<LinkListener.acceptedPerWakeUp {
            guard credit > 0 else { return wait(milliseconds: 1) }
            switch accept(socket.raw) {
            case .accepted(let connection, let peer):
                delay = 0
                if let code = admit(peer) {
                    refuse(connection, code)
                } else {
                    credit -= 1
                    take(connection, peer)
                }
                if event == nil { return }
            case .again: continue
            case .wouldBlock:
                // Only an empty backlog ends the trouble: one connection let in between two failures does
                // not.
                delay = 0
                isInTrouble = false
                return
            case .failed(let error): return backOff(error)
            }
        }
    }

    /// Says no in the clear. The client's first flight is read where it has come, since closing over unread
    /// bytes would reset the connection and could lose the refusal.
    private func refuse(_ connection: consuming FileDescriptor, _ code: LinkErrorCode) {
        refusedCount += 1
        _ = Posix.send(connection.raw, LinkPreface.Relay.refusal(code.rawValue).bytes)
        _ = Posix.receive(connection.raw, limit: 256)
        Posix.shutdownWriting(connection.raw)
    }

    private func earnCredit() {
        let earned = Int((Clock.monotonicNanoseconds() - creditedAt) / pace)
        creditedAt += UInt64(earned) * pace
        credit = min(credit + earned, LinkListener.creditMax)
    }

    private func wait(milliseconds: Int64) {
        event?.remove()
        timer = loop.timer(afterMilliseconds: milliseconds) { [unowned self] in self.event?.add() }
    }

    private func backOff(_ error: PosixError) {
        if !isInTrouble { trouble(error) }
        isInTrouble = true
        delay = delay == 0 ? LinkListener.firstDelay : min(delay * 2, LinkListener.lastDelay)
        wait(milliseconds: delay)
    }

    private static let acceptedPerWakeUp = 8
    /// 2,000 in a second, about as many as two loops can answer.
    package static let pace: UInt64 = 500_000
    package static let creditMax = 256
    private static let firstDelay: Int64 = 100
    private static let lastDelay: Int64 = 1000
}

@available(*, unavailable)
extension LinkListener: Sendable {}

/// Counts the connections of all loops, in all and by address. Source: limits.md, "connections".
package final class ConnectionCounter: Sendable {
    private struct Counts {
        var total = 0
        var byAddress: [SocketAddress: Int] = [:]
        var totalMax: Int
        var perAddressMax: Int
    }

    private let counts: Mutex<Counts>

    package init(totalMax: Int, perAddressMax: Int) {
        counts = Mutex(Counts(totalMax: totalMax, perAddressMax: perAddressMax))
    }

    package var totalMax: Int { counts.withLock { $0.totalMax } }

    /// Other limits from now on; who is in stays.
    package func setLimits(totalMax: Int, perAddressMax: Int) {
        counts.withLock { counts in
            counts.totalMax = totalMax
            counts.perAddressMax = perAddressMax
        }
    }

    /// Counts one more; false, and nothing is counted, when that is one too many. A peer without an address
    /// (on a Unix socket) counts in the total only.
    package func enter(_ peer: SocketAddress?) -> Bool {
        let key = peer?.countingKey
        return counts.withLock { counts in
            guard counts.total < counts.totalMax else { return false }
            if let key {
                let now = counts.byAddress[key, default: 0]
                guard now < counts.perAddressMax else { return false }
                counts.byAddress[key] = now + 1
            }
            counts.total += 1
            return true
        }
    }

    /// Undoes one `enter`.
    package func leave(_ peer: SocketAddress?) {
        let key = peer?.countingKey
        counts.withLock { counts in
            counts.total -= 1
            precondition(counts.total >= 0, "who leaves has entered")
            guard let key, let now = counts.byAddress[key] else { return }
            counts.byAddress[key] = now > 1 ? now - 1 : nil
        }
    }

    package var total: Int { counts.withLock { $0.total } }
    /// Of how many addresses something is kept: those of connections that are open.
    package var addressCount: Int { counts.withLock { $0.byAddress.count } }
    package func count(_ peer: SocketAddress) -> Int {
        counts.withLock { $0.byAddress[peer.countingKey, default: 0] }
    }
}
