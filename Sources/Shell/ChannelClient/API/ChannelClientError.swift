/// Why a call of ``ChannelClient`` did not do what was asked.
///
/// Shape: a stable ``code`` for programs, a ``message`` for people, and, where several relays were involved,
/// one outcome for each of them. Text that came from a relay is cut at 512 bytes.
public struct ChannelClientError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The stable name of what went wrong.
    public enum Code: String, Sendable, CaseIterable {
        /// The database in the home directory belongs to another program.
        case homeForeign = "home-foreign"
        /// The database in the home directory was written by a newer version.
        case homeTooNew = "home-too-new"
        /// The database in the home directory is damaged.
        case homeCorrupt = "home-corrupt"
        /// The home directory cannot be created or written.
        case homeNotWritable = "home-not-writable"
        /// The home directory may not be read by this user.
        case permissionDenied = "permission-denied"
        /// The home has a passphrase, and none or another one was given.
        case wrongPassphrase = "wrong-passphrase"
        /// Another process held the database for too long; try again.
        case homeBusy = "home-busy"
        /// The volume of the home directory is full.
        case diskFull = "disk-full"
        /// The machine failed to read or write.
        case inputOutput = "input-output"
        /// A display name, relay name or channel name that is not allowed.
        case invalidName = "invalid-name"
        /// The home has no profile yet.
        case noProfile = "no-profile"
        /// A relay address that does not parse or is not an `r` link.
        case invalidAddress = "invalid-address"
        /// A link that does not parse, or is not a channel link.
        case invalidLink = "invalid-link"
        /// A relay address where a channel link is wanted; ``ChannelClientError/title`` is “Relay address”.
        case relayAddress = "relay-address"
        /// A message id that is not base64url of 1 to 255 bytes.
        case invalidMessageID = "invalid-message-id"
        /// No relay of this name in the address book.
        case unknownRelay = "unknown-relay"
        /// The address book already has this name.
        case relayNameTaken = "relay-name-taken"
        /// The relay is listed for the channel already, whatever its status; remove it first.
        case relayAlreadyListed = "relay-already-listed"
        /// The channel does not list a relay of this name.
        case relayNotListed = "relay-not-listed"
        /// No channel of this name or id.
        case unknownChannel = "unknown-channel"
        /// More than one channel fits this name.
        case ambiguousChannel = "ambiguous-channel"
        /// No message with this id in the channel.
        case unknownMessage = "unknown-message"
        /// The message was deleted.
        case messageDeleted = "message-deleted"
        /// The text is empty, or has the character NUL in it, which no relay takes.
        case invalidText = "invalid-text"
        /// The text does not fit into one message.
        case messageTooLarge = "message-too-large"
        /// No member with this id.
        case unknownMember = "unknown-member"
        /// Only an owner may do this.
        case notOwner = "not-owner"
        /// The own role does not allow this.
        case notPermitted = "not-permitted"
        /// A sole owner cannot leave, only delete.
        case soleOwner = "sole-owner"
        /// The channel was joined or created in this home already.
        case alreadyMember = "already-member"
        /// No relay accepted the channel or might still accept it: nothing was created.
        case channelNotCreated = "channel-not-created"
        /// No relay of the channel can be used for this.
        case noRelays = "no-relays"
        /// Every relay refused.
        case refused = "refused"
        /// Fewer relays than asked for took the message; see ``ChannelClientError/receipt``.
        case tooFewRelays = "too-few-relays"
        /// No relay could be reached.
        case unreachable = "unreachable"
        /// The time allowed was not enough.
        case timedOut = "timed-out"
        /// What a relay served for the channel does not verify.
        case invalidRecord = "invalid-record"
        /// The task that made the call was cancelled.
        case cancelled
        /// ``ChannelClient/shutdown()`` was called.
        case shutDown = "shut-down"
        /// Not available in this version.
        case notImplemented = "not-implemented"
        /// A defect of this library.
        case defect = "defect"
    }

    /// What went wrong, for programs.
    public let code: Code
    /// What went wrong and what to do, for people; one or two sentences.
    public let message: String
    /// What each relay answered, where relays were asked.
    public let relays: [RelayOutcome]
    /// The receipt of a message that fewer relays took than asked for.
    public let receipt: PublishReceipt?

    /// Makes an error; needed only by tests and by programs that wrap the client.
    public init(_ code: Code, _ message: String, relays: [RelayOutcome] = [], receipt: PublishReceipt? = nil)
    {
        self.code = code
        self.message = message
        self.relays = relays
        self.receipt = receipt
    }

    /// A short title where the protocol fixes one (“Relay address”), else nil.
    public var title: String? { code == .relayAddress ? "Relay address" : nil }

    /// The code and the message on one line.
    public var description: String { "\(code.rawValue): \(message)" }

    /// The `sysexits` value a command line program ends with for this error.
    ///
    /// Source: 2 partial, 64 usage, 65 data, 69 unavailable, 73 cannot create, 74 input/output, 75 try later,
    /// 77 permission, 1 everything unexpected.
    public var exitStatus: Int32 {
        switch code {
        case .homeForeign, .homeTooNew, .homeCorrupt: 65
        case .homeNotWritable, .diskFull: 73
        case .inputOutput: 74
        case .homeBusy: 75
        case .permissionDenied, .wrongPassphrase, .notOwner, .notPermitted: 77
        case .invalidName, .noProfile, .invalidAddress, .invalidLink, .relayAddress, .invalidMessageID,
            .unknownRelay,
            .relayNameTaken, .relayAlreadyListed, .relayNotListed, .unknownChannel, .ambiguousChannel,
            .unknownMessage, .messageDeleted, .invalidText, .messageTooLarge, .unknownMember, .soleOwner,
            .alreadyMember:
            64
        case .tooFewRelays: 2
        case .channelNotCreated, .noRelays, .refused, .unreachable, .timedOut, .invalidRecord: 69
        case .cancelled, .shutDown, .notImplemented, .defect: 1
        }
    }
}
