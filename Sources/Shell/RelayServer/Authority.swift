internal import ChannelWire
internal import LibeventLoop
internal import Operations
internal import PosixKit
internal import RelayCore
internal import RelayStore

/// The one writer: gathers what all loops ask into transactions, and answers when they have reached the disk.
///
/// ```
///   mailbox, drained ──▶ commands ──▶ one transaction ──▶ notices to every loop, replies to the askers
/// ```
///
/// Replies and notices leave in the order in which they were decided: who attached gets all that was
/// published after it in the same batch. Acks come last: who is told of one has been, or will at once be,
/// delivered to.
final class Authority {
    private let mailbox: Mailbox<AuthorityMessage>
    private let ledger: RelayLedger
    private var relay: RelayShared?
    private var loops: [Mailbox<LoopMessage>] = []
    private var memberLinks: [ChannelID: [MemberID: MemberLinks]] = [:]
    /// For each loop what this batch has to say to it.
    private var outboxes: [[LoopMessage]] = []
    /// For each loop whether an ack is among it.
    private var hasAck: [Bool] = []
    /// How long to wait for work before going round once more.
    private var idleMilliseconds = 1000
    /// Attached links, for the operator's list.
    private var attached: [ChannelID: Int] = [:]
    private var nextMaintenance: UInt64 = 0
    /// Members that came since memory was given back.
    private var comersSinceRelease = 0
    private var nextRelease: UInt64 = 0
    /// What went so far of prunings that are carried out in several transactions.
    private var pruned: [ControlReference: Pruned] = [:]

    /// Nearly every member has one link, which then needs no array.
    private struct MemberLinks {
        var newest: LinkReference
        var older: [LinkReference] = []
    }

    /// What to do with the reply of a command.
    private enum Destination {
        case question(LinkReference, AuthorityMessage.Question, bytes: Int)
        case publish(Int, item: Int)
        case control(ControlReference, LedgerCommand)

        var isPublish: Bool { if case .publish = self { true } else { false } }
    }

    /// A PUBLISH whose elements are being decided.
    private struct Publishing {
        let link: LinkReference
        let request: UInt32
        let bytes: Int
        var results: [Frame.AckResult]
    }

    /// The most commands of one transaction: it bounds how long the first of them waits for the last.
    static let batchMax = 1000
    static let linksPerMemberMax = 4
    /// What it does between two waits for the disk. It asks for no longer turns on the processor, so that it
    /// gets one at once, also beside a loop that has always something to do.
    static let processorTurnNanoseconds: UInt64 = 100_000

    init(mailbox: Mailbox<AuthorityMessage>, ledger: RelayLedger) {
        self.mailbox = mailbox
        self.ledger = ledger
    }

    /// Works until told to stop; then everything that was asked before has been answered and the database is
    /// closed.
    func run() {
        nextMaintenance = Clock.monotonicNanoseconds() + Authority.maintenanceNanoseconds
        var batch: [AuthorityMessage] = []
        while true {
            let patience = wantsRelease ? Authority.quietMilliseconds : idleMilliseconds
            mailbox.waitDrain(into: &batch, timeoutMilliseconds: patience)
            if turn(batch) { break }
            // Its memory goes round between those who post and this; that of a flood is not kept.
            batch.removeAll(keepingCapacity: batch.count <= Authority.batchMax)
        }
        ledger.close()
    }

    /// Answers what was asked, and does the upkeep that is due. Returns: whether to stop.
    func turn(_ messages: [AuthorityMessage]) -> Bool {
        relay?.writerPulse.beat()
        let stopping = work(messages)
        relay?.log.flushSuppressed()
        if messages.isEmpty { releaseMemoryIfDue() }
        maintainIfDue(isIdle: messages.isEmpty)
        return stopping
    }

    /// Many have come: handshakes and joins leave much memory behind that nobody needs once they are in.
    private var wantsRelease: Bool { comersSinceRelease >= Authority.comersBeforeRelease }

    private func releaseMemoryIfDue() {
        let now = Clock.monotonicNanoseconds()
        guard wantsRelease, now >= nextRelease else { return }
        comersSinceRelease = 0
        nextRelease = now + Authority.releaseNanoseconds
        ledger.releaseMemory()
        Posix.giveBackMemory()
    }

    private static let comersBeforeRelease = 64
    private static let quietMilliseconds = 200
    private static let releaseNanoseconds: UInt64 = 5_000_000_000

    /// Upkeep waits for a quiet moment, but not for ever: a busy relay may have none.
    private func maintainIfDue(isIdle: Bool) {
        let now = Clock.monotonicNanoseconds()
        guard now >= nextMaintenance,
            isIdle || ledger.wantsMaintenance || now - nextMaintenance >= Authority.patienceNanoseconds
        else { return }
        nextMaintenance = now + Authority.maintenanceNanoseconds
        ledger.maintain(now: Clock.nowSeconds())
    }

