/// All commands of a program; parses a command line and writes the help.
///
/// Options may stand anywhere; `--` ends them. The table is the single source of usage, help and suggestions.
package struct CommandTable: Sendable {
    package let program: String
    package let summary: String
    /// Options every command takes.
    package let globals: [OptionSpec]
    package let commands: [CommandSpec]
    /// The command run when no word names one, for programs that are mostly a single command (`antennad`).
    package let fallback: CommandSpec?
    /// A last paragraph of the program's help: files, environment, exit codes.
    package let notes: String

    package init(
        program: String, summary: String, globals: [OptionSpec], commands: [CommandSpec],
        fallback: CommandSpec? = nil, notes: String = ""
    ) {
        self.program = program
        self.summary = summary
        self.globals =
            globals + [
                OptionSpec("help", short: "h", "show this help, or that of a command"),
                OptionSpec("version", "show the version"),
            ]
        self.commands = commands + CommandTable.builtIn(program)
        self.fallback = fallback
        self.notes = notes
    }

    /// Whether errors must be JSON, also when the rest of the line makes no sense.
    package static func wantsJSON(_ arguments: [String]) -> Bool {
        arguments.prefix(while: { $0 != "--" }).contains("--json")
    }

    /// Understands a command line without the program's own name.
    ///
    /// **Throws** a usage error that names the word at fault and what would be right.
    package func parse(_ arguments: [String]) throws(OperatorError) -> Invocation {
        var words = arguments
        let (spec, used) = match(words)
        if let spec {
            words = removeCommandWords(words, used)
            return try parse(words, for: spec)
        }
        let plain = leadingWords(words)
        if words.contains("--version") { return .version }
        let group = plain.prefix(while: { _ in true })
        if words.contains("--help") || words.contains("-h") || plain.first == "help" {
            let about = Array(plain.first == "help" ? group.dropFirst() : group)
            if about.isEmpty { return .help(programHelp()) }
            let (named, count) = match(about)
            if let named, count.count == about.count { return .help(commandHelp(named)) }
            if let text = groupHelp(about) { return .help(text) }
        }
        if let fallback, plain.isEmpty { return try parse(words, for: fallback) }
        // What follows an option that nobody knows may be its value, so the option is the fault to name.
        let before = words.prefix(while: { $0 != plain.first && $0 != "--" })
        for word in before where word.hasPrefix("-") && word != "-" && globalOption(word) == nil {
            throw unknownOption(word, globals + (fallback?.options ?? []))
        }
        if plain.isEmpty {
            if let last = words.last, let option = globalOption(last), option.value != nil,
                !CommandTable.hasValueAttached(last)
            {
                throw missingValue(option)
            }
            throw OperatorError(.usage, "no command given", hint: "\(program) --help lists the commands")
        }
        // Who asks for help on a command means that command.
        throw unknownCommand(Array(plain.first == "help" ? plain.dropFirst() : plain[...]))
    }

    // MARK: Finding the command

    /// The command whose words stand first, options aside, and the indexes of these words. The longest name
    /// wins.
    private func match(_ words: [String]) -> (CommandSpec?, [Int]) {
        let places = plainPlaces(words)
        var best: (CommandSpec, [Int])?
        for spec in commands {
            for path in [spec.path] + spec.aliases where path.count <= places.count {
                let found = zip(path, places).allSatisfy { $0 == words[$1] }
                if found, path.count > best?.1.count ?? 0 { best = (spec, Array(places.prefix(path.count))) }
            }
        }
        return (best?.0, best?.1 ?? [])
    }

    /// Where the words are that are neither options nor values of global options.
    private func plainPlaces(_ words: [String]) -> [Int] {
        var places: [Int] = []
        var index = 0
        while index < words.count {
            let word = words[index]
            if word == "--" { break }
            if word.hasPrefix("-"), word != "-" {
                if let option = globalOption(word), option.value != nil, !CommandTable.hasValueAttached(word)
                {
                    index += 1
                }
            } else {
                places.append(index)
            }
            index += 1
        }
        return places
    }

    private func leadingWords(_ words: [String]) -> [String] { plainPlaces(words).map { words[$0] } }

    private func removeCommandWords(_ words: [String], _ used: [Int]) -> [String] {
        words.enumerated().filter { !used.contains($0.offset) }.map(\.element)
    }

    /// An option that may stand before a command's words: everybody's, or one of the command that has no
    /// words.
    private func globalOption(_ word: String) -> OptionSpec? {
        CommandTable.option(word, globals + (fallback?.options ?? []))
    }

    private static func hasValueAttached(_ word: String) -> Bool {
        word.hasPrefix("--") ? word.contains("=") : word.count > 2
    }

    private static func option(_ word: String, _ options: [OptionSpec]) -> OptionSpec? {
        if word.hasPrefix("--") {
            let name = word.dropFirst(2).prefix(while: { $0 != "=" })
            return options.first { $0.name == name }
        }
        guard word.count >= 2, word.hasPrefix("-") else { return nil }
        return options.first { $0.short == word[word.index(after: word.startIndex)] }
    }

    // MARK: Options and arguments of one command

    private func parse(_ words: [String], for spec: CommandSpec) throws(OperatorError) -> Invocation {
        let options = spec.options + globals
        var parsed = ParsedCommand(spec: spec, values: [:], arguments: [])
        var problem: OperatorError?
        var index = 0
        while index < words.count {
            let word = words[index]
            index += 1
            if word == "--" {
                parsed.arguments += words[index...]
                break
            }
            guard word.hasPrefix("-"), word != "-" else {
                parsed.arguments.append(word)
                continue
            }
            guard let option = CommandTable.option(word, options) else {
                problem = problem ?? unknownOption(word, options, mayBeText: !spec.arguments.isEmpty)
                continue
            }
            var given: String?
            if word.hasPrefix("--"), let equals = word.firstIndex(of: "=") {
                given = String(word[word.index(after: equals)...])
            } else if !word.hasPrefix("--"), word.count > 2 {
                given = String(word.dropFirst(2))
            }
            if option.value != nil, given == nil {
                guard index < words.count else {
                    problem = problem ?? missingValue(option)
                    continue
                }
                given = words[index]
                index += 1
            } else if option.value == nil, given != nil {
                problem = problem ?? OperatorError(.badValue, "--\(option.name) takes no value")
                continue
            }
            if parsed.has(option.name), !option.repeats, option.value != nil {
                problem =
                    problem ?? OperatorError(.usage, "--\(option.name) is given twice", hint: "give it once")
            }
            parsed.values[option.name, default: []].append(given ?? "")
        }
        // Help and version win over whatever else is wrong: who asks for help may have it.
        if parsed.has("help") { return .help(commandHelp(spec)) }
        if parsed.has("version") { return .version }
        if let problem { throw problem }
        let required = spec.arguments.filter { $0.presence == .required }.count
        if parsed.arguments.count < required {
            let missing = spec.arguments[parsed.arguments.count]
            throw OperatorError(
                .missingArgument, "\(missing.name) is missing: \(missing.help)", hint: "usage: \(usage(spec))"
            )
        }
        if parsed.arguments.count > spec.arguments.count {
            let extra = TerminalText.escaped(
                TerminalText.cut(parsed.arguments[spec.arguments.count], bytesMax: 64))
            throw OperatorError(
                .usage, "‘\(extra)’ is one word too many",
                hint: "usage: \(usage(spec)); quote text with spaces")
        }
        if let text = try builtIn(parsed) { return .help(text) }
        return .run(parsed)
    }

    private func missingValue(_ option: OptionSpec) -> OperatorError {
        OperatorError(
            .missingArgument, "--\(option.name) needs a value",
            hint: "--\(option.name) \(option.value ?? ""): \(option.help)")
    }

    private func unknownOption(
        _ word: String, _ options: [OptionSpec], mayBeText: Bool = false
    ) -> OperatorError {
        let shown = String(word.prefix(while: { $0 != "=" }))
        let near = NearestMatch.find(shown, in: options.map { "--\($0.name)" })
        return OperatorError(
            .unknownOption,
            "there is no option \(TerminalText.escaped(TerminalText.cut(shown, bytesMax: 64)))",
            hint: near.map { "did you mean \($0)?" }
                ?? "\(program) COMMAND --help lists the options"
                + (mayBeText ? "; what begins with - and is none stands after --" : ""))
    }

    private func unknownCommand(_ words: [String]) -> OperatorError {
        let names = commands.filter { !$0.hidden }.map(\.name)
        // `channel crate` means a command of the group; a group alone lists its commands.
        let rest = commands.filter { !$0.hidden }.flatMap { [$0.path] + $0.aliases }
            .filter { $0.count > 1 && $0[0] == words[0] }.map { $0.dropFirst().joined(separator: " ") }
        if !rest.isEmpty {
            guard words.count > 1 else {
                return OperatorError(
                    .usage, "‘\(words[0])’ needs one word more",
                    hint: "one of: \(rest.joined(separator: ", "))")
            }
            let shown = TerminalText.escaped(TerminalText.cut(words[1], bytesMax: 64))
            let near = NearestMatch.find(words[1], in: rest)
            return OperatorError(
                .unknownCommand, "there is no command ‘\(words[0]) \(shown)’",
                hint: near.map { "did you mean ‘\(words[0]) \($0)’?" }
                    ?? "one of: \(rest.joined(separator: ", "))")
        }
        let shown = TerminalText.escaped(TerminalText.cut(words[0], bytesMax: 64))
        let near =
            NearestMatch.find(words.prefix(2).joined(separator: " "), in: names.filter { $0.contains(" ") })
            ?? NearestMatch.find(words[0], in: names + commands.compactMap(\.path.first))
        return OperatorError(
            .unknownCommand, "there is no command ‘\(shown)’",
            hint: near.map { "did you mean ‘\($0)’?" } ?? "\(program) --help lists the commands")
    }
}
