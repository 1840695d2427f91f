@testable import LibeventLoop
@testable import LinkRuntime
@testable import RelayServer
@testable import RelayStore

import ChannelWire
import Operations
import PosixKit
import SQLiteKit
import TestKit

/// A whole relay without its threads: the loop, the authority and the disk's reader take turns when they are told.
///
/// Everything in it is what `antennad` runs; only the listener and the control socket are not there.
final class SimulatedRelay {
    let index: Int
    let directory: String
    let port: UInt16
    let configuration: RelayConfiguration
    private let identity: RelayIdentity
    private(set) var parts: Parts?
    /// The backups that were made, the newest last.
    var backups: [String] = []
    /// What this relay has told the world of, as the reference sees it.
    var reference: ReferenceRelay
    /// How often an older copy was put in the place of its state.
    var restoreCount = 0
    /// Its state was put back since it was last looked at.
    var wasRestored = false
    /// What its logs went by before.
    var epochBeforeRestore: [UInt8]?
    /// How often it took the channel on.
    var acceptances = 0
    /// An operator's allow was at work when the power went.
    var isAllowUnderWay = false
    /// What it wrote into its log about its own troubles.
    let complaints = Complaints()

    /// What runs while the relay is up.
    struct Parts {
        let shared: RelayShared
        let ledger: RelayLedger
        let authority: Authority
        let loop: RelayLoop
        let reader: DiskReader
    }

    init(index: Int, directory: String, change: (inout RelayConfiguration) -> Void) {
        self.index = index
        self.directory = directory
        port = UInt16(20_000 + index)
        identity = RelayIdentity.create(nowSeconds: Clock.nowSeconds())
        var configuration = RelayConfiguration(state: directory)
        configuration.listen = .loopback(port: port)
        change(&configuration)
        self.configuration = configuration
        reference = ReferenceRelay(keeps: configuration.logMessagesMax)
    }

    var address: String {
        guard let key = PublicKey(raw: identity.publicKey) else { preconditionFailure("a key has 32 bytes") }
        return AntennaLink.relayAddress(
            identity: key, hosts: [AntennaLink.Endpoint(host: "127.0.0.1", port: port)]
        ).text()
    }
    var identityKey: [UInt8] { identity.publicKey }
    var isUp: Bool { parts != nil }
    /// Its party on the simulated disk.
    var party: Int32 { Int32(index + 1) }

    func start() throws {
        precondition(parts == nil, "a relay starts once")
        let mailbox = Mailbox<AuthorityMessage>()
        let ledger = try RelayLedger(directory: directory, options: RelayServer.options(configuration))
        guard let key = PublicKey(raw: identity.publicKey) else { preconditionFailure("a key has 32 bytes") }
        let shared = RelayShared(
            configuration: configuration, log: complaints.log, identityKey: key,
            identitySecret: identity.identity,
            listening: configuration.listen, authority: mailbox, connectionsMax: 1000, service: Supervisor())
        let loop = try RelayLoop(index: 0, relay: shared, link: identity.link, lifecycle: Mailbox())
        let reader = DiskReader(
            relay: shared, reader: try RelayReader(directory: directory), loops: [loop.mailbox])
        let authority = Authority(mailbox: mailbox, ledger: ledger)
        mailbox.post(.begin(shared, [loop.mailbox]))
        parts = Parts(shared: shared, ledger: ledger, authority: authority, loop: loop, reader: reader)
    }

    /// Lets go of everything. What is on the disk afterwards is the caller's business.
    func end() {
        guard let parts else { return }
        parts.loop.closeAllAtOnce()
        parts.loop.loop.runOnce(waiting: false)
        parts.loop.loop.runOnce(waiting: false)
        parts.ledger.close()
        self.parts = nil
    }

    // MARK: What is on the disk

