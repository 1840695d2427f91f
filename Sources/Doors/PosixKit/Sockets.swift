internal import CPosix
import Glibc

/// What one call of `Posix.accept` came to.
package enum AcceptResult: ~Copyable, Sendable {
    /// A connection; the address is nil for a Unix socket.
    case accepted(FileDescriptor, SocketAddress?)
    case wouldBlock
    /// The peer gave up before it was accepted, or a signal came: try again.
    case again
    case failed(PosixError)
}

/// The user and the process at the other end of a Unix socket.
package struct PeerCredentials: Equatable, Sendable {
    package let pid: Int32
    package let uid: UInt32
    package let gid: UInt32
}

/// All sockets are non-blocking and close-on-exec.
extension Posix {
    // MARK: - TCP

    package static func listen(tcp address: SocketAddress, backlog: Int32 = 4096) throws(PosixError)
        -> FileDescriptor
    {
        let socket = try makeSocket(address.family)
        try setOption(socket.raw, SOL_SOCKET, SO_REUSEADDR, 1)
        // Without this an IPv6 listener takes the IPv4 port too, and `[::]` beside `0.0.0.0` fails.
        if address.isIPv6 { try setOption(socket.raw, Int32(IPPROTO_IPV6), IPV6_V6ONLY, 1) }
        let bound = unsafe address.withRaw { raw, length in unsafe Glibc.bind(socket.raw, raw, length) }
        guard bound == 0 else { throw PosixError.last("bind \(address)") }
        guard Glibc.listen(socket.raw, backlog) == 0 else { throw PosixError.last("listen \(address)") }
        return socket
    }

