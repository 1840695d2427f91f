import ChannelWire
import ClientCore
import Testing

/// Signatures without cryptography: a signature by a key over a message is the key's first byte, repeated,
/// and the sum of the message. Enough to tell right from wrong, and Core's tests need no library.
private enum Toy {
    static func key(_ n: UInt8) -> PublicKey { PublicKey(raw: [UInt8](repeating: n, count: 32))! }

    static func sign(_ message: [UInt8], _ key: PublicKey) -> Signature {
        let sum = message.reduce(UInt64(14_695_981_039_346_656_037)) {
            ($0 ^ UInt64($1)) &* 1_099_511_628_211
        }
        let tail = (0..<8).map { UInt8(truncatingIfNeeded: sum >> (8 * $0)) }
        return Signature(bytes: [UInt8](repeating: key.raw[0], count: 56) + tail)!
    }

    static func verify(_ signature: Signature, _ message: [UInt8], _ key: PublicKey) -> Bool {
        signature == sign(message, key)
    }
}

@Suite("What a reader takes from a relay")
struct MessageAdmissionTests {
    static let channel = ChannelID(bytes: [UInt8](repeating: 9, count: 32))!
    static let otherChannel = ChannelID(bytes: [UInt8](repeating: 8, count: 32))!
    static let owner = MemberID(bytes: [1])!
    static let relay = MemberID(bytes: [2])!
    static let observer = MemberID(bytes: [3])!
    static let stranger = MemberID(bytes: [4])!
    static let messageID = MessageID(bytes: [7])!
    static let profile = GroupProfile(
        displayName: "news", publicGroup: PublicGroup(groupLink: "", publicGroupID: channel))

    static func admission(signs: Bool = true, onlyOwnersPost: Bool = false) -> MessageAdmission {
        MessageAdmission(
            channel: channel, owners: [owner: Toy.key(1)], relays: [relay: Toy.key(2)], signsMessages: signs,
            onlyOwnersPost: onlyOwnersPost)
    }

    static func key(_ member: MemberID) -> PublicKey { Toy.key(member.bytes[0]) }

    static func judge(
        _ params: EventParams, by author: MemberID?, signed: Bool, keyOf signer: MemberID? = nil,
        in bound: ChannelID = channel, hasID: Bool = true, channelSigns: Bool = true,
        onlyOwnersPost: Bool = false, knowsObserver: Bool = false,
        roles: [MemberID: MessageAdmission.KnownMember] = [:], change: (([UInt8]) -> [UInt8])? = nil
    ) -> MessageAdmission.Verdict {
        let json = Event(messageID: hasID ? messageID : nil, params: params).encode()
        var inner = json
        if signed, let author {
            inner = Signing.element(json: json, channel: bound, member: author) {
                Toy.sign($0, key(signer ?? author))
            }
        }
        if let change { inner = change(inner) }
        let sender: ForwardElement.Sender = author.map { .member($0, name: "x") } ?? .channel
        return admission(signs: channelSigns, onlyOwnersPost: onlyOwnersPost).judge(
            ForwardElement(sender: sender, timestamp: 5, inner: inner),
            member: {
                roles[$0]
                    ?? ($0 == observer
                        ? .init(role: .observer, key: knowsObserver ? key(observer) : nil) : nil)
            }, verify: Toy.verify)
    }

    static func text(_ verdict: MessageAdmission.Verdict) -> String {
        switch verdict {
        case .take(let admitted): admitted.signature.rawValue
        case .ignore: "ignore"
        case .refuse(let refusal): refusal.rawValue
        }
    }

    static let post = EventParams.msgNew(MessageContainer(content: MessageContent(text: "hi")))
    static let asGroup = EventParams.msgNew(
        MessageContainer(content: MessageContent(text: "hi"), asGroup: true))
    static let update = EventParams.msgUpdate(
        MessageUpdate(messageID: messageID, content: MessageContent(text: "ho")))
    static let deletion = EventParams.msgDel(MessageDeletion(messageID: messageID))
    static let moderation = EventParams.msgDel(MessageDeletion(messageID: messageID, memberID: stranger))
    static let removal = EventParams.memDel(MemberDeletion(memberID: observer))

