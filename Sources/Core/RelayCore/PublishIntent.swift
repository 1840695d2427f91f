package import ChannelWire

/// What a published event asks for, as far as a relay cares.
package enum PublishIntent: Equatable, Sendable {
    case post(asGroup: Bool)
    case edit(MessageID, asGroup: Bool)
    /// `of`: the message's author, where that is somebody else.
    case delete(MessageID, of: MemberID?)
    case react
    /// A member's own profile.
    case rename
    /// `id`: the channel id that the new profile names.
    case changeProfile(id: ChannelID?)
    case changePreferences
    case remove(MemberID, eraseMessages: Bool)
    case leave
    case deleteChannel
    /// Not published on a channel, or not known to this relay.
    case unsupported
    case malformed
}

extension PublishIntent {
    package init(_ params: EventParams) {
        // A member support scope names who may read it; a relay that forwards to everybody must not take it.
        if let scope = params.scope, scope != .null {
            self = .unsupported
            return
        }
        switch params {
        case .msgNew(let message): self = .post(asGroup: message.asGroup)
        case .msgUpdate(let update): self = .edit(update.messageID, asGroup: update.asGroup)
        case .msgDel(let deletion): self = .delete(deletion.messageID, of: deletion.memberID)
        case .msgReact: self = .react
        case .info(let profile): self = DisplayName.problem(profile.displayName) == nil ? .rename : .malformed
        case .grpInfo(let profile): self = .changeProfile(id: profile.publicGroup?.publicGroupID)
        case .grpPrefs: self = .changePreferences
        case .memDel(let removal): self = .remove(removal.memberID, eraseMessages: removal.withMessages)
        case .leave: self = .leave
        case .grpDel: self = .deleteChannel
        case .member, .ok, .relayInv, .relayAcpt, .relayReject, .relayNew, .relayCap, .relayTest, .linkInv,
            .memNew,
            .memIntro, .memRole, .memRestrict, .roster, .rosterAck, .other:
            self = .unsupported
        }
    }
}

extension EventParams {
    /// The `scope` of a content event; nil: the channel as a whole.
    fileprivate var scope: JSONValue? {
        switch self {
        case .msgNew(let message): message.others["scope"]
        case .msgUpdate(let update): update.others["scope"]
        case .msgDel(let deletion): deletion.others["scope"]
        case .msgReact(let reaction): reaction.others["scope"]
        default: nil
        }
    }
}