    package static func accept(_ listener: Int32) -> AcceptResult {
        var storage = sockaddr_storage()
        var length = UInt32(MemoryLayout<sockaddr_storage>.size)
        let raw = unsafe CPosix.accept4(listener, &storage, &length, O_NONBLOCK | O_CLOEXEC)
        guard raw >= 0 else {
            switch Glibc.errno {
            case EAGAIN: return .wouldBlock
            // Errors of the connection, not of the listener (accept(2)).
            case EINTR, ECONNABORTED, EPROTO, ENETDOWN, ENOPROTOOPT, EHOSTDOWN, ENONET, EHOSTUNREACH,
                ENETUNREACH:
                return .again
            default: return .failed(PosixError.last("accept"))
            }
        }
        let address = unsafe withUnsafePointer(to: &storage) {
            unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe SocketAddress(raw: $0) }
        }
        if address != nil { noDelay(raw) }
        return .accepted(FileDescriptor(owning: raw), address)
    }

    /// Starts a connection; when the descriptor is writable, `connectOutcome` says what became of it.
    package static func connect(tcp address: SocketAddress) throws(PosixError) -> FileDescriptor {
        let socket = try makeSocket(address.family)
        noDelay(socket.raw)
        let result = unsafe address.withRaw { raw, length in unsafe Glibc.connect(socket.raw, raw, length) }
        guard result == 0 || Glibc.errno == EINPROGRESS || Glibc.errno == EINTR else {
            throw PosixError.last("connect \(address)")
        }
        return socket
    }

    /// The outcome of a started connection: nil when it stands.
    package static func connectOutcome(_ raw: Int32) -> PosixError? {
        var value: Int32 = 0
        var length = socklen_t(4)
        guard unsafe getsockopt(raw, SOL_SOCKET, SO_ERROR, &value, &length) == 0 else {
            return PosixError.last("getsockopt")
        }
        return value == 0 ? nil : PosixError(errno: value, call: "connect")
    }

    package static func localAddress(_ raw: Int32) -> SocketAddress? {
        unsafe SocketAddress.filled { unsafe getsockname(raw, $0, $1) }
    }

    package static func peerAddress(_ raw: Int32) -> SocketAddress? {
        unsafe SocketAddress.filled { unsafe getpeername(raw, $0, $1) }
    }

    /// Sets the kernel's send and receive buffers, in bytes; the kernel doubles and clamps them.
    package static func setSocketBuffers(_ raw: Int32, send: Int32? = nil, receive: Int32? = nil) {
        if let send { try? setOption(raw, SOL_SOCKET, SO_SNDBUF, send) }
        if let receive { try? setOption(raw, SOL_SOCKET, SO_RCVBUF, receive) }
    }

    /// Keeps the kernel from queueing more than about so many bytes that it may not send yet: beyond them the
    /// socket is not writable. What is on its way does not count, so a fast peer far away is not slowed down.
    ///
    /// Without it a peer that reads nothing holds megabytes of the kernel's memory, and what is said last
    /// waits behind all of it.
    package static func limitUnsent(_ raw: Int32, bytes: Int32) {
        // A Unix socket has no such option.
        try? setOption(raw, Int32(IPPROTO_TCP), TCP_NOTSENT_LOWAT, bytes)
    }

    // MARK: - Unix sockets

    /// Listens at `path` with the given mode, replacing a socket that nobody listens at any more.
    package static func listen(unix path: String, mode: UInt32 = 0o600, backlog: Int32 = 64)
        throws(PosixError)
        -> FileDescriptor
    {
        let socket = try makeSocket(AF_UNIX)
        var bound = unsafe try withUnixAddress(path) { raw, length in
            unsafe Glibc.bind(socket.raw, raw, length)
        }
        if bound != 0, Glibc.errno == EADDRINUSE, isSocket(path), !isAnswered(unix: path) {
            _ = unsafe Glibc.unlink(path)
            bound = unsafe try withUnixAddress(path) { raw, length in
                unsafe Glibc.bind(socket.raw, raw, length)
            }
        }
        guard bound == 0 else { throw PosixError.last("bind \(path)") }
        guard unsafe Glibc.chmod(path, mode) == 0 else { throw PosixError.last("chmod \(path)") }
        guard Glibc.listen(socket.raw, backlog) == 0 else { throw PosixError.last("listen \(path)") }
        return socket
    }

    /// Connects to a Unix socket at once; a Unix connection is never in progress.
    package static func connect(unix path: String) throws(PosixError) -> FileDescriptor {
        let socket = try makeSocket(AF_UNIX)
        let result = unsafe try withUnixAddress(path) { raw, length in
            unsafe Glibc.connect(socket.raw, raw, length)
        }
        guard result == 0 else { throw PosixError.last("connect \(path)") }
        return socket
    }

    package static func peerCredentials(_ raw: Int32) throws(PosixError) -> PeerCredentials {
        // struct ucred: pid, uid, gid, 32 bits each; the Glibc module does not show it.
        var ucred = (Int32(0), UInt32(0), UInt32(0))
        var length = socklen_t(12)
        guard unsafe getsockopt(raw, SOL_SOCKET, SO_PEERCRED, &ucred, &length) == 0, length == 12 else {
            throw PosixError.last("getsockopt SO_PEERCRED")
        }
        return PeerCredentials(pid: ucred.0, uid: ucred.1, gid: ucred.2)
    }

    /// Two connected stream sockets, for tests.
    package static func socketPair() throws(PosixError) -> (Int32, Int32) {
        var raw: [Int32] = [-1, -1]
        let type = Int32(SOCK_STREAM.rawValue) | O_NONBLOCK | O_CLOEXEC
        guard unsafe Glibc.socketpair(AF_UNIX, type, 0, &raw) == 0 else {
            throw PosixError.last("socketpair")
        }
        return (raw[0], raw[1])
    }

    // MARK: - Bytes

    @inline(__always)
    package static func receive(_ raw: Int32, into buffer: UnsafeMutableRawBufferPointer) -> IOResult {
        while true {
            let count = unsafe Glibc.recv(raw, buffer.baseAddress, buffer.count, Int32(MSG_DONTWAIT))
            if count > 0 { return .done(count) }
            if count == 0 { return .closed }
            if Glibc.errno == EINTR { continue }
            return ioFailure("recv")
        }
    }

    package static func send(_ raw: Int32, _ bytes: UnsafeRawBufferPointer) -> IOResult {
        while true {
            guard let base = bytes.baseAddress else { return .done(0) }
            let count = unsafe sendQuickly(raw, base, bytes.count)
            if count >= 0 { return .done(count) }
            if Glibc.errno == EINTR { continue }
            return ioFailure("send")
        }
    }

    /// The same for where each instruction counts. Returns: the bytes that the kernel took, or less than zero
    /// when it took none; `send` tells why.
    @unsafe
    package static func sendQuickly(_ raw: Int32, _ bytes: UnsafeRawPointer, _ count: Int) -> Int {
        unsafe antenna_send(
            raw, bytes, UInt(bitPattern: count), Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL))
    }

    package static func send(_ raw: Int32, _ bytes: [UInt8]) -> IOResult {
        unsafe bytes.withUnsafeBytes { unsafe send(raw, $0) }
    }

    /// Receives at most `limit` bytes into a fresh array.
    package static func receive(_ raw: Int32, limit: Int) -> (IOResult, [UInt8]) {
        var result = IOResult.wouldBlock
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
            unsafe result = receive(raw, into: UnsafeMutableRawBufferPointer(buffer))
            if case .done(let got) = result { count = got }
        }
        return (result, bytes)
    }

    /// Ends our half of the stream; the peer reads the end after what was sent.
    package static func shutdownWriting(_ raw: Int32) { _ = Glibc.shutdown(raw, Int32(SHUT_WR)) }

    /// Waits until `raw` can be read (or written); false when the time ran out. For plain threads and tests.
    package static func waitReady(_ raw: Int32, writing: Bool = false, milliseconds: Int32) -> Bool {
        var entry = pollfd(fd: raw, events: Int16(writing ? POLLOUT : POLLIN), revents: 0)
        while true {
            let count = unsafe Glibc.poll(&entry, 1, milliseconds)
            if count < 0, Glibc.errno == EINTR { continue }
            return count > 0
        }
    }

    /// Whether the peer of a connection sends no more, whatever of it is still to be read.
    package static func hasHungUp(_ raw: Int32) -> Bool {
        var entry = pollfd(fd: raw, events: Int16(ANTENNA_POLLRDHUP), revents: 0)
        return unsafe Glibc.poll(&entry, 1, 0) > 0
    }

    /// Bytes that the kernel holds and the peer's kernel has not taken; nil where that cannot be told.
    package static func unacknowledgedBytes(_ raw: Int32) -> Int32? {
        var count: Int32 = 0
        return unsafe ioctl(raw, UInt(TIOCOUTQ), &count) == 0 ? count : nil
    }

    // MARK: - Helpers

    private static func ioFailure(_ call: String) -> IOResult {
        switch Glibc.errno {
        case EAGAIN: .wouldBlock
        case EPIPE, ECONNRESET: .closed
        default: .failed(PosixError.last(call))
        }
    }

    private static func makeSocket(_ family: Int32) throws(PosixError) -> FileDescriptor {
        let raw = Glibc.socket(family, Int32(SOCK_STREAM.rawValue) | O_NONBLOCK | O_CLOEXEC, 0)
        guard raw >= 0 else { throw PosixError.last("socket") }
        return FileDescriptor(owning: raw)
    }

    private static func setOption(_ raw: Int32, _ level: Int32, _ name: Int32, _ value: Int32)
        throws(PosixError)
    {
        var value = value
        guard unsafe setsockopt(raw, level, name, &value, 4) == 0 else { throw PosixError.last("setsockopt") }
    }

    private static func noDelay(_ raw: Int32) {
        // A record is written whole; waiting for more only adds delay. A socket pair has no such option.
        try? setOption(raw, Int32(IPPROTO_TCP), TCP_NODELAY, 1)
    }

    private static func isSocket(_ path: String) -> Bool {
        var raw = stat()
        let found = unsafe lstat(path, &raw) == 0 && raw.st_mode & S_IFMT == S_IFSOCK
        // What `bind` said is what counts, also where this failed.
        Glibc.errno = EADDRINUSE
        return found
    }

    private static func isAnswered(unix path: String) -> Bool {
        do throws(PosixError) {
            _ = try connect(unix: path)
            return true
        } catch {
            return !error.isRefused
        }
    }

    private static func withUnixAddress(
        _ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) throws(PosixError) -> Int32 {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(path.utf8)
        guard !bytes.isEmpty, !bytes.contains(0), bytes.count < MemoryLayout.size(ofValue: address.sun_path)
        else {
            throw PosixError(errno: ENAMETOOLONG, call: "unix socket \(path)")
        }
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: bytes) }
        return unsafe withUnsafePointer(to: &address) {
            unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }
}
