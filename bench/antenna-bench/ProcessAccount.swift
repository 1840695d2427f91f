internal import PosixKit

/// What the operating system says about a process.
struct ProcessAccount {
    let pid: Int32

    /// CPU time of all threads. Units: nanoseconds.
    var cpuNanoseconds: UInt64 {
        let tasks = (try? Posix.list("/proc/\(pid)/task")) ?? []
        return tasks.reduce(0) { sum, task in
            let line = ProcessAccount.text("/proc/\(pid)/task/\(task)/schedstat")
            return sum + (line.split(separator: " ").first.flatMap { UInt64($0) } ?? 0)
        }
    }

    /// Resident memory; `anonymous`: the part that is no file's. Units: bytes.
    var resident: (all: Int, anonymous: Int) {
        var all = 0
        var anonymous = 0
        for line in ProcessAccount.text("/proc/\(pid)/status").split(separator: "\n") {
            let words = line.split(whereSeparator: { $0 == " " || $0 == "\t" })
            guard words.count >= 2, let kibibytes = Int(words[1]) else { continue }
            if words[0] == "VmRSS:" { all = kibibytes << 10 }
            if words[0] == "RssAnon:" { anonymous = kibibytes << 10 }
        }
        return (all, anonymous)
    }

    var isAlive: Bool { Posix.exists("/proc/\(pid)") }

    private static func text(_ path: String) -> String {
        String(decoding: (try? Posix.readFile(path, limit: 1 << 16)) ?? [], as: UTF8.self)
    }
}
