import PosixKit
import TestKit

/// One run of one plan, from nothing to the last look.
enum Run {
    struct Outcome {
        var problems: [String]
        var fingerprint: UInt64
        var turns: Int
        var trace: [String]
        var simulatedMilliseconds: Int64
    }

    static func run(_ plan: Plan, sabotage: Sabotage? = nil) -> Outcome {
        let folder = Self.folder
        do { try Template.prepare(folder) } catch {
            return Outcome(
                problems: ["no empty databases: \(error)"], fingerprint: 0, turns: 0, trace: [],
                simulatedMilliseconds: 0)
        }
        Machine.start(seed: plan.seed)
        defer {
            Machine.stop()
            for name in (try? Posix.list(folder)) ?? [] { Posix.removeTree(folder + "/" + name) }
        }
        let world = World(plan: plan, sabotage: sabotage, folder: folder)
        do {
            try world.setUp()
            world.runAll()
        } catch {
            world.problem("the run does not begin: \(error)")
        }
        world.tearDown()
        return Outcome(
            problems: world.problems, fingerprint: world.fingerprint, turns: world.turnCount,
            trace: world.trace, simulatedMilliseconds: world.time.now)
    }

    /// In memory where there is such a place: what reaches the disk is the simulation's own business.
    private static let folder: String = {
        let base = Posix.exists("/dev/shm") ? "/dev/shm" : "/tmp"
        let path = "\(base)/antenna-simulation-\(Posix.processID)"
        try? Posix.createDirectory(path)
        return path
    }()

    static func removeFolder() { Posix.removeTree(folder) }
}
