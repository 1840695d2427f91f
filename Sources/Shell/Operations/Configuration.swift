/// The settings in force: flag before environment before file before default, each with where it came from.
package struct Configuration: Sendable {
    package enum Origin: Sendable, Equatable {
        case standard
        case file(path: String, line: Int)
        case environment(String)
        case flag(String)

        package var description: String {
            switch self {
            case .standard: "default"
            case .file(let path, let line): "\(path):\(line)"
            case .environment(let name): name
            case .flag(let name): "--\(name)"
            }
        }
    }

    package struct Setting: Sendable {
        package let option: ConfigurationOption
        package let text: String
        package let origin: Origin
    }

    /// One `key = value` of a file.
    package struct FileEntry: Sendable {
        package let section: String
        package let key: String
        package let value: String
        package let line: Int
        package init(section: String, key: String, value: String, line: Int) {
            self.section = section
            self.key = key
            self.value = value
            self.line = line
        }
    }

    /// A setting given on the command line.
    package struct Flag: Sendable {
        package let name: String
        package let section: String
        package let key: String
        package let value: String
        package init(name: String, section: String, key: String, value: String) {
            self.name = name
            self.section = section
            self.key = key
            self.value = value
        }
    }

    /// In the order of the option table.
    package let settings: [Setting]

    /// Checks everything and puts it together.
    ///
    /// **Throws** bad-configuration with file, line and the nearest known name for the first thing that is
    /// wrong; the hint names the others.
    package init(
        options: [ConfigurationOption], entries: [FileEntry] = [], path: String = "",
        environment: (String) -> String? = { Console.environment($0) }, flags: [Flag] = []
    ) throws(OperatorError) {
        var wrong: [OperatorError] = []
        var fromFile: [String: FileEntry] = [:]
        for entry in entries {
            do throws(OperatorError) {
                let option = try Configuration.option(for: entry, options, path)
                if let earlier = fromFile[option.place] {
                    throw OperatorError(
                        .badConfiguration, "\(path):\(entry.line): \(option.place) is set twice",
                        hint: "the first one is in line \(earlier.line)")
                }
                fromFile[option.place] = entry
            } catch {
                wrong.append(error)
            }
        }
        var settings: [Setting] = []
        for option in options {
            do throws(OperatorError) {
                settings.append(
                    try Configuration.setting(option, fromFile[option.place], path, environment, flags))
            } catch {
                wrong.append(error)
            }
        }
        if let first = wrong.first { throw Configuration.error(first, and: wrong.dropFirst()) }
        self.settings = settings
    }

    /// What counts for one option: a flag before the environment, that before the file.
    private static func setting(
        _ option: ConfigurationOption, _ entry: FileEntry?, _ path: String,
        _ environment: (String) -> String?, _ flags: [Flag]
    ) throws(OperatorError) -> Setting {
        if let flag = flags.last(where: { $0.section == option.section && $0.key == option.key }) {
            return try checked(option, flag.value, .flag(flag.name), "--\(flag.name)")
        }
        if let value = environment(option.environmentName) {
            return try checked(option, value, .environment(option.environmentName), option.environmentName)
        }
        if let entry {
            let origin = Origin.file(path: path, line: entry.line)
            return try checked(option, entry.value, origin, "\(path):\(entry.line): \(option.place)")
        }
        let text = option.normalised(option.defaultText) ?? option.defaultText
        return Setting(option: option, text: text, origin: .standard)
    }

    /// The first mistake, with the others in its hint: whoever mends a file wants to do so once.
    private static func error(
        _ first: OperatorError, and others: ArraySlice<OperatorError>
    ) -> OperatorError {
        guard !others.isEmpty else { return first }
        let shown = others.prefix(othersShownMax).map(\.message).joined(separator: "; ")
        let rest = others.count > othersShownMax ? "; and \(others.count - othersShownMax) more" : ""
        let hint = first.hint.map { "\($0); " } ?? ""
        return OperatorError(.badConfiguration, first.message, hint: "\(hint)also wrong: \(shown)\(rest)")
    }

    private static let othersShownMax = 8

    // MARK: Reading

    /// The value as text, nil when it is empty. Asking for a setting that is not in the table is our own bug.
    package func text(_ section: String, _ key: String) -> String? {
        let text = setting(section, key).text
        return text.isEmpty ? nil : text
    }

    /// A number, a count of seconds or of bytes.
    package func integer(_ section: String, _ key: String) -> Int64 {
        let setting = setting(section, key)
        guard let value = Int64(setting.text) else {
            preconditionFailure("the option table gives \(setting.option.place) no number")
        }
        return value
    }

    package func boolean(_ section: String, _ key: String) -> Bool {
        ConfigurationOption.boolean(setting(section, key).text) ?? false
    }

    package func setting(_ section: String, _ key: String) -> Setting {
        guard let found = settings.first(where: { $0.option.section == section && $0.option.key == key })
        else {
            preconditionFailure("[\(section)] \(key) is not in the option table")
        }
        return found
    }

    /// What differs from `other`, for a reload that says what it took over and what needs a restart.
    package func changes(from other: Configuration) -> [Setting] {
        settings.filter { $0.text != other.setting($0.option.section, $0.option.key).text }
    }

    /// A file with every option, its help and its default, commented out.
    package static func commentedFile(_ options: [ConfigurationOption]) -> String {
        var out = """
            ; Every setting with its default. Take the ; away to set one.
            ; A flag wins over the environment ($ANTENNA_SECTION__KEY), that over this file.

            """
        var section: String?
        for option in options {
            if option.section != section {
                out += "\n[\(option.section)]\n"
                section = option.section
            }
            out += "\n; \(option.help)\n; \(option.expectation)\n"
            out += option.reloadable ? "; a reload is enough\n" : "; needs a restart\n"
            out += "; \(option.key) =\(option.defaultText.isEmpty ? "" : " ")\(option.defaultText)\n"
        }
        return out
    }

    // MARK: Checking

    /// **Throws** bad-configuration for the first name of the shape `ANTENNA_SECTION__KEY` that stands for no
    /// option.
    package static func refuseUnknown(
        _ options: [ConfigurationOption], among names: [String]
    ) throws(OperatorError) {
        let known = options.map(\.environmentName)
        let unknown = names.filter { name in
            name.hasPrefix("ANTENNA_") && name.dropFirst("ANTENNA_".count).contains("__")
                && !known.contains(name)
        }
        guard let name = unknown.min() else { return }
        throw OperatorError(
            .badConfiguration,
            "there is no setting $\(TerminalText.escaped(TerminalText.cut(name, bytesMax: 64)))",
            hint: NearestMatch.find(name, in: known).map { "did you mean $\($0)?" }
                ?? "antennad config show lists the settings")
    }

    private static func option(
        for entry: FileEntry, _ options: [ConfigurationOption], _ path: String
    ) throws(OperatorError) -> ConfigurationOption {
        let inSection = options.filter { $0.section == entry.section }
        if let found = inSection.first(where: { $0.key == entry.key }) { return found }
        let place = "\(path):\(entry.line): "
        let key = TerminalText.escaped(TerminalText.cut(entry.key, bytesMax: 64))
        let section = TerminalText.escaped(TerminalText.cut(entry.section, bytesMax: 64))
        if inSection.isEmpty {
            let near = NearestMatch.find(entry.section, in: options.map(\.section))
            throw OperatorError(
                .badConfiguration, "\(place)there is no section [\(section)]",
                hint: near.map { "did you mean [\($0)]?" } ?? "sections: \(unique(options.map(\.section)))")
        }
        if let elsewhere = options.first(where: { $0.key == entry.key }) {
            throw OperatorError(
                .badConfiguration, "\(place)[\(section)] has no key ‘\(key)’",
                hint: "it belongs into [\(elsewhere.section)]")
        }
        let near = NearestMatch.find(entry.key, in: inSection.map(\.key))
        throw OperatorError(
            .badConfiguration, "\(place)[\(section)] has no key ‘\(key)’",
            hint: near.map { "did you mean ‘\($0)’?" } ?? "keys: \(unique(inSection.map(\.key)))")
    }

    private static func checked(
        _ option: ConfigurationOption, _ value: String, _ origin: Origin, _ place: String
    ) throws(OperatorError) -> Setting {
        guard let text = option.normalised(value) else {
            let shown = TerminalText.escaped(TerminalText.cut(value, bytesMax: 64))
            throw OperatorError(
                .badConfiguration, "\(place) cannot be ‘\(shown)’", hint: "give \(option.expectation)")
        }
        return Setting(option: option, text: text, origin: origin)
    }

    private static func unique(_ names: [String]) -> String {
        var seen: [String] = []
        for name in names where !seen.contains(name) { seen.append(name) }
        return seen.joined(separator: ", ")
    }
}
