package import ChannelWire

/// Whether this relay carries one channel: the relay's own status and every event that may change it.
///
/// ```
///                  inv (open)
///    none ──────────────────────────▶ accepted ──roster ack──▶ acknowledgedRoster
///     │                                  │                          │
///     │ inv (manual)                     └──── own entry in record ─┤
///     ▼            operator accept                                  ▼
///   invited ───────────────────────▶ accepted                    active
///     │                                                             │ entry gone from the record,
///     │ operator reject                                             │ relay removed, channel deleted
///     ▼                                                             ▼
///    none                                                        inactive ── inv ──▶ accepted
///
///   any but none ── operator: leave ──▶ rejected ── operator: allow ──▶ inactive
///   rejected ── inv, from any owner, with any link ──▶ rejected, answered "rejoin_rejected"
/// ```
///
/// Source: docs/protocol/relay-lifecycle.md. An event is a method, its answer an enum; the caller stores the
/// new state in the same transaction in which it acts on the answer.
package struct Admission: Equatable, Sendable {
    /// What the relay's own status for a channel can be.
    package enum State: String, CaseIterable, Sendable {
        case none = ""
        case invited
        case accepted
        case acknowledgedRoster = "acknowledged_roster"
        case active
        case inactive
        case rejected
    }

    package private(set) var state: State

    package init(_ state: State) {
        self.state = state
    }

    /// Only a serving relay takes joins, attaches and publishes.
    package var isServing: Bool {
        switch state {
        case .accepted, .acknowledgedRoster, .active: true
        case .none, .invited, .inactive, .rejected: false
        }
    }

    // MARK: Invitations

    /// Who decides about invitations: the relay at once, its operator later, or nobody.
    package enum Policy: String, CaseIterable, Sendable {
        case open
        case manual
        case closed
    }

    /// How much room the relay has left by its own limits.
    package struct Room: Equatable, Sendable {
        /// One more channel may be served.
        package var forChannel: Bool
        /// One more invitation may wait for the operator.
        package var forPending: Bool
        /// How long it is until one more invitation from this address may be taken up; 0: no time. Units:
        /// milliseconds.
        package var waitOfSource: Int64

        package init(forChannel: Bool, forPending: Bool, waitOfSource: Int64 = 0) {
            self.forChannel = forChannel
            self.forPending = forPending
            self.waitOfSource = waitOfSource
        }
    }

    package enum InvitationAnswer: Equatable, Sendable {
        /// Carry the channel with a fresh member key, answer `x.grp.relay.acpt`.
        case accept
        /// The same invitation again: answer `x.grp.relay.acpt` with what was answered before.
        case repeatAcceptance
        /// Keep the invitation for the operator; nothing is sent now.
        case hold
        /// The channel's invitation waits already: this one takes its place.
        case goOnHolding
        /// Answer `x.grp.relay.reject`, store nothing.
        case reject(InvitationRefusal)
        /// Too many were taken up from this address lately: an error with this advice, store nothing.
        case comeBack(afterMilliseconds: Int64)

        /// It costs the relay what is limited for each address.
        package var takesUp: Bool { self == .accept || self == .hold }
    }

    /// A checked invitation arrived for this channel.
    ///
    /// `sameRelayMember` tells that it names the relay member id which is in force or pending already;
    /// `turnedDown` is what the operator answered to this very invitation before.
    package mutating func inviteReceived(
        policy: Policy, sameRelayMember: Bool, turnedDown: InvitationRefusal?, room: Room
    ) -> InvitationAnswer {
        switch state {
        case .rejected:
            // The operator left this channel. No owner, link, policy or room changes that; only
            // `operatorAllowed` does.
            return .reject(.rejoinRejected)
        case .accepted, .acknowledgedRoster, .active:
            if sameRelayMember { return .repeatAcceptance }
            guard room.waitOfSource == 0 else { return .comeBack(afterMilliseconds: room.waitOfSource) }
            state = .accepted
            return .accept
        case .invited where policy != .open:
            // It waits already; a policy closed since then does not take the decision from the operator.
            return .goOnHolding
        case .none, .invited, .inactive:
            if policy == .manual, let turnedDown { return .reject(turnedDown) }
            return decide(policy, room)
        }
    }

    private mutating func decide(_ policy: Policy, _ room: Room) -> InvitationAnswer {
        switch policy {
        case .closed:
            return .reject(.notAccepting)
        // An inactive channel was taken on once, by policy or by an operator's word: it is not asked about
        // again.
        case .manual where state == .none:
            guard room.forPending else { return .reject(.channelLimit) }
            guard room.waitOfSource == 0 else { return .comeBack(afterMilliseconds: room.waitOfSource) }
            state = .invited
            return .hold
        case .manual, .open:
            guard room.forChannel else { return .reject(.channelLimit) }
            guard room.waitOfSource == 0 else { return .comeBack(afterMilliseconds: room.waitOfSource) }
            state = .accepted
            return .accept
        }
    }

    // MARK: The operator's word

    package enum PendingAnswer: Equatable, Sendable {
        /// Answer the waiting owner with `x.grp.relay.acpt`.
        case accept
        /// Answer the waiting owner with `x.grp.relay.reject`, forget the invitation.
        case reject
        /// The relay has no room for one more channel; the invitation goes on waiting.
        case noRoom
        /// Nothing waits here.
        case notPending
    }

    /// The operator accepted a waiting invitation.
    package mutating func operatorAccepted(room: Room) -> PendingAnswer {
        guard state == .invited else { return .notPending }
        guard room.forChannel else { return .noRoom }
        state = .accepted
        return .accept
    }

    /// The operator turned a waiting invitation down. That is no refusal for ever: the owner may invite
    /// again.
    package mutating func operatorRejected() -> PendingAnswer {
        guard state == .invited else { return .notPending }
        state = .none
        return .reject
    }

    package enum LeaveAnswer: Equatable, Sendable {
        /// Store the refusal. `announce`: members are attached to a log, so append the signed `x.grp.leave`.
        case leave(announce: Bool)
        /// Refused long ago; nothing changes.
        case alreadyRejected
        /// The relay has never carried this channel.
        case unknownChannel
    }

    /// The operator left the channel, whatever its state.
    package mutating func operatorLeft() -> LeaveAnswer {
        switch state {
        case .none:
            return .unknownChannel
        case .rejected:
            return .alreadyRejected
        case .invited, .accepted, .acknowledgedRoster, .active, .inactive:
            let announce = isServing
            state = .rejected
            return .leave(announce: announce)
        }
    }

    package enum AllowAnswer: Equatable, Sendable {
        /// Clear the refusal. Nobody is told.
        case allow
        /// The channel is not refused; nothing changes.
        case notRejected
        case unknownChannel
    }

    /// The operator took the refusal back.
    package mutating func operatorAllowed() -> AllowAnswer {
        switch state {
        case .none:
            return .unknownChannel
        case .rejected:
            state = .inactive
            return .allow
        case .invited, .accepted, .acknowledgedRoster, .active, .inactive:
            return .notRejected
        }
    }

    // MARK: What owners do

    package enum Change: Equatable, Sendable {
        case unchanged
        case changed(State)
        /// The relay stops serving: close the channel's links.
        case ended
    }

    /// The relay applied the channel's roster and acknowledged it.
    package mutating func rosterAcked() -> Change {
        guard state == .accepted else { return .unchanged }
        state = .acknowledgedRoster
        return .changed(state)
    }

    /// A newer valid record is in force, with or without an entry for this relay.
    package mutating func recordSeen(hasOwnEntry: Bool) -> Change {
        switch state {
        case .accepted, .acknowledgedRoster:
            // No entry yet is normal here: the owner publishes it after the acceptance.
            guard hasOwnEntry else { return .unchanged }
            state = .active
            return .changed(state)
        case .active:
            return hasOwnEntry ? .unchanged : end()
        case .none, .invited, .inactive, .rejected:
            return .unchanged
        }
    }

    /// An owner published the removal of this relay.
    package mutating func removedByOwner() -> Change {
        end()
    }

    /// An owner deleted the channel.
    package mutating func channelDeleted() -> Change {
        end()
    }

    private mutating func end() -> Change {
        guard isServing else { return .unchanged }
        state = .inactive
        return .ended
    }
}

/// Why an invitation was not taken: the `reason` of `x.grp.relay.reject`.
package enum InvitationRefusal: Equatable, Sendable {
    case rejoinRejected
    case notAccepting
    case channelLimit
    case invalidRecord
    case notOwner
    /// The operator turned it down, perhaps in own words.
    case byOperator(String?)

    /// As it travels.
    package var reason: RejectionReason {
        switch self {
        case .rejoinRejected: .rejoinRejected
        case .notAccepting: .notAccepting
        case .channelLimit: .channelLimit
        case .invalidRecord: .invalidRecord
        case .notOwner: .notOwner
        case .byOperator(let words): words.map { RejectionReason(text: $0) } ?? .notAccepted
        }
    }
}
