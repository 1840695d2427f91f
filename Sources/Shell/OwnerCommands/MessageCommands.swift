internal import ChannelClient
internal import Operations

/// `post`, `edit`, `delete`, `history`.
enum MessageCommands {
    static func post(_ session: Session, _ command: ParsedCommand) async throws -> ExitCode {
        let minimum = try command.integer("min-relays", in: 1...16) ?? 0
        let text = try text(command.argument(1), "antenna post CHANNEL TEXT")
        return try await session.publishing("waiting for the relays", minimum: minimum) {
            try await session.client.publish(
                text, to: command.arguments[0], asGroup: command.has("as-channel"), minimumRelays: minimum,
                timeout: session.timeout)
        }
    }

    static func edit(_ session: Session, _ command: ParsedCommand) async throws -> ExitCode {
        let minimum = try command.integer("min-relays", in: 1...16) ?? 0
        let channel = command.arguments[0]
        let id = try await session.messageID(command.arguments[1], in: channel)
        let text = try text(command.argument(2), "antenna edit CHANNEL MESSAGE TEXT")
        return try await session.publishing(
            "waiting for the relays", minimum: minimum, headline: "message \(id) is changed"
        ) {
            try await session.client.edit(
                id, in: channel, to: text, minimumRelays: minimum, timeout: session.timeout)
        }
    }

    static func delete(_ session: Session, _ command: ParsedCommand) async throws -> ExitCode {
        let minimum = try command.integer("min-relays", in: 1...16) ?? 0
        let channel = command.arguments[0]
        let id = try await session.messageID(command.arguments[1], in: channel)
        return try await session.publishing(
            "waiting for the relays", minimum: minimum, headline: "message \(id) is deleted"
        ) {
            try await session.client.deleteMessage(
                id, in: channel, minimumRelays: minimum, timeout: session.timeout)
        }
    }

    static func history(_ session: Session, _ command: ParsedCommand) async throws -> ExitCode {
        let channel = command.arguments[0]
        let limit = try command.integer("limit", in: 1...500) ?? 50
        var before: String?
        if let typed = command.value("before") { before = try await session.messageID(typed, in: channel) }
        var messages: [Message]
        if command.has("local") {
            messages = try await session.client.messages(in: channel, limit: limit, before: before)
        } else {
            do {
                messages = try await session.waiting("asking the relays") {
                    try await session.client.history(
                        of: channel, before: before, limit: limit, timeout: session.timeout)
                }
            } catch let error as ChannelClientError {
                guard [.unreachable, .timedOut, .noRelays].contains(error.code) else { throw error }
                session.output.note(
                    "antenna: only what is stored here: \(TerminalText.escaped(error.message))")
                messages = try await session.client.messages(in: channel, limit: limit, before: before)
            }
        }
        let open = Set(try await session.client.outbox().map(\.messageID))
        session.output.answer(
            ["messages": .array(messages.map(Present.json))],
            messages.map {
                Present.line($0, isUnpublished: $0.own && $0.relays.isEmpty && open.contains($0.id))
            })
        return .ok
    }

    /// The text given, or standard input to its end without the last newline.
    private static func text(_ given: String?, _ usage: String) throws(OperatorError) -> String {
        if let given, given != "-", !given.isEmpty { return given }
        if given == nil, Console.inputIsTerminal {
            Console.write("the message, ended by Ctrl-D:\n", to: .error)
        }
        var text = ""
        while given?.isEmpty != true, let line = readLine(strippingNewline: false) {
            text += line
            // Far beyond what fits into a message; the library names the limit.
            if text.utf8.count > 1 << 20 { break }
        }
        if text.hasSuffix("\n") { text.removeLast() }
        guard !text.isEmpty else {
            throw OperatorError(
                .missingArgument, "there is no text", hint: "\(usage), or the text on standard input")
        }
        return text
    }
}
