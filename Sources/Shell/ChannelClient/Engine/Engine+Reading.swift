internal import ChannelWire
internal import ClientCore
internal import ClientStore
internal import LibeventLoop
internal import SodiumCrypto

/// What readers do: preview, join, leave, read, look at members, catch up.
extension Engine {
    // MARK: Preview

    func preview(link: String, milliseconds: Int64, _ reply: Reply<ChannelPreview>) {
        fetchRecord(link: link, milliseconds: milliseconds) { [weak self] result in
            guard let self else { return }
            do throws(ChannelClientError) {
                let record = try result.get()
                let joined = try self.attempt { try self.store.channel(channelID: record.channel.bytes) }
                reply.succeed(
                    ChannelPreview(
                        id: record.channel.text, displayName: printable(record.profile.displayName),
                        description: printable(
                            record.profile.shortDescription ?? record.profile.description ?? ""),
                        memberCount: record.content.memberCount,
                        relayHosts: record.content.relays.compactMap { relay in
                            guard case .relayChannel(_, let host) = try? AntennaLink.parse(relay.link) else {
                                return nil
                            }
                            return host.endpoint.description
                        },
                        ownerCount: record.content.owners.count, recordVersion: record.version,
                        joinedAs: joined?.localName))
            } catch {
                reply.fail(error)
            }
        }
    }

    static func channelLink(_ text: String) throws(ChannelClientError) -> (ChannelID, [AntennaLink.Host]) {
        let link: AntennaLink
        do throws(WireError) { link = try AntennaLink.parse(text) } catch {
            throw .init(.invalidLink, "This is no channel link: \(error.explanation).")
        }
        switch link {
        case .channel(let id, let hosts): return (id, hosts)
        case .relayAddress: throw .init(.relayAddress, AntennaLink.relayAddressText)
        case .relayChannel:
            throw .init(
                .invalidLink, "This is a relay's own link in a channel; ask for the channel's link (/c#).")
        }
    }

    /// Asks every relay of a link at once; takes the highest record that verifies.
    func fetchRecord(
        link: String, milliseconds: Int64,
        _ done: @escaping (Result<VerifiedRecord, ChannelClientError>) -> Void
    ) {
        let channel: ChannelID
        let hosts: [AntennaLink.Host]
        do throws(ChannelClientError) { (channel, hosts) = try Self.channelLink(link) } catch {
            return done(.failure(error))
        }
        let fetch = RecordFetch(channel: channel, open: hosts.count)
        let patience = Patience(engine: self, milliseconds: Self.silentMilliseconds) { fetch.end(done) }
        let names = relayNames()
        for host in hosts {
            // As its outcome will be called once the join is done.
            let shown = host.identity.flatMap { names[$0.raw] } ?? hostName(host.endpoint)
            AnonymousQuestion.ask(
                engine: self, hosts: [host.endpoint], identity: host.identity, .record(channel),
                milliseconds: milliseconds
            ) { [crypto] progress in
                switch progress {
                case .record(let bytes):
                    fetch.answered(bytes, crypto: crypto, host: shown)
                case .failed(let failure): fetch.failed(failure, host: shown)
                case .resolved, .opened, .signature: return
                }
                if fetch.open == 0 { fetch.end(done) } else if fetch.hasRecord { patience.begin() }
            }
        }
    }

    // MARK: Joining

    func join(link: String, as choice: NameChoice, milliseconds: Int64, _ reply: Reply<JoinReport>) {
        let name: String
        let began = loop.nowMonotonicMilliseconds
        do throws(ChannelClientError) {
            let (channel, _) = try Self.channelLink(link)
            if let known = try attempt({ try store.channel(channelID: channel.bytes) }) {
                guard known.role != Role.owner.text else { throw Self.alreadyMember(known) }
                if known.state == .current { return moveOn(known, link: link, milliseconds, reply) }
            }
            name = try self.name(choice)
        } catch {
            return reply.fail(error)
        }
        fetchRecord(link: link, milliseconds: milliseconds) { [weak self] result in
            guard let self else { return }
            do throws(ChannelClientError) {
                let record = try result.get()
                let known = try self.attempt { try self.store.channel(channelID: record.channel.bytes) }
                let runtime = try self.enter(record, as: name, again: known)
                let remaining = milliseconds - (self.loop.nowMonotonicMilliseconds - began)
                self.waitForJoin(runtime, before: known?.state, milliseconds: max(1, remaining), reply)
            } catch {
                reply.fail(error)
            }
        }
    }

