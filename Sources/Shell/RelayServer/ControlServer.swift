internal import ChannelWire
internal import ControlWire
internal import LibeventLoop
internal import LinkRuntime
internal import Operations
internal import PosixKit
internal import RelayStore

/// The control socket, on loop 0: lines in, lines out, never waiting.
///
/// Every command that reads or changes the relay's state goes to the authority; its answer comes back as a
/// message.
final class ControlServer {
    private let loop: EventLoop
    private let mailbox: Mailbox<LoopMessage>
    private let relay: RelayShared
    private let path: String
    private var listener: LinkListener?
    private var connections: [UInt64: ControlConnection] = [:]
    private var nextNumber: UInt64 = 1
    /// What the front door does for `rotate-key`.
    private let rotateKey: () -> Result<KeyReport, ControlError>
    private let reload: () -> Result<ReloadReport, ControlError>
    private var isBackingUp = false
    private let isDraining: () -> Bool

    static let connectionsMax = 64

    init(
        loop: EventLoop, mailbox: Mailbox<LoopMessage>, relay: RelayShared, path: String,
        isDraining: @escaping () -> Bool,
        rotateKey: @escaping () -> Result<KeyReport, ControlError>,
        reload: @escaping () -> Result<ReloadReport, ControlError>
    ) throws(PosixError) {
        self.loop = loop
        self.mailbox = mailbox
        self.relay = relay
        self.path = path
        self.isDraining = isDraining
        self.rotateKey = rotateKey
        self.reload = reload
        listener = LinkListener(
            loop: loop, socket: try Posix.listen(unix: path, mode: 0o600),
            trouble: { error in
                relay.log.warning("control.accept-failed", ["reason": .text(error.description)])
            },
            take: { [unowned self] connection, _ in self.admit(connection) })
    }

    func close() {
        listener?.stop()
        listener = nil
        for connection in connections.values { connection.close() }
        connections = [:]
        try? Posix.removeFile(path)
    }

    private func admit(_ descriptor: consuming FileDescriptor) {
        guard let peer = try? Posix.peerCredentials(descriptor.raw),
            peer.uid == 0 || peer.uid == Posix.userID
        else {
            relay.log.warning("control.refused")
            return
        }
        if connections.count >= ControlServer.connectionsMax {
            // Of a crowd that came and went while the loop was busy, the ends are not heard of yet.
            for connection in connections.values { connection.readable() }
        }
        guard connections.count < ControlServer.connectionsMax else {
            relay.log.warning("control.too-many-connections")
            let error = ControlError(
                .tooManyConnections, "\(connections.count) connections to the control socket are open.")
            _ = Posix.send(
                descriptor.raw,
                ControlResponse(id: 0, outcome: .failure(error)).encode() + [UInt8(ascii: "\n")])
            return
        }
        let number = nextNumber
        nextNumber += 1
        connections[number] = ControlConnection(
            number: number, user: peer.uid, descriptor: descriptor, loop: loop,
            received: { [unowned self] connection, line in self.received(line, connection) },
            ended: { [unowned self] connection in self.connections[connection.number] = nil })
    }

    // MARK: Requests

    private func received(_ line: [UInt8], _ connection: ControlConnection) {
        let request: ControlRequest
        do throws(ControlRequestError) {
            request = try ControlRequest.decode(line)
        } catch {
            return connection.send(ControlResponse(id: error.id, outcome: .failure(error.error)))
        }
        let reference = ControlReference(
            connection: connection.number, request: request.id, command: request.command)
        switch command(request, by: connection.user) {
        case .success(.now(let result)):
            connection.send(ControlResponse(id: request.id, outcome: .success(result)))
        case .success(.backup(let file)):
            connection.awaited += 1
            backUp(to: file, reference)
        case .success(.ask(let command)):
            connection.awaited += 1
            relay.authority.post(.operatorAsks(reference, command))
        case .failure(let error): connection.send(ControlResponse(id: request.id, outcome: .failure(error)))
        }
    }

    private enum Step {
        case now(ControlResult)
        case ask(LedgerCommand)
        case backup(String)
    }

