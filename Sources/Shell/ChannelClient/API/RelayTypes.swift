/// One relay of the address book: a name chosen here and the address its operator handed out.
public struct RelayEntry: Equatable, Sendable {
    /// The local name, unique in this home.
    public let name: String
    /// The address as an `r` link.
    public let address: String
    /// The relay's identity key, base64url without padding.
    public let identity: String
    /// When it was added; seconds since 1970-01-01 UTC.
    public let addedAt: Int64

    /// Makes an entry; needed only by tests of programs.
    public init(name: String, address: String, identity: String, addedAt: Int64) {
        self.name = name
        self.address = address
        self.identity = identity
        self.addedAt = addedAt
    }
}

/// Where a relay of a channel stands, as the owner sees it.
///
/// Source: docs/protocol/relay-lifecycle.md, “The owner's view of a relay”.
public enum RelayStatus: String, Sendable, CaseIterable, Codable {
    case new, invited, accepted, acknowledgedRoster, active, inactive, rejected
}

/// What a relay's own membership in the channel is; `left` after a reject or a leave.
public enum RelayMemberStatus: String, Sendable, CaseIterable, Codable {
    case invited, accepted, connected, left, removed
}

/// One relay of one channel.
public struct ChannelRelay: Equatable, Sendable {
    /// The name in the address book, or the host where the relay is not in it.
    public let name: String
    /// The relay's member id in this channel, base64url.
    public let memberID: String
    /// Where it stands. A subscriber sees only `active` (in the record) and `inactive`.
    public let status: RelayStatus
    /// What its membership is.
    public let memberStatus: RelayMemberStatus
    /// The reason of a reject, in the operator's words or as a stable name; nil otherwise.
    public let reason: String?
    /// The address as an `r` link.
    public let address: String
    /// The relay's identity key, base64url without padding.
    public let identity: String
    /// When the status was reached; seconds since 1970-01-01 UTC.
    public let since: Int64
    /// Whether this client has an open link to it for this channel now.
    public let connected: Bool
    /// The last failure to reach it, for people; nil when the last attempt worked.
    public let lastError: String?

    /// Makes a row; needed only by tests of programs.
    public init(
        name: String, memberID: String, status: RelayStatus, memberStatus: RelayMemberStatus, reason: String?,
        address: String, identity: String, since: Int64, connected: Bool, lastError: String?
    ) {
        self.name = name
        self.memberID = memberID
        self.status = status
        self.memberStatus = memberStatus
        self.reason = reason
        self.address = address
        self.identity = identity
        self.since = since
        self.connected = connected
        self.lastError = lastError
    }
}

/// What came of asking one relay to carry, serve or leave a channel.
public struct RelayOutcome: Equatable, Sendable {
    /// The answers a relay can give, and the ways not to get one.
    public enum Result: Equatable, Sendable {
        /// The relay carries the channel and stands in the published record (or: the join, the removal is
        /// done).
        case active
        /// The relay answered, but not finally: its operator decides, or a step is still under way.
        case pending(RelayStatus)
        /// The relay took no final position within the time allowed; the client goes on trying.
        case noAnswer(String)
        /// The relay refuses the channel; the reason as it came.
        case rejected(String)
        /// It did not work; what happened, and whether trying again can help.
        case failed(String, retriable: Bool)
    }

    /// The relay's name here.
    public let relay: String
    /// What came of it.
    public let result: Result

    /// Makes an outcome; needed only by tests of programs.
    public init(relay: String, result: Result) {
        self.relay = relay
        self.result = result
    }

    /// Whether the relay carries the channel or may still come to.
    public var mayServe: Bool {
        switch result {
        case .active, .pending, .noAnswer: true
        case .rejected, .failed: false
        }
    }
}

/// One step of a relay test, in the order they are made.
public enum RelayTestStep: String, Sendable, CaseIterable {
    /// The address parses.
    case parse
    /// The host name has an address.
    case resolve
    /// TCP connects.
    case connect
    /// The encrypted link is up and the relay showed a certificate by the identity of the address.
    case handshake
    /// The relay signed a fresh challenge with that identity.
    case verify
}

/// What a relay test found.
public struct RelayTestReport: Equatable, Sendable {
    /// One step made.
    public struct Step: Equatable, Sendable {
        /// Which one.
        public let step: RelayTestStep
        /// Whether it worked.
        public let ok: Bool
        /// What was found, or what failed, for people.
        public let detail: String
        /// How long it took.
        public let milliseconds: Int64

        /// Makes a step; needed only by tests of programs.
        public init(step: RelayTestStep, ok: Bool, detail: String, milliseconds: Int64) {
            self.step = step
            self.ok = ok
            self.detail = detail
            self.milliseconds = milliseconds
        }
    }

    /// The relay's name here, or the address that was tested.
    public let relay: String
    /// The steps made; the last one is the one that failed where one did.
    public let steps: [Step]
    /// How long all of it took.
    public let milliseconds: Int64

    /// Makes a report; needed only by tests of programs.
    public init(relay: String, steps: [Step], milliseconds: Int64) {
        self.relay = relay
        self.steps = steps
        self.milliseconds = milliseconds
    }

    /// Whether every step worked.
    public var ok: Bool { steps.count == RelayTestStep.allCases.count && steps.allSatisfy(\.ok) }
    /// The step that failed, if one did.
    public var failedStep: Step? { steps.first { !$0.ok } }
}
