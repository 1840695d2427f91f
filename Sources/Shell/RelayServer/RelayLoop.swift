internal import ChannelWire
internal import LibeventLoop
internal import LinkRuntime
internal import Operations
internal import PosixKit
internal import RelayCore
internal import RelayStore

/// One loop thread: the links that live on it, and the feeds of the channels that they are on.
final class RelayLoop {
    let index: Int
    let relay: RelayShared
    let loop: EventLoop
    let mailbox: Mailbox<LoopMessage>
    private let lifecycle: Mailbox<LifecycleMessage>
    let context: LinkLoopContext
    private var settings: LinkSettings
    private var link: RelayLinkIdentity
    private var sessions: [UInt64: LinkSession] = [:]
    private var nextNumber: UInt64 = 1
    private var feeds: [ChannelID: ChannelFeed] = [:]
    private var controls: [ChannelID: [LinkSession]] = [:]
    /// Feeds with readers that have not been looked at since something was appended.
    private var unserved: ContiguousArray<ChannelFeed> = []
    private var readersLater: ContiguousArray<MemberReader> = []
    private var turns = CheckTurns()
    /// How long readers were served in this turn of the loop; checking may take as long.
    private var servedNanoseconds: UInt64 = 0
    var writable = WritableShare()
    /// What readers that lag got in this turn.
    var lag = Lag()
    private var inbox: [LoopMessage] = []
    /// What the authority is to be told when the loop has been round.
    private var outbox: [AuthorityMessage] = []
    /// Control links of channels that ended: closed when what came with the notice has been said.
    private var farewells: [Farewell] = []
    /// Deliveries that the common counter does not know yet: it is shared by all threads.
    var delivered: Int64 = 0
    private var drain: LoopDrain?
    /// Readers whose membership has ended, by the time at which they are cut.
    private var endings: [(at: Int64, number: UInt64, code: LinkErrorCode)] = []
    private var endingTimer: LoopTimer?
    private var pulseTimer: LoopTimer?
    private var goOnTimer: LoopTimer?
    /// Feeds that have laid frames side by side for laggards.
    private var feedsWithRuns: ContiguousArray<ChannelFeed> = []
    private var runTimer: LoopTimer?
    /// Loop 0: the listener and the control socket.
    var front: FrontDoor?

    private struct Farewell {
        let session: LinkSession
        let code: LinkErrorCode
        let refusal: InvitationRefusal?
    }

    var isDraining: Bool { drain != nil }
    var sessionCount: Int { sessions.count }

    init(
        index: Int, relay: RelayShared, link: RelayLinkIdentity, lifecycle: Mailbox<LifecycleMessage>
    ) throws(LoopError) {
        self.index = index
        self.relay = relay
        self.lifecycle = lifecycle
        let loop = try EventLoop()
        self.loop = loop
        let waker = loop.waker
        mailbox = Mailbox(wake: { waker.wake() })
        context = LinkLoopContext(loop: loop)
        self.link = link
        settings = LinkSettings.relay(link, deadlines: RelayLoop.deadlines(relay.configuration))
        loop.onWake { [unowned self] in self.takeTurn() }
        goOnTimer = loop.timer(afterMilliseconds: 0) { [unowned self] in self.takeTurn() }
        goOnTimer?.stop()
        if let watchdog = relay.service.watchdogMilliseconds {
            pulseTimer = loop.timer(afterMilliseconds: watchdog / 4, repeating: true) { [unowned self] in
                self.relay.loopPulses[self.index].beat()
            }
        }
    }

    /// For the links that come from now on.
    private func applySettings() {
        settings = LinkSettings.relay(link, deadlines: RelayLoop.deadlines(relay.configuration))
    }

    private static func deadlines(_ configuration: RelayConfiguration) -> LinkDeadlines {
        var deadlines = LinkDeadlines()
        deadlines.handshake = configuration.handshakeSeconds * 1000
        deadlines.firstFrame = configuration.handshakeSeconds * 1000
        deadlines.idle = configuration.idleSeconds * 1000
        deadlines.unsentWithoutProgress = configuration.slowReaderSeconds * 1000
        deadlines.unsentRecord = configuration.slowReaderSeconds * 10_000
        return deadlines
    }

    func run() { loop.run() }

    // MARK: Messages

    private func takeTurn() {
        goOnTimer?.stop()
        flush()
        mailbox.drain(into: &inbox)
        // The array is taken out, so that handling may post again without touching what is being read.
        let messages = inbox
        // Answers leave before readers are served.
        if !messages.isEmpty {
            context.run {
                for message in messages { handle(message) }
                sayFarewells()
            }
        }
        context.run {
            serve()
            checkWaiting()
        }
        writable.beginTurn()
        flush()
        giveWay()
    }

