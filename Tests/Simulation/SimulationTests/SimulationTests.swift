import Foundation
import Testing

@Suite("The simulation", .serialized)
struct SimulationTests {
    private static let environment = ProcessInfo.processInfo.environment
    /// A worker of this suite runs none of its other tests.
    private static let isWorker = environment["ANTENNA_SIMULATION"] != nil

    private static func number(_ name: String) -> UInt64? { environment[name].flatMap { UInt64($0) } }

    /// So many runs from the first seed on, on all processors.
    private static func orders(first: UInt64, count: UInt64, seconds: Double) -> [Campaign.Order] {
        let processes = max(1, min(UInt64(ProcessInfo.processInfo.activeProcessorCount), count))
        return (0..<processes).map { index in
            Campaign.Order(
                first: first + index, step: processes, count: (count - index + processes - 1) / processes,
                seconds: seconds)
        }
    }

    private static func expectNone(_ report: Campaign.Report) {
        for failure in report.failures { Issue.record("SEED=\(failure.seed)\n\(failure.text)") }
    }

    @Test("every promise is kept, whatever happens", .enabled(if: !isWorker))
    func seeds() throws {
        let report: Campaign.Report
        if let seed = Self.number("SEED") {
            report = try Campaign.run([Campaign.Order(first: seed, step: 1, count: 1, seconds: 600)])
        } else if let minutes = Self.number("SOAK_MINUTES") {
            let first = Self.number("FIRST_SEED") ?? UInt64(Date().timeIntervalSince1970) * 1000
            report = try Campaign.run(
                Self.orders(first: first, count: 1 << 40, seconds: Double(minutes) * 60))
            print("\(report.runs) runs from seed \(first) on")
        } else {
            report = try Campaign.run(
                Self.orders(
                    first: Self.number("FIRST_SEED") ?? 1, count: Self.number("SEEDS") ?? 2_000,
                    // Without being asked for so many, a busy machine does what it can in its share of the time.
                    seconds: Self.number("SEEDS") == nil ? 170 : 36_000))
        }
        print(
            "simulation: \(report.runs) runs in \(Int(report.seconds)) s "
                + "(\(Int(report.processorSeconds)) s of processors), \(report.failures.count) failed")
        Self.expectNone(report)
        #expect(report.runs > 0)
    }
}

/// What the processes of a campaign run; without an order it does nothing.
@Suite("SimulationWorker")
struct SimulationWorker {
    @Test("does as it is told")
    func work() { Campaign.workAsOrdered() }
}