    private static let maintenanceNanoseconds: UInt64 = 60_000_000_000
    private static let patienceNanoseconds: UInt64 = 60_000_000_000

    // MARK: A batch

    /// Returns: whether to stop.
    private func work(_ messages: [AuthorityMessage]) -> Bool {
        var commands: [LedgerCommand] = []
        var destinations: [Destination] = []
        var publishing: [Publishing] = []
        var stopping = false

        func settle() {
            guard !destinations.isEmpty || !publishing.isEmpty else { return }
            carryOut(commands, destinations, &publishing)
            commands.removeAll(keepingCapacity: true)
            destinations.removeAll(keepingCapacity: true)
            publishing.removeAll(keepingCapacity: true)
        }

        for message in messages {
            switch message {
            case .ask(let link, let command, let question, let bytes):
                commands.append(command)
                destinations.append(.question(link, question, bytes: bytes))
            case .publish(let link, let request, let items, let bytes):
                var results: [Frame.AckResult] = []
                results.reserveCapacity(items.count)
                for (index, item) in items.enumerated() {
                    switch item {
                    case .refused(let code): results.append(.refused(code))
                    case .command(let command):
                        // Its place; the ledger's answer comes later.
                        results.append(.refused(.internal))
                        commands.append(.publish(command))
                        destinations.append(.publish(publishing.count, item: index))
                    }
                }
                publishing.append(Publishing(link: link, request: request, bytes: bytes, results: results))
            case .operatorAsks(let reference, let command):
                commands.append(command)
                destinations.append(.control(reference, command))
            case .linked(let link, let channel, let member):
                linked(link, channel, member)
            case .unlinked(let link, let channel, let member):
                unlinked(link, channel, member)
            case .begin(let relay, let loops):
                self.relay = relay
                self.loops = loops
                if ledger.lostLog {
                    relay.log.error(
                        "storage.log-missing",
                        ["hint": "it was removed after a crash: what was accepted last may be lost"])
                }
                if let watchdog = relay.service.watchdogMilliseconds {
                    idleMilliseconds = min(idleMilliseconds, max(1, Int(watchdog / 4)))
                }
                outboxes = Array(repeating: [], count: loops.count)
                hasAck = Array(repeating: false, count: loops.count)
            // What cannot be written down now is at the next start.
            case .claim(let identity): try? ledger.claim(for: identity)
            case .settingsChanged(let options):
                // What came before it is decided by the limits of before.
                settle()
                ledger.options = options
            case .stop: stopping = true
            }
            if commands.count >= Authority.batchMax { settle() }
        }
        settle()
        flush()
        return stopping
    }

    private func carryOut(
        _ commands: [LedgerCommand], _ destinations: [Destination], _ publishing: inout [Publishing]
    ) {
        let batch = ledger.perform(commands, now: Clock.nowSeconds())
        relay?.writerPulse.beat()
        precondition(batch.replies.count == commands.count, "the ledger answers every command")
        var stored: Int64 = 0
        var told = 0
        report(batch.replies)
        for (index, destination) in destinations.enumerated() {
            let reply = batch.replies[index]
            if !destination.isPublish {
                // Whoever becomes a reader by this reply must not miss what comes after it, and need not hear
                // what came before.
                tell(batch.notices[told..<batch.noticeEnds[index]])
                told = batch.noticeEnds[index]
            }
            switch destination {
            case .question(let link, let question, let bytes):
                post(.reply(link, question, reply, bytes: bytes), to: link.loop)
            case .publish(let index, let item):
                let result = Authority.result(reply)
                if result.outcome == .stored { stored += 1 }
                publishing[index].results[item] = result
            case .control(let reference, let command): answer(reference, command, reply)
            }
        }
        tell(batch.notices[told...])
        relay?.counters.published.add(stored)
        for publishing in publishing {
            post(
                .acked(
                    publishing.link, request: publishing.request, publishing.results,
                    bytes: publishing.bytes),
                to: publishing.link.loop)
            hasAck[publishing.link.loop] = true
        }
        flush()
    }

    /// What drops much does so in several transactions, and its room is given back after each: on a volume
    /// that is nearly full the write-ahead log must not grow by all of it at once.
    private func answer(_ reference: ControlReference, _ command: LedgerCommand, _ reply: LedgerReply) {
        var reply = reply
        if case .pruned(var sum) = reply {
            if let before = pruned[reference] {
                sum.messages += before.messages
                sum.bytes += before.bytes
            }
            nextMaintenance = 0
            guard sum.isWhole else {
                pruned[reference] = sum
                ledger.maintain()
                return mailbox.post(.operatorAsks(reference, command))
            }
            reply = .pruned(sum)
        }
        if command.drops { nextMaintenance = 0 }
        pruned[reference] = nil
        let attached: [ChannelID: Int] = if case .channels = reply { self.attached } else { [:] }
        post(.operatorAnswered(reference, reply, attached: attached), to: 0)
    }

