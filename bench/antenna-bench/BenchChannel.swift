internal import ChannelWire
internal import Operations
internal import SodiumCrypto

/// Somebody in a channel, with a fresh key.
struct Person {
    let id = MemberID(random: Sodium.random(12))
    let pair = Ed25519.KeyPair.generate()

    var key: PublicKey { Person.key(pair) }

    static func key(_ pair: Ed25519.KeyPair) -> PublicKey {
        guard let key = PublicKey(raw: pair.publicKey) else {
            preconditionFailure("an Ed25519 key has 32 bytes")
        }
        return key
    }

    static func sign(_ message: [UInt8], _ pair: Ed25519.KeyPair) -> Signature {
        guard let signature = Signature(bytes: Ed25519.sign(message, with: pair)) else {
            preconditionFailure("an Ed25519 signature has 64 bytes")
        }
        return signature
    }

    func element(_ channel: ChannelID, _ event: Event) -> [UInt8] {
        Signing.element(json: event.encode(), channel: channel, member: id) { Person.sign($0, pair) }
    }

    func attach(_ channel: ChannelID, _ link: BenchLink) -> Frame {
        let input = ProofOfKey.attach.input(handshakeHash: link.handshakeHash, channel: channel, member: id)
        return .attach(
            Frame.Attach(channel: channel, member: id, signature: Person.sign(input, pair), start: .live))
    }
}

/// A channel as its owner has it: keys, record, messages.
final class BenchChannel {
    let owner = Person()
    let id: ChannelID
    private let root = Ed25519.KeyPair.generate()
    private let relayMember = MemberID(random: Sodium.random(12))
    private let groupLink: String
    private var version: Int64 = 1
    private var relays: [ChannelRecord.Relay] = []

    init(_ relay: RelayPlace) {
        id = ChannelID(rootKey: Person.key(root), sha256: { Sodium.sha256($0) })
        groupLink = AntennaLink.channel(id, hosts: [relay.host]).text()
    }

    private func record() throws(OperatorError) -> [UInt8] {
        let profile = GroupProfile(
            displayName: "bench", publicGroup: PublicGroup(groupLink: groupLink, publicGroupID: id))
        let content = ChannelRecord.Content(
            rootKey: Person.key(root), version: version,
            owners: [OwnerAuth(owner: owner.id, key: owner.key) { Person.sign($0, self.root) }],
            relays: relays,
            rosterVersion: -1, rosterDigest: [], memberCount: 1, profile: profile.encode())
        guard let record = ChannelRecord.make(content, signer: nil, sign: { Person.sign($0, self.root) })
        else {
            throw OperatorError(.internalDefect, "the channel's record could not be made")
        }
        return record.bytes
    }

    // MARK: - Becoming a channel of the relay

    /// CONTROL with the record, and the invitation.
    func invitation(_ link: BenchLink) throws(OperatorError) -> [Frame] {
        let input = ProofOfKey.control.input(handshakeHash: link.handshakeHash, channel: id, member: owner.id)
        let event = Event(
            params: .relayInv(
                RelayInvitation(
                    fromMember: MemberAndRole(memberID: owner.id, role: .owner),
                    fromMemberProfile: Profile(displayName: "bench"), relayMemberID: relayMember,
                    groupLink: groupLink)))
        return [
            .control(
                Frame.Control(
                    channel: id, owner: owner.id, signature: Person.sign(input, owner.pair),
                    invitationFollows: true, record: try record())),
            .direct(body: owner.element(id, event)),
        ]
    }

    /// Takes the relay's acceptance into the record. Returns: RECORD_PUT with request 1.
    func accepted(_ body: [UInt8]) throws(OperatorError) -> Frame {
        guard let event = try? Event.decode(json: body) else {
            throw .unexpected("an answer that is no event")
        }
        guard case .relayAcpt(let acceptance) = event.params,
            let link = try? AntennaLink.parse(acceptance.relayLink),
            case .relayChannel(let key, let host) = link, let identity = host.identity
        else { throw .unexpected("the relay did not take the channel: \(event.tag.rawValue)") }
        version += 1
        relays = [
            ChannelRecord.Relay(member: relayMember, key: key, identity: identity, link: acceptance.relayLink)
        ]
        return .recordPut(request: 1, record: try record())
    }

    // MARK: - People

    func join(_ person: Person) -> Frame {
        let event = Event(
            params: .member(
                JoinRequest(
                    profile: Profile(displayName: "reader"), memberID: person.id, memberKey: person.key,
                    viaRelay: relayMember)))
        return .join(channel: id, element: person.element(id, event))
    }

    // MARK: - Messages

    private var filler = 0

    /// Makes every message from now on an element of exactly so many bytes.
    func setMessageBytes(_ size: Int) throws(OperatorError) {
        filler = 0
        let least = message(0).count
        guard size >= least else {
            throw OperatorError(
                .badValue, "a signed message has at least \(least) bytes",
                hint: "give --size \(least) or more")
        }
        filler = size - least
    }

    /// A signed `x.msg.new` of the owner, different for each number.
    func message(_ number: Int) -> [UInt8] {
        let digits = String(number)
        let text =
            String(repeating: "0", count: max(0, 9 - digits.count)) + digits
            + String(repeating: "x", count: filler)
        return owner.element(
            id,
            Event(
                messageID: MessageID(random: Sodium.random(12)),
                params: .msgNew(MessageContainer(content: MessageContent(text: text)))))
    }
}
