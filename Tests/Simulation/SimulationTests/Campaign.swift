import Foundation
import PosixKit
import TestKit

/// Many runs, spread over the processors: each in a process of its own, as what is simulated (clock, randomness,
/// disk) is the process's.
///
/// ```
///   test ── starts ──▶ this program again, with `ANTENNA_SIMULATION` saying what to do ── lines ──▶ test
/// ```
struct Campaign {
    /// What one process is told to do.
    ///
    /// Shape: `<first> <step> <count> <seconds> <what>`; `what` is a sabotage, `scenarios`, `twice` or `-`.
    struct Order {
        var first: UInt64
        var step: UInt64
        var count: UInt64
        /// Not longer than this.
        var seconds: Double
        var work: Work

        var text: String { "\(first) \(step) \(count) \(seconds) \(work.text)" }

        init(first: UInt64, step: UInt64, count: UInt64, seconds: Double, work: Work = .seeds) {
            self.first = first
            self.step = step
            self.count = count
            self.seconds = seconds
            self.work = work
        }

        init?(text: String) {
            let words = text.split(separator: " ").map(String.init)
            guard words.count == 5, let first = UInt64(words[0]), let step = UInt64(words[1]),
                let count = UInt64(words[2]), let seconds = Double(words[3])
            else { return nil }
            self.init(
                first: first, step: step, count: count, seconds: seconds, work: Work(text: words[4]))
        }
    }

    enum Work: Equatable {
        case seeds
        /// Until one is found.
        case sabotaged(Sabotage)
        /// Those written by hand, by their number.
        case scenarios
        /// Each seed two times: both must be the same in every step.
        case twice

        var text: String {
            switch self {
            case .seeds: "-"
            case .sabotaged(let sabotage): sabotage.rawValue
            case .scenarios: "scenarios"
            case .twice: "twice"
            }
        }

        init(text: String) {
            self =
                switch text {
                case "scenarios": .scenarios
                case "twice": .twice
                default: Sabotage(rawValue: text).map(Work.sabotaged) ?? .seeds
                }
        }
    }

    /// What the processes said.
    struct Report {
        var runs = 0
        /// Seeds that failed, with what was wrong.
        var failures: [(seed: UInt64, text: String)] = []
        var seconds = 0.0
        /// What all processes took of the processors.
        var processorSeconds = 0.0
    }

    // MARK: The test's side

    static func run(_ orders: [Order]) async throws -> Report {
        try await waiting { try runAndWait(orders) }
    }

    private static func runAndWait(_ orders: [Order]) throws -> Report {
        let began = Date()
        let workers = try orders.map { try start($0) }
        var report = Report()
        for (process, file) in workers {
            process.waitUntilExit()
            let text = (try? String(contentsOf: file, encoding: .utf8)) ?? ""
            try? FileManager.default.removeItem(at: file)
            read(text, process.terminationReason == .exit ? process.terminationStatus : -1, into: &report)
        }
        report.seconds = Date().timeIntervalSince(began)
        report.failures.sort { $0.seed < $1.seed }
        return report
    }

    private static func read(_ text: String, _ status: Int32, into report: inout Report) {
        var begun: UInt64?
        for line in text.split(separator: "\n") {
            let words = line.split(separator: " ", maxSplits: 2).map(String.init)
            guard words.count >= 2, let seed = UInt64(words[1]) else { continue }
            switch words[0] {
            case "took": report.processorSeconds += Double(seed) / 1000
            case "begin": begun = seed
            case "good":
                begun = nil
                report.runs += 1
            case "bad":
                begun = nil
                report.runs += 1
                report.failures.append(
                    (seed, words.count > 2 ? words[2].replacingOccurrences(of: "\\n", with: "\n") : ""))
            default: break
            }
        }
        // The worker writes before each run, so a crash of the whole process names its seed.
        if let begun { report.failures.append((begun, "the process died in this run (status \(status))")) }
    }

    private static func start(_ order: Order) throws -> (Process, URL) {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent(
            "antenna-simulation-\(UUID().uuidString)")
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        process.arguments = ["--testing-library", "swift-testing", "--filter", "SimulationWorker"]
        var environment = ProcessInfo.processInfo.environment
        environment["ANTENNA_SIMULATION"] = order.text
        environment["ANTENNA_SIMULATION_REPORT"] = file.path
        // The order of a set is the same in each run.
        environment["SWIFT_DETERMINISTIC_HASHING"] = "1"
        process.environment = environment
        if environment["TRACE"] == nil {
            process.standardOutput = FileHandle.nullDevice
            process.standardError = FileHandle.nullDevice
        }
        try process.run()
        return (process, file)
    }

    // MARK: The worker's side

    /// Does what the environment orders; nothing where it orders nothing.
    static func workAsOrdered() {
        let environment = ProcessInfo.processInfo.environment
        guard let order = environment["ANTENNA_SIMULATION"].flatMap(Order.init(text:)),
            let path = environment["ANTENNA_SIMULATION_REPORT"],
            FileManager.default.createFile(atPath: path, contents: nil),
            let file = FileHandle(forWritingAtPath: path)
        else { return }
        World.isVerbose = environment["TRACE"] != nil
        let began = Date()
        let parent = getppid()
        var isShrunk = false
        for index in 0..<order.count {
            // Whoever ordered it may be gone.
            guard getppid() == parent, Date().timeIntervalSince(began) < order.seconds else { break }
            let seed = order.first + index * order.step
            file.write(Data("begin \(seed)\n".utf8))
            var problems = run(seed, order.work)
            guard !problems.isEmpty else {
                file.write(Data("good \(seed)\n".utf8))
                continue
            }
            if !isShrunk, order.work == .seeds, !World.isVerbose {
                isShrunk = true
                problems.append(shortened(Plan(seed: seed)))
            }
            let line = problems.joined(separator: "\n").replacingOccurrences(of: "\n", with: "\\n")
            file.write(Data("bad \(seed) \(line)\n".utf8))
            if case .sabotaged = order.work { break }
        }
        file.write(Data("took \(Clock.processNanoseconds() / 1_000_000)\n".utf8))
        Run.removeFolder()
    }

    /// Returns: what was wrong.
    private static func run(_ seed: UInt64, _ work: Work) -> [String] {
        switch work {
        case .seeds: return Array(Run.run(Plan(seed: seed)).problems.prefix(4))
        case .sabotaged(let sabotage):
            guard sabotage.mayShow(in: Plan(seed: seed)) else { return [] }
            return Array(Run.run(Plan(seed: seed), sabotage: sabotage).problems.prefix(1))
        case .scenarios:
            let scenario = Scenarios.all[Int(seed)]
            return Run.run(scenario.plan).problems.prefix(4).map { "\(scenario.name): \($0)" }
        case .twice:
            let runs = [Run.run(Plan(seed: seed)), Run.run(Plan(seed: seed))]
            return runs[0].fingerprint == runs[1].fingerprint && runs[0].trace == runs[1].trace
                ? [] : ["two runs of one seed differ"]
        }
    }

    /// The shortest list of steps that still fails, for people to read.
    private static func shortened(_ plan: Plan) -> String {
        let steps = Shrinker.shrink(plan.steps, attemptsMax: 120) { steps in
            var shorter = plan
            shorter.steps = steps
            return !Run.run(shorter).problems.isEmpty
        }
        var shorter = plan
        shorter.steps = steps
        let outcome = Run.run(shorter)
        return
            (["still fails with \(steps.count) of \(plan.steps.count) steps: \(outcome.problems.first ?? "")"]
            + steps.map { "  \($0)" }).joined(separator: "\n")
    }
}
