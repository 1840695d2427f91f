import ChannelWire
import RelayCore
import SQLiteKit
import SodiumCrypto

/// What owners do on their control links: open, invite, put records, hand over rosters.
extension RelayLedger {
    // MARK: States that refuse

    /// What a link gets to hear where the channel is not served.
    func unservedCode(_ channel: ChannelState?, _ id: ChannelID) throws(SQLiteError) -> LinkErrorCode? {
        guard let channel else { return try isRefused(id) ? .channelRejected : .unknownChannel }
        if channel.admission.isServing { return nil }
        switch channel.admission.state {
        case .rejected: return .channelRejected
        case .inactive: return channel.deleted ? .channelDeleted : .channelInactive
        default: return .unknownChannel
        }
    }

    func isRefused(_ id: ChannelID) throws(SQLiteError) -> Bool {
        try database.first("SELECT 1 FROM refusals WHERE channel_id = ?", [.blob(id.bytes)]) { _ in true }
            ?? false
    }

    /// The relay's own status: the refusal first, then the channel's row.
    func admission(_ id: ChannelID, _ channel: ChannelState?) throws(SQLiteError) -> Admission {
        if let channel { return channel.admission }
        return Admission(try isRefused(id) ? .rejected : .none)
    }

    // MARK: CONTROL

    func openControl(_ control: LedgerCommand.OpenControl) throws(SQLiteError) -> LedgerReply {
        let channel = try book.find(control.channel)
        let admission = try admission(control.channel, channel)
        let stored = channel?.recordVersion ?? 0
        let isNews = control.record.map { $0.version > stored } ?? false
        let key: PublicKey
        if let record = control.record, record.version >= stored {
            guard let owner = record.content.owners.first(where: { $0.owner == control.owner }) else {
                return .refused(.notOwner)
            }
            key = owner.key
        } else if let channel {
            // A deleted channel has only former owners; they may still hear what has become of it.
            guard let owner = try members.find(control.owner, in: channel), owner.view.role == .owner,
                owner.view.status == .current || channel.deleted
            else { return .refused(.notOwner) }
            key = owner.view.key
        } else {
            return .refused(admission.state == .rejected ? .channelRejected : .unknownChannel)
        }
        let isRejected = admission.state == .rejected
        return .control(
            ControlView(
                ownerKey: key, status: admission.state, recordVersion: stored,
                refusal: isRejected ? .rejoinRejected : nil,
                recordIsNews: isNews && channel != nil && !isRejected))
    }

    // MARK: Invitations

    func invite(_ invite: LedgerCommand.Invite, _ now: Int64) throws(SQLiteError) -> LedgerReply {
        let channel = try book.find(invite.channel)
        var admission = try admission(invite.channel, channel)
        let invitation = invite.invitation

        // A refused channel is not looked into any further: `Admission` has the one answer.
        if admission.state != .rejected {
            let answer = try check(invite, channel)
            switch answer {
            case .fits: break
            case .reject(let refusal): return .invitation(.reject(refusal))
            case .refuse(let code): return .refused(code)
            }
        }
        let answer = admission.inviteReceived(
            policy: options.admission, sameRelayMember: channel?.relay?.id == invitation.relayMember,
            turnedDown: try turnedDown(invite.channel, invitation.relayMember),
            room: try room(for: invite.source, now))
        switch answer {
        case .reject(let refusal):
            return .invitation(.reject(refusal))
        case .comeBack(let milliseconds):
            return .invitation(.comeBack(afterMilliseconds: milliseconds))
        case .repeatAcceptance:
            guard let relay = channel?.relay else {
                return .failed(.internal("a served channel has a relay member"))
            }
            return .invitation(.accept(relay.view))
        case .hold, .goOnHolding:
            guard let held = try adopt(invite, admission, channel, now) else {
                return .refused(.recordInvalid)
            }
            try database.run(
                """
                INSERT INTO invitations (channel, owner_id, owner_name, relay_member_id, invited_at)
                VALUES (?, ?, ?, ?, ?)
                ON CONFLICT (channel) DO UPDATE SET owner_id = excluded.owner_id,
                    owner_name = excluded.owner_name, relay_member_id = excluded.relay_member_id
                """,
                [
                    .integer(held.row), .blob(invite.linkOwner.bytes), .text(invite.ownerName),
                    .blob(invitation.relayMember.bytes), .integer(now),
                ])
            spend(answer, invite, now)
            return .invitation(.hold)
        case .accept:
            guard let accepted = try adopt(invite, admission, channel, now) else {
                return .refused(.recordInvalid)
            }
            let relay = try accept(accepted, as: invitation.relayMember, now)
            try members.setName(invite.ownerName, of: invite.linkOwner, in: accepted)
            spend(answer, invite, now)
            return .invitation(.accept(relay.view))
        }
    }

