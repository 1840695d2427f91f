internal import ChannelWire
internal import ClientCore
internal import ClientStore
internal import LibeventLoop
internal import LinkRuntime
internal import PosixKit
internal import SodiumCrypto

/// Everything of one client that runs: the loop, the database, one runtime object for each channel in use.
///
/// Files: `Engine+…` answer the calls of the facade; `ChannelRuntime` and the sessions keep the links;
/// `Ingest` takes what relays deliver. Thread: its own; others reach it through `EngineHandle` only.
final class Engine {
    let home: String
    let options: ChannelClient.Options
    let store: ClientStore
    let loop: EventLoop
    let context: LinkLoopContext
    let linkSettings: LinkSettings
    let crypto = ChannelCrypto.client
    var random: JitterRandom
    weak var handle: EngineHandle?
    var drainCommands: () -> Void = {}

    private(set) lazy var resolver = Resolver(engine: self)
    var channels: [Int64: ChannelRuntime] = [:]
    /// Links that belong to no channel of this home: previews, relay tests.
    var questions: [ObjectIdentifier: AnonymousQuestion] = [:]
    var followers: [Int64: Follower] = [:]
    var followTimer: LoopTimer?
    private var nextTicket: Int64 = 1
    private var parked: [Int64: Any] = [:]
    private var waiters: [Int64: Waiter] = [:]
    private var isCheckingWaiters = false
    private var postponed: [() -> Void] = []
    private var postponedTimer: LoopTimer?
    private var isStopped = false

    init(home: String, options: ChannelClient.Options) throws(ChannelClientError) {
        self.home = home
        self.options = options
        do throws(ClientStoreError) {
            store = try ClientStore(
                home: home, passphrase: options.passphrase.map { SecretBytes(Array($0.utf8)) })
        } catch {
            throw ChannelClientError(error)
        }
        do throws(LoopError) {
            loop = try EventLoop()
        } catch {
            throw .init(.inputOutput, "The event loop could not be made: \(error).")
        }
        context = LinkLoopContext(loop: loop, tickMilliseconds: 100)
        var deadlines = LinkDeadlines()
        deadlines.connect = max(1, options.connectTimeout.clampedMilliseconds)
        deadlines.handshake = max(1, options.connectTimeout.clampedMilliseconds)
        deadlines.proxy = 2 * deadlines.connect
        linkSettings = LinkSettings.client(deadlines: deadlines)
        random = JitterRandom(seed: options.randomSeed)
    }

    func run() {
        begin()
        if !isStopped { loop.run() }
        end()
    }

    /// Takes up what is under way. Whoever drives the loop itself calls it first, and `end` last.
    func begin() {
        loop.onWake { [unowned self] in self.drainCommands() }
        postponedTimer = loop.timer(afterMilliseconds: 0) { [unowned self] in self.runPostponed() }
        drainCommands()
        resumeBackground()
    }

    func end() {
        context.closeAll()
        followers = [:]
        waiters = [:]
        parked = [:]
        postponed = []
        followTimer = nil
        questions = [:]
        channels = [:]
        store.close()
    }

    func stop() {
        guard !isStopped else { return }
        isStopped = true
        // Links say goodbye as far as they can at once.
        for runtime in channels.values { runtime.shutdown() }
        later { [unowned self] in self.loop.stop() }
    }

    // MARK: Time, randomness, later

    var nowSeconds: Int64 { Clock.nowSeconds() }
    var nowMilliseconds: Int64 { Clock.nowMilliseconds() }
    /// Of the clock that never steps: whether somebody was too slow is not for a wall clock to say.
    var steadyMilliseconds: Int64 { loop.nowMonotonicMilliseconds }

    /// Within how long connections begin that nobody waits for; see `Options.connectionSpread`.
    var spreadMilliseconds: Int64 {
        let spread = options.connectionSpread ?? (options.proxy == nil ? .zero : .seconds(5))
        return max(0, spread.clampedMilliseconds)
    }

    func makeBackoff(failures: Int = 0) -> Backoff {
        let minimum = max(1, options.retryMinimum.clampedMilliseconds)
        return Backoff(
            minimumMilliseconds: minimum,
            maximumMilliseconds: max(minimum, options.retryMaximum.clampedMilliseconds),
            failures: failures)
    }

    /// Runs something once the current event has been handled.
    func later(_ body: @escaping () -> Void) {
        postponed.append(body)
        if let postponedTimer, !postponedTimer.isRunning { postponedTimer.restart(afterMilliseconds: 0) }
    }

    private func runPostponed() {
        let taken = postponed
        postponed = []
        for body in taken { body() }
    }

    /// Keeps something that cannot cross threads while another thread works for it.
    func park<Value>(_ value: Value) -> Int64 {
        let ticket = newTicket()
        parked[ticket] = value
        return ticket
    }

    func newTicket() -> Int64 {
        nextTicket += 1
        return nextTicket
    }

    func unpark(_ ticket: Int64) -> ((Result<[SocketAddress], ResolveError>) -> Void)? {
        parked.removeValue(forKey: ticket) as? (Result<[SocketAddress], ResolveError>) -> Void
    }

    // MARK: Waiting

