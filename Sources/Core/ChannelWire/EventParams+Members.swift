/// A member and its role.
package struct MemberAndRole: Hashable, Sendable {
    package var memberID: MemberID
    package var role: Role

    package init(memberID: MemberID, role: Role) {
        self.memberID = memberID
        self.role = role
    }
    init(json: JSONObject) throws(WireError) {
        memberID = try json.memberID("memberId")
        role = Role(text: try json.string("memberRole"))
    }
    var json: JSONObject { ["memberId": .string(memberID.text), "memberRole": .string(role.text)] }
}

/// What members are told about one another.
package struct MemberInfo: Hashable, Sendable {
    package var memberID: MemberID
    package var role: Role
    package var versions: ClosedRange<UInt16>?
    package var profile: Profile
    package var key: PublicKey?

    package init(
        memberID: MemberID, role: Role, versions: ClosedRange<UInt16>? = nil, profile: Profile,
        key: PublicKey? = nil
    ) {
        self.memberID = memberID
        self.role = role
        self.versions = versions
        self.profile = profile
        self.key = key
    }
    init(json: JSONObject) throws(WireError) {
        let member = try MemberAndRole(json: json)
        (memberID, role) = (member.memberID, member.role)
        if let text = try json.optionalString("v") { versions = try Event.versions(of: text) }
        profile = try Profile(json: try json.object("profile"))
        key = try json.optionalPublicKey("memberKey")
    }
    var json: JSONObject {
        var json = MemberAndRole(memberID: memberID, role: role).json
        json["v"] = versions.map { .string(Event.text(of: $0)) }
        json["profile"] = .object(profile.json)
        json["memberKey"] = (key?.text).map(JSONValue.string)
        return json
    }
}

/// A new member's request to a relay.
package struct JoinRequest: Hashable, Sendable {
    package var profile: Profile
    package var memberID: MemberID
    package var memberKey: PublicKey
    /// Member id of the relay that is asked; another one must not take this.
    package var viaRelay: MemberID?

    package init(profile: Profile, memberID: MemberID, memberKey: PublicKey, viaRelay: MemberID?) {
        self.profile = profile
        self.memberID = memberID
        self.memberKey = memberKey
        self.viaRelay = viaRelay
    }
    init(json: JSONObject) throws(WireError) {
        profile = try Profile(json: try json.object("profile"))
        memberID = try json.memberID("newMemberId")
        memberKey = try json.publicKey("newMemberKey")
        viaRelay = try json.optionalMemberID("viaRelay")
    }
    var json: JSONObject {
        var json: JSONObject = [
            "profile": .object(profile.json), "newMemberId": .string(memberID.text),
            "newMemberKey": .string(memberKey.text),
        ]
        json["viaRelay"] = (viaRelay?.text).map(JSONValue.string)
        return json
    }
}

/// A relay's answer to a join.
package struct LinkInvitation: Hashable, Sendable {
    package var fromMember: MemberAndRole
    package var fromMemberName: String
    package var invitedMember: MemberAndRole
    package var groupProfile: GroupProfile
    /// `accepted`, `pending`, `pending_review`, or something newer.
    package var accepted: String?

    package init(
        fromMember: MemberAndRole, fromMemberName: String, invitedMember: MemberAndRole,
        groupProfile: GroupProfile,
        accepted: String? = nil
    ) {
        self.fromMember = fromMember
        self.fromMemberName = fromMemberName
        self.invitedMember = invitedMember
        self.groupProfile = groupProfile
        self.accepted = accepted
    }
    init(json: JSONObject) throws(WireError) {
        fromMember = try MemberAndRole(json: try json.object("fromMember"))
        fromMemberName = try json.string("fromMemberName")
        invitedMember = try MemberAndRole(json: try json.object("invitedMember"))
        groupProfile = try GroupProfile(json: try json.object("groupProfile"))
        accepted = try json.optionalString("accepted")
    }
    var json: JSONObject {
        var json: JSONObject = [
            "fromMember": .object(fromMember.json), "fromMemberName": .string(fromMemberName),
            "invitedMember": .object(invitedMember.json), "groupProfile": .object(groupProfile.json),
        ]
        json["accepted"] = accepted.map(JSONValue.string)
        return json
    }
}

/// Gives a member another role.
package struct MemberRoleChange: Hashable, Sendable {
    package var memberID: MemberID
    package var role: Role
    package var memberKey: PublicKey?
    package var rosterVersion: Int64?

    package init(memberID: MemberID, role: Role, memberKey: PublicKey? = nil, rosterVersion: Int64? = nil) {
        self.memberID = memberID
        self.role = role
        self.memberKey = memberKey
        self.rosterVersion = rosterVersion
    }
    init(json: JSONObject) throws(WireError) {
        memberID = try json.memberID("memberId")
        role = Role(text: try json.string("role"))
        memberKey = try json.optionalPublicKey("memberKey")
        rosterVersion = try json.optionalInt64("rosterVersion")
    }
    var json: JSONObject {
        var json: JSONObject = ["memberId": .string(memberID.text), "role": .string(role.text)]
        json["memberKey"] = (memberKey?.text).map(JSONValue.string)
        json["rosterVersion"] = rosterVersion.map { JSONValue($0) }
        return json
    }
}

/// Blocks a member or lifts that.
package struct MemberRestriction: Hashable, Sendable {
    package static let blocked = "blocked"
    package static let unrestricted = "unrestricted"
    package var memberID: MemberID
    /// `blocked`, `unrestricted`, or a text of a later version.
    package var restriction: String

    package init(memberID: MemberID, restriction: String) {
        self.memberID = memberID
        self.restriction = restriction
    }
    init(json: JSONObject) throws(WireError) {
        memberID = try json.memberID("memberId")
        restriction = try json.object("memberRestrictions").string("restriction")
    }
    var json: JSONObject {
        [
            "memberId": .string(memberID.text),
            "memberRestrictions": .object(["restriction": .string(restriction)]),
        ]
    }
}

/// Removes a member.
package struct MemberDeletion: Hashable, Sendable {
    package var memberID: MemberID
    /// Their messages go too.
    package var withMessages: Bool
    package var rosterVersion: Int64?

    package init(memberID: MemberID, withMessages: Bool = false, rosterVersion: Int64? = nil) {
        self.memberID = memberID
        self.withMessages = withMessages
        self.rosterVersion = rosterVersion
    }
    init(json: JSONObject) throws(WireError) {
        memberID = try json.memberID("memberId")
        withMessages = try json.optionalBool("messages") ?? false
        rosterVersion = try json.optionalInt64("rosterVersion")
    }
    var json: JSONObject {
        var json: JSONObject = ["memberId": .string(memberID.text)]
        if withMessages { json["messages"] = .bool(true) }
        json["rosterVersion"] = rosterVersion.map { JSONValue($0) }
        return json
    }
}
