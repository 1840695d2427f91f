internal import ChannelWire
internal import ClientCore
internal import ClientStore
internal import LibeventLoop
internal import SodiumCrypto

/// Publishing and the outbox.
extension Engine {
    // MARK: Messages

    func publishText(
        _ text: String, to channel: String, asGroup: Bool, minimumRelays: Int, milliseconds: Int64,
        _ reply: Reply<PublishReceipt>
    ) {
        do throws(ChannelClientError) {
            let runtime = try openToPost(channel)
            guard !asGroup || runtime.isOwner else {
                throw .init(.notPermitted, "Only an owner may write as the channel.")
            }
            try Self.checkText(text)
            let container = MessageContainer(content: MessageContent(text: text), asGroup: asGroup)
            try publish(
                .msgNew(container), in: runtime, minimumRelays: minimumRelays, milliseconds: milliseconds,
                reply)
        } catch {
            reply.fail(error)
        }
    }

    func edit(
        _ messageID: String, in channel: String, to text: String, minimumRelays: Int, milliseconds: Int64,
        _ reply: Reply<PublishReceipt>
    ) {
        do throws(ChannelClientError) {
            let runtime = try openToPost(channel)
            let message = try findMessage(messageID, in: runtime)
            guard !message.deleted else { throw .init(.messageDeleted, "The message was deleted.") }
            guard message.author == runtime.me.bytes, let id = MessageID(bytes: message.messageID) else {
                throw .init(.notPermitted, "Only the author may change a message.")
            }
            try Self.checkText(text)
            let update = MessageUpdate(
                messageID: id, content: MessageContent(text: text), asGroup: message.asGroup)
            try publish(
                .msgUpdate(update), in: runtime, minimumRelays: minimumRelays, milliseconds: milliseconds,
                reply)
        } catch {
            reply.fail(error)
        }
    }

    func deleteMessage(
        _ messageID: String, in channel: String, minimumRelays: Int, milliseconds: Int64,
        _ reply: Reply<PublishReceipt>
    ) {
        do throws(ChannelClientError) {
            let runtime = try openCurrent(channel)
            let message = try findMessage(messageID, in: runtime)
            guard !message.deleted else { throw .init(.messageDeleted, "The message was deleted already.") }
            guard let id = MessageID(bytes: message.messageID) else {
                throw .defect("A stored message id is bad.")
            }
            let isOwn = message.author == runtime.me.bytes
            guard isOwn || runtime.role >= .moderator else {
                throw .init(.notPermitted, "Only the author, an owner or a moderator may delete a message.")
            }
            let deletion = MessageDeletion(
                messageID: id, memberID: isOwn ? nil : MemberID(bytes: message.author))
            try publish(
                .msgDel(deletion), in: runtime, minimumRelays: minimumRelays, milliseconds: milliseconds,
                reply)
        } catch {
            reply.fail(error)
        }
    }

    /// Throws: `invalid-text`.
    private static func checkText(_ text: String) throws(ChannelClientError) {
        guard !text.isEmpty else { throw .init(.invalidText, "A message has at least one character.") }
        guard !text.unicodeScalars.contains("\0") else {
            throw .init(.invalidText, "A message cannot have the character NUL in it.")
        }
    }

    func openCurrent(_ channel: String) throws(ChannelClientError) -> ChannelRuntime {
        let runtime = try open(channel)
        guard runtime.isCurrent else {
            throw .init(
                .notPermitted, "The membership in \(ChannelNaming.quoted(runtime.localName)) has ended.")
        }
        return runtime
    }

    private func openToPost(_ channel: String) throws(ChannelClientError) -> ChannelRuntime {
        let runtime = try openCurrent(channel)
        guard runtime.role.mayPost else {
            throw .init(
                .notPermitted,
                "Only those with a right to post may publish in \(ChannelNaming.quoted(runtime.localName)).")
        }
        return runtime
    }

    // MARK: The way out

