/// The shells that a program's words can be completed in.
enum CompletionShell: String { case bash, zsh, fish }

extension CommandTable {
    /// A script for a shell. It knows the commands and their options; what stands on relays it does not ask.
    func completions(_ shell: CompletionShell) -> String {
        switch shell {
        case .bash: bash()
        case .zsh: zsh()
        case .fish: fish()
        }
    }

    // MARK: What can come next

    /// The words that may stand next, after these words of a command's name: word and explanation.
    private func next(after words: [String]) -> [(word: String, help: String)] {
        var found: [(word: String, help: String)] = []
        for command in commands where !command.hidden {
            for path in [command.path] + command.aliases
            where path.count > words.count && path.starts(with: words) {
                let word = path[words.count]
                if found.contains(where: { $0.word == word }) { continue }
                let isWhole = path.count == words.count + 1
                found.append(
                    (
                        word,
                        isWhole ? command.summary : "commands of \((words + [word]).joined(separator: " "))"
                    ))
            }
        }
        return found
    }

    /// Every beginning of a command's name that is not yet all of it.
    private var beginnings: [[String]] {
        var found: [[String]] = [[]]
        for command in commands where !command.hidden {
            for path in [command.path] + command.aliases where path.count > 1 {
                let beginning = Array(path.dropLast())
                if !found.contains(beginning) { found.append(beginning) }
            }
        }
        return found
    }

    /// Every name with its command, the longest first.
    private var names: [(name: String, spec: CommandSpec)] {
        commands.filter { !$0.hidden }.flatMap { spec in
            ([spec.path] + spec.aliases).map { ($0.joined(separator: " "), spec) }
        }.sorted { ($0.0.count, $1.0) > ($1.0.count, $0.0) }
    }

    private var everyOption: [OptionSpec] {
        var found: [OptionSpec] = []
        for option in globals + (fallback?.options ?? []) + commands.flatMap(\.options)
        where !found.contains(where: { $0.name == option.name }) {
            found.append(option)
        }
        return found
    }

    private func isPath(_ value: String?) -> Bool { ["FILE", "DIR", "PATH"].contains(value) }
    private func takesFile(_ spec: CommandSpec) -> Bool { spec.arguments.contains { isPath($0.name) } }
    private func options(_ options: [OptionSpec]) -> String {
        options.map { "--\($0.name)" }.joined(separator: " ")
    }
    private func alternatives(_ options: [OptionSpec]) -> String {
        options.map { "--\($0.name)" }.joined(separator: "|")
    }

    // MARK: bash

    private func bash() -> String {
        let valued = everyOption.filter { $0.value != nil }
        let paths = valued.filter { isPath($0.value) }
        let others = valued.filter { !isPath($0.value) }
        var out = """
            # bash completion for \(program), made by: \(program) completions bash
            _\(program)() {
                local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
                local line= word i skip=no words= options= files=no
                for ((i = 1; i < COMP_CWORD; i++)); do
                    word=${COMP_WORDS[i]}
                    if [[ $skip == yes ]]; then skip=no; continue; fi
                    case $word in
                        \(alternatives(valued))) skip=yes ;;
                        -*) ;;
                        *) line+="${line:+ }$word" ;;
                    esac
                done
                COMPREPLY=()
                case $before in

            """
        if !paths.isEmpty {
            out += "        \(alternatives(paths))) COMPREPLY=($(compgen -f -- \"$current\")); return ;;\n"
        }
        if !others.isEmpty { out += "        \(alternatives(others))) return ;;\n" }
        out += "    esac\n    case $line in\n"
        for beginning in beginnings {
            let words = next(after: beginning).map(\.word).joined(separator: " ")
            out += "        '\(beginning.joined(separator: " "))') words='\(words)' ;;\n"
        }
        out += "        completions) words='bash zsh fish' ;;\n"
        out += "    esac\n    case $line in\n"
        for (name, spec) in names {
            let files = takesFile(spec) ? "; files=yes" : ""
            out += "        '\(name)'|'\(name) '*) options='\(options(spec.options))'\(files) ;;\n"
        }
        if let fallback { out += "        '') options='\(options(fallback.options))' ;;\n" }
        out += """
                esac
                if [[ $current == -* ]]; then
                    COMPREPLY=($(compgen -W "$options \(options(globals))" -- "$current"))
                elif [[ $files == yes ]]; then
                    COMPREPLY=($(compgen -f -- "$current"))
                else
                    COMPREPLY=($(compgen -W "$words" -- "$current"))
                fi
            }
            complete -o filenames -F _\(program) \(program)

            """
        return out
    }

