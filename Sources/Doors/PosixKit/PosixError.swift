import Glibc

/// A system call that failed: which one, and the number it left in `errno`.
package struct PosixError: Error, Equatable, Sendable, CustomStringConvertible {
    package let errno: Int32
    package let call: String

    package init(errno: Int32, call: String) {
        self.errno = errno
        self.call = call
    }

    /// Reads `errno`; must be called before anything else can change it.
    static func last(_ call: String) -> PosixError {
        PosixError(errno: Glibc.errno, call: call)
    }

    /// The kernel's text for the number, as in "No space left on device".
    package var reason: String {
        guard let text = unsafe strerror(errno) else { return "error \(errno)" }
        return unsafe String(cString: text)
    }

    package var description: String { "\(call): \(reason)" }

    package var isNotFound: Bool { errno == ENOENT }
    package var isNoSpace: Bool { errno == ENOSPC || errno == EDQUOT }
    package var isAddressInUse: Bool { errno == EADDRINUSE }
    package var isPermission: Bool { errno == EACCES || errno == EPERM }
    package var isClosedPipe: Bool { errno == EPIPE }
    package var isRefused: Bool { errno == ECONNREFUSED }
    /// Of a connection to a Unix socket: its queue is full.
    package var isWouldBlock: Bool { errno == EAGAIN }
    /// Out of descriptors or buffers: trying again at once cannot help.
    package var isOutOfDescriptors: Bool {
        errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM
    }
}

/// The number of a system error by name, for tests and for tables of other rooms.
package enum PosixErrno {
    package static let tooManyFiles: Int32 = Glibc.EMFILE
    package static let connectionRefused: Int32 = Glibc.ECONNREFUSED
    package static let timedOut: Int32 = Glibc.ETIMEDOUT
    package static let noSuchFile: Int32 = Glibc.ENOENT
    package static let fileExists: Int32 = Glibc.EEXIST
    package static let noSpace: Int32 = Glibc.ENOSPC
    package static let accessDenied: Int32 = Glibc.EACCES
    package static let invalidArgument: Int32 = Glibc.EINVAL
    package static let addressInUse: Int32 = Glibc.EADDRINUSE
}

/// What a read or a write on a non-blocking descriptor came to.
package enum IOResult: Equatable, Sendable {
    case done(Int)
    case wouldBlock
    /// The peer has gone: end of stream, reset or broken pipe.
    case closed
    case failed(PosixError)
}

/// The namespace of the system calls.
package enum Posix {}
