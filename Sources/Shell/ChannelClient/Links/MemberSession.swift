internal import ChannelWire
internal import ClientCore
internal import ClientStore
internal import LibeventLoop
internal import LinkRuntime
internal import SodiumCrypto

/// The member link to one relay: join where needed, attach at the position, take deliveries, publish the
/// outbox.
///
/// ```
/// closed ──open──▶ joining ──JOINED──▶ attaching ──ATTACHED──▶ attached
///            └──────(joined before, or owner)──────▶
/// ```
final class MemberSession: RelayConnectionUser {
    enum State { case closed, joining, attaching, attached }

    unowned let runtime: ChannelRuntime
    let relayID: Int64
    let name: String
    var relayMember: MemberID?
    private(set) var connection: RelayConnection!
    private(set) var state = State.closed
    private(set) var cursor = DeliveryCursor()
    /// The relay's last sequence when the link was attached: at it, nothing old is missing any more.
    private var head: Int64 = 0
    /// After a refusal that only something new can change; a call that wants the link clears it.
    var isSuspended = false
    /// Failures since the session was made; a call compares it with what it saw at its beginning.
    private(set) var failureCount = 0

    private var deliveries: [Delivery] = []
    private var isFlushPosted = false
    private var nextRequest: UInt32 = 1
    private var publishing: [UInt32: Int64] = [:]
    private var pumpTimer: LoopTimer?
    private var returnTimer: LoopTimer?
    private var histories: [UInt32: HistoryRequest] = [:]
    private var recordRequests: Set<UInt32> = []
    /// While the relay's newer record is on its way: what was delivered after it is judged by it.
    private var holdTimer: LoopTimer?

    enum Delivery {
        case element(sequence: Int64, batch: [UInt8])
        case gap(from: Int64, to: Int64, reason: Frame.GapReason)
    }

    private struct HistoryRequest {
        var answer: RelayAnswer.History
        let done: (Result<Bool, ConnectionFailure>) -> Void
    }

    init(runtime: ChannelRuntime, relayID: Int64, name: String, endpoint: RelayEndpoint) {
        self.runtime = runtime
        self.relayID = relayID
        self.name = name
        connection = RelayConnection(
            engine: runtime.engine, endpoint: endpoint, circuit: runtime.circuit("member"), user: self)
    }

    private var engine: Engine { runtime.engine }
    var isAttached: Bool { state == .attached }
    var awaitsRecord: Bool { !recordRequests.isEmpty }
    var isCaughtUp: Bool { state == .attached && deliveries.isEmpty && cursor.position >= head }

    // MARK: The link

    func connectionDidOpen(_ link: Link) {
        guard let row = runtime.row(relayID) else { return }
        if runtime.isOwner || row.joined { attach(link) } else { join(link) }
    }

    func connectionWillStop() {
        let wasAttached = isAttached
        flush()
        reset("the link was not needed any more")
        guard wasAttached else { return }
        engine.emit(
            .connectionChanged(channel: runtime.localName, relay: name, connected: false, reason: nil))
    }

    func connectionDidClose(_ failure: ConnectionFailure) {
        let wasAttached = isAttached
        flush()
        reset(failure.text)
        // Other processes of the same home took the place for a moment: nothing that a call would take for an
        // answer.
        if failure.code != LinkErrorCode.replaced.rawValue { failureCount += 1 }
        handle(failure)
        runtime.setRelayError(relayID, failure.text)
        if wasAttached {
            engine.emit(
                .connectionChanged(
                    channel: runtime.localName, relay: name, connected: false, reason: failure.text))
        }
        engine.changed()
    }

    private func reset(_ reason: String) {
        state = .closed
        pumpTimer = nil
        let now = engine.nowMilliseconds
        for event in publishing.values {
            engine.background {
                try engine.store.changeOutbox(event: event, relay: relayID) {
                    $0.interrupted(reason: reason, backoffMilliseconds: 0, nowMilliseconds: now)
                }
            }
        }
        publishing = [:]
        recordRequests = []
        holdTimer = nil
        // What was held is delivered again: the position is before it.
        deliveries = []
        let waiting = histories
        histories = [:]
        for request in waiting.values {
            request.done(.failure(ConnectionFailure(stage: .open, text: reason)))
        }
    }

    private func handle(_ failure: ConnectionFailure) {
        switch failure.code.flatMap({ LinkErrorCode(rawValue: $0) }) {
        case .unknownMember where !runtime.isOwner:
            // The relay lost this membership: join again.
            engine.background { try engine.store.setRelayJoined(relayID, false) }
        case .memberRemoved, .channelRejected, .channelDeleted, .channelInactive, .unknownChannel,
            .joinRefused,
            .memberKeyMismatch, .badProof, .notOwner:
            isSuspended = true
            if !runtime.isOwner { awaitReturn(failure) }
            ended(failure)
            engine.later { [weak runtime] in runtime?.reconcile() }
        default:
            break
        }
    }

