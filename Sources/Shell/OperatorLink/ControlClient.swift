package import ControlWire
package import Operations
internal import PosixKit

/// One connection to a relay's control socket: asks, and waits for the answer within the time allowed.
package struct ControlClient: ~Copyable {
    private let socket: FileDescriptor
    private let timeoutMilliseconds: Int64
    private var received: [UInt8] = []
    private var nextID: Int64 = 1

    /// Connects, or says why not. Where many connect at once it waits for its turn, as long as for an answer.
    package init(path: String, timeoutSeconds: Int) throws(OperatorError) {
        timeoutMilliseconds = Int64(timeoutSeconds) * 1000
        let deadline = Self.now() + timeoutMilliseconds
        while true {
            do throws(PosixError) {
                socket = try Posix.connect(unix: path)
                return
            } catch {
                guard error.isWouldBlock else { throw Self.unreachable(path, error) }
                guard Self.now() < deadline else {
                    throw OperatorError(
                        .timeout,
                        "too many programs wait for the relay at \(path): no room for another within "
                            + "\(timeoutSeconds) s",
                        hint: "end some of them and try again", exitCode: .temporary)
                }
                Clock.pause(milliseconds: Self.queuePauseMilliseconds)
            }
        }
    }

    /// The kernel tells nobody when a queue has room again.
    private static let queuePauseMilliseconds: Int32 = 20

    private static func unreachable(_ path: String, _ error: PosixError) -> OperatorError {
        if error.isPermission {
            return OperatorError(
                .notPermitted, "\(path): \(error.reason)",
                hint: "only root and the relay's own user may do this")
        }
        let absent = error.isNotFound || error.isRefused
        return OperatorError(
            .unreachable, absent ? "no relay is running at \(path)" : error.description,
            hint: "start antennad, or name its directory with --state")
    }

    /// Sends one command and waits for its answer.
    package mutating func ask(_ command: ControlCommand, _ arguments: ControlArguments) throws(OperatorError)
        -> ControlResult
    {
        let deadline = Self.now() + timeoutMilliseconds
        let id = nextID
        nextID += 1
        let request = ControlRequest(id: id, command: command, arguments: arguments).encode()
        guard request.count <= ControlLimits.requestBytesMax else {
            throw OperatorError(.badValue, "the arguments are too long")
        }
        try send(request + [UInt8(ascii: "\n")], until: deadline)
        while true {
            let line = try readLine(until: deadline)
            guard let response = ControlResponse.decode(line, to: command) else {
                throw OperatorError(.internalDefect, "the relay answered something else than an answer")
            }
            // 0: an error that is about the connection, not about one request.
            guard response.id == id || response.id == 0 else { continue }
            switch response.outcome {
            case .success(let result): return result
            case .failure(let error): throw Self.operatorError(error)
            }
        }
    }

    private func send(_ bytes: [UInt8], until deadline: Int64) throws(OperatorError) {
        var rest = bytes[...]
        while !rest.isEmpty {
            switch Posix.send(socket.raw, Array(rest)) {
            case .done(let count): rest = rest.dropFirst(count)
            case .wouldBlock: try wait(writing: true, until: deadline)
            // The relay may have said why before it closed.
            case .closed: return
            case .failed(let error): throw OperatorError(.inputOutput, error.description)
            }
        }
    }

    private mutating func readLine(until deadline: Int64) throws(OperatorError) -> [UInt8] {
        var searched = 0
        while true {
            if let end = received[searched...].firstIndex(of: UInt8(ascii: "\n")) {
                let line = Array(received[..<end])
                received.removeSubrange(...end)
                return line
            }
            searched = received.count
            guard received.count <= ControlLimits.lineBytesMax else {
                throw OperatorError(.internalDefect, "the relay's answer is too long")
            }
            let (result, bytes) = Posix.receive(socket.raw, limit: 64 << 10)
            switch result {
            case .done: received += bytes
            case .wouldBlock: try wait(writing: false, until: deadline)
            case .closed: throw Self.gone
            case .failed(let error): throw OperatorError(.inputOutput, error.description)
            }
        }
    }

    private func wait(writing: Bool, until deadline: Int64) throws(OperatorError) {
        let left = deadline - Self.now()
        guard left > 0, Posix.waitReady(socket.raw, writing: writing, milliseconds: Int32(clamping: left))
        else {
            throw OperatorError(
                .timeout, "the relay did not answer within \(timeoutMilliseconds / 1000) s",
                hint: "what was asked may still happen; look with antennactl status")
        }
    }

    private static func now() -> Int64 { Int64(Clock.monotonicNanoseconds() / 1_000_000) }

    private static var gone: OperatorError {
        OperatorError(
            .unreachable, "the relay closed the control socket", hint: "it may have stopped: see its log")
    }

    private static func operatorError(_ error: ControlError) -> OperatorError {
        switch error.kind {
        case .unknownChannel:
            OperatorError(.notFound, error.message, hint: "antennactl channels lists them")
        case .ambiguousChannel:
            OperatorError(.ambiguous, error.message, hint: "antennactl channels shows the names to use")
        case .notPending:
            OperatorError(.notFound, error.message, hint: "antennactl invitations lists them")
        case .notRejected, .stillServed: OperatorError(.wrongState, error.message, exitCode: .unexpected)
        case .badConfiguration:
            OperatorError(.badConfiguration, error.message, hint: "the settings of before stay in force")
        case .backupFailed: OperatorError(.inputOutput, error.message)
        case .badRequest, .unknownCommand: OperatorError(.usage, error.message)
        case .missingArgument: OperatorError(.missingArgument, error.message)
        case .storageFull: OperatorError(.storageFull, error.message)
        case .timeout: OperatorError(.timeout, error.message)
        case .draining: OperatorError(.unreachable, error.message)
        case .tooManyConnections:
            OperatorError(
                .unreachable, error.message, hint: "end some of them and try again", exitCode: .temporary)
        case .channelRejected, .channelLimit: OperatorError(.wrongState, error.message, exitCode: .unexpected)
        case .internalError, nil: OperatorError(.internalDefect, error.message)
        }
    }
}
