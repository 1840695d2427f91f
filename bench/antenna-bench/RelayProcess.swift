internal import CBench
internal import Operations
internal import PosixKit

/// An `antennad` of our own with its state in a temporary directory; both are gone when this is.
final class RelayProcess {
    let pid: Int32
    let directory: String
    private(set) var place: RelayPlace
    private let keeps: Bool

    /// The settings that make room for so many subscribers from few addresses; everything else is the default.
    static func settings(subscribers: Int, loops: Int, more: [(section: String, key: String, value: String)])
        -> [(section: String, key: String, value: String)]
    {
        let links = String(max(1000, subscribers + 100))
        return [
            ("limits", "connections", links), ("limits", "connections_per_address", links),
            ("limits", "subscribers_per_channel", String(max(1000, subscribers * 2 + 100))),
            ("relay", "loops", String(loops)), ("relay", "drain_seconds", "0"), ("log", "level", "warning"),
        ].filter { own in !more.contains { $0.section == own.0 && $0.key == own.1 } } + more
    }

    /// Starts `antennad` and waits until it listens.
    init(
        path: String, settings: [(section: String, key: String, value: String)], core: Int?, keeps: Bool
    ) throws(OperatorError) {
        self.keeps = keeps
        do throws(PosixError) {
            directory = try Posix.makeTemporaryDirectory(prefix: "antenna-bench-")
            var text = ""
            for section in Set(settings.map(\.section)).sorted() {
                text += "[\(section)]\n"
                for setting in settings where setting.section == section {
                    text += "\(setting.key) = \(setting.value)\n"
                }
            }
            try Posix.writeFileAtomically(directory + "/antennad.conf", Array(text.utf8))
        } catch {
            throw OperatorError(.inputOutput, error.description)
        }
        let words = [
            path, "--config", directory + "/antennad.conf", "--state", directory + "/state", "--listen",
            "127.0.0.1:0", "--print-address",
        ]
        // Nothing of who measures but where programs and libraries are.
        let environment = ["PATH", "LD_LIBRARY_PATH"].compactMap { name in
            Posix.environment(name).map { "\(name)=\($0)" }
        }
        let output = directory + "/address"
        pid = RelayProcess.spawn(
            path, words, environment + ["HOME=\(directory)"], output, directory + "/log", core)
        guard pid > 0 else { throw OperatorError(errno: -pid, "fork") }
        let deadline = Clock.monotonicNanoseconds() + 60_000_000_000
        while true {
            let text = String(decoding: (try? Posix.readFile(output)) ?? [], as: UTF8.self)
            if text.hasSuffix("\n"), let line = text.split(separator: "\n").first {
                place = try RelayPlace(link: String(line))
                return
            }
            let status = bench_wait(pid, 10)
            guard status == -PosixErrno.timedOut, Clock.monotonicNanoseconds() < deadline else {
                let log = String(decoding: (try? Posix.readFile(directory + "/log")) ?? [], as: UTF8.self)
                throw OperatorError(
                    .unreachable,
                    "\(path) did not start: \(log.split(separator: "\n").last ?? "it said nothing")",
                    hint: "give the path of a built antennad")
            }
        }
    }

    private static func spawn(
        _ path: String, _ words: [String], _ environment: [String], _ output: String, _ error: String,
        _ core: Int?
    ) -> Int32 {
        unsafe withCStrings(words) { words in
            unsafe withCStrings(environment) { environment in
                unsafe bench_spawn(path, words, environment, output, error, Int32(core ?? -1))
            }
        }
    }

    /// Stops the relay. Returns: what it wrote into its log.
    @discardableResult
    func stop() -> String {
        Posix.kill(pid, Signal.terminate)
        if bench_wait(pid, 20_000) == -PosixErrno.timedOut {
            Posix.kill(pid, 9)
            _ = bench_wait(pid, 20_000)
        }
        let log = String(decoding: (try? Posix.readFile(directory + "/log")) ?? [], as: UTF8.self)
        if !keeps { Posix.removeTree(directory) }
        return log
    }
}

/// Words as C takes them, with the null at the end.
private func withCStrings<T>(
    _ words: [String], _ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>) -> T
) -> T {
    var bytes: [CChar] = []
    var starts: [Int] = []
    for word in words {
        starts.append(bytes.count)
        bytes += word.utf8CString
    }
    return unsafe bytes.withUnsafeMutableBufferPointer { bytes in
        let base = bytes.baseAddress
        var pointers: [UnsafeMutablePointer<CChar>?] = unsafe []
        for start in starts { unsafe pointers.append(base.map { unsafe $0 + start }) }
        unsafe pointers.append(nil)
        return unsafe body(pointers)
    }
}
