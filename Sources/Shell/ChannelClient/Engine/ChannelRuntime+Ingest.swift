internal import ChannelWire
internal import ClientCore
internal import ClientStore
internal import LibeventLoop
internal import SodiumCrypto

extension ChannelRuntime {
    // MARK: Deliveries

    /// Stores what a relay delivered, and the position after it, in one transaction; then tells of it.
    func take(
        _ deliveries: [MemberSession.Delivery], relayID: Int64, relay: String, cursor: DeliveryCursor
    ) throws(ChannelClientError) -> DeliveryCursor {
        var cursor = cursor
        var effects: [Effect] = []
        let admission = self.admission
        try engine.attempt {
            try engine.store.write { () throws(ClientStoreError) in
                for delivery in deliveries {
                    switch delivery {
                    case .element(let sequence, let batch):
                        switch cursor.delivered(sequence: sequence) {
                        case .repeated: continue
                        case .take: break
                        case .silentHole(let from, let to):
                            effects.append(
                                .disagreement(
                                    .withheld, nil,
                                    "The relay skipped \(from) to \(to) of its log without a word."))
                        }
                        try store(
                            batch, sequence: sequence, relayID: relayID, relay: relay, admission: admission,
                            isHistory: false, effects: &effects)
                    case .gap(let from, let to, let reason):
                        // An epoch gap was told when the link was attached.
                        guard reason != .epoch else { continue }
                        switch cursor.gap(from: from, to: to) {
                        case .repeated: continue
                        case .take: break
                        case .silentHole(let first, let last):
                            effects.append(
                                .disagreement(
                                    .withheld, nil,
                                    "The relay skipped \(first) to \(last) of its log without a word."))
                        }
                        effects.append(.gap(from, to, reason == .pruned ? .pruned : .erased))
                    }
                }
                try engine.store.setCursor(cursor, of: relayID)
                try writeDown(&effects, relay: relay)
            }
        }
        perform(effects, relayID: relayID, relay: relay)
        return cursor
    }

    /// Stores a page of history: beside the positions, and without telling of it as news.
    func takeHistory(
        _ elements: [(sequence: Int64, batch: [UInt8])], relayID: Int64, relay: String
    ) throws(ChannelClientError) {
        var effects: [Effect] = []
        let admission = self.admission
        try engine.attempt {
            try engine.store.write { () throws(ClientStoreError) in
                for element in elements {
                    try store(
                        element.batch, sequence: element.sequence, relayID: relayID, relay: relay,
                        admission: admission, isHistory: true, effects: &effects)
                }
                try writeDown(&effects, relay: relay)
            }
        }
        perform(effects, relayID: relayID, relay: relay)
    }

    /// What is told after the commit; what is to be read later, too, is written down in it (`writeDown`).
    enum Effect {
        case received(Int64)
        case edited(Int64)
        case deleted(Int64)
        case gap(Int64, Int64, DeliveryGap.Reason)
        case disagreement(RelayDisagreement.Kind, MessageID?, String)
        case finding(CopyComparison.Finding)
        case relayLeft(MemberID)
        case memberLeft(MemberID)
        case removed(String)
        case channelDeleted
        case notice(String)
        case written(ClientEvent)
        case journal
    }

    private func store(
        _ batch: [UInt8], sequence: Int64, relayID: Int64, relay: String, admission: MessageAdmission,
        isHistory: Bool, effects: inout [Effect]
    ) throws(ClientStoreError) {
        guard let elements = try? Body.decode(batch, crypto: engine.crypto), elements.count == 1,
            case .success(.forward(let forward)) = elements[0]
        else {
            effects.append(
                .disagreement(.unverifiable, nil, "What the relay delivered as \(sequence) does not decode."))
            return
        }
        var failure: ClientStoreError?
        let verdict = admission.judge(
            forward,
            member: { member in
                do throws(ClientStoreError) {
                    guard let known = try engine.store.member(member.bytes, of: id) else { return nil }
                    return MessageAdmission.KnownMember(
                        role: Role(text: known.role), key: known.publicKey.flatMap { PublicKey(raw: $0) })
                } catch {
                    failure = error
                    return nil
                }
            }, verify: engine.crypto.verify)
        if let failure { throw failure }
        switch verdict {
        case .ignore: return
        case .refuse(let refusal):
            effects.append(
                .disagreement(
                    .unverifiable, nil,
                    "What the relay delivered as \(sequence) was not taken: \(refusal.rawValue)."))
        case .take(let admitted):
            try store(
                admitted, sequence: sequence, relayID: relayID, relay: relay, isHistory: isHistory,
                effects: &effects)
        }
    }

