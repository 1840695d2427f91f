import ChannelWire
import SodiumCrypto
import Testing

/// Byte vectors that were computed outside this project from the rules of SimpleX channels.
@Suite("Vectors of the channel layer")
struct VectorTests {
    @Test("V1, V2: keys from fixed seeds, and their JSON text")
    func keys() {
        #expect(
            hex(Fixture.rootKey.raw) == "8a88e3dd7409f195fd52db2d3cba5d72ca6709bf1d94121bf3748801b40f6f5c")
        #expect(
            hex(Fixture.ownerKey.raw) == "8139770ea87d175f56a35466c34c7ecccb8d8a91b4ee37a25df60f5b8fc9b394")
        #expect(
            hex(Fixture.memberKey.raw) == "ed4928c628d1c2c6eae90338905995612959273a5c63f93636c14614ac8737d1")
        #expect(Fixture.ownerKey.text == "MCowBQYDK2VwAyEAgTl3Dqh9F19Wo1Rmw0x-zMuNipG07jeiXfYPW4_Js5Q=")
        #expect(Fixture.memberKey.text == "MCowBQYDK2VwAyEA7UkoxijRwsbq6QM4kFmVYSlZJzpcY_k2NsFGFKyHN9E=")
        #expect(PublicKey(text: Fixture.ownerKey.text) == Fixture.ownerKey)
    }
    @Test("V3: a channel's id is the hash of its root key")
    func channelID() {
        #expect(
            hex(Fixture.channel.bytes) == "34750f98bd59fcfc946da45aaabe933be154a4b5094e1c4abf42866505f3c97e")
        #expect(Fixture.channel.text == "NHUPmL1Z_PyUbaRaqr6TO-FUpLUJThxKv0KGZQXzyX4=")
    }
    @Test("V4: member ids are 16 characters, encoded once more in JSON")
    func memberIDs() {
        #expect(Fixture.owner.bytes == Array("AAECAwQFBgcICQoL".utf8))
        #expect(Fixture.owner.text == "QUFFQ0F3UUZCZ2NJQ1FvTA==")
        #expect(Fixture.member.bytes == Array("DA0ODxAREhMUFRYX".utf8))
        #expect(Fixture.member.text == "REEwT0R4QVJFaE1VRlJZWA==")
        #expect(MemberID(text: Fixture.member.text) == Fixture.member)
    }
    @Test("V5: the signature input and the signed element")
    func signature() throws {
        let input = Signing.input(channel: Fixture.channel, member: Fixture.owner, json: [])
        #expect(
            hex(input)
                == "472034750f98bd59fcfc946da45aaabe933be154a4b5094e1c4abf42866505f3c97e1041414543417751464267"
                + "634943516f4c")
        let element = Fixture.signed(Fixture.roleChangeJSON)
        #expect(hex(element.prefix(5)) == "2f47014d40")
        #expect(
            hex(element[5..<69])
                == "df916e3c25ace6fdb294b269c49b4a05676ff8dcb13400c1d5d3e8b38c38e64f642b8ba9ad17923b6a"
                + "031e57d1ac87cde9de8268535b2871b6e006d0cf4b250c")
        #expect(element.count == 286)
        #expect(
            hex(Sodium.sha256(element)) == "f75054a53acab2aefb512e43aaebe197a5a5edf41ced24e4f2508168bd82d873")
        guard case .signed(let decoded) = try Element.decode(element) else {
            Issue.record("not a signed element")
            return
        }
        #expect(decoded.json == Fixture.roleChangeJSON)
        #expect(
            decoded.check(
                channel: Fixture.channel, member: Fixture.owner, key: Fixture.ownerKey,
                verify: Fixture.crypto.verify)
                == .valid)
    }
    @Test("V6: forward headers")
    func forward() {
        let byMember = ForwardElement(
            sender: .member(Fixture.owner, name: "alice"), timestamp: Fixture.timestamp, inner: Fixture.hiJSON
        )
        #expect(
            hex(byMember.bytes.dropLast(Fixture.hiJSON.count))
                == "3e4d1041414543417751464267634943516f4c05616c696365000000006a27e740")
        let byChannel = ForwardElement(sender: .channel, timestamp: Fixture.timestamp, inner: Fixture.hiJSON)
        #expect(hex(byChannel.bytes.dropLast(Fixture.hiJSON.count)) == "3e43000000006a27e740")
    }
    @Test("V7: a batch of two")
    func batch() throws {
        let elements = [
            ForwardElement(
                sender: .member(Fixture.owner, name: "alice"), timestamp: Fixture.timestamp,
                inner: Fixture.signed(Fixture.roleChangeJSON)
            ).bytes,
            ForwardElement(sender: .channel, timestamp: Fixture.timestamp, inner: Fixture.hiJSON).bytes,
        ]
        let batch = Body.encodeBatch(elements)
        #expect(batch.count == 450)
        #expect(hex(batch.prefix(6)) == "3d02013f3e4d")
        #expect(
            hex(Sodium.sha256(batch)) == "8499d18285cd3fc8653356374dde14fbffe7ca84b443e730b2201286c8c540f8")
        let decoded = try Body.decode(batch, crypto: Fixture.crypto)
        #expect(try decoded.map { try $0.get().bytes } == elements)
    }
    @Test("V8: an owner's authorisation")
    func ownerAuth() throws {
        var writer = ByteWriter()
        Fixture.ownerAuth.encode(into: &writer)
        #expect(
            hex(writer.bytes)
                == "7f1041414543417751464267634943516f4c2c302a300506032b65700321008139770ea87d175f56a354"
                + "66c34c7ecccb8d8a91b4ee37a25df60f5b8fc9b39440723eb5ca8b700eec6d546cbad3662738724e94149a97c63080b0abbf"
                + "248d495622a9f7577f1852eb96c4025d824f7ca6d7d05bbfbb7786628a21281bd5c5080b")
        var reader = ByteReader(writer.bytes)
        #expect(try OwnerAuth.decode(from: &reader) == Fixture.ownerAuth)
    }
    @Test("V10: a roster with one moderator, and an empty one")
    func roster() {
        #expect(
            hex(Fixture.roster.blob())
                == "0001104441304f4478415245684d55465259582c302a300506032b6570032100ed4928c628d1"
                + "c2c6eae90338905995612959273a5c63f93636c14614ac8737d1096d6f64657261746f720000")
        #expect(
            Base64URL.encode(Sodium.sha512(Fixture.roster.blob()))
                == "O8dNlS9ZRhH_NTbO47BfT6EqRpTz7gV0DzfBnBDrS596OPVSfxycnHnoEepAsEajwLSjvNUR_huDxdFt2Bw6bQ==")
        #expect(Roster().blob() == [0, 0])
        #expect(
            Base64URL.encode(Sodium.sha512([0, 0]))
                == "XqcdxtC09Xvzmq3QfCCMNfBs0rrF_eIQOX9w3hHUOcYuwc3zGDdYhl_Th_zqC62i9sN6SheFHdHXj-_m8gTuVA==")
    }
    @Test("V11: a file chunk")
    func chunk() {
        let chunk = FileChunk(message: Fixture.message, number: 1, data: Array("roster-bytes".utf8))
        #expect(hex(chunk.bytes) == "46001041414543417751464267634943516f4c01726f737465722d6279746573")
    }
    @Test("V12: compressed bodies, carried as they are and as one zstd frame")
    func compressed() throws {
        let ok = Array(#"{"event":"x.ok","params":{}}"#.utf8)
        #expect(
            hex(CompressedBody.encode(ok, compress: Fixture.crypto.compress))
                == "5801301c7b226576656e74223a22782e6f6b222c22706172616d73223a7b7d7d")
        let frame = try #require(unhex("580131001328b52ffd6090004d000010616101008b2ac002"))
        let blocks = try CompressedBody.decode(frame, decompress: Fixture.crypto.decompress)
        #expect(blocks == [[UInt8](repeating: UInt8(ascii: "a"), count: 400)])
    }
}
