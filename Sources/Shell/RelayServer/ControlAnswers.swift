internal import ChannelWire
internal import ControlWire
internal import LibeventLoop
internal import LinkRuntime
internal import Operations
internal import PosixKit
internal import RelayCore
internal import RelayStore

/// What the ledger replied, in the words of the control socket.
enum ControlAnswers {
    static func outcome(
        _ reply: LedgerReply, to command: ControlCommand, relay: RelayShared, attached: [ChannelID: Int],
        isDraining: Bool
    ) -> Result<ControlResult, ControlError> {
        switch reply {
        case .status(let status): return .success(.status(report(status, relay, isDraining)))
        case .channels(let channels):
            return .success(.channels(ChannelsReport(channels: channels.map { row($0, attached) })))
        case .members(let page):
            return .success(
                .members(
                    MembersReport(members: page.members.map(row), total: page.total, more: page.more)))
        case .invitations(let invitations):
            return .success(.invitations(InvitationsReport(invitations: invitations.map(row))))
        case .audit(let entries): return .success(.audit(AuditReport(actions: entries.map(row))))
        case .pruned(let pruned):
            return .success(.prune(PruneReport(messages: pruned.messages, messageBytes: pruned.bytes)))
        case .done(let summary): return done(summary, command)
        case .declined(.alreadyRejected(let id, let name)) where command == .leave:
            return .success(
                .leave(LeaveReport(id: id.text, channel: ChannelReference.written(name), already: true)))
        case .declined(let refusal): return .failure(error(refusal))
        case .failed(.storageFull): return .failure(ControlError(.storageFull, "The storage is full."))
        case .failed(.internal(let reason)): return .failure(ControlError(.internalError, reason))
        default: return .failure(ControlError(.internalError, "The ledger gave an answer that does not fit."))
        }
    }

    /// Writes a backup, with a connection to the database of its own. Blocks as long as that takes.
    static func backup(of state: String, to file: String) -> Result<ControlResult, ControlError> {
        do throws(RelayStoreError) {
            try RelayReader(directory: state).backup(to: file)
        } catch {
            return .failure(ControlError(.backupFailed, error.description))
        }
        return .success(.backup(BackupReport(file: file, fileBytes: Posix.status(file)?.size ?? 0)))
    }

    private static func done(_ summary: ChannelSummary, _ command: ControlCommand) -> Result<
        ControlResult, ControlError
    > {
        let report = ChannelReport(id: summary.channel.text, channel: ChannelReference.written(summary.name))
        switch command {
        case .leave:
            return .success(.leave(LeaveReport(id: report.id, channel: report.channel, already: false)))
        case .allow: return .success(.allow(report))
        case .accept: return .success(.accept(report))
        case .reject: return .success(.reject(report))
        case .forget: return .success(.forget(report))
        default: return .failure(ControlError(.internalError, "The ledger gave an answer that does not fit."))
        }
    }

    private static func error(_ refusal: OperatorRefusal) -> ControlError {
        func written(_ name: String) -> String { ChannelReference.written(name) }
        switch refusal {
        case .unknownChannel(let text, let similar):
            let hint = similar.isEmpty ? "" : " Similar: \(similar.map(written).joined(separator: ", "))."
            return ControlError(.unknownChannel, "No channel is called \(text).\(hint)")
        case .ambiguous(let text, let candidates):
            return ControlError(
                .ambiguousChannel,
                "Several channels are called \(text): \(candidates.map(written).joined(separator: ", ")).")
        case .notRejected(let name):
            return ControlError(.notRejected, "\(written(name)) is not rejected; nothing was changed.")
        case .alreadyRejected(_, let name):
            return ControlError(
                .channelRejected, "\(written(name)) is rejected already; nothing was changed.")
        case .notPending(let name):
            return ControlError(.notPending, "No invitation of \(written(name)) waits.")
        case .noRoom(let name):
            return ControlError(
                .channelLimit, "There is no room for \(written(name)): the channel limit is reached.")
        case .stillServed(let name):
            return ControlError(.stillServed, "\(written(name)) is served; leave it first.")
        }
    }

    // MARK: Rows

    private static func row(_ summary: ChannelSummary, _ attached: [ChannelID: Int]) -> ChannelRow {
        ChannelRow(
            id: summary.channel.text, name: ChannelReference.written(summary.name),
            displayName: summary.title,
            status: summary.status.rawValue, subscribers: summary.members, messages: summary.messages,
            messageBytes: summary.bytes, head: summary.head, recordVersion: summary.recordVersion,
            attached: attached[summary.channel] ?? 0,
            rejection: summary.refusal.map {
                ChannelRow.Rejection(reason: $0.reason, rejectedAt: $0.time, by: $0.actor)
            })
    }

    private static func row(_ member: MemberView) -> MemberRow {
        MemberRow(
            id: member.id.text, role: member.role.text, status: member.status.rawValue, name: member.name,
            joinedAt: member.joinedAt)
    }

    private static func row(_ invitation: PendingInvitation) -> InvitationRow {
        InvitationRow(
            channel: ChannelReference.written(invitation.name), channelID: invitation.channel.text,
            displayName: invitation.title, owner: invitation.owner.text, ownerName: invitation.ownerName,
            receivedAt: invitation.invitedAt)
    }

    private static func row(_ entry: AuditEntry) -> AuditRow {
        AuditRow(
            id: entry.number, doneAt: entry.time, actor: entry.actor, action: entry.action,
            channel: entry.name.isEmpty ? nil : ChannelReference.written(entry.name),
            detail: entry.detail.isEmpty ? nil : entry.detail)
    }

    // MARK: Status

    private static func report(_ status: LedgerStatus, _ relay: RelayShared, _ isDraining: Bool)
        -> StatusReport
    {
        let configuration = relay.configuration
        let counters = relay.counters
        let serving = [.accepted, .acknowledgedRoster, .active].reduce(Int64(0)) {
            $0 + (status.channels[$1] ?? 0)
        }
        return StatusReport(
            name: configuration.name, version: Version.number, state: isDraining ? "draining" : "running",
            listen: relay.listening.description, startedAt: relay.startedAt,
            admission: configuration.admission.rawValue, loops: configuration.loops,
            links: StatusReport.Links(
                total: Int(counters.links.now), owners: Int(counters.owners.now),
                members: Int(counters.members.now),
                limit: relay.connections.totalMax),
            channels: StatusReport.Channels(
                serving: Int(serving), inactive: Int(status.channels[.inactive] ?? 0),
                rejected: Int(status.refusals),
                invitations: Int(status.pendingInvitations)),
            storage: StatusReport.Storage(
                subscribers: status.members, messages: status.messages, messageBytes: status.logBytes,
                databaseBytes: status.databaseBytes,
                full: status.lackOfRoom != nil, fullBecause: status.lackOfRoom?.rawValue),
            counters: StatusReport.Counters(
                accepted: counters.accepted.now, refused: counters.refused.now,
                published: counters.published.now,
                delivered: counters.delivered.now, errors: counters.errors.now),
            reload: relay.lastReload)
    }
}

/// The versions of this program and of the libraries under it.
enum RelayVersions {
    static var report: VersionReport {
        VersionReport(
            antenna: Version.number, libevent: EventLoop.libeventVersion, sqlite: RelayLedger.sqliteVersion)
    }
}
