internal import ChannelWire
internal import ClientCore
internal import ClientStore

/// One relay of one channel while the client runs: a member link, and for an owner a control link.
///
/// A link is kept while something wants it: a call (`Demand`), a follower, or what is under way in the store.
final class RelaySession {
    unowned let runtime: ChannelRuntime
    let relayID: Int64
    let name: String
    let relayMember: MemberID
    let identity: PublicKey
    let member: MemberSession
    let control: ControlSession
    private var memberDemand = 0
    private var controlDemand = 0

    init(runtime: ChannelRuntime, row: StoredChannelRelay) {
        self.runtime = runtime
        relayID = row.id
        name = row.name
        guard let relayMember = MemberID(bytes: row.memberID), let identity = PublicKey(raw: row.identity)
        else {
            preconditionFailure("the store checks the lengths of a relay's ids")
        }
        self.relayMember = relayMember
        self.identity = identity
        let endpoint = RelayEndpoint(hosts: Self.hosts(row), identity: identity)
        member = MemberSession(runtime: runtime, relayID: row.id, name: row.name, endpoint: endpoint)
        control = ControlSession(runtime: runtime, relayID: row.id, name: row.name, endpoint: endpoint)
        member.relayMember = relayMember
        control.relayMember = relayMember
        control.relayIdentity = identity
    }

    /// Where it is reached: what the address book or the record says.
    static func hosts(_ row: StoredChannelRelay) -> [AntennaLink.Endpoint] {
        for text in [row.address, row.relayLink ?? ""] {
            switch try? AntennaLink.parse(text) {
            case .relayAddress(_, let hosts): return hosts
            case .relayChannel(_, let host): return [host.endpoint]
            default: continue
            }
        }
        return []
    }

    /// Something that keeps links open until it is let go of.
    final class Demand {
        private let release: () -> Void
        init(_ release: @escaping () -> Void) { self.release = release }
        deinit { release() }
    }

    /// Keeps the member link, and tries it now or within so many milliseconds.
    func demandMember(within spread: Int64 = 0) -> Demand {
        memberDemand += 1
        member.isSuspended = false
        refresh()
        member.connection.hurry(within: spread)
        return Demand { [weak self] in
            guard let self else { return }
            self.memberDemand -= 1
            if self.memberDemand == 0 { self.refresh() }
        }
    }

    /// Keeps the control link, and tries it now or within so many milliseconds.
    func demandControl(within spread: Int64 = 0) -> Demand {
        controlDemand += 1
        control.isSuspended = false
        refresh()
        control.connection.hurry(within: spread)
        return Demand { [weak self] in
            guard let self else { return }
            self.controlDemand -= 1
            if self.controlDemand == 0 { self.refresh() }
        }
    }

    func refresh() {
        guard let row = runtime.row(relayID) else { return }
        reconcile(row)
    }

    func reconcile(_ row: StoredChannelRelay) {
        let engine = runtime.engine
        let background = engine.options.background
        let follows = runtime.followerCount > 0 || background == .always
        let isOwner = runtime.isOwner

        var wantsMember = false
        if !member.isSuspended {
            let isUsable = isOwner ? row.relay.isPublishable : row.relay.status == .active
            let pending =
                background != .none
                && (engine.background { try !engine.store.pendingRows(relay: relayID, limit: 1).isEmpty }
                    ?? false)
            wantsMember =
                isUsable
                && (runtime.isCurrent ? memberDemand > 0 || follows || pending : memberDemand > 0 || pending)
        }
        var wantsControl = false
        if isOwner, runtime.isCurrent || controlDemand > 0, !control.isSuspended,
            row.relay.status != .rejected
        {
            let underWay =
                row.relay.isUnderWay || row.relay.awaitsRejection || control.needsRecord(row)
            wantsControl =
                controlDemand > 0 || (background != .none && underWay)
                || (row.relay.status != .inactive && follows)
        }
        let endpoint = RelayEndpoint(hosts: Self.hosts(row), identity: identity)
        member.connection.setEndpoint(endpoint)
        control.connection.setEndpoint(endpoint)
        control.connection.setWanted(wantsControl)
        member.connection.setWanted(wantsMember)
        if wantsControl { control.proceed(row) }
        if wantsMember { member.pump() }
    }

    var isConnected: Bool { member.isAttached || control.isControlling }

    func shutdown() {
        member.connection.setWanted(false)
        control.connection.setWanted(false)
    }
}
