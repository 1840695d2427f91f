package import ControlWire
internal import Operations

/// What a person reads for each answer of the relay.
package enum OperatorText {
    /// Whatever is in an answer, also what a hand wrote into the relay's database, is harmless for a
    /// terminal.
    package static func lines(_ result: ControlResult) -> [String] {
        words(result).map { TerminalText.escaped($0) }
    }

    private static func words(_ result: ControlResult) -> [String] {
        switch result {
        case .status(let report): status(report)
        case .address(let report): [report.link]
        case .channels(let report): channels(report)
        case .members(let report): members(report)
        case .leave(let report):
            [
                report.already
                    ? "\(report.channel): you left the group before (invitations are rejected)"
                    : "\(report.channel): you left the group (future invitations will be rejected)",
                "use /group allow \(report.channel) to accept invitations again",
            ]
        case .allow(let report): ["\(report.channel): relay rejection cleared"]
        case .invitations(let report): invitations(report)
        case .accept(let report): ["\(report.channel): you joined the group as relay"]
        case .reject(let report): ["\(report.channel): invitation rejected"]
        case .forget(let report): ["\(report.channel): forgotten"]
        case .audit(let report): audit(report)
        case .rotateKey(let report):
            [
                "new link key made; the address stays",
                "valid until \(TimeText.readable(seconds: report.notAfterAt)) UTC",
            ]
        case .reload(let report): reload(report)
        case .backup(let report): ["\(report.file): \(size(report.fileBytes)), whole and checked"]
        case .prune(let report):
            ["\(count(report.messages, "message")) (\(size(report.messageBytes))) dropped"]
        case .version(let report):
            ["relay: antenna \(report.antenna) (libevent \(report.libevent), SQLite \(report.sqlite))"]
        }
    }

    private static func status(_ report: StatusReport) -> [String] {
        let links = report.links
        let channels = report.channels
        let storage = report.storage
        let counters = report.counters
        return [
            "\(report.name): \(report.state), antenna \(report.version)",
            "listening on \(report.listen) since \(TimeText.readable(seconds: report.startedAt)) UTC"
                + ", \(report.loops) \(report.loops == 1 ? "loop" : "loops")",
            "invitations: \(report.admission), \(channels.invitations) waiting",
            "channels: \(channels.serving) serving, \(channels.inactive) inactive, "
                + "\(channels.rejected) rejected",
            "links: \(links.total) of \(links.limit) (\(links.owners) owners, \(links.members) members)",
            "stored: \(count(storage.messages, "message")) (\(size(storage.messageBytes))), "
                + "\(count(storage.subscribers, "member")), database \(size(storage.databaseBytes))"
                + (storage.full
                    ? ", full: publishes are refused" + (storage.fullBecause.map { ", " + $0 } ?? "") : ""),
            "since the start: \(counters.published) published, \(counters.delivered) delivered, "
                + "\(count(counters.accepted, "link")) accepted, \(counters.refused) refused, "
                + "\(counters.errors) errors",
        ] + reloadLine(report)
    }

    private static func reloadLine(_ report: StatusReport) -> [String] {
        guard let reload = report.reload else { return [] }
        let time = TimeText.readable(seconds: reload.reloadedAt)
        if reload.ok { return ["last reload done at \(time) UTC"] }
        return ["last reload failed: \(reload.problem ?? "") (\(time) UTC)"]
    }

    private static func reload(_ report: ReloadReport) -> [String] {
        let file = report.file.map { "read \(TerminalText.escaped($0))" } ?? "no settings file was found"
        guard !report.changed.isEmpty || !report.needRestart.isEmpty else {
            return ["nothing has changed; \(file)"]
        }
        return [file] + report.changed.map { "\($0): in force" }
            + report.needRestart.map { "\($0): needs a restart" }
    }

    private static func channels(_ report: ChannelsReport) -> [String] {
        guard !report.channels.isEmpty else { return ["no channels"] }
        var lines = Output.table(
            ["channel", "status", "members", "attached", "messages", "size"],
            report.channels.map { row in
                [
                    row.name, row.rejection == nil ? row.status : "[\(row.status)]", String(row.subscribers),
                    String(row.attached), String(row.messages), size(row.messageBytes),
                ]
            })
        for row in report.channels {
            guard let rejection = row.rejection else { continue }
            let reason = rejection.reason.isEmpty ? "" : ", reason: \(rejection.reason)"
            lines.append(
                "\(row.name): rejected \(TimeText.readable(seconds: rejection.rejectedAt)) UTC"
                    + " by \(rejection.by)\(reason)")
        }
        return lines
    }

    private static func members(_ report: MembersReport) -> [String] {
        guard !report.members.isEmpty else { return ["no members"] }
        var lines = Output.table(
            ["id", "role", "status", "joined", "name"],
            report.members.map { row in
                [row.id, row.role, row.status, TimeText.readable(seconds: row.joinedAt), row.name]
            })
        let former = report.members.count { $0.status == "left" || $0.status == "removed" }
        lines.append(
            (report.more ? "\(report.members.count) of " : "") + count(report.total, "member")
                + (former > 0 ? ", \(former) who \(former == 1 ? "is" : "are") not any more" : ""))
        if report.more, let last = report.members.last { lines.append("more with --after \(last.id)") }
        return lines
    }

    private static func invitations(_ report: InvitationsReport) -> [String] {
        guard !report.invitations.isEmpty else { return ["no invitations"] }
        return Output.table(
            ["channel", "received", "owner"],
            report.invitations.map { row in
                [
                    row.channel, TimeText.readable(seconds: row.receivedAt),
                    row.ownerName.isEmpty ? row.owner : row.ownerName,
                ]
            })
    }

    private static func audit(_ report: AuditReport) -> [String] {
        guard !report.actions.isEmpty else { return ["nothing yet"] }
        return Output.table(
            ["time", "by", "action", "channel", "detail"],
            report.actions.map { row in
                [
                    TimeText.readable(seconds: row.doneAt), row.actor, row.action, row.channel ?? "",
                    row.detail ?? "",
                ]
            })
    }

    /// `1 message`, `2 messages`.
    private static func count(_ number: Int64, _ noun: String) -> String {
        "\(number) \(noun)\(number == 1 ? "" : "s")"
    }

    /// `512 B`, `1.5 KiB`, `20 MiB`.
    static func size(_ bytes: Int64) -> String {
        guard bytes >= 1024 else { return "\(bytes) B" }
        let units = ["KiB", "MiB", "GiB", "TiB"]
        var tenths = min(bytes, .max / 10) * 10 / 1024
        var unit = 0
        while tenths >= 10240, unit + 1 < units.count {
            tenths /= 1024
            unit += 1
        }
        return tenths % 10 == 0 || tenths >= 1000
            ? "\(tenths / 10) \(units[unit])" : "\(tenths / 10).\(tenths % 10) \(units[unit])"
    }
}
