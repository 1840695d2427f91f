internal import Synchronization

/// The one log of a process: one event per line on standard error.
///
/// **Shape** text: `time level event key=value …`; json: `{"time":…,"level":…,"event":…,…}`. Under a journal
/// the time is left out and a `<N>` priority stands in front. Event names are constants, never built from
/// input.
/// **Thread** any.
package final class Log: Sendable {
    package enum Level: Int, Sendable, Comparable, CaseIterable {
        case debug = 7
        case info = 6
        case notice = 5
        case warning = 4
        case error = 3

        package var name: String {
            switch self {
            case .debug: "debug"
            case .info: "info"
            case .notice: "notice"
            case .warning: "warning"
            case .error: "error"
            }
        }

        package init?(name: String) {
            guard let level = Level.allCases.first(where: { $0.name == name }) else { return nil }
            self = level
        }

        /// As in syslog the smaller number is the graver event; as a comparison `error` is the greatest.
        package static func < (a: Level, b: Level) -> Bool { a.rawValue > b.rawValue }
    }

    package enum Format: String, Sendable, CaseIterable { case text, json }

    /// What a key of an event holds. Text is escaped and cut at 512 bytes whoever wrote it.
    package enum Value: Sendable, ExpressibleByStringInterpolation, ExpressibleByIntegerLiteral,
        ExpressibleByBooleanLiteral
    {
        case text(String)
        case integer(Int64)
        case bool(Bool)

        package init(stringLiteral value: String) { self = .text(value) }
        package init(integerLiteral value: Int64) { self = .integer(value) }
        package init(booleanLiteral value: Bool) { self = .bool(value) }
        package static func count(_ value: some BinaryInteger) -> Value { .integer(Int64(clamping: value)) }
    }

    /// How many lines of one event name pass in a window before the rest are only counted.
    package struct Repetition: Sendable {
        package var burst: Int
        package var windowMilliseconds: Int64
        package init(burst: Int = 20, windowMilliseconds: Int64 = 10_000) {
            self.burst = burst
            self.windowMilliseconds = windowMilliseconds
        }
    }

    private struct Counter {
        var windowStart: Int64
        var written: Int
        var suppressed: Int
        var level: Level
    }

    private struct State {
        var minimum: Level
        var counters: [String: Counter] = [:]
        /// Lines that were left out since one was last written: whoever reads them was too slow.
        var leftOut = 0
    }

    private let format: Format
    private let underJournal: Bool
    private let colour: Bool
    private let repetition: Repetition
    private let now: @Sendable () -> Int64
    /// False where a line could not be taken at once.
    private let offer: @Sendable (String) -> Bool
    private let state: Mutex<State>

    /// The log of this process on standard error, with journal and colour found from the environment.
    package convenience init(
        format: Format = .text, minimum: Level = .info, repetition: Repetition = Repetition()
    ) {
        let underJournal =
            !(Console.environment("JOURNAL_STREAM") ?? "").isEmpty && !Console.isTerminal(.error)
        self.init(
            format: format, minimum: minimum, underJournal: underJournal, colour: Console.wantsColour(.error),
            repetition: repetition, now: { Console.nowMilliseconds },
            offer: { Console.writeAtOnce($0, to: .error) })
    }

    /// With everything given, for tests and for embedding. `sink` gets whole lines with their newline.
    package convenience init(
        format: Format, minimum: Level, underJournal: Bool, colour: Bool, repetition: Repetition,
        now: @escaping @Sendable () -> Int64, sink: @escaping @Sendable (String) -> Void
    ) {
        self.init(
            format: format, minimum: minimum, underJournal: underJournal, colour: colour,
            repetition: repetition, now: now,
            offer: { line in
                sink(line)
                return true
            })
    }

    /// The same with an `offer` that may decline a line: it is counted, and the count is told once a line is
    /// taken again.
    package init(
        format: Format, minimum: Level, underJournal: Bool, colour: Bool, repetition: Repetition,
        now: @escaping @Sendable () -> Int64, offer: @escaping @Sendable (String) -> Bool
    ) {
        self.format = format
        self.underJournal = underJournal
        self.colour = colour
        self.repetition = repetition
        self.now = now
        self.offer = offer
        self.state = Mutex(State(minimum: minimum))
    }

    package var minimum: Level {
        get { state.withLock { $0.minimum } }
        set { state.withLock { $0.minimum = newValue } }
    }

    package func debug(_ event: StaticString, _ fields: KeyValuePairs<String, Value> = [:]) {
        write(.debug, event, fields)
    }
    package func info(_ event: StaticString, _ fields: KeyValuePairs<String, Value> = [:]) {
        write(.info, event, fields)
    }
    package func notice(_ event: StaticString, _ fields: KeyValuePairs<String, Value> = [:]) {
        write(.notice, event, fields)
    }
    package func warning(_ event: StaticString, _ fields: KeyValuePairs<String, Value> = [:]) {
        write(.warning, event, fields)
    }
    package func error(_ event: StaticString, _ fields: KeyValuePairs<String, Value> = [:]) {
        write(.error, event, fields)
    }

    package func write(_ level: Level, _ event: StaticString, _ fields: KeyValuePairs<String, Value>) {
        let name = event.description
        let time = now()
        // Lines are sent inside the lock so that two threads cannot swap them; a log line is short.
        state.withLock { state in
            guard level >= state.minimum else { return }
            if let counter = state.counters[name], time - counter.windowStart >= repetition.windowMilliseconds
            {
                state.counters[name] = nil
                summarise(name, counter, time, &state)
            }
            var counter =
                state.counters[name] ?? Counter(windowStart: time, written: 0, suppressed: 0, level: level)
            defer { state.counters[name] = counter }
            guard counter.written < repetition.burst else {
                counter.suppressed += 1
                counter.level = max(counter.level, level)
                return
            }
            counter.written += 1
            emit(line(level, name, time, fields.map { ($0.key, $0.value) }), time, &state)
        }
    }

    /// Writes the counts of suppressed lines whose window is over; all of them when the process ends.
    package func flushSuppressed(all: Bool = false) {
        let time = now()
        state.withLock { state in
            for (name, counter) in state.counters.sorted(by: { $0.key < $1.key })
            where all || time - counter.windowStart >= repetition.windowMilliseconds {
                state.counters[name] = nil
                summarise(name, counter, time, &state)
            }
        }
    }

    /// Who writes must not wait for who reads: a relay whose log is not read goes on.
    private func emit(_ text: String, _ time: Int64, _ state: inout State) {
        if state.leftOut > 0 {
            let fields: [(String, Value)] = [("lines", .count(state.leftOut))]
            guard offer(line(.warning, "log-left-out", time, fields)) else {
                state.leftOut += 1
                return
            }
            state.leftOut = 0
        }
        if !offer(text) { state.leftOut += 1 }
    }

    private func summarise(_ name: String, _ counter: Counter, _ time: Int64, _ state: inout State) {
        guard counter.suppressed > 0 else { return }
        let fields: [(String, Value)] = [
            ("of", .text(name)), ("count", .count(counter.suppressed)),
            ("seconds", .integer((time - counter.windowStart) / 1000)),
        ]
        emit(line(counter.level, "log-suppressed", time, fields), time, &state)
    }

    private func line(_ level: Level, _ event: String, _ time: Int64, _ fields: [(String, Value)]) -> String {
        let priority = underJournal ? "<\(level.rawValue)>" : ""
        switch format {
        case .json:
            var object: [(String, JSONValue)] = []
            if !underJournal { object.append(("time", .string(TimeText.utc(milliseconds: time)))) }
            object.append(("level", .string(level.name)))
            object.append(("event", .string(event)))
            for (key, value) in fields { object.append((key, value.json)) }
            return "\(priority)\(JSONValue.object(object).text)\n"
        case .text:
            var out = priority
            if !underJournal { out += "\(TimeText.utc(milliseconds: time)) " }
            out += "\(coloured(level)) \(event)"
            for (key, value) in fields { out += " \(key)=\(value.text)" }
            return out + "\n"
        }
    }

    private func coloured(_ level: Level) -> String {
        guard colour else { return level.name }
        switch level {
        case .error: return "\u{1B}[31m\(level.name)\u{1B}[0m"
        case .warning: return "\u{1B}[33m\(level.name)\u{1B}[0m"
        default: return level.name
        }
    }
}

extension Log.Value {
    fileprivate var json: JSONValue {
        switch self {
        case .text(let text): .string(TerminalText.cut(text))
        case .integer(let value): .integer(value)
        case .bool(let value): .bool(value)
        }
    }

    /// Quoted where a space, a quote or nothing at all would blur where the value ends.
    fileprivate var text: String {
        switch self {
        case .integer(let value): return String(value)
        case .bool(let value): return String(value)
        case .text(let text):
            let safe = TerminalText.escaped(TerminalText.cut(text))
            guard safe.isEmpty || safe.contains(where: { $0 == " " || $0 == "\"" || $0 == "=" }) else {
                return safe
            }
            let parts = safe.split(separator: "\"", omittingEmptySubsequences: false)
            return "\"\(parts.joined(separator: "\\\""))\""
        }
    }
}
