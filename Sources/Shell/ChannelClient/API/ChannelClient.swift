/// The client library: create channels, rule their relays, publish, subscribe.
///
/// One instance owns one home directory's network activity on one background thread; several processes may
/// use the same home at once. Every call may be made from any task. Times without a unit in their name are
/// `Duration`; a call never takes longer than its `timeout`. Channels are named as people type them: `news`,
/// `#news`, `#'my news'`, or the channel id; relays by their name in the address book.
public final class ChannelClient: Sendable {
    /// How a client behaves.
    public struct Options: Sendable {
        /// What the client does on its own while no call asks for anything.
        public enum Background: Sendable {
            /// Retries the outbox and waiting invitations, and keeps links only for
            /// ``ChannelClient/follow(_:since:)``.
            case whenNeeded
            /// Keeps every channel connected; for programs that run all day.
            case always
            /// Nothing at all: only what a call asks for, only while it runs.
            case none
        }

        /// What happens without a call; `whenNeeded` unless changed.
        public var background: Background = .whenNeeded
        /// How long one attempt to connect may take.
        public var connectTimeout: Duration = .seconds(10)
        /// The first pause before a relay is tried again; doubled, with jitter, up to ``retryMaximum``.
        public var retryMinimum: Duration = .milliseconds(500)
        /// The longest pause before a relay is tried again.
        public var retryMaximum: Duration = .seconds(300)
        /// How long a relay may take to deliver what another one delivered before it is reported.
        public var withholdingGrace: Duration = .seconds(60)
        /// Opens a home whose keys are locked with a passphrase; a home without channels is locked with it
        /// from now on. Trying one takes about a second on purpose.
        public var passphrase: String?
        /// The SOCKS5 proxy that everything goes through; nil: straight to the relays.
        public var proxy: ProxyAddress?
        /// Channels that connect on their own, as at the start or after an outage, begin at moments drawn
        /// from this span, each for itself, so that a relay does not see them begin together. Nil: five
        /// seconds with a proxy, and nothing without one, where the address tells more anyway.
        public var connectionSpread: Duration?
        /// A seed for the jitter, so that a test can repeat it; nil: drawn from the system.
        public var randomSeed: UInt64?

        /// The defaults.
        public init() {}
    }

    /// Where the state is kept.
    public let home: String
    let engine: EngineHandle

    /// Opens (and creates, where it is missing) the home directory and its database.
    ///
    /// Shape: `<home>/client.db`, the directory with mode 0700 and the files with 0600.
    /// Throws: `home-foreign`, `home-too-new`, `home-corrupt`, `home-not-writable`, `permission-denied`,
    /// `home-busy`, `disk-full`, `input-output`,
    /// `wrong-passphrase`.
    public init(home: String, options: Options = .init()) throws(ChannelClientError) {
        self.home = home
        self.engine = try EngineHandle.start(home: home, options: options)
    }

    /// Closes all links and the database; calls made afterwards throw `shut-down`. Streams end.
    public func shutdown() async {
        await engine.shutdown()
    }

    deinit {
        engine.abandon()
    }

    /// A new stream of everything that happens from now on; the newest 1024 events are kept for a slow
    /// reader.
    public var events: AsyncStream<ClientEvent> { engine.events() }

    /// Locks the keys of this home with a passphrase, with another one, or (nil) with none.
    ///
    /// Messages and the address book are not locked. Other clients that have the home open go on until they
    /// close it.
    /// Throws: `invalid-name` (an empty passphrase), `disk-full`, `home-busy`.
    public func setPassphrase(_ passphrase: String?) async throws(ChannelClientError) {
        try await engine.ask { engine throws(ChannelClientError) in try engine.setPassphrase(passphrase) }
    }

    // MARK: Profile

    /// The own profile, nil until one is set.
    public func profile() async throws(ChannelClientError) -> Profile? {
        try await engine.ask { engine throws(ChannelClientError) in try engine.profile() }
    }

    /// Sets the own profile; channels created later, and joined later unless ``join(link:as:timeout:)`` says
    /// otherwise, carry it.
    ///
    /// Throws: `invalid-name`.
    public func setProfile(displayName: String) async throws(ChannelClientError) {
        try await engine.ask { engine throws(ChannelClientError) in try engine.setProfile(displayName) }
    }

    // MARK: Address book

    /// Adds a relay to the address book under a name chosen here.
    ///
    /// Throws: `invalid-name`, `invalid-address` (not an `r` link), `relay-name-taken`.
    @discardableResult
    public func addRelay(name: String, address: String) async throws(ChannelClientError) -> RelayEntry {
        try await engine.ask { engine throws(ChannelClientError) in
            try engine.addRelay(name: name, address: address)
        }
    }

