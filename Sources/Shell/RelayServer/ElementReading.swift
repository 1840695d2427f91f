internal import ChannelWire
internal import RelayCore
internal import RelayStore

/// From the bytes that clients send to what the ledger decides about: decoding and signatures, once a
/// message, on the loop. Whatever depends on state is left to the ledger.
enum ElementReading {
    // MARK: JOIN

    /// A signed `x.member`, signed with the key that it brings and for the id that it brings.
    static func join(
        _ bytes: [UInt8], channel: ChannelID, crypto: ChannelCrypto
    ) -> Result<Membership.Join, Refusal> {
        guard let element = try? Element.decode(bytes) else { return .refuse(.malformedEvent) }
        guard case .signed(let signed) = element else { return .refuse(.signatureRequired) }
        guard let event = try? Event.decode(json: signed.json) else { return .refuse(.malformedEvent) }
        guard case .member(let request) = event.params else { return .refuse(.unsupportedEvent) }
        switch signed.check(
            channel: channel, member: request.memberID, key: request.memberKey, verify: crypto.verify)
        {
        case .valid: break
        case .invalid: return .refuse(.badSignature)
        case .wrongBinding: return .refuse(.wrongBinding)
        }
        return .success(
            Membership.Join(
                id: request.memberID, key: request.memberKey, displayName: request.profile.displayName,
                viaRelay: request.viaRelay))
    }

    // MARK: PUBLISH

    /// The elements of one PUBLISH body, each for itself, a few at a time.
    struct Publishing {
        let request: UInt32
        let bodyBytes: Int
        private var elements: ArraySlice<Result<Element, WireError>>
        private(set) var items: [PublishItem] = []

        /// Throws: only where the body cannot be divided.
        init(request: UInt32, body: [UInt8], crypto: ChannelCrypto) throws(Refusal) {
            self.request = request
            bodyBytes = body.count
            do throws(WireError) {
                elements = try Body.decode(body, crypto: crypto)[...]
            } catch {
                switch error {
                case .tooLarge: throw Refusal(code: .tooLarge)
                case .truncated, .tooMany, .malformed: throw Refusal(code: .badFrame)
                }
            }
        }

        /// Whether every element has its item.
        var isWhole: Bool { elements.isEmpty }

        /// Checks the next few.
        mutating func check(
            channel: ChannelID, author: MemberID, key: PublicKey, messageBytesMax: Int, crypto: ChannelCrypto
        ) {
            // Here, since room made in `init` would be copied with the value.
            if items.isEmpty { items.reserveCapacity(elements.count) }
            for result in elements.prefix(Self.elementsAtOnce) {
                switch result {
                case .failure(.tooLarge): items.append(.refused(.messageTooLarge))
                case .failure: items.append(.refused(.malformedEvent))
                case .success(let element):
                    items.append(item(element, channel, author, key, messageBytesMax, crypto))
                }
            }
            elements = elements.dropFirst(Self.elementsAtOnce)
        }

        /// About a quarter of a millisecond of signatures.
        static let elementsAtOnce = 4
    }

    private static func item(
        _ element: Element, _ channel: ChannelID, _ author: MemberID, _ key: PublicKey,
        _ messageBytesMax: Int,
        _ crypto: ChannelCrypto
    ) -> PublishItem {
        let bytes = element.bytes
        guard bytes.count <= messageBytesMax else { return .refused(.messageTooLarge) }
        guard let json = element.json else { return .refused(.unsupportedEvent) }
        var isSigned = false
        if case .signed(let signed) = element {
            switch signed.check(channel: channel, member: author, key: key, verify: crypto.verify) {
            case .valid: isSigned = true
            case .invalid: return .refused(.badSignature)
            case .wrongBinding: return .refused(.wrongBinding)
            }
        }
        guard let event = try? Event.decode(json: json) else { return .refused(.malformedEvent) }
        guard
            let command = LedgerCommand.Publish(
                channel: channel, author: author, event: event, isSigned: isSigned, element: bytes)
        else { return .refused(.missingMessageID) }
        return .command(command)
    }

    // MARK: DIRECT

    /// What an owner says on its control link.
    enum Direct {
        case invitation(InvitationCheck.Invitation, ownerName: String)
        case roster(RosterHeader, MessageID)
        case chunk(FileChunk)
        /// An event of a later version, or one that a relay has no use for.
        case ignored
    }

    static func direct(
        _ element: Element, channel: ChannelID, owner: MemberID, key: PublicKey, crypto: ChannelCrypto
    ) -> Result<Direct, Refusal> {
        if case .fileChunk(let chunk) = element { return .success(.chunk(chunk)) }
        guard let json = element.json, let event = try? Event.decode(json: json) else {
            return .refuse(.malformedEvent)
        }
        var isSigned = false
        if case .signed(let signed) = element {
            switch signed.check(channel: channel, member: owner, key: key, verify: crypto.verify) {
            case .valid: isSigned = true
            case .invalid: return .refuse(.badSignature)
            case .wrongBinding: return .refuse(.wrongBinding)
            }
        }
        switch event.params {
        case .relayInv(let invitation):
            var linked: ChannelID?
            if case .channel(let id, _)? = try? AntennaLink.parse(invitation.groupLink) { linked = id }
            return .success(
                .invitation(
                    InvitationCheck.Invitation(
                        owner: invitation.fromMember.memberID, relayMember: invitation.relayMemberID,
                        linkedChannel: linked, isSigned: isSigned),
                    ownerName: invitation.fromMemberProfile.displayName))
        case .roster(let header):
            guard isSigned else { return .refuse(.signatureRequired) }
            guard let messageID = event.messageID else { return .refuse(.missingMessageID) }
            return .success(.roster(header, messageID))
        default:
            return .success(.ignored)
        }
    }

    /// The challenge of an `x.grp.relay.test` that stands alone.
    static func test(_ elements: [Result<Element, WireError>]) -> [UInt8]? {
        guard elements.count == 1, case .success(let element) = elements[0], let json = element.json,
            let event = try? Event.decode(json: json), case .relayTest(let test) = event.params,
            test.signature == nil
        else { return nil }
        return test.challenge
    }

    /// Why a client's bytes go no further.
    struct Refusal: Error, CustomStringConvertible {
        let code: LinkErrorCode

        var description: String { code.sentence }
    }
}

extension Result where Failure == ElementReading.Refusal {
    fileprivate static func refuse(_ code: LinkErrorCode) -> Result {
        .failure(ElementReading.Refusal(code: code))
    }
}
