import ChannelWire
import SodiumCrypto

/// What docs/protocol/vectors.md must say, computed by our code.
enum VectorFile {
    struct Entry {
        let name: String
        let value: String
        var comment: String?
    }
    private static func bytes(_ name: String, _ bytes: [UInt8], _ comment: String? = nil) -> Entry {
        Entry(name: name, value: hex(bytes), comment: comment)
    }
    private static func text(_ name: String, _ text: String, _ comment: String? = nil) -> Entry {
        Entry(name: name, value: "\"\(text)\"", comment: comment)
    }
    private static func text(_ name: String, _ utf8: [UInt8], _ comment: String? = nil) -> Entry {
        text(name, String(decoding: utf8, as: UTF8.self), comment)
    }

    static var sections: [String: [Entry]] {
        [
            "Keys and ids": keys, "Links": links, "Owner authorisation": ownerAuth, "Channel record": record,
            "Signed element": signed, "Forward elements and a batch": forward, "Roster": roster,
            "Compressed body": compressed, "Proofs of key": proofs, "Frames": frames,
        ]
    }

    private static var keys: [Entry] {
        let pairs = [
            ("root", 1, Fixture.rootKey), ("owner", 2, Fixture.ownerKey), ("member", 3, Fixture.memberKey),
            ("relay", 4, Fixture.relayKey), ("identity", 5, Fixture.identity),
        ]
        return pairs.flatMap { name, seed, key in
            [
                bytes("\(name).seed", [UInt8](repeating: UInt8(seed), count: 32)),
                bytes("\(name).public", key.raw),
            ]
        } + [
            bytes("owner.der", Fixture.ownerKey.der), text("owner.text", Fixture.ownerKey.text),
            bytes("channel.id", Fixture.channel.bytes), text("channel.text", Fixture.channel.text),
            text("owner.id", Fixture.owner.bytes), text("owner.id.text", Fixture.owner.text),
            text("member.id", Fixture.member.bytes), text("member.id.text", Fixture.member.text),
            text("relay.id", Fixture.relay.bytes), text("relay.id.text", Fixture.relay.text),
            text("message.id", Fixture.message.bytes), text("message.id.text", Fixture.message.text),
        ]
    }

    private static var links: [Entry] {
        let other = AntennaLink.Host(
            endpoint: .init(host: "2001:db8::1", port: 443), identity: Fixture.identity)
        let channel = AntennaLink.channel(Fixture.channel, hosts: [Fixture.host])
        let two = AntennaLink.channel(Fixture.channel, hosts: [Fixture.host, other])
        let place = AntennaLink.relayChannel(key: Fixture.relayKey, host: Fixture.host)
        let address = AntennaLink.relayAddress(identity: Fixture.identity, hosts: [other.endpoint])
        return [
            text("link.channel.https", channel.text(.https)),
            text("link.channel.antenna", channel.text(.antenna)),
            text(
                "link.channel.two.https", two.text(.https), "two hosts, ports 5280 and 443, one identity key"),
            text("link.channel.two.antenna", two.text(.antenna)),
            text("link.relay-in-channel", place.text(.https)),
            text("link.relay-address.https", address.text(.https)),
            text("link.relay-address.antenna", address.text(.antenna)),
        ]
    }

    private static var ownerAuth: [Entry] {
        var writer = ByteWriter()
        Fixture.ownerAuth.encode(into: &writer)
        return [
            bytes("owner-auth.signed", OwnerAuth.input(owner: Fixture.owner, key: Fixture.ownerKey)),
            bytes("owner-auth.signature", Fixture.ownerAuth.signature.bytes, "by the root key"),
            bytes("owner-auth", writer.bytes, "with its length byte"),
        ]
    }

    private static var record: [Entry] {
        let record = Fixture.record()
        return [
            text("record.profile", Fixture.profile.encode()),
            bytes("record.signature", record.signature.bytes, "by the owner"),
            bytes("record", record.bytes),
            bytes("record.sha256", Sodium.sha256(record.bytes)),
        ]
    }