    /// The address book, in the order of names.
    public func relays() async throws(ChannelClientError) -> [RelayEntry] {
        try await engine.ask { engine throws(ChannelClientError) in try engine.relays() }
    }

    /// Takes a relay out of the address book; channels that use it keep doing so.
    ///
    /// Throws: `unknown-relay`.
    public func removeRelay(name: String) async throws(ChannelClientError) {
        try await engine.ask { engine throws(ChannelClientError) in try engine.removeRelay(name: name) }
    }

    /// Tests a relay by its name, or any `r` link: address, connection, certificate, and a signed challenge.
    ///
    /// A relay that fails is a report, not an error.
    /// Throws: `unknown-relay`, `invalid-address`.
    public func testRelay(name: String, timeout: Duration = .seconds(40)) async throws(ChannelClientError)
        -> RelayTestReport
    {
        try await engine.call { engine, reply in
            engine.testRelay(name, milliseconds: timeout.clampedMilliseconds, reply)
        }
    }

    // MARK: Channels

    /// Creates a channel and invites the relays named, all at once.
    ///
    /// A relay that has not answered in time stays invited, and is followed up whenever a client runs on this
    /// home. `progress` is called with each outcome as soon as it is known, on no particular thread.
    /// Throws: `invalid-name`, `unknown-relay`, `no-relays` (the list is empty), and `channel-not-created`
    /// with every relay's outcome where no relay carries the channel or may still come to: the channel is
    /// removed again.
    public func createChannel(
        name: String, description: String = "", relays: [String], signMessages: Bool = true,
        timeout: Duration = .seconds(30), progress: (@Sendable (RelayOutcome) -> Void)? = nil
    ) async throws(ChannelClientError) -> ChannelCreation {
        try await engine.call { engine, reply in
            engine.createChannel(
                name: name, description: description, relays: relays, signMessages: signMessages,
                milliseconds: timeout.clampedMilliseconds, progress: progress, reply)
        }
    }

    /// All channels of this home, in the order of local names.
    public func channels() async throws(ChannelClientError) -> [Channel] {
        try await engine.ask { engine throws(ChannelClientError) in try engine.publicChannels() }
    }

    /// One channel by name or id.
    ///
    /// Throws: `unknown-channel`, `ambiguous-channel`.
    public func channel(named name: String) async throws(ChannelClientError) -> Channel {
        try await engine.ask { engine throws(ChannelClientError) in
            engine.publicChannel(try engine.findChannel(name))
        }
    }

    /// The relays of a channel, in the order in which they were added.
    ///
    /// For an owner: every relay ever listed, with its status. For a subscriber: those of the record.
    /// Throws: `unknown-channel`.
    public func channelRelays(of channel: String) async throws(ChannelClientError) -> [ChannelRelay] {
        try await engine.ask { engine throws(ChannelClientError) in try engine.channelRelays(of: channel) }
    }

    /// Invites more relays; an outcome for each.
    ///
    /// Throws: `not-owner`, `unknown-relay`, `relay-already-listed` (in whatever status, `rejected` too;
    /// nothing is sent to any of them then).
    public func addRelays(
        _ relays: [String], to channel: String, timeout: Duration = .seconds(30),
        progress: (@Sendable (RelayOutcome) -> Void)? = nil
    ) async throws(ChannelClientError) -> [RelayOutcome] {
        try await engine.call { engine, reply in
            engine.addRelays(
                relays, to: channel, milliseconds: timeout.clampedMilliseconds, progress: progress, reply)
        }
    }

    /// Removes a relay from a channel, whatever its status: the row goes, the other relays get a record
    /// without it, and a relay that still carries the channel is told.
    ///
    /// Throws: `not-owner`, `relay-not-listed`.
    @discardableResult
    public func removeRelay(_ relay: String, from channel: String, timeout: Duration = .seconds(30))
        async throws(ChannelClientError) -> [RelayOutcome]
    {
        try await engine.call { engine, reply in
            engine.removeChannelRelay(
                relay, from: channel, milliseconds: timeout.clampedMilliseconds, reply)
        }
    }

    /// Changes the channel's profile; nil leaves a field as it is.
    ///
    /// Throws: `not-owner`, `invalid-name`.
    @discardableResult
    public func setChannel(
        _ channel: String, name: String? = nil, description: String? = nil, signMessages: Bool? = nil,
        timeout: Duration = .seconds(30)
    ) async throws(ChannelClientError) -> PublishReceipt {
        try await engine.call { engine, reply in
            engine.setChannel(
                channel, name: name, description: description, signMessages: signMessages,
                milliseconds: timeout.clampedMilliseconds, reply)
        }
    }

