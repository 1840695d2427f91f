/// How a client asks a SOCKS5 proxy for one connection: what to say, and what the answers mean. No socket
/// here.
///
/// ```
/// greeting ──▶ method ──no authentication──────────────▶ request ──▶ reply ──▶ connected
///                 └───name and password──▶ verdict ──────▶│
/// ```
/// Any answer that does not fit ends in `failed`. Source: RFC 1928 and, for name and password, RFC 1929.
package struct SOCKS5Handshake: Equatable, Sendable {
    /// What is to be done after an answer, or a part of one, has come.
    package enum Step: Equatable, Sendable {
        /// The answer is not whole yet.
        case wait
        case send([UInt8])
        /// From here on the connection is the relay's.
        case connected
        case failed(SOCKS5Problem)
    }

    private enum State: Equatable { case method, verdict, reply, over }

    private let target: SOCKS5Target
    private let credentials: SOCKS5Credentials
    private var state = State.method

    package init(target: SOCKS5Target, credentials: SOCKS5Credentials) {
        self.target = target
        self.credentials = credentials
    }

    /// The first thing to send: name and password, or nothing, will do.
    ///
    /// Both are always offered: a proxy that keeps circuits apart by name takes the name, one that knows no
    /// names is still of use.
    package static let greeting: [UInt8] = [version, 2, passwordMethod, openMethod]

    /// Takes at most one answer from the front of `bytes`.
    /// Returns: how many bytes it was (0 with `wait` and `failed`), and what to do.
    package mutating func received(_ bytes: some Collection<UInt8>) -> (used: Int, step: Step) {
        let bytes = Array(bytes.prefix(Self.answerBytesMax))
        switch state {
        case .method: return method(bytes)
        case .verdict: return verdict(bytes)
        case .reply: return reply(bytes)
        case .over: return (0, .failed(.malformed))
        }
    }

    private mutating func method(_ bytes: [UInt8]) -> (used: Int, step: Step) {
        guard let first = bytes.first else { return (0, .wait) }
        guard first == Self.version else { return fail(.notSOCKS5) }
        guard bytes.count >= 2 else { return (0, .wait) }
        switch bytes[1] {
        case Self.openMethod:
            state = .reply
            return (2, .send(target.request))
        case Self.passwordMethod:
            state = .verdict
            return (2, .send(credentials.message))
        case 0xFF: return fail(.authenticationNeeded)
        default: return fail(.malformed)
        }
    }

    private mutating func verdict(_ bytes: [UInt8]) -> (used: Int, step: Step) {
        guard let first = bytes.first else { return (0, .wait) }
        guard first == SOCKS5Credentials.version else { return fail(.malformed) }
        guard bytes.count >= 2 else { return (0, .wait) }
        guard bytes[1] == 0 else { return fail(.authenticationFailed) }
        state = .reply
        return (2, .send(target.request))
    }

    private mutating func reply(_ bytes: [UInt8]) -> (used: Int, step: Step) {
        guard let first = bytes.first else { return (0, .wait) }
        guard first == Self.version else { return fail(.malformed) }
        guard bytes.count >= 2 else { return (0, .wait) }
        // Some proxies close right after the number, so the rest of a refusal is not waited for.
        guard bytes[1] == 0 else { return fail(.refused(bytes[1])) }
        guard bytes.count >= 5 else { return (0, .wait) }
        let address: Int
        switch bytes[3] {
        case 1: address = 4
        case 3: address = 1 + Int(bytes[4])
        case 4: address = 16
        default: return fail(.malformed)
        }
        let whole = 4 + address + 2
        guard bytes.count >= whole else { return (0, .wait) }
        state = .over
        return (whole, .connected)
    }

    private mutating func fail(_ problem: SOCKS5Problem) -> (used: Int, step: Step) {
        state = .over
        return (0, .failed(problem))
    }

    fileprivate static let version: UInt8 = 5
    private static let openMethod: UInt8 = 0
    private static let passwordMethod: UInt8 = 2
    /// The longest answer: a reply with a host name of 255 bytes.
    private static let answerBytesMax = 4 + 1 + 255 + 2
}

/// Whom the proxy is to connect to; a name is resolved by the proxy.
package struct SOCKS5Target: Equatable, Sendable {
    package enum Host: Equatable, Sendable {
        case v4([UInt8])
        case v6([UInt8])
        case name([UInt8])
    }
    package let host: Host
    package let port: UInt16

    /// Nil for what no request can say: an address of another length, a name that is empty or over 255 bytes.
    package init?(_ host: Host, port: UInt16) {
        switch host {
        case .v4(let bytes): guard bytes.count == 4 else { return nil }
        case .v6(let bytes): guard bytes.count == 16 else { return nil }
        case .name(let bytes): guard (1...255).contains(bytes.count), !bytes.contains(0) else { return nil }
        }
        self.host = host
        self.port = port
    }

    /// CONNECT, with the address in the form it was given in.
    var request: [UInt8] {
        var out: [UInt8] = [SOCKS5Handshake.version, 1, 0]
        switch host {
        case .v4(let bytes): out += [1] + bytes
        case .name(let bytes): out += [3, UInt8(bytes.count)] + bytes
        case .v6(let bytes): out += [4] + bytes
        }
        return out + [UInt8(port >> 8), UInt8(truncatingIfNeeded: port)]
    }
}

/// A user name and a password as RFC 1929 has them: 1 to 255 bytes each.
package struct SOCKS5Credentials: Equatable, Sendable {
    package let name: [UInt8]
    package let password: [UInt8]

    package init?(name: [UInt8], password: [UInt8]) {
        guard (1...255).contains(name.count), (1...255).contains(password.count) else { return nil }
        self.name = name
        self.password = password
    }

    var message: [UInt8] {
        [Self.version, UInt8(name.count)] + name + [UInt8(password.count)] + password
    }

    fileprivate static let version: UInt8 = 1
}

/// Why the proxy gives no connection.
package enum SOCKS5Problem: Error, Equatable, Sendable, CustomStringConvertible {
    /// What answers there speaks something else.
    case notSOCKS5
    /// An answer that no proxy may give.
    case malformed
    /// The proxy takes neither nobody nor a name and password.
    case authenticationNeeded
    /// The proxy does not take this name and password.
    case authenticationFailed
    /// The number in the proxy's reply.
    case refused(UInt8)
    /// The proxy ended the connection without an answer.
    case closed
    case timedOut

    package var description: String { sentence }

    /// For people. Source: RFC 1928, section 6.
    package var sentence: String {
        switch self {
        case .notSOCKS5: "what answers there is no SOCKS5 proxy"
        case .malformed: "it answers what no SOCKS5 proxy may answer"
        case .authenticationNeeded: "it wants another kind of authentication"
        case .authenticationFailed: "it does not take the user name and password"
        case .refused(1): "it could not connect: general failure"
        case .refused(2): "its rules do not allow this connection"
        case .refused(3): "it cannot reach the network of the relay"
        case .refused(4): "it cannot reach the relay's host"
        case .refused(5): "the relay's host refused its connection"
        case .refused(6): "its connection to the relay timed out"
        case .refused(7): "it does not know how to connect"
        case .refused(8): "it does not know this kind of address"
        case .refused(let number): "it refused with number \(number)"
        case .closed: "it hung up"
        case .timedOut: "it did not answer in time"
        }
    }

    /// Whether another of the relay's addresses may do better.
    var isAboutTarget: Bool {
        switch self {
        case .refused, .closed, .timedOut: true
        case .notSOCKS5, .malformed, .authenticationNeeded, .authenticationFailed: false
        }
    }
}