    /// The channels that have a log here.
    func storedChannels() -> [StoredLog] {
        guard let database = parts?.ledger.database else { return [] }
        let channels =
            (try? database.query(
                """
                SELECT channel, channel_id, status, log_first, log_head
                FROM channels JOIN counters USING (channel) ORDER BY channel
                """
            ) { ($0.int64(0), $0.blob(1), $0.text(2), $0.int64(3), $0.int64(4)) }) ?? []
        return channels.map { row, id, status, first, head in
            var erased: Set<ReferenceRelay.Key> = []
            try? database.forEach(
                "SELECT author, message_id FROM tombstones WHERE channel = ?", [.integer(row)]
            ) {
                erased.insert(.init(author: $0.blob(0), message: $0.blob(1)))
                return .next
            }
            var entries: [ReferenceRelay.Entry] = []
            try? database.forEach(
                "SELECT sequence, author, message_id, frame FROM log WHERE channel = ? ORDER BY sequence",
                [.integer(row)]
            ) {
                entries.append(
                    ReferenceRelay.Entry(
                        sequence: $0.int64(0), key: .init(author: $0.blob(1), message: $0.blob(2)),
                        element: Delivered.element(ofFrame: $0.blob(3)) ?? []))
                return .next
            }
            return StoredLog(
                channel: id, status: status, first: first, head: head, entries: entries, erased: erased)
        }
    }

    func recordVersion(of channel: [UInt8]) -> Int64 {
        let version = try? parts?.ledger.database.first(
            "SELECT record_version FROM channels WHERE channel_id = ?", [.blob(channel)]
        ) { $0.int64(0) }
        return (version ?? nil) ?? 0
    }

    struct StoredLog {
        let channel: [UInt8]
        let status: String
        let first: Int64
        let head: Int64
        let entries: [ReferenceRelay.Entry]
        let erased: Set<ReferenceRelay.Key>
    }
}

/// What a relay complains of in its log, kept for the checks.
final class Complaints: Sendable {
    private let lines = Mailbox<String>()
    func take() -> [String] { lines.drain() }

    var log: Log {
        Log(
            format: .text, minimum: .error, underJournal: true, colour: false,
            repetition: Log.Repetition(burst: 1000), now: { Clock.nowMilliseconds() },
            sink: { [lines] in lines.post("\($0)") })
    }
}

/// A DELIVER frame taken apart.
struct Delivered {
    let sequence: Int64
    let key: ReferenceRelay.Key
    let element: [UInt8]

    /// The frames of a run: entries, and the ranges that gaps explain.
    static func read(_ frames: [UInt8]) -> [Delivered] {
        var found: [Delivered] = []
        var offset = 0
        while offset + 3 <= frames.count {
            let end = offset + 3 + (Int(frames[offset + 1]) << 8 | Int(frames[offset + 2]))
            guard end <= frames.count else { break }
            if frames[offset] == FrameType.deliver.rawValue,
                let delivered = Delivered(frame: Array(frames[offset..<end]))
            {
                found.append(delivered)
            }
            offset = end
        }
        return found
    }

    init?(frame: [UInt8]) {
        guard let forward = Self.forward(ofFrame: frame),
            let element = try? Element.decode(forward.inner), let json = element.json,
            let message = (try? Event.decode(json: json))?.messageID
        else { return nil }
        var value: UInt64 = 0
        for byte in frame[3..<11] { value = value << 8 | UInt64(byte) }
        sequence = Int64(bitPattern: value)
        var author: [UInt8] = []
        if case .member(let id, _) = forward.sender { author = id.bytes }
        key = .init(author: author, message: message.bytes)
        self.element = forward.inner
    }

    static func element(ofFrame frame: [UInt8]) -> [UInt8]? { forward(ofFrame: frame)?.inner }

    private static func forward(ofFrame frame: [UInt8]) -> ForwardElement? {
        // Type, length and sequence; then a batch of one.
        guard frame.count > 15 else { return nil }
        return try? ForwardElement(Array(frame[15...]))
    }
}
