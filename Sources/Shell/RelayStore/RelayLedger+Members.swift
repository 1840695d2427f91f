import ChannelWire
import RelayCore
import SQLiteKit
import SodiumCrypto

/// What members do: join, attach, publish.
extension RelayLedger {
    // MARK: JOIN

    func join(_ command: LedgerCommand.Join, _ now: Int64) throws(SQLiteError) -> LedgerReply {
        let found = try book.find(command.channel)
        if let code = try unservedCode(found, command.channel) { return .refused(code) }
        guard let channel = found, let relay = channel.relay else { return .refused(.unknownChannel) }
        let join = command.join
        let answer = Membership.join(
            join, relay: relay.id, known: try members.find(join.id, in: channel)?.known,
            pinned: try members.pin(of: join.id, in: channel), memberCount: channel.memberCount,
            memberMax: options.membersPerChannelMax)
        switch answer {
        case .refuse(let code):
            return .refused(code)
        case .again(let role):
            return .joined(try joinedView(join.id, role, relay, channel, isNew: false))
        case .admit(let role):
            let member = try members.insert(
                join.id, key: join.key, role: role, name: join.displayName, now: now, in: channel)
            notices.append(.memberJoined(channel.id, member))
            return .joined(try joinedView(join.id, role, relay, channel, isNew: true))
        }
    }

    private func joinedView(
        _ member: MemberID, _ role: Role, _ relay: RelayMember, _ channel: ChannelState, isNew: Bool
    ) throws(SQLiteError) -> JoinedView {
        JoinedView(
            member: member, role: role, relay: relay.view,
            owners: try members.owners(in: channel).map(\.view),
            profile: channel.profile, isNew: isNew)
    }

    // MARK: ATTACH

    func attach(_ attach: LedgerCommand.Attach) throws(SQLiteError) -> LedgerReply {
        let found = try book.find(attach.channel)
        if let code = try unservedCode(found, attach.channel) { return .refused(code) }
        guard let channel = found else { return .refused(.unknownChannel) }
        guard let member = try members.find(attach.member, in: channel) else {
            return .refused(.unknownMember)
        }
        guard member.view.status == .current else { return .refused(.memberRemoved) }
        let window = LogWindow(
            epoch: LogEpoch.ofLog(channel, in: epoch), first: channel.first, head: channel.head)
        let resume = try window.resolve(attach.start) { (count: Int) throws(SQLiteError) in
            try log.newest(min(count, Limits.newSubscriberHistoryMax), in: channel)
        }
        return .attached(
            AttachedView(
                memberKey: member.view.key, name: member.view.name, role: member.view.role, window: window,
                resume: resume, recordVersion: channel.recordVersion, relay: channel.relay?.id))
    }

    // MARK: PUBLISH

    func publish(_ publish: LedgerCommand.Publish, _ now: Int64) throws(SQLiteError) -> PublishReply {
        let found = try book.find(publish.channel)
        if let code = try unservedCode(found, publish.channel) { return .refused(code) }
        guard let channel = found else { return .refused(.unknownChannel) }
        guard let author = try members.author(publish.author, in: channel) else {
            return .refused(.unknownMember)
        }
        guard author.view.status == .current else { return .refused(.memberRemoved) }
        guard publish.element.count <= options.messageBytesMax else { return .refused(.messageTooLarge) }

        let digest = Sodium.sha256(publish.element)
        let own = try slot(publish.author, publish.messageID, digest, in: channel)
        let decision = PublishRules.decide(
            publish.intent, tag: publish.tag, isSigned: publish.isSigned,
            by: PublishRules.Author(id: publish.author, role: author.view.role),
            in: PublishRules.Channel(
                id: channel.id, signMessages: channel.signMessages,
                ownerCount: try ownerCount(publish, channel),
                relay: channel.relay?.id),
            own: own,
            found: try look(PublishRules.question(for: publish.intent, by: publish.author), in: channel))
        switch decision {
        case .repeated(let sequence): return .repeated(sequence: sequence)
        case .refuse(let code): return .refused(code)
        case .store(let sender, let effect):
            return try store(publish, sender, effect, author, digest, channel, now)
        }
    }

