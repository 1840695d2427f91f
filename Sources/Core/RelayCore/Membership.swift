package import ChannelWire

/// Who may become a member of a channel at this relay, and when a membership ends.
///
/// ```
///              join                          leave
///   (unknown) ──────▶ current ──────────────────────────▶ left       (the id is used up: a new id may join)
///                        └──── removed by owner/moderator ▶ removed
/// ```
///
/// Owners are members by the channel record; everybody else by a signed join.
package enum Membership {
    /// What a checked `x.member` says. Its signature by `key` for `id` has been verified.
    package struct Join: Equatable, Sendable {
        package var id: MemberID
        package var key: PublicKey
        package var displayName: String
        /// The member id of the relay that the joiner means to address.
        package var viaRelay: MemberID?

        package init(id: MemberID, key: PublicKey, displayName: String, viaRelay: MemberID?) {
            self.id = id
            self.key = key
            self.displayName = displayName
            self.viaRelay = viaRelay
        }
    }

    /// What the relay has on somebody of that id.
    package struct Known: Equatable, Sendable {
        package var key: PublicKey
        package var role: Role
        package var state: State

        package init(key: PublicKey, role: Role, state: State) {
            self.key = key
            self.role = role
            self.state = state
        }
    }

    package enum State: String, CaseIterable, Sendable {
        case current = "connected"
        case left
        case removed
    }

    /// What an owner pinned for an id that may not have joined yet.
    package struct Pinned: Equatable, Sendable {
        package var key: PublicKey
        package var role: Role

        package init(key: PublicKey, role: Role) {
            self.key = key
            self.role = role
        }
    }

    package enum JoinAnswer: Equatable, Sendable {
        /// Store a new member with this role.
        case admit(Role)
        /// A current member of this id and key: answer as before, store nothing.
        case again(Role)
        case refuse(LinkErrorCode)
    }

    /// Decides about a join at a serving relay.
    package static func join(
        _ join: Join, relay: MemberID?, known: Known?, pinned: Pinned?, memberCount: Int64, memberMax: Int64
    ) -> JoinAnswer {
        guard let via = join.viaRelay, via == relay else { return .refuse(.joinRefused) }
        if let known {
            guard known.key == join.key else { return .refuse(.memberKeyMismatch) }
            switch known.state {
            case .current: return .again(known.role)
            case .left, .removed: return .refuse(.memberRemoved)
            }
        }
        // The relay's own id is nobody else's.
        guard join.id != relay else { return .refuse(.memberKeyMismatch) }
        guard DisplayName.problem(join.displayName) == nil else { return .refuse(.joinRefused) }
        if let pinned, pinned.key != join.key { return .refuse(.memberKeyMismatch) }
        guard memberCount < memberMax else { return .refuse(.channelFull) }
        return .admit(pinned?.role ?? .observer)
    }

    /// Decides whether a member may leave: the last owner may only delete the channel.
    package static func mayLeave(role: Role, ownerCount: Int64) -> Bool {
        role != .owner || ownerCount > 1
    }

    /// Decides whether one member may remove another: owners anybody but themselves, moderators those below
    /// them.
    package static func mayRemove(_ role: Role, target: Role) -> Bool {
        switch role {
        case .owner: true
        case .moderator, .admin: target < role
        default: false
        }
    }
}
