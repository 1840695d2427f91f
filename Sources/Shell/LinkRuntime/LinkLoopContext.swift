package import LibeventLoop
import PosixKit
internal import SodiumCrypto

/// What all links of one loop share: the loop, the scratch memory, the deadlines.
///
/// It also keeps every link alive until its delegate has been told of the close.
package final class LinkLoopContext {
    package let loop: EventLoop
    /// How exact deadlines are. Units: milliseconds.
    package let tickMilliseconds: Int64
    /// The wall clock for certificates. Units: seconds since 1970.
    package let wallSeconds: () -> Int64
    /// Ticks since the context was made; as exact as the deadlines are.
    private(set) var tick: UInt32 = 1
    /// Whose links have all been looked at; behind `tick` only while a sweep takes several turns.
    private var sweptTick: UInt32 = 1

    let receive = ScratchBuffer(count: 2 * maximumRecord)
    /// Room for all records that one send can make: the control queue (two) and a bulk record.
    let seal = ScratchBuffer(count: 4 * maximumRecord)

    /// The key schedules that all links of the loop use in turn.
    let sealing = AEADSchedule()
    let opening = AEADSchedule()

    private var links: ContiguousArray<Link?> = []
    private var freeSlots: [Int32] = []
    private var wheel = DeadlineWheel()
    /// The links of this tick, and the next of them to look at.
    private var entries: [DeadlineWheel.Entry] = []
    private var nextEntry = 0
    private var sweepTimer: LoopTimer?
    private let clock: () -> UInt64
    private let start: UInt64
    private var ticker: LoopTimer?
    private var unsettled: ContiguousArray<Link> = []
    private var settleTimer: LoopTimer?
    private var depth = 0
    /// Links whose handshake waits for others.
    private var lateHandshakes = HandshakeQueue<Link>(patient: 2000) { !$0.isHandshaking }
    private let pacesHandshakes: Bool
    /// One is answered in a turn of the loop: a storm slows itself down, not the links that are open.
    private var pace = HandshakePace(now: Clock.monotonicNanoseconds())
    /// It runs while the next has to wait.
    private var handshakeTimer: LoopTimer?

    /// So many that have hung up are let go of in one turn.
    private static let hungUpAtOnce = 64

    static let maximumRecord = 2 + 65535

    /// `clock` is the monotonic one, in nanoseconds; tests pass their own and call `sweep`. Fuzzing does not
    /// pace handshakes.
    package init(
        loop: EventLoop, tickMilliseconds: Int64 = 500,
        clock: @escaping () -> UInt64 = Clock.monotonicNanoseconds,
        wallSeconds: @escaping () -> Int64 = Clock.nowSeconds, pacesHandshakes: Bool = true
    ) {
        loop.assertOnLoop()
        self.loop = loop
        self.tickMilliseconds = tickMilliseconds
        self.wallSeconds = wallSeconds
        self.pacesHandshakes = pacesHandshakes
        self.clock = clock
        start = clock()
        settleTimer = loop.timer(afterMilliseconds: 0) { [unowned self] in self.run {} }
        settleTimer?.stop()
        handshakeTimer = loop.timer(afterMilliseconds: 0) { [unowned self] in self.nextHandshake() }
        handshakeTimer?.stop()
        ticker = loop.timer(afterMilliseconds: tickMilliseconds, repeating: true) { [unowned self] in
            self.sweep(for: Self.sweepNanoseconds)
        }
        sweepTimer = loop.timer(afterMilliseconds: 0) { [unowned self] in
            self.sweep(for: Self.sweepNanoseconds)
        }
        sweepTimer?.stop()
        ticker?.stop()
    }

    /// How many links are alive: connecting, open or closing.
    package var linkCount: Int { links.count - freeSlots.count }

    // MARK: - Links

    /// A number for a link that is being made; `register` follows at once.
    func reserveSlot() -> Int32 {
        loop.assertOnLoop()
        if linkCount == 0 {
            // Nobody waits for the ticks in between.
            tick = elapsedTicks
            sweptTick = tick
            ticker?.restart()
        }
        if let slot = freeSlots.popLast() { return slot }
        links.append(nil)
        return Int32(links.count - 1)
    }

    func register(_ link: Link, at slot: Int32) { links[Int(slot)] = link }

    func unregister(_ slot: Int32) {
        links[Int(slot)] = nil
        freeSlots.append(slot)
        if linkCount == 0 { ticker?.stop() }
    }

    /// The tick at which so many milliseconds have certainly passed since `since`.
    @inline(__always)
    func deadline(_ since: UInt32, _ milliseconds: Int64) -> UInt32 {
        let ticks = (milliseconds + tickMilliseconds - 1) / tickMilliseconds + 1
        return since &+ UInt32(clamping: min(ticks, 1 << 30))
    }

    func waitForTick(_ slot: Int32, _ tick: UInt32) { wheel.add(slot, at: tick) }

    /// Closes every link at once, for the end of a loop.
    package func closeAll() {
        run { for link in links { link?.close(after: false) } }
        lateHandshakes.removeAll()
    }

    // MARK: - Handshakes

    /// Whether a link's handshake may be answered now; if not, it is asked again later.
    func mayAnswerHandshake(_ link: Link) -> Bool {
        guard handshakeTimer?.isRunning == true else { return true }
        lateHandshakes.add(link)
        return false
    }

    /// A handshake was answered; it took so much of this thread's time. Units: nanoseconds.
    func answeredHandshake(in spent: UInt64) {
        guard pacesHandshakes else { return }
        let pause = pace.answered(in: spent, now: Clock.monotonicNanoseconds())
        handshakeTimer?.restart(afterMilliseconds: pause)
    }

    /// Answers one, past those that have gone or hung up meanwhile.
    private func nextHandshake() {
        var looks = Self.hungUpAtOnce
        while looks > 0, handshakeTimer?.isRunning == false, let link = lateHandshakes.take() {
            guard link.isHandshaking else { continue }
            looks -= 1
            run { link.answerLate() }
        }
        if !lateHandshakes.isEmpty, handshakeTimer?.isRunning == false { handshakeTimer?.restart() }
    }

    // MARK: - Settling

    /// Runs `body` and afterwards what the links have put off meanwhile: flushing queues, telling of closes.
    /// A user calls it around what it does to many links outside their events.
    @inline(__always)
    package func run(_ body: () -> Void) {
        depth += 1
        body()
        depth -= 1
        if depth == 0, !unsettled.isEmpty { settle() }
    }

    /// Remembers that a link has something to flush or to tell when the current event has been handled.
    func putOff(_ link: Link) {
        unsettled.append(link)
        if depth == 0, let settleTimer, !settleTimer.isRunning { settleTimer.restart() }
    }

    private func settle() {
        depth += 1
        var index = 0
        while index < unsettled.count {
            let link = unsettled[index]
            index += 1
            link.settle()
        }
        unsettled.removeAll(keepingCapacity: unsettled.capacity <= 1024)
        depth -= 1
    }

    // MARK: - Deadlines

    private var elapsedTicks: UInt32 {
        UInt32(clamping: (clock() - start) / UInt64(tickMilliseconds * 1_000_000) + 1)
    }

    /// Looks at the links whose deadlines may have come. The context calls it by itself, every tick, and then
    /// for a while only: what is left comes in the next turn of the loop. Units: nanoseconds.
    package func sweep(for time: UInt64 = .max) {
        let start = Clock.monotonicNanoseconds()
        tick = max(tick, elapsedTicks)
        var isDone = false
        while !isDone {
            run { isDone = sweepSome() }
            guard isDone || Clock.monotonicNanoseconds() - start < time else {
                sweepTimer?.restart()
                return
            }
        }
    }

    /// Returns: whether nothing is left.
    private func sweepSome() -> Bool {
        var links = 16
        while links > 0 {
            if nextEntry == entries.count {
                guard sweptTick < tick else { return true }
                sweptTick += 1
                wheel.take(sweptTick, into: &entries)
                nextEntry = 0
            } else {
                let entry = entries[nextEntry]
                nextEntry += 1
                guard let link = self.links[Int(entry.link)], link.awaitedTick == entry.tick else { continue }
                link.awaitedTickCame()
                links -= 1
            }
        }
        return false
    }

    private static let sweepNanoseconds: UInt64 = 500_000
}

@available(*, unavailable)
extension LinkLoopContext: Sendable {}
