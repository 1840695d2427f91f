import Foundation
import Operations
import PosixKit
import Testing

@Suite("Configuration") struct ConfigurationTests {
    static let options = [
        ConfigurationOption(
            "relay", "listen", .text, default: "127.0.0.1:5280", reloadable: false, "where to listen"),
        ConfigurationOption(
            "relay", "admission", .choice(["open", "manual"]), default: "open", reloadable: true, "who"),
        ConfigurationOption(
            "limits", "message-bytes", .bytes(1...15602), default: "15602", reloadable: true, "size"),
        ConfigurationOption("limits", "idle", .seconds(1...86_400), default: "90", reloadable: true, "idle"),
        ConfigurationOption("limits", "verify", .boolean, default: "yes", reloadable: true, "verify"),
    ]

    private func entry(_ section: String, _ key: String, _ value: String, _ line: Int = 7)
        -> Configuration.FileEntry
    {
        Configuration.FileEntry(section: section, key: key, value: value, line: line)
    }

    @Test("a variable that looks like a setting and is none is named with the nearest that is one")
    func unknownVariables() throws {
        let others = ["ANTENNA_CONFIG", "ANTENNA_RELAY__LISTEN", "HOME", "ANOTHER__THING"]
        try Configuration.refuseUnknown(Self.options, among: others)
        let error = try #require(throws: OperatorError.self) {
            try Configuration.refuseUnknown(Self.options, among: others + ["ANTENNA_RELAY__LISEN"])
        }
        #expect(error.message == "there is no setting $ANTENNA_RELAY__LISEN")
        #expect(error.hint == "did you mean $ANTENNA_RELAY__LISTEN?")
        #expect(error.exitCode == .badConfiguration)
    }

    @Test("a flag wins over the environment, that over the file, that over the default")
    func precedence() throws {
        let entries = [entry("relay", "listen", "file")]
        let flags = [Configuration.Flag(name: "listen", section: "relay", key: "listen", value: "flag")]
        let named = { (name: String) in name == "ANTENNA_RELAY__LISTEN" ? "environment" : nil }
        func listen(_ c: Configuration) -> String {
            "\(c.text("relay", "listen") ?? "") \(c.setting("relay", "listen").origin.description)"
        }
        let none = { (_: String) -> String? in nil }
        #expect(
            try listen(Configuration(options: Self.options, environment: none)) == "127.0.0.1:5280 default")
        #expect(
            try listen(Configuration(options: Self.options, entries: entries, path: "f", environment: none))
                == "file f:7")
        #expect(
            try listen(Configuration(options: Self.options, entries: entries, path: "f", environment: named))
                == "environment ANTENNA_RELAY__LISTEN")
        #expect(
            try listen(
                Configuration(
                    options: Self.options, entries: entries, path: "f", environment: named, flags: flags))
                == "flag --listen")
    }

    @Test(
        "what is wrong in a file is named with its file, its line and what would be right",
        arguments: [
            ("relay", "lisen", "x", "f:7: [relay] has no key ‘lisen’", "did you mean ‘listen’?"),
            ("rely", "listen", "x", "f:7: there is no section [rely]", "did you mean [relay]?"),
            ("limits", "listen", "x", "f:7: [limits] has no key ‘listen’", "it belongs into [relay]"),
            (
                "relay", "admission", "maybe", "f:7: [relay] admission cannot be ‘maybe’",
                "give one of open, manual"
            ),
            (
                "limits", "message-bytes", "15603", "f:7: [limits] message-bytes cannot be ‘15603’",
                "give a size from 1 to 15602 bytes (4096, 64 KiB, 256 MiB, 1 GiB)"
            ),
            ("limits", "verify", "perhaps", "f:7: [limits] verify cannot be ‘perhaps’", "give yes or no"),
        ])
    func wrongFile(section: String, key: String, value: String, message: String, hint: String) {
        let error = #expect(throws: OperatorError.self) {
            try Configuration(
                options: Self.options, entries: [entry(section, key, value)], path: "f",
                environment: { _ in nil })
        }
        #expect(error?.message == message)
        #expect(error?.hint == hint)
        #expect(error?.exitCode == .badConfiguration)
    }

    @Test("everything that is wrong is named, the first mistake as if it were alone")
    func all() {
        func error(_ entries: [Configuration.FileEntry]) -> OperatorError? {
            #expect(throws: OperatorError.self) {
                try Configuration(
                    options: Self.options, entries: entries, path: "f", environment: { _ in nil })
            }
        }
        let lisen = entry("relay", "lisen", "x", 2)
        let alone = error([lisen])
        let two = error([lisen, entry("rely", "listen", "x", 3)])
        #expect(two?.message == alone?.message && two?.number == alone?.number)
        #expect(
            two?.hint == "did you mean ‘listen’?; also wrong: f:3: there is no section [rely]")
        let many = error((2...20).map { entry("rely", "listen", "x", $0) })
        #expect(many?.hint?.hasSuffix("f:10: there is no section [rely]; and 10 more") == true)
    }

    @Test("a key that is set twice is refused with both lines")
    func twice() {
        let error = #expect(throws: OperatorError.self) {
            try Configuration(
                options: Self.options,
                entries: [entry("relay", "listen", "a", 2), entry("relay", "listen", "b", 5)],
                path: "f", environment: { _ in nil })
        }
        #expect(error?.message == "f:5: [relay] listen is set twice")
        #expect(error?.hint == "the first one is in line 2")
    }

    @Test(
        "times and sizes are read with units, and overflow is refused",
        arguments: [
            ("90", Int64(90)), ("5 min", 300), ("2h", 7200), ("1 d", 86_400), ("0", nil), ("-1", nil),
            ("", nil),
            ("9223372036854775807 d", nil), ("5 parsecs", nil), ("min", nil),
        ] as [(String, Int64?)])
    func units(text: String, seconds: Int64?) {
        #expect(Self.options[3].normalised(text).flatMap(Int64.init) == seconds)
    }

    @Test("a reload knows what changed")
    func changes() throws {
        let old = try Configuration(options: Self.options, environment: { _ in nil })
        let new = try Configuration(
            options: Self.options,
            entries: [entry("limits", "idle", "1 min"), entry("relay", "admission", "open")],
            path: "f", environment: { _ in nil })
        #expect(new.changes(from: old).map(\.option.place) == ["[limits] idle"])
    }

    @Test("the commented file names every option")
    func commentedFile() {
        let text = Configuration.commentedFile(Self.options)
        for option in Self.options { #expect(text.contains("; \(option.key) = \(option.defaultText)\n")) }
        #expect(text.contains("[relay]\n") && text.contains("\n[limits]\n"))
    }

    @Test("a file is read with its line numbers, and what is wrong with it is named with its line")
    func file() throws {
        let folder = try Posix.makeTemporaryDirectory(prefix: "antenna-configuration")
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let path = "\(folder)/relay.conf"
        func load(_ text: String) throws -> Configuration {
            try Posix.writeFileAtomically(path, Array(text.utf8), fsync: false)
            return try Configuration.load(options: Self.options, file: path, environment: { _ in nil })
        }
        let good = try load("; a relay\n[relay]\nlisten = [::1]:5280\n[limits]\nidle = 2 min\n")
        #expect(good.text("relay", "listen") == "[::1]:5280")
        #expect(good.integer("limits", "idle") == 120)
        #expect(good.setting("limits", "idle").origin == .file(path: path, line: 5))
        for (text, line) in [("[relay]\nnonsense\n", 2), ("[relay]\n\nlisen = x\n", 3)] {
            let error = #expect(throws: OperatorError.self) { try load(text) }
            #expect(error?.message.hasPrefix("\(path):\(line): ") == true)
            #expect(error?.exitCode == .badConfiguration)
        }
        try Posix.removeFile(path)
        let error = #expect(throws: OperatorError.self) {
            try Configuration.load(options: Self.options, file: path, environment: { _ in nil })
        }
        #expect(error?.exitCode == .badConfiguration)
    }

    @Test("the commented file is itself a valid file")
    func commentedFileLoads() throws {
        let text = Configuration.commentedFile(Self.options)
        let uncommented = text.split(separator: "\n").map { line in
            line.hasPrefix("; ") && line.contains(" = ") ? String(line.dropFirst(2)) : String(line)
        }
        let folder = try Posix.makeTemporaryDirectory(prefix: "antenna-configuration")
        defer { try? FileManager.default.removeItem(atPath: folder) }
        for content in [text, uncommented.joined(separator: "\n")] {
            try Posix.writeFileAtomically("\(folder)/c", Array(content.utf8), fsync: false)
            let loaded = try Configuration.load(
                options: Self.options, file: "\(folder)/c", environment: { _ in nil })
            #expect(loaded.text("relay", "admission") == "open")
        }
    }
}
