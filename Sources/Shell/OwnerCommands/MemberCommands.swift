internal import ChannelClient
internal import Operations

/// `members` and `remove`.
enum MemberCommands {
    static func list(_ session: Session, _ command: ParsedCommand) async throws -> ExitCode {
        let limit = try command.integer("limit", in: 1...100_000) ?? 200
        let found = try await session.waiting("asking for the members") {
            try await session.members(of: command.arguments[0], limit: limit)
        }
        let rows = found.members.map { member in
            [
                member.id, member.name, member.role.rawValue, member.status,
                member.joinedAt.map { TimeText.readable(seconds: $0) } ?? "-",
            ]
        }
        var lines = Output.table(["MEMBER", "NAME", "ROLE", "STATUS", "SINCE"], rows)
        let former = found.members.count { Session.former.contains($0.status) }
        lines.append(
            (found.total == 1 ? "1 member" : "\(found.total) members")
                + (former > 0 ? ", \(former) who \(former == 1 ? "is" : "are") not any more" : "")
                + (found.more ? "; --limit shows more" : ""))
        session.output.answer(
            [
                "members": .array(found.members.map(Present.json)), "total": .integer(found.total),
                "more": .bool(found.more),
            ], lines)
        return .ok
    }

    static func remove(_ session: Session, _ command: ParsedCommand) async throws -> ExitCode {
        let channel = command.arguments[0]
        let id = try await session.memberID(command.arguments[1], in: channel)
        return try await session.publishing("telling the relays", headline: "member \(id) is removed") {
            try await session.client.removeMember(
                id, from: channel, messages: command.has("messages"), timeout: session.timeout)
        }
    }
}
