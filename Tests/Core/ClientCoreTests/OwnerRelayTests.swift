import ChannelWire
import ClientCore
import Testing

@Suite("The owner's view of a relay")
struct OwnerRelayTests {
    typealias Status = OwnerRelay.Status

    enum Event: String, CaseIterable, Sendable {
        case invitationSent, acceptMatching, acceptOther, rosterAck, rosterAckOld, rosterAckError
        case recordWith, recordWithout, reject, leave, remove, carryingEnded
    }

    static func apply(_ event: Event, to relay: inout OwnerRelay) {
        switch event {
        case .invitationSent: _ = relay.invitationSent()
        case .acceptMatching: _ = relay.acceptReceived(matches: true)
        case .acceptOther: _ = relay.acceptReceived(matches: false)
        case .rosterAck: _ = relay.rosterAcknowledged(version: 3, current: 3, error: nil)
        case .rosterAckOld: _ = relay.rosterAcknowledged(version: 2, current: 3, error: nil)
        case .rosterAckError: _ = relay.rosterAcknowledged(version: 3, current: 3, error: "too many entries")
        case .recordWith: _ = relay.recordStored(hasEntry: true)
        case .recordWithout: _ = relay.recordStored(hasEntry: false)
        case .reject: _ = relay.rejectReceived(reason: "rejoin_rejected")
        case .leave: _ = relay.leaveReceived()
        case .remove: _ = relay.removedByOwner()
        case .carryingEnded: _ = relay.carryingEnded()
        }
    }

    /// Every transition that changes the status; every other pair of status and event leaves it as it is.
    static let table: [Status: [Event: Status]] = [
        .new: [
            .invitationSent: .invited, .acceptMatching: .accepted, .reject: .rejected, .leave: .inactive,
            .remove: .inactive,
        ],
        .invited: [.acceptMatching: .accepted, .reject: .rejected, .leave: .inactive, .remove: .inactive],
        .accepted: [
            .rosterAck: .acknowledgedRoster, .rosterAckError: .rejected, .recordWith: .active,
            .reject: .rejected,
            .leave: .inactive, .remove: .inactive, .carryingEnded: .inactive,
        ],
        .acknowledgedRoster: [
            .recordWith: .active, .reject: .rejected, .leave: .inactive, .remove: .inactive,
            .carryingEnded: .inactive,
        ],
        .active: [
            .recordWithout: .inactive, .reject: .rejected, .leave: .inactive, .remove: .inactive,
            .carryingEnded: .inactive,
        ],
        .inactive: [.reject: .rejected],
        .rejected: [:],
    ]

    @Test(
        "every pair of status and event ends where the table says", arguments: Status.allCases, Event.allCases
    )
    func transitions(status: Status, event: Event) throws {
        var relay = OwnerRelay(status: status, memberStatus: status == .rejected ? .left : .invited)
        Self.apply(event, to: &relay)
        #expect(relay.status == Self.table[status]?[event] ?? status)
    }

    @Test(
        "a rejected relay stays rejected, its member left and its reason kept, whatever comes later",
        arguments: Event.allCases)
    func rejectedIsFinal(event: Event) {
        var relay = OwnerRelay(status: .invited)
        #expect(relay.rejectReceived(reason: "rejoin_rejected") == .changed)
        let rejected = relay
        Self.apply(event, to: &relay)
        #expect(relay == rejected)
    }

    @Test(
        "a reject makes the member left, from every status",
        arguments: Status.allCases.filter { $0 != .rejected })
    func rejectMakesLeft(status: Status) {
        var relay = OwnerRelay(status: status)
        #expect(relay.rejectReceived(reason: "no") == .changed)
        #expect(relay.memberStatus == .left)
        #expect(relay.reason == "no")
        #expect(relay.rejectReceived(reason: "again") == .unchanged)
    }

    @Test("a relay that left is asked for its refusal; one that no longer carries the channel has none")
    func awaitsRejection() {
        var left = OwnerRelay(status: .active, memberStatus: .connected)
        #expect(left.leaveReceived() == .changed)
        #expect(left.awaitsRejection)
        var ended = OwnerRelay(status: .active, memberStatus: .connected)
        #expect(ended.carryingEnded() == .changed)
        #expect(!ended.awaitsRejection && ended.memberStatus == .left && ended.reason != nil)
        #expect(ended.carryingEnded() == .unchanged)
    }

    @Test("no member status is called rejected")
    func noRejectedMember() {
        #expect(OwnerRelay.MemberStatus(rawValue: "rejected") == nil)
    }

    @Test("an acceptance whose link is another relay's changes nothing and says so")
    func mismatch() {
        var relay = OwnerRelay(status: .invited)
        #expect(relay.acceptReceived(matches: false) == .mismatch)
        #expect(relay.status == .invited)
    }

    @Test("a repeated acceptance sends the roster again without a change")
    func repeatedAcceptance() {
        var relay = OwnerRelay(status: .invited)
        #expect(relay.acceptReceived(matches: true) == .sendRoster(.changed))
        #expect(relay.acceptReceived(matches: true) == .sendRoster(.unchanged))
    }

