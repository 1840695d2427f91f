import ChannelWire
import SodiumCrypto
import TestKit
import Testing

@Suite("Channel record")
struct RecordTests {
    typealias Problem = VerifiedRecord.Problem

    private func problem(_ bytes: [UInt8], expected: ChannelID? = nil) -> Problem? {
        do throws(Problem) {
            _ = try VerifiedRecord(bytes, expected: expected, crypto: Fixture.crypto)
            return nil
        } catch { return error }
    }
    private func problem(
        of content: ChannelRecord.Content, signer: MemberID? = nil, by pair: Ed25519.KeyPair? = nil
    )
        -> Problem?
    {
        let record = ChannelRecord.make(content, signer: signer, sign: Fixture.sign(pair ?? Fixture.rootPair))
        return record.map { problem($0.bytes) } ?? .signer
    }

    @Test("a record signed by an owner or by the root key is verified, and keeps its bytes")
    func verified() throws {
        let record = Fixture.record()
        let verified = try VerifiedRecord(record.bytes, expected: Fixture.channel, crypto: Fixture.crypto)
        #expect(verified.channel == Fixture.channel)
        #expect(verified.bytes == record.bytes)
        #expect(verified.content == Fixture.content)
        #expect(verified.profile == Fixture.profile)
        #expect(verified.ownerKey(Fixture.owner) == Fixture.ownerKey)
        #expect(verified.relay(member: Fixture.relay)?.key == Fixture.relayKey)
        #expect(problem(of: Fixture.content) == nil)
    }

    @Test("a record decodes whole only; more bytes are read past but break the signature")
    func prefixes() throws {
        let record = Fixture.record()
        for length in 0..<record.bytes.count {
            #expect(problem(Array(record.bytes.prefix(length))) != nil)
        }
        #expect(try ChannelRecord.decode(record.bytes + [0]).content == record.content)
        #expect(problem(record.bytes + [0]) == .badSignature)
    }

    @Test("no byte of a record can be changed")
    func everyByte() {
        let record = Fixture.record().bytes
        for index in record.indices {
            var changed = record
            changed[index] ^= 1
            #expect(problem(changed, expected: Fixture.channel) != nil, "byte \(index)")
        }
    }

    @Test("trailing bytes that the author signed are ignored and kept")
    func signedTrailing() throws {
        let record = Fixture.record()
        let prefix = 1 + 65 + 1 + Fixture.owner.bytes.count
        let body = Array(record.bytes.dropFirst(prefix)) + Array("later".utf8)
        let signature = Fixture.sign(Fixture.ownerPair)(Array("antenna/1 channel record".utf8) + body)
        var writer = ByteWriter()
        writer.octet(1)
        writer.len8(signature.bytes)
        writer.len8(Fixture.owner.bytes)
        writer.raw(body)
        let verified = try VerifiedRecord(writer.bytes, expected: Fixture.channel, crypto: Fixture.crypto)
        #expect(verified.bytes == writer.bytes)
        #expect(verified.content == Fixture.content)
    }

