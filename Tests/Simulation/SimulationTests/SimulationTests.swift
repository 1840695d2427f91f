import Foundation
import TestKit
import Testing

@Suite("The simulation", .serialized)
struct SimulationTests {
    fileprivate static let environment = ProcessInfo.processInfo.environment
    /// A worker of this suite runs none of its other tests.
    fileprivate static let isWorker = environment["ANTENNA_SIMULATION"] != nil

    fileprivate static func number(_ name: String) -> UInt64? { environment[name].flatMap { UInt64($0) } }

    /// So many runs from the first seed on, on all processors.
    fileprivate static func orders(
        first: UInt64, count: UInt64, seconds: Double, _ work: Campaign.Work = .seeds
    ) -> [Campaign.Order] {
        let processes = max(1, min(UInt64(ProcessInfo.processInfo.activeProcessorCount), count))
        return (0..<processes).map { index in
            Campaign.Order(
                first: first + index, step: processes, count: (count - index + processes - 1) / processes,
                seconds: seconds, work: work)
        }
    }

    private static func expectNone(_ report: Campaign.Report) {
        for failure in report.failures { Issue.record("SEED=\(failure.seed)\n\(failure.text)") }
    }

    @Test(
        "every promise is kept, whatever happens", .enabled(if: !isWorker && environment["SABOTAGE"] == nil))
    func seeds() async throws {
        let report: Campaign.Report
        if let seed = Self.number("SEED") {
            report = try await Campaign.run([Campaign.Order(first: seed, step: 1, count: 1, seconds: 600)])
        } else if let minutes = Self.number("SOAK_MINUTES") {
            let first = Self.number("FIRST_SEED") ?? UInt64(Date().timeIntervalSince1970) * 1000
            report = try await Campaign.run(
                Self.orders(first: first, count: 1 << 40, seconds: Double(minutes) * 60))
            print("\(report.runs) runs from seed \(first) on")
        } else {
            report = try await Campaign.run(
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

    /// Without a wish for certain seeds.
    fileprivate static let isOrdinary =
        !isWorker && ["SEED", "SOAK_MINUTES", "SABOTAGE"].allSatisfy { environment[$0] == nil }

    @Test("what went wrong once goes right", .enabled(if: isOrdinary))
    func scenarios() async throws {
        let count = UInt64(Scenarios.all.count)
        let report = try await Campaign.run(Self.orders(first: 0, count: count, seconds: 600, .scenarios))
        for failure in report.failures { Issue.record("\(failure.text)") }
        #expect(report.runs == Scenarios.all.count)
    }

    @Test("a seed is the same life each time", .enabled(if: isOrdinary))
    func repeatable() async throws {
        let report = try await Campaign.run(Self.orders(first: 1, count: 12, seconds: 600, .twice))
        Self.expectNone(report)
        #expect(report.runs == 12)
    }

    @Test(
        "every deliberate fault is found by its seed, and that seed is good without it",
        .enabled(if: isOrdinary))
    func sabotages() async throws {
        for sabotage in Sabotage.allCases {
            #expect((1...1000).contains(sabotage.seed), "\(sabotage)")
            let orders = [Campaign.Work.sabotaged(sabotage), .seeds].map {
                Campaign.Order(first: sabotage.seed, step: 1, count: 1, seconds: 600, work: $0)
            }
            let found = try await Campaign.run([orders[0]])
            #expect(!found.failures.isEmpty, "\(sabotage) is not found by \(sabotage.seed): SABOTAGE=search")
            Self.expectNone(try await Campaign.run([orders[1]]))
        }
    }
}

extension SimulationTests {
    /// Searches, with `SABOTAGE=search` or the name of one, and prints what belongs into `Sabotage.seeds`.
    @Test(
        "deliberate faults are found within a thousand seeds",
        .enabled(if: !isWorker && environment["SABOTAGE"] != nil), arguments: Sabotage.allCases)
    func search(sabotage: Sabotage) async throws {
        let wanted = Self.environment["SABOTAGE"] ?? ""
        guard wanted == "search" || wanted == sabotage.rawValue else { return }
        let report = try await Campaign.run(
            Self.orders(
                first: Self.number("FIRST_SEED") ?? 1, count: 1000, seconds: 1200, .sabotaged(sabotage)))
        let found = report.failures.first
        print(".\(sabotage.rawValue): \(found?.seed ?? 0),  // \(found?.text.prefix(100) ?? "not found")")
        #expect(found != nil)
    }
}

/// What the processes of a campaign run; without an order it does nothing.
@Suite("SimulationWorker")
struct SimulationWorker {
    @Test("does as it is told")
    func work() { Campaign.workAsOrdered() }
}
