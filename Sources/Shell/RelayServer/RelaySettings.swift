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
        let isHere: Bool
        let isUsed: Bool

        /// What became of it, for people.
        var state: String {
            if isUsed { return "read" }
            if path == nil { return "" }
            return isHere ? "not read: the one above counts" : "not there"
        }
    }

    /// One place that may be; a file that is named must be there.
    private struct Candidate: Sendable {
        let name: String
        let path: String?
        let isNamed: Bool
    }

    /// In the order in which they are looked at.
    private let candidates: [Candidate]
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
        candidates = [
            Candidate(name: "--config", path: given(command.value("config")), isNamed: true),
            Candidate(
                name: "$ANTENNA_CONFIG", path: given(Console.environment("ANTENNA_CONFIG")), isNamed: true),
            Candidate(
                name: "the user's file", path: home.map { "\($0)/antenna/antennad.conf" }, isNamed: false),
            Candidate(name: "the machine's file", path: RelaySettings.systemFile, isNamed: false),
        ]
    }

    /// The places as they are now, the first of the files that are there in use. `read`: a file that was in
    /// use before, and so must be there still.
    func places(read: String? = nil) -> [Place] {
        var isFound = false
        return candidates.map { candidate in
            let isHere =
                candidate.path.map { candidate.isNamed || $0 == read || Posix.exists($0) } ?? false
            defer { isFound = isFound || isHere }
            return Place(
                name: candidate.name, path: candidate.path, isHere: isHere, isUsed: isHere && !isFound)
        }
    }

    /// The file that counts now; nil: none.
    func file(read: String? = nil) -> String? { places(read: read).first { $0.isUsed }?.path }

    func read() throws(OperatorError) -> Configuration { try read(file()) }

    private func read(_ file: String?) throws(OperatorError) -> Configuration {
        try RelaySettings.refuseUnknownVariables()
        return try Configuration.load(options: RelayOptions.table, file: file, flags: flags)
    }

    /// A setting that is misspelt in the environment is as wrong as one in a file.
    private static func refuseUnknownVariables() throws(OperatorError) {
        try Configuration.refuseUnknown(RelayOptions.table, among: Posix.environmentNames)
    }

    /// `--check-config`: everything that a start or a reload would find wrong with the settings.
    func check(_ output: Output) throws(OperatorError) {
        _ = try RelayConfiguration(read())
        let places = places()
        let file = file()
        let rows = places.map { [$0.name, $0.path ?? "not given", $0.state] }
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
        let inForce = Held(started, file: file())
        return {
            let fresh: Configuration
            let configuration: RelayConfiguration
            // Looked for anew: a relay that was started without a file may have got one.
            let file = file(read: inForce.file)
            do throws(OperatorError) {
                // Whoever writes into a pipe would be waited for, on a loop.
                if let file, Posix.status(file)?.isPipe == true {
                    throw OperatorError(
                        .badConfiguration, "\(file) is a pipe, which cannot be read anew",
                        hint: "start the relay with a file to be able to reload it")
                }
                fresh = try read(file)
                configuration = try RelayConfiguration(fresh)
            } catch {
                return .failure(error)
            }
            let before = inForce.replace(with: fresh, file: file)
            if let level = fresh.text("log", "level").flatMap(Log.Level.init(name:)) { log.minimum = level }
            return .success(
                RelayServer.FreshSettings(
                    configuration: configuration, file: file,
                    changed: fresh.changes(from: before).filter(\.option.reloadable).map(\.option.place),
                    needRestart: fresh.changes(from: started).filter { !$0.option.reloadable }
                        .map(\.option.place)))
        }
    }

    /// The settings read last, and the file that they were read from.
    private final class Held: Sendable {
        private let held: Mutex<(settings: Configuration, file: String?)>

        init(_ settings: Configuration, file: String?) { held = Mutex((settings, file)) }

        var file: String? { held.withLock { $0.file } }

        func replace(with fresh: Configuration, file: String?) -> Configuration {
            held.withLock { held in
                let before = held.settings
                held = (fresh, file)
                return before
            }
        }
    }
}
