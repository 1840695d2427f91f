internal import LinkRuntime
internal import Operations

/// What was asked for, checked.
struct BenchOptions {
    enum Pace {
        /// At most so many messages published and not yet delivered to all.
        case window(Int)
        /// So many messages a second.
        case rate(Double)
    }
    /// One way to publish, for some runs.
    struct Series {
        let pace: Pace
        /// Bytes of a signed message.
        let size: Int
    }

    var relay: String?
    var relayPID: Int32?
    var antennad: String?
    var relayCore: Int?
    var generatorCore: Int?
    var settings: [(section: String, key: String, value: String)] = []
    var loops = 1
    var keeps = false

    var subscribers = 100
    var series: [Series] = []
    var seconds = 2.0
    var warmUp = 0.3
    var messages = Int.max
    var runs = 3

    /// Nil: all links.
    var sample: Int?
    var concurrent = 64
    var sources = 1
    var publishWhileJoining = 0.0
    var settle = 0.7
    var suites = LinkPreface.Suites.all
    var blocks = false
    var patience = 5.0
    var forget = 0

    init(_ command: ParsedCommand) throws(OperatorError) {
        relay = command.value("relay")
        relayPID = try command.integer("relay-pid", in: 1...(1 << 30)).map { Int32($0) }
        antennad = command.value("antennad")
        guard (relay == nil) != (antennad == nil) else {
            throw OperatorError(
                .usage, "which relay is measured?",
                hint: "give --antennad PATH to start one, or --relay LINK for one that runs")
        }
        relayCore = try command.integer("relay-core", in: 0...1023)
        generatorCore = try command.integer("generator-core", in: 0...1023)
        loops = try command.integer("loops", in: 1...64) ?? loops
        keeps = command.has("keep")
        for text in command.values("set") {
            let sides = text.split(separator: "=", maxSplits: 1).map(String.init)
            let names = sides[0].split(separator: ".").map(String.init)
            guard sides.count == 2, names.count == 2 else {
                throw OperatorError(
                    .badValue, "--set cannot be ‘\(TerminalText.cut(text, bytesMax: 64))’",
                    hint: "give SECTION.KEY=VALUE, as in limits.tail_bytes=4MiB")
            }
            settings.append((names[0], names[1], sides[1]))
        }
        subscribers = try command.integer("subscribers", in: 1...1_000_000) ?? subscribers
        series = try BenchOptions.series(command)
        seconds = try BenchOptions.number(command, "seconds", 0.05...100_000) ?? seconds
        warmUp = try BenchOptions.number(command, "warm-up", 0...1000) ?? warmUp
        messages = try command.integer("messages", in: 1...100_000_000) ?? messages
        runs = try command.integer("runs", in: 0...1000) ?? runs
        if let text = command.value("sample"), text != "all" {
            sample = try command.integer("sample", in: 0...1_000_000)
        }
        concurrent = try command.integer("concurrent", in: 1...10_000) ?? concurrent
        sources = try command.integer("sources", in: 1...250) ?? (subscribers + 19_999) / 20_000
        publishWhileJoining = try BenchOptions.number(command, "publish-while-joining", 0...100_000) ?? 0
        settle = try BenchOptions.number(command, "settle", 0...100_000) ?? settle
        patience = try BenchOptions.number(command, "patience", 0.1...100_000) ?? patience
        forget = try command.integer("forget", in: 1...Int.max) ?? 0
        blocks = command.has("block")
        switch command.value("suite") {
        case nil, "auto": suites = .all
        case "aesgcm": suites = .aesGCM
        case "chachapoly": suites = .chaChaPoly
        default: throw OperatorError(.badValue, "--suite is aesgcm, chachapoly or auto")
        }
    }

    private static func series(_ command: ParsedCommand) throws(OperatorError) -> [Series] {
        let size = try command.integer("size", in: 1...15_000) ?? 256
        let given = ["window", "rate", "series"].filter { command.has($0) }
        guard given.count < 2 else {
            throw OperatorError(.usage, "--\(given[0]) and --\(given[1]) exclude each other")
        }
        if let rate = try number(command, "rate", 0.01...1_000_000) {
            return [Series(pace: .rate(rate), size: size)]
        }
        guard let list = command.value("series") else {
            return [Series(pace: .window(try command.integer("window", in: 1...10_000) ?? 64), size: size)]
        }
        var series: [Series] = []
        for text in list.split(separator: ",") {
            let sides = text.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
            let size = sides.count == 2 ? Int(sides[1]) ?? 0 : size
            guard (1...2).contains(sides.count), (1...15_000).contains(size), let value = Double(sides[0]),
                value > 0,
                value <= 1_000_000, text.first == "r" || text.first == "w" && value == value.rounded()
            else {
                throw OperatorError(
                    .badValue, "‘\(TerminalText.cut(String(text), bytesMax: 64))’ is no series",
                    hint: "w64: a window of 64; r30: 30 messages a second; w64/1024: of 1024 bytes")
            }
            series.append(Series(pace: text.first == "r" ? .rate(value) : .window(Int(value)), size: size))
        }
        return series
    }