    // MARK: zsh

    private func zsh() -> String {
        func entry(_ word: String, _ help: String) -> String {
            // A colon ends the word, a quote the text.
            let text = help.split(separator: ":", omittingEmptySubsequences: false).joined(separator: "\\:")
            return CommandTable.quoted("\(word):\(text)", escape: "'\\''")
        }
        func entries(_ options: [OptionSpec]) -> String {
            options.map { entry("--\($0.name)", $0.help) }.joined(separator: " ")
        }
        let valued = everyOption.filter { $0.value != nil }
        let paths = valued.filter { isPath($0.value) }
        let others = valued.filter { !isPath($0.value) }
        var out = """
            #compdef \(program)
            # zsh completion for \(program), made by: \(program) completions zsh
            _\(program)() {
                local line= word skip=no files=no i
                local -a found options
                for ((i = 2; i < CURRENT; i++)); do
                    word=${words[i]}
                    if [[ $skip == yes ]]; then skip=no; continue; fi
                    case $word in
                        (\(alternatives(valued))) skip=yes ;;
                        (-*) ;;
                        (*) line+="${line:+ }$word" ;;
                    esac
                done
                case ${words[CURRENT-1]} in

            """
        if !paths.isEmpty { out += "        (\(alternatives(paths))) _files; return ;;\n" }
        if !others.isEmpty { out += "        (\(alternatives(others))) return ;;\n" }
        out += "    esac\n    case $line in\n"
        for beginning in beginnings {
            let words = next(after: beginning).map { entry($0.word, $0.help) }.joined(separator: " ")
            out += "        ('\(beginning.joined(separator: " "))') found=(\(words)) ;;\n"
        }
        out += "    esac\n    case $line in\n"
        for (name, spec) in names {
            let files = takesFile(spec) ? "; files=yes" : ""
            out += "        ('\(name)'|'\(name) '*) options=(\(entries(spec.options)))\(files) ;;\n"
        }
        if let fallback { out += "        ('') options=(\(entries(fallback.options))) ;;\n" }
        out += """
                esac
                options+=(\(entries(globals)))
                if [[ ${words[CURRENT]} == -* ]]; then
                    _describe -o option options
                elif [[ $files == yes ]]; then
                    _files
                elif (( $#found )); then
                    _describe command found
                fi
            }
            _\(program) "$@"

            """
        return out
    }

    // MARK: fish

    private func fish() -> String {
        let valued = everyOption.filter { $0.value != nil }
        func quoted(_ text: String) -> String {
            let slashes = text.split(separator: "\\", omittingEmptySubsequences: false).joined(
                separator: "\\\\")
            return CommandTable.quoted(slashes, escape: "\\'")
        }
        func option(_ option: OptionSpec, _ condition: String) -> String {
            var out = "complete -c \(program)\(condition) -l \(option.name)"
            if let short = option.short { out += " -s \(short)" }
            if let value = option.value { out += isPath(value) ? " -r -F" : " -x" }
            return out + " -d \(quoted(option.help))\n"
        }
        var out = """
            # fish completion for \(program), made by: \(program) completions fish
            function __\(program)_line
                set -l skip no
                set -l line
                for word in (commandline -opc)[2..-1]
                    if test $skip = yes
                        set skip no
                        continue
                    end
                    switch $word
                        case \(options(valued))
                            set skip yes
                        case '-*'
                        case '*'
                            set -a line $word
                    end
                end
                string join ' ' -- $line
            end
            function __\(program)_at
                test (__\(program)_line | string collect -a) = "$argv[1]"
            end
            function __\(program)_in
                string match -q -- "$argv[1] *" (__\(program)_line | string collect -a)' '
            end
            complete -c \(program) -f

            """
        for beginning in beginnings {
            let condition = " -n \(quoted("__\(program)_at \"\(beginning.joined(separator: " "))\""))"
            for (word, help) in next(after: beginning) {
                out += "complete -c \(program)\(condition) -a \(word) -d \(quoted(help))\n"
            }
        }
        for (name, spec) in names {
            let condition = " -n \(quoted("__\(program)_in \"\(name)\""))"
            for each in spec.options { out += option(each, condition) }
            if takesFile(spec) { out += "complete -c \(program)\(condition) -F\n" }
        }
        for each in fallback?.options ?? [] { out += option(each, " -n \(quoted("__\(program)_at \"\""))") }
        for each in globals { out += option(each, "") }
        return out
    }

    private static func quoted(_ text: String, escape: String) -> String {
        "'\(text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: escape))'"
    }
}
