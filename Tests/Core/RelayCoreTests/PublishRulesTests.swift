import ChannelWire
import RelayCore
import Testing

@Suite("Publish rules")
struct PublishRulesTests {
    static let channel = ChannelID(bytes: [UInt8](repeating: 7, count: 32))!
    static let alice = MemberID(bytes: Array("alice".utf8))!
    static let bob = MemberID(bytes: Array("bob".utf8))!
    static let relay = MemberID(bytes: Array("relay".utf8))!
    static let message = MessageID(bytes: Array("m".utf8))!

    static func decide(
        _ intent: PublishIntent, _ tag: EventTag, role: Role, signed: Bool = true, signMessages: Bool = false,
        owners: Int64 = 2, own: PublishRules.Slot = .free, found: PublishRules.Found = .nothing
    ) -> PublishRules.Decision {
        PublishRules.decide(
            intent, tag: tag, isSigned: signed, by: PublishRules.Author(id: alice, role: role),
            in: PublishRules.Channel(
                id: channel, signMessages: signMessages, ownerCount: owners, relay: relay),
            own: own, found: found)
    }

    struct Case: Sendable, CustomTestStringConvertible {
        let intent: PublishIntent
        let tag: EventTag
        /// The lowest of the roles that may; nil: nobody.
        let role: Role?
        var found = PublishRules.Found.nothing
        var testDescription: String { "\(tag) \(intent)" }
    }

    static let roles: [Role] = [
        Role(text: "commenter"), .relay, .observer, .author, .member, .moderator, .admin, .owner,
    ]

    /// The table of docs/protocol/channel.md: who may publish what.
    static let table: [Case] = [
        Case(intent: .post(asGroup: false), tag: .msgNew, role: .author),
        Case(intent: .post(asGroup: true), tag: .msgNew, role: .owner),
        Case(
            intent: .edit(message, asGroup: false), tag: .msgUpdate, role: .author,
            found: .message(.stored(sequence: 1, isSame: false))),
        Case(
            intent: .edit(message, asGroup: true), tag: .msgUpdate, role: .owner,
            found: .message(.stored(sequence: 1, isSame: false))),
        Case(
            intent: .delete(message, of: bob), tag: .msgDel, role: .moderator,
            found: .message(.stored(sequence: 1, isSame: false))),
        Case(intent: .delete(message, of: bob), tag: .msgDel, role: .moderator, found: .message(.free)),
        Case(intent: .react, tag: .msgReact, role: Role(text: "commenter")),
        Case(intent: .rename, tag: .info, role: Role(text: "commenter")),
        Case(intent: .leave, tag: .grpLeave, role: Role(text: "commenter")),
        Case(intent: .changeProfile(id: channel), tag: .grpInfo, role: .owner),
        Case(intent: .changePreferences, tag: .grpPrefs, role: .owner),
        Case(intent: .deleteChannel, tag: .grpDel, role: .owner),
        Case(intent: .remove(relay, eraseMessages: false), tag: .grpMemDel, role: .owner),
        Case(
            intent: .remove(bob, eraseMessages: false), tag: .grpMemDel, role: .moderator,
            found: .member(.observer)),
        Case(
            intent: .remove(bob, eraseMessages: true), tag: .grpMemDel, role: .admin,
            found: .member(.moderator)),
        Case(
            intent: .remove(bob, eraseMessages: true), tag: .grpMemDel, role: .owner, found: .member(.owner)),
    ]

    @Test("each event is for the roles that the table names, and for nobody below", arguments: table)
    func permissions(row: Case) {
        for role in PublishRulesTests.roles {
            let decision = PublishRulesTests.decide(row.intent, row.tag, role: role, found: row.found)
            if let least = row.role, role >= least {
                guard case .store = decision else {
                    Issue.record("\(role) was answered \(decision)")
                    continue
                }
            } else {
                #expect(decision == .refuse(.notPermitted), "\(role)")
            }
        }
    }

