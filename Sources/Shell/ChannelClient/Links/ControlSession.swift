internal import ChannelWire
internal import ClientCore
internal import ClientStore
internal import LibeventLoop
internal import LinkRuntime
internal import SodiumCrypto

/// The owner's control link to one relay: invitation, roster, record, members.
///
/// ```
/// closed ──open──▶ proving ──CONTROLLED──▶ controlling
/// ```
/// What is to be said follows from the relay's row (`OwnerRelay`) and the record that the relay is known to
/// have, so a lost link costs nothing: the next one says what is still missing.
final class ControlSession: RelayConnectionUser {
    enum State { case closed, proving, controlling }

    unowned let runtime: ChannelRuntime
    let relayID: Int64
    let name: String
    var relayMember: MemberID!
    var relayIdentity: PublicKey!
    private(set) var connection: RelayConnection!
    private(set) var state = State.closed
    var isSuspended = false
    private(set) var failureCount = 0
    /// When the invitation left on this link; monotonic milliseconds.
    private(set) var invitedAt: Int64?
    /// Whether the relay has nothing more to say to an invitation until its operator decides.
    private(set) var isOperatorsTurn = false
    private var isRosterSent = false
    private var putFailures = 0
    private var nextRequest: UInt32 = 1
    private var puts: [UInt32: Int64] = [:]
    private var gets: Set<UInt32> = []
    private var memberRequests: [UInt32: MembersRequest] = [:]

    private struct MembersRequest {
        let after: MemberID?
        let limit: Int
        let done: (Result<Frame.MembersPage, ConnectionFailure>) -> Void
    }

    init(runtime: ChannelRuntime, relayID: Int64, name: String, endpoint: RelayEndpoint) {
        self.runtime = runtime
        self.relayID = relayID
        self.name = name
        connection = RelayConnection(
            engine: runtime.engine, endpoint: endpoint, circuit: runtime.circuit("control"), user: self)
    }

    private var engine: Engine { runtime.engine }
    var isControlling: Bool { state == .controlling }

    /// Whether the relay carries the channel, as far as we know, and lacks the record.
    func needsRecord(_ row: StoredChannelRelay) -> Bool {
        row.relay.status.isServing && row.storedVersion < runtime.record.version
    }

    // MARK: The link

    func connectionDidOpen(_ link: Link) {
        guard let row = runtime.row(relayID) else { return }
        state = .proving
        invitedAt = nil
        isRosterSent = false
        let proof = ProofOfKey.control.input(
            handshakeHash: link.handshakeHash, channel: runtime.channelID, member: runtime.me)
        link.send(
            .control(
                Frame.Control(
                    channel: runtime.channelID, owner: runtime.me,
                    signature: runtime.keys.signature(over: proof),
                    invitationFollows: row.relay.status == .new || row.relay.status == .invited,
                    record: runtime.record.bytes)))
    }

    func connectionWillStop() {
        reset(ConnectionFailure(stage: .open, text: "the link was not needed any more"))
    }

    private func reset(_ failure: ConnectionFailure) {
        state = .closed
        puts = [:]
        gets = []
        let waiting = memberRequests
        memberRequests = [:]
        for request in waiting.values { request.done(.failure(failure)) }
    }

    func connectionDidClose(_ failure: ConnectionFailure) {
        failureCount += 1
        reset(failure)
        switch failure.code.flatMap({ LinkErrorCode(rawValue: $0) }) {
        case .channelRejected:
            // The reject came before it, or was lost with another link; the number says the same.
            runtime.relayRejected(relayID, reason: RejectionReason.rejoinRejected.text)
        case .badProof, .notOwner, .recordInvalid, .invitationInvalid, .notAccepting, .channelDeleted:
            suspend()
        default: break
        }
        runtime.setRelayError(relayID, failure.text)
        engine.changed()
    }

