internal import ChannelClient
internal import Operations

/// `profile` and `relay …`: who I am and which relays I know.
enum PeopleCommands {
    static func profile(_ session: Session, _ command: ParsedCommand) async throws -> ExitCode {
        if let name = command.argument(0) { try await session.client.setProfile(displayName: name) }
        let profile = try await session.client.profile()
        session.output.answer(
            ["profile": profile.map { ["displayName": .string($0.displayName)] } ?? .null],
            [
                profile.map { TerminalText.escaped($0.displayName) }
                    ?? "no profile yet; antenna profile NAME sets one"
            ])
        return .ok
    }

    static func relayAdd(_ session: Session, _ command: ParsedCommand) async throws -> ExitCode {
        let entry = try await session.client.addRelay(
            name: command.arguments[0], address: command.arguments[1])
        session.output.answer(
            ["relay": Present.json(entry)], ["relay \(TerminalText.escaped(entry.name)) added"])
        return .ok
    }

    static func relayList(_ session: Session, _ command: ParsedCommand) async throws -> ExitCode {
        let relays = try await session.client.relays()
        if relays.isEmpty, !session.output.json {
            session.output.note("no relays yet; antenna relay add NAME ADDRESS adds one")
        }
        session.output.answer(
            ["relays": .array(relays.map(Present.json))],
            Output.table(["NAME", "ADDRESS"], relays.map { [$0.name, $0.address] }))
        return .ok
    }

    static func relayRemove(_ session: Session, _ command: ParsedCommand) async throws -> ExitCode {
        try await session.client.removeRelay(name: command.arguments[0])
        session.output.answer(
            ["removed": .string(command.arguments[0])],
            ["relay \(TerminalText.escaped(command.arguments[0])) removed"])
        return .ok
    }

    static func relayTest(_ session: Session, _ command: ParsedCommand) async throws -> ExitCode {
        let name = command.arguments[0]
        let report = try await session.waiting("testing \(name)") {
            try await session.client.testRelay(name: name, timeout: session.timeout)
        }
        let steps = report.steps.map { step -> JSONValue in
            [
                "step": .string(step.step.rawValue), "ok": .bool(step.ok), "detail": .string(step.detail),
                "milliseconds": .integer(step.milliseconds),
            ]
        }
        let rows = report.steps.map {
            [$0.step.rawValue, $0.ok ? "ok" : "FAILED", "\($0.milliseconds) ms", $0.detail]
        }
        let verdict = report.ok ? "works" : "does not work"
        session.output.answer(
            [
                "relay": .string(report.relay), "ok": .bool(report.ok), "steps": .array(steps),
                "milliseconds": .integer(report.milliseconds),
            ],
            Present.columns(rows) + [
                "\(TerminalText.escaped(report.relay)) \(verdict) (\(report.milliseconds) ms)"
            ])
        return report.ok ? .ok : .unavailable
    }
}
