internal import ChannelWire
internal import ClientCore
internal import ClientStore
internal import LibeventLoop
internal import SodiumCrypto

/// What owners do: create channels, rule their relays, change and delete them.
extension Engine {
    typealias RelayProgress = @Sendable (RelayOutcome) -> Void

    // MARK: Creating

    func createChannel(
        name: String, description: String, relays: [String], signMessages: Bool, milliseconds: Int64,
        progress: RelayProgress?, _ reply: Reply<ChannelCreation>
    ) {
        do throws(ChannelClientError) {
            try Self.checkName(name, "channel name")
            let profileName = try profileName()
            let entries = try chosenRelays(relays)
            let (runtime, rows) = try makeChannel(
                name: name, description: description, signMessages: signMessages, memberName: profileName,
                entries: entries)
            invite(rows, in: runtime, milliseconds: milliseconds, progress: progress) {
                [weak self] outcomes in
                guard let self else { return }
                guard outcomes.contains(where: \.mayServe) else {
                    self.forget(runtime)
                    return reply.fail(
                        .init(
                            .channelNotCreated, "No relay took the channel, so it was not created.",
                            relays: outcomes))
                }
                guard let channel = self.publicChannel(runtime.id) else {
                    return reply.fail(.defect("The channel is gone."))
                }
                reply.succeed(
                    ChannelCreation(
                        channel: channel, relays: outcomes,
                        link: self.linkText(runtime) ?? self.bareLink(runtime)))
            }
        } catch {
            reply.fail(error)
        }
    }

    private func chosenRelays(_ names: [String]) throws(ChannelClientError) -> [StoredRelay] {
        guard !names.isEmpty else { throw .init(.noRelays, "Name at least one relay.") }
        var entries: [StoredRelay] = []
        for name in names {
            let entry = try findRelay(name)
            if let same = entries.first(where: { $0.identity == entry.identity }) {
                throw .init(
                    .relayAlreadyListed,
                    same.name == name
                        ? "The relay \(name) is named twice." : "\(same.name) and \(name) are the same relay."
                )
            }
            entries.append(entry)
        }
        guard entries.count <= RelayRoster.relaysMax else {
            throw .init(.noRelays, "A channel has at most \(RelayRoster.relaysMax) relays.")
        }
        return entries
    }

    private func makeChannel(
        name: String, description: String, signMessages: Bool, memberName: String, entries: [StoredRelay]
    ) throws(ChannelClientError) -> (ChannelRuntime, [StoredChannelRelay]) {
        let root = Ed25519.KeyPair.generate()
        let member = Ed25519.KeyPair.generate()
        let me = MemberID.fresh()
        let channelID = ChannelID(rootKey: root.key, sha256: crypto.sha256)
        var hosts: [AntennaLink.Host] = []
        for entry in entries.prefix(Limits.linkHostsMax) {
            let (identity, endpoints) = try Self.relayAddress(entry.address)
            if let endpoint = endpoints.first { hosts.append(.init(endpoint: endpoint, identity: identity)) }
        }
        let profile = GroupProfile(
            displayName: name, shortDescription: description.isEmpty ? nil : description,
            publicGroup: PublicGroup(
                groupLink: AntennaLink.channel(channelID, hosts: hosts).text(), publicGroupID: channelID),
            preferences: GroupPreferences(signMessages: signMessages ? .on : .off, history: .on))
        let content = ChannelRecord.Content(
            rootKey: root.key, version: 1,
            owners: [OwnerAuth(owner: me, key: member.key, sign: root.signature)],
            relays: [], rosterVersion: 0, rosterDigest: crypto.sha512(Roster().blob()), memberCount: 1,
            profile: profile.encode())
        guard let record = ChannelRecord.make(content, signer: nil, sign: root.signature) else {
            throw .init(.messageTooLarge, "The description does not fit into the channel's record.")
        }
        let now = nowSeconds
        let made = try attempt {
            try store.write { () throws(ClientStoreError) -> (StoredChannel, [StoredChannelRelay])? in
                let stored = try store.insertChannel(
                    channelID: channelID.bytes, displayName: name, role: Role.owner.text,
                    rootSecret: root.seed,
                    memberID: me.bytes, memberName: memberName, memberSecret: member.seed,
                    record: record.bytes,
                    recordVersion: 1, now: now)
                guard let stored else { return nil }
                try store.upsertMember(
                    StoredMember(
                        memberID: me.bytes, name: memberName, role: Role.owner.text,
                        status: MemberStatus.creator.text,
                        publicKey: nil, joinedAt: now), of: stored.id)
                var rows: [StoredChannelRelay] = []
                for entry in entries {
                    let row = try store.insertChannelRelay(
                        channel: stored.id, name: entry.name, memberID: MemberID.fresh().bytes,
                        identity: entry.identity, address: entry.address, now: now)
                    if let row { rows.append(row) }
                }
                return (stored, rows)
            }
        }
        guard let (stored, rows) = made, let runtime = try runtime(stored.id) else {
            throw .defect("A new channel's id was taken.")
        }
        return (runtime, rows)
    }

