internal import ChannelWire
internal import LinkRuntime
internal import Operations
internal import PosixKit
internal import RelayCore
internal import RelayStore

// What the other threads answer, and what the session says to its client then.
extension LinkSession {
    /// A reply of the ledger to something that this session asked.
    func answered(_ question: AuthorityMessage.Question, _ reply: LedgerReply, bytes: Int) {
        defer { settled(bytes) }
        if case .ended = stage { return }
        switch (question, reply) {
        case (.control, _): controlAnswered(reply)
        case (.join, _): joinAnswered(reply)
        case (.attach, _): attachAnswered(reply)
        case (.invite, _): if case .control(let side) = stage { inviteAnswered(reply, side) }
        case (.roster, .rosterAck(let version, let error)):
            sendDirect(RelayEvents.rosterAck(version: version, error: error))
        case (.recordPut(let request), .recordStored(let version)):
            send(.recordStored(request: request, version: version))
        case (.recordGet(let request), .record(let bytes, _)):
            send(.record(request: request, record: bytes))
        case (.recordNews, _):
            // The owner was told what version is here and will put it again if need be.
            break
        case (.recordPut(let request), _), (.recordGet(let request), _):
            refuse(request: request, reply.refusalCode)
        case (.roster, _): refuse(reply.refusalCode)
        }
    }

    func sendDirect(_ element: [UInt8]) { send(.direct(body: element)) }

    // MARK: CONTROL

    private func controlAnswered(_ reply: LedgerReply) {
        guard case .asking(.control(let side, let signature)) = stage, let link else { return }
        guard case .control(let view) = reply else {
            // Nothing is kept of the channel but the refusal, and no record came along to prove an owner by:
            // the answer is the same.
            if case .refused(.channelRejected) = reply { return reject(.rejoinRejected) }
            return refuse(reply.refusalCode)
        }
        let proof = ProofOfKey.control.input(
            handshakeHash: link.handshakeHash, channel: side.channel, member: side.owner)
        guard loop.relay.crypto.verify(signature, proof, view.ownerKey) else { return refuse(.badProof) }
        link.forgetHandshakeHash()
        side.ownerKey = view.ownerKey
        if let refusal = view.refusal, !side.invitationFollows {
            return reject(refusal)
        }
        stage = .control(side)
        loop.add(side, self)
        send(.controlled(status: view.status.rawValue, recordVersion: view.recordVersion))
        if view.recordIsNews, let record = side.record {
            ask(.putRecord(LedgerCommand.PutRecord(owner: side.owner, record: record)), .recordNews)
        }
        resume()
    }

    private func inviteAnswered(_ reply: LedgerReply, _ side: ControlSide) {
        guard case .invitation(let answer) = reply else { return refuse(reply.refusalCode) }
        invitationDecided(answer)
    }

    /// Tells the owner what became of the invitation, now or when the operator has decided.
    func invitationDecided(_ answer: InvitationReply) {
        switch answer {
        case .accept(let relay):
            sendDirect(RelayEvents.acceptance(link: loop.relay.channelLink(relay.memberKey)))
        case .hold: break
        case .reject(let refusal): reject(refusal)
        case .comeBack(let milliseconds):
            loop.relay.log.info("invitation.put-off", ["reason": "many came from one address"])
            refuse(
                .rateLimited, "The relay has taken up many invitations from this address. Come back later.",
                retryAfterMilliseconds: UInt32(clamping: milliseconds))
        }
    }

    /// The address that this link's invitations count for.
    var invitationSource: InvitationAllowance.Source? {
        link?.peerAddress.map { InvitationAllowance.Source(address: $0.countingKey.hostBytes) }
    }

    /// Answers `x.grp.relay.reject`, which is flushed before the link closes.
    func reject(_ refusal: InvitationRefusal) {
        sendDirect(RelayEvents.rejection(reason: refusal.reason))
        refuse(refusal.code)
    }

    // MARK: JOIN and ATTACH

    private func joinAnswered(_ reply: LedgerReply) {
        guard case .asking(.join(let channel, let member)) = stage else { return }
        guard case .joined(let view) = reply else { return refuse(reply.refusalCode) }
        guard let batch = RelayEvents.joined(view, relayName: loop.relay.configuration.name) else {
            return refuse(.internal)
        }
        stage = .joined(channel, member)
        send(.joined(batch: batch))
        resume()
    }