    private func store(
        _ publish: LedgerCommand.Publish, _ sender: PublishRules.Sender, _ effect: PublishRules.Effect,
        _ author: MemberTable.Member, _ digest: [UInt8], _ channel: ChannelState, _ now: Int64
    ) throws(SQLiteError) -> PublishReply {
        channel.time = max(channel.time, now)
        let forward = ForwardElement(
            sender: sender == .channel ? .channel : .member(publish.author, name: author.view.name),
            timestamp: channel.time, inner: publish.element)
        guard forward.bytes.count <= Limits.batchElementMax else { return .refused(.messageTooLarge) }
        let amends: MessageID? = if case .edit(let id, _) = publish.intent { id } else { nil }
        let entry = try log.append(
            LogTable.Draft(
                author: publish.author, messageID: publish.messageID, tag: publish.tag.rawValue,
                amends: amends,
                forward: forward.bytes),
            digest: digest, to: channel)
        notices.append(.appended(entry))
        try apply(effect, of: publish, author, channel, now)
        if let excess = options.retention.excessAfterAppend(messages: channel.count, bytes: channel.bytes) {
            _ = try log.prune(excess, in: channel)
        }
        return .stored(sequence: entry.sequence)
    }

    private func slot(
        _ author: MemberID, _ message: MessageID, _ digest: [UInt8], in channel: ChannelState
    ) throws(SQLiteError) -> PublishRules.Slot {
        switch try log.place(author, message, in: channel) {
        case .stored(let sequence, let known): .stored(sequence: sequence, isSame: known == digest)
        case .erased: .erased
        case .free: .free
        }
    }

    private func look(
        _ question: PublishRules.Question, in channel: ChannelState
    ) throws(SQLiteError) -> PublishRules.Found {
        switch question {
        case .nothing:
            return .nothing
        case .message(let author, let id):
            return .message(try slot(author, id, [], in: channel))
        case .member(let id):
            let member = try members.find(id, in: channel)
            return .member(member?.view.status == .current ? member?.view.role : nil)
        }
    }

    /// Only a leave asks for it, so that messages do not pay for the count.
    private func ownerCount(
        _ publish: LedgerCommand.Publish, _ channel: ChannelState
    ) throws(SQLiteError) -> Int64 {
        publish.intent == .leave ? Int64(try members.owners(in: channel).count) : 0
    }

    // MARK: Effects

    private func apply(
        _ effect: PublishRules.Effect, of publish: LedgerCommand.Publish, _ author: MemberTable.Member,
        _ channel: ChannelState, _ now: Int64
    ) throws(SQLiteError) {
        switch effect {
        case .none:
            break
        case .erase(let target, let id):
            erased(through: try log.erase(target, id, in: channel, now: now), channel)
        case .replaceProfile, .replacePreferences, .rename:
            try replace(publish, channel)
        case .endMembership(let id, let state, let eraseMessages):
            guard let member = try members.find(id, in: channel) else { break }
            try members.setStatus(state, of: member, in: channel)
            if eraseMessages {
                erased(through: try log.eraseAll(of: id, in: channel, now: now), channel)
            }
            notices.append(.membershipEnded(channel.id, id, .memberRemoved))
        case .relayRemoved:
            try settle(channel.admission.removedByOwner(), channel, .channelInactive, now)
        case .deleteChannel:
            // The deletion itself stays, so that readers who lag behind still come to it.
            _ = try log.prune(through: channel.head - 1, in: channel)
            try members.endAll(in: channel)
            for table in ["roster", "tombstones", "invitations"] {
                try database.run("DELETE FROM \(table) WHERE channel = ?", [.integer(channel.row)])
            }
            channel.deleted = true
            erased(through: channel.head - 1, channel)
            try settle(channel.admission.channelDeleted(), channel, .channelDeleted, now)
        }
    }

    /// Text is gone from the log: it must leave the memory of others and the write-ahead log, too.
    private func erased(through last: Int64?, _ channel: ChannelState) {
        needsScrubbing = true
        if let last { notices.append(.erased(channel.id, through: last)) }
    }

    private func replace(_ publish: LedgerCommand.Publish, _ channel: ChannelState) throws(SQLiteError) {
        switch publish.replacement {
        case .none: break
        case .groupProfile(let profile): channel.take(ProfileView(profile))
        case .preferences(let preferences):
            channel.take(ProfileView(json: channel.profile).replacing(preferences))
        case .displayName(let name): try members.setName(name, of: publish.author, in: channel)
        }
    }
}
