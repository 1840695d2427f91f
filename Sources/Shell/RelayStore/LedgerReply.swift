package import ChannelWire
package import RelayCore

/// What the ledger answers to one command. Each command has its own case; the last three may answer any.
package enum LedgerReply: Sendable {
    case control(ControlView)
    case invitation(InvitationReply)
    case recordStored(version: Int64)
    /// `error`: the roster was not applied; `version` is then the one that was offered.
    case rosterAck(version: Int64, error: String?)
    case record([UInt8], version: Int64)
    case joined(JoinedView)
    case attached(AttachedView)
    case published(PublishReply)
    /// An operator's command was carried out.
    case done(ChannelSummary)
    case pruned(Pruned)
    case channels([ChannelSummary])
    case invitations([PendingInvitation])
    case audit([AuditEntry])
    case members(MembersPage)
    case status(LedgerStatus)

    /// A peer asked for what it cannot have: an ERROR with this code.
    case refused(LinkErrorCode)
    /// An operator asked for what cannot be done; nothing was changed.
    case declined(OperatorRefusal)
    /// The database failed; nothing of this command was stored.
    case failed(LedgerFailure)
}

/// What a control link gets to know.
package struct ControlView: Equatable, Sendable {
    /// With this key the proof of the link is checked, before anything else is believed or sent.
    package var ownerKey: PublicKey
    /// The relay's own status for the channel.
    package var status: Admission.State
    /// The version stored here, 0 where there is none.
    package var recordVersion: Int64
    /// The relay refuses this channel: the answer to any invitation, and to a control link without one.
    package var refusal: InvitationRefusal?
    /// The record that came along is newer than the stored one: put it once the proof is good.
    package var recordIsNews: Bool
}

package enum InvitationReply: Equatable, Sendable {
    /// Answer `x.grp.relay.acpt` with a `g` link of this key.
    case accept(RelayIdentityView)
    /// Nothing is sent until the operator has decided.
    case hold
    /// Answer `x.grp.relay.reject`, flush, close.
    case reject(InvitationRefusal)
    /// Answer error 10 with this advice, flush, close.
    case comeBack(afterMilliseconds: Int64)
}

/// This relay as a member of a channel.
package struct RelayIdentityView: Equatable, Sendable {
    package var memberID: MemberID
    package var memberKey: PublicKey
}

/// What `x.grp.link.inv` and the introductions are made of.
package struct JoinedView: Equatable, Sendable {
    package var member: MemberID
    package var role: Role
    package var relay: RelayIdentityView
    package var owners: [MemberView]
    /// Shape: the group profile as JSON.
    package var profile: [UInt8]
    /// False: this member was here already.
    package var isNew: Bool
}

package struct AttachedView: Equatable, Sendable {
    /// With this key the proof of the link is checked, before anything else is believed or sent.
    package var memberKey: PublicKey
    package var name: String
    package var role: Role
    package var window: LogWindow
    package var resume: LogWindow.Resume
    package var recordVersion: Int64
    /// This relay's own member id, for rules that name it.
    package var relay: MemberID?
}

package enum PublishReply: Equatable, Sendable {
    case stored(sequence: Int64)
    case repeated(sequence: Int64)
    case refused(LinkErrorCode)
}

package struct MemberView: Equatable, Sendable {
    package var id: MemberID
    package var key: PublicKey
    package var role: Role
    package var status: Membership.State
    package var name: String
    package var joinedAt: Int64
}

package struct MembersPage: Equatable, Sendable {
    package var members: [MemberView]
    /// Current members of the channel, without relays.
    package var total: Int64
    package var more: Bool
}

/// A channel as the operator sees it.
package struct ChannelSummary: Equatable, Sendable {
    package var channel: ChannelID
    /// The name that commands take: unique here.
    package var name: String
    /// The name in the channel's profile.
    package var title: String
    package var status: Admission.State
    package var deleted: Bool
    package var members: Int64
    package var messages: Int64
    package var bytes: Int64
    package var head: Int64
    package var recordVersion: Int64
    package var createdAt: Int64
    package var refusal: Refusal?
}

/// The operator's stored word against a channel.
package struct Refusal: Equatable, Sendable {
    package var reason: String
    package var time: Int64
    package var actor: String

    package init(reason: String, time: Int64, actor: String) {
        self.reason = reason
        self.time = time
        self.actor = actor
    }
}

package struct PendingInvitation: Equatable, Sendable {
    package var channel: ChannelID
    package var name: String
    package var title: String
    package var owner: MemberID
    package var ownerName: String
    package var invitedAt: Int64
}

package struct AuditEntry: Equatable, Sendable {
    package var number: Int64
    package var time: Int64
    package var actor: String
    package var action: String
    package var channel: ChannelID?
    package var name: String
    package var detail: String
}

package struct LedgerStatus: Equatable, Sendable {
    /// Channels by the relay's own status.
    package var channels: [Admission.State: Int64]
    package var refusals: Int64
    package var pendingInvitations: Int64
    package var members: Int64
    package var messages: Int64
    package var logBytes: Int64
    package var databaseBytes: Int64
    package var freeBytesInDatabase: Int64
    package var quotaBytes: Int64?
    /// Why what peers send is not stored now; nil: it is.
    package var lackOfRoom: LackOfRoom?
    package var schemaVersion: Int32
    package var epoch: [UInt8]
}

/// Why an operator's command changed nothing.
package enum OperatorRefusal: Equatable, Sendable {
    /// No channel of that name or id; `similar` are names that could be meant.
    case unknownChannel(String, similar: [String])
    /// The name is the title of several channels; `candidates` are the names that tell them apart.
    case ambiguous(String, candidates: [String])
    case notRejected(String)
    case alreadyRejected(ChannelID, String)
    case notPending(String)
    case noRoom(String)
    /// The channel is served: leave it first.
    case stillServed(String)
}

package enum LedgerFailure: Error, Equatable, Sendable, CustomStringConvertible {
    case storageFull
    case `internal`(String)

    package var description: String {
        switch self {
        case .storageFull: "there is no room"
        case .internal(let reason): reason
        }
    }

    /// What a peer is told.
    package var code: LinkErrorCode {
        switch self {
        case .storageFull: .storageFull
        case .internal: .internal
        }
    }
}

/// Something committed that others than the asker must learn of, in the order in which it happened.
package enum LedgerNotice: Sendable {
    /// Deliver to the links of the channel.
    case appended(LogEntry)
    /// Something up to this sequence was erased: send nothing up to it from memory any more.
    case erased(ChannelID, through: Int64)
    /// Push to the links of the channel: a newer record is in force.
    case recordChanged(ChannelID, record: [UInt8], version: Int64)
    /// Tell the owners on control links (`x.grp.mem.new`).
    case memberJoined(ChannelID, MemberView)
    /// Close this member's links with the code, after delivering what was appended.
    case membershipEnded(ChannelID, MemberID, LinkErrorCode)
    /// A member's role is another one now.
    case roleChanged(ChannelID, MemberID, Role)
    /// Close the channel's links with the code; owners on control links get the reject first if there is one.
    case channelEnded(ChannelID, LinkErrorCode, InvitationRefusal?)
    /// The operator decided a waiting invitation: answer the owner where connected.
    case invitationDecided(ChannelID, owner: MemberID, InvitationReply)
    /// The relay's own status for the channel is another one now.
    case statusChanged(ChannelID, Admission.State)
}