    /// Stores an event of our own with an outbox row for each relay, and waits for the relays' answers.
    ///
    /// `madeRecord`: it comes with a new record, and the relays shall have both.
    func publish(
        _ params: EventParams, in runtime: ChannelRuntime, minimumRelays: Int, milliseconds: Int64,
        madeRecord: Bool = false, _ reply: Reply<PublishReceipt>
    ) throws(ChannelClientError) {
        let rows = runtime.relayRows().filter(\.relay.takesMessages)
        guard !rows.isEmpty else {
            throw .init(
                .noRelays, "\(ChannelNaming.quoted(runtime.localName)) has no relay that could take it.")
        }
        guard minimumRelays <= rows.count else {
            throw .init(
                .tooFewRelays,
                "\(ChannelNaming.quoted(runtime.localName)) has \(rows.count) "
                    + "\(rows.count == 1 ? "relay" : "relays") to publish to, not \(minimumRelays).")
        }
        let messageID = MessageID.fresh()
        let isSigned =
            params.tag.mustBeSigned || (params.tag.mayBeSigned && runtime.record.profile.signsMessages)
        let element =
            isSigned
            ? runtime.signed(params, messageID: messageID)
            : Event(messageID: messageID, params: params).encode()
        guard element.count <= Limits.batchElementMax else {
            throw .init(
                .messageTooLarge,
                "The message has \(element.count) bytes as it travels, at most \(Limits.batchElementMax) fit."
            )
        }
        let event = try storeOwn(
            params, messageID: messageID, element: element, isSigned: isSigned, rows, in: runtime)
        runtime.tellOwn(params, event: event)
        let sending = Sending(runtime: runtime, rows: rows)
        let version = runtime.record.version
        let began = loop.nowMonotonicMilliseconds
        runtime.reconcile()
        wait(milliseconds: milliseconds) { [weak self] expired in
            guard let self else { return true }
            let receipt = self.receipt(event: event, messageID: messageID, in: runtime)
            guard expired || sending.isSettled(receipt) else { return false }
            // A relay that refused for good is out of the record; the others hear of that before we go.
            let isTold =
                expired || (runtime.recordTimer == nil && runtime.record.version == version && !madeRecord)
            let remaining = milliseconds - (self.loop.nowMonotonicMilliseconds - began)
            self.tellRecord(of: runtime, milliseconds: isTold ? 0 : remaining) {
                sending.end()
                reply.finish(Self.outcome(receipt, minimumRelays: minimumRelays))
            }
            return true
        }
    }

    private static func outcome(
        _ receipt: PublishReceipt, minimumRelays: Int
    ) -> Result<PublishReceipt, ChannelClientError> {
        let refused = receipt.relays.filter { if case .refused = $0.outcome { true } else { false } }
        if !receipt.relays.isEmpty, refused.count == receipt.relays.count {
            return .failure(.init(.refused, "Every relay refused the message.", receipt: receipt))
        }
        if receipt.acceptedCount < minimumRelays {
            return .failure(
                .init(
                    .tooFewRelays,
                    "\(receipt.acceptedCount) of \(minimumRelays) relays took it; it stays in the outbox.",
                    receipt: receipt))
        }
        return .success(receipt)
    }

    private func storeOwn(
        _ params: EventParams, messageID: MessageID, element: [UInt8], isSigned: Bool,
        _ rows: [StoredChannelRelay],
        in runtime: ChannelRuntime
    ) throws(ChannelClientError) -> Int64 {
        let now = nowSeconds
        return try attempt {
            try store.write { () throws(ClientStoreError) -> Int64 in
                let signature: MessageAdmission.SignatureStatus = isSigned ? .verified : .unsigned
                let event = try store.insertEvent(
                    NewEvent(
                        author: runtime.me.bytes, messageID: messageID.bytes, tag: params.tag.rawValue,
                        time: now,
                        signature: signature.rawValue, own: true, digest: Sodium.sha256(element),
                        target: params.target?.bytes, element: element), channel: runtime.id
                ).id
                try runtime.applyOwn(
                    params, messageID: messageID, event: event, signature: signature, now: now)
                for row in rows { try store.enqueue(event: event, relay: row.id, now: now) }
                return event
            }
        }
    }

    func receipt(of messageID: String, in channel: String) throws(ChannelClientError) -> PublishReceipt {
        let runtime = try open(channel)
        guard let id = MessageID(text: messageID) else {
            throw .init(.invalidMessageID, "A message id is base64url of 1 to 255 bytes.")
        }
        guard let event = try attempt({ try store.ownEvent(messageID: id.bytes, in: runtime.id) }) else {
            throw .init(.unknownMessage, "This home did not publish \(messageID).")
        }
        return receipt(event: event, messageID: id, in: runtime)
    }