    private static func number(
        _ command: ParsedCommand, _ option: String, _ range: ClosedRange<Double>
    ) throws(OperatorError) -> Double? {
        guard let text = command.value(option) else { return nil }
        guard let number = Double(text), range.contains(number) else {
            throw OperatorError(
                .badValue, "--\(option) cannot be ‘\(TerminalText.cut(text, bytesMax: 64))’",
                hint: "give a number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    // MARK: - The command line

    static let table = CommandTable(
        program: "antenna-bench",
        summary: "measures a relay: real subscribers, a real owner, every delivery checked",
        globals: [OptionSpec("json", "print the figures, or an error, as one JSON document")],
        commands: [],
        fallback: CommandSpec(
            "", "Measure a relay",
            discussion: """
                Makes a channel on the relay as its owner, joins and attaches N subscribers through the real
                handshake, publishes, and counts what arrives at each of them. A message is --size bytes as
                its owner signed it; on the wire it is a DELIVER frame of some 60 bytes more.

                With --window W at most W messages are published and not yet delivered to all; W = 1: each
                alone. With --rate R messages leave at their time, and latency is what counts. One run to
                warm up comes first and is not reported. The generator is one thread that never sleeps
                (unless --block), so that the relay never pays for waking it.

                --sample K: only K links open every record and compare every byte. The others count what a
                record holds by its length where that is certain and open it where it is not; after each
                run a message of another size is opened and its sequence checked on every link. What was
                opened and compared is in the output.
                """,
            options: [
                OptionSpec(
                    "antennad", value: "PATH",
                    "start this antennad in a temporary directory, with limits that let N in"),
                OptionSpec(
                    "relay", value: "LINK",
                    "measure the relay that runs there (connections_per_address must let N in)"),
                OptionSpec("relay-pid", value: "PID", "with --relay: the process to read CPU and memory of"),
                OptionSpec("relay-core", value: "CORE", "with --antennad: keep the relay on this core"),
                OptionSpec("generator-core", value: "CORE", "keep the generator on this core"),
                OptionSpec("loops", value: "COUNT", "with --antennad: its loops (default 1)"),
                OptionSpec(
                    "set", value: "SECTION.KEY=VALUE", repeats: true,
                    "with --antennad: a setting of the relay"),
                OptionSpec("keep", "with --antennad: leave its directory where it is"),
                OptionSpec("subscribers", short: "n", value: "N", "subscribers (default 100)"),
                OptionSpec("size", short: "s", value: "S", "bytes of a signed message (default 256)"),
                OptionSpec("window", short: "w", value: "W", "full speed with this window (default 64)"),
                OptionSpec("rate", short: "r", value: "R", "this many messages a second instead"),
                OptionSpec(
                    "series", value: "LIST",
                    "several of these, one after the other: w64, r30, w64/1024 (another size)"),
                OptionSpec("seconds", short: "t", value: "T", "how long a run publishes (default 2)"),
                OptionSpec("messages", short: "m", value: "M", "at most so many messages a run"),
                OptionSpec(
                    "runs", short: "k", value: "K", "runs (default 3); 0: join, settle, and tell the memory"),
                OptionSpec(
                    "warm-up", value: "SECONDS", "the run that is not reported (default 0.3; 0: none)"),
                OptionSpec("sample", value: "K|all", "links that open and compare everything (default all)"),
                OptionSpec("concurrent", short: "c", value: "C", "joins under way at once (default 64)"),
                OptionSpec(
                    "sources", value: "COUNT", "loopback addresses to connect from (default one for 20000)"),
                OptionSpec(
                    "publish-while-joining", value: "R", "publish R messages a second while subscribers join"),
                OptionSpec(
                    "settle", value: "SECONDS", "how long to wait idle before memory is read (default 0.7)"),
                OptionSpec("suite", value: "NAME", "aesgcm, chachapoly or auto (default)"),
                OptionSpec("block", "sleep while nothing comes"),
                OptionSpec(
                    "patience", value: "SECONDS",
                    "without progress for this long: what is missing is lost (default 5)"),
                OptionSpec(
                    "forget", value: "K", "leave every Kth delivery out of the count: the check must notice"),
            ],
            examples: [
                "antenna-bench --antennad .build/release/antennad --relay-core 0 --generator-core 1 -n 1000 -w 1",
                "antenna-bench --antennad .build/release/antennad -n 1000 -w 64 --json",
                "antenna-bench --antennad .build/release/antennad -n 1000 --rate 30  # latency",
                "antenna-bench --antennad .build/release/antennad -n 1000 --series w1,w64,w64/1024,r30 -k 1",
                "antenna-bench --antennad .build/release/antennad -n 5000 --runs 0   # memory of idle subscribers",
                "antenna-bench --relay \"$(antennactl address)\" --relay-pid $(pidof antennad) -n 100",
            ]),
        notes: "exit codes: 0 everything arrived once and in order, 1 it did not, 64 usage, 69 no relay")
}