    /// Deletes the channel for everybody, and here. Relays that cannot be reached in time are told later.
    ///
    /// Throws: `not-owner`.
    @discardableResult
    public func deleteChannel(_ channel: String, timeout: Duration = .seconds(30))
        async throws(ChannelClientError) -> PublishReceipt
    {
        try await engine.call { engine, reply in
            engine.deleteChannel(channel, milliseconds: timeout.clampedMilliseconds, reply)
        }
    }

    /// Forgets a channel here without telling anybody; for memberships that have ended.
    ///
    /// Throws: `not-permitted` while the membership is current.
    public func forgetChannel(_ channel: String) async throws(ChannelClientError) {
        try await engine.ask { engine throws(ChannelClientError) in try engine.forgetChannel(channel) }
    }

    /// The channel's link, for subscribers.
    ///
    /// Shape: `https://HOST/c#…` with up to three of the relays of the record.
    /// Throws: `no-relays` while no relay is active.
    public func link(to channel: String) async throws(ChannelClientError) -> String {
        try await engine.ask { engine throws(ChannelClientError) in
            let runtime = try engine.open(channel)
            guard let link = engine.linkText(runtime) else {
                throw .init(.noRelays, "No relay of the channel is active yet, so there is no link to give.")
            }
            return link
        }
    }

    // MARK: Joining

    /// Fetches what a link leads to, without joining: the highest record that its relays serve, verified.
    ///
    /// Throws: `relay-address`, `invalid-link`, `unreachable`, `timed-out`, `invalid-record`.
    public func preview(link: String, timeout: Duration = .seconds(20)) async throws(ChannelClientError)
        -> ChannelPreview
    {
        try await engine.call { engine, reply in
            engine.preview(link: link, milliseconds: timeout.clampedMilliseconds, reply)
        }
    }

    /// Joins a channel at all relays of its record; one success is enough, the others are retried.
    ///
    /// Relays and owners see a fresh key, a fresh member id and the name chosen; nothing else of this home.
    /// Throws: as ``preview(link:timeout:)``, and `already-member`, `invalid-name`, `refused`.
    public func join(link: String, as name: NameChoice = .profile, timeout: Duration = .seconds(30))
        async throws(ChannelClientError) -> JoinReport
    {
        try await engine.call { engine, reply in
            engine.join(link: link, as: name, milliseconds: timeout.clampedMilliseconds, reply)
        }
    }

    /// Ends the own membership at every relay, and here.
    ///
    /// Throws: `sole-owner`.
    @discardableResult
    public func leave(_ channel: String, timeout: Duration = .seconds(30)) async throws(ChannelClientError)
        -> PublishReceipt
    {
        try await engine.call { engine, reply in
            engine.leave(channel, milliseconds: timeout.clampedMilliseconds, reply)
        }
    }

    // MARK: Members

    /// Members of a channel: for owners a page as the first relay that answers tells it, else the ones known
    /// here.
    ///
    /// Throws: `no-relays`, `unreachable`, `timed-out`.
    public func members(
        of channel: String, after: String? = nil, limit: Int = 50, timeout: Duration = .seconds(15)
    )
        async throws(ChannelClientError) -> MemberPage
    {
        try await engine.call { engine, reply in
            engine.members(
                of: channel, after: after, limit: limit, milliseconds: timeout.clampedMilliseconds, reply)
        }
    }

    /// Removes a member; with `messages` the relays delete what it wrote.
    ///
    /// Throws: `not-permitted`, `unknown-member`.
    @discardableResult
    public func removeMember(
        _ memberID: String, from channel: String, messages: Bool = false, timeout: Duration = .seconds(30)
    ) async throws(ChannelClientError) -> PublishReceipt {
        try await engine.call { engine, reply in
            engine.removeMember(
                memberID, from: channel, messages: messages, milliseconds: timeout.clampedMilliseconds, reply)
        }
    }

    // MARK: Publishing

    /// Publishes a text to all relays of a channel at once.
    ///
    /// A relay that has not acknowledged in time stays in the outbox. `minimumRelays` is how many have to
    /// have it durably for this call not to throw; 0: none. `asGroup` shows the channel as the author (owners
    /// only).
    /// Throws: `not-permitted`, `message-too-large`, `no-relays`, `too-few-relays` (with the receipt; the
    /// message stays in the outbox), `refused` (every relay refused for good).
    public func publish(
        _ text: String, to channel: String, asGroup: Bool = false, minimumRelays: Int = 0,
        timeout: Duration = .seconds(15)
    ) async throws(ChannelClientError) -> PublishReceipt {
        try await engine.call { engine, reply in
            engine.publishText(
                text, to: channel, asGroup: asGroup, minimumRelays: minimumRelays,
                milliseconds: timeout.clampedMilliseconds, reply)
        }
    }

