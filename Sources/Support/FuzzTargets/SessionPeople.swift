internal import ChannelWire
internal import SodiumCrypto

/// Who takes part in the sessions: one channel, its owner, and readers. Their keys are always the same.
struct SessionPeople {
    struct Person {
        let id: MemberID
        let pair: Ed25519.KeyPair

        init(_ number: UInt8) {
            guard let id = MemberID(bytes: Array("member\(number)".utf8)) else {
                preconditionFailure("a few letters are a member id")
            }
            self.id = id
            pair = Ed25519.KeyPair(seed: SecretBytes([UInt8](repeating: number, count: 32)))
        }

        var key: PublicKey {
            guard let key = PublicKey(raw: pair.publicKey) else { preconditionFailure("32 bytes are a key") }
            return key
        }

        func sign(_ message: [UInt8]) -> Signature {
            guard let signature = Signature(bytes: Ed25519.sign(message, with: pair)) else {
                preconditionFailure("64 bytes are a signature")
            }
            return signature
        }

        func element(_ json: [UInt8]) -> [UInt8] {
            Signing.element(json: json, channel: SessionPeople.channelID, member: id, sign: sign)
        }
    }

    static let root = Person(1)
    static let owner = Person(2)
    static let readers = [Person(3), Person(4), Person(5)]
    static let relayMember = Person(6).id
    static let channelID = ChannelID(rootKey: root.key, sha256: { Sodium.sha256($0) })

    var version: Int64 = 1
    var relays: [ChannelRecord.Relay] = []

    func record(version: Int64? = nil, profile: [UInt8]? = nil) -> [UInt8] {
        let link = "https://relay.example/c#\(Self.channelID.unpaddedText)"
        let standard = GroupProfile(
            displayName: "news", publicGroup: PublicGroup(groupLink: link, publicGroupID: Self.channelID))
        let content = ChannelRecord.Content(
            rootKey: Self.root.key, version: version ?? self.version,
            owners: [OwnerAuth(owner: Self.owner.id, key: Self.owner.key) { Self.root.sign($0) }],
            relays: relays, rosterVersion: -1, rosterDigest: [], memberCount: 1,
            profile: profile ?? standard.encode())
        return ChannelRecord.make(content, signer: nil) { Self.root.sign($0) }?.bytes ?? []
    }

    func control(_ hash: [UInt8], invites: Bool, record: [UInt8]) -> Frame {
        let proof = ProofOfKey.control.input(
            handshakeHash: hash, channel: Self.channelID, member: Self.owner.id)
        return .control(
            Frame.Control(
                channel: Self.channelID, owner: Self.owner.id, signature: Self.owner.sign(proof),
                invitationFollows: invites, record: record))
    }

    static func invitation() -> [UInt8] {
        owner.element(
            Event(
                params: .relayInv(
                    RelayInvitation(
                        fromMember: MemberAndRole(memberID: owner.id, role: .owner),
                        fromMemberProfile: Profile(displayName: "alice"), relayMemberID: relayMember,
                        groupLink: "https://relay.example/c#\(channelID.unpaddedText)"))
            ).encode())
    }

    static func join(_ person: Person) -> Frame {
        let request = JoinRequest(
            profile: Profile(displayName: "bob"), memberID: person.id, memberKey: person.key,
            viaRelay: relayMember)
        return .join(
            channel: channelID, element: person.element(Event(params: .member(request)).encode()))
    }

    static func attach(_ person: Person, _ hash: [UInt8], _ start: Frame.Start) -> Frame {
        let proof = ProofOfKey.attach.input(handshakeHash: hash, channel: channelID, member: person.id)
        return .attach(
            Frame.Attach(channel: channelID, member: person.id, signature: person.sign(proof), start: start))
    }
}