    /// The writer wants a moment for each of its steps. Without this it gets one when the kernel's clock next
    /// ticks, where a busy loop has the same processor: acks came milliseconds late.
    private func giveWay() {
        if relay.loopsGiveWay, relay.authority.isReaderBusy { PosixThread.giveWay() }
    }

    /// Tells the authority something soon: what a turn of the loop brings is one batch, and one commit.
    func tell(_ message: AuthorityMessage) {
        outbox.append(message)
        goOnSoon()
    }

    private func flush() {
        if !outbox.isEmpty { relay.authority.post(emptying: &outbox) }
    }

    /// What is left is done after a look at the sockets. A timer, since waking takes two system calls.
    private func goOnSoon() {
        if goOnTimer?.isRunning == false { goOnTimer?.restart() }
    }

    private func handle(_ message: LoopMessage) {
        switch message {
        case .accepted(let descriptor, let address): accept(FileDescriptor(owning: descriptor), address)
        case .reply(let link, let question, let reply, let bytes):
            sessions[link.number]?.answered(question, reply, bytes: bytes)
        case .acked(let link, let request, let results, let bytes):
            sessions[link.number]?.acknowledged(request, results, bytes: bytes)
        case .close(let link, let code): sessions[link.number]?.refuse(code)
        case .appended(let channel, let segment): append(channel, segment)
        case .erased(let channel, let through): feeds[channel]?.erase(through)
        case .recordChanged(let channel, let record, _): push(channel, record)
        case .notice(let notice): noticed(notice)
        case .page(let link, let page, let head):
            sessions[link.number]?.pageCame(page, head: head)
        case .history(let link, let request, let segment):
            sessions[link.number]?.historyCame(request, segment)
        case .members(let link, let request, let frame): sessions[link.number]?.membersCame(request, frame)
        case .openFrontDoor(let plan): openFrontDoor(plan)
        case .operatorAnswered(let reference, let reply, let attached):
            front?.control?.answered(reference, reply, attached: attached)
        case .backupEnded(let reference, let outcome): front?.control?.backupEnded(reference, outcome)
        case .settingsChanged: applySettings()
        case .newLinkKey(let link):
            self.link = link
            applySettings()
        case .drain(let milliseconds): beginDrain(milliseconds)
        case .hurry: drain?.hurry()
        case .stop:
            front?.close()
            loop.stop()
        }
    }

    private func openFrontDoor(_ plan: FrontDoorPlan) {
        let socket = FileDescriptor(owning: plan.socket)
        do throws(PosixError) {
            front = try FrontDoor(loop: self, plan: plan, listening: socket, lifecycle: lifecycle)
            plan.startup.post(.ready)
        } catch {
            plan.startup.post(
                .failed(
                    OperatorError(
                        .stateNotWritable, "the control socket cannot be made: \(error.description)")))
        }
    }

    // MARK: Links

    func accept(_ descriptor: consuming FileDescriptor, _ address: SocketAddress?) {
        let session = LinkSession(number: nextNumber, loop: self)
        nextNumber += 1
        sessions[session.number] = session
        relay.counters.links.add(1)
        session.adopt(
            Link.accept(descriptor, peer: address, context: context, settings: settings, delegate: session))
    }

    func sessionEnded(_ session: LinkSession, _ link: Link, _ reason: LinkCloseReason) {
        guard sessions.removeValue(forKey: session.number) != nil else { return }
        relay.counters.links.add(-1)
        relay.connections.leave(link.peerAddress)
        logEnd(reason)
        if let drain, sessions.isEmpty {
            // What was asked is with the authority before it hears that there is no more.
            flush()
            drain.finish()
        }
    }

    /// What peers do wrong is counted and told at debug; only what an operator can act on is louder.
    private func logEnd(_ reason: LinkCloseReason) {
        switch reason {
        case .slowReader, .queueFull: relay.log.info("link.slow-reader-cut")
        case .io(let error): relay.log.debug("link.failed", ["reason": .text(error.description)])
        case .malformed(let code, _): relay.log.debug("link.malformed", ["error": .text(code.name)])
        case .handshakeFailed, .notAuthentic: relay.log.debug("link.handshake-failed")
        case .local, .peerClosed, .peerError, .refused, .timedOut, .unreachable, .proxyUnreachable,
            .proxyFailed:
            break
        }
    }

    // MARK: Control links

    func add(_ side: ControlSide, _ session: LinkSession) {
        controls[side.channel, default: []].append(session)
        relay.counters.owners.add(1)
    }

