/// Why the relay did not do what an operator asked.
package struct ControlError: Error, Codable, Sendable, Equatable, CustomStringConvertible {
    /// The number: of `docs/protocol/errors.md` below 100, of `docs/control-socket.md` from 100.
    package var code: Int
    /// The stable name of the number.
    package var name: String
    /// One sentence for people.
    package var message: String

    package var description: String { message }

    package init(_ kind: Kind, _ message: String) {
        self.code = kind.rawValue
        self.name = kind.name
        self.message = message
    }

    /// The errors of the control socket.
    package enum Kind: Int, Sendable, CaseIterable {
        case timeout = 5
        case tooManyConnections = 6
        case draining = 7
        case internalError = 8
        case storageFull = 9
        case unknownChannel = 20
        case channelRejected = 21
        case channelLimit = 60
        case badRequest = 100
        case unknownCommand = 101
        case ambiguousChannel = 102
        case notRejected = 103
        case notPending = 104
        case missingArgument = 105
        case stillServed = 106
        case badConfiguration = 107
        case backupFailed = 108

        package var name: String {
            switch self {
            case .timeout: "timeout"
            case .tooManyConnections: "too-many-connections"
            case .draining: "draining"
            case .internalError: "internal"
            case .storageFull: "storage-full"
            case .unknownChannel: "unknown-channel"
            case .channelRejected: "channel-rejected"
            case .channelLimit: "channel-limit"
            case .badRequest: "bad-request"
            case .unknownCommand: "unknown-command"
            case .ambiguousChannel: "ambiguous-channel"
            case .notRejected: "not-rejected"
            case .notPending: "not-pending"
            case .missingArgument: "missing-argument"
            case .stillServed: "still-served"
            case .badConfiguration: "bad-configuration"
            case .backupFailed: "backup-failed"
            }
        }
    }

    /// The known kind of this error; nil for a number of a newer relay.
    package var kind: Kind? { Kind(rawValue: code) }
}
