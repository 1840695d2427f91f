import RelayCore
import Testing

@Suite("Admission")
struct AdmissionTests {
    typealias State = Admission.State

    static let room = Admission.Room(forChannel: true, forPending: true)
    static let full = Admission.Room(forChannel: false, forPending: false)
    static let busy = Admission.Room(forChannel: true, forPending: true, waitOfSource: 7)

    /// The whole table: for each state, what each event makes of it.
    enum Event: CaseIterable, Sendable {
        case invOpen, invManual, invClosed, invOpenSame, invManualSame, invClosedSame, invFull
        case invBusy, invManualBusy, invOpenSameBusy
        case operatorAccepts, operatorAcceptsFull, operatorRejects, operatorLeaves, operatorAllows
        case rosterAck, recordWithEntry, recordWithoutEntry, removed, deleted
    }

    static func apply(_ event: Event, to admission: inout Admission) -> String {
        func invite(_ policy: Admission.Policy, same: Bool = false, room: Admission.Room = room) -> String {
            "\(admission.inviteReceived(policy: policy, sameRelayMember: same, turnedDown: nil, room: room))"
        }
        switch event {
        case .invOpen: return invite(.open)
        case .invManual: return invite(.manual)
        case .invClosed: return invite(.closed)
        case .invOpenSame: return invite(.open, same: true)
        case .invManualSame: return invite(.manual, same: true)
        case .invClosedSame: return invite(.closed, same: true)
        case .invFull: return invite(.open, room: full)
        case .invBusy: return invite(.open, room: busy)
        case .invManualBusy: return invite(.manual, room: busy)
        case .invOpenSameBusy: return invite(.open, same: true, room: busy)
        case .operatorAccepts: return "\(admission.operatorAccepted(room: room))"
        case .operatorAcceptsFull: return "\(admission.operatorAccepted(room: full))"
        case .operatorRejects: return "\(admission.operatorRejected())"
        case .operatorLeaves: return "\(admission.operatorLeft())"
        case .operatorAllows: return "\(admission.operatorAllowed())"
        case .rosterAck: return "\(admission.rosterAcked())"
        case .recordWithEntry: return "\(admission.recordSeen(hasOwnEntry: true))"
        case .recordWithoutEntry: return "\(admission.recordSeen(hasOwnEntry: false))"
        case .removed: return "\(admission.removedByOwner())"
        case .deleted: return "\(admission.channelDeleted())"
        }
    }

    /// One line a pair: from, event, to, answer.
    static let table: [(State, Event, State, String)] = {
        let rejoin = "reject(RelayCore.InvitationRefusal.rejoinRejected)"
        let closed = "reject(RelayCore.InvitationRefusal.notAccepting)"
        let limit = "reject(RelayCore.InvitationRefusal.channelLimit)"
        let waits = "goOnHolding"
        let later = "comeBack(afterMilliseconds: 7)"
        func changed(_ state: State) -> String { "changed(RelayCore.Admission.State.\(state))" }
        var rows: [(State, Event, State, String)] = [
            (.none, .invOpen, .accepted, "accept"), (.none, .invManual, .invited, "hold"),
            (.none, .invClosed, .none, closed), (.none, .invOpenSame, .accepted, "accept"),
            (.none, .invManualSame, .invited, "hold"), (.none, .invClosedSame, .none, closed),
            (.none, .invFull, .none, limit),
            (.none, .invBusy, .none, later), (.none, .invManualBusy, .none, later),
            (.none, .invOpenSameBusy, .none, later),
            (.none, .operatorAccepts, .none, "notPending"),
            (.none, .operatorAcceptsFull, .none, "notPending"),
            (.none, .operatorRejects, .none, "notPending"),
            (.none, .operatorLeaves, .none, "unknownChannel"),
            (.none, .operatorAllows, .none, "unknownChannel"),

            (.invited, .invOpen, .accepted, "accept"), (.invited, .invManual, .invited, waits),
            (.invited, .invClosed, .invited, waits), (.invited, .invOpenSame, .accepted, "accept"),
            (.invited, .invManualSame, .invited, waits), (.invited, .invClosedSame, .invited, waits),
            (.invited, .invFull, .invited, limit),
            (.invited, .invBusy, .invited, later), (.invited, .invManualBusy, .invited, waits),
            (.invited, .invOpenSameBusy, .invited, later),
            (.invited, .operatorAccepts, .accepted, "accept"),
            (.invited, .operatorAcceptsFull, .invited, "noRoom"),
            (.invited, .operatorRejects, .none, "reject"),
            (.invited, .operatorLeaves, .rejected, "leave(announce: false)"),
            (.invited, .operatorAllows, .invited, "notRejected"),

            (.inactive, .invOpen, .accepted, "accept"), (.inactive, .invManual, .accepted, "accept"),
            (.inactive, .invClosed, .inactive, closed), (.inactive, .invOpenSame, .accepted, "accept"),
            (.inactive, .invManualSame, .accepted, "accept"), (.inactive, .invClosedSame, .inactive, closed),
            (.inactive, .invFull, .inactive, limit),
            (.inactive, .invBusy, .inactive, later), (.inactive, .invManualBusy, .inactive, later),
            (.inactive, .invOpenSameBusy, .inactive, later),
            (.inactive, .operatorAccepts, .inactive, "notPending"),
            (.inactive, .operatorAcceptsFull, .inactive, "notPending"),
            (.inactive, .operatorRejects, .inactive, "notPending"),
            (.inactive, .operatorLeaves, .rejected, "leave(announce: false)"),
            (.inactive, .operatorAllows, .inactive, "notRejected"),

            (.rejected, .operatorAccepts, .rejected, "notPending"),
            (.rejected, .operatorAcceptsFull, .rejected, "notPending"),
            (.rejected, .operatorRejects, .rejected, "notPending"),
            (.rejected, .operatorLeaves, .rejected, "alreadyRejected"),
            (.rejected, .operatorAllows, .inactive, "allow"),

            (.accepted, .rosterAck, .acknowledgedRoster, changed(.acknowledgedRoster)),
            (.accepted, .recordWithEntry, .active, changed(.active)),
            (.accepted, .recordWithoutEntry, .accepted, "unchanged"),
            (.acknowledgedRoster, .rosterAck, .acknowledgedRoster, "unchanged"),
            (.acknowledgedRoster, .recordWithEntry, .active, changed(.active)),
            (.acknowledgedRoster, .recordWithoutEntry, .acknowledgedRoster, "unchanged"),
            (.active, .rosterAck, .active, "unchanged"),
            (.active, .recordWithEntry, .active, "unchanged"),
            (.active, .recordWithoutEntry, .inactive, "ended"),
        ]
        for event in [
            Event.invOpen, .invManual, .invClosed, .invOpenSame, .invManualSame, .invClosedSame, .invFull,
            .invBusy, .invManualBusy, .invOpenSameBusy,
        ] {
            rows.append((.rejected, event, .rejected, rejoin))
        }
        for state in [State.accepted, .acknowledgedRoster, .active] {
            for event in [Event.invOpen, .invManual, .invClosed, .invFull] {
                rows.append((state, event, .accepted, "accept"))
            }
            for event in [Event.invBusy, .invManualBusy] { rows.append((state, event, state, later)) }
            for event in [Event.invOpenSame, .invManualSame, .invClosedSame, .invOpenSameBusy] {
                rows.append((state, event, state, "repeatAcceptance"))
            }
            for event in [Event.operatorAccepts, .operatorAcceptsFull, .operatorRejects] {
                rows.append((state, event, state, "notPending"))
            }
            rows.append((state, .operatorLeaves, .rejected, "leave(announce: true)"))
            rows.append((state, .operatorAllows, state, "notRejected"))
            rows.append((state, .removed, .inactive, "ended"))
            rows.append((state, .deleted, .inactive, "ended"))
        }
        for state in [State.none, .invited, .inactive, .rejected] {
            for event in [Event.rosterAck, .recordWithEntry, .recordWithoutEntry, .removed, .deleted] {
                rows.append((state, event, state, "unchanged"))
            }
        }
        return rows
    }()