    func remove(_ side: ControlSide, _ session: LinkSession) {
        controls[side.channel]?.removeAll { $0 === session }
        if controls[side.channel]?.isEmpty == true { controls[side.channel] = nil }
        relay.counters.owners.add(-1)
    }

    // MARK: Feeds

    /// The feed of a channel, made when its first link comes; `head` is where its log stood then.
    func feed(_ channel: ChannelID, head: Int64) -> ChannelFeed {
        relay.counters.members.add(1)
        if let feed = feeds[channel] { return feed }
        let feed = ChannelFeed(channel: channel, head: head, tailBytesMax: relay.configuration.tailBytesMax)
        feeds[channel] = feed
        return feed
    }

    func feedLostReader(_ feed: ChannelFeed) {
        relay.counters.members.add(-1)
        if feed.readers.isEmpty { feeds[feed.channel] = nil }
    }

    private func append(_ channel: ChannelID, _ segment: LogSegment) {
        guard let feed = feeds[channel] else { return }
        feed.append(segment)
        if !feed.isUnserved {
            feed.isUnserved = true
            unserved.append(feed)
        }
    }

    /// Feeds a reader whose link takes more. Many may become writable at once: most of them wait for the
    /// turn, or what others send would wait for all of them.
    func feedWritable(_ reader: MemberReader) {
        guard !writable.isUsedUp else { return serveLater(reader) }
        let start = Clock.monotonicNanoseconds()
        reader.feed.feed(reader, self)
        countDelivered()
        writable.spend(from: start, to: Clock.monotonicNanoseconds())
    }

    func serveLater(_ reader: MemberReader) {
        guard !reader.isServedLater else { return }
        reader.isServedLater = true
        readersLater.append(reader)
        if readersLater.count == 1 { goOnSoon() }
    }

    /// What is laid side by side for laggards is given back when none has come to it for a while.
    func runBegan(_ feed: ChannelFeed) {
        feedsWithRuns.append(feed)
        guard runTimer == nil else { return }
        runTimer = loop.timer(afterMilliseconds: 5000, repeating: true) { [unowned self] in
            self.dropIdleRuns()
        }
    }

    func dropIdleRuns() {
        feedsWithRuns.removeAll { $0.dropRunIfIdle() }
        if feedsWithRuns.isEmpty { runTimer = nil }
    }

    func requestPage(_ reader: MemberReader) {
        guard !reader.isAwaitingPage else { return }
        reader.isAwaitingPage = true
        relay.reader.post(
            .page(
                LinkReference(loop: index, number: reader.number), reader.feed.channel, after: reader.cursor))
    }

    /// Feeds readers for a slice of time; what is left comes after a look at the sockets.
    private func serve() {
        let start = Clock.monotonicNanoseconds()
        let time = ServingTime(from: start, lag: lag)
        lag = Lag()
        if !readersLater.isEmpty { serveReaders(time) }
        if unserved.count == 1 {
            // As nearly always, and then no list has to be made.
            let feed = unserved[0]
            if !feed.serve(time, self) {
                feed.isUnserved = false
                unserved.removeLast()
            }
        } else if !unserved.isEmpty {
            serveFeeds(time)
        }
        if !unserved.isEmpty || !readersLater.isEmpty { goOnSoon() }
        countDelivered()
        servedNanoseconds = Clock.monotonicNanoseconds() - start
    }

    private func serveFeeds(_ time: ServingTime) {
        var feeds: ContiguousArray<ChannelFeed> = []
        swap(&feeds, &unserved)
        for (index, feed) in feeds.enumerated() {
            if index > 0, isOver(time.all, least: time.least) {
                // They come first in the next turn.
                unserved.insert(contentsOf: feeds[index...], at: 0)
                break
            }
            feed.isUnserved = false
            if feed.serve(time, self) {
                feed.isUnserved = true
                unserved.append(feed)
            }
        }
    }

    /// Whether readers have been served for long enough in this turn: it is late, or an ack waits to be said.
    func isOver(_ deadline: UInt64, least: UInt64) -> Bool {
        let now = Clock.monotonicNanoseconds()
        return now >= deadline || (now >= least && mailbox.isUrgent)
    }

    func countDelivered() {
        if delivered > 0 { relay.counters.delivered.add(delivered) }
        delivered = 0
    }

    private func serveReaders(_ time: ServingTime) {
        var later: ContiguousArray<MemberReader> = []
        swap(&later, &readersLater)
        var served = 0
        for reader in later {
            if served % 4 == 3, isOver(time.behind, least: time.least) { break }
            served += 1
            reader.isServedLater = false
            // The link may have gone meanwhile.
            if reader.index >= 0 { reader.feed.feed(reader, self) }
        }
        if served < later.count { readersLater.insert(contentsOf: later[served...], at: 0) }
    }

