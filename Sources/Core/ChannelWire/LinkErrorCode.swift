/// A numbered error of the link, as a peer or we say it. **Source**: docs/protocol/errors.md, one row each.
package enum LinkErrorCode: UInt16, CaseIterable, Sendable {
    case protocolViolation = 1
    case unsupportedVersion = 2
    case badFrame = 3
    case tooLarge = 4
    case timeout = 5
    case tooManyConnections = 6
    case draining = 7
    case `internal` = 8
    case storageFull = 9
    case rateLimited = 10
    case slowReader = 11
    case replaced = 12
    case unknownChannel = 20
    case channelRejected = 21
    case channelInactive = 22
    case channelDeleted = 23
    case recordInvalid = 24
    case recordStale = 25
    case recordConflict = 26
    case badProof = 30
    case unknownMember = 31
    case notOwner = 32
    case memberRemoved = 33
    case joinRefused = 34
    case channelFull = 35
    case memberKeyMismatch = 36
    case badSignature = 40
    case wrongBinding = 41
    case signatureRequired = 42
    case notPermitted = 43
    case missingMessageID = 44
    case messageIDConflict = 45
    case messageTooLarge = 46
    case malformedEvent = 47
    case unsupportedEvent = 48
    case messageDeleted = 49
    case unknownMessage = 50
    case channelLimit = 60
    case invitationInvalid = 61
    case notAccepting = 62

    /// What a client does by itself after this error.
    package enum Retry: String, Sendable {
        /// Again, after a jittered back-off or the advice in the error.
        case yes
        /// Only with something changed.
        case new
        case no
    }

    /// The stable name that logs, `--json` and the protocol text use.
    package var name: String { row.name }
    package var retry: Retry { row.retry }
    /// One sentence for people.
    package var sentence: String { row.sentence }

    private var row: (name: String, retry: Retry, sentence: String) {
        switch self {
        case .protocolViolation: ("protocol-violation", .no, "This frame does not fit the state of the link.")
        case .unsupportedVersion:
            ("unsupported-version", .no, "No common link version; update the older side.")
        case .badFrame: ("bad-frame", .no, "A frame or record does not decode.")
        case .tooLarge: ("too-large", .no, "A frame, body or record is over its limit.")
        case .timeout: ("timeout", .yes, "The deadline of this stage passed.")
        case .tooManyConnections: ("too-many-connections", .yes, "The relay is at its connection limit.")
        case .draining: ("draining", .yes, "The relay is stopping; come back later.")
        case .internal: ("internal", .yes, "The relay failed; its log says why.")
        case .storageFull: ("storage-full", .yes, "The relay cannot store more; reading goes on.")
        case .rateLimited: ("rate-limited", .yes, "Too many requests of this kind.")
        case .slowReader: ("slow-reader", .yes, "The reader made no progress for too long.")
        case .replaced: ("replaced", .yes, "The same member attached from elsewhere too often.")
        case .unknownChannel: ("unknown-channel", .new, "The relay does not carry this channel.")
        case .channelRejected: ("channel-rejected", .no, "The relay's operator left this channel.")
        case .channelInactive: ("channel-inactive", .new, "The relay no longer carries this channel.")
        case .channelDeleted: ("channel-deleted", .no, "An owner deleted the channel.")
        case .recordInvalid: ("record-invalid", .no, "The channel record fails a check.")
        case .recordStale: ("record-stale", .new, "The relay has a newer record; get it first.")
        case .recordConflict: ("record-conflict", .new, "The relay has another record with this version.")
        case .badProof: ("bad-proof", .no, "The proof of key does not verify.")
        case .unknownMember: ("unknown-member", .new, "No such member here; join first.")
        case .notOwner: ("not-owner", .no, "Only an owner may do this.")
        case .memberRemoved: ("member-removed", .no, "This membership has ended.")
        case .joinRefused: ("join-refused", .no, "The join does not fit the channel.")
        case .channelFull: ("channel-full", .yes, "The relay's subscriber limit for this channel is reached.")
        case .memberKeyMismatch: ("member-key-mismatch", .no, "This member id is known with another key.")
        case .badSignature: ("bad-signature", .no, "A signature does not verify.")
        case .wrongBinding: ("wrong-binding", .no, "Signed for another binding than this channel.")
        case .signatureRequired: ("signature-required", .no, "This event must be signed.")
        case .notPermitted: ("not-permitted", .no, "The author's role does not allow this.")
        case .missingMessageID: ("missing-message-id", .no, "Published events need a msgId.")
        case .messageIDConflict:
            ("message-id-conflict", .no, "This author used this message id for other bytes.")
        case .messageTooLarge: ("message-too-large", .no, "The message is over the relay's limit.")
        case .malformedEvent: ("malformed-event", .no, "Not JSON of the expected shape.")
        case .unsupportedEvent: ("unsupported-event", .no, "This event is not published on a channel.")
        case .messageDeleted: ("message-deleted", .no, "The message was deleted; it stays deleted.")
        case .unknownMessage: ("unknown-message", .new, "The message to change is not here.")
        case .channelLimit: ("channel-limit", .no, "The relay carries as many channels as it may.")
        case .invitationInvalid:
            ("invitation-invalid", .no, "The invitation does not fit the record or the link.")
        case .notAccepting: ("not-accepting", .no, "The relay's policy takes no invitations.")
        }
    }
}

/// The content of an ERROR frame. A code that we do not know is kept as a number.
package struct LinkError: Error, Hashable, Sendable, CustomStringConvertible {
    /// 0: the link itself, which is then closed.
    package let request: UInt32
    package let code: UInt16
    /// Advice of the sender; 0: none. **Units**: milliseconds.
    package let retryAfterMs: UInt32
    /// For people, at most 512 bytes.
    package let text: String

    package init(_ code: LinkErrorCode, request: UInt32 = 0, retryAfterMs: UInt32 = 0, text: String? = nil) {
        self.init(
            request: request, code: code.rawValue, retryAfterMs: retryAfterMs, text: text ?? code.sentence)
    }
    package init(request: UInt32, code: UInt16, retryAfterMs: UInt32, text: String) {
        self.request = request
        self.code = code
        self.retryAfterMs = retryAfterMs
        self.text = text
    }
    package var known: LinkErrorCode? { LinkErrorCode(rawValue: code) }
    package var name: String { known?.name ?? "error-\(code)" }
    package var description: String { "\(name): \(text)" }
}
