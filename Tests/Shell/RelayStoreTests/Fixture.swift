import ChannelWire
import PosixKit
import RelayCore
import RelayStore
import SodiumCrypto
import Testing

/// A directory that goes when the test ends.
final class TemporaryDirectory {
    let path: String

    init() throws {
        path = try Posix.makeTemporaryDirectory(prefix: "relay-store-")
    }

    deinit {
        Posix.removeTree(path)
    }

    /// Copies the files of a directory as they are just now: what is left after the power fails.
    func copy(to other: TemporaryDirectory, only names: [String]? = nil) throws {
        for name in try Posix.list(path) where names?.contains(name) ?? true {
            try Posix.writeFileAtomically(
                other.path + "/" + name, try Posix.readFile(path + "/" + name), mode: 0o600, fsync: false)
        }
    }

    /// Every file with its bytes.
    func content() throws -> [String: [UInt8]] {
        var content: [String: [UInt8]] = [:]
        for name in try Posix.list(path) { content[name] = try Posix.readFile(path + "/" + name) }
        return content
    }
}

/// A channel with its keys, as its owner has it.
struct TestChannel {
    let root: Ed25519.KeyPair
    let owner: MemberID
    let ownerKey: Ed25519.KeyPair
    let id: ChannelID
    var title: String
    var relays: [ChannelRecord.Relay] = []
    var moreOwners: [(MemberID, Ed25519.KeyPair)] = []
    var signMessages = false
    /// A picture of so many characters stands in the profile.
    var picture = 0

    init(_ number: UInt8 = 1, title: String = "news") {
        root = Ed25519.KeyPair(seed: [UInt8](repeating: number, count: 32))
        ownerKey = Ed25519.KeyPair(seed: [UInt8](repeating: number &+ 100, count: 32))
        owner = member("owner\(number)")
        id = ChannelID(rootKey: key(root), sha256: Sodium.sha256)
        self.title = title
    }

    var profile: [UInt8] {
        let sign = signMessages ? "on" : "off"
        let image = picture > 0 ? #","image":"\#(String(repeating: "A", count: picture))""# : ""
        return Array(
            """
            {"displayName":"\(title)","fullName":""\(image),"publicGroup":{"groupType":"channel",\
            "groupLink":"antenna:/c#\(id.unpaddedText)","publicGroupId":"\(id.text)"},\
            "groupPreferences":{"signMessages":{"enable":"\(sign)"}}}
            """.utf8)
    }

    func record(version: Int64 = 1) throws -> VerifiedRecord {
        var owners = [OwnerAuth(owner: owner, key: key(ownerKey)) { sign($0, root) }]
        for (id, pair) in moreOwners {
            owners.append(OwnerAuth(owner: id, key: key(pair)) { sign($0, root) })
        }
        let content = ChannelRecord.Content(
            rootKey: key(root), version: version, owners: owners, relays: relays, rosterVersion: -1,
            rosterDigest: [],
            memberCount: 1, profile: profile)
        let record = try #require(ChannelRecord.make(content, signer: nil) { sign($0, root) })
        return try VerifiedRecord(record, expected: id, crypto: testCrypto)
    }

    func invite(
        relay: String = "relay1", record: VerifiedRecord?, source: InvitationAllowance.Source? = nil
    ) -> LedgerCommand {
        .invite(
            LedgerCommand.Invite(
                channel: id, linkOwner: owner,
                invitation: InvitationCheck.Invitation(
                    owner: owner, relayMember: member(relay), linkedChannel: id, isSigned: true),
                ownerName: "alice", record: record, source: source))
    }

    /// A post as a PUBLISH brings it.
    func post(
        _ message: String, text: String = "hello", by author: MemberID? = nil, asGroup: Bool = false,
        signed: Bool = true
    ) -> LedgerCommand {
        publish(
            message, .post(asGroup: asGroup), tag: "x.msg.new", body: text, by: author, signed: signed)
    }

    func publish(
        _ message: String, _ intent: PublishIntent, tag: String, body: String = "",
        by author: MemberID? = nil,
        signed: Bool = true, replacement: LedgerCommand.Replacement = .none
    ) -> LedgerCommand {
        .publish(
            LedgerCommand.Publish(
                channel: id, author: author ?? owner, messageID: MessageID(bytes: Array(message.utf8))!,
                tag: EventTag(rawValue: tag), intent: intent, isSigned: signed,
                element: Array("{\"event\":\"\(tag)\",\"text\":\"\(body)\"}".utf8), replacement: replacement))
    }

    func join(_ name: String, seed: UInt8, viaRelay: String = "relay1") -> LedgerCommand {
        .join(
            LedgerCommand.Join(
                channel: id,
                join: Membership.Join(
                    id: member(name), key: key(Ed25519.KeyPair(seed: [UInt8](repeating: seed, count: 32))),
                    displayName: name, viaRelay: member(viaRelay))))
    }

    func attach(_ name: MemberID? = nil, _ start: LogWindow.Start = .live) -> LedgerCommand {
        .attach(LedgerCommand.Attach(channel: id, member: name ?? owner, start: start))
    }
}

func member(_ name: String) -> MemberID { MemberID(bytes: Array(name.utf8))! }
func key(_ pair: Ed25519.KeyPair) -> PublicKey { PublicKey(raw: pair.publicKey)! }
func sign(_ message: [UInt8], _ pair: Ed25519.KeyPair) -> Signature {
    Signature(bytes: Ed25519.sign(message, with: pair))!
}

let operatorWord = LedgerCommand.Word(actor: "uid 1000", reason: "off topic")

extension RelayLedger {
    /// Carries out one command and answers its reply.
    func ask(_ command: LedgerCommand, now: Int64 = 1000) throws -> LedgerReply {
        try #require(perform(command, now: now).replies.first)
    }

    /// Accepts a channel by open admission.
    @discardableResult
    func take(_ channel: TestChannel, relay: String = "relay1") throws -> RelayIdentityView {
        let reply = try ask(channel.invite(relay: relay, record: channel.record()))
        guard case .invitation(.accept(let view)) = reply else {
            Issue.record("the invitation was answered \(reply)")
            throw TestFailure()
        }
        return view
    }

    func published(_ command: LedgerCommand, now: Int64 = 1000) throws -> PublishReply {
        guard case .published(let reply) = try ask(command, now: now) else { throw TestFailure() }
        return reply
    }

    func channels() throws -> [ChannelSummary] {
        guard case .channels(let list) = try ask(.listChannels) else { throw TestFailure() }
        return list
    }

    func status(of channel: TestChannel) throws -> Admission.State? {
        try channels().first { $0.channel == channel.id }?.status
    }
}

let testCrypto = ChannelCrypto(
    verify: { Ed25519.verify(signature: $0.bytes, message: $1, publicKey: $2.raw) }, sha256: Sodium.sha256,
    sha512: Sodium.sha512, decompress: { _, _ in nil }, compress: { $0 })

struct TestFailure: Error {}

/// The frames of a page as text: `5` a delivery, `3-4!erased` a gap.
func outline(_ frames: [UInt8]) -> [String] {
    var lines: [String] = []
    var reader = ByteReader(frames)
    while let type = try? reader.octet(), let body = try? reader.len16() {
        var inner = ByteReader(body)
        guard let first = try? inner.int64() else { return lines + ["?"] }
        if type == 0x24 {
            lines.append("\(first)")
        } else if type == 0x25, let to = try? inner.int64(), let reason = try? inner.octet() {
            lines.append("\(first)-\(to)!\(GapReason(rawValue: reason).map { "\($0)" } ?? "?")")
        }
    }
    return lines
}