    // MARK: Checking

    func mayCheckAtOnce(_ session: LinkSession) -> Bool {
        turns.mayGoAtOnce(session, now: Clock.monotonicNanoseconds())
    }

    func checked(_ session: LinkSession, since start: UInt64) {
        turns.spent(by: session, from: start, to: Clock.monotonicNanoseconds())
    }

    func checkLater(_ session: LinkSession) {
        if turns.wait(session) { goOnSoon() }
    }

    func forgetChecks(_ session: LinkSession) { turns.forget(session) }

    /// Checks frames that wait for a slice of time; what is left comes after a look at the sockets.
    private func checkWaiting() {
        defer { turns.beginTurn() }
        guard !turns.isEmpty else { return }
        var now = Clock.monotonicNanoseconds()
        let deadline = now + max(CheckTurns.slice, min(servedNanoseconds, CheckTurns.sliceMax))
        while now < deadline, let session = turns.next(now: now) {
            if session.checkNext() { _ = turns.wait(session) }
            now = Clock.monotonicNanoseconds()
        }
        if !turns.isEmpty { goOnSoon() }
    }

    // MARK: What happened

    private func push(_ channel: ChannelID, _ record: [UInt8]) {
        guard let feed = feeds[channel] else { return }
        for reader in feed.readers { reader.link.send(.record(request: 0, record: record)) }
    }

    private func noticed(_ notice: LedgerNotice) {
        switch notice {
        case .memberJoined(let channel, let member):
            guard let owners = controls[channel] else { return }
            let element = RelayEvents.newMember(member)
            for session in owners { session.sendNews(element) }
        case .membershipEnded(let channel, let member, let code):
            guard let feed = feeds[channel] else { return }
            for reader in feed.readers where reader.member == member { end(reader, feed, code) }
        case .channelEnded(let channel, let code, let refusal):
            if let feed = feeds[channel] { for reader in feed.readers { end(reader, feed, code) } }
            for session in controls[channel] ?? [] {
                farewells.append(Farewell(session: session, code: code, refusal: refusal))
            }
        case .invitationDecided(let channel, let owner, let answer):
            for session in controls[channel] ?? [] {
                guard case .control(let side) = session.stage, side.owner == owner else { continue }
                session.invitationDecided(answer)
            }
        case .appended, .erased, .recordChanged, .roleChanged, .statusChanged: break
        }
    }

    /// The request that ended a channel is answered before its link closes, though notices precede replies.
    private func sayFarewells() {
        let farewells = farewells
        self.farewells.removeAll()
        for farewell in farewells {
            guard case .control = farewell.session.stage else { continue }
            if let refusal = farewell.refusal {
                farewell.session.reject(refusal)
            } else {
                farewell.session.refuse(farewell.code)
            }
        }
    }

    private func end(_ reader: MemberReader, _ feed: ChannelFeed, _ code: LinkErrorCode) {
        guard reader.end == nil else { return }
        reader.finish(through: feed.tail.head, code)
        serveLater(reader)
        let deadline = loop.nowMonotonicMilliseconds + relay.configuration.slowReaderSeconds * 1000
        endings.append((deadline, reader.number, code))
        if endingTimer == nil {
            endingTimer = loop.timer(afterMilliseconds: 1000, repeating: true) { [unowned self] in
                self.cutEndings()
            }
        }
    }

    /// A reader that takes too long over the last messages of its membership gets no more of them.
    private func cutEndings() {
        let now = loop.nowMonotonicMilliseconds
        let due = endings.prefix { $0.at <= now }
        endings.removeFirst(due.count)
        context.run {
            for ending in due { sessions[ending.number]?.refuse(ending.code) }
        }
        if endings.isEmpty { endingTimer = nil }
    }

    // MARK: The end

    private func beginDrain(_ milliseconds: Int64) {
        guard drain == nil else { return }
        front?.stopAccepting()
        flush()
        let drain = LoopDrain(milliseconds: milliseconds, loop: self, lifecycle: lifecycle)
        self.drain = drain
        drain.begin(Array(sessions.values))
    }

    /// Closes a link of a stopping relay once nothing of it is under way.
    func closeIfQuiet(_ session: LinkSession) {
        guard session.isQuiet else { return }
        session.refuse(.draining, retryAfterMilliseconds: session.drainDelay)
    }

    func closeAllAtOnce() {
        for session in sessions.values { session.link?.close(after: false) }
    }
}

@available(*, unavailable)
extension RelayLoop: Sendable {}
