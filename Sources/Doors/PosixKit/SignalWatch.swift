import Glibc

// SAFETY: written once, before the first handler is installed; afterwards only read.
private nonisolated(unsafe) var signalPipeWriteEnd: Int32 = -1

/// Signals for programs without an event loop: they arrive on a thread of their own, as a number.
package enum SignalWatch {
    /// Calls `handler` for the first of these signals; a second one of the same kind has its default effect
    /// again.
    ///
    /// Once for each process.
    package static func start(
        _ signals: [Int32], _ handler: @Sendable @escaping (Int32) -> Void
    ) throws(PosixError) {
        precondition(unsafe signalPipeWriteEnd < 0, "signals are watched once for each process")
        var ends: [Int32] = [-1, -1]
        guard unsafe pipe(&ends) == 0 else { throw PosixError.last("pipe") }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        let readEnd = ends[0]
        unsafe signalPipeWriteEnd = ends[1]
        for number in signals {
            var action = sigaction()
            unsafe action.__sigaction_handler.sa_handler = { number in
                let saved = errno
                var byte = UInt8(truncatingIfNeeded: number)
                _ = unsafe Glibc.write(signalPipeWriteEnd, &byte, 1)
                errno = saved
            }
            action.sa_flags = Int32(bitPattern: UInt32(SA_RESETHAND)) | SA_RESTART
            guard unsafe sigaction(number, &action, nil) == 0 else { throw PosixError.last("sigaction") }
        }
        _ = PosixThread.start(name: "signals") {
            var byte: UInt8 = 0
            while true {
                let count = unsafe Glibc.read(readEnd, &byte, 1)
                if count == 1 { handler(Int32(byte)) } else if count == 0 || errno != EINTR { return }
            }
        }
    }
}

extension Posix {
    /// Ends the process with this code.
    package static func exit(_ code: Int32) -> Never { Glibc.exit(code) }
}
