/// What a command answers when it succeeds.
package enum ControlResult: Sendable, Equatable {
    case status(StatusReport)
    case address(AddressReport)
    case channels(ChannelsReport)
    case members(MembersReport)
    case leave(LeaveReport)
    case allow(ChannelReport)
    case invitations(InvitationsReport)
    case accept(ChannelReport)
    case reject(ChannelReport)
    case forget(ChannelReport)
    case audit(AuditReport)
    case rotateKey(KeyReport)
    case prune(PruneReport)
    case version(VersionReport)
    case reload(ReloadReport)
    case backup(BackupReport)

    /// The result alone, as the JSON object that `--json` prints.
    package func encode() -> [UInt8] {
        switch self {
        case .status(let report): ControlJSON.encode(report)
        case .address(let report): ControlJSON.encode(report)
        case .channels(let report): ControlJSON.encode(report)
        case .members(let report): ControlJSON.encode(report)
        case .leave(let report): ControlJSON.encode(report)
        case .invitations(let report): ControlJSON.encode(report)
        case .allow(let report), .accept(let report), .reject(let report), .forget(let report):
            ControlJSON.encode(report)
        case .audit(let report): ControlJSON.encode(report)
        case .rotateKey(let report): ControlJSON.encode(report)
        case .prune(let report): ControlJSON.encode(report)
        case .version(let report): ControlJSON.encode(report)
        case .reload(let report): ControlJSON.encode(report)
        case .backup(let report): ControlJSON.encode(report)
        }
    }
}

/// One response line: the answer to the request with the same id.
package struct ControlResponse: Sendable, Equatable {
    package var id: Int64
    package var outcome: Result<ControlResult, ControlError>

    package init(id: Int64, outcome: Result<ControlResult, ControlError>) {
        self.id = id
        self.outcome = outcome
    }

    /// The response as one line without its newline.
    package func encode() -> [UInt8] {
        switch outcome {
        case .failure(let error):
            ControlJSON.encode(Line<Empty>(id: id, ok: false, result: nil, error: error))
        case .success(let result):
            switch result {
            case .status(let report): line(report)
            case .address(let report): line(report)
            case .channels(let report): line(report)
            case .members(let report): line(report)
            case .leave(let report): line(report)
            case .invitations(let report): line(report)
            case .allow(let report), .accept(let report), .reject(let report), .forget(let report):
                line(report)
            case .audit(let report): line(report)
            case .rotateKey(let report): line(report)
            case .prune(let report): line(report)
            case .version(let report): line(report)
            case .reload(let report): line(report)
            case .backup(let report): line(report)
            }
        }
    }

    /// Reads one line without its newline, the answer to `command`; nil where it is none.
    package static func decode(_ line: [UInt8], to command: ControlCommand) -> ControlResponse? {
        switch command {
        case .status: read(line) { .status($0) }
        case .address: read(line) { .address($0) }
        case .channels: read(line) { .channels($0) }
        case .members: read(line) { .members($0) }
        case .leave: read(line) { .leave($0) }
        case .allow: read(line) { .allow($0) }
        case .invitations: read(line) { .invitations($0) }
        case .accept: read(line) { .accept($0) }
        case .reject: read(line) { .reject($0) }
        case .forget: read(line) { .forget($0) }
        case .audit: read(line) { .audit($0) }
        case .rotateKey: read(line) { .rotateKey($0) }
        case .prune: read(line) { .prune($0) }
        case .version: read(line) { .version($0) }
        case .reload: read(line) { .reload($0) }
        case .backup: read(line) { .backup($0) }
        }
    }

    private struct Empty: Codable {}

    private struct Line<Report: Codable>: Codable {
        var id: Int64
        var ok: Bool
        var result: Report?
        var error: ControlError?
    }

    private func line(_ report: some Codable) -> [UInt8] {
        ControlJSON.encode(Line(id: id, ok: true, result: report, error: nil))
    }

    private static func read<Report: Codable>(
        _ bytes: [UInt8], _ wrap: (Report) -> ControlResult
    ) -> ControlResponse? {
        guard let line = ControlJSON.decode(Line<Report>.self, bytes) else { return nil }
        if line.ok, let report = line.result {
            return ControlResponse(id: line.id, outcome: .success(wrap(report)))
        }
        guard !line.ok, let error = line.error else { return nil }
        return ControlResponse(id: line.id, outcome: .failure(error))
    }
}
