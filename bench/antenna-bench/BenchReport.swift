internal import Operations

/// The figures of one measurement.
struct BenchReport {
    typealias Resident = (all: Int, anonymous: Int)

    struct Join {
        let seconds: Double
        let times: Histogram
        let relayMicroseconds: Double?
    }
    struct WhileJoining {
        let messages: Int
        let latency: Histogram
    }
    struct Run {
        let messages: Int
        let deliveries: UInt64
        let lost: Int64
        let disordered: UInt64
        let wrong: UInt64
        /// From the first publish to the last delivery.
        let seconds: Double
        let relayNanoseconds: UInt64?
        let generatorNanoseconds: UInt64
        let latency: Histogram
        let acks: Histogram
        let unacknowledged: Int
        /// Messages that were signed while the run went on.
        let signedLate: Int
        var problem: String?

        var perSecond: Double { seconds > 0 ? Double(deliveries) / seconds : 0 }
        /// Units: microseconds for each delivery.
        var relayCPU: Double? { relayNanoseconds.map { Double($0) / 1000 / Double(max(1, deliveries)) } }
        var generatorCPU: Double { Double(generatorNanoseconds) / 1000 / Double(max(1, deliveries)) }
        /// The share of the time in which the relay worked: near 1, it is the relay that was measured.
        var relayBusy: Double? { relayNanoseconds.map { Double($0) / 1e9 / max(seconds, 1e-9) } }
        var isGood: Bool {
            lost == 0 && disordered == 0 && wrong == 0 && unacknowledged == 0 && problem == nil
                && deliveries > 0
        }
    }

    /// The runs of one way to publish.
    struct Series {
        let pace: BenchOptions.Pace
        let size: Int
        private(set) var frameBytes = 0
        private(set) var warmUp: Run?
        private(set) var runs: [Run] = []

        init(_ series: BenchOptions.Series) {
            pace = series.pace
            size = series.size
        }

        mutating func add(_ run: Run, frameBytes: Int, isWarmUp: Bool) {
            self.frameBytes = frameBytes
            if isWarmUp { warmUp = run } else { runs.append(run) }
        }

        /// With the run that is not reported.
        var all: [Run] { (warmUp.map { [$0] } ?? []) + runs }

        func median(_ value: (Run) -> Double?) -> Double? {
            let values = runs.compactMap(value).sorted()
            guard !values.isEmpty else { return nil }
            let middle = values.count / 2
            return values.count.isMultiple(of: 2) ? (values[middle - 1] + values[middle]) / 2 : values[middle]
        }
    }

    let options: BenchOptions
    var suite = ""
    var memory: (before: Resident?, attached: Resident?) = (nil, nil)
    var resident: Resident?
    var join: Join?
    var whileJoining: WhileJoining?
    var series: [Series] = []
    var received: UInt64 = 0
    var unopened: UInt64 = 0
    var compared: UInt64 = 0
    private var problems: [String] { series.flatMap(\.all).compactMap(\.problem) }

    init(_ options: BenchOptions) { self.options = options }

    var isGood: Bool { series.flatMap(\.all).allSatisfy(\.isGood) }

    /// Resident memory of the relay for each attached, idle subscriber. Units: bytes.
    var bytesPerSubscriber: Double? { perSubscriber(\.all) }
    private func perSubscriber(_ part: (Resident) -> Int) -> Double? {
        guard let before = memory.before, let attached = memory.attached else { return nil }
        return Double(part(attached) - part(before)) / Double(options.subscribers)
    }

    private var sampled: Int { options.sample.map { min($0, options.subscribers) } ?? options.subscribers }

    // MARK: - For programs

