internal import CBench
internal import Operations
internal import PosixKit

extension OperatorError {
    /// What a system call refused.
    init(errno: Int32, _ call: String) {
        self.init(.inputOutput, PosixError(errno: errno, call: call).description)
    }

    /// Something that a relay may not do.
    static func unexpected(_ what: String) -> OperatorError {
        OperatorError(.refusedByPeer, what)
    }
}

/// Which of many sockets can be read. Level-triggered; a socket that is closed leaves by itself.
final class Poller {
    private let raw: Int32
    /// Few at a time, so that what is done between two looks takes little time.
    private static let atOnce: Int32 = 64
    private var tags = [UInt32](repeating: 0, count: Int(atOnce))
    private(set) var ready = 0

    init() throws(OperatorError) {
        raw = bench_poller()
        guard raw >= 0 else { throw OperatorError(errno: -raw, "epoll_create1") }
    }

    deinit { Posix.closeRaw(raw) }

    func add(_ descriptor: Int32, tag: Int) throws(OperatorError) {
        let result = bench_poller_add(raw, descriptor, UInt32(tag))
        guard result == 0 else { throw OperatorError(errno: -result, "epoll_ctl") }
    }

    /// Looks for readable sockets. With 0 milliseconds it never sleeps, so that nobody pays for waking it.
    @inline(__always)
    func wait(milliseconds: Int32) {
        ready = unsafe max(0, Int(bench_poller_wait(raw, &tags, Poller.atOnce, milliseconds)))
    }

    @inline(__always)
    func tag(_ index: Int) -> Int { Int(tags[index]) }
}