    // MARK: Inviting

    func addRelays(
        _ names: [String], to channel: String, milliseconds: Int64, progress: RelayProgress?,
        _ reply: Reply<[RelayOutcome]>
    ) {
        do throws(ChannelClientError) {
            let runtime = try openAsOwner(channel)
            let entries = try chosenRelays(names)
            let rows = try attempt {
                try store.write {
                    () throws(ClientStoreError) -> Result<[StoredChannelRelay], ChannelClientError> in
                    var roster = RelayRoster(
                        rows: try store.channelRelays(of: runtime.id).map {
                            .init(memberID: $0.memberID, identity: $0.identity, relay: $0.relay)
                        })
                    var members: [[UInt8]] = []
                    for entry in entries {
                        let member = MemberID.fresh().bytes
                        switch roster.add(memberID: member, identity: entry.identity) {
                        case .added: members.append(member)
                        case .alreadyListed(let status):
                            return .failure(
                                .init(
                                    .relayAlreadyListed,
                                    "\(entry.name) is listed already (\(status.apiText)); remove it first."
                                ))
                        case .full, .memberIDTaken:
                            return .failure(
                                .init(.noRelays, "A channel has at most \(RelayRoster.relaysMax) relays."))
                        }
                    }
                    var rows: [StoredChannelRelay] = []
                    var names = Set(try store.channelRelays(of: runtime.id).map(\.name))
                    for (entry, member) in zip(entries, members) {
                        // The address book may have given an old name to another relay.
                        let name = ChannelNaming.localName(for: entry.name, taken: names)
                        names.insert(name)
                        let row = try store.insertChannelRelay(
                            channel: runtime.id, name: name, memberID: member, identity: entry.identity,
                            address: entry.address, now: nowSeconds)
                        if let row { rows.append(row) }
                    }
                    return .success(rows)
                }
            }
            invite(try rows.get(), in: runtime, milliseconds: milliseconds, progress: progress) {
                reply.succeed($0)
            }
        } catch {
            reply.fail(error)
        }
    }

    /// Keeps control links to the relays until each has a final answer, or the time is over.
    private func invite(
        _ rows: [StoredChannelRelay], in runtime: ChannelRuntime, milliseconds: Int64,
        progress: RelayProgress?,
        _ done: @escaping ([RelayOutcome]) -> Void
    ) {
        let invitation = Invitation(engine: self, runtime: runtime, rows: rows, progress: progress)
        runtime.reconcile()
        wait(milliseconds: milliseconds) { expired in
            guard let outcomes = invitation.outcomes(expired: expired) else { return false }
            invitation.end()
            // After this turn of the loop: a channel that is removed now is not in the middle of anything.
            runtime.engine.later { done(outcomes) }
            return true
        }
    }

    // MARK: Removing a relay

    func removeChannelRelay(
        _ name: String, from channel: String, milliseconds: Int64, _ reply: Reply<[RelayOutcome]>
    ) {
        do throws(ChannelClientError) {
            let runtime = try openAsOwner(channel)
            guard let row = runtime.relayRows().first(where: { $0.name == name }) else {
                throw .init(
                    .relayNotListed,
                    "\(ChannelNaming.quoted(runtime.localName)) does not list a relay \(name).")
            }
            let mustTell = row.relay.status.isServing
            runtime.change(row.id) { $0.removedByOwner() }
            runtime.publishRecord()
            guard mustTell else {
                try attempt { try store.deleteChannelRelay(row.id) }
                runtime.reconcile()
                return tellRecord(of: runtime, milliseconds: milliseconds) {
                    reply.succeed([RelayOutcome(relay: name, result: .active)])
                }
            }
            let began = loop.nowMonotonicMilliseconds
            let session = runtime.session(row)
            var demand: RelaySession.Demand? = session.demandControl()
            let failures = session.control.failureCount
            var isSent = false
            wait(milliseconds: milliseconds) { [weak self] expired in
                guard let self else { return true }
                if session.control.isControlling, !isSent {
                    isSent = true
                    session.control.sendRecord()
                    return false
                }
                // One that has left by itself has nothing to be told.
                let hasLeft = runtime.row(row.id).map { $0.relay.status == .rejected } ?? true
                let told = hasLeft || isSent && !session.control.isPutting && session.control.isControlling
                // A relay that is gone, or that closes the link on being told, is as good as told.
                let closed = session.control.failureCount > failures
                guard told || closed || expired else { return false }
                // The record comes with the proof of key already: a relay that is not in it says so and hangs
                // up.
                let failure = session.control.connection.lastFailure
                let knows = failure?.code.map { (20...23).contains($0) } ?? false
                let outcome: RelayOutcome.Result =
                    told || (closed && (isSent || knows))
                    ? .active : .noAnswer(failure?.text ?? "no answer in time")
                self.later {
                    demand = nil
                    _ = demand
                    self.background { try self.store.deleteChannelRelay(row.id) }
                    runtime.reconcile()
                    let remaining = milliseconds - (self.loop.nowMonotonicMilliseconds - began)
                    self.tellRecord(of: runtime, milliseconds: max(0, remaining)) {
                        reply.succeed([RelayOutcome(relay: name, result: outcome)])
                    }
                }
                return true
            }
        } catch {
            reply.fail(error)
        }
    }

