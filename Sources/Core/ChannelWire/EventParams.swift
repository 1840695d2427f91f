/// The params of an event, one case for each that this protocol gives a meaning to.
package enum EventParams: Hashable, Sendable {
    case msgNew(MessageContainer)
    case msgUpdate(MessageUpdate)
    case msgDel(MessageDeletion)
    case msgReact(MessageReaction)
    case info(Profile)
    case member(JoinRequest)
    case ok
    case relayInv(RelayInvitation)
    case relayAcpt(RelayAcceptance)
    case relayReject(RejectionReason)
    case relayNew(relayLink: String)
    case relayCap(RelayCapabilities)
    case relayTest(RelayTest)
    case linkInv(LinkInvitation)
    case memNew(MemberInfo)
    case memIntro(MemberInfo)
    case memRole(MemberRoleChange)
    case memRestrict(MemberRestriction)
    case memDel(MemberDeletion)
    case leave
    case grpInfo(GroupProfile)
    case grpPrefs(GroupPreferences)
    case grpDel
    case roster(RosterHeader)
    case rosterAck(RosterAcknowledgement)
    /// Any other event, with the whole container as it was read.
    case other(tag: EventTag, json: [UInt8])

    package var tag: EventTag {
        switch self {
        case .msgNew: .msgNew
        case .msgUpdate: .msgUpdate
        case .msgDel: .msgDel
        case .msgReact: .msgReact
        case .info: .info
        case .member: .member
        case .ok: .ok
        case .relayInv: .grpRelayInv
        case .relayAcpt: .grpRelayAcpt
        case .relayReject: .grpRelayReject
        case .relayNew: .grpRelayNew
        case .relayCap: .grpRelayCap
        case .relayTest: .grpRelayTest
        case .linkInv: .grpLinkInv
        case .memNew: .grpMemNew
        case .memIntro: .grpMemIntro
        case .memRole: .grpMemRole
        case .memRestrict: .grpMemRestrict
        case .memDel: .grpMemDel
        case .leave: .grpLeave
        case .grpInfo: .grpInfo
        case .grpPrefs: .grpPrefs
        case .grpDel: .grpDel
        case .roster: .grpRoster
        case .rosterAck: .grpRosterAck
        case .other(let tag, _): tag
        }
    }

    init(tag: EventTag, json: JSONObject, whole: [UInt8]) throws(WireError) {
        switch tag {
        case .msgNew: self = .msgNew(try MessageContainer(json: json))
        case .msgUpdate: self = .msgUpdate(try MessageUpdate(json: json))
        case .msgDel: self = .msgDel(try MessageDeletion(json: json))
        case .msgReact: self = .msgReact(try MessageReaction(json: json))
        case .info: self = .info(try Profile(json: try json.object("profile")))
        case .member: self = .member(try JoinRequest(json: json))
        case .ok: self = .ok
        case .grpRelayInv:
            self = .relayInv(try RelayInvitation(json: try json.object("groupRelayInvitation")))
        case .grpRelayAcpt: self = .relayAcpt(try RelayAcceptance(json: json))
        case .grpRelayReject: self = .relayReject(RejectionReason(text: try json.string("reason")))
        case .grpRelayNew: self = .relayNew(relayLink: try json.string("relayLink"))
        case .grpRelayCap: self = .relayCap(try RelayCapabilities(json: try json.object("relayCap")))
        case .grpRelayTest: self = .relayTest(try RelayTest(json: json))
        case .grpLinkInv: self = .linkInv(try LinkInvitation(json: try json.object("groupLinkInvitation")))
        case .grpMemNew: self = .memNew(try MemberInfo(json: try json.object("memberInfo")))
        case .grpMemIntro: self = .memIntro(try MemberInfo(json: try json.object("memberInfo")))
        case .grpMemRole: self = .memRole(try MemberRoleChange(json: json))
        case .grpMemRestrict: self = .memRestrict(try MemberRestriction(json: json))
        case .grpMemDel: self = .memDel(try MemberDeletion(json: json))
        case .grpLeave: self = .leave
        case .grpInfo: self = .grpInfo(try GroupProfile(json: try json.object("groupProfile")))
        case .grpPrefs: self = .grpPrefs(try GroupPreferences(json: try json.object("groupPreferences")))
        case .grpDel: self = .grpDel
        case .grpRoster: self = .roster(try RosterHeader(json: json))
        case .grpRosterAck: self = .rosterAck(try RosterAcknowledgement(json: json))
        default: self = .other(tag: tag, json: whole)
        }
    }

    /// Empty for `.other`, whose container is written whole.
    var json: JSONObject {
        switch self {
        case .msgNew(let container): container.json
        case .msgUpdate(let update): update.json
        case .msgDel(let deletion): deletion.json
        case .msgReact(let reaction): reaction.json
        case .info(let profile): ["profile": .object(profile.json)]
        case .member(let join): join.json
        case .ok, .leave, .grpDel, .other: [:]
        case .relayInv(let invitation): ["groupRelayInvitation": .object(invitation.json)]
        case .relayAcpt(let acceptance): acceptance.json
        case .relayReject(let reason): ["reason": .string(reason.text)]
        case .relayNew(let relayLink): ["relayLink": .string(relayLink)]
        case .relayCap(let capabilities): ["relayCap": .object(capabilities.json)]
        case .relayTest(let test): test.json
        case .linkInv(let invitation): ["groupLinkInvitation": .object(invitation.json)]
        case .memNew(let info), .memIntro(let info): ["memberInfo": .object(info.json)]
        case .memRole(let change): change.json
        case .memRestrict(let restriction): restriction.json
        case .memDel(let deletion): deletion.json
        case .grpInfo(let profile): ["groupProfile": .object(profile.json)]
        case .grpPrefs(let preferences): ["groupPreferences": .object(preferences.json)]
        case .roster(let header): header.json
        case .rosterAck(let acknowledgement): acknowledgement.json
        }
    }
}
