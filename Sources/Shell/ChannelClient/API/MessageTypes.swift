/// What is known of a message's signature.
public enum SignatureStatus: String, Sendable, CaseIterable {
    /// Signed, and the author's key verifies it.
    case verified
    /// Signed, but the author's key is not known here.
    case signedNoKey
    /// Not signed although the channel asks for signatures; only of messages that an earlier version stored.
    case signatureMissing = "sigMissing"
    /// Not signed, and the channel does not ask for it.
    case unsigned
}

/// One message as it is stored here.
public struct Message: Equatable, Sendable {
    /// The local name of the channel.
    public let channel: String
    /// The message id, base64url; unique together with ``author``.
    public let id: String
    /// The author's member id, base64url; nil where the channel itself is the author.
    public let author: String?
    /// The author's name at the time; the channel's name where the channel is the author.
    public let authorName: String
    /// The text; for content that is not text, a placeholder.
    public let text: String
    /// The content's type: `text`, `link`, `image` …
    public let contentType: String
    /// The relay's time (the own time until a relay took an own message); seconds since 1970-01-01 UTC.
    public let time: Int64
    /// Whether it was edited; ``text`` is the newest one.
    public let edited: Bool
    /// Whether it was deleted; ``text`` is empty then.
    public let deleted: Bool
    /// What is known of the signature.
    public let signature: SignatureStatus
    /// Whether this home wrote it.
    public let own: Bool
    /// The relays (by name) that delivered or accepted it.
    public let relays: [String]

    /// Makes a row; needed only by tests of programs.
    public init(
        channel: String, id: String, author: String?, authorName: String, text: String, contentType: String,
        time: Int64, edited: Bool, deleted: Bool, signature: SignatureStatus, own: Bool, relays: [String]
    ) {
        self.channel = channel
        self.id = id
        self.author = author
        self.authorName = authorName
        self.text = text
        self.contentType = contentType
        self.time = time
        self.edited = edited
        self.deleted = deleted
        self.signature = signature
        self.own = own
        self.relays = relays
    }
}

/// What became of one message at each relay.
public struct PublishReceipt: Equatable, Sendable {
    /// One relay's part.
    public struct RelayReceipt: Equatable, Sendable {
        /// What the relay said, or why it has not said anything yet.
        public enum Outcome: Equatable, Sendable {
            /// Durable at the relay, under this sequence number of its log.
            case accepted(sequence: Int64)
            /// Not there yet; the outbox goes on trying. The reason is for people.
            case queued(String)
            /// The relay refuses it for good: the error's number and name (docs/protocol/errors.md) and its
            /// text.
            case refused(code: Int, name: String, text: String)
        }

        /// The relay's name here.
        public let relay: String
        /// What became of it.
        public let outcome: Outcome

        /// Makes a relay's part; needed only by tests of programs.
        public init(relay: String, outcome: Outcome) {
            self.relay = relay
            self.outcome = outcome
        }

        /// Whether the relay has it durably.
        public var isAccepted: Bool { if case .accepted = outcome { true } else { false } }
    }

    /// The message id, base64url.
    public let messageID: String
    /// The local name of the channel.
    public let channel: String
    /// One part for each relay the message was meant for.
    public let relays: [RelayReceipt]

    /// Makes a receipt; needed only by tests of programs.
    public init(messageID: String, channel: String, relays: [RelayReceipt]) {
        self.messageID = messageID
        self.channel = channel
        self.relays = relays
    }

    /// How many relays have it durably.
    public var acceptedCount: Int { relays.count(where: \.isAccepted) }
    /// Whether every relay has it durably.
    public var isComplete: Bool { acceptedCount == relays.count }
}

/// One row of the outbox: a message that one relay does not have yet, or refused.
public struct OutboxRow: Equatable, Sendable {
    /// The local name of the channel.
    public let channel: String
    /// The message id, base64url.
    public let messageID: String
    /// The relay's name here.
    public let relay: String
    /// `pending` or `refused`.
    public let state: String
    /// How often it was sent; to a relay that cannot be reached nothing is sent.
    public let attempts: Int
    /// What the last attempt ended with, or why the relay cannot be reached; nil while nothing went wrong.
    public let lastError: String?
    /// When it is tried next; seconds since 1970-01-01 UTC, nil when refused.
    public let nextTryAt: Int64?
    /// When it was written; seconds since 1970-01-01 UTC.
    public let queuedAt: Int64

    /// Makes a row; needed only by tests of programs.
    public init(
        channel: String, messageID: String, relay: String, state: String, attempts: Int, lastError: String?,
        nextTryAt: Int64?, queuedAt: Int64
    ) {
        self.channel = channel
        self.messageID = messageID
        self.relay = relay
        self.state = state
        self.attempts = attempts
        self.lastError = lastError
        self.nextTryAt = nextTryAt
        self.queuedAt = queuedAt
    }
}

/// What ``ChannelClient/synchronize(_:timeout:)`` achieved.
public struct SynchronizeReport: Equatable, Sendable {
    /// How many outbox rows a relay took.
    public let delivered: Int
    /// How many are still waiting.
    public let pending: Int
    /// How many a relay refused for good.
    public let refused: Int
    /// How many relays were reached; one that serves several channels counts for each.
    public let reached: Int
    /// The relays (channel and relay name) that could not be reached in the time allowed, with the reason.
    public let unreachable: [(channel: String, relay: String, reason: String)]

    /// Makes a report; needed only by tests of programs.
    public init(
        delivered: Int, pending: Int, refused: Int, reached: Int,
        unreachable: [(channel: String, relay: String, reason: String)]
    ) {
        self.delivered = delivered
        self.pending = pending
        self.refused = refused
        self.reached = reached
        self.unreachable = unreachable
    }

    /// Whether all fields are equal.
    public static func == (a: Self, b: Self) -> Bool {
        a.delivered == b.delivered && a.pending == b.pending && a.refused == b.refused
            && a.reached == b.reached && a.unreachable.elementsEqual(b.unreachable, by: ==)
    }
}
