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
        case signatureMissing = "sigMissing"
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

    package init(
        channel: ChannelID, owners: [MemberID: PublicKey], relays: [MemberID: PublicKey], signsMessages: Bool
    ) {
        self.channel = channel
        self.owners = owners
        self.relays = relays
        self.signsMessages = signsMessages
    }

    /// `member`: what is known of somebody who is neither owner nor relay.
    package func judge(
        _ forward: ForwardElement, member: (MemberID) -> KnownMember?,
        verify: (_ signature: Signature, _ message: [UInt8], _ key: PublicKey) -> Bool
    ) -> Verdict {
        let inner: Element
        let event: Event
        do throws(WireError) {
            inner = try Element.decode(forward.inner)
            guard let json = inner.json else { return .refuse(.malformed) }
            event = try Event.decode(json: json)
        } catch {
            return .refuse(.malformed)
        }
        if case .other = event.params { return event.tag.isForwardable ? .refuse(.unsupported) : .ignore }
        guard event.tag.isPublishable else { return .refuse(.unsupported) }
        guard let messageID = event.messageID else { return .refuse(.missingMessageID) }

        let author: MemberID?
        let name: String?
        let role: Role?
        let signature: SignatureStatus
        switch forward.sender {
        case .channel:
            guard case .plain = inner, Self.isAsGroup(event.params) else { return .refuse(.notPermitted) }
            (author, name, role) = (nil, nil, nil)
            if signsMessages, Self.changesMessage(event.params) { return .refuse(.signatureRequired) }
            signature = signsMessages ? .signatureMissing : .unsigned
        case .member(let id, let header):
            let known = member(id)
            (author, name) = (id, header)
            role = owners[id] != nil ? .owner : relays[id] != nil ? .relay : known?.role
            do throws(Refusal) {
                signature = try check(
                    inner, event.tag, of: id, key: owners[id] ?? relays[id] ?? known?.key, role: role,
                    verify: verify)
            } catch {
                return .refuse(error)
            }
            if signsMessages, signature != .verified, Self.changesMessage(event.params) {
                // An unsigned text is shown as such; an unsigned change would take a signed one away.
                return .refuse(.signatureRequired)
            }
            guard permits(event.params, author: id, role: role, isVerified: signature == .verified) else {
                return .refuse(.notPermitted)
            }
        }
        return .take(
            Admitted(
                author: author, authorName: name, role: role, event: event, messageID: messageID,
                signature: signature, time: Self.time(forward.timestamp), element: forward.inner))
    }

    private func check(
        _ element: Element, _ tag: EventTag, of author: MemberID, key: PublicKey?, role: Role?,
        verify: (Signature, [UInt8], PublicKey) -> Bool
    ) throws(Refusal) -> SignatureStatus {
        guard case .signed(let signed) = element else {
            if tag.mustBeSigned { throw .signatureRequired }
            return signsMessages && tag.mayBeSigned ? .signatureMissing : .unsigned
        }
        guard let key else {
            // Leaving and renaming oneself harms nobody where the author is nobody.
            let harmless = (tag == .grpLeave || tag == .info) && (role ?? .observer) < .moderator
            if tag.mustBeSigned && !harmless { throw .signatureRequired }
            return .signedNoKey
        }
        switch signed.check(channel: channel, member: author, key: key, verify: verify) {
        case .valid: return .verified
        case .invalid: throw .badSignature
        case .wrongBinding:
            if tag.mustBeSigned { throw .wrongBinding }
            return .signedNoKey
        }
    }

    /// `role` nil: nobody told us of this member; the relay took them in, so plain content passes.
    private func permits(_ params: EventParams, author: MemberID, role: Role?, isVerified: Bool) -> Bool {
        switch params {
        case .msgNew(let container):
            return (role.map(\.mayPost) ?? true) && (!container.asGroup || role == .owner)
        case .msgUpdate(let update):
            return (role.map(\.mayPost) ?? true) && (!update.asGroup || role == .owner)
        case .msgDel(let deletion):
            guard let other = deletion.memberID, other != author else { return role.map(\.mayPost) ?? true }
            // Owners stand in the record; that somebody is a moderator is only the relay's word.
            return role == .owner || (isVerified && (role ?? .observer) >= .moderator)
        case .memDel(let deletion):
            guard let role, role >= .moderator else { return false }
            return role == .owner || (owners[deletion.memberID] == nil && relays[deletion.memberID] == nil)
        case .grpInfo(let profile):
            return role == .owner && profile.publicGroup?.publicGroupID == channel
        case .grpPrefs, .grpDel:
            return role == .owner
        case .msgReact, .info, .leave:
            return true
        default:
            return false
        }
    }

    private static func changesMessage(_ params: EventParams) -> Bool {
        switch params {
        case .msgUpdate, .msgDel: true
        default: false
        }
    }

    /// A relay may say any number for a time; calendars, sums and people take these.
    private static func time(_ said: Int64) -> Int64 { min(max(said, 0), timeMax) }

    /// 9999-12-31T23:59:59Z. **Units**: seconds since 1970.
    package static let timeMax: Int64 = 253_402_300_799

    private static func isAsGroup(_ params: EventParams) -> Bool {
        switch params {
        case .msgNew(let container): container.asGroup
        case .msgUpdate(let update): update.asGroup
        default: false
        }
    }
}
