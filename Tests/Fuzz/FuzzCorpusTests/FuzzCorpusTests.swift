import FuzzTargets
import PosixKit
import TestKit
import Testing

/// What fuzzing has found or is to begin with, run as a regression: a target that stops ends the process.
@Suite("The fuzzing corpus", .serialized)
struct FuzzCorpusTests {
    private static let corpus: String = {
        // This file lies three folders below the root of the package.
        let parts = #filePath.split(separator: "/").dropLast(4)
        return "/" + parts.joined(separator: "/") + "/fuzz/corpus"
    }()

    @Test("every target takes its corpus, and inputs that hold nothing", arguments: FuzzTarget.allCases)
    func replay(target: FuzzTarget) async throws {
        let folder = Self.corpus + "/" + target.rawValue
        let names = try Posix.list(folder).sorted()
        #expect(!names.isEmpty)
        try await waiting {
            let bench = FuzzBench()
            for name in names {
                bench.run(target, try Posix.readFile(folder + "/" + name, limit: 1 << 20))
            }
            for input in [
                [], [0], [0xFF], [UInt8](repeating: 0, count: 100), [UInt8](repeating: 0xFF, count: 70_000),
            ] {
                bench.run(target, input)
            }
        }
    }

    @Test("there is no corpus without a target, and it stays small")
    func size() throws {
        let folders = try Posix.list(Self.corpus)
        #expect(Set(folders) == Set(FuzzTarget.allCases.map(\.rawValue)))
        var bytes: Int64 = 0
        for folder in folders {
            for name in try Posix.list(Self.corpus + "/" + folder) {
                bytes += Posix.status(Self.corpus + "/" + folder + "/" + name)?.size ?? 0
            }
        }
        #expect(bytes < 1 << 20)
    }
}