    static func alreadyMember(_ known: StoredChannel) -> ChannelClientError {
        .init(.alreadyMember, "This home is in that channel as \(ChannelNaming.quoted(known.localName)).")
    }

    /// `again`: the row of a membership that has ended; what was read then stays.
    private func enter(
        _ record: VerifiedRecord, as name: String, again: StoredChannel?
    ) throws(ChannelClientError) -> ChannelRuntime {
        guard !record.content.relays.isEmpty else { throw .init(.noRelays, "No relay carries this channel.") }
        let keys = Ed25519.KeyPair.generate()
        let displayName =
            DisplayName.problem(record.profile.displayName) == nil ? record.profile.displayName : "channel"
        if let again { drop(again.id) }
        let stored = try attempt {
            try store.insertChannel(
                again: again?.id, channelID: record.channel.bytes, displayName: displayName,
                role: Role.observer.text,
                rootSecret: nil,
                memberID: MemberID.fresh().bytes, memberName: name, memberSecret: keys.seed,
                record: record.bytes,
                recordVersion: record.version, now: nowSeconds)
        }
        guard let stored else { throw .init(.alreadyMember, "This home is in that channel already.") }
        guard let runtime = try runtime(stored.id) else { throw .defect("A new channel is gone.") }
        runtime.followRecord()
        return runtime
    }

    /// `before`: how an earlier membership ended, which a join that fails leaves as it was.
    func waitForJoin(
        _ runtime: ChannelRuntime, before: ChannelState?, milliseconds: Int64, _ reply: Reply<JoinReport>
    ) {
        let rows = runtime.relayRows().filter(\.relay.takesMessages)
        let sessions = rows.map { runtime.session($0) }
        let failures = sessions.map(\.member.failureCount)
        var demands = sessions.map { $0.demandMember() }
        let patience = Patience(engine: self, milliseconds: Self.silentMilliseconds)
        wait(milliseconds: milliseconds) { [weak self] expired in
            guard let self else { return true }
            if sessions.contains(where: \.member.isCaughtUp) { patience.begin() }
            let isSettled =
                patience.isOver
                || zip(sessions, failures).allSatisfy { session, failures in
                    session.member.isCaughtUp || session.member.failureCount > failures
                }
            guard isSettled || expired else { return false }
            patience.end()
            let outcomes = zip(sessions, rows).map { session, row in
                Self.joinOutcome(session, isTaken: runtime.isCurrent && runtime.row(row.id)?.joined == true)
            }
            self.later {
                demands = []
                _ = demands
                guard outcomes.contains(where: { $0.result == .active }) else {
                    if let before { runtime.setState(before) } else { self.forget(runtime) }
                    let isRefused = outcomes.allSatisfy {
                        if case .rejected = $0.result { true } else { false }
                    }
                    return reply.fail(
                        .init(
                            isRefused ? .refused : expired ? .timedOut : .unreachable,
                            isRefused
                                ? "Every relay refused to take this member."
                                : "No relay of the channel could be joined.",
                            relays: outcomes))
                }
                guard let channel = self.publicChannel(runtime.id) else {
                    return reply.fail(.defect("The channel is gone."))
                }
                reply.succeed(JoinReport(channel: channel, relays: outcomes))
            }
            return true
        }
    }

    /// `isTaken`: the relay has answered that this is a member now. A link that is lost afterwards is made
    /// anew; another join would be another member, who is shown everything once more.
    private static func joinOutcome(_ session: RelaySession, isTaken: Bool) -> RelayOutcome {
        if isTaken || session.member.isAttached {
            return RelayOutcome(relay: session.name, result: .active)
        }
        guard let failure = session.member.connection.lastFailure else {
            return RelayOutcome(relay: session.name, result: .noAnswer("no answer in time"))
        }
        if failure.code != nil, !failure.retriable {
            return RelayOutcome(relay: session.name, result: .rejected(failure.text))
        }
        return RelayOutcome(relay: session.name, result: .failed(failure.text, retriable: failure.retriable))
    }

    /// How long silent relays are waited for once one has answered.
    private static let silentMilliseconds: Int64 = 2000

    // MARK: Leaving

