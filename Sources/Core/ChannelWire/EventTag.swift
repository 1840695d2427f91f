/// The name of an event. **Source**: docs/protocol/channel.md, "JSON container".
package struct EventTag: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    package let rawValue: String
    package init(rawValue: String) { self.rawValue = rawValue }
    package var description: String { rawValue }

    package static func == (left: EventTag, right: EventTag) -> Bool {
        left.rawValue.hasSameBytes(as: right.rawValue)
    }
    package func hash(into hasher: inout Hasher) { rawValue.hashBytes(into: &hasher) }

    // Content
    package static let msgNew = EventTag(rawValue: "x.msg.new")
    package static let msgFileDescr = EventTag(rawValue: "x.msg.file.descr")
    package static let msgUpdate = EventTag(rawValue: "x.msg.update")
    package static let msgDel = EventTag(rawValue: "x.msg.del")
    package static let msgDeleted = EventTag(rawValue: "x.msg.deleted")
    package static let msgReact = EventTag(rawValue: "x.msg.react")
    package static let file = EventTag(rawValue: "x.file")
    package static let fileAcpt = EventTag(rawValue: "x.file.acpt")
    package static let fileAcptInv = EventTag(rawValue: "x.file.acpt.inv")
    package static let fileCancel = EventTag(rawValue: "x.file.cancel")
    // Identity and connection
    package static let info = EventTag(rawValue: "x.info")
    package static let contact = EventTag(rawValue: "x.contact")
    package static let member = EventTag(rawValue: "x.member")
    package static let ok = EventTag(rawValue: "x.ok")
    // Relays
    package static let grpRelayInv = EventTag(rawValue: "x.grp.relay.inv")
    package static let grpRelayAcpt = EventTag(rawValue: "x.grp.relay.acpt")
    package static let grpRelayReject = EventTag(rawValue: "x.grp.relay.reject")
    package static let grpRelayNew = EventTag(rawValue: "x.grp.relay.new")
    package static let grpRelayCap = EventTag(rawValue: "x.grp.relay.cap")
    package static let grpRelayTest = EventTag(rawValue: "x.grp.relay.test")
    // Invitations and links
    package static let grpInv = EventTag(rawValue: "x.grp.inv")
    package static let grpAcpt = EventTag(rawValue: "x.grp.acpt")
    package static let grpLinkInv = EventTag(rawValue: "x.grp.link.inv")
    package static let grpLinkReject = EventTag(rawValue: "x.grp.link.reject")
    package static let grpLinkMem = EventTag(rawValue: "x.grp.link.mem")
    package static let grpLinkAcpt = EventTag(rawValue: "x.grp.link.acpt")
    package static let grpDirectInv = EventTag(rawValue: "x.grp.direct.inv")
    // Members
    package static let grpMemNew = EventTag(rawValue: "x.grp.mem.new")
    package static let grpMemIntro = EventTag(rawValue: "x.grp.mem.intro")
    package static let grpMemInv = EventTag(rawValue: "x.grp.mem.inv")
    package static let grpMemFwd = EventTag(rawValue: "x.grp.mem.fwd")
    package static let grpMemInfo = EventTag(rawValue: "x.grp.mem.info")
    package static let grpMemRole = EventTag(rawValue: "x.grp.mem.role")
    package static let grpMemRestrict = EventTag(rawValue: "x.grp.mem.restrict")
    package static let grpMemCon = EventTag(rawValue: "x.grp.mem.con")
    package static let grpMemConAll = EventTag(rawValue: "x.grp.mem.con.all")
    package static let grpMemDel = EventTag(rawValue: "x.grp.mem.del")
    package static let grpLeave = EventTag(rawValue: "x.grp.leave")
    // The channel
    package static let grpInfo = EventTag(rawValue: "x.grp.info")
    package static let grpPrefs = EventTag(rawValue: "x.grp.prefs")
    package static let grpDel = EventTag(rawValue: "x.grp.del")
    package static let grpRoster = EventTag(rawValue: "x.grp.roster")
    package static let grpRosterAck = EventTag(rawValue: "x.grp.roster.ack")
    package static let grpRosterRequest = EventTag(rawValue: "x.grp.roster.request")
    package static let grpMsgForward = EventTag(rawValue: "x.grp.msg.forward")

    /// Never accepted without a signature of its author.
    package var mustBeSigned: Bool {
        switch self {
        case .grpDel, .grpInfo, .grpPrefs, .grpMemDel, .grpMemRole, .grpMemRestrict, .grpLeave, .grpRelayNew,
            .grpRoster, .info, .grpRelayInv, .member:
            true
        default: false
        }
    }
    /// Signed where the channel's preferences ask for it.
    package var mayBeSigned: Bool {
        switch self {
        case .msgNew, .msgUpdate, .msgDel: true
        default: false
        }
    }
    /// What channels exist for: these need the right to post (reactions and deletions their own).
    package var isContent: Bool {
        switch self {
        case .msgNew, .msgFileDescr, .msgUpdate, .msgDel, .msgReact, .fileCancel: true
        default: false
        }
    }
    /// Passed on by relays of the event catalogue that this protocol keeps.
    package var isForwardable: Bool {
        switch self {
        case .msgNew, .msgFileDescr, .msgUpdate, .msgDel, .msgReact, .fileCancel, .info, .grpRelayNew,
            .grpMemNew,
            .grpMemRole, .grpMemRestrict, .grpMemDel, .grpLeave, .grpInfo, .grpPrefs, .grpDel:
            true
        default: false
        }
    }
    /// Published on a channel of this protocol; anything else is refused by its relays.
    package var isPublishable: Bool {
        switch self {
        case .msgNew, .msgUpdate, .msgDel, .msgReact, .info, .grpInfo, .grpPrefs, .grpMemDel, .grpLeave,
            .grpDel:
            true
        default: false
        }
    }
}