    /// A relay that does not carry the channel now may be taken into it again, as another member, and no
    /// other relay may be there to tell of it: at the longest pause all are asked for a newer record, and
    /// this one is tried again.
    private func awaitReturn(_ failure: ConnectionFailure) {
        switch failure.code.flatMap({ LinkErrorCode(rawValue: $0) }) {
        case .channelInactive, .unknownChannel, .channelRejected, .joinRefused: break
        default: return
        }
        let pause = engine.makeBackoff().maximumMilliseconds
        returnTimer = engine.loop.timer(
            afterMilliseconds: pause + Int64.random(in: 0...pause / 4, using: &engine.random)
        ) { [weak self] in
            guard let self else { return }
            self.returnTimer = nil
            guard self.runtime.isCurrent else { return }
            self.engine.findRelays(of: self.runtime, milliseconds: pause) { [weak self] in
                self?.isSuspended = false
                self?.runtime.reconcile()
            }
        }
    }

    /// What waits for a relay that has ended the membership, or one that we have left, waits in vain.
    private func ended(_ failure: ConnectionFailure) {
        guard let code = failure.code.flatMap({ LinkErrorCode(rawValue: $0) }) else { return }
        if runtime.isOwner {
            let isOurDeletion = runtime.state == .deleted
            switch code {
            case .unknownChannel, .channelDeleted:
                if isOurDeletion { runtime.dropOutbox(relayID, code) }
            case .channelInactive:
                if isOurDeletion {
                    runtime.dropOutbox(relayID, code)
                } else {
                    runtime.relayStoppedCarrying(relayID)
                }
            case .channelRejected:
                runtime.relayRejected(relayID, reason: RejectionReason.rejoinRejected.text)
            default: break
            }
        } else {
            if code == .memberRemoved || !runtime.isCurrent { runtime.dropOutbox(relayID, code) }
            guard code == .memberRemoved || code == .channelDeleted else { return }
            engine.later { [weak runtime, relayID] in runtime?.membershipDenied(by: relayID, code) }
        }
    }

    // MARK: Join and attach

    private func join(_ link: Link) {
        state = .joining
        let request = JoinRequest(
            profile: ChannelWire.Profile(displayName: runtime.memberName), memberID: runtime.me,
            memberKey: runtime.keys.key,
            viaRelay: relayMember)
        let element = Signing.element(
            json: Event(params: .member(request)).encode(), channel: runtime.channelID, member: runtime.me,
            sign: runtime.keys.signature)
        link.send(.join(channel: runtime.channelID, element: element))
    }

    private func attach(_ link: Link) {
        state = .attaching
        let stored = engine.background { try engine.store.cursor(of: relayID) } ?? nil
        cursor = stored ?? DeliveryCursor()
        let start: Frame.Start =
            if let stored, stored.epoch.count == 8 {
                .cursor(epoch: stored.epoch, position: stored.position)
            } else if runtime.isOwner {
                .cursor(epoch: [UInt8](repeating: 0, count: 8), position: 0)
            } else {
                .last(Int64(Limits.newSubscriberHistoryMax))
            }
        let proof = ProofOfKey.attach.input(
            handshakeHash: link.handshakeHash, channel: runtime.channelID, member: runtime.me)
        link.send(
            .attach(
                Frame.Attach(
                    channel: runtime.channelID, member: runtime.me,
                    signature: runtime.keys.signature(over: proof),
                    start: start)))
    }

    func connection(_ link: Link, didReceive frame: Frame) {
        switch frame {
        case .joined(let batch) where state == .joining:
            guard runtime.takeIntroductions(batch, from: name) else {
                return misfit("JOINED", "it does not decode")
            }
            engine.background { try engine.store.setRelayJoined(relayID, true) }
            attach(link)
        case .attached(let attached) where state == .attaching:
            self.attached(attached, link)
        case .deliver(let sequence, let batch):
            enqueue(.element(sequence: sequence, batch: batch))
        case .gap(let from, let to, let reason):
            enqueue(.gap(from: from, to: to, reason: reason))
        case .ack(let request, let results):
            acknowledged(request, results)
        case .record(let request, let record):
            guard request == 0 || recordRequests.remove(request) != nil else { return }
            runtime.offer(record, from: name, relayID: relayID)
            release()
            engine.changed()
        case .history(let request, let sequence, let batch):
            if let problem = histories[request]?.answer.take(sequence: sequence, batch: batch) {
                misfit("HISTORY", problem)
            }
        case .historyEnd(let request, let first, let more):
            endHistory(request, first: first, more: more)
        case .error(let error):
            requestFailed(error)
        default:
            break
        }
    }

