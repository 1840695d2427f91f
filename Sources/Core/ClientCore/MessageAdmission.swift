package import ChannelWire

/// Decides whether what a relay delivers is taken: as strictly as the relay itself had to.
///
/// The relay is not trusted: binding, author's key, role and the duty to sign are checked again, before
/// anything is stored. Source: docs/protocol/channel.md, “Elements” and the table of events.
package struct MessageAdmission: Sendable {
    /// What is known of a member who is neither an owner nor a relay of the record.
    package struct KnownMember: Equatable, Sendable {
        package let role: Role
        package let key: PublicKey?

        package init(role: Role, key: PublicKey?) {
            self.role = role
            self.key = key
        }
    }

    /// What is known of a signature; the raw value is the text in the database.
    package enum SignatureStatus: String, Sendable, CaseIterable {
        case verified
        case signedNoKey
        case unsigned
    }

    package enum Refusal: String, Error, Sendable, CaseIterable {
        case malformed = "malformed-event"
        case missingMessageID = "missing-message-id"
        case unsupported = "unsupported-event"
        case signatureRequired = "signature-required"
        case badSignature = "bad-signature"
        case wrongBinding = "wrong-binding"
        case notPermitted = "not-permitted"
    }

    package struct Admitted: Sendable {
        /// Nil: the channel itself.
        package let author: MemberID?
        /// The name in the relay's header; unverified.
        package let authorName: String?
        package let role: Role?
        package let event: Event
        package let messageID: MessageID
        package let signature: SignatureStatus
        /// The relay's time. Units: seconds since 1970.
        package let time: Int64
        /// The author's exact bytes.
        package let element: [UInt8]
    }

    package enum Verdict: Sendable {
        case take(Admitted)
        /// An event of a later version: nothing to store, and nobody's fault.
        case ignore
        case refuse(Refusal)
    }

    package let channel: ChannelID
    package let owners: [MemberID: PublicKey]
    package let relays: [MemberID: PublicKey]
    /// Whether the channel asks for signed content.
    package let signsMessages: Bool
    /// The record's roster is empty: nobody but the owners has a role in which one writes.
    package let onlyOwnersPost: Bool

    package init(
        channel: ChannelID, owners: [MemberID: PublicKey], relays: [MemberID: PublicKey],
        signsMessages: Bool, onlyOwnersPost: Bool
    ) {
        self.channel = channel
        self.owners = owners
        self.relays = relays
        self.signsMessages = signsMessages
        self.onlyOwnersPost = onlyOwnersPost
    }

    /// `member`: what is known of somebody who is neither owner nor relay.
    package func judge(
        _ forward: ForwardElement, member: (MemberID) -> KnownMember?,
        verify: (_ signature: Signature, _ message: [UInt8], _ key: PublicKey) -> Bool
    ) -> Verdict {
        do throws(Refusal) {
            guard let admitted = try admit(forward, member: member, verify: verify) else { return .ignore }
            return .take(admitted)
        } catch {
            return .refuse(error)
        }
    }

    private func admit(
        _ forward: ForwardElement, member: (MemberID) -> KnownMember?,
        verify: (Signature, [UInt8], PublicKey) -> Bool
    ) throws(Refusal) -> Admitted? {
        guard let inner = try? Element.decode(forward.inner), let json = inner.json else { throw .malformed }
        let author = author(forward.sender, member)
        // Before anything that is written there is believed, the name of the event too.
        let finding = try check(inner, of: author, verify: verify)
        guard let event = try? Event.decode(json: json) else { throw .malformed }
        if case .other = event.params, !event.tag.isForwardable { return nil }
        switch event.params.misfit {
        case .unsupported: throw .unsupported
        case .malformed: throw .malformed
        case nil: break
        }
        guard let messageID = event.messageID else { throw .missingMessageID }
        let signature = try status(finding, event.tag, of: author)
        guard permits(event.params, author, isVerified: signature == .verified) else { throw .notPermitted }
        return Admitted(
            author: author?.id, authorName: author?.name, role: author?.role, event: event,
            messageID: messageID, signature: signature, time: Self.time(forward.timestamp),
            element: forward.inner)
    }

    // MARK: Who, and with which signature

    private struct Author {
        let id: MemberID
        let name: String
        let role: Role?
        let key: PublicKey?
    }

    /// Nil: the channel itself.
    private func author(_ sender: ForwardElement.Sender, _ member: (MemberID) -> KnownMember?) -> Author? {
        guard case .member(let id, let name) = sender else { return nil }
        if let key = owners[id] { return Author(id: id, name: name, role: .owner, key: key) }
        if let key = relays[id] { return Author(id: id, name: name, role: .relay, key: key) }
        let known = member(id)
        return Author(id: id, name: name, role: onlyOwnersPost ? .observer : known?.role, key: known?.key)
    }

    private enum Finding {
        case none
        case valid
        case unknownKey
    }

    private func check(
        _ element: Element, of author: Author?, verify: (Signature, [UInt8], PublicKey) -> Bool
    ) throws(Refusal) -> Finding {
        guard case .signed(let signed) = element else { return .none }
        guard signed.binding == SignedElement.groupBinding else { throw .wrongBinding }
        // A signature names its author.
        guard let author else { throw .notPermitted }
        guard let key = author.key else { return .unknownKey }
        switch signed.check(channel: channel, member: author.id, key: key, verify: verify) {
        case .valid: return .valid
        case .invalid: throw .badSignature
        case .wrongBinding: throw .wrongBinding
        }
    }

    private func status(
        _ finding: Finding, _ tag: EventTag, of author: Author?
    ) throws(Refusal) -> SignatureStatus {
        switch finding {
        case .valid: return .verified
        case .none:
            // What a relay may not store unsigned it cannot rightly deliver.
            if tag.mustBeSigned || (signsMessages && tag.mayBeSigned) { throw .signatureRequired }
            return .unsigned
        case .unknownKey:
            // Leaving and renaming oneself harms nobody where the author is nobody.
            let harmless = (tag == .grpLeave || tag == .info) && (author?.role ?? .observer) < .moderator
            if tag.mustBeSigned && !harmless { throw .signatureRequired }
            // An unknown signer's text is shown as such; its change would take a verified text away.
            if signsMessages && (tag == .msgUpdate || tag == .msgDel) { throw .signatureRequired }
            return .signedNoKey
        }
    }

    // MARK: Who may

    /// As the relay's PublishRules, as far as it does not depend on what is in the log.
    ///
    /// `role` nil: nobody told us of this member; the relay took them in, so plain content passes.
    private func permits(_ params: EventParams, _ author: Author?, isVerified: Bool) -> Bool {
        guard let author else {
            // The channel as the author.
            switch params {
            case .msgNew(let container): return container.asGroup
            case .msgUpdate(let update): return update.asGroup
            default: return false
            }
        }
        let role = author.role
        switch params {
        case .msgNew(let container):
            return (role.map(\.mayPost) ?? true) && (!container.asGroup || role == .owner)
        case .msgUpdate(let update):
            return (role.map(\.mayPost) ?? true) && (!update.asGroup || role == .owner)
        case .msgDel(let deletion):
            // Who may write no longer may still take back what they wrote.
            guard let other = deletion.memberID, other != author.id else {
                return !onlyOwnersPost || role == .owner
            }
            // Owners stand in the record; that somebody is a moderator is only the relay's word.
            return role == .owner || (isVerified && (role ?? .observer) >= .moderator)
        case .memDel(let deletion):
            // To go oneself is `x.grp.leave`.
            guard let role, role >= .moderator, deletion.memberID != author.id else { return false }
            return role == .owner || (owners[deletion.memberID] == nil && relays[deletion.memberID] == nil)
        case .grpInfo(let profile):
            return role == .owner && profile.publicGroup?.publicGroupID == channel
        case .grpPrefs, .grpDel:
            return role == .owner
        case .leave:
            return role != .owner || owners.count > 1
        case .msgReact, .info:
            return true
        default:
            return false
        }
    }

    /// A relay may say any number for a time; calendars, sums and people take these.
    private static func time(_ said: Int64) -> Int64 { min(max(said, 0), timeMax) }

    /// 9999-12-31T23:59:59Z. **Units**: seconds since 1970.
    package static let timeMax: Int64 = 253_402_300_799
}