    func connection(_ link: Link, didReceive frame: Frame) {
        switch frame {
        case .controlled(let status, let recordVersion) where state == .proving:
            controlled(status: status, recordVersion: recordVersion)
        case .direct(let body):
            direct(body)
        case .recordStored(let request, let version):
            guard let put = puts.removeValue(forKey: request) else { return }
            if let problem = RelayAnswer.misfit(stored: version, put: put) {
                return connection.restart(.misfit("RECORD_STORED", problem))
            }
            putFailures = 0
            connection.madeProgress()
            runtime.recordStored(relayID, version: version)
        case .record(let request, let record):
            let asked = gets.remove(request) != nil
            guard asked || request == 0 else { return }
            runtime.offer(record, from: name, relayID: relayID)
            // The relay had a newer one than ours: what we wanted to say goes into the next version.
            if asked { runtime.scheduleRecord() }
        case .members(let page):
            members(page)
        case .error(let error):
            requestFailed(error)
        default:
            break
        }
    }

    private func requestFailed(_ error: LinkError) {
        if let request = memberRequests.removeValue(forKey: error.request) {
            request.done(
                .failure(
                    ConnectionFailure(
                        stage: .open, text: "\(error.name): \(printable(error.text))", code: error.code)))
        } else if puts.removeValue(forKey: error.request) != nil {
            switch error.known {
            case .recordStale, .recordConflict:
                // A version above both settles it; a relay that is never content is left alone.
                putFailures += 1
                if putFailures > Self.putFailuresMax { return suspend() }
                runtime.forcesNextRecord = error.known == .recordConflict
                let request = newRequest()
                gets.insert(request)
                connection.send(.recordGet(request: request, channel: runtime.channelID))
            default:
                runtime.setRelayError(relayID, "\(error.name): \(printable(error.text))")
                if error.known?.retry == .yes {
                    connection.restart(
                        ConnectionFailure(
                            stage: .open, text: error.name, retryAfterMilliseconds: Int64(error.retryAfterMs))
                    )
                } else {
                    suspend()
                }
            }
        } else {
            gets.remove(error.request)
        }
    }

    /// Lets the relay be until a call wants it again.
    private func suspend() {
        isSuspended = true
        engine.later { [weak runtime] in runtime?.reconcile() }
    }

    private func newRequest() -> UInt32 {
        nextRequest = nextRequest == .max ? 1 : nextRequest + 1
        return nextRequest
    }

    // MARK: What is to be said

    private func controlled(status: String, recordVersion: Int64) {
        state = .controlling
        isOperatorsTurn = status == ChannelWire.RelayStatus.invited.rawValue
        connection.succeeded()
        runtime.setRelayError(relayID, nil)
        guard let row = runtime.row(relayID) else { return }
        if recordVersion == runtime.record.version,
            ChannelWire.RelayStatus(rawValue: status)?.isServing == true
        {
            runtime.recordStored(relayID, version: recordVersion)
        } else if recordVersion > runtime.record.version {
            let request = newRequest()
            gets.insert(request)
            connection.send(.recordGet(request: request, channel: runtime.channelID))
        }
        if status == ChannelWire.RelayStatus.inactive.rawValue { runtime.relayStoppedCarrying(relayID) }
        if status.isEmpty, row.relay.status.isServing {
            // The relay lost the channel, as after a restore: invite it anew; it will have another key.
            sendInvitation()
        }
        if let row = runtime.row(relayID) { proceed(row) }
        engine.changed()
    }

    /// Says what the relay's row asks for; nothing is said twice on one link.
    func proceed(_ row: StoredChannelRelay) {
        guard state == .controlling else { return }
        switch row.relay.status {
        case .new, .invited:
            if invitedAt == nil {
                sendInvitation()
                runtime.change(relayID) { $0.invitationSent() }
            }
        case .accepted:
            if !isRosterSent { sendRoster() }
        case .acknowledgedRoster, .active, .inactive, .rejected:
            break
        }
        putRecord(row)
    }

    private func putRecord(_ row: StoredChannelRelay) {
        guard needsRecord(row), !puts.values.contains(runtime.record.version) else { return }
        sendRecord()
    }

    /// Sends the newest record, also to a relay that is not in it any more, so that it learns of that.
    func sendRecord() {
        guard state == .controlling else { return }
        let request = newRequest()
        puts[request] = runtime.record.version
        connection.send(.recordPut(request: request, record: runtime.record.bytes))
    }

    var isPutting: Bool { !puts.isEmpty }