    var json: JSONValue {
        var fields: [(String, JSONValue)] = [
            ("program", "antenna-bench"), ("version", .string(Version.number)), ("ok", .bool(isGood)),
            ("subscribers", .integer(Int64(options.subscribers))), ("suite", .string(suite)),
        ]
        fields += [
            ("loops", options.relay == nil ? .integer(Int64(options.loops)) : .null),
            ("settings", .array(options.settings.map { .string("\($0.section).\($0.key)=\($0.value)") })),
            (
                "checked",
                [
                    "sampledLinks": .integer(Int64(sampled)), "deliveries": .integer(Int64(received)),
                    "compared": .integer(Int64(compared)), "unopened": .integer(Int64(unopened)),
                    "closingMessageOnEveryLink": true,
                ]
            ),
            ("lost", .integer(total(\.lost))),
            ("disordered", .integer(total { Int64($0.disordered) })),
            ("wrong", .integer(total { Int64($0.wrong) })),
            ("problems", .array(problems.map { .string($0) })),
        ]
        if let join {
            fields.append(
                (
                    "join",
                    [
                        "seconds": BenchReport.number(join.seconds),
                        "perSecond": BenchReport.number(
                            Double(options.subscribers) / max(join.seconds, 1e-9)),
                        "concurrent": .integer(Int64(options.concurrent)),
                        "p50Us": BenchReport.number(join.times.microseconds(0.5)),
                        "p99Us": BenchReport.number(join.times.microseconds(0.99)),
                        "relayCpuUs": BenchReport.number(join.relayMicroseconds),
                    ]
                ))
        }
        if let whileJoining {
            fields.append(("whileJoining", BenchReport.latency(whileJoining.latency, whileJoining.messages)))
        }
        fields.append(
            (
                "memory",
                [
                    "beforeBytes": BenchReport.integer(memory.before?.all),
                    "attachedBytes": BenchReport.integer(memory.attached?.all),
                    "endBytes": BenchReport.integer(resident?.all),
                    "bytesPerSubscriber": BenchReport.number(bytesPerSubscriber),
                    "anonymousBytesPerSubscriber": BenchReport.number(perSubscriber(\.anonymous)),
                ]
            ))
        fields.append(("series", .array(series.map { BenchReport.json($0) })))
        return .object(fields)
    }

    private func total(_ value: (Run) -> Int64) -> Int64 {
        series.flatMap(\.all).reduce(0) { $0 + value($1) }
    }

    private static func json(_ series: Series) -> JSONValue {
        let pace: (String, JSONValue) =
            switch series.pace {
            case .window(let window): ("window", .integer(Int64(window)))
            case .rate(let rate): ("rate", .number(rate))
            }
        return .object([
            pace, ("size", .integer(Int64(series.size))), ("frameBytes", .integer(Int64(series.frameBytes))),
            ("runs", .array(series.runs.map { json($0) })),
            (
                "median",
                [
                    "deliveriesPerSecond": number(series.median { $0.perSecond }),
                    "relayCpuUs": number(series.median { $0.relayCPU }),
                    "generatorCpuUs": number(series.median { $0.generatorCPU }),
                    "relayBusy": number(series.median { $0.relayBusy }),
                    "p50Us": number(series.median { $0.latency.microseconds(0.5) }),
                    "p99Us": number(series.median { $0.latency.microseconds(0.99) }),
                    "ackP50Us": number(series.median { $0.acks.microseconds(0.5) }),
                    "ackP99Us": number(series.median { $0.acks.microseconds(0.99) }),
                ]
            ),
        ])
    }

    private static func json(_ run: Run) -> JSONValue {
        [
            "messages": .integer(Int64(run.messages)), "deliveries": .integer(Int64(run.deliveries)),
            "lost": .integer(run.lost), "disordered": .integer(Int64(run.disordered)),
            "wrong": .integer(Int64(run.wrong)), "unacknowledged": .integer(Int64(run.unacknowledged)),
            "problem": .optional(run.problem), "seconds": number(run.seconds),
            "deliveriesPerSecond": number(run.perSecond), "relayCpuUs": number(run.relayCPU),
            "generatorCpuUs": number(run.generatorCPU), "relayBusy": number(run.relayBusy),
            "latency": latency(run.latency, run.messages), "ack": latency(run.acks, run.messages),
            "signedLate": .integer(Int64(run.signedLate)),
        ]
    }

    private static func latency(_ times: Histogram, _ messages: Int) -> JSONValue {
        [
            "messages": .integer(Int64(messages)), "p50Us": number(times.microseconds(0.5)),
            "p99Us": number(times.microseconds(0.99)), "p999Us": number(times.microseconds(0.999)),
            "maxUs": number(times.maxMicroseconds),
        ]
    }

