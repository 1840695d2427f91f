import ChannelWire
import SodiumCrypto
import ZstdKit

/// The keys and ids of docs/protocol/vectors.md.
enum Fixture {
    static let rootPair = Ed25519.KeyPair(seed: [UInt8](repeating: 1, count: 32))
    static let ownerPair = Ed25519.KeyPair(seed: [UInt8](repeating: 2, count: 32))
    static let memberPair = Ed25519.KeyPair(seed: [UInt8](repeating: 3, count: 32))
    static let relayPair = Ed25519.KeyPair(seed: [UInt8](repeating: 4, count: 32))
    static let identityPair = Ed25519.KeyPair(seed: [UInt8](repeating: 5, count: 32))

    static let rootKey = PublicKey(raw: rootPair.publicKey)!
    static let ownerKey = PublicKey(raw: ownerPair.publicKey)!
    static let memberKey = PublicKey(raw: memberPair.publicKey)!
    static let relayKey = PublicKey(raw: relayPair.publicKey)!
    static let identity = PublicKey(raw: identityPair.publicKey)!

    static let channel = ChannelID(rootKey: rootKey, sha256: { Sodium.sha256($0) })
    static let owner = MemberID(random: Array(0x00...0x0b))
    static let member = MemberID(random: Array(0x0c...0x17))
    static let relay = MemberID(random: Array(0x18...0x23))
    static let message = MessageID(random: Array(0x00...0x0b))

    static let crypto = ChannelCrypto(
        verify: { Ed25519.verify(signature: $0.bytes, message: $1, publicKey: $2.raw) },
        sha256: { Sodium.sha256($0) }, sha512: { Sodium.sha512($0) },
        decompress: { Zstd.decompress($0, limit: $1) }, compress: { Zstd.compress($0) })

    static func sign(_ pair: Ed25519.KeyPair) -> ([UInt8]) -> Signature {
        { Signature(bytes: Ed25519.sign($0, with: pair))! }
    }

    static let host = AntennaLink.Host(
        endpoint: .init(host: "relay.example.com", port: AntennaLink.defaultPort), identity: identity)
    static let profile = GroupProfile(
        displayName: "news",
        publicGroup: PublicGroup(
            groupLink: AntennaLink.channel(channel, hosts: [host]).text(), publicGroupID: channel),
        preferences: GroupPreferences(signMessages: .on, history: .on))

    static let ownerAuth = OwnerAuth(owner: owner, key: ownerKey, sign: sign(rootPair))
    static let roster = Roster(entries: [.init(member: member, key: memberKey, role: .moderator)])

    static var content: ChannelRecord.Content {
        ChannelRecord.Content(
            rootKey: rootKey, version: 3, owners: [ownerAuth],
            relays: [
                .init(
                    member: relay, key: relayKey, identity: identity,
                    link: AntennaLink.relayChannel(key: relayKey, host: host).text())
            ],
            rosterVersion: 0, rosterDigest: Sodium.sha512(roster.blob()), memberCount: 2,
            profile: profile.encode())
    }
    static func record(_ content: ChannelRecord.Content = Fixture.content) -> ChannelRecord {
        ChannelRecord.make(content, signer: owner, sign: sign(ownerPair))!
    }

    static let roleChangeJSON = Array(
        (#"{"v":"9-19","msgId":"AQIDBA==","event":"x.grp.mem.role","params":{"memberId":"REEwT0R4QVJFaE1VRlJZWA=="#
            + #"","memberKey":"MCowBQYDK2VwAyEA7UkoxijRwsbq6QM4kFmVYSlZJzpcY_k2NsFGFKyHN9E=","role":"moderator","#
            + #""rosterVersion":1}}"#).utf8)
    static let hiJSON = Array(
        (#"{"v":"9-19","msgId":"BQYHCA==","event":"x.msg.new","params":{"content":{"text":"hi","type":"text"},"#
            + #""asGroup":true}}"#).utf8)
    static let timestamp: Int64 = 1_781_000_000

    static func signed(_ json: [UInt8]) -> [UInt8] {
        Signing.element(json: json, channel: channel, member: owner, sign: sign(ownerPair))
    }
}

func hex(_ bytes: some Sequence<UInt8>) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
}

func unhex(_ text: some StringProtocol) -> [UInt8]? {
    let digits = Array(text)
    guard digits.count % 2 == 0 else { return nil }
    var bytes: [UInt8] = []
    for index in stride(from: 0, to: digits.count, by: 2) {
        guard let byte = UInt8(String(digits[index...index + 1]), radix: 16) else { return nil }
        bytes.append(byte)
    }
    return bytes
}
