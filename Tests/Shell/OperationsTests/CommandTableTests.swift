import Operations
import Testing

@Suite("CommandTable") struct CommandTableTests {
    static let table = CommandTable(
        program: "antenna", summary: "channels",
        globals: [
            OptionSpec("json", "JSON"), OptionSpec("home", value: "DIR", "where"),
            OptionSpec("timeout", short: "t", value: "SECONDS", "how long"),
        ],
        commands: [
            CommandSpec(
                "post", "publish a message",
                arguments: [
                    ArgumentSpec("CHANNEL", "the channel"), ArgumentSpec("TEXT", .optional, "the text"),
                ], options: [OptionSpec("min-relays", value: "N", "at least")],
                examples: ["antenna post '#news' hello"]),
            CommandSpec(
                "channel create", "make a channel", arguments: [ArgumentSpec("NAME", "its name")],
                options: [OptionSpec("relay", value: "NAME", repeats: true, "a relay")], examples: []),
            CommandSpec("channel list", "list", examples: []),
            CommandSpec(
                "allow", aliases: ["group allow", "relay allow"], "allow",
                arguments: [ArgumentSpec("CHANNEL", "it")],
                examples: []),
        ])

    private func run(_ words: [String]) throws -> ParsedCommand {
        guard case .run(let parsed) = try Self.table.parse(words) else {
            throw OperatorError(.internalDefect, "not a command: \(words)")
        }
        return parsed
    }

    @Test("what every program can do is explained with the program's own name")
    func builtIn() throws {
        guard case .help(let text) = try Self.table.parse(["completions", "--help"]) else {
            Issue.record("no help")
            return
        }
        #expect(text.contains("source <(antenna completions bash)"))
        #expect(text.contains("antenna completions zsh > _antenna") && !text.contains("antennactl"))
    }

    @Test("who asks for help on a command that is none is told so, and of the one that was meant")
    func helpOnNothing() throws {
        let error = try #require(throws: OperatorError.self) { _ = try Self.table.parse(["help", "pots"]) }
        #expect(error.message == "there is no command ‘pots’" && error.hint == "did you mean ‘post’?")
    }

    @Test("options stand before, between and after the words of a command")
    func optionsAnywhere() throws {
        for words in [
            ["--json", "--home", "d", "channel", "create", "news", "--relay", "a", "--relay=b"],
            ["channel", "--home=d", "create", "--relay", "a", "news", "--json", "--relay", "b"],
        ] {
            let parsed = try run(words)
            #expect(parsed.name == "channel create")
            #expect(parsed.arguments == ["news"])
            #expect(parsed.values("relay") == ["a", "b"])
            #expect(parsed.value("home") == "d")
            #expect(parsed.has("json"))
        }
    }

    @Test(
        "a short option takes its value attached or after it",
        arguments: [["-t", "5"], ["-t5"], ["--timeout", "5"]])
    func shortOption(words: [String]) throws {
        #expect(try run(words + ["post", "#news"]).value("timeout") == "5")
    }

    @Test("after -- everything is an argument, and a lone - is one too")
    func endOfOptions() throws {
        #expect(try run(["post", "#news", "--", "--json"]).arguments == ["#news", "--json"])
        #expect(try run(["post", "#news", "-"]).argument(1) == "-")
    }

    @Test(
        "every alias leads to the same command",
        arguments: [["allow"], ["group", "allow"], ["relay", "allow"]])
    func aliases(path: [String]) throws {
        let parsed = try run(path + ["#news"])
        #expect(parsed.name == "allow")
        #expect(parsed.arguments == ["#news"])
    }

    @Test(
        "wrong usage gets one line that names the fault and what would be right",
        arguments: [
            (["pots", "#news"], OperatorError.Kind.unknownCommand, "did you mean ‘post’?"),
            (["channel", "crate", "x"], .unknownCommand, "did you mean ‘channel create’?"),
            (["channel"], .usage, "one of: create, list"),
            (["post", "#news", "--min-relay", "2"], .unknownOption, "did you mean --min-relays?"),
            (["post"], .missingArgument, "usage: antenna post CHANNEL [TEXT] [options]"),
            (
                ["post", "#news", "a", "b"], .usage,
                "usage: antenna post CHANNEL [TEXT] [options]; quote text with spaces"
            ),
            (["post", "#news", "--min-relays"], .missingArgument, "--min-relays N: at least"),
            (["post", "#news", "--json=yes"], .badValue, nil),
            (["--home", "a", "--home", "b", "post", "#news"], .usage, "give it once"),
            ([], .usage, "antenna --help lists the commands"),
            (["--home"], .missingArgument, "--home DIR: where"),
            (
                ["post", "#news", "-zz"], .unknownOption,
                "antenna COMMAND --help lists the options; what begins with - and is none stands after --"
            ),
            (["group"], .usage, "one of: allow"),
            (["zzzzzz"], .unknownCommand, "antenna --help lists the commands"),
        ] as [([String], OperatorError.Kind, String?)])
    func wrongUsage(words: [String], kind: OperatorError.Kind, hint: String?) {
        let error = #expect(throws: OperatorError.self) { try Self.table.parse(words) }
        #expect(error?.number == kind.rawValue)
        #expect(error?.hint == hint)
        #expect(error?.exitCode == .usage)
    }

