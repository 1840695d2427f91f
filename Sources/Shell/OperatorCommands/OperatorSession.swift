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
    static func isInteractive(_ arguments: [String]) -> Bool {
        var words = arguments[...]
        while let word = words.popFirst() {
            if ["--state", "--socket", "--timeout"].contains(word) {
                // Its value; without one the usual parse explains what is missing.
                guard words.popFirst() != nil else { return false }
            } else if word != "--json",
                !["--state=", "--socket=", "--timeout="].contains(where: word.hasPrefix)
            {
                return false
            }
        }
        return true
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
