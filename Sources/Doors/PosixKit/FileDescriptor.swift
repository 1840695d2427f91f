internal import CPosix
import Glibc

/// An open descriptor with one owner; it is closed when the owner lets go of it.
package struct FileDescriptor: ~Copyable, Sendable {
    package let raw: Int32

    /// Takes over `raw`, which nobody else may close from now on.
    package init(owning raw: Int32) {
        precondition(raw >= 0, "a descriptor is not negative")
        self.raw = raw
    }

    /// Gives the descriptor away without closing it.
    package consuming func release() -> Int32 {
        let raw = self.raw
        discard self
        return raw
    }

    deinit { Posix.closeRaw(raw) }
}

extension Posix {
    /// Closes and ignores the outcome: on Linux the descriptor is gone even after EINTR or EIO.
    package static func closeRaw(_ raw: Int32) { _ = Glibc.close(raw) }

    /// Another descriptor for the same open file.
    package static func duplicate(_ raw: Int32) throws(PosixError) -> Int32 {
        let copy = Glibc.fcntl(raw, F_DUPFD_CLOEXEC, 0)
        guard copy >= 0 else { throw PosixError.last("fcntl") }
        return copy
    }

    /// A counter that wakes a poller: what `LoopWaker` writes to. Non-blocking, close-on-exec.
    package static func eventDescriptor() throws(PosixError) -> FileDescriptor {
        let raw = CPosix.eventfd(0, O_NONBLOCK | O_CLOEXEC)
        guard raw >= 0 else { throw PosixError.last("eventfd") }
        return FileDescriptor(owning: raw)
    }

    /// Adds one to an event descriptor. Any thread; a full counter is as good as a non-empty one.
    package static func signalEvent(_ raw: Int32) {
        var one: UInt64 = 1
        _ = unsafe Glibc.write(raw, &one, 8)
    }

    /// Sets an event descriptor back to zero.
    package static func clearEvent(_ raw: Int32) {
        var value: UInt64 = 0
        _ = unsafe Glibc.read(raw, &value, 8)
    }
}
