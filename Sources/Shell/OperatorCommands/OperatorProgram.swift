internal import ControlWire
package import Operations
internal import OperatorLink
internal import PosixKit
internal import QRKit

/// `antennactl`: one command from the command line, or many from standard input.
package enum OperatorProgram {
    package static func main() -> Never {
        Console.begin()
        let code = run(Posix.arguments)
        Posix.exit(Console.exitCode(after: code, program: "antennactl"))
    }

    /// Returns: the code to exit with.
    package static func run(_ arguments: [String]) -> Int32 {
        let output = Output(json: CommandTable.wantsJSON(arguments))
        return run(arguments, output: output, input: { readLine(strippingNewline: true) }).rawValue
    }

    /// With output and input of one's own, for tests.
    package static func run(_ arguments: [String], output: Output, input: () -> String?) -> ExitCode {
        if OperatorSession.isInteractive(arguments) {
            return OperatorSession(globals: arguments, output: output).run(input)
        }
        return runOne(arguments, output: output)
    }

    static func runOne(_ arguments: [String], output: Output) -> ExitCode {
        do throws(OperatorError) {
            switch try OperatorTable.table.parse(OperatorSession.withoutSlash(arguments)) {
            case .help(let text): output.text(text)
            case .version:
                output.answer(
                    ["program": "antennactl", "version": .string(Version.number)],
                    [Version.line(program: "antennactl")])
            case .run(let command): try perform(command, output)
            }
            return .ok
        } catch {
            return output.failure(error, program: "antennactl")
        }
    }

    private static func perform(_ command: ParsedCommand, _ output: Output) throws(OperatorError) {
        let (name, arguments) = try request(command)
        // A backup is as long as the database is large.
        let timeout = try command.integer("timeout", in: 1...86_400) ?? (name == .backup ? 3600 : 10)
        let path = try socketPath(command)
        if name == .version, !output.json { output.text(Version.line(program: "antennactl") + "\n") }
        var client = try ControlClient(path: path, timeoutSeconds: timeout)
        let result = try name == .members ? allPages(&client, arguments) : client.ask(name, arguments)
        if output.json, case .version(let report) = result {
            output.answer(
                [
                    "antennactl": .string(Version.number), "antenna": .string(report.antenna),
                    "libevent": .string(report.libevent), "sqlite": .string(report.sqlite),
                ], [])
            return
        }
        if output.json {
            output.text(JSONValue.harmless(String(decoding: result.encode(), as: UTF8.self)) + "\n")
            return
        }
        output.text(OperatorText.lines(result).map { $0 + "\n" }.joined())
        if case .address(let report) = result, command.has("qr") || Console.isTerminal(.output) {
            if let code = QRCode.terminal(report.link) { output.text("\n\(code)\n") }
        }
    }

    /// Asks for members until there are no more, or as many as wanted.
    private static func allPages(
        _ client: inout ControlClient, _ arguments: ControlArguments
    ) throws(OperatorError) -> ControlResult {
        let wanted = arguments.limit ?? ControlLimits.rowsMax
        var page = arguments
        var whole = MembersReport(members: [], total: 0, more: true)
        while whole.more, whole.members.count < wanted {
            page.limit = wanted - whole.members.count
            page.after = whole.members.last?.id ?? arguments.after
            guard case .members(let report) = try client.ask(.members, page) else { break }
            whole.members += report.members
            whole.total = report.total
            whole.more = report.more && !report.members.isEmpty
        }
        return .members(whole)
    }

    /// What to ask the relay for one parsed command.
    private static func request(_ command: ParsedCommand) throws(OperatorError) -> (
        ControlCommand, ControlArguments
    ) {
        guard let name = ControlCommand(rawValue: command.name) else {
            preconditionFailure("every command of the table is a command of the control socket")
        }
        var arguments = ControlArguments()
        if name == .backup {
            arguments.file = try command.argument(0).map(absolute)
        } else if !command.spec.arguments.isEmpty {
            arguments.channel = command.argument(0)
        }
        if let reason = command.value("reason") {
            guard reason.utf8.count <= ControlLimits.reasonBytesMax else {
                throw OperatorError(.badValue, "a reason has at most \(ControlLimits.reasonBytesMax) bytes")
            }
            arguments.reason = reason
        }
        arguments.limit = try command.integer("limit", in: 1...ControlLimits.rowsMax)
        arguments.after = command.value("after")
        arguments.keep = try command.integer("keep", in: 1...ControlLimits.keepMax)
        return (name, arguments)
    }

    /// The relay may work in another directory.
    private static func absolute(_ file: String) throws(OperatorError) -> String {
        if file.hasPrefix("/") { return file }
        guard !file.isEmpty, let here = Posix.currentDirectory else {
            throw OperatorError(.badValue, "‘\(file)’ is no name for a backup", hint: "name it from / on")
        }
        return here == "/" ? "/\(file)" : "\(here)/\(file)"
    }

    private static func socketPath(_ command: ParsedCommand) throws(OperatorError) -> String {
        if let path = command.value("socket") { return path }
        if let state = command.value("state") { return ControlPaths.socket(inState: state) }
        if let state = Console.environment("ANTENNA_RELAY__STATE"), !state.isEmpty {
            return ControlPaths.socket(inState: state)
        }
        // The relay of this user, else the one of this machine.
        let system = ControlPaths.socket(inState: ControlPaths.systemState)
        let own = ControlPaths.defaultState(environment: Console.environment)
        if let own, Posix.exists(ControlPaths.socket(inState: own)) {
            return ControlPaths.socket(inState: own)
        }
        if Posix.exists(system) { return system }
        guard let state = own else {
            throw OperatorError(
                .usage, "neither HOME nor XDG_STATE_HOME is set", hint: "name the directory with --state")
        }
        return ControlPaths.socket(inState: state)
    }
}