    func leave(_ channel: String, milliseconds: Int64, _ reply: Reply<PublishReceipt>) {
        do throws(ChannelClientError) {
            let runtime = try openCurrent(channel)
            let members = runtime.record.content.owners.map {
                LeavePolicy.Member(id: $0.owner.bytes, isOwner: true, isCurrent: true)
            }
            guard LeavePolicy.mayLeave(own: runtime.me.bytes, isOwner: runtime.isOwner, members: members)
            else {
                throw .init(
                    .soleOwner,
                    "A sole owner cannot leave \(ChannelNaming.quoted(runtime.localName)), only delete it.")
            }
            guard runtime.relayRows().contains(where: \.relay.takesMessages) else {
                runtime.setState(.left)
                return reply.succeed(PublishReceipt(messageID: "", channel: runtime.localName, relays: []))
            }
            try publish(.leave, in: runtime, minimumRelays: 0, milliseconds: milliseconds, reply)
            runtime.note("You left this channel.")
            runtime.setState(.left)
        } catch {
            reply.fail(error)
        }
    }

    // MARK: Members

    func members(
        of channel: String, after: String?, limit: Int, milliseconds: Int64, _ reply: Reply<MemberPage>
    ) {
        do throws(ChannelClientError) {
            let runtime = try open(channel)
            guard runtime.isOwner, runtime.isCurrent else { return reply.succeed(try localMembers(runtime)) }
            var start: MemberID?
            if let after {
                guard let id = MemberID(text: after) else {
                    throw .init(.unknownMember, "A member id is base64url of 1 to 255 bytes.")
                }
                start = id
            }
            let sessions = runtime.relayRows().filter { $0.relay.status.isServing }.map {
                runtime.session($0)
            }
            guard !sessions.isEmpty else { return reply.succeed(try localMembers(runtime)) }
            let question = MembersQuestion(
                runtime: runtime, sessions: sessions, after: start,
                limit: min(max(1, limit), Limits.membersPageMax))
            wait(milliseconds: milliseconds) { [weak self] expired in
                guard let outcome = question.proceed(expired: expired) else { return false }
                self?.later { question.end() }
                reply.finish(outcome)
                return true
            }
        } catch {
            reply.fail(error)
        }
    }

    private func localMembers(_ runtime: ChannelRuntime) throws(ChannelClientError) -> MemberPage {
        let known = try attempt { try store.members(of: runtime.id) }
        var members = runtime.record.content.owners.map { owner in
            let stored = known.first { $0.memberID == owner.owner.bytes }
            return ChannelMember(
                id: owner.owner.text, name: stored?.name ?? "", role: .owner,
                status: stored?.status ?? "introduced",
                joinedAt: stored?.joinedAt, isSelf: owner.owner == runtime.me)
        }
        for member in known where !members.contains(where: { $0.id == Base64URL.encode(member.memberID) }) {
            members.append(
                ChannelMember(
                    id: Base64URL.encode(member.memberID), name: member.name,
                    role: .init(rawValue: member.role),
                    status: member.status, joinedAt: member.joinedAt,
                    isSelf: member.memberID == runtime.me.bytes))
        }
        if !members.contains(where: \.isSelf), runtime.isCurrent {
            members.append(
                ChannelMember(
                    id: runtime.me.text, name: runtime.memberName, role: .init(rawValue: runtime.role.text),
                    status: MemberStatus.connected.text, joinedAt: nil, isSelf: true))
        }
        return MemberPage(
            members: members, total: max(runtime.record.content.memberCount, Int64(members.count)), next: nil)
    }

    func removeMember(
        _ memberID: String, from channel: String, messages: Bool, milliseconds: Int64,
        _ reply: Reply<PublishReceipt>
    ) {
        do throws(ChannelClientError) {
            let runtime = try openCurrent(channel)
            guard runtime.role >= .moderator else {
                throw .init(.notPermitted, "Only an owner or moderator may remove a member.")
            }
            guard let id = MemberID(text: memberID) else {
                throw .init(.unknownMember, "A member id is base64url of 1 to 255 bytes.")
            }
            guard id != runtime.me, runtime.record.ownerKey(id) == nil else {
                throw .init(.notPermitted, "An owner cannot be removed.")
            }
            guard !runtime.relayRows().contains(where: { $0.memberID == id.bytes }) else {
                throw .init(.notPermitted, "That is a relay; remove it as one.")
            }
            try publish(
                .memDel(MemberDeletion(memberID: id, withMessages: messages)), in: runtime, minimumRelays: 0,
                milliseconds: milliseconds, reply)
        } catch {
            reply.fail(error)
        }
    }

    // MARK: Messages