    @Test("a relay's link of 2048 bytes is read in a record, one byte more is refused")
    func relayLinkLimit() {
        func record(linkBytes: Int) -> [UInt8] {
            var relay = ByteWriter()
            relay.len8(Fixture.relay.bytes)
            relay.len8(Fixture.relayKey.der)
            relay.len8(Fixture.identity.der)
            relay.text16(String(repeating: "a", count: linkBytes))
            var body = ByteWriter()
            body.len8(Fixture.rootKey.der)
            body.int64(1)
            body.octet(1)
            Fixture.ownerAuth.encode(into: &body)
            body.octet(1)
            body.len16(relay.bytes)
            body.int64(-1)
            body.len8([UInt8]())
            body.int64(0)
            body.len16(Fixture.profile.encode())
            var writer = ByteWriter()
            writer.octet(1)
            writer.len8(
                Fixture.sign(Fixture.rootPair)(Array("antenna/1 channel record".utf8) + body.bytes).bytes)
            writer.len8([UInt8]())
            writer.raw(body.bytes)
            return writer.bytes
        }
        #expect(problem(record(linkBytes: 2_048)) == nil)
        #expect(
            problem(record(linkBytes: 2_049)) == .undecodable(.tooLarge(limit: 2_048, have: 2_049)))
    }

    @Test("another channel's record is refused before its signature is looked at")
    func otherChannel() throws {
        let other = try #require(ChannelID(bytes: [UInt8](repeating: 1, count: 32)))
        #expect(problem(Fixture.record().bytes, expected: other) == .otherChannel)
    }

    @Test("an owners chain may pass through earlier owners, and nothing else")
    func chain() {
        var content = Fixture.content
        let second = OwnerAuth(
            owner: Fixture.member, key: Fixture.memberKey, sign: Fixture.sign(Fixture.ownerPair))
        content.owners = [Fixture.ownerAuth, second]
        #expect(problem(of: content, signer: Fixture.member, by: Fixture.memberPair) == nil)
        content.owners = [second, Fixture.ownerAuth]
        #expect(problem(of: content) == .ownersChain(.notAuthorised))
        content.owners = [Fixture.ownerAuth, Fixture.ownerAuth]
        #expect(problem(of: content) == .ownersChain(.repeated))
        content.owners = [
            Fixture.ownerAuth,
            OwnerAuth(owner: Fixture.owner, key: Fixture.memberKey, sign: Fixture.sign(Fixture.rootPair)),
        ]
        #expect(problem(of: content) == .ownersChain(.repeated), "whose key would the id mean?")
        content.owners = [
            Fixture.ownerAuth,
            OwnerAuth(owner: Fixture.member, key: Fixture.ownerKey, sign: Fixture.sign(Fixture.rootPair)),
        ]
        #expect(problem(of: content) == .ownersChain(.repeated))
        content.owners = [
            OwnerAuth(owner: Fixture.owner, key: Fixture.rootKey, sign: Fixture.sign(Fixture.rootPair))
        ]
        #expect(problem(of: content) == .ownersChain(.isRootKey))
        let selfMade = OwnerAuth(
            owner: Fixture.member, key: Fixture.memberKey, sign: Fixture.sign(Fixture.memberPair))
        content.owners = [selfMade]
        #expect(problem(of: content) == .ownersChain(.notAuthorised))
    }

    @Test("only the root key and the named owner may sign")
    func signers() {
        #expect(problem(of: Fixture.content, signer: Fixture.member, by: Fixture.memberPair) == .signer)
        #expect(problem(of: Fixture.content, signer: Fixture.owner, by: Fixture.rootPair) == .badSignature)
        #expect(problem(of: Fixture.content, signer: nil, by: Fixture.ownerPair) == .badSignature)
    }

    @Test("the profile must be that of this channel")
    func profiles() throws {
        var content = Fixture.content
        var profile = Fixture.profile
        profile.publicGroup?.publicGroupID = try #require(ChannelID(bytes: [UInt8](repeating: 1, count: 32)))
        content.profile = profile.encode()
        #expect(problem(of: content) == .profile)
        profile.publicGroup = nil
        content.profile = profile.encode()
        #expect(problem(of: content) == .profile)
        content.profile = Array("{}".utf8)
        #expect(problem(of: content) == .profile)
    }

    @Test("a record of 13784 bytes is made and read, one byte more is neither")
    func sizeLimit() throws {
        var content = Fixture.content
        var profile = Fixture.profile
        profile.description = ""
        content.profile = profile.encode()
        let room = Limits.channelRecordMax - Fixture.record(content).bytes.count
        profile.description = String(repeating: "a", count: room)
        content.profile = profile.encode()
        let record = try #require(
            ChannelRecord.make(content, signer: Fixture.owner, sign: Fixture.sign(Fixture.ownerPair)))
        #expect(record.bytes.count == Limits.channelRecordMax)
        #expect(problem(record.bytes) == nil)
        #expect(problem(record.bytes + [0]) == .undecodable(.tooLarge(limit: 13_784, have: 13_785)))
        profile.description?.append("a")
        content.profile = profile.encode()
        let tooLarge = ChannelRecord.make(
            content, signer: Fixture.owner, sign: Fixture.sign(Fixture.ownerPair))
        #expect(tooLarge?.bytes.count == nil)
    }

    @Test("16 owners and 16 relays fit, 17 do not, nor do none")
    func counts() throws {
        func id(_ index: Int) -> MemberID { MemberID(bytes: [UInt8(index)])! }
        func key(_ index: Int) -> PublicKey {
            PublicKey(
                raw: Ed25519.KeyPair(seed: [UInt8](repeating: UInt8(100 + index), count: 32)).publicKey)!
        }
        var content = Fixture.content
        let owners = (0..<17).map {
            OwnerAuth(owner: id($0), key: key($0), sign: Fixture.sign(Fixture.rootPair))
        }
        content.owners = Array(owners.prefix(16))
        #expect(problem(of: content) == nil)
        content.owners = owners
        #expect(problem(of: content) == .signer)
        content.owners = []
        #expect(problem(of: content) == .signer)
        content = Fixture.content
        let relays = (0..<17).map {
            ChannelRecord.Relay(member: id($0), key: key($0), identity: Fixture.identity, link: "x")
        }
        content.relays = Array(relays.prefix(16))
        #expect(problem(of: content) == nil)
        content.relays = relays
        #expect(problem(of: content) == .signer)
        content.relays = []
        #expect(problem(of: content) == nil)
        content.relays = [relays[0], relays[0]]
        #expect(problem(of: content) != nil)
    }

    @Test("versions start at 1, and a roster version goes with a digest")
    func versions() {
        func changed(_ change: (inout ChannelRecord.Content) -> Void) -> Problem? {
            var content = Fixture.content
            change(&content)
            return problem(of: content)
        }
        #expect(changed { $0.version = 1 } == nil)
        #expect(changed { $0.version = .max } == nil)
        #expect(changed { $0.version = 0 } != nil)
        #expect(changed { $0.memberCount = -1 } != nil)
        #expect(changed { $0.rosterVersion = -1 } != nil)
        #expect(changed { ($0.rosterVersion, $0.rosterDigest) = (-1, []) } == nil)
        #expect(changed { $0.rosterDigest = [] } != nil)
        #expect(changed { $0.rosterDigest.removeLast() } != nil)
    }

    @Test("of two records the higher version counts; the same version with other bytes is a conflict")
    func comparison() throws {
        func verified(_ version: Int64, _ members: Int64) throws -> VerifiedRecord {
            var content = Fixture.content
            (content.version, content.memberCount) = (version, members)
            return try VerifiedRecord(Fixture.record(content).bytes, expected: nil, crypto: Fixture.crypto)
        }
        let held = try verified(3, 2)
        #expect(try verified(4, 2).compared(to: held) == .newer)
        #expect(try verified(3, 2).compared(to: held) == .same)
        #expect(try verified(3, 9).compared(to: held) == .conflict)
        #expect(try verified(2, 2).compared(to: held) == .stale)
    }
}
