package import ChannelWire
package import RelayCore

/// One thing asked of the ledger. A batch of them is one transaction.
///
/// What a peer signed has been verified by the caller: the ledger decides what depends on state.
package enum LedgerCommand: Sendable {
    // Owners, on their control links
    case openControl(OpenControl)
    case invite(Invite)
    case putRecord(PutRecord)
    case applyRoster(ApplyRoster)
    // Anybody
    case record(ChannelID)
    // Members
    case join(Join)
    case attach(Attach)
    case publish(Publish)
    // The operator
    case leave(ChannelSelector, Word)
    case allow(ChannelSelector, Word)
    case acceptInvitation(ChannelSelector, Word)
    case rejectInvitation(ChannelSelector, Word)
    case forget(ChannelSelector, Word)
    /// `keep`: so many of the newest messages stay, also where the limits would let more stay.
    case prune(ChannelSelector?, keep: Int64? = nil, Word)
    case listChannels
    case listInvitations
    case listAudit(limit: Int)
    case members(ChannelSelector, after: MemberID?, limit: Int)
    case status

    /// CONTROL: look up what the link needs. Nothing is stored; the proof of key comes after this.
    package struct OpenControl: Sendable {
        package var channel: ChannelID
        package var owner: MemberID
        /// The record that the owner sent along, verified.
        package var record: VerifiedRecord?

        package init(channel: ChannelID, owner: MemberID, record: VerifiedRecord?) {
            self.channel = channel
            self.owner = owner
            self.record = record
        }
    }

    /// `x.grp.relay.inv` on a control link that proved its owner.
    package struct Invite: Sendable {
        package var channel: ChannelID
        package var linkOwner: MemberID
        package var invitation: InvitationCheck.Invitation
        package var ownerName: String
        /// The record that came with CONTROL, verified. Needed where the relay does not have the channel.
        package var record: VerifiedRecord?
        /// Where the link comes from; nil: not by a network.
        package var source: InvitationAllowance.Source?

        package init(
            channel: ChannelID, linkOwner: MemberID, invitation: InvitationCheck.Invitation,
            ownerName: String,
            record: VerifiedRecord?, source: InvitationAllowance.Source? = nil
        ) {
            self.channel = channel
            self.linkOwner = linkOwner
            self.invitation = invitation
            self.ownerName = ownerName
            self.record = record
            self.source = source
        }
    }

    /// RECORD_PUT by an owner on a control link.
    package struct PutRecord: Sendable {
        package var owner: MemberID
        package var record: VerifiedRecord

        package init(owner: MemberID, record: VerifiedRecord) {
            self.owner = owner
            self.record = record
        }
    }

    /// A whole roster, signed by the owner of the control link.
    package struct ApplyRoster: Sendable {
        package var channel: ChannelID
        package var owner: MemberID
        package var version: Int64
        /// Shape: SHA-512 of the blob, 64 bytes; it matches what the header says.
        package var digest: [UInt8]
        /// Nil: the blob does not decode.
        package var entries: [Roster.Entry]?

        package init(
            channel: ChannelID, owner: MemberID, version: Int64, digest: [UInt8], entries: [Roster.Entry]?
        ) {
            self.channel = channel
            self.owner = owner
            self.version = version
            self.digest = digest
            self.entries = entries
        }
    }

    /// JOIN, its signature verified with the key it brings.
    package struct Join: Sendable {
        package var channel: ChannelID
        package var join: Membership.Join

        package init(channel: ChannelID, join: Membership.Join) {
            self.channel = channel
            self.join = join
        }
    }

    /// ATTACH: look up member, window and place. The proof of key is checked after this with the key
    /// answered.
    package struct Attach: Sendable {
        package var channel: ChannelID
        package var member: MemberID
        package var start: LogWindow.Start

        package init(channel: ChannelID, member: MemberID, start: LogWindow.Start) {
            self.channel = channel
            self.member = member
            self.start = start
        }
    }

    /// One element of a PUBLISH body.
    package struct Publish: Sendable {
        package var channel: ChannelID
        package var author: MemberID
        package var messageID: MessageID
        package var tag: EventTag
        package var intent: PublishIntent
        /// It bears signatures, and all of them verify with the author's key.
        package var isSigned: Bool
        /// The element as the author sent it.
        package var element: [UInt8]
        /// For an intent that replaces something: the new group profile, preferences or member profile.
        package var replacement: Replacement

        package init(
            channel: ChannelID, author: MemberID, messageID: MessageID, tag: EventTag, intent: PublishIntent,
            isSigned: Bool, element: [UInt8], replacement: Replacement = .none
        ) {
            self.channel = channel
            self.author = author
            self.messageID = messageID
            self.tag = tag
            self.intent = intent
            self.isSigned = isSigned
            self.element = element
            self.replacement = replacement
        }

        /// Nil: the event has no message id, which is error 44.
        package init?(channel: ChannelID, author: MemberID, event: Event, isSigned: Bool, element: [UInt8]) {
            guard let messageID = event.messageID else { return nil }
            let replacement: Replacement =
                switch event.params {
                case .grpInfo(let profile): .groupProfile(profile)
                case .grpPrefs(let preferences): .preferences(preferences)
                case .info(let profile): .displayName(profile.displayName)
                default: .none
                }
            self.init(
                channel: channel, author: author, messageID: messageID, tag: event.tag,
                intent: PublishIntent(event.params), isSigned: isSigned, element: element,
                replacement: replacement)
        }
    }

    package enum Replacement: Sendable {
        case none
        case groupProfile(GroupProfile)
        case preferences(GroupPreferences)
        case displayName(String)
    }

    /// An operator's action: who acts, and what they say about it.
    package struct Word: Sendable {
        package var actor: String
        package var reason: String?

        package init(actor: String, reason: String? = nil) {
            self.actor = actor
            self.reason = reason
        }
    }
}
