import Foundation
import Testing

@Suite("The rings hold") struct ArchitectureTests {
    static let core: Set = ["ChannelWire", "NoiseProtocol", "RelayCore", "ClientCore", "ControlWire"]
    /// Which door each C library has. Nothing else may import it.
    static let doors = [
        "CLibevent": "LibeventLoop", "CSodium": "SodiumCrypto", "CSQLite": "SQLiteKit", "CZstd": "ZstdKit",
        "CQREncode": "QRKit", "CInih": "IniKit", "CPosix": "PosixKit",
    ]

    private func imports(_ file: Tree.File) -> [(line: String, module: String)] {
        file.code.compactMap { _, text in
            let words = text.split(separator: " ").map(String.init)
            guard let at = words.firstIndex(of: "import"), at <= 1, at + 1 < words.count else { return nil }
            return (text, words[at + 1])
        }
    }

    private func findings(_ files: [Tree.File], _ words: [String]) -> [String] {
        files.flatMap { file in
            file.code.flatMap { number, text in
                // A generator that is handed in is what Core is meant to use.
                words.filter { text.contains($0) && !($0 == ".random(" && text.contains("using:")) }
                    .map { "\(file):\(number): \($0)" }
            }
        }
    }

    @Test("the tree is found at all")
    func found() {
        #expect(Tree.sources.count > 50)
        #expect(Tree.markdown.count > 20)
    }

    @Test("Core imports Core, and FoundationEssentials where JSON is read or written")
    func coreImports() {
        for file in Tree.sources where file.path.hasPrefix("Sources/Core/") {
            let json = ["Core/ChannelWire", "Core/ControlWire"].contains(file.room)
            for (_, module) in imports(file) where !Self.core.contains(module) {
                #expect(json && module == "FoundationEssentials", "\(file) imports \(module)")
            }
        }
    }

    @Test("Core has no clock, randomness, threads, files or environment")
    func corePurity() {
        let words = [
            "Date(", "ContinuousClock", "SuspendingClock", "Task {", "Task.sleep", "Thread", "Dispatch",
            "Mutex<",
            "FileManager", "FileHandle", "ProcessInfo", "getenv", "print(", "debugPrint(", "readLine(",
            "SystemRandomNumberGenerator", ".random(", ".randomElement", ".shuffled()", ".shuffle()",
            "async ",
            "await ", "URLSession", "CommandLine.",
        ]
        #expect(findings(Tree.sources.filter { $0.path.hasPrefix("Sources/Core/") }, words) == [])
    }

    @Test("a C library is imported by its door alone, and never as part of an interface")
    func cLibraries() {
        for file in Tree.sources {
            for (line, module) in imports(file) {
                guard let door = Self.doors[module] else { continue }
                #expect(file.room == "Doors/\(door)", "\(file) imports \(module)")
                #expect(
                    line.hasPrefix("internal import") || line.hasPrefix("private import"), "\(file): \(line)")
            }
        }
    }

    @Test("system calls are made through PosixKit, and nothing needs the whole of Foundation")
    func system() {
        for file in Tree.sources {
            for (_, module) in imports(file) {
                #expect(module != "Glibc" || file.path.hasPrefix("Sources/Doors/"), "\(file) imports Glibc")
                #expect(!["Foundation", "Dispatch", "Darwin"].contains(module), "\(file) imports \(module)")
            }
        }
    }

    @Test("doors have never heard of a channel")
    func doorsAreIgnorant() {
        let rooms = Set(
            Tree.sources.filter { !$0.path.hasPrefix("Sources/Doors/") }.map {
                String($0.room.split(separator: "/").last ?? "")
            })
        for file in Tree.sources where file.path.hasPrefix("Sources/Doors/") {
            for (_, module) in imports(file) { #expect(!rooms.contains(module), "\(file) imports \(module)") }
        }
    }

    @Test("only the library's room is public")
    func publicSurface() {
        let files = Tree.sources.filter { $0.room != "Shell/ChannelClient" }
        let found = files.flatMap { file in
            file.code.filter { _, text in
                text.split(separator: " ").contains("public") || text.contains("open class ")
            }.map { "\(file):\($0.number)" }
        }
        #expect(found == [])
    }

    @Test("nothing can crash on purpose where a peer could reach it")
    func crashes() {
        #expect(findings(Tree.sources, ["try!", "as!", "fatalError("]) == [])
    }

    @Test("what the compiler cannot check about threads is in the doors, or says why it is safe right above")
    func uncheckedSharing() {
        for file in Tree.sources where !file.path.hasPrefix("Sources/Doors/") {
            for (number, text) in file.code
            where text.contains("@unchecked Sendable") || text.contains("nonisolated(unsafe)") {
                let above = file.lines[max(0, number - 6)..<(number - 1)]
                #expect(above.contains { $0.contains("// SAFETY:") }, "\(file):\(number)")
            }
        }
    }
}
