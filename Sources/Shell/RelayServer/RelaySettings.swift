internal import Operations
internal import PosixKit
internal import Synchronization

/// Where a command finds its settings: the flags it was given, the environment, and the one file that counts.
struct RelaySettings: Sendable {
    /// One place where a file of settings may be.
    struct Place: Sendable {
        let name: String
        /// Nil: the variable or the option was not given.
        let path: String?
        let isUsed: Bool
    }

    /// In the order in which they are looked at.
    let places: [Place]
    private let flags: [Configuration.Flag]

    /// The file of the machine's own relay.
    static let systemFile = "/etc/antenna/antennad.conf"

    init(_ command: ParsedCommand) {
        flags = RelayOptions.flags.compactMap { entry in
            command.value(entry.flag.name).map {
                Configuration.Flag(
                    name: entry.flag.name, section: entry.section, key: entry.key, value: $0)
            }
        }
        func given(_ text: String?) -> String? { text?.isEmpty == false ? text : nil }
        let home =
            Console.environment("XDG_CONFIG_HOME").flatMap { $0.hasPrefix("/") ? $0 : nil }
            ?? Console.environment("HOME").flatMap { $0.hasPrefix("/") ? "\($0)/.config" : nil }
        // A file that is named must be there; the others may be.
        let candidates: [(name: String, path: String?, isNamed: Bool)] = [
            ("--config", given(command.value("config")), true),
            ("$ANTENNA_CONFIG", given(Console.environment("ANTENNA_CONFIG")), true),
            ("the user's file", home.map { "\($0)/antenna/antennad.conf" }, false),
            ("the machine's file", RelaySettings.systemFile, false),
        ]
        var isFound = false
        places = candidates.map { candidate in
            let isHere = candidate.path.map { candidate.isNamed || Posix.exists($0) } ?? false
            defer { isFound = isFound || isHere }
            return Place(name: candidate.name, path: candidate.path, isUsed: isHere && !isFound)
        }
    }

    /// The file that counts; nil: none.
    var file: String? { places.first { $0.isUsed }?.path }

    func read() throws(OperatorError) -> Configuration {
        try Configuration.load(options: RelayOptions.table, file: file, flags: flags)
    }

    /// `--check-config`: everything that a start or a reload would find wrong with the settings.
    func check(_ output: Output) throws(OperatorError) {
        _ = try RelayConfiguration(read())
        let rows = places.map { place in
            [place.name, place.path ?? "not given", place.isUsed ? "read" : "not read"]
        }
        output.answer(
            [
                "ok": true, "file": file.map { .string($0) } ?? .null,
                "searched": .array(
                    places.map { place in
                        [
                            "name": .string(place.name), "path": place.path.map { .string($0) } ?? .null,
                            "read": .bool(place.isUsed),
                        ]
                    }),
            ],
            Output.table(["settings file", "path", ""], rows) + ["the settings are valid"])
    }

    // MARK: Reloading

    /// What a running relay reads its settings anew with. `started`: those that it was started with.
    func reader(_ started: Configuration, _ log: Log) -> RelayServer.SettingsReader {
        let inForce = Held(started)
        return {
            let fresh: Configuration
            let configuration: RelayConfiguration
            do throws(OperatorError) {
                fresh = try read()
                configuration = try RelayConfiguration(fresh)
            } catch {
                return .failure(error)
            }
            let before = inForce.replace(with: fresh)
            if let level = fresh.text("log", "level").flatMap(Log.Level.init(name:)) { log.minimum = level }
            return .success(
                RelayServer.FreshSettings(
                    configuration: configuration,
                    changed: fresh.changes(from: before).filter(\.option.reloadable).map(\.option.place),
                    needRestart: fresh.changes(from: started).filter { !$0.option.reloadable }
                        .map(\.option.place)))
        }
    }

    /// The settings read last.
    private final class Held: Sendable {
        private let settings: Mutex<Configuration>

        init(_ settings: Configuration) { self.settings = Mutex(settings) }

        func replace(with fresh: Configuration) -> Configuration {
            settings.withLock { settings in
                let before = settings
                settings = fresh
                return before
            }
        }
    }
}
