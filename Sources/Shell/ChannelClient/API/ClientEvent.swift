/// A difference between what two relays say of the same channel, or one relay at two times.
public struct RelayDisagreement: Equatable, Sendable {
    /// What kind of difference.
    public enum Kind: String, Sendable, CaseIterable {
        /// The relay delivered other bytes for a message id than another relay did, or than itself before.
        case altered
        /// The relay went past a message that others delivered, and never delivered it.
        case withheld
        /// The relay delivered something that does not verify; it was not stored.
        case unverifiable
        /// The relay served an older record than the one known.
        case staleRecord
        /// The relay served another record with the same version.
        case conflictingRecord
    }

    /// What kind of difference.
    public let kind: Kind
    /// The local name of the channel.
    public let channel: String
    /// The name of the relay that stands apart.
    public let relay: String
    /// The names of the relays it was compared with; none where it contradicts itself, the record or the
    /// protocol.
    public let comparedWith: [String]
    /// The message id, base64url; nil for differences of records.
    public let messageID: String?
    /// What was found, for people.
    public let detail: String

    /// Makes a report; needed only by tests of programs.
    public init(
        kind: Kind, channel: String, relay: String, comparedWith: [String], messageID: String?, detail: String
    ) {
        self.kind = kind
        self.channel = channel
        self.relay = relay
        self.comparedWith = comparedWith
        self.messageID = messageID
        self.detail = detail
    }
}

/// A range of one relay's log that was not delivered, as that relay explains it.
public struct DeliveryGap: Equatable, Sendable {
    /// The relay's explanation.
    public enum Reason: String, Sendable {
        /// The relay's retention dropped these.
        case pruned
        /// The relay's log is another one; the old position means nothing.
        case epoch
        /// Deleted by their author or an owner.
        case erased
        /// A reason this version does not know.
        case unknown
    }

    /// The local name of the channel.
    public let channel: String
    /// The relay's name here.
    public let relay: String
    /// The first sequence number of the range; 0 for `epoch`.
    public let from: Int64
    /// The last sequence number of the range; 0 for `epoch`.
    public let to: Int64
    /// The relay's explanation.
    public let reason: Reason

    /// Makes a gap; needed only by tests of programs.
    public init(channel: String, relay: String, from: Int64, to: Int64, reason: Reason) {
        self.channel = channel
        self.relay = relay
        self.from = from
        self.to = to
        self.reason = reason
    }
}

/// Something that happened while the client runs; see ``ChannelClient/events``.
public enum ClientEvent: Equatable, Sendable {
    /// A relay's status changed: one event for each change, with the channel, the relay's member and its row.
    case groupRelayUpdated(channel: Channel, member: ChannelMember, relay: ChannelRelay)
    /// A message was stored: received, or published by this home.
    case messageReceived(Message)
    /// A stored message was edited.
    case messageUpdated(Message)
    /// A stored message was deleted.
    case messageDeleted(Message)
    /// Two relays differ.
    case relayDisagreement(RelayDisagreement)
    /// A relay skipped a range of its log.
    case gap(DeliveryGap)
    /// A newer record of the channel was taken.
    case recordUpdated(channel: String, version: Int64)
    /// A link to a relay opened or closed; the reason is for people.
    case connectionChanged(channel: String, relay: String, connected: Bool, reason: String?)
    /// A relay told the owner of a new member.
    case memberJoined(channel: String, member: ChannelMember)
    /// A member left or was removed.
    case memberLeft(channel: String, memberID: String)
    /// A relay answered for an outbox row.
    case outboxUpdated(messageID: String, channel: String, receipt: PublishReceipt.RelayReceipt)
    /// The own membership ended: the channel was deleted, or this member was removed.
    case membershipEnded(channel: String, reason: String)
}

/// One item of ``ChannelClient/follow(_:since:)``.
public struct FollowItem: Equatable, Sendable {
    /// What happened.
    public enum Kind: Equatable, Sendable {
        /// A message, once, however many relays delivered it.
        case message(Message)
        /// An edit of an earlier message; the message as it is now.
        case edited(Message)
        /// A deletion of an earlier message.
        case deleted(Message)
        /// A range that a relay did not deliver.
        case gap(DeliveryGap)
        /// Relays that differ.
        case disagreement(RelayDisagreement)
        /// A notice for people: a relay left, the profile changed, the channel was deleted.
        case notice(String)
    }

    /// The position of this item in this home: give it to `follow` to go on after it.
    public let position: Int64
    /// What happened.
    public let kind: Kind

    /// Makes an item; needed only by tests of programs.
    public init(position: Int64, kind: Kind) {
        self.position = position
        self.kind = kind
    }
}

/// Where ``ChannelClient/follow(_:since:)`` begins.
public enum FollowStart: Equatable, Sendable {
    /// With what comes from now on.
    case now
    /// With the last messages stored here, then on.
    case last(Int)
    /// After the item with this position.
    case after(Int64)
    /// With the oldest item stored here.
    case beginning
}
