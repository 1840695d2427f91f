import Glibc

// What a service manager and its services say to each other: datagrams, and sockets handed over at the start.
extension Posix {
    /// Sends one datagram to the Unix socket of this name; `@` in front means the abstract namespace.
    ///
    /// Waits at most a second for a receiver that is behind.
    /// Source: unix(7), sd_notify(3).
    package static func sendDatagram(_ bytes: [UInt8], toUnix name: String) throws(PosixError) {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        var path = Array(name.utf8)
        let isAbstract = path.first == UInt8(ascii: "@")
        if isAbstract { path[0] = 0 }
        let room = MemoryLayout.size(ofValue: address.sun_path)
        guard path.count > 1, path.first == 0 || path.first == UInt8(ascii: "/"), path.count < room else {
            throw PosixError(errno: EINVAL, call: "unix socket \(name)")
        }
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: path) }
        // An abstract name ends where the address ends; a path has its NUL.
        let length = MemoryLayout<sa_family_t>.size + path.count + (isAbstract ? 0 : 1)

        let raw = Glibc.socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | O_CLOEXEC, 0)
        guard raw >= 0 else { throw PosixError.last("socket") }
        let socket = FileDescriptor(owning: raw)
        var patience = timeval(tv_sec: 1, tv_usec: 0)
        unsafe _ = setsockopt(
            socket.raw, SOL_SOCKET, SO_SNDTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
        while true {
            let sent = unsafe withUnsafePointer(to: &address) {
                unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { target in
                    unsafe bytes.withUnsafeBytes {
                        unsafe Glibc.sendto(
                            socket.raw, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL), target,
                            socklen_t(length))
                    }
                }
            }
            if sent == bytes.count { return }
            if sent < 0, Glibc.errno == EINTR { continue }
            throw PosixError.last("send to \(name)")
        }
    }

    /// The listening socket that a service manager opened for this process; nil where it opened none.
    ///
    /// Throws: EINVAL for more than one, or for what is no listening TCP socket.
    /// Source: sd_listen_fds(3).
    package static func inheritedListener() throws(PosixError) -> FileDescriptor? {
        guard environment("LISTEN_PID") == String(processID), let text = environment("LISTEN_FDS"),
            let count = Int(text), count > 0
        else { return nil }
        let raw: Int32 = 3
        guard count == 1, isListeningStream(raw), localAddress(raw) != nil else {
            throw PosixError(errno: EINVAL, call: "the \(count) sockets of the service manager")
        }
        let flags = fcntl(raw, F_GETFL)
        guard flags >= 0, fcntl(raw, F_SETFD, FD_CLOEXEC) == 0,
            fcntl(raw, F_SETFL, flags | O_NONBLOCK) == 0
        else {
            throw PosixError.last("fcntl")
        }
        return FileDescriptor(owning: raw)
    }

    private static func isListeningStream(_ raw: Int32) -> Bool {
        func option(_ name: Int32) -> Int32? {
            var value: Int32 = 0
            var length = socklen_t(4)
            return unsafe getsockopt(raw, SOL_SOCKET, name, &value, &length) == 0 ? value : nil
        }
        return option(SO_TYPE) == Int32(SOCK_STREAM.rawValue) && option(SO_ACCEPTCONN) == 1
    }
}
