internal import ChannelClient
internal import Operations

/// `outbox`, `outbox discard`, `sync`.
enum UpkeepCommands {
    static func outbox(_ session: Session, _ command: ParsedCommand) async throws -> ExitCode {
        let rows = try await session.client.outbox()
        if rows.isEmpty, !session.output.json { session.output.note("every relay has everything") }
        let now = Console.nowMilliseconds / 1000
        session.output.answer(
            ["outbox": .array(rows.map(json))],
            Output.table(
                ["CHANNEL", "MESSAGE", "RELAY", "STATE", "AGE", "TRIES", "LAST ERROR"],
                rows.map { row in
                    [
                        Present.name(row.channel), Present.shortID(row.messageID), row.relay, row.state,
                        TimeText.age(since: row.queuedAt, now: now), String(row.attempts),
                        row.lastError ?? "",
                    ]
                }))
        return .ok
    }

    private static func json(_ row: OutboxRow) -> JSONValue {
        [
            "channel": .string(row.channel), "messageId": .string(row.messageID), "relay": .string(row.relay),
            "state": .string(row.state), "attempts": .integer(Int64(row.attempts)),
            "lastError": .optional(row.lastError), "nextTryAt": .optional(row.nextTryAt),
            "queuedAt": .integer(row.queuedAt),
        ]
    }

    static func discard(_ session: Session, _ command: ParsedCommand) async throws -> ExitCode {
        let channel = command.arguments[0]
        let id = try await session.messageID(command.arguments[1], in: channel)
        let name = try await session.client.channel(named: channel).name
        let rows = try await session.client.outbox().filter { $0.messageID == id && $0.channel == name }
        guard !rows.isEmpty else {
            throw OperatorError(
                .wrongState, "message \(id) is not in the outbox", hint: "antenna outbox shows what is")
        }
        guard command.has("pending") || rows.contains(where: { $0.state == "refused" }) else {
            throw OperatorError(
                .wrongState, "no relay has refused message \(id) yet",
                hint: "--pending gives up on it all the same")
        }
        try await session.client.discardOutbox(id, in: channel, pending: command.has("pending"))
        session.output.answer(["discarded": .string(id)], ["message \(id) taken out of the outbox"])
        return .ok
    }

    static func sync(_ session: Session, _ command: ParsedCommand) async throws -> ExitCode {
        let report = try await session.waiting("synchronising") {
            try await session.client.synchronize(timeout: session.timeout)
        }
        let unreachable = report.unreachable.map { row -> JSONValue in
            ["channel": .string(row.channel), "relay": .string(row.relay), "reason": .string(row.reason)]
        }
        let rows = report.unreachable.map { [Present.name($0.channel), $0.relay, "not reached", $0.reason] }
        session.output.answer(
            [
                "delivered": .integer(Int64(report.delivered)), "pending": .integer(Int64(report.pending)),
                "refused": .integer(Int64(report.refused)), "reached": .integer(Int64(report.reached)),
                "unreachable": .array(unreachable),
            ],
            ["\(report.delivered) delivered, \(report.pending) waiting, \(report.refused) refused"]
                + Present.columns(rows))
        return Present.exitCode(report)
    }
}
