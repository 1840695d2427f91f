internal import ChannelWire
internal import ClientCore
internal import ClientStore

/// Turns what is stored into what the library shows.
extension Engine {
    func publicChannel(_ id: Int64) -> Channel? {
        guard let stored = background({ try store.channel(id: id) }) ?? nil else { return nil }
        return publicChannel(stored)
    }

    func publicChannel(_ stored: StoredChannel) -> Channel {
        let content = (try? ChannelRecord.decode(stored.record))?.content
        let profile = content.flatMap { try? GroupProfile.decode(json: $0.profile) }
        let lastMessageAt = background { try store.lastMessageTime(in: stored.id) } ?? nil
        return Channel(
            id: Base64URL.encode(stored.channelID), name: stored.localName,
            displayName: profile?.displayName ?? stored.localName,
            description: profile?.shortDescription ?? profile?.description ?? "",
            role: .init(rawValue: stored.role), memberID: Base64URL.encode(stored.memberID),
            ending: ChannelEnding(rawValue: stored.state.rawValue), memberCount: content?.memberCount ?? 0,
            recordVersion: stored.recordVersion, signMessages: profile?.signsMessages ?? false,
            createdAt: stored.createdAt, lastMessageAt: lastMessageAt)
    }

    /// The channels of this home; one that is deleted and only waits for relays to hear of it is gone.
    func publicChannels() throws(ChannelClientError) -> [Channel] {
        try attempt { try store.channels() }
            .filter { !($0.state == .deleted && $0.role == Role.owner.text) }
            .map(publicChannel)
    }

    func channelRelays(of channel: String) throws(ChannelClientError) -> [ChannelRelay] {
        let stored = try findChannel(channel)
        return try attempt { try store.channelRelays(of: stored.id) }.map(publicRelay)
    }

    func publicRelay(_ row: StoredChannelRelay) -> ChannelRelay {
        let status: RelayStatus =
            switch row.relay.status {
            case .new: .new
            case .invited: .invited
            case .accepted: .accepted
            case .acknowledgedRoster: .acknowledgedRoster
            case .active: .active
            case .inactive: .inactive
            case .rejected: .rejected
            }
        let memberStatus: RelayMemberStatus =
            switch row.relay.memberStatus {
            case .invited: .invited
            case .accepted: .accepted
            case .connected: .connected
            case .left: .left
            case .removed: .removed
            }
        return ChannelRelay(
            name: row.name, memberID: Base64URL.encode(row.memberID), status: status,
            memberStatus: memberStatus,
            reason: row.relay.reason, address: row.address,
            identity: Base64URL.encode(row.identity, padded: false),
            since: row.since, connected: channels[row.channel]?.sessions[row.id]?.isConnected ?? false,
            lastError: row.lastError)
    }

    func publicMessage(_ stored: StoredMessage, in runtime: ChannelRuntime) -> Message {
        let copies = background { try store.copies(of: stored.event) } ?? []
        let own = stored.author == runtime.me.bytes
        return Message(
            channel: runtime.localName, id: Base64URL.encode(stored.messageID),
            author: stored.author.isEmpty ? nil : Base64URL.encode(stored.author),
            authorName: stored.authorName,
            text: stored.text, contentType: stored.contentType, time: stored.time, edited: stored.edited,
            deleted: stored.deleted, signature: SignatureStatus(rawValue: stored.signature) ?? .unsigned,
            own: own,
            relays: copies.map { runtime.relayName($0.relay) })
    }

    func publicReceipt(_ row: StoredOutboxRow, in runtime: ChannelRuntime) -> PublishReceipt.RelayReceipt {
        let outcome: PublishReceipt.RelayReceipt.Outcome =
            switch row.entry.state {
            case .accepted(let sequence): .accepted(sequence: sequence)
            case .refused(let code): refusal(code)
            case .pending: .queued(waitingReason(row, in: runtime))
            }
        return PublishReceipt.RelayReceipt(relay: runtime.relayName(row.relay), outcome: outcome)
    }

    private func refusal(_ code: UInt16) -> PublishReceipt.RelayReceipt.Outcome {
        let known = LinkErrorCode(rawValue: code)
        return .refused(
            code: Int(code), name: known?.name ?? "error-\(code)",
            text: known?.sentence ?? "The relay refused it.")
    }