    func outboxRows() throws(ChannelClientError) -> [OutboxRow] {
        var rows: [OutboxRow] = []
        for row in try attempt({ try store.openOutboxRows() }) {
            guard let runtime = try runtime(row.channel) else { continue }
            let isPending = row.entry.state == .pending
            rows.append(
                OutboxRow(
                    channel: runtime.localName, messageID: Base64URL.encode(row.messageID),
                    relay: runtime.relayName(row.relay), state: isPending ? "pending" : "refused",
                    attempts: row.entry.attempts,
                    lastError: row.entry.lastError
                        ?? (isPending ? runtime.row(row.relay)?.lastError : nil),
                    nextTryAt: isPending ? max(row.entry.nextTryMilliseconds / 1000, row.queuedAt) : nil,
                    queuedAt: row.queuedAt))
        }
        return rows
    }

    func discardOutbox(_ messageID: String, in channel: String, pending: Bool) throws(ChannelClientError) {
        let runtime = try open(channel)
        guard let id = MessageID(text: messageID),
            let event = try attempt({ try store.ownEvent(messageID: id.bytes, in: runtime.id) })
        else { throw .init(.unknownMessage, "This home did not publish \(messageID).") }
        _ = try attempt { try store.discardOutbox(event: event, pendingToo: pending) }
        removeWhereDone(runtime)
    }
}

/// The links of one call that publishes.
private final class Sending {
    private let runtime: ChannelRuntime
    private let rows: [(row: StoredChannelRelay, failures: Int)]
    private var demands: [RelaySession.Demand] = []

    init(runtime: ChannelRuntime, rows: [StoredChannelRelay]) {
        self.runtime = runtime
        self.rows = rows.map { ($0, runtime.session($0).member.failureCount) }
        demands = rows.map { runtime.session($0).demandMember() }
        if runtime.isOwner { demands += rows.map { runtime.session($0).demandControl() } }
    }

    func end() { demands = [] }

    /// Every relay has answered, or cannot be reached now, or does not carry the channel yet.
    func isSettled(_ receipt: PublishReceipt) -> Bool {
        var queued: Set<String> = []
        for part in receipt.relays {
            if case .queued = part.outcome { queued.insert(part.relay) }
        }
        return rows.allSatisfy { entry in
            guard queued.contains(entry.row.name) else { return true }
            guard let now = runtime.row(entry.row.id) else { return true }
            if runtime.isOwner, !now.relay.isPublishable {
                // A relay that has not accepted will not in the next seconds either, unless it is doing so
                // now.
                return now.relay.status == .new || now.relay.status == .invited
            }
            let member = runtime.session(now).member
            return member.isSuspended || member.failureCount > entry.failures
        }
    }
}

extension ChannelRuntime {
    /// What an own event does here, at once.
    func applyOwn(
        _ params: EventParams, messageID: MessageID, event: Int64,
        signature: MessageAdmission.SignatureStatus,
        now: Int64
    ) throws(ClientStoreError) {
        switch params {
        case .msgNew(let container):
            try engine.store.insertMessage(
                event: event, channel: id, author: me.bytes, messageID: messageID.bytes,
                authorName: memberName,
                asGroup: container.asGroup, time: now, contentType: container.content.type,
                text: container.content.text, signature: signature.rawValue)
            try journal("message", event)
        case .msgUpdate(let update):
            for message in try messages(changedBy: params) {
                _ = try engine.store.editMessage(
                    event: message.event, contentType: update.content.type, text: update.content.text)
                try journal("edited", message.event)
            }
        case .msgDel:
            for message in try messages(changedBy: params) {
                _ = try engine.store.eraseMessage(event: message.event)
                try journal("deleted", message.event)
            }
        default: break
        }
    }

    /// The messages that an own event changes: of all with the id those of whom it is about.
    private func messages(changedBy params: EventParams) throws(ClientStoreError) -> [StoredMessage] {
        guard let target = params.target else { return [] }
        var author = me
        var isChannelsToo = isOwner
        if case .msgDel(let deletion) = params, let other = deletion.memberID {
            author = other
            isChannelsToo = false
        }
        return try engine.store.messages(id: target.bytes, in: id).filter {
            $0.author == author.bytes || (isChannelsToo && $0.author.isEmpty)
        }
    }

    func tellOwn(_ params: EventParams, event: Int64) {
        let changed = (engine.background { try messages(changedBy: params) } ?? []).map(\.event)
        switch params {
        case .msgNew: tellMessage(event) { .messageReceived($0) }
        case .msgUpdate: for event in changed { tellMessage(event) { .messageUpdated($0) } }
        case .msgDel: for event in changed { tellMessage(event) { .messageDeleted($0) } }
        default: break
        }
        engine.pumpFollowers(of: id)
    }
}
