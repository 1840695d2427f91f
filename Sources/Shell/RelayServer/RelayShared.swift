internal import ChannelWire
internal import ControlWire
internal import LinkRuntime
internal import Operations
internal import PosixKit
internal import SodiumCrypto
internal import Synchronization
internal import ZstdKit

/// What all threads of one relay have in common: settings, keys, boxes, counts. Nothing here changes but the
/// counts and, by a reload, the settings.
final class RelayShared: Sendable {
    private let settings: Mutex<RelayConfiguration>
    private let reloading = Mutex<StatusReport.Reload?>(nil)
    let log: Log
    let crypto = ChannelCrypto.system
    let counters = RelayCounters()
    /// The relay's identity key, and its secret where it is on this machine.
    let identityKey: PublicKey
    let identitySecret: Ed25519.KeyPair?
    let authority: Mailbox<AuthorityMessage>
    let reader = Mailbox<ReaderMessage>()
    /// Host and port as they go into links.
    let endpoint: AntennaLink.Endpoint
    /// The address that the relay really listens on.
    let listening: SocketAddress
    let connections: ConnectionCounter
    let startedAt = Clock.nowSeconds()
    let service: Supervisor
    let writerPulse = Pulse()
    let loopPulses: [Pulse]
    /// Loops let the authority go first where each has a processor. Where they have not, they would let each
    /// other go first, after every turn.
    let loopsGiveWay: Bool

    init(
        configuration: RelayConfiguration, log: Log, identityKey: PublicKey, identitySecret: Ed25519.KeyPair?,
        listening: SocketAddress, authority: Mailbox<AuthorityMessage>, connectionsMax: Int,
        service: Supervisor
    ) {
        settings = Mutex(configuration)
        self.service = service
        loopPulses = (0..<configuration.loops).map { _ in Pulse() }
        loopsGiveWay = configuration.loops <= Posix.processorCount
        self.log = log
        self.identityKey = identityKey
        self.identitySecret = identitySecret
        self.listening = listening
        self.authority = authority
        connections = ConnectionCounter(
            totalMax: connectionsMax, perAddressMax: configuration.connectionsPerAddressMax)
        let advertised = configuration.advertise
        endpoint = AntennaLink.Endpoint(
            host: advertised?.host ?? listening.hostText,
            // A name alone stands for the default port, unless the relay listens on another one.
            port: advertised?.port ?? listening.port)
    }

    /// The settings in force.
    var configuration: RelayConfiguration {
        get { settings.withLock { $0 } }
        set { settings.withLock { $0 = newValue } }
    }

    /// How the last reload went; nil before the first.
    var lastReload: StatusReport.Reload? {
        get { reloading.withLock { $0 } }
        set { reloading.withLock { $0 = newValue } }
    }

    /// Whether every thread that serves was seen to go round lately.
    func goesRound(within milliseconds: Int64) -> Bool {
        (loopPulses + [writerPulse]).allSatisfy { $0.ageMilliseconds <= milliseconds }
    }

    /// The `r` link for owners.
    var address: String { AntennaLink.relayAddress(identity: identityKey, hosts: [endpoint]).text() }

    /// The `g` link: this relay's place in one channel, named by its member key there.
    func channelLink(_ memberKey: PublicKey) -> String {
        AntennaLink.relayChannel(
            key: memberKey, host: AntennaLink.Host(endpoint: endpoint, identity: identityKey)
        ).text()
    }
}

/// Counts that all threads add to.
final class RelayCounters: Sendable {
    let accepted = Counter()
    let refused = Counter()
    let opened = Counter()
    let published = Counter()
    let delivered = Counter()
    let errors = Counter()
    let links = Counter()
    let owners = Counter()
    let members = Counter()
}

final class Counter: Sendable {
    private let value = Atomic<Int64>(0)

    func add(_ count: Int64) { value.add(count, ordering: .relaxed) }
    var now: Int64 { value.load(ordering: .relaxed) }
}

extension ChannelCrypto {
    /// libsodium and libzstd.
    static let system = ChannelCrypto(
        verify: { Ed25519.verify(signature: $0.bytes, message: $1, publicKey: $2.raw) },
        sha256: { Sodium.sha256($0) },
        sha512: { Sodium.sha512($0) },
        decompress: { Zstd.decompress($0, limit: $1) },
        compress: { Zstd.compress($0) })
}
