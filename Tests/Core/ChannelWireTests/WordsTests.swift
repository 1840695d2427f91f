import ChannelWire
import Testing

@Suite("Roles, statuses, tags and names")
struct WordsTests {
    @Test("roles rise from unknown texts to owner")
    func roles() {
        let rising = ["commenter", "relay", "observer", "author", "member", "moderator", "admin", "owner"]
            .map(Role.init(text:))
        for (lower, higher) in zip(rising, rising.dropFirst()) { #expect(lower < higher) }
        #expect(rising.map(\.rank) == Array(0...7))
        #expect(rising.filter(\.mayPost).map(\.text) == ["author", "member", "moderator", "admin", "owner"])
        #expect(rising.filter(\.isRosterRole).map(\.text) == ["member", "moderator", "admin"])
        #expect(Role(text: "Owner").rank == 0)
        #expect(Role(text: "a") < Role(text: "b") && Role(text: "zzz") < .relay)
    }

    @Test("member statuses rise in the order of the protocol")
    func memberStatuses() {
        let texts = [
            "rejected", "removed", "left", "deleted", "unknown", "invited", "pending_approval",
            "pending_review",
            "introduced", "intro-inv", "accepted", "announced", "connected", "complete", "creator",
        ]
        #expect(MemberStatus.allCases.map(\.text) == texts)
        #expect(MemberStatus.allCases.sorted() == MemberStatus.allCases)
        #expect(MemberStatus.allCases.filter(\.isCurrent).first == .introduced)
        #expect(MemberStatus.allCases.filter(\.isActive) == [.connected, .complete, .creator])
        #expect(MemberStatus(text: "Left") == nil)
    }

    @Test("a relay's status has seven texts, one of them other in JSON")
    func relayStatuses() {
        #expect(
            RelayStatus.allCases.map(\.rawValue)
                == ["new", "invited", "accepted", "acknowledged_roster", "active", "inactive", "rejected"])
        #expect(
            RelayStatus.allCases.map(\.apiText)
                == ["new", "invited", "accepted", "acknowledgedRoster", "active", "inactive", "rejected"])
        #expect(RelayStatus.allCases.filter(\.isServing) == [.accepted, .acknowledgedRoster, .active])
    }

    @Test(
        "what must be signed, what may be, and what is published",
        arguments: [
            ("x.msg.new", false, true, true), ("x.msg.update", false, true, true),
            ("x.msg.del", false, true, true),
            ("x.msg.react", false, false, true), ("x.info", true, false, true),
            ("x.grp.info", true, false, true),
            ("x.grp.prefs", true, false, true), ("x.grp.mem.del", true, false, true),
            ("x.grp.leave", true, false, true), ("x.grp.del", true, false, true),
            ("x.grp.mem.role", true, false, false),
            ("x.grp.mem.restrict", true, false, false), ("x.grp.relay.new", true, false, false),
            ("x.grp.roster", true, false, false), ("x.grp.relay.inv", true, false, false),
            ("x.member", true, false, false), ("x.grp.relay.acpt", false, false, false),
            ("x.grp.relay.reject", false, false, false), ("x.grp.roster.ack", false, false, false),
            ("x.grp.mem.new", false, false, false), ("x.ok", false, false, false),
            ("x.new", false, false, false),
        ])
    func tags(name: String, mustBeSigned: Bool, mayBeSigned: Bool, isPublishable: Bool) {
        let tag = EventTag(rawValue: name)
        #expect(tag.mustBeSigned == mustBeSigned)
        #expect(tag.mayBeSigned == mayBeSigned)
        #expect(tag.isPublishable == isPublishable)
        if isPublishable { #expect(tag.isForwardable) }
    }

    @Test(
        "names that are fine",
        arguments: [
            "a", "news", "Δημόσια νέα", "📡 Antenna", String(repeating: "a", count: 64),
            String(repeating: "é", count: 64),
        ])
    func goodNames(name: String) { #expect(DisplayName.problem(name) == nil) }

    @Test(
        "names that are not",
        arguments: [
            "", " ", "\u{3000}\t", "a\nb", "a\u{0}", "a\u{7f}", "a\u{85}", "a\u{2028}b", "a\u{202e}b",
            "a\u{1b}[31m",
            String(repeating: "a", count: 65),
            // Few characters, too many bytes.
            String(repeating: "👨‍👩‍👧‍👦", count: 11), "a" + String(repeating: "\u{301}", count: 128),
        ])
    func badNames(name: String) { #expect(throws: WireError.self) { try DisplayName.validate(name) } }

    @Test("no mark that turns text around and no separator of lines or paragraphs is in a name")
    func marks() throws {
        for value in Array(0x2028...0x202e) + Array(0x2066...0x2069) {
            let mark = String(Character(try #require(Unicode.Scalar(value))))
            #expect(DisplayName.problem("a\(mark)b") != nil, "\(String(value, radix: 16))")
        }
    }

    @Test("base64url whose last bits are not zero is another text for the same bytes, and refused")
    func canonicalBase64() {
        for (text, bytes) in [("AQ", [1]), ("AQI", [1, 2]), ("AQID", [1, 2, 3]), ("AQ==", [1])] {
            #expect(Base64URL.decode(text) == bytes.map { UInt8($0) })
        }
        for text in ["AR", "Af", "AR==", "AQJ", "AQL", "AQJ="] { #expect(Base64URL.decode(text) == nil) }
    }

    @Test("every error has its own number, name and sentence")
    func errors() {
        let all = LinkErrorCode.allCases
        #expect(Set(all.map(\.name)).count == all.count)
        #expect(Set(all.map(\.sentence)).count == all.count)
        #expect(
            all.allSatisfy { $0.sentence.hasSuffix(".") && $0.sentence.utf8.count <= Limits.errorTextMax })
    }
}

@Suite("Signatures of an element")
struct SignatureTests {
    @Test(
        "another author, channel, key, binding or byte is not valid, nor is a second signature that is wrong")
    func checks() throws {
        let bytes = Fixture.signed(Fixture.hiJSON)
        func check(
            _ bytes: [UInt8], by member: MemberID = Fixture.owner, _ key: PublicKey = Fixture.ownerKey,
            in channel: ChannelID = Fixture.channel
        ) throws -> SignedElement.Check {
            try SignedElement(bytes).check(
                channel: channel, member: member, key: key, verify: Fixture.crypto.verify)
        }
        #expect(try check(bytes) == .valid)
        #expect(try check(bytes, by: Fixture.member) == .invalid)
        #expect(try check(bytes, Fixture.memberKey) == .invalid)
        let other = try #require(ChannelID(bytes: [UInt8](repeating: 9, count: 32)))
        #expect(try check(bytes, in: other) == .invalid)
        var changed = bytes
        changed[changed.count - 1] = UInt8(ascii: " ")
        #expect(try check(changed) == .invalid)
        for binding in ["D", "C"] {
            var other = bytes
            other.replaceSubrange(1...1, with: binding.utf8)
            #expect(try check(other) == .wrongBinding)
        }
        var two = bytes
        two[2] = 2
        two.insert(contentsOf: [UInt8(ascii: "M"), 0x40] + [UInt8](repeating: 1, count: 64), at: 69)
        #expect(try check(two) == .invalid)
    }
}
