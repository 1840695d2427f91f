internal import ChannelClient
internal import Operations

/// `follow`: a stream of what is published, once each and in order.
enum FollowCommand {
    /// Where a stream that starts at the oldest item begins to be shown.
    private enum Gate {
        case open
        case atTime(Int64)
        case afterMessage(String)

        /// Whether this item is shown; the first one that is opens the gate for all that follow.
        mutating func lets(_ item: FollowItem) -> Bool {
            switch (self, item.kind) {
            case (.open, _): return true
            case (.atTime(let time), .message(let message)):
                // Relays' clocks differ a little, so this looks at each message, and the gate opens with the
                // first.
                guard message.time >= time else { return false }
                self = .open
                return true
            case (.afterMessage(let id), .message(let message)):
                if message.id == id { self = .open }
                return false
            default: return false
            }
        }
    }

    private static let toldMax = 1000

    private enum Ending { case countReached, streamEnded, outputClosed }

    static func run(_ session: Session, _ command: ParsedCommand) async throws -> ExitCode {
        let channel = try await session.client.channel(named: command.arguments[0])
        let count = try command.integer("count", in: 1...1_000_000_000)
        let (start, gate) = try await begin(session, command, channel)
        if let ending = channel.ending {
            session.output.note(
                "antenna: the membership in \(Present.name(channel.name)) has ended (\(ending.rawValue)); "
                    + "nothing new comes")
        }
        // Ended before the reader is, everywhere: that links close then is no news.
        let notes = connectionNotes(session, channel)
        defer { notes.cancel() }
        let reader = Task {
            var gate = gate
            var told: [String: String] = [:]
            var left = count ?? Int.max
            for try await item in session.client.follow(channel.id, since: start) where gate.lets(item) {
                if !session.output.json, isTold(item, &told) { continue }
                guard session.output.item(Present.json(item), Present.line(item)) else {
                    return Ending.outputClosed
                }
                if case .message = item.kind { left -= 1 }
                if left == 0 {
                    notes.cancel()
                    return .countReached
                }
            }
            return .streamEnded
        }
        let end: @Sendable () -> Void = {
            notes.cancel()
            reader.cancel()
        }
        Interrupt.whenAsked(end)
        var deadline: Task<Void, Never>?
        if session.timeoutWasGiven {
            deadline = Task {
                try? await Task.sleep(for: session.timeout)
                if !Task.isCancelled { end() }
            }
        }
        defer { deadline?.cancel() }
        let ending = try await reader.value
        if ending == .streamEnded, let count, reader.isCancelled, session.timeoutWasGiven {
            throw OperatorError(
                .timeout,
                "fewer messages than \(count) came within \(session.timeoutText)",
                hint: "give a longer --timeout")
        }
        return .ok
    }

    /// Whether a person has read this already: what was changed before it was shown is shown as it is now.
    private static func isTold(_ item: FollowItem, _ told: inout [String: String]) -> Bool {
        switch item.kind {
        case .message(let message) where message.edited, .edited(let message):
            if told.count > Self.toldMax { told = [:] }
            return told.updateValue(message.text, forKey: message.id) == message.text
        default: return false
        }
    }

    private static func begin(
        _ session: Session, _ command: ParsedCommand, _ channel: Channel
    ) async throws -> (FollowStart, Gate) {
        let given = ["since", "after", "last"].filter(command.has)
        guard given.count < 2 else {
            throw OperatorError(
                .usage, "--\(given[0]) and --\(given[1]) do not go together", hint: "give one of them")
        }
        if let last = try command.integer("last", in: 0...10_000) { return (.last(last), .open) }
        if let position = try command.integer("after", in: 0...Int.max) {
            return (.after(Int64(position)), .open)
        }
        guard let since = command.value("since") else { return (.now, .open) }
        if let time = TimeText.parse(since) { return (.beginning, .atTime(time)) }
        if let age = TimeText.parseAge(since) {
            return (.beginning, .atTime(Console.nowMilliseconds / 1000 - age))
        }
        do {
            return (.beginning, .afterMessage(try await session.messageID(since, in: channel.id)))
        } catch let error as OperatorError where error.number == OperatorError.Kind.notFound.rawValue {
            throw OperatorError(
                .badValue, "--since cannot be ‘\(TerminalText.cut(since, bytesMax: 64))’",
                hint: "give a time (2026-07-14, 2026-07-14T09:30, seconds since 1970; UTC), "
                    + "an age (30s, 10m, 2h, 7d) or a message id")
        }
    }

    /// Says on standard error when a relay comes and goes.
    private static func connectionNotes(_ session: Session, _ channel: Channel) -> Task<Void, Never> {
        let events = session.client.events
        return Task {
            for await event in events {
                guard case .connectionChanged(let name, let relay, let connected, let reason) = event,
                    name == channel.name
                else { continue }
                let shown = TerminalText.escaped(relay)
                if connected {
                    session.output.note("connected to \(shown)")
                } else {
                    session.output.note(
                        "not connected to \(shown)\(reason.map { ": \(TerminalText.escaped($0))" } ?? "")")
                }
            }
        }
    }
}
