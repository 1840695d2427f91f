internal import PosixKit
internal import Synchronization

/// What the relay tells the service manager that started it; nothing where there is none.
///
/// Source: sd_notify(3), sd_watchdog_enabled(3). Thread: any.
final class Supervisor: Sendable {
    private let socket: String?
    /// How long the manager waits for a sign of life; nil: it does not.
    let watchdogMilliseconds: Int64?

    /// Nobody to tell.
    init() {
        socket = nil
        watchdogMilliseconds = nil
    }

    /// As the environment says.
    init(environment: (String) -> String?, processID: Int32) {
        socket = environment("NOTIFY_SOCKET").flatMap { $0.isEmpty ? nil : $0 }
        let isOurs = environment("WATCHDOG_PID").map { $0 == String(processID) } ?? true
        let microseconds = environment("WATCHDOG_USEC").flatMap { Int64($0) } ?? 0
        watchdogMilliseconds = socket != nil && isOurs && microseconds > 0 ? max(4, microseconds / 1000) : nil
    }

    func ready(_ status: String) { send(["READY=1", "STATUS=\(status)"]) }

    func reloading() {
        send(["RELOADING=1", "MONOTONIC_USEC=\(Clock.monotonicNanoseconds() / 1000)"])
    }

    /// `seconds`: how long it may take.
    func stopping(_ status: String, seconds: Int64) {
        send(["STOPPING=1", "EXTEND_TIMEOUT_USEC=\(seconds * 1_000_000)", "STATUS=\(status)"])
    }

    func alive(_ status: String) { send(["WATCHDOG=1", "STATUS=\(status)"]) }

    private func send(_ lines: [String]) {
        guard let socket else { return }
        // One that does not listen is no reason to stop serving; a missed sign of life it notices itself.
        try? Posix.sendDatagram(Array(lines.joined(separator: "\n").utf8), toUnix: socket)
    }
}

/// When a thread was last seen to go round.
final class Pulse: Sendable {
    private let at = Atomic<UInt64>(Clock.monotonicNanoseconds())

    func beat() { at.store(Clock.monotonicNanoseconds(), ordering: .relaxed) }

    var ageMilliseconds: Int64 {
        let now = Clock.monotonicNanoseconds()
        let then = at.load(ordering: .relaxed)
        return now > then ? Int64((now - then) / 1_000_000) : 0
    }
}