    private func waitingReason(_ row: StoredOutboxRow, in runtime: ChannelRuntime) -> String {
        guard let relay = runtime.row(row.relay) else { return "the relay was removed" }
        if relay.relay.isUnderWay, !relay.relay.isPublishable {
            return "the relay has not accepted the channel yet"
        }
        return row.entry.lastError ?? relay.lastError ?? "no answer yet"
    }

    func receipt(event: Int64, messageID: MessageID, in runtime: ChannelRuntime) -> PublishReceipt {
        let rows = background { try store.outboxRows(event: event) } ?? []
        return PublishReceipt(
            messageID: messageID.text, channel: runtime.localName,
            relays: rows.map { publicReceipt($0, in: runtime) })
    }

    /// The names of the address book by identity.
    func relayNames() -> [[UInt8]: String] {
        var names: [[UInt8]: String] = [:]
        for relay in background({ try store.relays() }) ?? [] where names[relay.identity] == nil {
            names[relay.identity] = relay.name
        }
        return names
    }

    /// What a relay is called that is in no address book.
    func hostName(_ endpoint: AntennaLink.Endpoint) -> String {
        endpoint.port == AntennaLink.defaultPort ? endpoint.host : endpoint.description
    }

    // MARK: Finding what people name

    /// Throws: `unknown-channel`, `ambiguous-channel`.
    func findChannel(_ name: String) throws(ChannelClientError) -> StoredChannel {
        let plain = ChannelNaming.plain(name)
        if let found = try attempt({ try store.channel(localName: plain) }) { return found }
        if let id = ChannelID(text: plain),
            let found = try attempt({ try store.channel(channelID: id.bytes) })
        {
            return found
        }
        let all = try attempt { try store.channels() }
        let byDisplayName = all.filter { publicChannel($0).displayName == plain }
        if byDisplayName.count == 1 { return byDisplayName[0] }
        if byDisplayName.count > 1 {
            let names = byDisplayName.map { ChannelNaming.quoted($0.localName) }.joined(separator: ", ")
            throw .init(.ambiguousChannel, "More than one channel is called \(plain): \(names).")
        }
        throw .init(.unknownChannel, "There is no channel \(ChannelNaming.quoted(plain)) in this home.")
    }

    /// The runtime of a channel that people name.
    func open(_ name: String) throws(ChannelClientError) -> ChannelRuntime {
        let stored = try findChannel(name)
        guard let runtime = try runtime(stored.id) else {
            throw .init(
                .unknownChannel, "There is no channel \(ChannelNaming.quoted(stored.localName)) in this home."
            )
        }
        runtime.reloadRecord()
        return runtime
    }

    func openAsOwner(_ name: String) throws(ChannelClientError) -> ChannelRuntime {
        let runtime = try open(name)
        guard runtime.isOwner, runtime.isCurrent else {
            throw .init(.notOwner, "Only an owner of \(ChannelNaming.quoted(runtime.localName)) may do this.")
        }
        return runtime
    }

    func findRelay(_ name: String) throws(ChannelClientError) -> StoredRelay {
        let all = try attempt { try store.relays() }
        guard let relay = all.first(where: { $0.name == name }) else {
            throw .init(.unknownRelay, "There is no relay \(name) in the address book.")
        }
        return relay
    }

    func findMessage(_ text: String, in runtime: ChannelRuntime) throws(ChannelClientError) -> StoredMessage {
        guard let id = MessageID(text: text) else {
            throw .init(.invalidMessageID, "A message id is base64url of 1 to 255 bytes.")
        }
        let found = try attempt { try store.messages(id: id.bytes, in: runtime.id) }
        let own = found.first { $0.author == runtime.me.bytes }
        guard let message = own ?? found.first else {
            throw .init(
                .unknownMessage, "There is no message \(text) in \(ChannelNaming.quoted(runtime.localName)).")
        }
        return message
    }

    /// Throws: `invalid-name`.
    static func checkName(_ name: String, _ what: String) throws(ChannelClientError) {
        guard DisplayName.problem(name) == nil, name.first?.isWhitespace == false,
            name.last?.isWhitespace == false
        else {
            throw .init(
                .invalidName,
                "A \(what) has 1 to 64 characters, no control characters and no space at either end.")
        }
    }
}