    private static func result(_ reply: LedgerReply) -> Frame.AckResult {
        switch reply {
        case .published(.stored(let sequence)): .stored(sequence)
        case .published(.repeated(let sequence)): .repeated(sequence)
        case .published(.refused(let code)): .refused(code)
        default: .refused(reply.refusalCode)
        }
    }

    /// What the machine does wrong is the operator's business.
    private func report(_ replies: [LedgerReply]) {
        var isFull = false
        for reply in replies {
            guard case .failed(let failure) = reply else { continue }
            switch failure {
            case .storageFull: isFull = true
            case .internal(let reason): relay?.log.error("storage.failed", ["reason": .text(reason)])
            }
        }
        guard isFull else { return }
        relay?.log.error(
            "storage.full",
            [
                "refused": "publishes and joins until there is room",
                "because": .text(ledger.lackOfRoom()?.rawValue ?? "nothing more could be written"),
            ])
    }

    // MARK: Telling the loops

    /// Entries of one channel that follow each other become one segment.
    private func tell(_ notices: ArraySlice<LedgerNotice>) {
        var channel: ChannelID?
        var frames: [UInt8] = []
        var after: Int64 = 0
        var last: Int64 = 0

        func finishSegment() {
            guard let ended = channel else { return }
            channel = nil
            guard let segment = LogSegment(after: after, frames: frames) else {
                preconditionFailure("the ledger makes whole frames with rising sequences")
            }
            frames = []
            postToAll(.appended(ended, segment))
        }

        for notice in notices {
            switch notice {
            case .appended(let entry):
                if channel != entry.channel || entry.sequence != last + 1
                    || frames.count >= Authority.segmentBytesMax
                {
                    finishSegment()
                    channel = entry.channel
                    after = entry.sequence - 1
                }
                frames += entry.frame
                last = entry.sequence
            case .recordChanged(let channel, let record, let version):
                finishSegment()
                postToAll(.recordChanged(channel, record: record, version: version))
            case .memberJoined, .membershipEnded, .channelEnded, .invitationDecided:
                finishSegment()
                postToAll(.notice(notice))
            case .erased(let channel, let through):
                finishSegment()
                postToAll(.erased(channel, through: through))
            case .roleChanged: break
            case .statusChanged(let channel, let state):
                relay?.log.info(
                    "channel.status", ["channel": .text(channel.text), "status": .text(state.rawValue)])
            }
        }
        finishSegment()
    }

    private static let segmentBytesMax = 64 << 10

    private func postToAll(_ message: LoopMessage) {
        for index in outboxes.indices { outboxes[index].append(message) }
    }

    private func post(_ message: LoopMessage, to loop: Int) { outboxes[loop].append(message) }

    /// One lock and one wake-up for a loop and a batch.
    private func flush() {
        for (index, loop) in loops.enumerated() where !outboxes[index].isEmpty {
            loop.post(emptying: &outboxes[index], urgent: hasAck[index])
            hasAck[index] = false
        }
    }

    // MARK: Links per member

    private func linked(_ link: LinkReference, _ channel: ChannelID, _ member: MemberID) {
        attached[channel, default: 0] += 1
        comersSinceRelease += 1
        guard var links = memberLinks[channel]?[member] else {
            memberLinks[channel, default: [:]][member] = MemberLinks(newest: link)
            return
        }
        links.older.append(links.newest)
        links.newest = link
        if links.older.count >= Authority.linksPerMemberMax {
            let oldest = links.older.removeFirst()
            post(.close(oldest, .replaced), to: oldest.loop)
        }
        memberLinks[channel]?[member] = links
    }

    private func unlinked(_ link: LinkReference, _ channel: ChannelID, _ member: MemberID) {
        if let count = attached[channel] { attached[channel] = count > 1 ? count - 1 : nil }
        guard var links = memberLinks[channel]?[member] else { return }
        if links.newest != link {
            links.older.removeAll { $0 == link }
        } else if let next = links.older.popLast() {
            links.newest = next
        } else {
            memberLinks[channel]?[member] = nil
            if memberLinks[channel]?.isEmpty == true { memberLinks[channel] = nil }
            return
        }
        memberLinks[channel]?[member] = links
    }
}

@available(*, unavailable)
extension Authority: Sendable {}
