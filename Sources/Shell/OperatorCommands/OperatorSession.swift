internal import Operations

/// Commands typed or piped in, one a line, with or without a slash in front.
struct OperatorSession {
    /// The options given on the command line; they stand behind every line.
    private let globals: [String]
    private let output: Output

    init(globals: [String], output: Output) {
        self.globals = globals
        self.output = output
    }

    /// Whether the command line names no command, so that lines are read instead.
    static func isInteractive(_ arguments: [String]) -> Bool { commandIndex(arguments) == arguments.count }

    /// The arguments, their command written without a slash in front: `/group allow`, as hints write it.
    static func withoutSlash(_ arguments: [String]) -> [String] {
        let index = commandIndex(arguments)
        guard index < arguments.count, arguments[index].hasPrefix("/"), arguments[index].count > 1 else {
            return arguments
        }
        var arguments = arguments
        arguments[index].removeFirst()
        return arguments
    }

    /// Where the command begins, behind the options of every command; the number of the arguments where there
    /// is none, more where an option lacks its value: the usual parse explains that.
    private static func commandIndex(_ arguments: [String]) -> Int {
        let valued = ["--state", "--socket", "--timeout"]
        var index = 0
        while index < arguments.count {
            let word = arguments[index]
            if valued.contains(word) {
                index += 2
            } else if word == "--json" || valued.contains(where: { word.hasPrefix("\($0)=") }) {
                index += 1
            } else {
                return index
            }
        }
        return index
    }

    /// Reads until the end or `quit`. Returns: the code of the last command that failed, else ok.
    func run(_ input: () -> String?) -> ExitCode {
        let talks = Console.inputIsTerminal && Console.isTerminal(.error)
        var last = ExitCode.ok
        if talks { Console.write("help lists the commands, quit ends\n", to: .error) }
        while true {
            if talks { Console.write("> ", to: .error) }
            guard let line = input() else { break }
            switch understand(line) {
            case .nothing: continue
            case .quit: return last
            case .failed(let code): last = code
            case .run(let words):
                let code = OperatorProgram.runOne(words + globals, output: output)
                if code != .ok { last = code }
            }
        }
        if talks { Console.write("\n", to: .error) }
        return last
    }

    private enum Understood {
        case nothing
        case quit
        case failed(ExitCode)
        case run([String])
    }

    private func understand(_ line: String) -> Understood {
        // A file of commands may say what they are for; no command begins with a channel.
        if line.drop(while: \.isWhitespace).first == "#" { return .nothing }
        var words: [String]
        do throws(OperatorError) {
            words = try ShellWords.split(line)
        } catch {
            return .failed(output.failure(error, program: "antennactl"))
        }
        guard var first = words.first else { return .nothing }
        if first.hasPrefix("/") { first.removeFirst() }
        words[0] = first
        switch first {
        case "": return .nothing
        case "quit", "exit", "q": return .quit
        case "?": return .run(["help"] + words.dropFirst())
        default: return .run(words)
        }
    }
}