    /// Calls `check` after every change until it says that it is done; with `expired` once the time is over.
    func wait(milliseconds: Int64, _ check: @escaping (_ expired: Bool) -> Bool) {
        if check(milliseconds <= 0) || milliseconds <= 0 { return }
        let ticket = newTicket()
        let timer = loop.timer(afterMilliseconds: milliseconds) { [weak self] in
            guard let self, let waiter = self.waiters.removeValue(forKey: ticket) else { return }
            _ = waiter.check(true)
        }
        waiters[ticket] = Waiter(check: check, timer: timer)
    }

    /// Something changed that somebody may wait for.
    func changed() {
        guard !isCheckingWaiters, !waiters.isEmpty else { return }
        isCheckingWaiters = true
        later { [weak self] in
            guard let self else { return }
            self.isCheckingWaiters = false
            for (ticket, waiter) in self.waiters where waiter.check(false) {
                self.waiters[ticket] = nil
            }
        }
    }

    private struct Waiter {
        let check: (Bool) -> Bool
        let timer: LoopTimer
    }

    // MARK: Telling

    func emit(_ event: ClientEvent) {
        handle?.emit(event)
    }

    /// Runs store work; a failure is told to whoever asked.
    func attempt<Value>(_ body: () throws -> Value) throws(ChannelClientError) -> Value {
        do {
            return try body()
        } catch let error as ClientStoreError {
            throw ChannelClientError(error)
        } catch let error as ChannelClientError {
            throw error
        } catch {
            throw .defect("\(error)")
        }
    }

    /// Runs store work that no caller waits for. A failure is kept for the next caller to see.
    @discardableResult
    func background<Value>(_ body: () throws -> Value) -> Value? {
        do throws(ChannelClientError) {
            return try attempt(body)
        } catch {
            lastStoreFailure = error
            return nil
        }
    }

    /// The last failure of work that no caller waited for, once.
    func takeStoreFailure() -> ChannelClientError? {
        defer { lastStoreFailure = nil }
        return lastStoreFailure
    }

    private var lastStoreFailure: ChannelClientError?

    // MARK: Channels

    /// The runtime of a channel, made where there is none yet; nil where the channel is gone.
    func runtime(_ id: Int64) throws(ChannelClientError) -> ChannelRuntime? {
        if let runtime = channels[id] { return runtime }
        guard let stored = try attempt({ try store.channel(id: id) }) else { return nil }
        let runtime = try ChannelRuntime(engine: self, stored: stored)
        channels[id] = runtime
        // The last run may have ended between a record and the rows that follow from it.
        if runtime.isCurrent, !runtime.isOwner, !runtime.rowsFit { runtime.followRecord() }
        for row in runtime.relayRows() where !row.relay.takesMessages {
            runtime.dropOutbox(row.id, .channelInactive)
        }
        runtime.reconcile()
        // The last run may have ended between a relay's leaving and the record that says so.
        if options.background != .none, runtime.isCurrent, !runtime.recordFits { runtime.scheduleRecord() }
        return runtime
    }

    /// What is under way in the database goes on: invitations, records, the outbox.
    func resumeBackground() {
        guard options.background != .none else { return }
        for stored in background({ try store.channels() }) ?? []
        where stored.state == .current || stored.role == "owner" {
            _ = try? runtime(stored.id)
        }
    }
}

@available(*, unavailable)
extension Engine: Sendable {}

/// Jitter from a seed, or from the system.
enum JitterRandom: RandomNumberGenerator {
    case seeded(SeededRandom)
    case system(SodiumRandom)

    init(seed: UInt64?) {
        if let seed { self = .seeded(SeededRandom(seed: seed)) } else { self = .system(SodiumRandom()) }
    }

    mutating func next() -> UInt64 {
        switch self {
        case .seeded(var generator):
            defer { self = .seeded(generator) }
            return generator.next()
        case .system(var generator):
            defer { self = .system(generator) }
            return generator.next()
        }
    }
}

extension ChannelClientError {
    init(_ error: ClientStoreError) {
        switch error {
        case .foreign(let text): self.init(.homeForeign, "The home's database cannot be used: \(text).")
        case .tooNew(let found, let known):
            self.init(
                .homeTooNew,
                "The home's database has version \(found), this program knows \(known); use a newer one.")
        case .corrupt(let text): self.init(.homeCorrupt, "The home's database is damaged: \(text).")
        case .notWritable(let text): self.init(.homeNotWritable, "The home cannot be written: \(text).")
        case .permission(let text): self.init(.permissionDenied, "\(text).")
        case .busy: self.init(.homeBusy, "Another process is using the home's database; try again.")
        case .passphraseNeeded:
            self.init(.wrongPassphrase, "The home has a passphrase; give it to open the home.")
        case .wrongPassphrase: self.init(.wrongPassphrase, "The passphrase is not the one of this home.")
        case .noPassphrase:
            self.init(
                .wrongPassphrase, "The home has no passphrase; open it without one, and set one on purpose.")
        case .full: self.init(.diskFull, "The volume of the home is full.")
        case .inputOutput(let text):
            self.init(.inputOutput, "The home's database could not be read or written: \(text).")
        case .defect(let text): self.init(.defect, text)
        }
    }
}