    @Test(
        "one that carries the channel gets nothing more for an acceptance with another relay's link",
        arguments: [Status.accepted, .acknowledgedRoster, .active])
    func laterMismatch(status: Status) {
        var relay = OwnerRelay(status: status)
        #expect(relay.acceptReceived(matches: false) == .mismatch)
        #expect(relay == OwnerRelay(status: status))
    }

    @Test("an acknowledgement of another roster version is ignored")
    func otherRosterVersion() {
        var relay = OwnerRelay(status: .accepted)
        #expect(relay.rosterAcknowledged(version: 0, current: 1, error: nil) == .ignore)
        #expect(relay.rosterAcknowledged(version: 1, current: 1, error: nil) == .publishRecord)
        #expect(relay.memberStatus == .connected)
    }

    @Test("an accepted relay survives a record that was published without it")
    func recordRace() {
        var relay = OwnerRelay(status: .accepted)
        #expect(relay.recordStored(hasEntry: false) == .unchanged)
        #expect(relay.status == .accepted)
    }

    @Test(
        "only relays that acknowledged the roster or are active are publishable",
        arguments: Status.allCases)
    func publishable(status: Status) {
        #expect(OwnerRelay(status: status).isPublishable == [.acknowledgedRoster, .active].contains(status))
    }

    @Test("the statuses have the texts of the protocol")
    func texts() {
        #expect(
            Status.allCases.map(\.rawValue) == [
                "new", "invited", "accepted", "acknowledged_roster", "active", "inactive", "rejected",
            ])
        #expect(Status.acknowledgedRoster.apiText == "acknowledgedRoster")
    }
}

@Suite("The roster of relays")
struct RelayRosterTests {
    static func key(_ n: UInt8) -> [UInt8] { [UInt8](repeating: n, count: 32) }

    @Test("a listed relay is refused, whatever its status", arguments: OwnerRelay.Status.allCases)
    func listed(status: OwnerRelay.Status) {
        var roster = RelayRoster(rows: [
            .init(memberID: [1], identity: Self.key(1), relay: .init(status: status))
        ])
        #expect(roster.add(memberID: [2], identity: Self.key(1)) == .alreadyListed(status))
        #expect(roster.rows.count == 1)
    }

    @Test("a removed relay can be added again and starts as new")
    func removedThenAdded() {
        var roster = RelayRoster(rows: [
            .init(memberID: [1], identity: Self.key(1), relay: .init(status: .rejected))
        ])
        #expect(roster.remove(identity: Self.key(1))?.relay.status == .rejected)
        #expect(roster.add(memberID: [2], identity: Self.key(1)) == .added)
        #expect(roster.rows.first?.relay.status == .new)
    }

    @Test("sixteen relays fit and the seventeenth does not")
    func full() {
        var roster = RelayRoster()
        for n in 1...16 { #expect(roster.add(memberID: [UInt8(n)], identity: Self.key(UInt8(n))) == .added) }
        #expect(roster.add(memberID: [17], identity: Self.key(17)) == .full)
    }

    @Test("relays that are out take nobody's place", arguments: [OwnerRelay.Status.inactive, .rejected])
    func outOfTheWay(status: OwnerRelay.Status) {
        var roster = RelayRoster(
            rows: (1...16).map {
                .init(
                    memberID: [$0], identity: Self.key($0), relay: .init(status: $0 == 1 ? status : .active))
            })
        #expect(roster.add(memberID: [17], identity: Self.key(17)) == .added)
        #expect(roster.add(memberID: [18], identity: Self.key(18)) == .full)
    }

    @Test("the record lists the publishable relays in the order in which they were added")
    func publishable() {
        let statuses: [OwnerRelay.Status] = [.active, .rejected, .acknowledgedRoster, .accepted, .inactive]
        let roster = RelayRoster(
            rows: statuses.enumerated().map {
                .init(
                    memberID: [UInt8($0.offset)], identity: Self.key(UInt8($0.offset)),
                    relay: .init(status: $0.element))
            })
        #expect(roster.publishable.map(\.memberID) == [[0], [2]])
    }
}

@Suite("Names of channels")
struct ChannelNamingTests {
    @Test("the same name again gets the first free suffix")
    func suffix() {
        #expect(ChannelNaming.localName(for: "news", taken: []) == "news")
        #expect(ChannelNaming.localName(for: "news", taken: ["news", "news_2"]) == "news_1")
        #expect(ChannelNaming.localName(for: "news", taken: ["news", "news_1"]) == "news_2")
    }

    @Test(
        "what people write around a name is taken away",
        arguments: [
            ("news", "news"), ("#news", "news"), ("#'my news'", "my news"), ("'my news'", "my news"),
            ("#'", "'"),
        ])
    func plain(typed: String, name: String) {
        #expect(ChannelNaming.plain(typed) == name)
    }

    @Test("a quoted name reads back as itself", arguments: ["news", "my news", "it's", "#1"])
    func quoted(name: String) {
        #expect(ChannelNaming.plain(ChannelNaming.quoted(name)) == name)
    }
}
