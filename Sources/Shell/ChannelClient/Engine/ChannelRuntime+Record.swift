internal import ChannelWire
internal import ClientCore
internal import ClientStore
internal import LibeventLoop
internal import SodiumCrypto

extension ChannelRuntime {
    // MARK: Owner: making records

    /// Publishes a record that fits the relays as they are now, a moment later: acceptances that come
    /// together get one version together.
    func scheduleRecord() {
        guard recordTimer == nil, isOwner else { return }
        recordTimer = engine.loop.timer(afterMilliseconds: Self.recordDelayMilliseconds) { [weak self] in
            self?.recordTimer = nil
            self?.publishRecord()
        }
    }

    /// Makes the next version where something changed, and pushes it to every serving relay.
    @discardableResult
    func publishRecord(profile: GroupProfile? = nil) -> Bool {
        guard isOwner else { return false }
        let made =
            engine.background {
                try engine.store.nextRecord(id) { stored, relays, version in
                    guard let current = try? ChannelRecord.decode(stored.record) else { return nil }
                    var content = current.content
                    content.relays = relays.compactMap(Self.recordRelay)
                    content.memberCount = memberCount()
                    if let profile { content.profile = profile.encode() }
                    if content.rosterVersion < 0 {
                        content.rosterVersion = 0
                        content.rosterDigest = Sodium.sha512(Roster().blob())
                    }
                    guard content != current.content || forcesNextRecord else { return nil }
                    content.version = version
                    return ChannelRecord.make(content, signer: me, sign: keys.signature)?.bytes
                }
            } ?? nil
        forcesNextRecord = false
        reloadRecord()
        reconcile()
        engine.changed()
        return made != nil
    }

    /// Whether the record lists the relays that it should, as an owner sees it.
    var recordFits: Bool {
        !isOwner || relayRows().compactMap(Self.recordRelay) == record.content.relays
    }

    /// Whether a reader's rows are those that follow from the record: every relay of it under the member, key
    /// and link that stand there, and no other that is counted on.
    ///
    /// One that left by itself may still stand in the record; the owner's next one says what becomes of it.
    var rowsFit: Bool {
        let rows = relayRows()
        let listed = record.content.relays
        return listed.allSatisfy { relay in
            rows.contains { row in
                row.identity == relay.identity.raw && row.memberID == relay.member.bytes
                    && row.relayKey == relay.key.raw && row.relayLink == relay.link
                    && (row.relay.status == .active || row.relay.memberStatus == .left)
            }
        }
            && rows.allSatisfy { row in
                !row.relay.takesMessages || listed.contains { $0.identity.raw == row.identity }
            }
    }

    private static func recordRelay(_ row: StoredChannelRelay) -> ChannelRecord.Relay? {
        guard row.relay.isPublishable, let member = MemberID(bytes: row.memberID),
            let key = row.relayKey.flatMap({ PublicKey(raw: $0) }),
            let identity = PublicKey(raw: row.identity),
            let link = row.relayLink
        else { return nil }
        return ChannelRecord.Relay(member: member, key: key, identity: identity, link: link)
    }

    /// Owners of the record and the other members known here.
    private func memberCount() -> Int64 {
        let owners = Set(record.content.owners.map(\.owner.bytes))
        let members = engine.background { try engine.store.members(of: id) } ?? []
        let others = members.filter {
            !owners.contains($0.memberID) && $0.role != Role.relay.text
                && MemberStatus(text: $0.status)?.isCurrent == true
        }
        return Int64(owners.count + others.count)
    }

    /// A relay says that it stores a version of the record.
    func recordStored(_ relayID: Int64, version: Int64) {
        engine.background { try engine.store.setRelayStoredVersion(relayID, version) }
        guard version == record.version, let row = row(relayID) else { return }
        let hasEntry = record.content.relays.contains { $0.identity.raw == row.identity }
        change(relayID) { $0.recordStored(hasEntry: hasEntry) }
        if let row = self.row(relayID) { session(row).reconcile(row) }
        engine.changed()
    }

    /// The relay refuses the channel for good: the others and the readers get a record without it.
    func relayRejected(_ relayID: Int64, reason: String) {
        let wasListed = row(relayID)?.relay.isPublishable ?? false
        change(relayID) { $0.rejectReceived(reason: reason) }
        if wasListed { scheduleRecord() }
        dropOutbox(relayID)
    }

    /// The relay left, as it says in the log.
    func relayLeft(_ relayID: Int64) {
        change(relayID) { $0.leaveReceived() }
        if isOwner { scheduleRecord() }
        dropOutbox(relayID)
    }

    /// The relay does not carry the channel any more: the others and the readers get a record without it.
    ///
    /// Not while we delete the channel: a relay that has done so says the same on the control link, perhaps
    /// before its answer to the deletion comes on the other one.
    func relayStoppedCarrying(_ relayID: Int64) {
        guard isOwner, state != .deleted, change(relayID, { $0.carryingEnded() }) == .changed else { return }
        scheduleRecord()
        dropOutbox(relayID, .channelInactive)
    }