    /// Changes the text of an own message.
    ///
    /// Throws: `unknown-message`, `message-deleted`, `not-permitted`, and as
    /// ``publish(_:to:asGroup:minimumRelays:timeout:)``.
    public func edit(
        _ messageID: String, in channel: String, to text: String, minimumRelays: Int = 0,
        timeout: Duration = .seconds(15)
    ) async throws(ChannelClientError) -> PublishReceipt {
        try await engine.call { engine, reply in
            engine.edit(
                messageID, in: channel, to: text, minimumRelays: minimumRelays,
                milliseconds: timeout.clampedMilliseconds, reply)
        }
    }

    /// Deletes an own message, or, as an owner or moderator, anybody's.
    ///
    /// Throws: `unknown-message`, `message-deleted`, `not-permitted`, and as
    /// ``publish(_:to:asGroup:minimumRelays:timeout:)``.
    public func deleteMessage(
        _ messageID: String, in channel: String, minimumRelays: Int = 0, timeout: Duration = .seconds(15)
    ) async throws(ChannelClientError) -> PublishReceipt {
        try await engine.call { engine, reply in
            engine.deleteMessage(
                messageID, in: channel, minimumRelays: minimumRelays,
                milliseconds: timeout.clampedMilliseconds, reply)
        }
    }

    /// What became of a message at each relay, as known now.
    ///
    /// Throws: `unknown-message`.
    public func receipt(of messageID: String, in channel: String) async throws(ChannelClientError)
        -> PublishReceipt
    {
        try await engine.ask { engine throws(ChannelClientError) in
            try engine.receipt(of: messageID, in: channel)
        }
    }

    /// What waits in the outbox, oldest first.
    public func outbox() async throws(ChannelClientError) -> [OutboxRow] {
        try await engine.ask { engine throws(ChannelClientError) in try engine.outboxRows() }
    }

    /// Takes refused rows (and with `pending` also waiting ones) of a message out of the outbox.
    ///
    /// Throws: `unknown-message`.
    public func discardOutbox(_ messageID: String, in channel: String, pending: Bool = false)
        async throws(ChannelClientError)
    {
        try await engine.ask { engine throws(ChannelClientError) in
            try engine.discardOutbox(messageID, in: channel, pending: pending)
        }
    }

    /// Flushes the outbox, follows up invitations, and refreshes records and what was missed, at every relay
    /// at once. With `channel` only that channel's relays are asked; the report's outbox figures are of all.
    ///
    /// Throws: `unknown-channel`.
    @discardableResult
    public func synchronize(_ channel: String? = nil, timeout: Duration = .seconds(30))
        async throws(ChannelClientError) -> SynchronizeReport
    {
        try await engine.call { engine, reply in
            engine.synchronize(only: channel, milliseconds: timeout.clampedMilliseconds, reply)
        }
    }

    // MARK: Reading

    /// Messages stored here, oldest first: the `limit` newest ones, or those before a message.
    ///
    /// Throws: `unknown-channel`, `unknown-message`.
    public func messages(in channel: String, limit: Int = 50, before messageID: String? = nil)
        async throws(ChannelClientError) -> [Message]
    {
        try await engine.ask { engine throws(ChannelClientError) in
            try engine.messages(in: channel, limit: limit, before: messageID)
        }
    }

    /// Messages before one (or the newest), asked from the relays where this home does not have them;
    /// verified, stored.
    ///
    /// Shape: oldest first, at most `limit` (1...500).
    /// Throws: `unreachable`, `timed-out`.
    public func history(
        of channel: String, before messageID: String? = nil, limit: Int = 100,
        timeout: Duration = .seconds(15)
    ) async throws(ChannelClientError) -> [Message] {
        try await engine.call { engine, reply in
            engine.history(
                of: channel, before: messageID, limit: limit, milliseconds: timeout.clampedMilliseconds, reply
            )
        }
    }

    /// Everything that happens in a channel, in order and once: what was missed since the last time, then
    /// live.
    ///
    /// Each relay is followed on its own link, with its own pauses; the stream goes on until the task that
    /// reads it is cancelled, the membership ends, or the client is shut down.
    /// Throws (in the stream): `unknown-channel`, `home-…`.
    public func follow(_ channel: String, since: FollowStart = .now) -> AsyncThrowingStream<
        FollowItem, any Error
    > {
        engine.follow(channel, since: since)
    }
}