    private func spend(_ answer: Admission.InvitationAnswer, _ invite: LedgerCommand.Invite, _ now: Int64) {
        guard answer.takesUp, let source = invite.source else { return }
        allowance.spend(source, perDay: options.invitationsPerSourceMax, now: now)
    }

    private func check(
        _ invite: LedgerCommand.Invite, _ channel: ChannelState?
    ) throws(SQLiteError) -> InvitationCheck.Answer {
        guard DisplayName.problem(invite.ownerName) == nil else { return .refuse(.invitationInvalid) }
        var owners: [MemberID] = []
        if let record = invite.record, record.version > (channel?.recordVersion ?? 0) {
            guard record.channel == invite.channel else { return .reject(.invalidRecord) }
            owners = record.content.owners.map(\.owner)
        } else if let channel {
            owners = try members.owners(in: channel).map { $0.view.id }
            // A deleted channel that is taken up again has only former owners; its record still names them.
            if owners.isEmpty, let record = invite.record { owners = record.content.owners.map(\.owner) }
        } else {
            return .reject(.invalidRecord)
        }
        let wanted = invite.invitation.relayMember
        var isMember = false
        if let channel, wanted != channel.relay?.id {
            let member = try members.find(wanted, in: channel)
            let pin = try members.pin(of: wanted, in: channel)
            isMember = member != nil || pin != nil
        }
        return InvitationCheck.check(
            invite.invitation, channel: invite.channel, linkOwner: invite.linkOwner, owners: owners,
            isMember: isMember)
    }

    /// The channel with its row, its record the newest of those known.
    private func adopt(
        _ invite: LedgerCommand.Invite, _ admission: Admission, _ known: ChannelState?, _ now: Int64
    ) throws(SQLiteError) -> ChannelState? {
        if let channel = known {
            channel.admission = admission
            if let record = invite.record,
                record.version > channel.recordVersion || record.bytes == channel.record
            {
                channel.record = record.bytes
                channel.recordVersion = record.version
                channel.take(ProfileView(record))
                try follow(record, channel, now)
            }
            return channel
        }
        guard let record = invite.record else { return nil }
        let channel = try book.insert(
            invite.channel, admission: admission, record: record.bytes, recordVersion: record.version,
            profile: ProfileView(record), now: now)
        try follow(record, channel, now)
        return channel
    }

    /// Makes the relay a member under an id that an owner gave it, with a key of its own making.
    func accept(_ channel: ChannelState, as id: MemberID, _ now: Int64) throws(SQLiteError) -> RelayMember {
        let relay = RelayMember(id: id, keyPair: .generate())
        channel.relay = relay
        channel.deleted = false
        try book.save(channel, statusAt: now)
        try database.run("DELETE FROM invitations WHERE channel = ?", [.integer(channel.row)])
        try database.run("DELETE FROM turned_down WHERE channel_id = ?", [.blob(channel.id.bytes)])
        notices.append(.statusChanged(channel.id, channel.admission.state))
        return relay
    }

    func room(
        for source: InvitationAllowance.Source? = nil, _ now: Int64 = 0
    ) throws(SQLiteError) -> Admission.Room {
        Admission.Room(
            forChannel: try book.servingCount() < options.channelsMax,
            forPending: try number("SELECT count(*) FROM invitations") < options.pendingInvitationsMax,
            waitOfSource: source.map {
                allowance.wait(of: $0, perDay: options.invitationsPerSourceMax, now: now)
            } ?? 0)
    }

    private func turnedDown(_ id: ChannelID, _ relayMember: MemberID) throws(SQLiteError)
        -> InvitationRefusal?
    {
        try database.first(
            "SELECT words FROM turned_down WHERE channel_id = ? AND relay_member_id = ?",
            [.blob(id.bytes), .blob(relayMember.bytes)]
        ) { .byOperator($0.textOrNil(0)) }
    }

    // MARK: Records

    func record(_ id: ChannelID) throws(SQLiteError) -> LedgerReply {
        let channel = try book.find(id)
        if let code = try unservedCode(channel, id) { return .refused(code) }
        guard let channel else { return .refused(.unknownChannel) }
        return .record(channel.record, version: channel.recordVersion)
    }

