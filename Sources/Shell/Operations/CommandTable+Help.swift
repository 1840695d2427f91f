extension CommandTable {
    /// `antenna post CHANNEL [TEXT] [options]`
    package func usage(_ spec: CommandSpec) -> String {
        var words = [program] + spec.path
        for argument in spec.arguments {
            words.append(argument.presence == .required ? argument.name : "[\(argument.name)]")
        }
        if !spec.options.isEmpty { words.append("[options]") }
        return words.joined(separator: " ")
    }

    /// What `program --help` prints.
    package func programHelp() -> String {
        var out = "\(program): \(summary)\n\nusage: \(program) COMMAND [options]\n"
        if let fallback {
            out = "\(program): \(summary)\n\nusage: \(usage(fallback))\n"
            if !fallback.discussion.isEmpty { out += "\n\(fallback.discussion)\n" }
            out += section("options", rows(fallback.options))
        }
        let visible = commands.filter { !$0.hidden }
        out += section("commands", visible.map { (synopsis($0), $0.summary) })
        out += section(fallback == nil ? "options of every command" : "general options", rows(globals))
        if let fallback { out += examples(fallback.examples) }
        if !notes.isEmpty { out += "\n\(notes)\n" }
        if !visible.isEmpty { out += "\n\(program) COMMAND --help shows a command's options and examples.\n" }
        return out
    }

    /// What `program command --help` prints.
    package func commandHelp(_ spec: CommandSpec) -> String {
        var out = "\(spec.summary)\n\nusage: \(usage(spec))\n"
        for alias in spec.aliases { out += "   or: \(program) \(alias.joined(separator: " ")) …\n" }
        if !spec.discussion.isEmpty { out += "\n\(spec.discussion)\n" }
        out += section("arguments", spec.arguments.map { ($0.name, $0.help) })
        out += section("options", rows(spec.options))
        out += section("options of every command", rows(globals))
        out += examples(spec.examples)
        return out
    }

    /// The commands that start with these words; nil when there are none.
    func groupHelp(_ words: [String]) -> String? {
        let group = commands.filter { !$0.hidden && $0.path.starts(with: words) }
        guard !group.isEmpty else { return nil }
        let name = words.joined(separator: " ")
        return "usage: \(program) \(name) COMMAND [options]\n"
            + section("commands", group.map { (synopsis($0), $0.summary) })
            + "\n\(program) \(name) COMMAND --help shows a command's options and examples.\n"
    }

    private func synopsis(_ spec: CommandSpec) -> String {
        (spec.path + spec.arguments.map { $0.presence == .required ? $0.name : "[\($0.name)]" })
            .joined(separator: " ")
    }

    private func rows(_ options: [OptionSpec]) -> [(String, String)] {
        options.map { option in
            var left = option.short.map { "-\($0), " } ?? ""
            left += "--\(option.name)"
            if let value = option.value { left += " \(value)" }
            return (left, option.help + (option.repeats ? " (may be repeated)" : ""))
        }
    }

    private func section(_ title: String, _ rows: [(String, String)]) -> String {
        guard !rows.isEmpty else { return "" }
        let width = min(34, rows.map { $0.0.count }.max() ?? 0)
        var out = "\n\(title):\n"
        for (left, right) in rows {
            // A left side that does not fit gets a line of its own, so that the right column stays straight.
            if left.count > width {
                out += "  \(left)\n  \(String(repeating: " ", count: width))  \(right)\n"
            } else {
                out += "  \(left)\(String(repeating: " ", count: width - left.count))  \(right)\n"
            }
        }
        return out
    }

    private func examples(_ lines: [String]) -> String {
        guard !lines.isEmpty else { return "" }
        return "\nexamples:\n" + lines.map { "  \($0)\n" }.joined()
    }
}
