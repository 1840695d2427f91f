internal import ControlWire
internal import LibeventLoop
internal import Operations
internal import PosixKit
internal import RelayStore

/// `antennad`: reads the settings, runs the relay until a signal comes, ends with an exit code.
package enum RelayProgram {
    package static func main() -> Never { Posix.exit(run(Array(CommandLine.arguments.dropFirst()))) }

    /// Returns: the code to exit with.
    package static func run(_ arguments: [String]) -> Int32 {
        let output = Output(json: CommandTable.wantsJSON(arguments))
        do throws(OperatorError) {
            switch try table.parse(arguments) {
            case .help(let text): output.text(text)
            case .version:
                let versions = RelayVersions.report
                output.text(
                    Version.line(
                        program: "antennad",
                        parts: ["libevent \(versions.libevent)", "SQLite \(versions.sqlite)"]) + "\n")
            case .run(let command): try perform(command, output)
            }
            return ExitCode.ok.rawValue
        } catch {
            return output.failure(error, program: "antennad").rawValue
        }
    }

    private static func perform(_ command: ParsedCommand, _ output: Output) throws(OperatorError) {
        switch command.name {
        case "config default": output.text(Configuration.commentedFile(RelayOptions.table))
        case "config check":
            _ = try RelayConfiguration(settings(command))
            output.answer(["ok": true], ["the settings are valid"])
        case "config show": show(try settings(command), output)
        default: try serve(command, output)
        }
    }

    private static func serve(_ command: ParsedCommand, _ output: Output) throws(OperatorError) {
        let settings = try settings(command)
        let configuration = try RelayConfiguration(settings)
        let log = Log(
            format: settings.text("log", "format").flatMap(Log.Format.init(rawValue:)) ?? .text,
            minimum: settings.text("log", "level").flatMap(Log.Level.init(name:)) ?? .info)
        let server = try RelayServer(configuration, log: log) { reload(command, since: settings, log) }
        if command.has("print-address") { output.text(server.address + "\n") }
        server.waitUntilStopped()
    }

    /// Reads the settings anew: takes over what can be, and says what needs a restart. What is wrong changes
    /// nothing.
    private static func reload(_ command: ParsedCommand, since started: Configuration, _ log: Log) {
        let fresh: Configuration
        do throws(OperatorError) {
            fresh = try settings(command)
            _ = try RelayConfiguration(fresh)
        } catch {
            return log.error(
                "reload.failed", ["reason": .text(error.message), "hint": .text(error.hint ?? "")])
        }
        let waiting = fresh.changes(from: started).filter { !$0.option.reloadable }.map(\.option.place)
        log.notice(
            "reload.done",
            ["needs-restart": .text(waiting.isEmpty ? "nothing" : waiting.joined(separator: ", "))])
        if let level = fresh.text("log", "level").flatMap(Log.Level.init(name:)) { log.minimum = level }
    }

    // MARK: Settings

    private static func settings(_ command: ParsedCommand) throws(OperatorError) -> Configuration {
        let path = command.value("config") ?? Console.environment("ANTENNA_CONFIG") ?? ""
        let flags = RelayOptions.flags.compactMap { entry -> Configuration.Flag? in
            guard let value = command.value(entry.flag.name) else { return nil }
            return Configuration.Flag(
                name: entry.flag.name, section: entry.section, key: entry.key, value: value)
        }
        return try Configuration.load(
            options: RelayOptions.table, file: path.isEmpty ? nil : path, flags: flags)
    }

    private static func show(_ settings: Configuration, _ output: Output) {
        output.answer(
            .array(
                settings.settings.map { setting in
                    [
                        "section": .string(setting.option.section), "key": .string(setting.option.key),
                        "value": .string(setting.text), "origin": .string(setting.origin.description),
                    ]
                }),
            Output.table(
                ["setting", "value", "origin"],
                settings.settings.map { [$0.option.place, $0.text, $0.origin.description] }))
    }

    // MARK: The command line

    static let table: CommandTable = {
        let settings =
            [OptionSpec("config", value: "FILE", "read settings from this file (also $ANTENNA_CONFIG)")]
            + RelayOptions.flags.map(\.flag)
        return CommandTable(
            program: "antennad",
            summary: "an Antenna relay",
            globals: [OptionSpec("json", "print errors and answers as one JSON document")],
            commands: [
                CommandSpec(
                    "config default", "Print a settings file with every option, its help and its default",
                    examples: ["antennad config default > antennad.ini"]),
                CommandSpec(
                    "config check", "Check the settings without touching anything", options: settings,
                    examples: ["antennad config check --config antennad.ini"]),
                CommandSpec(
                    "config show", "Print the settings in force and where each comes from", options: settings,
                    examples: ["antennad config show --config antennad.ini --listen 0.0.0.0:5280"]),
            ],
            fallback: CommandSpec(
                "", "Run the relay",
                discussion: """
                    Without options it listens on 127.0.0.1:5280 and keeps its state in
                    $XDG_STATE_HOME/antenna/relay, else ~/.local/state/antenna/relay. TERM or INT stop it
                    cleanly; a second one at once.
                    """,
                options: settings + [
                    OptionSpec("print-address", "print the link for owners on standard output")
                ],
                examples: [
                    "antennad", "antennad --listen 0.0.0.0:5280 --advertise relay.example --print-address",
                    "antennad --config /etc/antenna/antennad.ini",
                ]),
            notes: """
                settings: a flag wins over $ANTENNA_SECTION__KEY, that over the file, that over the default
                exit codes: 0 stopped, 64 usage, 65 foreign, newer or damaged state, 73 state not writable,
                74 input or output failed, 75 in use by another relay, 77 not permitted, 78 settings invalid
                """)
    }()
}