    @Test("every state answers every event as the picture says", arguments: State.allCases)
    func wholeTable(state: State) throws {
        for event in Event.allCases {
            let rows = AdmissionTests.table.filter { $0.0 == state && $0.1 == event }
            let row = try #require(rows.first, "\(state) × \(event) is missing from the table")
            #expect(rows.count == 1)
            var admission = Admission(state)
            let answer = AdmissionTests.apply(event, to: &admission)
            #expect(admission.state == row.2, "\(state) × \(event)")
            #expect(answer == row.3, "\(state) × \(event)")
        }
    }

    @Test("an operator who left is never invited back, until the operator allows it")
    func noMeansNo() {
        var admission = Admission(.active)
        #expect(admission.operatorLeft() == .leave(announce: true))
        for policy in Admission.Policy.allCases {
            for same in [true, false] {
                let answer = admission.inviteReceived(
                    policy: policy, sameRelayMember: same, turnedDown: nil, room: AdmissionTests.room)
                #expect(answer == .reject(.rejoinRejected))
            }
        }
        #expect(InvitationRefusal.rejoinRejected.reason.text == "rejoin_rejected")
        #expect(admission.operatorAllowed() == .allow)
        let answer = admission.inviteReceived(
            policy: .open, sameRelayMember: false, turnedDown: nil, room: AdmissionTests.room)
        #expect(answer == .accept)
    }

    @Test("an invitation that the operator turned down gets the same answer again")
    func turnedDownAgain() {
        var admission = Admission(.none)
        let answer = admission.inviteReceived(
            policy: .manual, sameRelayMember: true, turnedDown: .byOperator("not this one"),
            room: AdmissionTests.room)
        #expect(answer == .reject(.byOperator("not this one")))
        #expect(admission.state == .none)
    }

    @Test("what counts for an address is what the relay takes up, and nothing that it has or turns down")
    func takesUp() {
        let answers: [Admission.InvitationAnswer] = [
            .accept, .hold, .repeatAcceptance, .goOnHolding, .reject(.channelLimit),
            .comeBack(afterMilliseconds: 1),
        ]
        #expect(answers.map(\.takesUp) == [true, true, false, false, false, false])
    }

    @Test("only accepted, acknowledged_roster and active serve", arguments: State.allCases)
    func serving(state: State) {
        let serves = [State.accepted, .acknowledgedRoster, .active].contains(state)
        #expect(Admission(state).isServing == serves)
    }
}