    private func store(
        _ admitted: MessageAdmission.Admitted, sequence: Int64, relayID: Int64, relay: String,
        isHistory: Bool,
        effects: inout [Effect]
    ) throws(ClientStoreError) {
        let digest = Sodium.sha256(admitted.element)
        let author = try author(of: admitted, digest: digest)
        let inserted = try engine.store.insertEvent(
            NewEvent(
                author: author, messageID: admitted.messageID.bytes, tag: admitted.event.tag.rawValue,
                time: admitted.time, signature: admitted.signature.rawValue, own: false, digest: digest,
                target: admitted.event.params.target?.bytes, element: admitted.element), channel: id)
        let isFirstCopy = try engine.store.insertCopy(
            event: inserted.id, relay: relayID, digest: digest, sequence: sequence,
            now: engine.nowMilliseconds)
        if isFirstCopy, !isHistory {
            let finding = comparison.delivered(
                CopyComparison.Key(author: author, message: admitted.messageID.bytes), relay: relay,
                sequence: sequence, digest: digest,
                isProof: provesItself(admitted.signature.rawValue),
                amends: admitted.event.params.target?.bytes, nowMilliseconds: engine.steadyMilliseconds)
            if let finding { effects.append(.finding(finding)) }
            scheduleWithheldCheck()
        }
        // An author and a message id have one content: an honest relay would have refused the second. Who
        // wrote as the channel is not told, and two owners may have chosen one id.
        if !isFirstCopy, admitted.author != nil || record.content.owners.count == 1,
            let before = try engine.store.copyDigest(event: inserted.id, relay: relayID),
            before != digest
        {
            effects.append(
                .disagreement(
                    .altered, admitted.messageID,
                    "The relay delivered this message before, with other bytes."))
        }
        switch inserted {
        case .new(let event):
            try apply(admitted, event: event, sequence: sequence, isHistory: isHistory, effects: &effects)
        case .known(let event, let known):
            if known != digest, isFirstCopy, author == me.bytes {
                effects.append(
                    .disagreement(
                        .altered, admitted.messageID,
                        "The relay delivers other bytes than were published here."))
            }
            if author == me.bytes, try engine.store.message(event: event)?.own == true {
                // The relay's time counts, as it does for everybody else.
                try engine.store.setMessageTime(event: event, admitted.time)
            }
        }
    }

    /// Under whom an event is kept; empty for the channel.
    ///
    /// What was written here as the channel comes back without a name, and is the same message. Of a sole
    /// owner it is so whatever the bytes: nobody else writes as the channel.
    private func author(of admitted: MessageAdmission.Admitted, digest: [UInt8])
        throws(ClientStoreError) -> [UInt8]
    {
        if let author = admitted.author { return author.bytes }
        guard isOwner,
            let own = try engine.store.digest(author: me.bytes, messageID: admitted.messageID.bytes, in: id)
        else { return [] }
        return own == digest || record.content.owners.count == 1 ? me.bytes : []
    }

    // MARK: What an event does

