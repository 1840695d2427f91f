internal import ChannelClient
internal import Operations
internal import QRKit

/// `channel …`, `relays`, `link`, `join`, `leave`.
enum ChannelCommands {
    static func create(_ session: Session, _ command: ParsedCommand) async throws -> ExitCode {
        let relays = command.values("relay")
        guard !relays.isEmpty else {
            throw OperatorError(
                .missingArgument, "a channel needs a relay that carries it",
                hint:
                    "add --relay NAME; antenna relay list shows the names"
            )
        }
        let name = ChannelName.parse(command.arguments[0])
        let made = try await session.waiting("inviting \(relays.joined(separator: ", "))") {
            try await session.client.createChannel(
                name: name, description: command.value("description") ?? "", relays: relays,
                signMessages: !command.has("unsigned"), timeout: session.timeout)
        }
        session.output.answer(
            [
                "channel": Present.json(made.channel), "relays": .array(made.relays.map { Present.json($0) }),
                "link": .string(made.link),
            ],
            ["channel \(Present.name(made.channel.name)) created"]
                + Present.columns(made.relays.map { Present.row($0) })
                + ["link \(made.link)"]
                + (made.relays.contains { $0.result == .active }
                    ? [] : ["the link leads nowhere until a relay carries the channel"]))
        return Present.exitCode(made.relays)
    }

    static func list(_ session: Session, _ command: ParsedCommand) async throws -> ExitCode {
        let channels = try await session.client.channels()
        if channels.isEmpty, !session.output.json {
            session.output.note("no channels yet; antenna channel create or antenna join makes one")
        }
        let rows = channels.map { channel in
            [
                shown(channel), channel.ending?.rawValue ?? channel.role.rawValue,
                channel.lastMessageAt.map { TimeText.readable(seconds: $0) } ?? "-",
                channel.description,
            ]
        }
        session.output.answer(
            ["channels": .array(channels.map(Present.json))],
            Output.table(["CHANNEL", "ROLE", "LAST MESSAGE", "DESCRIPTION"], rows))
        return .ok
    }

    /// A channel that its owner renamed keeps the name it has in this home; both are told.
    private static func shown(_ channel: Channel) -> String {
        let isSame =
            channel.displayName == channel.name || channel.name.hasPrefix("\(channel.displayName)_")
        let name = Present.name(channel.name)
        return isSame ? name : "\(name) (now called \(channel.displayName))"
    }

    static func set(_ session: Session, _ command: ParsedCommand) async throws -> ExitCode {
        let name = command.value("name").map(ChannelName.parse)
        let description = command.value("description")
        guard name != nil || description != nil else {
            throw OperatorError(
                .missingArgument, "nothing to change", hint: "give --description TEXT or --name NAME")
        }
        return try await session.publishing("telling the relays", headline: "profile changed") {
            try await session.client.setChannel(
                command.arguments[0], name: name, description: description, timeout: session.timeout)
        }
    }

    static func delete(_ session: Session, _ command: ParsedCommand) async throws -> ExitCode {
        let channel = try await session.client.channel(named: command.arguments[0])
        let shown = Present.name(channel.name)
        if !command.has("yes") {
            guard Console.canAsk, !session.output.json else {
                throw OperatorError(
                    .confirmationNeeded, "deleting \(shown) is for everybody and for good",
                    hint: "repeat it with --yes; without a terminal nobody is asked")
            }
            guard Console.confirm("Delete \(shown) for everybody and for good?") else {
                throw OperatorError(.confirmationNeeded, "\(shown) is not deleted")
            }
        }
        return try await session.publishing("telling the relays", headline: "\(shown) is deleted") {
            try await session.client.deleteChannel(channel.id, timeout: session.timeout)
        }
    }

    static func forget(_ session: Session, _ command: ParsedCommand) async throws -> ExitCode {
        let channel = try await session.client.channel(named: command.arguments[0])
        try await session.client.forgetChannel(channel.id)
        session.output.answer(
            ["forgotten": .string(channel.name)],
            ["\(Present.name(channel.name)) is not in this home any more"])
        return .ok
    }