    // MARK: The channel itself

    func setChannel(
        _ channel: String, name: String?, description: String?, signMessages: Bool?, milliseconds: Int64,
        _ reply: Reply<PublishReceipt>
    ) {
        do throws(ChannelClientError) {
            let runtime = try openAsOwner(channel)
            if let name { try Self.checkName(name, "channel name") }
            var profile = runtime.record.profile
            if let name { profile.displayName = name }
            if let description { profile.shortDescription = description.isEmpty ? nil : description }
            if let signMessages {
                var preferences = profile.preferences ?? GroupPreferences()
                preferences.signMessages = signMessages ? .on : .off
                profile.preferences = preferences
            }
            // Both have to fit, or neither is made.
            guard runtime.signed(.grpInfo(profile)).count <= Limits.batchElementMax,
                profile == runtime.record.profile || runtime.publishRecord(profile: profile)
            else { throw .init(.messageTooLarge, "The description does not fit into the channel's record.") }
            try publish(
                .grpInfo(profile), in: runtime, minimumRelays: 0, milliseconds: milliseconds,
                madeRecord: true,
                reply)
        } catch {
            reply.fail(error)
        }
    }

    func deleteChannel(_ channel: String, milliseconds: Int64, _ reply: Reply<PublishReceipt>) {
        do throws(ChannelClientError) {
            let runtime = try openAsOwner(channel)
            guard runtime.relayRows().contains(where: \.relay.isPublishable) else {
                forget(runtime)
                return reply.succeed(PublishReceipt(messageID: "", channel: runtime.localName, relays: []))
            }
            // Who has never taken the channel need not hear of its end.
            for row in runtime.relayRows() where !row.relay.isPublishable {
                try attempt { try store.deleteChannelRelay(row.id) }
            }
            runtime.reconcile()
            try publish(.grpDel, in: runtime, minimumRelays: 0, milliseconds: milliseconds, reply)
            runtime.setState(.deleted)
        } catch {
            reply.fail(error)
        }
    }

    func forgetChannel(_ channel: String) throws(ChannelClientError) {
        let runtime = try open(channel)
        guard !runtime.isCurrent else {
            throw .init(.notPermitted, "Leave or delete \(ChannelNaming.quoted(runtime.localName)) first.")
        }
        forget(runtime)
    }

    /// Ends what runs for a channel.
    func drop(_ id: Int64) {
        guard let runtime = channels.removeValue(forKey: id) else { return }
        runtime.shutdown()
        for (ticket, follower) in followers where follower.runtime === runtime { endFollow(ticket) }
    }

    /// Removes a channel from the home.
    func forget(_ runtime: ChannelRuntime) {
        drop(runtime.id)
        background { try store.deleteChannel(runtime.id) }
    }

    /// A channel that its owner deleted goes from the home once every relay knows of it.
    func removeWhereDone(_ runtime: ChannelRuntime) {
        guard runtime.state == .deleted, runtime.role == .owner, channels[runtime.id] === runtime else {
            return
        }
        for row in runtime.relayRows() {
            guard background({ try store.pendingRows(relay: row.id, limit: 1).isEmpty }) == true else {
                return
            }
        }
        // Whoever waits for the receipt reads it first.
        later { [weak self] in
            self?.later { [weak self] in self?.forget(runtime) }
        }
    }

    // MARK: Links

    func linkText(_ runtime: ChannelRuntime) -> String? {
        let hosts = runtime.record.content.relays.compactMap { relay -> AntennaLink.Host? in
            guard case .relayChannel(_, let host) = try? AntennaLink.parse(relay.link) else { return nil }
            return host
        }
        guard !hosts.isEmpty else { return nil }
        return AntennaLink.channel(runtime.channelID, hosts: Array(hosts.prefix(Limits.linkHostsMax))).text()
    }

    /// The link of a channel whose relays have not accepted yet: where it will be.
    func bareLink(_ runtime: ChannelRuntime) -> String { runtime.record.profile.publicGroup?.groupLink ?? "" }
}
