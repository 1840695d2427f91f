internal import ChannelWire
internal import LinkRuntime
internal import PosixKit
internal import RelayCore
internal import RelayStore
internal import SodiumCrypto

/// One link of the relay: what it is, and what may be said on it.
///
/// ```
///            ┌── CONTROL ──▶ asking ──▶ control
///   open ────┼── JOIN ─────▶ asking ──▶ joined ── ATTACH ─▶ asking ──▶ member
///            ├── ATTACH ───▶ asking ──▶ member
///            └── RECORD_GET, DIRECT(x.grp.relay.test): stays open, a few times ── once more ─▶ overdrawn
/// ```
///
/// While it asks the authority what it may be, frames that follow are held back and taken in order
/// afterwards. Frames that are much work wait for the link's turn (`CheckTurns`).
/// Source: docs/protocol/frames.md.
final class LinkSession: LinkDelegate {
    /// Indirect where it passes soon, so that a session that lasts has room for a reference only.
    enum Stage {
        case open
        /// The answer of the authority decides what comes next.
        indirect case asking(Asking)
        case control(ControlSide)
        indirect case joined(ChannelID, MemberID)
        case member(MemberReader)
        /// It asked once too often: nothing is taken any more, and it ends when what it might ask is
        /// answered.
        case overdrawn
        /// Said goodbye; nothing is taken any more.
        case ended
    }

    enum Asking {
        case control(ControlSide, Signature)
        case join(ChannelID, MemberID)
        case attach(Frame.Attach, joined: MemberID?)
    }

    let number: UInt64
    unowned let loop: RelayLoop
    private(set) var link: Link?
    var stage = Stage.open
    private var held: [Frame] = []
    /// What other threads have been asked for this link and have not answered: how large, and how much.
    private var pendingBytes: Int32 = 0
    private var pending: Int32 = 0
    /// What its client was told in DRAIN. Units: milliseconds.
    var drainDelay: UInt32 = 0
    private var questions: UInt8 = 0
    private var isPaused = false
    /// What checking its frames has cost, and what waits to be checked; nothing waits at most links.
    var checks = CheckTurns.Account()
    private var backlog: CheckBacklog?
    /// A stopping relay closes it once nothing of it is under way.
    var wantsToClose = false

    /// Beyond these nothing more is read from the link until half of it is answered.
    static let pendingMax: Int32 = 256
    static let pendingBytesMax: Int32 = 256 << 10
    static let heldFramesMax = 64
    static let heldBytesMax = 64 << 10

    init(number: UInt64, loop: RelayLoop) {
        self.number = number
        self.loop = loop
    }

    var reference: LinkReference { LinkReference(loop: loop.index, number: number) }
    var relay: RelayShared { loop.relay }

    func adopt(_ link: Link) { self.link = link }

    // MARK: The link speaks

    func linkDidOpen(_ link: Link) {
        relay.counters.opened.add(1)
        if loop.isDraining { refuse(.draining) }
    }

    func linkIsWritable(_ link: Link) {
        guard case .member(let reader) = stage else { return }
        loop.feedWritable(reader)
    }

    func linkDidClose(_ link: Link, reason: LinkCloseReason) {
        leaveStage()
        end()
        self.link = nil
        loop.sessionEnded(self, link, reason)
    }

    /// What is much work waits for its turn, and what comes after it as well.
    func link(_ link: Link, didReceive frame: Frame) {
        if case .ended = stage { return }
        guard backlog == nil, !frame.isWork || loop.mayCheckAtOnce(self) else { return wait(with: [frame]) }
        check(frame)
    }

    private func wait(with frames: [Frame], first: Bool = false) {
        if backlog == nil { backlog = CheckBacklog() }
        backlog?.add(frames, first: first)
        throttle()
        loop.checkLater(self)
    }

    /// The rest of a PUBLISH waits for the link's next turn.
    func wait(with publishing: ElementReading.Publishing) {
        if backlog == nil { backlog = CheckBacklog() }
        backlog?.publishing = publishing
        loop.checkLater(self)
    }

