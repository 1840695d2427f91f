/// One option of a command line: `--name`, `--name VALUE`, `-n`.
package struct OptionSpec: Sendable {
    package let name: String
    package let short: Character?
    /// What to call the value in help; nil: a switch.
    package let value: String?
    package let help: String
    package let repeats: Bool

    package init(
        _ name: String, short: Character? = nil, value: String? = nil, repeats: Bool = false, _ help: String
    ) {
        self.name = name
        self.short = short
        self.value = value
        self.help = help
        self.repeats = repeats
    }
}

/// One argument of a command, by its place.
package struct ArgumentSpec: Sendable {
    package enum Presence: Sendable { case required, optional }
    package let name: String
    package let help: String
    package let presence: Presence

    package init(_ name: String, _ help: String) { self.init(name, .required, help) }

    package init(_ name: String, _ presence: Presence, _ help: String) {
        self.name = name
        self.help = help
        self.presence = presence
    }
}

/// One command: what it is called, what it takes, what help says about it.
package struct CommandSpec: Sendable {
    /// The words that name it: `["channel", "create"]`.
    package let path: [String]
    /// Other words for the same.
    package let aliases: [[String]]
    package let summary: String
    /// More than one line of explanation, shown by `--help` only.
    package let discussion: String
    package let arguments: [ArgumentSpec]
    package let options: [OptionSpec]
    /// Whole command lines, each with an optional `  # comment`.
    package let examples: [String]
    package let hidden: Bool

    package init(
        _ path: String, aliases: [String] = [], _ summary: String, discussion: String = "",
        arguments: [ArgumentSpec] = [], options: [OptionSpec] = [], examples: [String], hidden: Bool = false
    ) {
        self.path = path.split(separator: " ").map(String.init)
        self.aliases = aliases.map { $0.split(separator: " ").map(String.init) }
        self.summary = summary
        self.discussion = discussion
        self.arguments = arguments
        self.options = options
        self.examples = examples
        self.hidden = hidden
    }

    package var name: String { path.joined(separator: " ") }
}

/// What a person asked for.
package enum Invocation: Sendable {
    /// Text for standard output; the program ends with 0.
    case help(String)
    case version
    case run(ParsedCommand)
}

/// A command with its options and arguments, checked against its spec.
package struct ParsedCommand: Sendable {
    package let spec: CommandSpec
    package var values: [String: [String]]
    package var arguments: [String]

    package var name: String { spec.name }
    package func has(_ option: String) -> Bool { values[option] != nil }
    /// The value given last.
    package func value(_ option: String) -> String? { values[option]?.last }
    package func values(_ option: String) -> [String] { values[option] ?? [] }
    /// The argument at this place, nil when it was optional and absent.
    package func argument(_ index: Int) -> String? { index < arguments.count ? arguments[index] : nil }

    /// A whole number in a range.
    ///
    /// **Throws** bad-value with the range in the hint.
    package func integer(_ option: String, in range: ClosedRange<Int>) throws(OperatorError) -> Int? {
        guard let text = value(option) else { return nil }
        guard let number = Int(text), range.contains(number) else {
            throw OperatorError(
                .badValue, "--\(option) cannot be ‘\(TerminalText.cut(text, bytesMax: 64))’",
                hint: "give a whole number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }
}