    private static func integer(_ value: Int?) -> JSONValue { .optional(value.map { Int64($0) }) }
    private static func number(_ value: Double?) -> JSONValue {
        value.map { .number(($0 * 1000).rounded() / 1000) } ?? .null
    }

    // MARK: - For people

    var lines: [String] {
        var lines = ["\(options.subscribers) subscribers, \(suite)"]
        if let join {
            let rate = Double(options.subscribers) / max(join.seconds, 1e-9)
            lines.append(
                "joins: \(BenchReport.short(rate))/s, \(options.concurrent) at once, each "
                    + "p50 \(BenchReport.time(join.times.microseconds(0.5))) "
                    + "p99 \(BenchReport.time(join.times.microseconds(0.99)))"
                    + (join.relayMicroseconds.map { ", relay CPU \(BenchReport.time($0))" } ?? ""))
        }
        if let whileJoining {
            lines.append(
                "while joining: \(whileJoining.messages) messages, to deliver "
                    + BenchReport.times(whileJoining.latency))
        }
        if let bytes = bytesPerSubscriber, let attached = memory.attached {
            lines.append(
                "memory: \(BenchReport.short(bytes)) bytes resident for each idle subscriber, "
                    + "\(attached.all >> 10) KiB in all")
        }
        for series in series { lines += BenchReport.lines(series) }
        lines.append(
            "checked: \(received) deliveries, \(compared) compared byte for byte on \(sampled) links, "
                + "\(unopened) counted by the length of their record; after each run the sequence on every link"
        )
        lines.append(
            isGood
                ? "everything arrived once and in order"
                : "NOT GOOD: \(total(\.lost)) lost, \(total { Int64($0.disordered) }) out of order, "
                    + "\(total { Int64($0.wrong) }) wrong, \(total { Int64($0.unacknowledged) }) not acknowledged "
                    + problems.joined(separator: "; "))
        return lines
    }

    private static func lines(_ series: Series) -> [String] {
        let pace =
            switch series.pace {
            case .window(let window): "window \(window)"
            case .rate(let rate): "\(short(rate)) messages/s"
            }
        return ["\(pace), messages of \(series.size) bytes (\(series.frameBytes) as a frame)"]
            + Output.table(
                [
                    "run", "messages", "deliveries/s", "relay µs", "generator µs", "busy", "p50", "p99",
                    "max", "ack p50",
                    "ack p99",
                ],
                series.runs.enumerated().map { row(String($0.offset + 1), $0.element) })
    }

    private static func row(_ name: String, _ run: Run) -> [String] {
        [
            name, String(run.messages), short(run.perSecond), run.relayCPU.map { short($0, 3) } ?? "?",
            short(run.generatorCPU, 3), run.relayBusy.map { "\(Int(($0 * 100).rounded())) %" } ?? "?",
            time(run.latency.microseconds(0.5)), time(run.latency.microseconds(0.99)),
            time(run.latency.maxMicroseconds), time(run.acks.microseconds(0.5)),
            time(run.acks.microseconds(0.99)),
        ]
    }

    private static func times(_ times: Histogram) -> String {
        "p50 \(time(times.microseconds(0.5))) p99 \(time(times.microseconds(0.99))) max \(time(times.maxMicroseconds))"
    }

    /// A duration given in microseconds.
    private static func time(_ microseconds: Double) -> String {
        microseconds < 10_000 ? "\(Int(microseconds.rounded())) µs" : "\(short(microseconds / 1000)) ms"
    }

    private static func short(_ value: Double, _ digits: Int = 0) -> String {
        let digits = digits > 0 ? digits : (abs(value) < 10 ? 2 : abs(value) < 100 ? 1 : 0)
        guard digits > 0 else { return String(Int(value.rounded())) }
        var scale = 1.0
        for _ in 0..<digits { scale *= 10 }
        let whole = Int((abs(value) * scale).rounded())
        let rest = String(whole % Int(scale))
        return (value < 0 ? "-" : "") + "\(whole / Int(scale))."
            + String(repeating: "0", count: digits - rest.count) + rest
    }
}