    func putRecord(_ put: LedgerCommand.PutRecord, _ now: Int64) throws(SQLiteError) -> LedgerReply {
        let record = put.record
        guard let channel = try book.find(record.channel) else {
            return .refused(try isRefused(record.channel) ? .channelRejected : .unknownChannel)
        }
        switch channel.admission.state {
        case .rejected: return .refused(.channelRejected)
        case .inactive: return .refused(channel.deleted ? .channelDeleted : .channelInactive)
        default: break
        }
        let isOwner = try members.find(put.owner, in: channel).map { $0.view.role == .owner } ?? false
        guard isOwner || record.content.owners.contains(where: { $0.owner == put.owner }) else {
            return .refused(.notOwner)
        }
        guard record.version >= channel.recordVersion else { return .refused(.recordStale) }
        if record.version == channel.recordVersion {
            return record.bytes == channel.record
                ? .recordStored(version: record.version) : .refused(.recordConflict)
        }
        channel.record = record.bytes
        channel.recordVersion = record.version
        channel.take(ProfileView(record))
        try follow(record, channel, now)
        if channel.admission.isServing {
            notices.append(.recordChanged(channel.id, record: record.bytes, version: record.version))
        }
        let hasOwnEntry = record.content.relays.contains {
            $0.member == channel.relay?.id && $0.key.raw == channel.relay?.keyPair.publicKey
        }
        try settle(channel.admission.recordSeen(hasOwnEntry: hasOwnEntry), channel, .channelInactive, now)
        return .recordStored(version: record.version)
    }

    private func follow(_ record: VerifiedRecord, _ channel: ChannelState, _ now: Int64) throws(SQLiteError) {
        let former = try members.follow(
            record.content.owners.map { ($0.owner, $0.key) }, now: now, in: channel)
        for id in former { notices.append(.membershipEnded(channel.id, id, .memberRemoved)) }
    }

    /// Stores what an event made of the relay's own status, and tells who must know.
    func settle(
        _ change: Admission.Change, _ channel: ChannelState, _ code: LinkErrorCode, _ now: Int64
    ) throws(SQLiteError) {
        switch change {
        case .unchanged:
            try book.save(channel)
        case .changed(let state):
            try book.save(channel, statusAt: now)
            notices.append(.statusChanged(channel.id, state))
        case .ended:
            try book.save(channel, statusAt: now)
            notices.append(.statusChanged(channel.id, channel.admission.state))
            notices.append(.channelEnded(channel.id, code, nil))
        }
    }

    // MARK: Rosters

    func applyRoster(_ roster: LedgerCommand.ApplyRoster, _ now: Int64) throws(SQLiteError) -> LedgerReply {
        let found = try book.find(roster.channel)
        if let code = try unservedCode(found, roster.channel) { return .refused(code) }
        guard let channel = found else { return .refused(.unknownChannel) }
        guard let owner = try members.find(roster.owner, in: channel), owner.view.role == .owner,
            owner.view.status == .current
        else { return .refused(.notOwner) }
        guard let entries = roster.entries, entries.allSatisfy(\.role.isRosterRole),
            Set(entries.map(\.member)).count == entries.count
        else { return .rosterAck(version: roster.version, error: "the roster does not decode") }
        // An older one is answered with what is in force: the owner ignores an acknowledgement of another
        // version.
        guard roster.version >= channel.rosterVersion else {
            return .rosterAck(version: channel.rosterVersion, error: nil)
        }
        // The record anchors the roster it was published with.
        if let anchor = try? ChannelRecord.decode(channel.record).content,
            anchor.rosterVersion == roster.version,
            anchor.rosterDigest != roster.digest
        {
            return .rosterAck(
                version: roster.version, error: "the record has another digest for this version")
        }
        for (member, role) in try members.replacePins(entries, in: channel) {
            notices.append(.roleChanged(channel.id, member, role))
        }
        channel.rosterVersion = roster.version
        try settle(channel.admission.rosterAcked(), channel, .channelInactive, now)
        return .rosterAck(version: roster.version, error: nil)
    }
}

extension RelayMember {
    var view: RelayIdentityView {
        guard let key = PublicKey(raw: keyPair.publicKey) else {
            preconditionFailure("a key pair has a public key of 32 bytes")
        }
        return RelayIdentityView(memberID: id, memberKey: key)
    }
}
