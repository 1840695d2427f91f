package import ChannelWire

/// One relay of one channel as its owner sees it.
///
/// ```
/// new ──invitationSent──▶ invited ──acceptReceived──▶ accepted ──rosterAcknowledged──▶ acknowledgedRoster
///                                                        └────────recordStored────────────────┴──▶ active
/// any but rejected ──rejectReceived, roster error──▶ rejected (final)
/// any but rejected ──leaveReceived, removedByOwner, record without it──▶ inactive
/// accepted, acknowledgedRoster, active ──carryingEnded──▶ inactive
/// ```
/// Source: docs/protocol/relay-lifecycle.md, “The owner's view of a relay”.
package struct OwnerRelay: Equatable, Sendable {
    package typealias Status = RelayStatus

    /// What the relay's own membership is. There is no `rejected` here: that word belongs to another flow.
    package enum MemberStatus: String, CaseIterable, Sendable {
        case invited, accepted, connected, left, removed
    }

    package private(set) var status: Status
    package private(set) var memberStatus: MemberStatus
    /// Why it was rejected, or what the last failure of a step was.
    package private(set) var reason: String?

    package init(status: Status = .new, memberStatus: MemberStatus = .invited, reason: String? = nil) {
        self.status = status
        self.memberStatus = memberStatus
        self.reason = reason
    }

    /// Whether something happened that owners want to hear of.
    package enum Change: Equatable, Sendable { case changed, unchanged }

    /// The signed invitation left for the relay.
    package mutating func invitationSent() -> Change {
        guard status == .new else { return .unchanged }
        return become(.invited)
    }

    package enum AcceptAnswer: Equatable, Sendable {
        /// Take its key, and send the roster.
        case sendRoster(Change)
        /// The link does not belong to this relay: report it, change nothing.
        case mismatch
        /// Nothing is waiting for this.
        case ignore
    }

    /// `x.grp.relay.acpt` came on the control link; `matches`: its link names this relay's identity and a
    /// fresh key.
    ///
    /// A repeated one, after a lost connection, sends the roster again and changes nothing.
    package mutating func acceptReceived(matches: Bool) -> AcceptAnswer {
        switch status {
        case .new, .invited:
            guard matches else { return .mismatch }
            memberStatus = .accepted
            return .sendRoster(become(.accepted))
        case .accepted, .acknowledgedRoster, .active:
            return matches ? .sendRoster(.unchanged) : .mismatch
        case .inactive, .rejected:
            return .ignore
        }
    }

    package enum RosterAnswer: Equatable, Sendable {
        /// Publish a record with this relay in it.
        case publishRecord
        /// The relay cannot take the roster: it is out for good.
        case rejected
        /// For another roster version, or nothing waits for it.
        case ignore
    }

    /// `x.grp.roster.ack` came.
    package mutating func rosterAcknowledged(version: Int64, current: Int64, error: String?) -> RosterAnswer {
        guard status == .accepted else { return .ignore }
        if let error {
            reason = error
            memberStatus = .left
            status = .rejected
            return .rejected
        }
        guard version == current else { return .ignore }
        memberStatus = .connected
        status = .acknowledgedRoster
        return .publishRecord
    }

    /// The relay stored a record; `hasEntry`: the record lists it.
    ///
    /// Only an active relay becomes inactive by a record without it: the one that is still being taken in may
    /// simply not be in this version yet.
    package mutating func recordStored(hasEntry: Bool) -> Change {
        switch status {
        case .accepted, .acknowledgedRoster:
            guard hasEntry else { return .unchanged }
            memberStatus = .connected
            return become(.active)
        case .active:
            return hasEntry ? .unchanged : become(.inactive)
        case .new, .invited, .inactive, .rejected:
            return .unchanged
        }
    }

    /// `x.grp.relay.reject` came on the control link: from any status, and final.
    package mutating func rejectReceived(reason: String) -> Change {
        guard status != .rejected else { return .unchanged }
        self.reason = reason
        memberStatus = .left
        status = .rejected
        return .changed
    }

    /// The relay's own signed `x.grp.leave` came through the log.
    package mutating func leaveReceived() -> Change {
        guard status != .rejected else { return .unchanged }
        let before = (status, memberStatus)
        memberStatus = .left
        status = .inactive
        reason = nil
        return before == (status, memberStatus) ? .unchanged : .changed
    }

    /// The relay says that it does not carry the channel any more, as after a leave that was allowed again
    /// before the owner came by.
    package mutating func carryingEnded() -> Change {
        switch status {
        case .accepted, .acknowledgedRoster, .active:
            memberStatus = .left
            reason = Self.carryingEndedReason
            return become(.inactive)
        case .new, .invited, .inactive, .rejected:
            return .unchanged
        }
    }

    package static let carryingEndedReason = "no longer carries the channel"

    /// The owner took the relay out of the channel.
    package mutating func removedByOwner() -> Change {
        guard status != .rejected else { return .unchanged }
        let before = (status, memberStatus)
        memberStatus = .removed
        status = .inactive
        return before == (status, memberStatus) ? .unchanged : .changed
    }

    /// Whether a record published now should list it.
    package var isPublishable: Bool { status == .acknowledgedRoster || status == .active }

    /// Whether messages for the channel are kept for it: it carries the channel or may come to.
    package var takesMessages: Bool { status != .inactive && status != .rejected }

    /// The relay left by itself: its operator's refusal is on its way, or is found on the next control link.
    package var awaitsRejection: Bool { status == .inactive && memberStatus == .left && reason == nil }

    /// Whether the owner should keep asking it for an answer.
    package var isUnderWay: Bool {
        switch status {
        case .new, .invited, .accepted, .acknowledgedRoster: true
        case .active, .inactive, .rejected: false
        }
    }

    private mutating func become(_ next: Status) -> Change {
        let changed = status != next
        status = next
        return changed ? .changed : .unchanged
    }
}
