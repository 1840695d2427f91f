internal import ChannelWire
internal import ClientCore
internal import ClientStore
internal import LibeventLoop

/// After a commit: events, the journal's readers, and what follows from what was received.
extension ChannelRuntime {
    func perform(_ effects: [Effect], relayID: Int64, relay: String) {
        for effect in effects { perform(effect, relayID: relayID, relay: relay) }
        if !effects.isEmpty {
            engine.pumpFollowers(of: id)
            engine.changed()
        }
    }

    private func perform(_ effect: Effect, relayID: Int64, relay: String) {
        switch effect {
        case .received(let event): tellMessage(event) { .messageReceived($0) }
        case .edited(let event): tellMessage(event) { .messageUpdated($0) }
        case .deleted(let event): tellMessage(event) { .messageDeleted($0) }
        case .written(let event): engine.emit(event)
        case .relayLeft(let member):
            guard let row = relayRows().first(where: { $0.memberID == member.bytes }) else { return }
            relayLeft(row.id)
            note("The relay \(row.name) left this channel.")
        case .memberLeft(let member): memberLeft(member)
        case .removed(let reason): end(.removed, reason)
        case .channelDeleted: end(.deleted, "The channel was deleted by an owner.")
        case .notice(let text): note(text)
        // Those became `written`.
        case .journal, .gap, .disagreement, .finding: break
        }
    }

    /// Writes down what people are told of relays, in the transaction that moves the position past it: after
    /// a crash no relay says it again.
    func writeDown(_ effects: inout [Effect], relay: String) throws(ClientStoreError) {
        for index in effects.indices {
            switch effects[index] {
            case .gap(let from, let to, let reason):
                if reason != .erased { comparison.excused(relay: relay) }
                let gap = DeliveryGap(channel: localName, relay: relay, from: from, to: to, reason: reason)
                try journal("gap", nil, detail: JournalText.encode(gap))
                effects[index] = .written(.gap(gap))
            case .disagreement(let kind, let message, let detail):
                effects[index] = try write(
                    RelayDisagreement(
                        kind: kind, channel: localName, relay: relay, comparedWith: [],
                        messageID: message?.text, detail: detail))
            case .finding(let finding):
                effects[index] =
                    try disagreement(finding).map { found throws(ClientStoreError) in
                        try write(found)
                    } ?? .journal
            default: break
            }
        }
    }

    /// What is found of one message is written once.
    private func write(_ found: RelayDisagreement) throws(ClientStoreError) -> Effect {
        let text = JournalText.encode(found)
        if found.messageID != nil, try engine.store.journalHolds("disagreement", detail: text, of: id) {
            return .journal
        }
        try journal("disagreement", nil, detail: text)
        return .written(.relayDisagreement(found))
    }

    func tellMessage(_ event: Int64, _ make: (Message) -> ClientEvent) {
        guard let stored = engine.background({ try engine.store.message(event: event) }) ?? nil else {
            return
        }
        engine.emit(make(engine.publicMessage(stored, in: self)))
    }

    func noteGap(relay: String, from: Int64, to: Int64, reason: DeliveryGap.Reason) {
        if reason != .erased { comparison.excused(relay: relay) }
        note(DeliveryGap(channel: localName, relay: relay, from: from, to: to, reason: reason))
    }

    /// The relay's log is another one than before; it reaches to `head` now.
    func noteNewLog(relay: String, head: Int64) {
        comparison.changedLog(relay: relay, head: head)
        note(DeliveryGap(channel: localName, relay: relay, from: 0, to: 0, reason: .epoch), head: head)
    }

    private func note(_ gap: DeliveryGap, head: Int64? = nil) {
        engine.background { try journal("gap", nil, detail: JournalText.encode(gap, head: head)) }
        engine.emit(.gap(gap))
        engine.pumpFollowers(of: id)
    }

    func note(_ text: String) {
        engine.background { try journal("notice", nil, detail: text) }
        engine.pumpFollowers(of: id)
    }

