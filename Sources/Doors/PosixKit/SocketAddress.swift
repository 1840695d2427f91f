import Glibc

/// An IPv4 or IPv6 address with a port.
package struct SocketAddress: Hashable, Sendable, CustomStringConvertible {
    private enum Host: Hashable, Sendable {
        case v4(UInt32)
        case v6(high: UInt64, low: UInt64, scope: UInt32)
    }

    private let host: Host
    package let port: UInt16

    private init(host: Host, port: UInt16) {
        self.host = host
        self.port = port
    }

    package static func loopback(port: UInt16) -> SocketAddress {
        SocketAddress(host: .v4(0x7F00_0001), port: port)
    }

    /// Reads `127.0.0.1:5280` or `[::1]:5280`; nil for anything else, names included.
    package static func parse(_ text: String) -> SocketAddress? {
        guard let colon = text.lastIndex(of: ":") else { return nil }
        let portText = text[text.index(after: colon)...]
        guard !portText.isEmpty, portText.utf8.allSatisfy({ $0 >= 48 && $0 <= 57 }),
            let port = UInt16(portText)
        else { return nil }
        let hostPart = text[..<colon]
        if hostPart.hasPrefix("[") {
            guard hostPart.hasSuffix("]") else { return nil }
            return parse(host: String(hostPart.dropFirst().dropLast()), port: port, allowed: [.v6])
        }
        return parse(host: String(hostPart), port: port, allowed: [.v4])
    }

    /// Reads a bare numeric host, as in `127.0.0.1` or `::1`.
    package static func parse(host: String, port: UInt16) -> SocketAddress? {
        parse(host: host, port: port, allowed: [.v4, .v6])
    }

    /// Asks the system's resolver. It blocks, so it must not be called on a loop.
    package static func resolve(host: String, port: UInt16) throws(ResolveError) -> [SocketAddress] {
        if let numeric = parse(host: host, port: port) { return [numeric] }
        guard !host.isEmpty, host.utf8.count <= 253, !host.utf8.contains(0) else {
            throw ResolveError(host: host, message: "not a host name")
        }
        var hints = unsafe addrinfo()
        unsafe hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        unsafe hints.ai_flags = AI_ADDRCONFIG
        var list: UnsafeMutablePointer<addrinfo>?
        let result = unsafe getaddrinfo(host, String(port), &hints, &list)
        guard result == 0 else {
            throw ResolveError(host: host, message: unsafe String(cString: gai_strerror(result)))
        }
        defer { unsafe freeaddrinfo(list) }
        var found: [SocketAddress] = []
        var next = unsafe list
        while let entry = unsafe next {
            if let raw = unsafe entry.pointee.ai_addr, let address = unsafe SocketAddress(raw: raw),
                !found.contains(address)
            {
                found.append(address)
            }
            unsafe next = entry.pointee.ai_next
        }
        guard !found.isEmpty else { throw ResolveError(host: host, message: "no address") }
        return found
    }

    package func with(port: UInt16) -> SocketAddress { SocketAddress(host: host, port: port) }

    package var isIPv6: Bool {
        if case .v6 = host { return true }
        return false
    }

    package var isLoopback: Bool {
        switch host {
        case .v4(let value): value >> 24 == 127
        case .v6(let high, let low, _): high == 0 && (low == 1 || low >> 24 == 0xFFFF7F)
        }
    }

    /// The address to count connections by: an IPv4 address, or the /64 of an IPv6 one. The port is 0.
    ///
    /// One subscriber line usually has a whole /64; counting single IPv6 addresses would count nothing.
    package var countingKey: SocketAddress {
        switch host {
        case .v4: SocketAddress(host: host, port: 0)
        case .v6(let high, let low, _):
            if high == 0, low >> 32 == 0xFFFF {
                SocketAddress(host: .v4(UInt32(truncatingIfNeeded: low)), port: 0)
            } else {
                SocketAddress(host: .v6(high: high, low: 0, scope: 0), port: 0)
            }
        }
    }

    /// The host as it travels: 4 or 16 bytes, the scope of an IPv6 address left out.
    package var hostBytes: [UInt8] {
        switch host {
        case .v4(let value): (0..<4).map { UInt8(truncatingIfNeeded: value >> (24 - 8 * $0)) }
        case .v6(let high, let low, _):
            (0..<16).map { UInt8(truncatingIfNeeded: ($0 < 8 ? high : low) >> (56 - 8 * ($0 % 8))) }
        }
    }

    /// The numeric host without brackets.
    package var hostText: String {
        var text = [CChar](repeating: 0, count: 64)
        switch host {
        case .v4(let value):
            var raw = in_addr(s_addr: value.bigEndian)
            _ = unsafe inet_ntop(AF_INET, &raw, &text, 64)
        case .v6(let high, let low, let scope):
            var raw = SocketAddress.in6(high, low)
            _ = unsafe inet_ntop(AF_INET6, &raw, &text, 64)
            let plain = SocketAddress.string(text)
            return scope == 0 ? plain : "\(plain)%\(scope)"
        }
        return SocketAddress.string(text)
    }

    package var description: String { isIPv6 ? "[\(hostText)]:\(port)" : "\(hostText):\(port)" }

    // MARK: - Kernel forms

    var family: Int32 { isIPv6 ? AF_INET6 : AF_INET }

    func withRaw<T>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> T) -> T {
        switch host {
        case .v4(let value):
            var raw = sockaddr_in()
            raw.sin_family = sa_family_t(AF_INET)
            raw.sin_port = port.bigEndian
            raw.sin_addr.s_addr = value.bigEndian
            return unsafe withUnsafePointer(to: &raw) {
                unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    unsafe body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
        case .v6(let high, let low, let scope):
            var raw = sockaddr_in6()
            raw.sin6_family = sa_family_t(AF_INET6)
            raw.sin6_port = port.bigEndian
            raw.sin6_addr = SocketAddress.in6(high, low)
            raw.sin6_scope_id = scope
            return unsafe withUnsafePointer(to: &raw) {
                unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    unsafe body($0, socklen_t(MemoryLayout<sockaddr_in6>.size))
                }
            }
        }
    }

    init?(raw: UnsafePointer<sockaddr>) {
        let bytes = unsafe UnsafeRawPointer(raw)
        switch Int32(unsafe raw.pointee.sa_family) {
        case AF_INET:
            let value = unsafe bytes.load(as: sockaddr_in.self)
            self.init(
                host: .v4(UInt32(bigEndian: value.sin_addr.s_addr)), port: UInt16(bigEndian: value.sin_port))
        case AF_INET6:
            let value = unsafe bytes.load(as: sockaddr_in6.self)
            let (high, low) = SocketAddress.words(value.sin6_addr)
            self.init(
                host: .v6(high: high, low: low, scope: value.sin6_scope_id),
                port: UInt16(bigEndian: value.sin6_port))
        default: return nil
        }
    }

    /// Reads the address that a system call fills in; nil when it failed or the family is another one.
    static func filled(
        by call: (UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Int32
    ) -> SocketAddress? {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return unsafe withUnsafeMutablePointer(to: &storage) { storage in
            unsafe storage.withMemoryRebound(to: sockaddr.self, capacity: 1) { raw in
                guard unsafe call(raw, &length) == 0 else { return nil }
                return unsafe SocketAddress(raw: raw)
            }
        }
    }

    // MARK: - Helpers

    private enum Family { case v4, v6 }

    private static func parse(host: String, port: UInt16, allowed: [Family]) -> SocketAddress? {
        guard !host.utf8.contains(0) else { return nil }
        var four = in_addr()
        if allowed.contains(.v4), unsafe inet_pton(AF_INET, host, &four) == 1 {
            return SocketAddress(host: .v4(UInt32(bigEndian: four.s_addr)), port: port)
        }
        var six = in6_addr()
        if allowed.contains(.v6), unsafe inet_pton(AF_INET6, host, &six) == 1 {
            let (high, low) = words(six)
            return SocketAddress(host: .v6(high: high, low: low, scope: 0), port: port)
        }
        return nil
    }

    private static func in6(_ high: UInt64, _ low: UInt64) -> in6_addr {
        var raw = in6_addr()
        unsafe withUnsafeMutableBytes(of: &raw) {
            unsafe $0.storeBytes(of: high.bigEndian, as: UInt64.self)
            unsafe $0.storeBytes(of: low.bigEndian, toByteOffset: 8, as: UInt64.self)
        }
        return raw
    }

    private static func words(_ raw: in6_addr) -> (UInt64, UInt64) {
        unsafe withUnsafeBytes(of: raw) {
            unsafe (
                UInt64(bigEndian: $0.loadUnaligned(as: UInt64.self)),
                UInt64(bigEndian: $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
            )
        }
    }

    private static func string(_ text: [CChar]) -> String {
        String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}

/// A host name that the resolver could not turn into an address.
package struct ResolveError: Error, Equatable, Sendable, CustomStringConvertible {
    package let host: String
    package let message: String
    package init(host: String, message: String) {
        self.host = host
        self.message = message
    }
    package var description: String { "\(host): \(message)" }
}