    private func command(_ request: ControlRequest, by user: UInt32) -> Result<Step, ControlError> {
        let arguments = request.arguments
        let word = LedgerCommand.Word(actor: "uid \(user)", reason: arguments.reason)
        switch request.command {
        case .address: return .success(.now(.address(AddressReport(link: relay.address))))
        case .version: return .success(.now(.version(RelayVersions.report)))
        case .rotateKey: return rotateKey().map { .now(.rotateKey($0)) }
        case .reload: return reload().map { .now(.reload($0)) }
        case .backup:
            guard let file = arguments.file, file.hasPrefix("/") else {
                return .failure(ControlError(.missingArgument, "backup needs a file, named from / on."))
            }
            return .success(.backup(file))
        case .status: return .success(.ask(.status))
        case .channels: return .success(.ask(.listChannels))
        case .invitations: return .success(.ask(.listInvitations))
        case .audit: return .success(.ask(.listAudit(limit: arguments.limit ?? 100)))
        case .prune:
            // All channels are meant where none is named, not where a name came out empty.
            if let channel = arguments.channel, ChannelReference(channel) == nil {
                return .failure(ControlError(.badRequest, "channel is a name or an id, or is left out."))
            }
            return .success(
                .ask(
                    .prune(
                        arguments.channel.map { ChannelSelector($0) },
                        keep: arguments.keep.map { Int64($0) },
                        word)))
        case .members, .leave, .allow, .accept, .reject, .forget: break
        }
        guard let channel = arguments.channel, ChannelReference(channel) != nil else {
            return .failure(ControlError(.missingArgument, "\(request.command.rawValue) needs a channel."))
        }
        let selector = ChannelSelector(channel)
        switch request.command {
        case .leave: return .success(.ask(.leave(selector, word)))
        case .allow: return .success(.ask(.allow(selector, word)))
        case .accept: return .success(.ask(.acceptInvitation(selector, word)))
        case .reject: return .success(.ask(.rejectInvitation(selector, word)))
        case .forget: return .success(.ask(.forget(selector, word)))
        default:
            var after: MemberID?
            if let text = arguments.after {
                guard let id = MemberID(text: text) else {
                    return .failure(ControlError(.badRequest, "after is a member id as members shows it."))
                }
                after = id
            }
            return .success(
                .ask(
                    .members(selector, after: after, limit: arguments.limit ?? ControlLimits.rowsMax)))
        }
    }

    // MARK: Backups

    /// On a thread of its own: neither links nor readers wait for a copy.
    private func backUp(to file: String, _ reference: ControlReference) {
        guard !isBackingUp else {
            let error = ControlError(.backupFailed, "Another backup is being written; nothing was changed.")
            return answer(reference, .failure(error))
        }
        isBackingUp = true
        let state = relay.configuration.state
        let mailbox = mailbox
        _ = PosixThread.start(name: "backup") {
            mailbox.post(.backupEnded(reference, ControlAnswers.backup(of: state, to: file)))
        }
    }

    func backupEnded(_ reference: ControlReference, _ outcome: Result<ControlResult, ControlError>) {
        isBackingUp = false
        switch outcome {
        case .success: relay.log.notice("operator.backed-up")
        case .failure(let error): relay.log.error("backup.failed", ["reason": .text(error.message)])
        }
        answer(reference, outcome)
    }

    // MARK: Answers

    func answered(_ reference: ControlReference, _ reply: LedgerReply, attached: [ChannelID: Int]) {
        let outcome = ControlAnswers.outcome(
            reply, to: reference.command, relay: relay, attached: attached, isDraining: isDraining())
        log(reference.command, outcome)
        answer(reference, outcome)
    }

    /// The answer to what was asked of another thread.
    private func answer(_ reference: ControlReference, _ outcome: Result<ControlResult, ControlError>) {
        guard let connection = connections[reference.connection] else { return }
        connection.awaited -= 1
        connection.send(ControlResponse(id: reference.request, outcome: outcome))
    }