    @Test("a repeat gets its first sequence, whatever the author's role is by now")
    func repeated() {
        for role in PublishRulesTests.roles {
            let own = PublishRules.Slot.stored(sequence: 7, isSame: true)
            #expect(
                PublishRulesTests.decide(.post(asGroup: false), .msgNew, role: role, signed: false, own: own)
                    == .repeated(sequence: 7))
        }
    }

    @Test("other bytes under a used id are 45, a deleted id is 49")
    func usedIDs() {
        #expect(
            PublishRulesTests.decide(
                .post(asGroup: false), .msgNew, role: .owner, own: .stored(sequence: 7, isSame: false))
                == .refuse(.messageIDConflict))
        #expect(
            PublishRulesTests.decide(.post(asGroup: false), .msgNew, role: .owner, own: .erased)
                == .refuse(.messageDeleted))
    }

    @Test(
        "what must be signed is refused unsigned with 42",
        arguments: table.filter { $0.tag.mustBeSigned })
    func mustBeSigned(row: Case) {
        #expect(
            PublishRulesTests.decide(row.intent, row.tag, role: .owner, signed: false, found: row.found)
                == .refuse(.signatureRequired))
    }

    @Test(
        "content is refused unsigned only where the channel wants signatures",
        arguments: table.filter { $0.tag.mayBeSigned })
    func mayBeSigned(row: Case) {
        #expect(
            PublishRulesTests.decide(
                row.intent, row.tag, role: .owner, signed: false, signMessages: true, found: row.found)
                == .refuse(.signatureRequired))
        guard
            case .store = PublishRulesTests.decide(
                row.intent, row.tag, role: .owner, signed: false, signMessages: false, found: row.found)
        else {
            Issue.record("unsigned content was refused")
            return
        }
    }

    @Test("reactions need no signature even where content does")
    func reactions() {
        #expect(
            PublishRulesTests.decide(.react, .msgReact, role: .observer, signed: false, signMessages: true)
                == .store(.member, .none))
    }

    @Test("only unsigned messages as the channel hide their author")
    func asGroup() {
        #expect(
            PublishRulesTests.decide(.post(asGroup: true), .msgNew, role: .owner, signed: false)
                == .store(.channel, .none))
        #expect(
            PublishRulesTests.decide(.post(asGroup: true), .msgNew, role: .owner, signed: true)
                == .store(.member, .none))
    }

    @Test("an edit needs its message: 50 where unknown, 49 where deleted")
    func edits() {
        let edit = PublishIntent.edit(PublishRulesTests.message, asGroup: false)
        #expect(
            PublishRulesTests.decide(edit, .msgUpdate, role: .member, found: .message(.free))
                == .refuse(.unknownMessage))
        #expect(
            PublishRulesTests.decide(edit, .msgUpdate, role: .member, found: .message(.erased))
                == .refuse(.messageDeleted))
        #expect(
            PublishRules.question(for: edit, by: PublishRulesTests.alice)
                == .message(author: PublishRulesTests.alice, id: PublishRulesTests.message))
    }

    @Test("a deletion of an unknown message is passed on, except by who could not have written it")
    func deletions() {
        let own = PublishIntent.delete(PublishRulesTests.message, of: nil)
        #expect(
            PublishRulesTests.decide(own, .msgDel, role: .member, found: .message(.free))
                == .store(.member, .erase(author: PublishRulesTests.alice, id: PublishRulesTests.message)))
        #expect(
            PublishRulesTests.decide(own, .msgDel, role: .observer, found: .message(.free))
                == .refuse(.unknownMessage))
        #expect(
            PublishRulesTests.decide(own, .msgDel, role: .member, found: .message(.erased))
                == .refuse(.messageDeleted))
        let theirs = PublishIntent.delete(PublishRulesTests.message, of: PublishRulesTests.bob)
        #expect(
            PublishRules.question(for: theirs, by: PublishRulesTests.alice)
                == .message(author: PublishRulesTests.bob, id: PublishRulesTests.message))
        #expect(
            PublishRulesTests.decide(
                theirs, .msgDel, role: .moderator, found: .message(.stored(sequence: 1, isSame: false)))
                == .store(.member, .erase(author: PublishRulesTests.bob, id: PublishRulesTests.message)))
    }

    @Test("a profile that names another channel is malformed")
    func profileOfAnother() {
        for id in [nil, ChannelID(bytes: [UInt8](repeating: 8, count: 32))] {
            #expect(
                PublishRulesTests.decide(.changeProfile(id: id), .grpInfo, role: .owner)
                    == .refuse(.malformedEvent))
        }
    }

    @Test("a sole owner cannot leave, only delete")
    func soleOwner() {
        #expect(
            PublishRulesTests.decide(.leave, .grpLeave, role: .owner, owners: 1) == .refuse(.notPermitted))
        #expect(
            PublishRulesTests.decide(.leave, .grpLeave, role: .owner, owners: 2)
                == .store(.member, .endMembership(PublishRulesTests.alice, as: .left, eraseMessages: false)))
        #expect(
            PublishRulesTests.decide(.deleteChannel, .grpDel, role: .owner, owners: 1)
                == .store(.member, .deleteChannel))
    }

    @Test("nobody removes themselves, and a moderator not an equal")
    func removals() {
        let oneself = PublishIntent.remove(PublishRulesTests.alice, eraseMessages: false)
        #expect(
            PublishRulesTests.decide(oneself, .grpMemDel, role: .owner, found: .member(.owner))
                == .refuse(.notPermitted))
        let other = PublishIntent.remove(PublishRulesTests.bob, eraseMessages: true)
        #expect(
            PublishRulesTests.decide(other, .grpMemDel, role: .moderator, found: .member(.moderator))
                == .refuse(.notPermitted))
        #expect(
            PublishRulesTests.decide(other, .grpMemDel, role: .moderator, found: .member(.observer))
                == .store(.member, .endMembership(PublishRulesTests.bob, as: .removed, eraseMessages: true)))
    }

    @Test("an owner's removal of somebody unknown here is passed on; a moderator's is 31")
    func removalOfStrangers() {
        let other = PublishIntent.remove(PublishRulesTests.bob, eraseMessages: false)
        #expect(
            PublishRulesTests.decide(other, .grpMemDel, role: .owner, found: .member(nil))
                == .store(.member, .none))
        #expect(
            PublishRulesTests.decide(other, .grpMemDel, role: .moderator, found: .member(nil))
                == .refuse(.unknownMember))
    }

    @Test("an owner's removal of this relay is told as such")
    func relayRemoved() {
        let relay = PublishIntent.remove(PublishRulesTests.relay, eraseMessages: false)
        #expect(PublishRulesTests.decide(relay, .grpMemDel, role: .owner) == .store(.member, .relayRemoved))
    }

    @Test("events that are not published on a channel are 48, whoever sends them")
    func unsupported() throws {
        let others = [
            "x.grp.roster", "x.grp.relay.inv", "x.member", "x.ok", "x.grp.mem.role", "x.grp.mem.new",
            "x.call.inv",
            "x.something.new",
        ]
        for text in others {
            let tag = EventTag(rawValue: text)
            let intent = PublishIntent(.other(tag: tag, json: []))
            #expect(
                PublishRulesTests.decide(intent, tag, role: .owner) == .refuse(.unsupportedEvent), "\(text)")
        }
    }

    @Test(
        "what is said to a member's support scope is not taken, since everybody would get it",
        arguments: [
            #""x.msg.new","params":{"content":{"type":"text","text":"help"},"#,
            #""x.msg.update","params":{"msgId":"AQIDBA==","content":{"type":"text","text":"help"},"#,
            #""x.msg.del","params":{"msgId":"AQIDBA==","#,
            #""x.msg.react","params":{"msgId":"AQIDBA==","reaction":{"type":"emoji","emoji":"👍"},"add":true,"#,
        ])
    func scoped(start: String) throws {
        func intent(scope: String) throws -> PublishIntent {
            let json = #"{"msgId":"BQYHCA==","event":\#(start)"scope":\#(scope)}}"#
            return PublishIntent(try Event.decode(json: Array(json.utf8)).params)
        }
        #expect(try intent(scope: #"{"type":"member","memberId":"AQIDBA=="}"#) == .unsupported)
        #expect(try intent(scope: "null") != .unsupported)
    }

    @Test("a new name must be one that may be shown")
    func names() {
        #expect(PublishIntent(.info(Profile(displayName: "bob"))) == .rename)
        #expect(PublishIntent(.info(Profile(displayName: "bo\nb"))) == .malformed)
        #expect(PublishRulesTests.decide(.malformed, .info, role: .owner) == .refuse(.malformedEvent))
    }
}
