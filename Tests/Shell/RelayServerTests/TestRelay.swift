import LinkRuntime
import Operations
import OperatorCommands
import PosixKit
import RelayServer
import Synchronization
import Testing

/// A relay on a free loopback port with a state directory of its own; stopped and removed at the end.
final class TestRelay {
    let directory: String
    private(set) var server: RelayServer
    private var configuration: RelayConfiguration
    private let settings = WrittenSettings()
    let lines = LogLines()

    init(keyClock: KeyClock = KeyClock(), _ change: (inout RelayConfiguration) -> Void = { _ in }) throws {
        directory = try Posix.makeTemporaryDirectory(prefix: "antenna-relay-")
        configuration = RelayConfiguration(state: directory + "/state")
        configuration.listen = .loopback(port: 0)
        configuration.drainSeconds = 0
        change(&configuration)
        stopping = nil
        server = try TestRelay.start(configuration, settings, lines, keyClock)
    }

    deinit {
        stop()
        Posix.removeTree(directory)
    }

    private static func start(
        _ configuration: RelayConfiguration, _ settings: WrittenSettings, _ lines: LogLines,
        _ keyClock: KeyClock = KeyClock()
    ) throws -> RelayServer {
        let log = Log(
            format: .text, minimum: .debug, underJournal: true, colour: false,
            repetition: Log.Repetition(burst: 1000), now: { Console.nowMilliseconds }, sink: { lines.add($0) }
        )
        return try RelayServer(configuration, log: log, readSettings: { settings.read() }, keyClock: keyClock)
    }

    private var stopping: PosixThread?

    /// Asks the relay to stop and lets it do so on its own.
    func beginStop() {
        guard stopping == nil else { return }
        let server = server
        server.stop()
        stopping = PosixThread.start(name: "stopping") { server.waitUntilStopped() }
    }

    func stop() {
        beginStop()
        stopping?.join()
    }

    /// Stops and starts on the same state; the port is another one.
    func restart(_ change: (inout RelayConfiguration) -> Void = { _ in }) throws {
        stop()
        change(&configuration)
        stopping = nil
        server = try TestRelay.start(configuration, settings, lines)
    }

    /// Writes other settings and has the relay read them.
    func reload(_ change: (inout RelayConfiguration) -> Void) -> Operated {
        var written = configuration
        change(&written)
        settings.write(.success(written))
        return operate("reload")
    }

    /// Writes settings that make no sense and has the relay read them.
    func reload(wrong: OperatorError) -> Operated {
        settings.write(.failure(wrong))
        return operate("reload")
    }

    var socket: String { configuration.state + "/control.sock" }

    /// Runs `antennactl` against this relay, in this process.
    func operate(_ words: String..., input: [String] = []) -> Operated {
        let captured = LogLines()
        let errors = LogLines()
        let output = Output(json: words.contains("--json")) { text, stream in
            if stream == .output { captured.add(text) } else { errors.add(text) }
            return true
        }
        var rest = input[...]
        let code = OperatorProgram.run(
            words + ["--socket", socket], output: output, input: { rest.popFirst() })
        return Operated(code: code, output: captured.text, errors: errors.text)
    }

    struct Operated {
        let code: ExitCode
        let output: String
        let errors: String
    }
}

/// The settings that a reload finds.
final class WrittenSettings: Sendable {
    private let held = Mutex<Result<RelayConfiguration, OperatorError>?>(nil)

    func write(_ settings: Result<RelayConfiguration, OperatorError>) { held.withLock { $0 = settings } }

    func read() -> Result<RelayServer.FreshSettings, OperatorError> {
        let written = held.withLock { $0 } ?? .failure(OperatorError(.badConfiguration, "nothing is written"))
        return written.map {
            RelayServer.FreshSettings(configuration: $0, file: nil, changed: [], needRestart: [])
        }
    }
}

/// Text that several threads write.
final class LogLines: Sendable {
    private let held = Mutex("")

    func add(_ text: String) { held.withLock { $0 += text } }
    var text: String { held.withLock { $0 } }
}