    private func apply(
        _ admitted: MessageAdmission.Admitted, event: Int64, sequence: Int64, isHistory: Bool,
        effects: inout [Effect]
    ) throws(ClientStoreError) {
        let author = admitted.author
        switch admitted.event.params {
        case .msgNew(let container):
            try engine.store.insertMessage(
                event: event, channel: id, author: author?.bytes ?? [], messageID: admitted.messageID.bytes,
                authorName: try authorName(admitted), asGroup: container.asGroup || author == nil,
                time: admitted.time, contentType: container.content.type, text: container.content.text,
                signature: admitted.signature.rawValue, historySequence: isHistory ? sequence : nil)
            try applyEarlierChanges(to: admitted.messageID, event: event)
            guard !isHistory else { return }
            try journal("message", event)
            effects.append(.received(event))
        case .msgUpdate(let update):
            guard let message = try target(update.messageID, author: author),
                try engine.store.editMessage(
                    event: message.event, contentType: update.content.type, text: update.content.text)
            else { return }
            guard !isHistory else { return }
            try journal("edited", message.event)
            effects.append(.edited(message.event))
        case .msgDel(let deletion):
            // Without a member id it is one's own message, or the channel's.
            let owner = deletion.memberID ?? author
            guard let message = try target(deletion.messageID, author: owner),
                try engine.store.eraseMessage(event: message.event)
            else { return }
            guard !isHistory else { return }
            try journal("deleted", message.event)
            effects.append(.deleted(message.event))
        case .info(let profile):
            guard let author, !isHistory else { return }
            try rename(author, to: profile.displayName)
        case .leave:
            guard let author, !isHistory else { return }
            effects.append(admitted.role == .relay ? .relayLeft(author) : .memberLeft(author))
        case .memDel(let deletion):
            guard !isHistory else { return }
            if deletion.memberID == me {
                effects.append(.removed("An owner removed this membership."))
            } else if relayRows().contains(where: { $0.memberID == deletion.memberID.bytes }) {
                effects.append(.notice("A relay was removed by an owner."))
            } else {
                effects.append(.memberLeft(deletion.memberID))
            }
        case .grpDel:
            guard !isHistory else { return }
            effects.append(.channelDeleted)
        case .grpInfo(let profile):
            guard !isHistory else { return }
            effects.append(.notice("The channel's profile changed: \(printable(profile.displayName))."))
        case .grpPrefs:
            guard !isHistory else { return }
            effects.append(.notice("The channel's preferences changed."))
        default:
            return
        }
    }

    /// An edit or deletion may have come from another relay before the message itself.
    private func applyEarlierChanges(to messageID: MessageID, event: Int64) throws(ClientStoreError) {
        for change in try engine.store.events(targeting: messageID.bytes, in: id) {
            guard let element = try? Element.decode(change.element), let json = element.json,
                let params = try? Event.decode(json: json).params,
                try target(messageID, author: changed(by: change.author, params))?.event == event
            else { continue }
            switch params {
            case .msgUpdate(let update):
                _ = try engine.store.editMessage(
                    event: event, contentType: update.content.type, text: update.content.text)
            case .msgDel: _ = try engine.store.eraseMessage(event: event)
            default: continue
            }
        }
    }

    /// Whose message a change by `author` (empty: the channel) is about.
    private func changed(by author: [UInt8], _ params: EventParams) -> MemberID? {
        if case .msgDel(let deletion) = params, let other = deletion.memberID { return other }
        return MemberID(bytes: author)
    }

    /// The message that an event of `author` changes: that author's own, or (by an owner) the channel's.
    private func target(_ messageID: MessageID, author: MemberID?) throws(ClientStoreError) -> StoredMessage?
    {
        let found = try engine.store.messages(id: messageID.bytes, in: id)
        if let own = found.first(where: { $0.author == author?.bytes ?? [] }) { return own }
        guard author.map({ record.ownerKey($0) != nil }) ?? true else { return nil }
        return found.first(where: isByChannel)
    }

    /// Nobody is named as its author; what is written here without a signature is kept under one's own name.
    private func isByChannel(_ message: StoredMessage) -> Bool {
        message.author.isEmpty
            || message.own && message.asGroup
                && message.signature == MessageAdmission.SignatureStatus.unsigned.rawValue
    }

    private func authorName(_ admitted: MessageAdmission.Admitted) throws(ClientStoreError) -> String {
        guard let author = admitted.author else { return record.profile.displayName }
        if let known = try engine.store.member(author.bytes, of: id), !known.name.isEmpty {
            return known.name
        }
        return printable(admitted.authorName ?? "")
    }

    private func rename(_ member: MemberID, to name: String) throws(ClientStoreError) {
        guard DisplayName.problem(name) == nil, let known = try engine.store.member(member.bytes, of: id)
        else { return }
        try engine.store.upsertMember(
            StoredMember(
                memberID: known.memberID, name: name, role: known.role, status: known.status,
                publicKey: known.publicKey, joinedAt: known.joinedAt), of: id)
    }

    func journal(_ kind: String, _ event: Int64?, detail: String? = nil) throws(ClientStoreError) {
        try engine.store.appendJournal(
            channel: id, kind: kind, event: event, detail: detail, now: engine.nowSeconds)
    }
}

extension EventParams {
    /// The message that an event changes.
    var target: MessageID? {
        switch self {
        case .msgUpdate(let update): update.messageID
        case .msgDel(let deletion): deletion.messageID
        case .msgReact(let reaction): reaction.messageID
        default: nil
        }
    }
}
