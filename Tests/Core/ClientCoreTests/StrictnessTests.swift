import ChannelWire
import ClientCore
import RelayCore
import Testing

/// Compares the two places where a message is checked: the relay before it stores, the reader before it takes.
///
/// Everything that does not depend on what is in a log is the same in both.
@Suite("A reader is as strict as a relay")
struct StrictnessTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let name: String
        let params: EventParams
        var testDescription: String { name }
    }

    static let channel = MessageAdmissionTests.channel
    static let owner = MessageAdmissionTests.owner
    static let observer = MessageAdmissionTests.observer
    static let content = MessageContent(text: "hi")
    static let scope: JSONObject = ["scope": .string("member")]

    static let cases: [Case] = [
        Case(name: "text", params: .msgNew(MessageContainer(content: content))),
        Case(name: "text as the channel", params: .msgNew(MessageContainer(content: content, asGroup: true))),
        Case(
            name: "text for some", params: .msgNew(MessageContainer(content: content, others: scope))),
        Case(name: "edit", params: MessageAdmissionTests.update),
        Case(
            name: "edit for some",
            params: .msgUpdate(
                MessageUpdate(messageID: MessageAdmissionTests.messageID, content: content, others: scope))),
        Case(name: "deletion", params: MessageAdmissionTests.deletion),
        Case(name: "deletion of another's", params: MessageAdmissionTests.moderation),
        Case(
            name: "reaction",
            params: .msgReact(
                MessageReaction(
                    messageID: MessageAdmissionTests.messageID, memberID: owner, emoji: "👍", add: true))),
        Case(name: "name", params: .info(Profile(displayName: "somebody"))),
        Case(name: "name in two lines", params: .info(Profile(displayName: "some\nbody"))),
        Case(name: "no name", params: .info(Profile(displayName: ""))),
        Case(name: "profile", params: .grpInfo(MessageAdmissionTests.profile)),
        Case(
            name: "profile of another channel",
            params: .grpInfo(
                GroupProfile(
                    displayName: "news",
                    publicGroup: PublicGroup(
                        groupLink: "", publicGroupID: MessageAdmissionTests.otherChannel)))),
        Case(name: "preferences", params: .grpPrefs(GroupPreferences(signMessages: .off))),
        Case(name: "removal", params: MessageAdmissionTests.removal),
        Case(name: "removal of an owner", params: .memDel(MemberDeletion(memberID: owner))),
        Case(name: "leave", params: .leave),
        Case(name: "end of the channel", params: .grpDel),
        Case(name: "what is not published", params: .ok),
    ]

    /// The relay's answer where everything in its log is as it would have to be.
    static func relayRefuses(_ params: EventParams, by author: MemberID, signed: Bool, signs: Bool) -> Bool {
        let intent = PublishIntent(params)
        let role = author == owner ? Role.owner : .observer
        let found: PublishRules.Found =
            switch PublishRules.question(for: intent, by: author) {
            case .nothing: .nothing
            // An observer has never written anything.
            case .message(let of, _): .message(of == observer ? .free : .stored(sequence: 1, isSame: false))
            case .member(let member): .member(member == owner ? .owner : .observer)
            }
        let decision = PublishRules.decide(
            intent, tag: params.tag, isSigned: signed,
            by: PublishRules.Author(id: author, role: role),
            in: PublishRules.Channel(id: channel, signMessages: signs, ownerCount: 1, relay: nil),
            own: .free, found: found)
        if case .refuse = decision { return true }
        return false
    }

    static func readerRefuses(_ params: EventParams, by author: MemberID, signed: Bool, signs: Bool) -> Bool {
        let verdict = MessageAdmissionTests.judge(
            params, by: author, signed: signed, channelSigns: signs, onlyOwnersPost: true, knowsObserver: true
        )
        if case .take = verdict { return false }
        return true
    }

    @Test("what one refuses the other refuses", arguments: cases)
    func same(item: Case) {
        for author in [Self.owner, Self.observer] {
            for signed in [true, false] {
                for signs in [true, false] {
                    let relay = Self.relayRefuses(item.params, by: author, signed: signed, signs: signs)
                    let reader = Self.readerRefuses(item.params, by: author, signed: signed, signs: signs)
                    #expect(
                        relay == reader,
                        "\(author == Self.owner ? "owner" : "observer"), signed \(signed), channel signs \(signs)"
                    )
                }
            }
        }
    }
}