    /// It is this link's turn: one frame, or a part of one. Returns: whether more waits.
    func checkNext() -> Bool {
        if let publishing = backlog?.publishing, case .member(let reader) = stage {
            let start = Clock.monotonicNanoseconds()
            backlog?.publishing = nil
            goOn(publishing, reader)
            loop.checked(self, since: start)
        } else if let frame = backlog?.next() {
            check(frame)
            throttle()
        }
        if backlog?.isEmpty == true { backlog = nil }
        if wantsToClose { loop.closeIfQuiet(self) }
        return backlog != nil
    }

    private func check(_ frame: Frame) {
        guard frame.isWork else { return take(frame) }
        let start = Clock.monotonicNanoseconds()
        take(frame)
        loop.checked(self, since: start)
    }

    private func take(_ frame: Frame) {
        switch (stage, frame) {
        case (.ended, _), (.overdrawn, _), (_, .error), (_, .ignored): break
        case (.asking, _): hold(frame)
        case (.open, .recordGet(let request, let channel)):
            if countQuestion() { ask(.record(channel), .recordGet(request: request)) }
        case (.open, .direct(let body)): if countQuestion() { answerTest(body) }
        case (.open, .control(let control)): open(control)
        case (.open, .join(let channel, let element)): join(channel, element)
        case (.open, .attach(let attach)): self.attach(attach, joined: nil)
        case (.joined(let channel, let member), .attach(let attach)) where attach.channel == channel:
            self.attach(attach, joined: member)
        case (.control(let side), .recordGet(let request, let channel)) where channel == side.channel:
            ask(.record(channel), .recordGet(request: request))
        case (.control(let side), .recordPut(let request, let bytes)): putRecord(side, request, bytes)
        case (.control(let side), .membersGet(let request, let after, let limit)):
            began(0)
            relay.reader.post(
                .members(reference, side.channel, request: request, after: after, limit: Int(limit)))
        case (.control(let side), .direct(let body)): side.receive(body, self)
        case (.member(let reader), .publish(let request, let body)): publish(reader, request, body)
        case (.member(let reader), .historyGet(let request, let mode, let value, let limit)):
            history(reader, request, mode, value, limit)
        case (.member(let reader), .recordGet(let request, let channel)) where channel == reader.channel:
            ask(.record(channel), .recordGet(request: request))
        default: refuse(.protocolViolation)
        }
    }

    private func hold(_ frame: Frame) {
        let heldBytes = held.reduce(frame.heldBytes) { $0 + $1.heldBytes }
        guard held.count < LinkSession.heldFramesMax, heldBytes <= LinkSession.heldBytesMax else {
            return refuse(.rateLimited)
        }
        held.append(frame)
    }

    /// Takes the frames that came while the authority was asked.
    func resume() {
        guard !held.isEmpty else { return }
        let frames = held
        held = []
        wait(with: frames, first: true)
    }

    /// Nothing is taken any more.
    private func end() {
        stage = .ended
        held = []
        backlog = nil
        loop.forgetChecks(self)
    }

    private func countQuestion() -> Bool {
        questions += 1
        guard questions <= LinkSession.questionsMax else {
            stage = .overdrawn
            endIfOverdrawn()
            return false
        }
        return true
    }

    /// What a client asks in one go is answered as far as it may ask, however fast the relay is.
    private func endIfOverdrawn() {
        if case .overdrawn = stage, pending == 0 { refuse(.protocolViolation) }
    }

    static let questionsMax: UInt8 = 8

    // MARK: Saying no

    /// Ends the link with an ERROR about it.
    func refuse(_ code: LinkErrorCode, _ text: String = "", retryAfterMilliseconds: UInt32 = 0) {
        if case .ended = stage { return }
        relay.counters.errors.add(1)
        leaveStage()
        end()
        link?.close(
            after: true,
            error: .error(
                LinkError(code, retryAfterMs: retryAfterMilliseconds, text: text.isEmpty ? nil : text)))
    }

    /// Answers one request with an ERROR; the link goes on.
    func refuse(request: UInt32, _ code: LinkErrorCode) {
        relay.counters.errors.add(1)
        send(.error(LinkError(code, request: request)))
    }

    func send(_ frame: Frame) { link?.send(frame) }

    /// News that a client can also ask for: left out while much waits for it already.
    func sendNews(_ element: [UInt8]) {
        if let link, link.queuedBytes + element.count < Link.queueBytesMax / 2 { sendDirect(element) }
    }

    // MARK: Asking other threads

