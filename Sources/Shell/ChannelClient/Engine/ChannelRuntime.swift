internal import ChannelWire
internal import ClientCore
internal import ClientStore
internal import LibeventLoop
internal import SodiumCrypto

/// One channel while the client runs: its keys, its record, and a session for each of its relays.
///
/// What is durable is in the store and read from there; this object keeps what is worth keeping between two
/// events.
/// Thread: the engine's.
final class ChannelRuntime {
    unowned let engine: Engine
    let id: Int64
    let channelID: ChannelID
    let me: MemberID
    let keys: Ed25519.KeyPair
    let memberName: String
    let localName: String
    private(set) var role: Role
    private(set) var state: ChannelState
    private(set) var record: VerifiedRecord
    private(set) var sessions: [Int64: RelaySession] = [:]
    var comparison: CopyComparison
    var withheldTimer: LoopTimer?
    var isWithheldCheckNeeded = false
    var recordTimer: LoopTimer?
    /// A relay has another record with our version: the next one is made even where nothing changed.
    var forcesNextRecord = false
    /// What was said of a relay's records already, so that it is said once.
    var reportedRecords: Set<String> = []
    /// What the relays say that say the own membership is over.
    var denials: [Int64: LinkErrorCode] = [:]
    /// When the former relays may be asked again for a record; monotonic milliseconds.
    var nextSearch: Int64 = 0
    /// Streams that read this channel.
    var followerCount = 0 { didSet { reconcile() } }

    init(engine: Engine, stored: StoredChannel) throws(ChannelClientError) {
        guard let channelID = ChannelID(bytes: stored.channelID), let me = MemberID(bytes: stored.memberID)
        else {
            throw .init(.homeCorrupt, "A channel of the home has an impossible id.")
        }
        do throws(VerifiedRecord.Problem) {
            record = try VerifiedRecord(stored.record, expected: channelID, crypto: engine.crypto)
        } catch {
            throw .init(
                .homeCorrupt,
                "The record of channel \(stored.localName) in the home does not verify: \(error).")
        }
        self.engine = engine
        id = stored.id
        self.channelID = channelID
        self.me = me
        keys = Ed25519.KeyPair(seed: stored.memberSecret)
        memberName = stored.memberName
        localName = stored.localName
        role = Role(text: stored.role)
        state = stored.state
        comparison = CopyComparison(graceMilliseconds: engine.options.withholdingGrace.clampedMilliseconds)
        try loadComparison()
    }

    /// What the links of this membership are to the proxy; control and member links are not each other's.
    func circuit(_ role: String) -> Circuit { .membership(keys, role: role) }

    var isOwner: Bool { role == .owner && record.ownerKey(me) == keys.key }
    var isCurrent: Bool { state == .current }

    /// What a delivered element is judged by.
    var admission: MessageAdmission {
        var owners: [MemberID: PublicKey] = [:]
        for owner in record.content.owners { owners[owner.owner] = owner.key }
        var relays: [MemberID: PublicKey] = [:]
        for relay in record.content.relays { relays[relay.member] = relay.key }
        // A relay that left stays known by its key, so that what it signed on leaving still verifies.
        for row in relayRows() {
            guard let member = MemberID(bytes: row.memberID), relays[member] == nil,
                let key = row.relayKey.flatMap({ PublicKey(raw: $0) })
            else { continue }
            relays[member] = key
        }
        return MessageAdmission(
            channel: channelID, owners: owners, relays: relays, signsMessages: record.profile.signsMessages,
            onlyOwnersPost: record.hasEmptyRoster(sha512: engine.crypto.sha512))
    }

    // MARK: Rows

    func relayRows() -> [StoredChannelRelay] {
        engine.background { try engine.store.channelRelays(of: id) } ?? []
    }

    func row(_ relay: Int64) -> StoredChannelRelay? {
        engine.background { try engine.store.channelRelay(relay) } ?? nil
    }

    func session(_ row: StoredChannelRelay) -> RelaySession {
        if let session = sessions[row.id] { return session }
        let session = RelaySession(runtime: self, row: row)
        sessions[row.id] = session
        return session
    }

    func relayName(_ id: Int64) -> String { sessions[id]?.name ?? row(id)?.name ?? "relay \(id)" }

    /// Makes the links fit what is wanted now.
    func reconcile() {
        let rows = relayRows()
        for gone in sessions.keys where !rows.contains(where: { $0.id == gone }) {
            sessions.removeValue(forKey: gone)?.shutdown()
        }
        for row in rows { session(row).reconcile(row) }
    }

    func shutdown() {
        recordTimer = nil
        withheldTimer = nil
        for session in sessions.values { session.shutdown() }
    }

    func setState(_ state: ChannelState) {
        guard state != self.state else { return }
        self.state = state
        engine.background { try engine.store.setChannelState(id, state) }
        reconcile()
        engine.changed()
    }

    /// Takes a relay's word for our role; owners stand in the record, and no relay makes or unmakes one.
    func setRole(_ text: String) {
        guard !text.isEmpty else { return }
        let new = record.ownerKey(me) == keys.key ? Role.owner : min(Role(text: text), .admin)
        guard new != role else { return }
        role = new
        engine.background { try engine.store.setChannelRole(id, new.text) }
    }

    // MARK: Relay statuses

    /// Applies a rule to a relay's row; tells everybody where the status changed.
    @discardableResult
    func change<Answer>(_ relay: Int64, _ rule: (inout OwnerRelay) -> Answer) -> Answer? {
        let result =
            engine.background { try engine.store.changeRelay(relay, now: engine.nowSeconds, rule) } ?? nil
        guard let result else { return nil }
        if let changed = result.changed {
            tell(changed)
            if !changed.relay.takesMessages { comparison.dropped(relay: changed.name) }
            sessions[relay]?.reconcile(changed)
            engine.changed()
        }
        return result.answer
    }

    func tell(_ row: StoredChannelRelay) {
        guard let channel = engine.publicChannel(id) else { return }
        let relay = engine.publicRelay(row)
        engine.emit(
            .groupRelayUpdated(
                channel: channel,
                member: ChannelMember(
                    id: relay.memberID, name: row.name, role: .init(rawValue: Role.relay.text),
                    status: relay.memberStatus.rawValue, joinedAt: nil, isSelf: false),
                relay: relay))
    }

    func setRelayError(_ relay: Int64, _ text: String?) {
        engine.background { try engine.store.setRelayError(relay, text) }
    }

    // MARK: The record

    /// Takes the record as it is in the store now: another process may have written a newer one, and the
    /// relays' rows with it.
    func reloadRecord() {
        guard let stored = engine.background({ try engine.store.channel(id: id) }) ?? nil else { return }
        state = stored.state
        guard stored.recordVersion != record.version,
            let newer = try? VerifiedRecord(stored.record, expected: channelID, crypto: engine.crypto)
        else { return }
        record = newer
        engine.emit(.recordUpdated(channel: localName, version: newer.version))
        engine.later { [weak self] in
            guard let self else { return }
            if self.isOwner { self.reconcile() } else { self.followRecord() }
        }
    }

    /// Keeps a record that verifies and is newer; the caller has checked that.
    func adopt(_ newer: VerifiedRecord) -> Bool {
        let stored = engine.background {
            try engine.store.storeRecord(id, version: newer.version, bytes: newer.bytes)
        }
        guard stored == true else {
            reloadRecord()
            return false
        }
        record = newer
        engine.emit(.recordUpdated(channel: localName, version: newer.version))
        return true
    }

    func setRecord(_ made: VerifiedRecord) { record = made }
}

@available(*, unavailable)
extension ChannelRuntime: Sendable {}
