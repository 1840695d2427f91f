import ChannelWire
import RelayCore
import Testing

@Suite("Membership")
struct MembershipTests {
    static let relay = MemberID(bytes: Array("relay".utf8))!
    static let bob = MemberID(bytes: Array("bob".utf8))!
    static let key = PublicKey(raw: [UInt8](repeating: 1, count: 32))!
    static let otherKey = PublicKey(raw: [UInt8](repeating: 2, count: 32))!

    static func join(
        key: PublicKey = key, name: String = "bob", via: MemberID? = relay, known: Membership.Known? = nil,
        pinned: Membership.Pinned? = nil, count: Int64 = 0, id: MemberID = bob
    ) -> Membership.JoinAnswer {
        Membership.join(
            Membership.Join(id: id, key: key, displayName: name, viaRelay: via), relay: relay, known: known,
            pinned: pinned, memberCount: count, memberMax: 10)
    }

    @Test("a new member is an observer")
    func new() {
        #expect(MembershipTests.join() == .admit(.observer))
    }

    @Test("the same member again is answered as before, also in a full channel")
    func again() {
        let known = Membership.Known(key: MembershipTests.key, role: .moderator, state: .current)
        #expect(MembershipTests.join(known: known, count: 10) == .again(.moderator))
    }

    @Test("an id belongs to its first key: 36")
    func otherKey() {
        for state in Membership.State.allCases {
            let known = Membership.Known(key: MembershipTests.otherKey, role: .observer, state: state)
            #expect(MembershipTests.join(known: known) == .refuse(.memberKeyMismatch))
        }
        let pinned = Membership.Pinned(key: MembershipTests.otherKey, role: .moderator)
        #expect(MembershipTests.join(pinned: pinned) == .refuse(.memberKeyMismatch))
    }

    @Test(
        "who left or was removed comes back only under a new id: 33",
        arguments: [Membership.State.left, .removed])
    func ended(state: Membership.State) {
        let known = Membership.Known(key: MembershipTests.key, role: .observer, state: state)
        #expect(MembershipTests.join(known: known) == .refuse(.memberRemoved))
    }

    @Test("a pinned key brings its role")
    func pinned() {
        let pinned = Membership.Pinned(key: MembershipTests.key, role: .moderator)
        #expect(MembershipTests.join(pinned: pinned) == .admit(.moderator))
    }

    @Test("a join for another relay, or for none, is 34")
    func via() {
        #expect(MembershipTests.join(via: nil) == .refuse(.joinRefused))
        #expect(MembershipTests.join(via: MembershipTests.bob) == .refuse(.joinRefused))
    }

    @Test("nobody joins under the relay's own id")
    func asRelay() {
        #expect(MembershipTests.join(id: MembershipTests.relay) == .refuse(.memberKeyMismatch))
    }

    @Test(
        "a name that may not be shown is 34",
        arguments: ["", " ", "a\u{7}b", String(repeating: "x", count: 65)])
    func names(name: String) {
        #expect(MembershipTests.join(name: name) == .refuse(.joinRefused))
    }

    @Test("one member below the limit is admitted, one at it is 35")
    func full() {
        #expect(MembershipTests.join(count: 9) == .admit(.observer))
        #expect(MembershipTests.join(count: 10) == .refuse(.channelFull))
    }
}

@Suite("Invitation check")
struct InvitationCheckTests {
    static let channel = ChannelID(bytes: [UInt8](repeating: 7, count: 32))!
    static let other = ChannelID(bytes: [UInt8](repeating: 8, count: 32))!
    static let alice = MemberID(bytes: Array("alice".utf8))!
    static let carol = MemberID(bytes: Array("carol".utf8))!
    static let relay = MemberID(bytes: Array("relay".utf8))!

    static func check(
        owner: MemberID = alice, relay: MemberID = relay, linked: ChannelID? = channel, signed: Bool = true,
        linkOwner: MemberID = alice, owners: [MemberID] = [alice], isMember: Bool = false
    ) -> InvitationCheck.Answer {
        InvitationCheck.check(
            InvitationCheck.Invitation(
                owner: owner, relayMember: relay, linkedChannel: linked, isSigned: signed),
            channel: channel, linkOwner: linkOwner, owners: owners, isMember: isMember)
    }

    @Test("an invitation by the owner of the link for this channel fits")
    func fits() {
        #expect(InvitationCheckTests.check() == .fits)
    }

    @Test("who is not an owner, or speaks for another one, is turned away")
    func notOwner() {
        #expect(InvitationCheckTests.check(owners: [InvitationCheckTests.carol]) == .reject(.notOwner))
        #expect(
            InvitationCheckTests.check(
                owner: InvitationCheckTests.carol,
                owners: [InvitationCheckTests.alice, InvitationCheckTests.carol])
                == .reject(.notOwner))
    }

    @Test("an unsigned invitation is error 42")
    func unsigned() {
        #expect(InvitationCheckTests.check(signed: false) == .refuse(.signatureRequired))
    }

    @Test("a link to another channel, or to none, is error 61")
    func otherChannel() {
        #expect(InvitationCheckTests.check(linked: InvitationCheckTests.other) == .refuse(.invitationInvalid))
        #expect(InvitationCheckTests.check(linked: nil) == .refuse(.invitationInvalid))
    }

    @Test("an id that somebody has is error 61")
    func takenID() {
        #expect(InvitationCheckTests.check(relay: InvitationCheckTests.alice) == .refuse(.invitationInvalid))
        #expect(InvitationCheckTests.check(isMember: true) == .refuse(.invitationInvalid))
    }
}