    /// An answer that cannot be true ends the link; what waited for it is tried again on the next.
    private func misfit(_ frame: String, _ problem: String) {
        connection.restart(.misfit(frame, problem))
    }

    private func attached(_ attached: Frame.Attached, _ link: Link) {
        if let problem = RelayAnswer.misfit(attached: attached) { return misfit("ATTACHED", problem) }
        state = .attached
        head = attached.head
        connection.succeeded()
        runtime.setRelayError(relayID, nil)
        runtime.denials[relayID] = nil
        link.forgetHandshakeHash()
        switch cursor.attached(epoch: attached.epoch, resumeAfter: attached.resumeAfter) {
        case .resumed: break
        case .started: runtime.comparison.started(relay: name)
        case .newEpoch:
            runtime.noteNewLog(relay: name, head: attached.head)
            // What we published may be gone, and would be missing between what comes before and after it.
            // The relay takes what it still has as repeated.
            engine.background { try engine.store.resendAccepted(relay: relayID, from: attached.first) }
        case .moved(let position):
            runtime.comparison.excused(relay: name)
            if attached.resumeAfter > position {
                runtime.noteGap(relay: name, from: position + 1, to: attached.resumeAfter, reason: .unknown)
            }
        }
        engine.background { try engine.store.setCursor(cursor, of: relayID) }
        runtime.setRole(attached.role)
        if attached.recordVersion > runtime.record.version { requestRecord() }
        engine.emit(.connectionChanged(channel: runtime.localName, relay: name, connected: true, reason: nil))
        engine.changed()
        pump()
    }

    private func requestRecord() {
        let request = newRequest()
        recordRequests.insert(request)
        connection.send(.recordGet(request: request, channel: runtime.channelID))
        holdTimer = engine.loop.timer(afterMilliseconds: Self.holdMilliseconds) { [weak self] in
            self?.holdTimer = nil
            self?.flush()
        }
    }

    /// The record came, or none will.
    private func release() {
        guard recordRequests.isEmpty, holdTimer != nil else { return }
        holdTimer = nil
        flush()
    }

    private func newRequest() -> UInt32 {
        nextRequest = nextRequest == .max ? 1 : nextRequest + 1
        return nextRequest
    }

    private func requestFailed(_ error: LinkError) {
        if let event = publishing.removeValue(forKey: error.request) {
            refused(event, code: error.code, name: error.name, retryAfter: Int64(error.retryAfterMs))
        } else if let request = histories.removeValue(forKey: error.request) {
            request.done(
                .failure(
                    ConnectionFailure(
                        stage: .open, text: "\(error.name): \(printable(error.text))", code: error.code)))
        } else if recordRequests.remove(error.request) != nil {
            release()
            engine.changed()
        }
    }

    // MARK: Deliveries

    /// What comes in one event of the loop is stored in one transaction, with the position after it.
    private func enqueue(_ delivery: Delivery) {
        guard state == .attached else { return }
        deliveries.append(delivery)
        if deliveries.count >= Self.deliveriesMax { return flush() }
        guard !isFlushPosted else { return }
        isFlushPosted = true
        engine.later { [weak self] in
            guard let self else { return }
            self.isFlushPosted = false
            self.flush()
        }
    }

    private func flush() {
        guard !deliveries.isEmpty, state == .attached,
            holdTimer == nil || deliveries.count >= Self.deliveriesMax
        else { return }
        let taken = deliveries
        deliveries = []
        // A record may have taken the relay out in between; what it still says counts no more.
        guard runtime.row(relayID) != nil else { return }
        let before = cursor
        do {
            cursor = try runtime.take(taken, relayID: relayID, relay: name, cursor: cursor)
        } catch {
            // Nothing was stored: the link goes, and the relay delivers the same again.
            cursor = before
            connection.restart(ConnectionFailure(stage: .open, text: error.message))
            return
        }
        if isCaughtUp { engine.changed() }
    }

    // MARK: Publishing