    func messages(
        in channel: String, limit: Int, before: String?
    ) throws(ChannelClientError) -> [Message] {
        let runtime = try open(channel)
        return try messages(in: runtime, limit: limit, before: try before.map(position(in: runtime)))
    }

    private func position(in runtime: ChannelRuntime) -> (String) throws(ChannelClientError) -> StoredMessage
    {
        { text throws(ChannelClientError) in try self.findMessage(text, in: runtime) }
    }

    func messages(
        in runtime: ChannelRuntime, limit: Int, before: StoredMessage?
    ) throws(ChannelClientError) -> [Message] {
        let rows = try attempt {
            try store.messages(
                in: runtime.id, before: before, limit: min(max(1, limit), 10_000))
        }
        return rows.map { publicMessage($0, in: runtime) }
    }

    func history(
        of channel: String, before: String?, limit: Int, milliseconds: Int64, _ reply: Reply<[Message]>
    ) {
        do throws(ChannelClientError) {
            let runtime = try open(channel)
            var message: StoredMessage?
            if let before { message = try findMessage(before, in: runtime) }
            let limit = min(max(1, limit), Limits.historyPageMax)
            let sessions = runtime.relayRows()
                .filter { runtime.isOwner ? $0.relay.isPublishable : $0.relay.status == .active }
                .map { runtime.session($0) }
            guard !sessions.isEmpty, runtime.isCurrent else {
                return reply.succeed(try messages(in: runtime, limit: limit, before: message))
            }
            let question = HistoryQuestion(
                runtime: runtime, sessions: sessions, before: message, limit: limit)
            wait(milliseconds: milliseconds) { [weak self] expired in
                guard let self else { return true }
                guard let failure = question.proceed(expired: expired) else { return false }
                self.later { question.end() }
                if let failure = failure.error {
                    reply.fail(failure)
                } else {
                    do throws(ChannelClientError) {
                        reply.succeed(try self.messages(in: runtime, limit: limit, before: message))
                    } catch {
                        reply.fail(error)
                    }
                }
                return true
            }
        } catch {
            reply.fail(error)
        }
    }

    // MARK: Catching up

    func synchronize(only channel: String?, milliseconds: Int64, _ reply: Reply<SynchronizeReport>) {
        let began = loop.nowMonotonicMilliseconds
        findLostRelays(only: channel, milliseconds: min(milliseconds / 2, Self.silentMilliseconds)) {
            [weak self] in
            guard let self else { return }
            let remaining = milliseconds - (self.loop.nowMonotonicMilliseconds - began)
            self.catchUp(only: channel, milliseconds: max(1, remaining), reply)
        }
    }

    private func catchUp(only channel: String?, milliseconds: Int64, _ reply: Reply<SynchronizeReport>) {
        do throws(ChannelClientError) {
            if let failure = takeStoreFailure() { throw failure }
            let chosen = try channel.map { name throws(ChannelClientError) in try open(name).id }
            let before = try attempt { try store.openOutboxRows() }
            let spread = min(spreadMilliseconds, milliseconds / 4)
            var targets: [SynchronizeTarget] = []
            for stored in try attempt({ try store.channels() }) where chosen ?? stored.id == stored.id {
                guard let runtime = try runtime(stored.id) else { continue }
                runtime.reloadRecord()
                for row in runtime.relayRows() where row.relay.takesMessages || row.relay.awaitsRejection {
                    let isPending = before.contains { $0.relay == row.id && $0.entry.state == .pending }
                    guard runtime.isCurrent || isPending else { continue }
                    targets.append(SynchronizeTarget(runtime: runtime, row: row, spread: spread))
                }
            }
            let round = SynchronizeRound(targets)
            wait(milliseconds: milliseconds) { [weak self] expired in
                guard let self else { return true }
                guard expired || round.isSettled else { return false }
                let (unreachable, reached) = (round.failures, round.reached)
                self.later { round.end() }
                do throws(ChannelClientError) {
                    let after = try self.attempt { try self.store.openOutboxRows() }
                    let pending = after.count { $0.entry.state == .pending }
                    let wasPending = before.count { $0.entry.state == .pending }
                    let refused = after.count - pending
                    let newlyRefused = max(0, refused - (before.count - wasPending))
                    reply.succeed(
                        SynchronizeReport(
                            delivered: max(0, wasPending - pending - newlyRefused), pending: pending,
                            refused: refused, reached: reached, unreachable: unreachable))
                } catch {
                    reply.fail(error)
                }
                return true
            }
        } catch {
            reply.fail(error)
        }
    }
}