    static func relays(_ session: Session, _ command: ParsedCommand) async throws -> ExitCode {
        let channel = command.arguments[0]
        let added = command.values("add")
        let removed = command.values("remove")
        if !added.isEmpty, !removed.isEmpty {
            throw OperatorError(
                .usage, "--add and --remove do not go together", hint: "remove first, then add")
        }
        var outcomes: [RelayOutcome] = []
        if !added.isEmpty {
            outcomes = try await session.waiting("inviting \(added.joined(separator: ", "))") {
                try await session.client.addRelays(added, to: channel, timeout: session.timeout)
            }
        }
        for name in removed {
            outcomes += try await session.waiting("removing \(name)") {
                try await session.client.removeRelay(name, from: channel, timeout: session.timeout)
            }
        }
        var answered = Set(outcomes.filter { $0.result == .active }.map(\.relay))
        var unreachable: Set<String> = []
        let asks = added.isEmpty && removed.isEmpty && !command.has("offline")
        if asks {
            // Best effort: a relay that does not answer shows its last state and the failure.
            let report = try await session.waiting("asking the relays") {
                try await session.client.synchronize(channel, timeout: min(session.timeout, .seconds(5)))
            }
            unreachable = Set(report.unreachable.map(\.relay))
        }
        let relays = try await session.client.channelRelays(of: channel)
        if asks {
            let serving = relays.filter {
                [.accepted, .acknowledgedRoster, .active].contains($0.status)
            }
            answered = Set(serving.map(\.name)).subtracting(unreachable)
        }
        let told = outcomes.map { Present.json($0, done: removed.isEmpty ? "active" : "removed") }
        var document: [(String, JSONValue)] = [
            ("relays", .array(relays.map { Present.json($0, answered: answered.contains($0.name)) }))
        ]
        if !(added + removed).isEmpty { document.append(("outcomes", .array(told))) }
        // Of a removal only what did not work is worth more words: a relay that never took the channel up is
        // not told either.
        let shown = removed.isEmpty ? outcomes : outcomes.filter { $0.result != .active }
        var lines =
            removed.map { "relay \(TerminalText.escaped($0)) removed" }
            + Present.columns(shown.map { Present.row($0) })
        if added.isEmpty, removed.isEmpty {
            let rows = relays.map { relay in
                // That a relay which rejects the channel cannot be reached for it says nothing more.
                let remark = [
                    waiting(relay), relay.reason.map(Present.rejection),
                    relay.reason == nil ? relay.lastError : nil,
                ].compactMap { $0 }.joined(separator: "; ")
                return [
                    relay.name, relay.status.rawValue, relay.memberStatus.rawValue,
                    TimeText.readable(seconds: relay.since), remark,
                ]
            }
            lines = Output.table(["RELAY", "STATUS", "MEMBER", "SINCE", "REMARK"], rows)
            if rows.isEmpty, !session.output.json { session.output.note("no relays; --add NAME invites one") }
        }
        session.output.answer(.object(document), lines)
        return Present.exitCode(outcomes)
    }

    /// An invitation that nobody has answered gets older where everybody can see it.
    private static func waiting(_ relay: ChannelRelay) -> String? {
        guard relay.status == .new || relay.status == .invited else { return nil }
        return "no answer for \(TimeText.age(since: relay.since, now: Console.nowMilliseconds / 1000))"
    }

    static func link(_ session: Session, _ command: ParsedCommand) async throws -> ExitCode {
        let link = try await session.client.link(to: command.arguments[0])
        session.output.answer(["link": .string(link)], [link])
        if command.has("qr"), !session.output.json {
            if let code = QRCode.terminal(link) {
                session.output.text(code + "\n")
            } else {
                session.output.note("antenna: the link is too long for a QR code")
            }
        }
        return .ok
    }

    static func join(_ session: Session, _ command: ParsedCommand) async throws -> ExitCode {
        if command.has("as"), command.has("anonymous") {
            throw OperatorError(
                .usage, "--as and --anonymous do not go together", hint: "give one of them")
        }
        let name: NameChoice =
            command.has("anonymous") ? .random : command.value("as").map(NameChoice.named) ?? .profile
        let report = try await session.waiting("joining") {
            try await session.client.join(
                link: command.arguments[0], as: name, timeout: session.timeout)
        }
        // Who reads is told of the members that this home knows; no relay is asked.
        let members = try? await session.client.members(of: report.channel.id, timeout: session.timeout)
        let own = members?.members.first { $0.isSelf }?.name
        session.output.answer(
            [
                "channel": Present.json(report.channel),
                "relays": .array(report.relays.map { Present.json($0) }), "memberName": .optional(own),
            ],
            [
                "joined \(Present.name(report.channel.name))"
                    + (own.map { " as \(TerminalText.escaped($0))" } ?? "")
            ]
                + Present.columns(report.relays.map { Present.row($0) }))
        return Present.exitCode(report.relays)
    }

    static func leave(_ session: Session, _ command: ParsedCommand) async throws -> ExitCode {
        let channel = try await session.client.channel(named: command.arguments[0])
        let headline = "left \(Present.name(channel.name))"
        return try await session.publishing("telling the relays", headline: headline) {
            try await session.client.leave(channel.id, timeout: session.timeout)
        }
    }
}