    /// Sends what waits in the outbox, in order, as much at once as the link takes.
    ///
    /// `overdue`: an event that need not wait any more.
    func pump(overdue: Int64? = nil) {
        guard state == .attached, let link = connection.link else { return }
        let rows =
            engine.background { try engine.store.pendingRows(relay: relayID, limit: Self.publishingMax * 2) }
            ?? []
        let now = engine.nowMilliseconds
        let sending = Set(publishing.values)
        for row in rows where !sending.contains(row.event) {
            guard publishing.count < Self.publishingMax, link.queuedBytes < Self.queuedBytesMax else {
                return
            }
            guard row.event == overdue || row.entry.isDue(queuedAtSeconds: row.queuedAt, nowMilliseconds: now)
            else {
                // Order matters: an edit must not overtake its message.
                pumpTimer = engine.loop.timer(afterMilliseconds: max(1, row.entry.nextTryMilliseconds - now))
                {
                    // Its pause is over, whatever has become of the wall clock meanwhile.
                    [weak self, event = row.event] in self?.pump(overdue: event)
                }
                return
            }
            guard row.digest == Sodium.sha256(row.element), row.element.count <= Limits.batchElementMax
            else {
                damaged(row.event)
                continue
            }
            let request = newRequest()
            publishing[request] = row.event
            engine.background {
                try engine.store.changeOutbox(event: row.event, relay: relayID) { $0.sent() }
            }
            link.send(.publish(request: request, body: row.element))
        }
    }

    /// What stands in the home is not what was written: no relay could take it, and what comes after it goes
    /// on.
    private func damaged(_ event: Int64) {
        let now = engine.nowMilliseconds
        engine.background {
            try engine.store.changeOutbox(event: event, relay: relayID) {
                $0.refused(
                    code: LinkErrorCode.malformedEvent.rawValue, name: "it is damaged in this home",
                    retry: .no,
                    backoffMilliseconds: 0, nowMilliseconds: now)
            }
        }
        runtime.outboxChanged(event: event, relayID: relayID)
    }

    private func acknowledged(_ request: UInt32, _ results: [Frame.AckResult]) {
        guard let event = publishing[request] else { return }
        // Each PUBLISH of ours is one element.
        if let problem = RelayAnswer.misfit(ack: results, elements: 1) { return misfit("ACK", problem) }
        publishing[request] = nil
        let result = results[0]
        switch result.outcome {
        case .stored, .repeated:
            connection.madeProgress()
            engine.background {
                try engine.store.changeOutbox(event: event, relay: relayID) {
                    $0.acknowledged(sequence: result.sequence)
                }
            }
            runtime.outboxChanged(event: event, relayID: relayID)
        case .refused:
            let name = LinkErrorCode(rawValue: result.code)?.name ?? "error-\(result.code)"
            refused(event, code: result.code, name: name, retryAfter: 0)
        }
        pump()
    }

    private func refused(_ event: Int64, code: UInt16, name: String, retryAfter: Int64) {
        let rows = engine.background { try engine.store.outboxRows(event: event) } ?? []
        guard let row = rows.first(where: { $0.relay == relayID }) else { return }
        let originalPending = row.target.map { target in
            engine.background { try engine.store.isPending(messageID: target, relay: relayID) } ?? false
        }
        let advice = PublishRefusal.advice(
            code: code, originalPending: originalPending ?? false,
            relayUnderWay: runtime.row(relayID)?.relay.isUnderWay ?? false)
        var backoff = engine.makeBackoff(failures: max(0, row.entry.attempts - 1))
        let pause = backoff.failed(retryAfterMilliseconds: retryAfter, using: &engine.random)
        let now = engine.nowMilliseconds
        engine.background {
            try engine.store.changeOutbox(event: event, relay: relayID) {
                $0.refused(
                    code: code, name: name, retry: advice, backoffMilliseconds: pause, nowMilliseconds: now)
            }
        }
        runtime.outboxChanged(event: event, relayID: relayID)
        pump()
    }

    // MARK: History

    /// Asks for a page of the relay's log; what comes is stored before `done` is called with whether there is
    /// more.
    func history(
        mode: Frame.HistoryMode, value: Int64, limit: Int,
        _ done: @escaping (Result<Bool, ConnectionFailure>) -> Void
    ) {
        let request = newRequest()
        histories[request] = HistoryRequest(
            answer: RelayAnswer.History(mode: mode, value: value, limit: limit), done: done)
        connection.send(
            .historyGet(request: request, mode: mode, value: value, limit: UInt16(clamping: limit)))
    }

    private func endHistory(_ request: UInt32, first: Int64, more: Bool) {
        guard let history = histories[request] else { return }
        if let problem = history.answer.misfit(first: first, more: more) {
            return misfit("HISTORY_END", problem)
        }
        histories[request] = nil
        do {
            try runtime.takeHistory(history.answer.elements, relayID: relayID, relay: name)
            history.done(.success(more))
        } catch {
            history.done(.failure(ConnectionFailure(stage: .open, text: error.message)))
        }
    }

    /// Deliveries that are stored together at most.
    private static let deliveriesMax = 500
    /// How long a relay that has told of a newer record is waited for.
    private static let holdMilliseconds: Int64 = 2000
    private static let publishingMax = 16
    private static let queuedBytesMax = 32 << 10
}
