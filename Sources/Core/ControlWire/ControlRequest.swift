internal import FoundationEssentials

/// The limits of the control protocol.
package enum ControlLimits {
    /// The longest request line, newline excluded.
    package static let requestBytesMax = 16 * 1024
    /// The longest response line, newline excluded.
    package static let lineBytesMax = 16 * 1024 * 1024
    /// The longest reason that an operator may give, in UTF-8 bytes.
    package static let reasonBytesMax = 512
    /// The most rows of one `members` or `audit` answer.
    package static let rowsMax = 1000
    /// The most messages that `prune` may be told to leave.
    package static let keepMax = Int(Int32.max)
    /// The longest name of a backup's file, in UTF-8 bytes.
    package static let fileBytesMax = 4095
}

/// What an operator can ask of a running relay.
package enum ControlCommand: String, Codable, Sendable, CaseIterable {
    case status, address, channels, members, leave, allow, invitations, accept, reject, forget, audit, prune,
        version, reload, backup
    case rotateKey = "rotate-key"
}

/// The arguments of a command; each command reads the few that it knows.
package struct ControlArguments: Codable, Sendable, Equatable {
    /// A channel as the operator wrote it: `#news`, `#'my news'`, `#news_1`, or an id.
    package var channel: String?
    /// The operator's own words, sent to the owner.
    package var reason: String?
    /// The most rows wanted.
    package var limit: Int?
    /// Where a page begins: the last id of the page before.
    package var after: String?
    /// Where a backup goes: an absolute path on the relay's machine.
    package var file: String?
    /// How many of the newest messages `prune` leaves, at most.
    package var keep: Int?

    package init(
        channel: String? = nil, reason: String? = nil, limit: Int? = nil, after: String? = nil,
        file: String? = nil, keep: Int? = nil
    ) {
        self.channel = channel
        self.reason = reason
        self.limit = limit
        self.after = after
        self.file = file
        self.keep = keep
    }

    /// What no command would take, as a sentence; nil where all that is given may stand.
    fileprivate var problem: String? {
        if let limit, !(1...ControlLimits.rowsMax).contains(limit) {
            return "limit is a number from 1 to \(ControlLimits.rowsMax)."
        }
        if let keep, !(1...ControlLimits.keepMax).contains(keep) {
            return "keep is a number from 1 to \(ControlLimits.keepMax)."
        }
        if let reason, reason.utf8.count > ControlLimits.reasonBytesMax {
            return "A reason has at most \(ControlLimits.reasonBytesMax) bytes."
        }
        // A name ends at its first zero byte for the kernel: another file than the one that was named.
        if let file, file.utf8.count > ControlLimits.fileBytesMax || file.utf8.contains(0) {
            return "file is a path of at most \(ControlLimits.fileBytesMax) bytes."
        }
        return nil
    }
}

/// One request line.
package struct ControlRequest: Sendable, Equatable {
    /// Chosen by the asker; the answer repeats it.
    package var id: Int64
    package var command: ControlCommand
    package var arguments: ControlArguments

    package init(id: Int64, command: ControlCommand, arguments: ControlArguments = ControlArguments()) {
        self.id = id
        self.command = command
        self.arguments = arguments
    }

    private struct Line: Codable {
        var id: Int64
        var command: String
        var arguments: ControlArguments?
    }

    /// The request as one line without its newline.
    package func encode() -> [UInt8] {
        ControlJSON.encode(Line(id: id, command: command.rawValue, arguments: arguments))
    }

    /// Reads one line without its newline.
    ///
    /// Throws: `badRequest` for what is not such a document, `unknownCommand` with the request's id where it
    /// had one.
    package static func decode(_ line: [UInt8]) throws(ControlRequestError) -> ControlRequest {
        guard line.count <= ControlLimits.requestBytesMax else {
            throw ControlRequestError(id: 0, error: ControlError(.badRequest, "The request is too long."))
        }
        guard let read = ControlJSON.decode(Line.self, line) else {
            throw ControlRequestError(
                id: ControlJSON.decode(Numbered.self, line)?.id ?? 0,
                error: ControlError(
                    .badRequest,
                    "A request is one JSON object with id, command and arguments; its numbers are whole."))
        }
        guard let command = ControlCommand(rawValue: read.command) else {
            let name = String(read.command.prefix(40))
            throw ControlRequestError(
                id: read.id, error: ControlError(.unknownCommand, "No command is called \(name)."))
        }
        let request = ControlRequest(
            id: read.id, command: command, arguments: read.arguments ?? ControlArguments())
        if let problem = request.arguments.problem {
            throw ControlRequestError(id: read.id, error: ControlError(.badRequest, problem))
        }
        return request
    }

    /// What can be read of a request that is wrong elsewhere.
    private struct Numbered: Decodable { var id: Int64 }
}

/// A request that cannot be served, with the id to answer to (0 where none could be read).
package struct ControlRequestError: Error, Sendable, Equatable, CustomStringConvertible {
    package var id: Int64
    package var error: ControlError

    package var description: String { error.description }
}

/// JSON with sorted keys, on one line.
package enum ControlJSON {
    package static func encode(_ value: some Encodable) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let data = try? encoder.encode(value) else {
            preconditionFailure("the control protocol's own types always encode")
        }
        return [UInt8](data)
    }

    package static func decode<Value: Decodable>(_ type: Value.Type, _ bytes: [UInt8]) -> Value? {
        try? JSONDecoder().decode(type, from: Data(bytes))
    }
}