    private func sendInvitation() {
        let invitation = RelayInvitation(
            fromMember: MemberAndRole(memberID: runtime.me, role: .owner),
            fromMemberProfile: ChannelWire.Profile(displayName: runtime.memberName),
            relayMemberID: relayMember,
            groupLink: AntennaLink.channel(
                runtime.channelID,
                hosts: connection.endpoint.hosts.prefix(1).map {
                    AntennaLink.Host(endpoint: $0, identity: relayIdentity)
                }
            ).text())
        invitedAt = engine.loop.nowMonotonicMilliseconds
        connection.send(.direct(body: runtime.signed(.relayInv(invitation))))
    }

    private func sendRoster() {
        isRosterSent = true
        let blob = Roster().blob()
        let message = MessageID.fresh()
        let header = RosterHeader(
            version: max(0, runtime.record.content.rosterVersion), fileSize: Int64(blob.count),
            fileDigest: Sodium.sha512(blob))
        let elements =
            [runtime.signed(.roster(header), messageID: message)]
            + Roster.chunks(of: blob, message: message).map(\.bytes)
        connection.send(.direct(body: Body.encodeBatch(elements)))
    }

    /// Asks for a page of the members.
    func members(
        after: MemberID?, limit: Int, _ done: @escaping (Result<Frame.MembersPage, ConnectionFailure>) -> Void
    ) {
        let request = newRequest()
        memberRequests[request] = MembersRequest(after: after, limit: limit, done: done)
        connection.send(.membersGet(request: request, after: after, limit: UInt16(clamping: limit)))
    }

    private func members(_ page: Frame.MembersPage) {
        guard let request = memberRequests[page.request] else { return }
        if let problem = RelayAnswer.misfit(members: page, after: request.after, limit: request.limit) {
            return connection.restart(.misfit("MEMBERS", problem))
        }
        memberRequests[page.request] = nil
        request.done(.success(page))
    }

    // MARK: What the relay says

    private func direct(_ body: [UInt8]) {
        guard let elements = try? Body.decode(body, crypto: engine.crypto) else { return }
        for element in elements {
            guard case .success(let element) = element, let json = element.json,
                let event = try? Event.decode(json: json)
            else { continue }
            switch event.params {
            case .relayAcpt(let acceptance): accepted(acceptance)
            case .relayReject(let reason): runtime.relayRejected(relayID, reason: printable(reason.text))
            case .rosterAck(let acknowledgement): rosterAcknowledged(acknowledgement)
            case .memNew(let info): runtime.memberJoined(info)
            default: break
            }
        }
    }

    private func accepted(_ acceptance: RelayAcceptance) {
        guard let row = runtime.row(relayID) else { return }
        var key: PublicKey?
        if case .relayChannel(let linkKey, let host) = try? AntennaLink.parse(acceptance.relayLink),
            host.identity == relayIdentity, runtime.isFresh(linkKey, for: relayID)
        {
            key = linkKey
        }
        if let key, row.relayKey != key.raw || row.relayLink != acceptance.relayLink, row.relay.takesMessages
        {
            engine.background {
                try engine.store.setRelayEndpoint(relayID, key: key.raw, link: acceptance.relayLink)
            }
            // A relay that lost its key is in the record with the old one.
            if row.relay.isPublishable { runtime.scheduleRecord() }
        }
        switch runtime.change(relayID, { $0.acceptReceived(matches: key != nil) }) {
        case .sendRoster(let change):
            // Where the status is new, `proceed` has sent it.
            if change == .unchanged || !isRosterSent { sendRoster() }
        case .mismatch:
            runtime.setRelayError(relayID, "the relay accepted with a link that is not its own")
            engine.changed()
        case .ignore, nil:
            break
        }
    }

    private func rosterAcknowledged(_ acknowledgement: RosterAcknowledgement) {
        let answer = runtime.change(relayID) {
            $0.rosterAcknowledged(
                version: acknowledgement.version, current: max(0, runtime.record.content.rosterVersion),
                error: acknowledgement.error.map(printable))
        }
        if answer == .publishRecord { runtime.scheduleRecord() }
    }

    private static let putFailuresMax = 3
}
