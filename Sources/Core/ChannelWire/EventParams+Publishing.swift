extension EventParams {
    /// Why an event is published on no channel, whoever sends it and whatever stands in the log.
    package enum Misfit: Hashable, Sendable {
        case unsupported
        case malformed
    }

    /// what relays refuse to store and readers to take; nil: it depends on who sends it.
    ///
    /// **Source**: docs/protocol/channel.md, the table of events and what follows it.
    package var misfit: Misfit? {
        // A member support scope names who may read it; a relay that forwards to everybody must not take it.
        if let scope, scope != .null { return .unsupported }
        switch self {
        case .msgNew, .msgUpdate, .msgDel, .msgReact, .grpInfo, .grpPrefs, .memDel, .leave, .grpDel:
            return nil
        case .info(let profile): return DisplayName.problem(profile.displayName) == nil ? nil : .malformed
        case .member, .ok, .relayInv, .relayAcpt, .relayReject, .relayNew, .relayCap, .relayTest, .linkInv,
            .memNew, .memIntro, .memRole, .memRestrict, .roster, .rosterAck, .other:
            return .unsupported
        }
    }

    /// The `scope` of a content event; nil: the channel as a whole.
    private var scope: JSONValue? {
        switch self {
        case .msgNew(let message): message.others["scope"]
        case .msgUpdate(let update): update.others["scope"]
        case .msgDel(let deletion): deletion.others["scope"]
        case .msgReact(let reaction): reaction.others["scope"]
        default: nil
        }
    }
}
