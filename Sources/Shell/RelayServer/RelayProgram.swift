internal import ControlWire
internal import LibeventLoop
internal import LinkRuntime
internal import Operations
internal import OperatorLink
internal import PosixKit
internal import RelayStore

/// `antennad`: reads the settings, runs the relay until a signal comes, ends with an exit code.
package enum RelayProgram {
    package static func main() -> Never {
        Console.begin()
        let code = run(Posix.arguments)
        Posix.exit(Console.exitCode(after: code, program: "antennad"))
    }

    /// Returns: the code to exit with.
    package static func run(_ arguments: [String]) -> Int32 {
        let output = Output(json: CommandTable.wantsJSON(arguments))
        do throws(OperatorError) {
            switch try table.parse(arguments) {
            case .help(let text): output.text(text)
            case .version:
                let versions = RelayVersions.report
                output.answer(
                    [
                        "program": "antennad", "version": .string(Version.number),
                        "libevent": .string(versions.libevent), "sqlite": .string(versions.sqlite),
                    ],
                    [
                        Version.line(
                            program: "antennad",
                            parts: ["libevent \(versions.libevent)", "SQLite \(versions.sqlite)"])
                    ])
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
        case "config manual":
            output.text(Configuration.manual(RelayOptions.table, name: "antennad.conf", program: "antennad"))
        case "config check": try RelaySettings(command).check(output)
        case "config show": try show(try RelaySettings(command).read(), output)
        case "healthcheck": try healthcheck(command, output)
        case "restore": try restore(command, output)
        default:
            if command.has("check-config") { return try RelaySettings(command).check(output) }
            try serve(command, output)
        }
    }

    private static func serve(_ command: ParsedCommand, _ output: Output) throws(OperatorError) {
        let source = RelaySettings(command)
        let settings = try source.read()
        let configuration = try RelayConfiguration(settings)
        let log = Log(
            format: settings.text("log", "format").flatMap(Log.Format.init(rawValue:)) ?? .text,
            minimum: settings.text("log", "level").flatMap(Log.Level.init(name:)) ?? .info)
        RelayLedger.prepareProcess()
        let server = try RelayServer(
            configuration, log: log, readSettings: source.reader(settings, log), ownsProcess: true)
        if command.has("print-address") { output.text(server.address + "\n") }
        server.waitUntilStopped()
    }

    /// Asks the running relay. The answer goes through its one writer, so a writer that hangs is noticed.
    private static func healthcheck(_ command: ParsedCommand, _ output: Output) throws(OperatorError) {
        let seconds = try command.integer("timeout", in: 1...3600) ?? 5
        let configuration = try RelayConfiguration(RelaySettings(command).read())
        let path = ControlPaths.socket(inState: configuration.state)
        var client = try ControlClient(path: path, timeoutSeconds: seconds)
        guard case .status(let report) = try client.ask(.status, ControlArguments()) else {
            throw OperatorError(.internalDefect, "the relay answered something else than its status")
        }
        guard report.state == "running" else {
            throw OperatorError(.unreachable, "the relay is \(report.state)")
        }
        output.answer(
            ["ok": true, "state": .string(report.state), "storageFull": .bool(report.storage.full)],
            [report.storage.full ? "running; the storage is full" : "running"])
    }

    /// Puts a backup in the place of the state's database; not while a relay works there.
    private static func restore(_ command: ParsedCommand, _ output: Output) throws(OperatorError) {
        let configuration = try RelayConfiguration(RelaySettings(command).read())
        let file = command.argument(0) ?? ""
        let identity = try RelayServer.readIdentity(configuration.state + "/relay.identity")
        let report: Restore.Report
        do throws(RelayStoreError) {
            report = try Restore.run(from: file, into: configuration.state, identity: identity?.publicKey)
        } catch {
            throw RelayServer.storeError(error)
        }
        output.answer(
            [
                "channels": .integer(report.channels), "messages": .integer(report.messages),
                "refusalsKept": .integer(Int64(report.refusalsKept)),
            ],
            [
                "restored \(report.channels) channels with \(report.messages) messages into "
                    + configuration.state,
                "\(report.refusalsKept) newer rejections stay in force",
            ])
    }

    private static func show(_ settings: Configuration, _ output: Output) throws(OperatorError) {
        let configuration = try RelayConfiguration(settings)
        // What stands for an empty setting is worth more than its emptiness.
        func value(_ setting: Configuration.Setting) -> String {
            setting.option.place == "[relay] state" ? configuration.state : setting.text
        }
        output.answer(
            .array(
                settings.settings.map { setting in
                    [
                        "section": .string(setting.option.section), "key": .string(setting.option.key),
                        "value": .string(value(setting)), "origin": .string(setting.origin.description),
                        "reloadable": .bool(setting.option.reloadable),
                    ]
                }),
            Output.table(
                ["setting", "value", "origin", "reload"],
                settings.settings.map {
                    [
                        $0.option.place, value($0), $0.origin.description,
                        $0.option.reloadable ? "yes" : "needs a restart",
                    ]
                }))
    }

    // MARK: The command line

    static let table: CommandTable = {
        let settings =
            [OptionSpec("config", value: "FILE", "read settings from this file")]
            + RelayOptions.flags.map(\.flag)
        return CommandTable(
            program: "antennad",
            summary: "an Antenna relay",
            globals: [OptionSpec("json", "print errors and answers as one JSON document")],
            commands: [
                CommandSpec(
                    "config default", "Print a settings file with every option, its help and its default",
                    examples: ["antennad config default > antennad.conf"]),
                CommandSpec(
                    "config manual", "Print the manual page of the settings file",
                    examples: ["antennad config manual | man -l -"], hidden: true),
                CommandSpec(
                    "config check", "Check the settings without touching anything",
                    discussion: "Also: antennad --check-config. Says where it looked for a file.",
                    options: settings,
                    examples: ["antennad config check --config antennad.conf"]),
                CommandSpec(
                    "config show", "Print the settings in force and where each comes from", options: settings,
                    examples: ["antennad config show --config antennad.conf --listen 0.0.0.0:5280"]),
                CommandSpec(
                    "healthcheck", "Ask the running relay whether it works; ends with 0 or 69",
                    options: settings + [
                        OptionSpec("timeout", value: "SECONDS", "give up after this long (default 5)")
                    ],
                    examples: ["antennad healthcheck", "antennad healthcheck --state /var/lib/antenna"]),
                CommandSpec(
                    "restore", "Put a backup in the place of the database of a stopped relay",
                    discussion: """
                        Refuses while a relay works there. Channels left since the backup stay rejected.
                        The identity of the relay is another file and is not touched.
                        """,
                    arguments: [ArgumentSpec("FILE", "what antennactl backup wrote; it stays as it is")],
                    options: settings, examples: ["antennad restore /var/lib/antenna/backup.db"]),
            ],
            fallback: CommandSpec(
                "", "Run the relay",
                discussion: """
                    Without options it listens on 127.0.0.1:5280 and keeps its state in
                    $XDG_STATE_HOME/antenna/relay, else ~/.local/state/antenna/relay. TERM or INT stop it
                    cleanly; a second one at once. HUP reads the settings anew.
                    """,
                options: settings + [
                    OptionSpec("check-config", "check the settings, touch nothing, and end"),
                    OptionSpec("print-address", "print the link for owners on standard output"),
                ],
                examples: [
                    "antennad", "antennad --listen 0.0.0.0:5280 --advertise relay.example --print-address",
                    "antennad --config /etc/antenna/antennad.conf --check-config",
                ]),
            notes: """
                settings: a flag wins over $ANTENNA_SECTION__KEY, that over the file, that over the default
                file: --config, else $ANTENNA_CONFIG, else $XDG_CONFIG_HOME/antenna/antennad.conf (that is
                ~/.config/antenna/antennad.conf), else /etc/antenna/antennad.conf
                exit codes: 0 stopped, 64 usage, 65 foreign, newer or damaged state, 69 no healthy relay,
                73 state not writable, 74 input or output failed, 75 in use by another relay,
                77 not permitted, 78 settings invalid
                """)
    }()
}