    /// What waits for a relay that will never take it waits no longer.
    ///
    /// A deletion is not refused by a relay that has nothing to delete: it is not owed any more.
    func dropOutbox(_ relayID: Int64, _ code: LinkErrorCode = .channelRejected) {
        let now = engine.nowMilliseconds
        let rows = engine.background { try engine.store.pendingRows(relay: relayID, limit: 10_000) } ?? []
        if isOwner, state == .deleted {
            engine.background { try engine.store.discardPending(relay: relayID) }
            for row in rows { outboxChanged(event: row.event, relayID: relayID) }
            return
        }
        for row in rows {
            engine.background {
                try engine.store.changeOutbox(event: row.event, relay: relayID) {
                    $0.refused(
                        code: code.rawValue, name: code.name, retry: .no, backoffMilliseconds: 0,
                        nowMilliseconds: now)
                }
            }
            outboxChanged(event: row.event, relayID: relayID)
        }
    }

    /// Whether a key that a relay shows belongs to nobody else in the channel.
    func isFresh(_ key: PublicKey, for relayID: Int64) -> Bool {
        guard key != record.content.rootKey, !record.content.owners.contains(where: { $0.key == key }) else {
            return false
        }
        return !relayRows().contains { $0.id != relayID && $0.relayKey == key.raw }
    }

    /// Signs an event of our own; one that is published needs a message id.
    func signed(_ params: EventParams, messageID: MessageID = .fresh()) -> [UInt8] {
        Signing.element(
            json: Event(messageID: messageID, params: params).encode(), channel: channelID, member: me,
            sign: keys.signature)
    }

    // MARK: Everybody: taking records

    /// A relay served or pushed a record: keep the highest, report what is behind it.
    func offer(_ bytes: [UInt8], from relay: String, relayID: Int64) {
        let offered: VerifiedRecord
        do throws(VerifiedRecord.Problem) {
            offered = try VerifiedRecord(bytes, expected: channelID, crypto: engine.crypto)
        } catch {
            return report(
                .unverifiable, relay: relay,
                detail: "The record that the relay serves does not verify: \(error).")
        }
        reloadRecord()
        var keeper = RecordKeeper(version: record.version, bytes: record.bytes)
        switch keeper.offered(version: offered.version, bytes: offered.bytes) {
        case .take:
            guard adopt(offered) else { return }
            if isOwner { recordStored(relayID, version: offered.version) } else { followRecord() }
            engine.changed()
        case .same:
            if isOwner { recordStored(relayID, version: offered.version) }
        case .stale(let kept):
            // An owner who is just pushing a newer one sees old ones all the time.
            guard !isOwner else { return }
            report(
                .staleRecord, relay: relay, key: "\(relay) \(offered.version)",
                detail: "The relay serves version \(offered.version) of the record, version \(kept) is known."
            )
        case .conflict:
            report(
                .conflictingRecord, relay: relay, key: "\(relay) \(offered.version)",
                detail: "The relay serves another record with version \(offered.version).")
        }
    }

    /// Makes the rows of a reader fit the record: new relays are joined, removed ones are let go of.
    func followRecord() {
        let rows = relayRows()
        var known: Set<[UInt8]> = []
        for row in rows {
            let listed = record.content.relays.first { $0.identity.raw == row.identity }
            if let listed, listed.member.bytes == row.memberID, row.relay.status == .active {
                known.insert(row.identity)
                if row.relayKey != listed.key.raw || row.relayLink != listed.link {
                    engine.background {
                        try engine.store.write { () throws(ClientStoreError) in
                            try engine.store.setRelayEndpoint(
                                row.id, key: listed.key.raw, link: listed.link)
                            try engine.store.setRelayAddress(row.id, listed.link)
                        }
                    }
                }
            } else if listed != nil {
                // It is back, or it is another member now: a new beginning.
                engine.background { try engine.store.deleteChannelRelay(row.id) }
            } else if row.relay.takesMessages, change(row.id, { $0.removedByOwner() }) == .changed {
                note("The relay \(row.name) no longer serves this channel.")
            }
        }
        let names = engine.relayNames()
        for relay in record.content.relays where !known.contains(relay.identity.raw) {
            insertRelay(relay, names: names)
        }
        reconcile()
    }

    private func insertRelay(_ relay: ChannelRecord.Relay, names: [[UInt8]: String]) {
        guard case .relayChannel(_, let host) = try? AntennaLink.parse(relay.link) else { return }
        let wanted = names[relay.identity.raw] ?? engine.hostName(host.endpoint)
        let taken = Set(relayRows().map(\.name))
        engine.background {
            _ = try engine.store.insertChannelRelay(
                channel: id, name: ChannelNaming.localName(for: wanted, taken: taken),
                memberID: relay.member.bytes,
                identity: relay.identity.raw, address: relay.link, relayKey: relay.key.raw,
                relayLink: relay.link,
                relay: OwnerRelay(status: .active, memberStatus: .connected), now: engine.nowSeconds)
        }
    }

    private static let recordDelayMilliseconds: Int64 = 30
}
