// Commands that every program has: what its table says, for shells and for man.
extension CommandTable {
    static func builtIn(_ program: String) -> [CommandSpec] {
        [
            CommandSpec(
                "completions", "Print what makes a shell complete the words of this program",
                arguments: [ArgumentSpec("SHELL", "bash, zsh or fish")],
                examples: [
                    "source <(\(program) completions bash)", "\(program) completions zsh > _\(program)",
                ]),
            CommandSpec(
                "manual", "Print the manual page of this program",
                arguments: [ArgumentSpec("SECTION", "the number of its section: 1 to 8")],
                examples: ["\(program) manual 8 | man -l -"], hidden: true),
        ]
    }

    /// Whether every program has this command, and carries it out from its table alone.
    package static func isBuiltIn(_ name: String) -> Bool {
        builtIn("").contains { $0.name == name }
    }

    /// The text that one of these commands prints; nil for any other command.
    func builtIn(_ command: ParsedCommand) throws(OperatorError) -> String? {
        let word = command.argument(0) ?? ""
        let text: String
        switch command.name {
        case "completions":
            guard let shell = CompletionShell(rawValue: word) else {
                throw OperatorError(
                    .badValue,
                    "‘\(TerminalText.escaped(TerminalText.cut(word, bytesMax: 64)))’ is no shell known here",
                    hint: "bash, zsh or fish")
            }
            text = completions(shell)
        case "manual":
            guard let section = Int(word), (1...8).contains(section) else {
                throw OperatorError(.badValue, "a section of the manual is a number from 1 to 8")
            }
            text = manual(section: section)
        default: return nil
        }
        return command.has("json") ? JSONValue.string(text).text + "\n" : text
    }
}