    private func attachAnswered(_ reply: LedgerReply) {
        guard case .asking(.attach(let attach, _)) = stage, let link else { return }
        guard case .attached(let view) = reply else { return refuse(reply.refusalCode) }
        let proof = ProofOfKey.attach.input(
            handshakeHash: link.handshakeHash, channel: attach.channel, member: attach.member)
        guard loop.relay.crypto.verify(attach.signature, proof, view.memberKey) else {
            return refuse(.badProof)
        }
        link.forgetHandshakeHash()
        let feed = loop.feed(attach.channel, head: view.window.head)
        let reader = MemberReader(
            link: link, number: number, member: attach.member, key: view.memberKey, feed: feed,
            cursor: view.resume.resumeAfter)
        stage = .member(reader)
        feed.add(reader)
        loop.tell(.linked(reference, attach.channel, attach.member))
        send(
            .attached(
                Frame.Attached(
                    epoch: view.window.epoch, first: view.window.first, head: view.window.head,
                    resumeAfter: view.resume.resumeAfter, role: view.role.text,
                    recordVersion: view.recordVersion)))
        if view.resume.epochLost { send(.gap(from: 0, to: 0, reason: .epoch)) }
        loop.serveLater(reader)
        resume()
    }

    // MARK: PUBLISH and HISTORY_GET

    func publish(_ reader: MemberReader, _ request: UInt32, _ body: [UInt8]) {
        if let end = reader.end { return refuse(request: request, end.code) }
        let publishing: ElementReading.Publishing
        do throws(ElementReading.Refusal) {
            publishing = try ElementReading.Publishing(
                request: request, body: body, crypto: loop.relay.crypto)
        } catch {
            return refuse(request: request, error.code)
        }
        began(body.count)
        goOn(publishing, reader)
    }

    /// Checks a few elements; the rest wait for the link's next turn.
    func goOn(_ publishing: ElementReading.Publishing, _ reader: MemberReader) {
        var publishing = publishing
        publishing.check(
            channel: reader.channel, author: reader.member, key: reader.key,
            messageBytesMax: loop.relay.configuration.messageBytesMax, crypto: loop.relay.crypto)
        guard publishing.isWhole else { return wait(with: publishing) }
        loop.tell(
            .publish(
                reference, request: publishing.request, publishing.items, bytes: publishing.bodyBytes))
    }

    func acknowledged(_ request: UInt32, _ results: [Frame.AckResult], bytes: Int) {
        if case .member = stage { send(.ack(request: request, results: results)) }
        settled(bytes)
    }

    func history(
        _ reader: MemberReader, _ request: UInt32, _ mode: Frame.HistoryMode, _ value: Int64, _ limit: UInt16
    ) {
        // One page at a time: the answer of the last has to be on its way before the next is read.
        guard !reader.isAwaitingHistory, reader.nextAnswer == nil else {
            return refuse(request: request, .rateLimited)
        }
        reader.isAwaitingHistory = true
        let question: RelayReader.HistoryQuestion =
            switch mode {
            case .beforeSequence: .beforeSequence(value)
            case .beforeTime: .beforeTime(value)
            case .fromTime: .fromTime(value)
            }
        began(0)
        loop.relay.reader.post(
            .history(reference, reader.channel, request: request, question, limit: max(1, Int(limit))))
    }

    func historyCame(_ request: UInt32, _ segment: LogSegment?) {
        defer { settled(0) }
        guard case .member(let reader) = stage else { return }
        reader.isAwaitingHistory = false
        guard let segment else { return refuse(request: request, .internal) }
        reader.nextAnswer = HistoryAnswer(segment: segment)
        loop.serveLater(reader)
    }

    func pageCame(_ page: LogSegment?, head: Int64?) {
        guard case .member(let reader) = stage else { return }
        reader.isAwaitingPage = false
        guard let page else { return refuse(.internal) }
        // Nothing after the cursor and yet not at the head: the log is gone or was cut under our hands.
        guard page.through > reader.cursor else {
            if let end = reader.end { return refuse(end.code) }
            // Left and forgotten since it was asked for: the word that ends this link is on its way.
            if head == nil { return }
            if reader.cursor < reader.feed.tail.head {
                loop.relay.log.error(
                    "storage.log-shorter",
                    ["channel": .text(reader.channel.text), "hint": "it ends before what was delivered"])
                refuse(.internal)
            }
            return
        }
        reader.page = page
        loop.serveLater(reader)
    }

    func membersCame(_ request: UInt32, _ frame: Frame?) {
        defer { settled(0) }
        if case .ended = stage { return }
        guard let frame else { return refuse(request: request, .internal) }
        send(frame)
    }
}

extension LedgerReply {
    /// The ERROR for a reply that is not the one asked for.
    var refusalCode: LinkErrorCode {
        switch self {
        case .refused(let code): code
        case .failed(let failure): failure.code
        default: .internal
        }
    }
}

extension InvitationRefusal {
    /// The ERROR that ends the link after a reject.
    var code: LinkErrorCode {
        switch self {
        case .rejoinRejected: .channelRejected
        case .notAccepting, .byOperator: .notAccepting
        case .channelLimit: .channelLimit
        case .invalidRecord: .recordInvalid
        case .notOwner: .notOwner
        }
    }
}