    /// Tells of a relay whose records stand apart; with `key` once in the life of this client.
    func report(_ kind: RelayDisagreement.Kind, relay: String, key: String? = nil, detail: String) {
        if let key, !reportedRecords.insert("\(kind.rawValue) \(key)").inserted { return }
        report(
            RelayDisagreement(
                kind: kind, channel: localName, relay: relay, comparedWith: [], messageID: nil,
                detail: detail))
    }

    private func report(_ found: RelayDisagreement) {
        guard case .written(let event) = engine.background({ try write(found) }) else { return }
        engine.emit(event)
        engine.pumpFollowers(of: id)
    }

    /// What is told of a finding; nil where it is explained by what is known here.
    private func disagreement(
        _ finding: CopyComparison.Finding
    ) throws(ClientStoreError) -> RelayDisagreement? {
        switch finding {
        case .altered(let key, let relay, let others):
            return RelayDisagreement(
                kind: .altered, channel: localName, relay: relay, comparedWith: others,
                messageID: MessageID(bytes: key.message)?.text,
                detail:
                    "\(relay) delivered other bytes for this message than \(others.joined(separator: ", ")).")
        case .withheld(let key, let relay, let others):
            // What was deleted meanwhile is rightly missing at a relay that came late, with its changes.
            guard try !engine.store.isErased(author: key.author, messageID: key.message, in: id) else {
                return nil
            }
            return RelayDisagreement(
                kind: .withheld, channel: localName, relay: relay, comparedWith: others,
                messageID: MessageID(bytes: key.message)?.text,
                detail: "\(relay) went past this message, which \(others.joined(separator: ", ")) delivered.")
        }
    }

    func scheduleWithheldCheck() {
        guard sessions.count > 1 else { return }
        guard withheldTimer == nil else {
            // What has just come is not due with the rest.
            isWithheldCheckNeeded = true
            return
        }
        isWithheldCheckNeeded = false
        let grace = engine.options.withholdingGrace.clampedMilliseconds
        withheldTimer = engine.loop.timer(afterMilliseconds: grace + 1) { [weak self] in
            guard let self else { return }
            self.withheldTimer = nil
            for finding in self.comparison.overdue(nowMilliseconds: self.engine.steadyMilliseconds) {
                let found = self.engine.background { try self.disagreement(finding) } ?? nil
                if let found { self.report(found) }
            }
            if self.isWithheldCheckNeeded { self.scheduleWithheldCheck() }
        }
    }

    /// Whether a message in this channel is its author's beyond doubt. Where nothing is signed, it is taken
    /// for that all the same: a report then names both relays, and one of them is wrong.
    func provesItself(_ signature: String) -> Bool {
        !record.profile.signsMessages || signature == MessageAdmission.SignatureStatus.verified.rawValue
    }

    /// Goes on comparing where the last run ended.
    func loadComparison() throws(ChannelClientError) {
        let names = Dictionary(uniqueKeysWithValues: relayRows().map { ($0.id, $0.name) })
        guard names.count > 1 else { return }
        let copies = try engine.attempt {
            try engine.store.recentCopies(of: id, limit: CopyComparison.windowMax)
        }
        for copy in copies {
            guard let name = names[copy.relay] else { continue }
            _ = comparison.delivered(
                CopyComparison.Key(author: copy.author, message: copy.messageID), relay: name,
                sequence: copy.sequence, digest: copy.digest, isProof: provesItself(copy.signature),
                amends: copy.target, nowMilliseconds: engine.steadyMilliseconds)
        }
        // A relay that explained a hole in an earlier run is not asked about it again.
        let gaps = try engine.attempt { try engine.store.journal(of: id, kind: "gap", limit: 1000) }
        for detail in gaps.reversed() {
            guard let gap = JournalText.gap(detail, channel: localName), gap.reason != .erased else {
                continue
            }
            comparison.lostOrder(relay: gap.relay)
            guard gap.reason == .epoch, let head = JournalText.head(detail) else { continue }
            comparison.changedLog(relay: gap.relay, head: head)
        }
    }

