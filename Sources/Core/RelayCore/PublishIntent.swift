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
        switch params.misfit {
        case .unsupported:
            self = .unsupported
            return
        case .malformed:
            self = .malformed
            return
        case nil: break
        }
        switch params {
        case .msgNew(let message): self = .post(asGroup: message.asGroup)
        case .msgUpdate(let update): self = .edit(update.messageID, asGroup: update.asGroup)
        case .msgDel(let deletion): self = .delete(deletion.messageID, of: deletion.memberID)
        case .msgReact: self = .react
        case .info: self = .rename
        case .grpInfo(let profile): self = .changeProfile(id: profile.publicGroup?.publicGroupID)
        case .grpPrefs: self = .changePreferences
        case .memDel(let removal): self = .remove(removal.memberID, eraseMessages: removal.withMessages)
        case .leave: self = .leave
        case .grpDel: self = .deleteChannel
        default: self = .unsupported
        }
    }
}
