/// The own profile: what members see where this home joins or owns.
public struct Profile: Equatable, Sendable {
    /// The name shown; 1 to 64 characters, at most 255 bytes.
    public let displayName: String

    /// Makes a profile.
    public init(displayName: String) { self.displayName = displayName }
}

/// The name that one membership shows to the channel's relays and owners.
public enum NameChoice: Equatable, Sendable {
    /// The profile's; a random one where the home has no profile.
    case profile
    /// This one, whatever the profile says.
    case named(String)
    /// One that nobody else has and that tells nothing.
    case random
}

/// A role in a channel, as the text that travels; ordered, unknown text is the lowest.
public struct MemberRole: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The text that travels.
    public let rawValue: String

    /// Keeps any text, known or not.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Reads; the role of new subscribers.
    public static let observer = MemberRole(rawValue: "observer")
    /// May post.
    public static let member = MemberRole(rawValue: "member")
    /// May also remove what members wrote.
    public static let moderator = MemberRole(rawValue: "moderator")
    /// May also manage members.
    public static let admin = MemberRole(rawValue: "admin")
    /// Rules the channel.
    public static let owner = MemberRole(rawValue: "owner")

    /// The text itself.
    public var description: String { rawValue }
}

/// How a membership came to its end: by oneself, by an owner or moderator, or with the channel.
public enum ChannelEnding: String, Sendable, CaseIterable, Codable {
    case left, removed, deleted
}

/// One channel of this home.
public struct Channel: Equatable, Sendable {
    /// The channel id: base64url with padding of SHA-256(root key).
    public let id: String
    /// The local name, unique in this home: the display name, with `_1`, `_2` … where it was taken.
    public let name: String
    /// The display name in the channel's profile.
    public let displayName: String
    /// The description in the channel's profile; empty when there is none.
    public let description: String
    /// The own role.
    public let role: MemberRole
    /// The own member id, base64url.
    public let memberID: String
    /// How the membership ended; nil while it goes on.
    public let ending: ChannelEnding?
    /// Members without relays as the owner published it; owners count.
    public let memberCount: Int64
    /// The version of the highest record seen.
    public let recordVersion: Int64
    /// Whether content must be signed.
    public let signMessages: Bool
    /// When it was created or joined here; seconds since 1970-01-01 UTC.
    public let createdAt: Int64
    /// The time of the last message; nil when there is none.
    public let lastMessageAt: Int64?

    /// Whether the membership goes on; false after leave, removal or deletion of the channel.
    public var isCurrent: Bool { ending == nil }
    /// Whether the own, current role is owner.
    public var isOwner: Bool { role == .owner && isCurrent }

    /// Makes a row; needed only by tests of programs.
    public init(
        id: String, name: String, displayName: String, description: String, role: MemberRole,
        memberID: String,
        ending: ChannelEnding?, memberCount: Int64, recordVersion: Int64, signMessages: Bool,
        createdAt: Int64,
        lastMessageAt: Int64?
    ) {
        self.id = id
        self.name = name
        self.displayName = displayName
        self.description = description
        self.role = role
        self.memberID = memberID
        self.ending = ending
        self.memberCount = memberCount
        self.recordVersion = recordVersion
        self.signMessages = signMessages
        self.createdAt = createdAt
        self.lastMessageAt = lastMessageAt
    }
}

/// What ``ChannelClient/createChannel(name:description:relays:signMessages:timeout:progress:)`` made.
public struct ChannelCreation: Equatable, Sendable {
    /// The new channel.
    public let channel: Channel
    /// One outcome for each relay asked, in the order asked.
    public let relays: [RelayOutcome]
    /// The channel's link, for subscribers; it lists up to three active relays.
    public let link: String

    /// Makes a creation; needed only by tests of programs.
    public init(channel: Channel, relays: [RelayOutcome], link: String) {
        self.channel = channel
        self.relays = relays
        self.link = link
    }
}

/// What a link leads to, before joining.
public struct ChannelPreview: Equatable, Sendable {
    /// The channel id, base64url with padding.
    public let id: String
    /// The display name in the channel's profile.
    public let displayName: String
    /// The description in the channel's profile; empty when there is none.
    public let description: String
    /// Members without relays as the owner published it.
    public let memberCount: Int64
    /// The relays of the record: host and port.
    public let relayHosts: [String]
    /// How many owners the record lists.
    public let ownerCount: Int
    /// The record's version.
    public let recordVersion: Int64
    /// The local name of the channel when this home is in it already.
    public let joinedAs: String?

    /// Makes a preview; needed only by tests of programs.
    public init(
        id: String, displayName: String, description: String, memberCount: Int64, relayHosts: [String],
        ownerCount: Int, recordVersion: Int64, joinedAs: String?
    ) {
        self.id = id
        self.displayName = displayName
        self.description = description
        self.memberCount = memberCount
        self.relayHosts = relayHosts
        self.ownerCount = ownerCount
        self.recordVersion = recordVersion
        self.joinedAs = joinedAs
    }
}

/// What ``ChannelClient/join(link:as:timeout:)`` did; one relay that works is enough, the others are retried.
public struct JoinReport: Equatable, Sendable {
    /// The channel joined.
    public let channel: Channel
    /// One outcome for each relay of the record.
    public let relays: [RelayOutcome]

    /// Makes a report; needed only by tests of programs.
    public init(channel: Channel, relays: [RelayOutcome]) {
        self.channel = channel
        self.relays = relays
    }
}

/// One member of a channel.
public struct ChannelMember: Equatable, Sendable {
    /// The member id, base64url.
    public let id: String
    /// The name, as introduced by the relay; for owners as they signed it.
    public let name: String
    /// The role.
    public let role: MemberRole
    /// The status text: `creator`, `connected`, `left`, `removed` …
    public let status: String
    /// When the relay took the member in; seconds since 1970-01-01 UTC, nil when not known.
    public let joinedAt: Int64?
    /// Whether this is the own membership.
    public let isSelf: Bool

    /// Makes a row; needed only by tests of programs.
    public init(id: String, name: String, role: MemberRole, status: String, joinedAt: Int64?, isSelf: Bool) {
        self.id = id
        self.name = name
        self.role = role
        self.status = status
        self.joinedAt = joinedAt
        self.isSelf = isSelf
    }
}

/// One page of members.
public struct MemberPage: Equatable, Sendable {
    /// The members, in the order of the relay that answered.
    public let members: [ChannelMember]
    /// How many members there are in all, as that relay counts.
    public let total: Int64
    /// Give this to ask for the next page; nil on the last one.
    public let next: String?

    /// Makes a page; needed only by tests of programs.
    public init(members: [ChannelMember], total: Int64, next: String?) {
        self.members = members
        self.total = total
        self.next = next
    }
}
