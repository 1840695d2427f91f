internal import PosixKit

/// Where a SOCKS5 proxy is: with one, a client connects to nothing else and resolves no name itself.
///
/// Each membership and each question that belongs to none is a user of its own to the proxy, so that Tor
/// gives it a circuit of its own.
public struct ProxyAddress: Equatable, Sendable, CustomStringConvertible {
    let addresses: [SocketAddress]
    let user: [UInt8]
    let password: [UInt8]
    private let place: String

    /// Reads `socks5://127.0.0.1:9050`.
    ///
    /// Shape: `socks5://` or `socks5h://` (the same here), an IP address (IPv6 in brackets) or `localhost`,
    /// and a port, 1080 without one. Other host names are refused, because they would have to be resolved.
    /// With `USER:PASSWORD@` in front of the host the proxy is told these for every connection, and can no
    /// longer tell circuits apart by user.
    /// Throws: `invalid-address`.
    public init(_ text: String) throws(ChannelClientError) {
        func refused(_ why: String) -> ChannelClientError {
            .init(.invalidAddress, "This is no proxy address: \(why).")
        }
        let text = text.trimmed
        guard let scheme = ["socks5h://", "socks5://"].first(where: { text.lowercased().hasPrefix($0) })
        else {
            throw refused("it begins with socks5://")
        }
        var rest = text.dropFirst(scheme.count)
        if rest.hasSuffix("/") { rest = rest.dropLast() }
        var user: [UInt8] = []
        var password: [UInt8] = []
        if let at = rest.lastIndex(of: "@") {
            let parts = rest[..<at].split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, let name = Self.decoded(parts[0]), let word = Self.decoded(parts[1]),
                (1...255).contains(name.count), (1...255).contains(word.count)
            else { throw refused("before the @ stand USER:PASSWORD, 1 to 255 bytes each") }
            (user, password) = (name, word)
            rest = rest[rest.index(after: at)...]
        }
        let hasPort = rest.hasPrefix("[") ? !rest.hasSuffix("]") : rest.contains(":")
        place = hasPort ? String(rest) : "\(rest):1080"
        if place.lowercased().hasPrefix("localhost:") {
            let port = place.dropFirst("localhost:".count)
            addresses = ["127.0.0.1:\(port)", "[::1]:\(port)"].compactMap { SocketAddress.parse($0) }
        } else {
            addresses = SocketAddress.parse(place).map { [$0] } ?? []
        }
        guard let first = addresses.first, first.port != 0 else {
            throw refused("after that come an IP address or localhost, and a port")
        }
        self.user = user
        self.password = password
    }

    /// The address without user and password.
    public var description: String { "socks5://\(place)" }

    /// Percent signs resolved; nil where one is not followed by two digits.
    private static func decoded(_ text: Substring) -> [UInt8]? {
        var out: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                out.append(byte)
                continue
            }
            guard rest.count >= 2,
                let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
            else { return nil }
            out.append(value)
            rest = rest.dropFirst(2)
        }
        return out
    }
}