    func ask(_ command: LedgerCommand, _ question: AuthorityMessage.Question, bytes: Int = 0) {
        began(bytes)
        loop.tell(.ask(reference, command, question, bytes: bytes))
    }

    /// Counts what is asked, and stops reading where it is too much.
    func began(_ bytes: Int) {
        pending += 1
        pendingBytes += Int32(bytes)
        throttle()
    }

    private func throttle() {
        func exceeds(_ part: Int32) -> Bool {
            pending >= LinkSession.pendingMax / part || pendingBytes >= LinkSession.pendingBytesMax / part
                || backlog?.bytes ?? 0 >= CheckBacklog.bytesMax / Int(part)
        }
        if !isPaused, exceeds(1) {
            isPaused = true
            link?.pauseReading()
        } else if isPaused, !exceeds(2) {
            isPaused = false
            link?.resumeReading()
        }
    }

    /// Counts an answer.
    func settled(_ bytes: Int) {
        pending -= 1
        pendingBytes -= Int32(bytes)
        precondition(pending >= 0 && pendingBytes >= 0, "an answer belongs to a question")
        endIfOverdrawn()
        throttle()
        if wantsToClose { loop.closeIfQuiet(self) }
    }

    /// Nothing of it is under way.
    var isQuiet: Bool { pending == 0 && backlog == nil }

    private func leaveStage() {
        switch stage {
        case .control(let side): loop.remove(side, self)
        case .member(let reader):
            // The feed goes with its last reader, so what is asked of it is asked before.
            let channel = reader.channel
            reader.feed.remove(reader)
            loop.feedLostReader(reader.feed)
            loop.tell(.unlinked(reference, channel, reader.member))
        case .open, .asking, .joined, .overdrawn, .ended: break
        }
    }

    // MARK: Opening

    private func open(_ control: Frame.Control) {
        var record: VerifiedRecord?
        if !control.record.isEmpty {
            guard
                let verified = try? VerifiedRecord(
                    control.record, expected: control.channel, crypto: relay.crypto)
            else { return refuse(.recordInvalid) }
            record = verified
        }
        let side = ControlSide(
            channel: control.channel, owner: control.owner, record: record,
            invitationFollows: control.invitationFollows)
        stage = .asking(.control(side, control.signature))
        ask(
            .openControl(
                LedgerCommand.OpenControl(channel: control.channel, owner: control.owner, record: record)),
            .control)
    }

    private func join(_ channel: ChannelID, _ element: [UInt8]) {
        switch ElementReading.join(element, channel: channel, crypto: relay.crypto) {
        case .failure(let code): refuse(code.code)
        case .success(let join):
            stage = .asking(.join(channel, join.id))
            ask(.join(LedgerCommand.Join(channel: channel, join: join)), .join)
        }
    }

    private func attach(_ attach: Frame.Attach, joined: MemberID?) {
        stage = .asking(.attach(attach, joined: joined))
        let start: LogWindow.Start =
            switch attach.start {
            case .cursor(let epoch, let position): .after(epoch: epoch, position: position)
            case .last(let count):
                .newest(Int(clamping: min(max(count, 0), Int64(Limits.newSubscriberHistoryMax))))
            case .live: .live
            }
        ask(
            .attach(LedgerCommand.Attach(channel: attach.channel, member: attach.member, start: start)),
            .attach)
    }

    /// `x.grp.relay.test`: the relay proves its identity to anybody.
    private func answerTest(_ body: [UInt8]) {
        guard let elements = try? Body.decode(body, crypto: relay.crypto) else { return refuse(.badFrame) }
        guard let challenge = ElementReading.test(elements) else { return refuse(.protocolViolation) }
        guard let secret = relay.identitySecret,
            let signature = Signature(bytes: Ed25519.sign(challenge, with: secret))
        else { return refuse(.internal) }
        sendDirect(RelayEvents.testAnswer(challenge: challenge, signature: signature))
    }

    private func putRecord(_ side: ControlSide, _ request: UInt32, _ bytes: [UInt8]) {
        guard let record = try? VerifiedRecord(bytes, expected: side.channel, crypto: relay.crypto) else {
            return refuse(request: request, .recordInvalid)
        }
        ask(
            .putRecord(LedgerCommand.PutRecord(owner: side.owner, record: record)),
            .recordPut(request: request),
            bytes: bytes.count)
    }
}
