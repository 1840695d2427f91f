package import ChannelWire

/// What the relay does with one published element. Decides by the table in docs/protocol/channel.md.
///
/// The order of the questions: repeated? deleted before? well-formed and supported? signed where it must be?
/// permitted? A repeat is answered before anything else, so that a retry gets the first answer whatever has
/// happened since.
package enum PublishRules {
    /// Who publishes, and how.
    package struct Author: Equatable, Sendable {
        package var id: MemberID
        package var role: Role

        package init(id: MemberID, role: Role) {
            self.id = id
            self.role = role
        }
    }

    /// The channel as far as these rules look at it.
    package struct Channel: Equatable, Sendable {
        package var id: ChannelID
        /// The channel's preferences want content to be signed.
        package var signMessages: Bool
        /// Current owners.
        package var ownerCount: Int64
        /// This relay's own member id.
        package var relay: MemberID?

        package init(id: ChannelID, signMessages: Bool, ownerCount: Int64, relay: MemberID?) {
            self.id = id
            self.signMessages = signMessages
            self.ownerCount = ownerCount
            self.relay = relay
        }
    }

    // MARK: What has to be looked up

    /// What is in the log under an author's message id.
    package enum Slot: Equatable, Sendable {
        case free
        /// Stored with this sequence; `isSame`: the same bytes (only asked of the element's own id).
        case stored(sequence: Int64, isSame: Bool)
        /// Deleted: the id is used up.
        case erased
    }

    /// What the decision on an intent needs from the database.
    package enum Question: Equatable, Sendable {
        case nothing
        case message(author: MemberID, id: MessageID)
        case member(MemberID)
    }

    package enum Found: Equatable, Sendable {
        case nothing
        case message(Slot)
        /// The role of a current member; nil: no such current member.
        case member(Role?)
    }

    package static func question(for intent: PublishIntent, by author: MemberID) -> Question {
        switch intent {
        case .edit(let id, _): .message(author: author, id: id)
        case .delete(let id, let of): .message(author: of ?? author, id: id)
        case .remove(let member, _): .member(member)
        default: .nothing
        }
    }

    // MARK: The decision

    package enum Decision: Equatable, Sendable {
        case store(Sender, Effect)
        case repeated(sequence: Int64)
        case refuse(LinkErrorCode)
    }

    /// In whose name the element is forwarded.
    package enum Sender: Equatable, Sendable {
        case member
        /// The channel itself: the author stays unnamed. Only for unsigned content; a signature names its
        /// author anyway.
        case channel
    }

    /// What happens in the same transaction besides storing and forwarding.
    package enum Effect: Equatable, Sendable {
        case none
        case erase(author: MemberID, id: MessageID)
        case replaceProfile
        case replacePreferences
        case rename
        case endMembership(MemberID, as: Membership.State, eraseMessages: Bool)
        /// An owner removed this relay.
        case relayRemoved
        case deleteChannel
    }

    /// Decides about an element whose signatures, if it has any, have been verified.
    package static func decide(
        _ intent: PublishIntent, tag: EventTag, isSigned: Bool, by author: Author, in channel: Channel,
        own: Slot,
        found: Found
    ) -> Decision {
        switch own {
        case .stored(let sequence, isSame: true): return .repeated(sequence: sequence)
        case .stored: return .refuse(.messageIDConflict)
        case .erased: return .refuse(.messageDeleted)
        case .free: break
        }
        if intent == .unsupported || !tag.isPublishable { return .refuse(.unsupportedEvent) }
        if intent == .malformed { return .refuse(.malformedEvent) }
        if !isSigned, tag.mustBeSigned || (channel.signMessages && tag.mayBeSigned) {
            return .refuse(.signatureRequired)
        }
        return permitted(intent, isSigned: isSigned, by: author, in: channel, found: found)
    }

    private static func permitted(
        _ intent: PublishIntent, isSigned: Bool, by author: Author, in channel: Channel, found: Found
    ) -> Decision {
        let isOwner = author.role == .owner
        switch intent {
        case .post(let asGroup):
            guard author.role > .observer, !asGroup || isOwner else { return .refuse(.notPermitted) }
            return .store(asGroup && !isSigned ? .channel : .member, .none)
        case .edit(_, let asGroup):
            guard author.role > .observer, !asGroup || isOwner else { return .refuse(.notPermitted) }
            switch found {
            case .message(.stored): return .store(asGroup && !isSigned ? .channel : .member, .none)
            case .message(.erased): return .refuse(.messageDeleted)
            default: return .refuse(.unknownMessage)
            }
        case .delete(let id, let of):
            let target = of ?? author.id
            guard target == author.id || author.role >= .moderator else { return .refuse(.notPermitted) }
            if case .message(.erased) = found { return .refuse(.messageDeleted) }
            // Unknown here may be pruned here and alive elsewhere: the deletion is passed on, and keeps it
            // out. Who could not have written it has nothing to delete.
            if case .message(.free) = found, author.role <= .observer { return .refuse(.unknownMessage) }
            return .store(.member, .erase(author: target, id: id))
        case .react:
            return .store(.member, .none)
        case .rename:
            return .store(.member, .rename)
        case .changeProfile(let id):
            guard isOwner else { return .refuse(.notPermitted) }
            guard id == channel.id else { return .refuse(.malformedEvent) }
            return .store(.member, .replaceProfile)
        case .changePreferences:
            return isOwner ? .store(.member, .replacePreferences) : .refuse(.notPermitted)
        case .deleteChannel:
            return isOwner ? .store(.member, .deleteChannel) : .refuse(.notPermitted)
        case .leave:
            guard Membership.mayLeave(role: author.role, ownerCount: channel.ownerCount) else {
                return .refuse(.notPermitted)
            }
            return .store(.member, .endMembership(author.id, as: .left, eraseMessages: false))
        case .remove(let member, let eraseMessages):
            return remove(member, eraseMessages, by: author, in: channel, found: found)
        case .unsupported: return .refuse(.unsupportedEvent)
        case .malformed: return .refuse(.malformedEvent)
        }
    }

    private static func remove(
        _ member: MemberID, _ eraseMessages: Bool, by author: Author, in channel: Channel, found: Found
    ) -> Decision {
        let isOwner = author.role == .owner
        if member == channel.relay {
            return isOwner ? .store(.member, .relayRemoved) : .refuse(.notPermitted)
        }
        // To go oneself is `x.grp.leave`.
        guard member != author.id else { return .refuse(.notPermitted) }
        guard case .member(let found) = found, let role = found else {
            // Another relay, or a member of another relay: an owner's word is passed on, nobody else's.
            return isOwner ? .store(.member, .none) : .refuse(.unknownMember)
        }
        guard Membership.mayRemove(author.role, target: role) else { return .refuse(.notPermitted) }
        return .store(.member, .endMembership(member, as: .removed, eraseMessages: eraseMessages))
    }
}