    private func log(_ command: ControlCommand, _ outcome: Result<ControlResult, ControlError>) {
        guard case .success(let result) = outcome else { return }
        switch result {
        case .leave(let report) where !report.already:
            relay.log.notice("operator.left", ["channel": .text(report.id)])
        case .allow(let report): relay.log.notice("operator.allowed", ["channel": .text(report.id)])
        case .accept(let report): relay.log.notice("operator.accepted", ["channel": .text(report.id)])
        case .reject(let report): relay.log.notice("operator.rejected", ["channel": .text(report.id)])
        case .forget(let report): relay.log.notice("operator.forgot", ["channel": .text(report.id)])
        default: break
        }
    }
}

/// One connection of the control socket.
final class ControlConnection {
    let number: UInt64
    let user: UInt32
    private let descriptor: FileDescriptor
    private var readEvent: LoopEvent?
    private var writeEvent: LoopEvent?
    private var inbound: [UInt8] = []
    private var outbound: [UInt8] = []
    private var isOpen = true
    /// The client has ended its half of the stream, as a script does that sends its requests and waits.
    private var isReadEnded = false
    /// Requests whose answers will come from another thread.
    var awaited = 0
    private let received: (ControlConnection, [UInt8]) -> Void
    private let ended: (ControlConnection) -> Void

    /// Answers that nobody reads end the connection.
    static let outboundBytesMax = 2 * ControlLimits.lineBytesMax

    init(
        number: UInt64, user: UInt32, descriptor: consuming FileDescriptor, loop: EventLoop,
        received: @escaping (ControlConnection, [UInt8]) -> Void, ended: @escaping (ControlConnection) -> Void
    ) {
        self.number = number
        self.user = user
        self.descriptor = descriptor
        self.received = received
        self.ended = ended
        readEvent = loop.watch(self.descriptor.raw, .read, persist: true) { [unowned self] in self.readable()
        }
        writeEvent = loop.watch(self.descriptor.raw, .write, persist: true) { [unowned self] in self.flush() }
        _ = readEvent?.add()
    }

    func send(_ response: ControlResponse) {
        guard isOpen else { return }
        outbound += response.encode()
        outbound.append(UInt8(ascii: "\n"))
        guard outbound.count <= ControlConnection.outboundBytesMax else { return close() }
        flush()
    }

    func close() {
        guard isOpen else { return }
        isOpen = false
        readEvent?.remove()
        writeEvent?.remove()
        // Both events hold closures on this object; it goes when the server lets go of it.
        Posix.shutdownWriting(descriptor.raw)
        ended(self)
    }

    func readable() {
        guard isOpen, !isReadEnded else { return }
        let (result, bytes) = Posix.receive(descriptor.raw, limit: 16 << 10)
        switch result {
        case .done: inbound += bytes
        case .wouldBlock: return
        case .closed:
            isReadEnded = true
            readEvent?.remove()
            // The last line may lack its newline, as with `printf` and no \n.
            if !inbound.isEmpty { inbound.append(UInt8(ascii: "\n")) }
        case .failed: return close()
        }
        while isOpen, let end = inbound.firstIndex(of: UInt8(ascii: "\n")) {
            let line = Array(inbound[..<end])
            inbound.removeSubrange(...end)
            if !line.isEmpty { received(self, line) }
        }
        if inbound.count > ControlLimits.requestBytesMax {
            send(
                ControlResponse(
                    id: 0, outcome: .failure(ControlError(.badRequest, "The request is too long."))))
            return close()
        }
        closeIfDone()
    }

    private func flush() {
        guard isOpen else { return }
        while !outbound.isEmpty {
            switch Posix.send(descriptor.raw, outbound) {
            case .done(let count): outbound.removeFirst(count)
            case .wouldBlock:
                _ = writeEvent?.add()
                return
            case .closed, .failed: return close()
            }
        }
        writeEvent?.remove()
        closeIfDone()
    }

    private func closeIfDone() {
        if isReadEnded, awaited == 0, outbound.isEmpty { close() }
    }
}

@available(*, unavailable)
extension ControlServer: Sendable {}
@available(*, unavailable)
extension ControlConnection: Sendable {}