    private static var signed: [Entry] {
        let element = Fixture.signed(Fixture.roleChangeJSON)
        return [
            text("signed.json", Fixture.roleChangeJSON),
            bytes(
                "signed.prefix", Signing.input(channel: Fixture.channel, member: Fixture.owner, json: []),
                "what stands before the JSON in the bytes that are signed"),
            bytes("signed.signature", Array(element[5..<69]), "by the owner"),
            bytes("signed.element", element),
        ]
    }

    private static var forward: [Entry] {
        let byMember = ForwardElement(
            sender: .member(Fixture.owner, name: "alice"), timestamp: Fixture.timestamp,
            inner: Fixture.signed(Fixture.roleChangeJSON)
        ).bytes
        let byChannel = ForwardElement(sender: .channel, timestamp: Fixture.timestamp, inner: Fixture.hiJSON)
            .bytes
        return [
            bytes("forward.member.header", Array(byMember.prefix(33)), "name alice, time 1781000000"),
            bytes("forward.channel.header", Array(byChannel.prefix(10))),
            text("forward.channel.json", Fixture.hiJSON),
            bytes(
                "batch", Body.encodeBatch([byMember, byChannel]),
                "signed.element forwarded for the member, then forward.channel.json for the channel"),
        ]
    }

    private static var roster: [Entry] {
        let blob = Fixture.roster.blob()
        let header = Event(
            messageID: Fixture.message,
            params: .roster(
                RosterHeader(version: 0, fileSize: Int64(blob.count), fileDigest: Sodium.sha512(blob)))
        ).encode()
        let chunk = Roster.chunks(of: blob, message: Fixture.message)[0].bytes
        return [
            bytes("roster.blob", blob, "member as moderator"), bytes("roster.digest", Sodium.sha512(blob)),
            bytes("roster.empty.blob", Roster().blob()),
            bytes("roster.empty.digest", Sodium.sha512(Roster().blob())),
            text("roster.header.json", header), bytes("roster.header.element", Fixture.signed(header)),
            bytes("roster.chunk", chunk, "number 1"),
            bytes(
                "roster.body", Body.encodeBatch([Fixture.signed(header), chunk]), "body of a DIRECT frame"),
        ]
    }

    /// Any zstd frame with its content size will do; this one decodes to 400 times `a`.
    static let zstdBody = "580131001328b52ffd6090004d000010616101008b2ac002"
    private static var compressed: [Entry] {
        let ok = Array(#"{"event":"x.ok","params":{}}"#.utf8)
        return [
            text("compressed.small.data", ok),
            bytes("compressed.small", CompressedBody.encode(ok, compress: Fixture.crypto.compress)),
            Entry(name: "compressed.zstd", value: zstdBody, comment: "decodes to 400 bytes 61"),
        ]
    }

    static let handshakeHash = [UInt8](repeating: 7, count: 64)
    static let controlProof = Fixture.sign(Fixture.ownerPair)(
        ProofOfKey.control.input(
            handshakeHash: handshakeHash, channel: Fixture.channel, member: Fixture.owner))
    static let attachProof = Fixture.sign(Fixture.memberPair)(
        ProofOfKey.attach.input(
            handshakeHash: handshakeHash, channel: Fixture.channel, member: Fixture.member))
    private static var proofs: [Entry] {
        [
            bytes("handshake.hash", handshakeHash),
            bytes(
                "control.signed",
                ProofOfKey.control.input(
                    handshakeHash: handshakeHash, channel: Fixture.channel, member: Fixture.owner)),
            bytes("control.signature", controlProof.bytes, "by the owner"),
            bytes(
                "attach.signed",
                ProofOfKey.attach.input(
                    handshakeHash: handshakeHash, channel: Fixture.channel, member: Fixture.member)),
            bytes("attach.signature", attachProof.bytes, "by the member"),
        ]
    }
}