    @Test("a signed post of an owner is verified, and its bytes are kept as they are")
    func verified() throws {
        guard case .take(let admitted) = Self.judge(Self.post, by: Self.owner, signed: true) else {
            Issue.record("not taken")
            return
        }
        #expect(admitted.signature == .verified && admitted.role == .owner && admitted.author == Self.owner)
        #expect(admitted.time == 5 && admitted.messageID == Self.messageID)
        let element = try Element.decode(admitted.element)
        guard case .signed(let signed) = element else {
            Issue.record("the signature is gone")
            return
        }
        #expect(
            signed.check(channel: Self.channel, member: Self.owner, key: Toy.key(1), verify: Toy.verify)
                == .valid)
    }

    @Test("a signature by another key, for another channel, or over other bytes is refused")
    func badSignatures() {
        #expect(
            Self.text(Self.judge(Self.post, by: Self.owner, signed: true, keyOf: Self.relay))
                == "bad-signature")
        #expect(
            Self.text(Self.judge(Self.post, by: Self.owner, signed: true, in: Self.otherChannel))
                == "bad-signature")
        let changed = Self.judge(Self.post, by: Self.owner, signed: true) { bytes in
            var bytes = bytes
            bytes[bytes.count - 10] ^= 1
            return bytes
        }
        #expect(["bad-signature", "malformed-event"].contains(Self.text(changed)))
    }

    @Test(
        "what must be signed is refused unsigned, whoever is said to have written it",
        arguments: [true, false])
    func mustBeSigned(channelSigns: Bool) {
        for params in [EventParams.grpDel, .leave, .grpInfo(Self.profile), Self.removal] {
            let verdict = Self.judge(params, by: Self.owner, signed: false, channelSigns: channelSigns)
            #expect(Self.text(verdict) == "signature-required", "\(params.tag)")
        }
    }

    @Test("what is unsigned is refused where the channel signs, and plain where it does not")
    func unsigned() {
        for (params, author) in [
            (Self.post, Self.owner), (Self.update, Self.owner), (Self.deletion, Self.owner),
            (Self.asGroup, nil),
        ] {
            #expect(Self.text(Self.judge(params, by: author, signed: false)) == "signature-required")
            #expect(
                Self.text(Self.judge(params, by: author, signed: false, channelSigns: false)) == "unsigned")
        }
    }

    @Test("where the owners' roster is empty, nobody whom a relay brings writes, not even with a signature")
    func onlyOwners() {
        for (params, signed, signs) in [
            (Self.post, true, true), (Self.post, true, false), (Self.post, false, false),
            (Self.update, false, false), (Self.deletion, false, false), (Self.asGroup, true, true),
        ] {
            let verdict = Self.judge(
                params, by: Self.stranger, signed: signed, channelSigns: signs, onlyOwnersPost: true)
            #expect(Self.text(verdict) == "not-permitted", "\(params.tag)")
        }
        #expect(
            Self.text(Self.judge(Self.post, by: Self.owner, signed: true, onlyOwnersPost: true)) == "verified"
        )
    }

    @Test(
        "a binding that nobody can verify is refused, whoever is said to have signed", arguments: ["D", "C"])
    func bindings(letter: String) {
        for author in [Self.owner, Self.stranger] {
            let verdict = Self.judge(Self.post, by: author, signed: true) { bytes in
                var bytes = bytes
                bytes.replaceSubrange(1...1, with: letter.utf8)
                return bytes
            }
            #expect(Self.text(verdict) == "wrong-binding")
        }
    }

    @Test("an event with another name is not passed over when its signature is wrong")
    func renamedEvent() {
        let verdict = Self.judge(Self.post, by: Self.owner, signed: true) { bytes in
            let name = Array("x.msg.new".utf8)
            guard let at = bytes.firstRange(of: name) else { return bytes }
            var bytes = bytes
            bytes.replaceSubrange(at, with: "x.msg.now".utf8)
            return bytes
        }
        #expect(Self.text(verdict) == "bad-signature")
    }

    @Test("an unknown signer's edit or deletion is refused where the channel signs")
    func changesByStrangers() {
        for params in [Self.update, Self.deletion] {
            #expect(Self.text(Self.judge(params, by: Self.stranger, signed: true)) == "signature-required")
        }
    }

    @Test("a signature of somebody whose key is not known is taken as such for content, refused for the rest")
    func unknownKey() {
        #expect(Self.text(Self.judge(Self.post, by: Self.stranger, signed: true)) == "signedNoKey")
        #expect(Self.text(Self.judge(.leave, by: Self.stranger, signed: true)) == "signedNoKey")
        #expect(Self.text(Self.judge(.grpDel, by: Self.stranger, signed: true)) == "signature-required")
    }

    @Test("observers and relays do not post, and only owners write as the channel")
    func roles() {
        #expect(Self.text(Self.judge(Self.post, by: Self.observer, signed: true)) == "not-permitted")
        #expect(Self.text(Self.judge(Self.post, by: Self.relay, signed: true)) == "not-permitted")
        #expect(Self.text(Self.judge(Self.asGroup, by: Self.owner, signed: true)) == "verified")
        #expect(Self.text(Self.judge(Self.asGroup, by: Self.stranger, signed: true)) == "not-permitted")
    }

    @Test("only owners change and delete the channel, remove members and delete what others wrote")
    func ownersOnly() {
        for params in [Self.moderation, Self.removal, .grpDel, .grpInfo(Self.profile)] {
            #expect(
                Self.text(Self.judge(params, by: Self.owner, signed: true)) == "verified", "\(params.tag)")
            #expect(
                Self.text(Self.judge(params, by: Self.relay, signed: true)) == "not-permitted",
                "\(params.tag)")
        }
    }

    @Test("a profile that names another channel is refused, also from an owner")
    func otherChannelsProfile() {
        let profile = GroupProfile(
            displayName: "news", publicGroup: PublicGroup(groupLink: "", publicGroupID: Self.otherChannel))
        #expect(Self.text(Self.judge(.grpInfo(profile), by: Self.owner, signed: true)) == "not-permitted")
    }

    @Test("a relay's signed leave is taken, so that owners and readers learn of it")
    func relayLeaves() {
        #expect(Self.text(Self.judge(.leave, by: Self.relay, signed: true)) == "verified")
        #expect(
            Self.text(Self.judge(.leave, by: Self.relay, signed: true, keyOf: Self.owner)) == "bad-signature")
    }

    @Test("the channel as sender may only carry unsigned content that says so")
    func channelSender() {
        func text(_ params: EventParams, signs: Bool) -> String {
            Self.text(Self.judge(params, by: nil, signed: false, channelSigns: signs))
        }
        #expect(text(Self.asGroup, signs: false) == "unsigned")
        #expect(text(Self.post, signs: false) == "not-permitted")
        #expect(text(.grpDel, signs: false) == "signature-required")
        #expect(text(Self.asGroup, signs: true) == "signature-required")
    }

    @Test("the channel signs nothing: what has a signature and no name is refused, whoever made it")
    func signedChannel() {
        for signs in [true, false] {
            let verdict = Self.judge(Self.asGroup, by: nil, signed: false, channelSigns: signs) { json in
                Signing.element(json: json, channel: Self.channel, member: Self.owner) {
                    Toy.sign($0, Toy.key(1))
                }
            }
            #expect(Self.text(verdict) == "not-permitted")
        }
    }

    @Test("that somebody is a moderator is a relay's word: it takes away only what a known key signs")
    func moderators() {
        func text(_ params: EventParams, key: PublicKey?, signed: Bool) -> String {
            Self.text(
                Self.judge(
                    params, by: Self.stranger, signed: signed, channelSigns: false,
                    roles: [Self.stranger: .init(role: .moderator, key: key)]))
        }
        let other = EventParams.msgDel(MessageDeletion(messageID: Self.messageID, memberID: Self.observer))
        #expect(text(other, key: nil, signed: false) == "not-permitted")
        #expect(text(other, key: nil, signed: true) == "not-permitted")
        #expect(text(other, key: Self.key(Self.stranger), signed: true) == "verified")
        #expect(text(Self.removal, key: nil, signed: true) == "signature-required")
        #expect(text(Self.removal, key: Self.key(Self.stranger), signed: true) == "verified")
        for member in [Self.owner, Self.relay, Self.stranger] {
            let removal = EventParams.memDel(MemberDeletion(memberID: member))
            #expect(text(removal, key: Self.key(Self.stranger), signed: true) == "not-permitted")
        }
    }

    @Test(
        "no message id: not taken; events that nobody publishes: refused; later ones: passed over"
    )
    func ids() {
        #expect(
            Self.text(Self.judge(Self.post, by: Self.owner, signed: true, hasID: false))
                == "missing-message-id")
        #expect(Self.text(Self.judge(.ok, by: Self.owner, signed: true)) == "unsupported-event")
        let later = EventParams.other(
            tag: EventTag(rawValue: "x.msg.poem"), json: Array(#"{"event":"x.msg.poem","params":{}}"#.utf8))
        #expect(Self.text(Self.judge(later, by: Self.owner, signed: true)) == "ignore")
    }

    @Test("every prefix of a signed post is refused")
    func truncated() {
        let whole = Signing.element(
            json: Event(messageID: Self.messageID, params: Self.post).encode(), channel: Self.channel,
            member: Self.owner
        ) { Toy.sign($0, Toy.key(1)) }
        for count in 1..<whole.count {
            let verdict = Self.judge(Self.post, by: Self.owner, signed: true) { Array($0.prefix(count)) }
            // The header is 69 bytes, and what is signed begins with {.
            #expect(
                Self.text(verdict) == (count < 70 ? "malformed-event" : "bad-signature"), "\(count) bytes")
        }
    }
}
