/// What a reader makes of an element's signatures, or of their absence.
package enum SignatureVerdict: Hashable, Sendable {
    /// All signatures verify with the author's key.
    case verified
    /// Signed, but not in a way that we can check; accepted because this event needs no signature.
    case signedNoKey
    /// Nobody asked for a signature.
    case unsigned
    /// Accepted, but the channel's preferences ask for a signature: shown as missing.
    case signatureMissing
    /// Not accepted.
    case refused

    /// What was found on the element.
    package enum Finding: Hashable, Sendable, CaseIterable {
        case none, valid, invalid
        /// A binding that cannot be verified.
        case wrongBinding
        /// Signed by somebody whose key we do not have.
        case unknownKey
    }

    /// - Parameters:
    ///   - claimedRole: the author's role as the message's sender says; knownRole: as we know it.
    ///   - signMessages: the channel's preference.
    package static func decide(
        _ finding: Finding, tag: EventTag, claimedRole: Role, knownRole: Role, signMessages: Bool
    ) -> SignatureVerdict {
        switch finding {
        case .valid: return .verified
        case .invalid: return .refused
        case .wrongBinding: return tag.mustBeSigned ? .refused : .signedNoKey
        case .unknownKey:
            guard tag.mustBeSigned else { return .signedNoKey }
            // Readers learn the keys of plain members late or never; what these say about themselves is let
            // through.
            let aboutThemselves = tag == .grpLeave || tag == .info
            let isLow = claimedRole < .moderator && knownRole < .moderator
            return aboutThemselves && isLow ? .signedNoKey : .refused
        case .none:
            if tag.mustBeSigned { return .refused }
            return signMessages && tag.mayBeSigned ? .signatureMissing : .unsigned
        }
    }
    package var isAccepted: Bool { self != .refused }
}

extension Element {
    /// Checks the signatures of a plain or signed element; `key` nil: the author's key is not known.
    package func finding(
        channel: ChannelID, member: MemberID, key: PublicKey?,
        verify: (_ signature: Signature, _ message: [UInt8], _ key: PublicKey) -> Bool
    ) -> SignatureVerdict.Finding {
        guard case .signed(let element) = self else { return .none }
        guard element.binding == SignedElement.groupBinding else { return .wrongBinding }
        guard let key else { return .unknownKey }
        switch element.check(channel: channel, member: member, key: key, verify: verify) {
        case .valid: return .valid
        case .invalid: return .invalid
        case .wrongBinding: return .wrongBinding
        }
    }
}
