/// A failure that a person is told about: one line that says what is wrong and one that says what would be
/// right.
package struct OperatorError: Error, Sendable, Equatable, CustomStringConvertible {
    /// Stable; see ``Kind`` for ours, other rooms bring their own numbers from 500 on.
    package let number: Int
    /// Lower case words with hyphens; as stable as the number.
    package let name: String
    /// A heading where one is prescribed; then title and message are printed alone, a line each.
    package let title: String?
    /// One line; made harmless for a terminal when it is printed.
    package let message: String
    /// What would be right.
    package let hint: String?
    package let exitCode: ExitCode

    package var description: String { message }

    /// A failure of a kind known here; the kind's exit code unless a command knows better.
    package init(_ kind: Kind, _ message: String, hint: String? = nil, exitCode: ExitCode? = nil) {
        self.init(
            number: kind.rawValue, name: kind.name, exitCode: exitCode ?? kind.exitCode, message: message,
            hint: hint)
    }

    /// A failure that another room numbers.
    package init(
        number: Int, name: String, exitCode: ExitCode, title: String? = nil, message: String,
        hint: String? = nil
    ) {
        self.number = number
        self.name = name
        self.exitCode = exitCode
        self.title = title
        self.message = message
        self.hint = hint
    }

    /// Shape `{"number","name","title","message","hint","exitCode"}`, `title` and `hint` only where there is
    /// one.
    package var json: JSONValue {
        var fields: [(String, JSONValue)] = [("number", .integer(Int64(number))), ("name", .string(name))]
        if let title { fields.append(("title", .string(title))) }
        fields.append(("message", .string(message)))
        if let hint { fields.append(("hint", .string(hint))) }
        fields.append(("exitCode", .integer(Int64(exitCode.rawValue))))
        return .object(fields)
    }
}

extension OperatorError {
    /// Every kind of failure with its stable number. A number is never used again for something else.
    package enum Kind: Int, Sendable, CaseIterable {
        case internalDefect = 1

        case usage = 100
        case unknownCommand = 101
        case unknownOption = 102
        case missingArgument = 103
        case badValue = 104
        case confirmationNeeded = 105
        case relayAddress = 106

        case notFound = 110
        case ambiguous = 111
        case alreadyExists = 112
        case wrongState = 113

        case unreachable = 200
        case timeout = 201
        case refusedByPeer = 202
        case noRelayTookIt = 203
        case someRelaysFailed = 204

        case foreignDatabase = 300
        case databaseTooNew = 301
        case databaseCorrupt = 302
        case stateNotWritable = 310
        case stateLocked = 311
        case inputOutput = 312
        case storageFull = 313

        case notPermitted = 320

        case badConfiguration = 400

        /// Lower case words with hyphens; as stable as the number.
        package var name: String {
            switch self {
            case .internalDefect: "internal"
            case .usage: "usage"
            case .unknownCommand: "unknown-command"
            case .unknownOption: "unknown-option"
            case .missingArgument: "missing-argument"
            case .badValue: "bad-value"
            case .confirmationNeeded: "confirmation-needed"
            case .relayAddress: "relay-address"
            case .notFound: "not-found"
            case .ambiguous: "ambiguous"
            case .alreadyExists: "already-exists"
            case .wrongState: "wrong-state"
            case .unreachable: "unreachable"
            case .timeout: "timeout"
            case .refusedByPeer: "refused"
            case .noRelayTookIt: "no-relay-took-it"
            case .someRelaysFailed: "some-relays-failed"
            case .foreignDatabase: "foreign-database"
            case .databaseTooNew: "database-too-new"
            case .databaseCorrupt: "database-corrupt"
            case .stateNotWritable: "state-not-writable"
            case .stateLocked: "state-locked"
            case .inputOutput: "input-output"
            case .storageFull: "storage-full"
            case .notPermitted: "not-permitted"
            case .badConfiguration: "bad-configuration"
            }
        }

        package var exitCode: ExitCode {
            switch self {
            case .internalDefect: .unexpected
            case .usage, .unknownCommand, .unknownOption, .missingArgument, .badValue, .confirmationNeeded,
                .relayAddress, .notFound, .ambiguous, .alreadyExists, .wrongState:
                .usage
            case .unreachable, .timeout, .refusedByPeer, .noRelayTookIt: .unavailable
            case .someRelaysFailed: .partial
            case .foreignDatabase, .databaseTooNew, .databaseCorrupt: .badData
            case .stateNotWritable: .cannotCreate
            case .inputOutput, .storageFull: .inputOutput
            case .stateLocked: .temporary
            case .notPermitted: .permission
            case .badConfiguration: .badConfiguration
            }
        }
    }
}
