internal import ChannelWire
internal import RelayStore

/// A control link: an owner and a channel.
final class ControlSide {
    let channel: ChannelID
    let owner: MemberID
    /// The record that came with CONTROL, verified.
    let record: VerifiedRecord?
    /// The owner said that an invitation follows.
    let invitationFollows: Bool
    /// The key that the proof was checked with.
    var ownerKey: PublicKey?
    private var roster: RosterAssembly?

    init(channel: ChannelID, owner: MemberID, record: VerifiedRecord?, invitationFollows: Bool) {
        self.channel = channel
        self.owner = owner
        self.record = record
        self.invitationFollows = invitationFollows
    }

    /// DIRECT from the owner: an invitation, a roster with its chunks.
    func receive(_ body: [UInt8], _ session: LinkSession) {
        let crypto = session.loop.relay.crypto
        guard let ownerKey, let elements = try? Body.decode(body, crypto: crypto) else {
            return session.refuse(.badFrame)
        }
        let signed = elements.count { if case .success(.signed) = $0 { true } else { false } }
        guard signed <= Self.signedElementsMax else { return session.refuse(.rateLimited) }
        for element in elements {
            guard case .success(let element) = element else { return session.refuse(.malformedEvent) }
            switch ElementReading.direct(
                element, channel: channel, owner: owner, key: ownerKey, crypto: crypto)
            {
            case .failure(let code): return session.refuse(code.code)
            case .success(.invitation(let invitation, let ownerName)):
                session.ask(
                    .invite(
                        LedgerCommand.Invite(
                            channel: channel, linkOwner: owner, invitation: invitation, ownerName: ownerName,
                            record: record, source: session.invitationSource)), .invite,
                    bytes: element.bytes.count)
            case .success(.roster(let header, let message)): begin(header, message, session)
            case .success(.chunk(let chunk)): add(chunk, session)
            case .success(.ignored): break
            }
        }
    }

    /// Of one DIRECT. An owner has one or two to say; each costs a signature.
    static let signedElementsMax = 8

    /// A signed header: what an earlier one began is dropped.
    private func begin(_ header: RosterHeader, _ message: MessageID, _ session: LinkSession) {
        roster = try? RosterAssembly(header: header, message: message)
        if roster == nil { apply(header, nil, session) }
    }

    private func add(_ chunk: FileChunk, _ session: LinkSession) {
        // Chunks of a roster that was given up go nowhere.
        guard var assembly = roster else { return }
        do throws(WireError) {
            let whole = try assembly.add(chunk, sha512: session.loop.relay.crypto.sha512)
            roster = whole == nil ? assembly : nil
            if let whole { apply(assembly.header, whole, session) }
        } catch {
            roster = nil
            apply(assembly.header, nil, session)
        }
    }

    private func apply(_ header: RosterHeader, _ roster: Roster?, _ session: LinkSession) {
        session.ask(
            .applyRoster(
                LedgerCommand.ApplyRoster(
                    channel: channel, owner: owner, version: header.version, digest: header.fileDigest,
                    entries: roster?.entries)), .roster, bytes: roster == nil ? 0 : Int(header.fileSize))
    }
}

@available(*, unavailable)
extension ControlSide: Sendable {}