    @Test("help names what the command does, its arguments, its options and examples")
    func help() throws {
        guard case .help(let text) = try Self.table.parse(["post", "--help"]) else {
            Issue.record("no help")
            return
        }
        for part in [
            "publish a message", "CHANNEL", "--min-relays N", "--timeout SECONDS",
            "antenna post '#news' hello",
        ] {
            #expect(text.contains(part))
        }
    }

    @Test(
        "help is given for the program, a group and a command, however it is asked for, also when more is wrong",
        arguments: [
            (["--help"], "commands:"), (["help"], "commands:"), (["-h"], "commands:"),
            (["channel", "--help"], "channel create NAME"),
            (["help", "channel", "create"], "make a channel"),
            (["post", "--nonsense", "--help"], "publish a message"),
        ])
    func helpWays(words: [String], part: String) throws {
        guard case .help(let text) = try Self.table.parse(words) else {
            Issue.record("no help for \(words)")
            return
        }
        #expect(text.contains(part))
    }

    @Test("a program that is mostly one command takes its options without a word, and names a wrong one")
    func fallback() throws {
        let table = CommandTable(
            program: "antennad", summary: "a relay", globals: [], commands: [],
            fallback: CommandSpec(
                "", "serve", options: [OptionSpec("listen", value: "ADDRESS", "where")], examples: []))
        guard case .run(let parsed) = try table.parse(["--listen", "127.0.0.1:0"]) else {
            Issue.record("not run")
            return
        }
        #expect(parsed.value("listen") == "127.0.0.1:0")
        let error = #expect(throws: OperatorError.self) { try table.parse(["--lisen", "127.0.0.1:0"]) }
        #expect(error?.hint == "did you mean --listen?")
        let word = #expect(throws: OperatorError.self) { try table.parse(["--listen", "x", "dance"]) }
        #expect(word?.name == "unknown-command")
    }

    @Test("a whole number outside its range is refused with the range")
    func integers() throws {
        let parsed = try run(["post", "#news", "--min-relays", "17"])
        #expect(try parsed.integer("min-relays", in: 1...17) == 17)
        let error = #expect(throws: OperatorError.self) { try parsed.integer("min-relays", in: 1...16) }
        #expect(error?.hint == "give a whole number from 1 to 16")
    }

    @Test("--json is seen before anything else is understood, but not behind --")
    func wantsJSON() {
        #expect(CommandTable.wantsJSON(["zzz", "--json"]))
        #expect(!CommandTable.wantsJSON(["post", "--", "--json"]))
    }
}

@Suite("ShellWords and ChannelName") struct ShellWordsTests {
    @Test(
        "a typed line splits as in a shell",
        arguments: [
            ("leave #news", ["leave", "#news"]), ("  leave   #'my news' ", ["leave", "#my news"]),
            (#"say "a 'b' c" d\ e"#, ["say", "a 'b' c", "d e"]), ("", []), ("''", [""]),
        ])
    func split(line: String, words: [String]) throws {
        #expect(try ShellWords.split(line) == words)
    }

    @Test("an open quote is an error, not a guess")
    func openQuote() {
        #expect(throws: OperatorError.self) { try ShellWords.split("leave #'my news") }
    }

    @Test(
        "a channel can be written with and without # and quotes",
        arguments: [
            ("#news", "news"), ("news", "news"), ("#'my news'", "my news"), ("'my news'", "my news"),
            ("#", ""),
        ])
    func channelName(text: String, name: String) {
        #expect(ChannelName.parse(text) == name)
    }

    @Test("what is shown can be typed again", arguments: ["news", "my news", "news_1"])
    func display(name: String) throws {
        #expect(ChannelName.parse(ChannelName.display(name)) == name)
        #expect(try ShellWords.split(ChannelName.display(name)) == ["#\(name)"])
    }
}
