internal import ChannelWire
internal import RelayStore

/// The events that a relay writes itself, as elements.
enum RelayEvents {
    static func acceptance(link: String) -> [UInt8] {
        Event(params: .relayAcpt(RelayAcceptance(relayLink: link))).encode()
    }

    static func rejection(reason: RejectionReason) -> [UInt8] {
        Event(params: .relayReject(reason)).encode()
    }

    static func rosterAck(version: Int64, error: String?) -> [UInt8] {
        Event(params: .rosterAck(RosterAcknowledgement(version: version, error: error))).encode()
    }

    static func testAnswer(challenge: [UInt8], signature: Signature) -> [UInt8] {
        Event(params: .relayTest(RelayTest(challenge: challenge, signature: signature))).encode()
    }

    /// Told to owners when somebody joined.
    static func newMember(_ member: MemberView) -> [UInt8] {
        Event(params: .memNew(info(member))).encode()
    }

    /// The batch of JOINED: `x.grp.link.inv`, then an `x.grp.mem.intro` for each owner; nil where it does not
    /// fit.
    static func joined(_ view: JoinedView, relayName: String) -> [UInt8]? {
        guard let profile = try? GroupProfile.decode(json: view.profile) else { return nil }
        let invitation = LinkInvitation(
            fromMember: MemberAndRole(memberID: view.relay.memberID, role: .relay), fromMemberName: relayName,
            invitedMember: MemberAndRole(memberID: view.member, role: view.role), groupProfile: profile,
            accepted: "accepted")
        var elements = [Event(params: .linkInv(invitation)).encode()]
        var size = 2 + elements[0].count + 2
        for owner in view.owners {
            let element = Event(params: .memIntro(info(owner))).encode()
            size += element.count + 2
            // Owners that do not fit are in the record anyway.
            guard size <= Limits.frameBodyMax else { break }
            elements.append(element)
        }
        return size <= Limits.frameBodyMax || elements.count > 1 ? Body.encodeBatch(elements) : nil
    }

    private static func info(_ member: MemberView) -> MemberInfo {
        MemberInfo(
            memberID: member.id, role: member.role, profile: Profile(displayName: member.name),
            key: member.key)
    }
}