    // MARK: Members

    /// JOINED came: our role, and the names of the owners.
    /// Returns: false where the batch does not decode, and nothing was taken.
    func takeIntroductions(_ batch: [UInt8], from relay: String) -> Bool {
        guard let elements = try? Body.decode(batch, crypto: engine.crypto) else { return false }
        for element in elements {
            guard case .success(let element) = element, let json = element.json,
                let event = try? Event.decode(json: json)
            else { continue }
            switch event.params {
            case .linkInv(let invitation) where invitation.invitedMember.memberID == me:
                setRole(invitation.invitedMember.role.text)
            case .memIntro(let info):
                // Names are the relay's word; keys and the role of owner come from the record only.
                remember(info, status: .introduced, joinedAt: nil)
            default: continue
            }
        }
        return true
    }

    private func remember(_ info: MemberInfo, status: MemberStatus, joinedAt: Int64?) {
        guard DisplayName.problem(info.profile.displayName) == nil else { return }
        let isOwner = record.ownerKey(info.memberID) != nil
        let role: Role = isOwner ? .owner : min(info.role, .admin)
        engine.background {
            try engine.store.upsertMember(
                StoredMember(
                    memberID: info.memberID.bytes, name: info.profile.displayName, role: role.text,
                    status: status.text, publicKey: nil, joinedAt: joinedAt), of: id)
        }
    }

    /// A relay tells the owner of a new member.
    func memberJoined(_ info: MemberInfo) {
        let known = engine.background { try engine.store.member(info.memberID.bytes, of: id) } ?? nil
        remember(info, status: .connected, joinedAt: engine.nowSeconds)
        guard known == nil else { return }
        engine.emit(
            .memberJoined(
                channel: localName,
                member: ChannelMember(
                    id: info.memberID.text, name: printable(info.profile.displayName),
                    role: .init(rawValue: info.role.text), status: MemberStatus.connected.text,
                    joinedAt: engine.nowSeconds, isSelf: false)))
    }

    private func memberLeft(_ member: MemberID) {
        guard let known = engine.background({ try engine.store.member(member.bytes, of: id) }) ?? nil else {
            return
        }
        engine.background {
            try engine.store.upsertMember(
                StoredMember(
                    memberID: known.memberID, name: known.name, role: known.role,
                    status: MemberStatus.left.text,
                    publicKey: known.publicKey, joinedAt: known.joinedAt), of: id)
        }
        engine.emit(.memberLeft(channel: localName, memberID: member.text))
    }

    /// A relay says that the own membership is over, without a proof of it.
    ///
    /// One relay's word could be a lie, so the membership ends here once every relay of the channel says so.
    func membershipDenied(by relayID: Int64, _ code: LinkErrorCode) {
        denials[relayID] = code
        let serving = relayRows().filter { $0.relay.status == .active }
        guard isCurrent, !isOwner, serving.allSatisfy({ denials[$0.id] != nil }) else { return }
        if denials.values.contains(.channelDeleted) {
            end(.deleted, "The channel was deleted by an owner.")
        } else {
            end(.removed, "An owner removed this membership.")
        }
    }

    /// The own membership is over.
    private func end(_ state: ChannelState, _ reason: String) {
        guard isCurrent else { return }
        note(reason)
        setState(state)
        engine.emit(.membershipEnded(channel: localName, reason: reason))
        engine.pumpFollowers(of: id)
    }

    // MARK: Outbox

    /// A relay answered for an outbox row.
    func outboxChanged(event: Int64, relayID: Int64) {
        let rows = engine.background { try engine.store.outboxRows(event: event) } ?? []
        if let row = rows.first(where: { $0.relay == relayID }),
            let messageID = MessageID(bytes: row.messageID)
        {
            engine.emit(
                .outboxUpdated(
                    messageID: messageID.text, channel: localName,
                    receipt: engine.publicReceipt(row, in: self)))
        }
        engine.changed()
        engine.removeWhereDone(self)
    }
}
