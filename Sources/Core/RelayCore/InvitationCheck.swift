package import ChannelWire

/// Whether an `x.grp.relay.inv` fits the channel record and the control link on which it came.
///
/// What the relay then does with it is `Admission`'s decision.
package enum InvitationCheck {
    /// What the invitation says.
    package struct Invitation: Equatable, Sendable {
        /// The owner who invites, by their own word.
        package var owner: MemberID
        /// What the relay is to be called in the channel.
        package var relayMember: MemberID
        /// The channel that the invitation's link names; nil when it is no link to a channel.
        package var linkedChannel: ChannelID?
        /// The element bears signatures, and all of them verify with the link owner's key.
        package var isSigned: Bool

        package init(owner: MemberID, relayMember: MemberID, linkedChannel: ChannelID?, isSigned: Bool) {
            self.owner = owner
            self.relayMember = relayMember
            self.linkedChannel = linkedChannel
            self.isSigned = isSigned
        }
    }

    package enum Answer: Equatable, Sendable {
        case fits
        /// Answered with `x.grp.relay.reject`.
        case reject(InvitationRefusal)
        /// Answered with an ERROR.
        case refuse(LinkErrorCode)
    }

    /// - Parameters:
    ///   - linkOwner: the owner whose key the control link proved.
    ///   - owners: the owners by the record in force.
    ///   - isMember: somebody in the channel has the id that the relay is to get.
    package static func check(
        _ invitation: Invitation, channel: ChannelID, linkOwner: MemberID, owners: [MemberID], isMember: Bool
    ) -> Answer {
        guard owners.contains(linkOwner), invitation.owner == linkOwner else { return .reject(.notOwner) }
        guard invitation.isSigned else { return .refuse(.signatureRequired) }
        guard invitation.linkedChannel == channel else { return .refuse(.invitationInvalid) }
        guard !isMember, !owners.contains(invitation.relayMember) else { return .refuse(.invitationInvalid) }
        return .fits
    }
}
