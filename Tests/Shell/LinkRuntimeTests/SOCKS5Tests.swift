import LinkRuntime
import PosixKit
import Testing

@Suite struct SOCKS5HandshakeTests {
    /// `relay.example:5280` as RFC 1928 writes it.
    private static let request: [UInt8] = [5, 1, 0, 3, 13] + Array("relay.example".utf8) + [0x14, 0xA0]
    /// `abc` and `de` as RFC 1929 writes them.
    private static let password: [UInt8] = [1, 3, 97, 98, 99, 2, 100, 101]

    private func machine() throws -> SOCKS5Handshake {
        SOCKS5Handshake(
            target: try #require(SOCKS5Target(.name(Array("relay.example".utf8)), port: 5280)),
            credentials: try #require(SOCKS5Credentials(name: Array("abc".utf8), password: Array("de".utf8))))
    }

    /// Hands `input` over in pieces as a link does; what was sent, how it ended, what was left over.
    private func run(_ input: [UInt8], pieces: Int) throws -> (
        sent: [[UInt8]], end: SOCKS5Handshake.Step, left: [UInt8]
    ) {
        var machine = try machine()
        var sent: [[UInt8]] = []
        var buffer: [UInt8] = []
        var rest = input[...]
        while true {
            while true {
                let answer = machine.received(buffer)
                buffer.removeFirst(answer.used)
                switch answer.step {
                case .wait: break
                case .send(let message):
                    sent.append(message)
                    continue
                case .connected, .failed: return (sent, answer.step, buffer + rest)
                }
                break
            }
            if rest.isEmpty { return (sent, .wait, buffer) }
            buffer += rest.prefix(pieces)
            rest = rest.dropFirst(pieces)
        }
    }

    private static let ipv4: [UInt8] = [5, 0, 0, 1, 10, 0, 0, 1, 0x1F, 0x90]
    private static let ipv6: [UInt8] = [5, 0, 0, 4] + [UInt8](repeating: 7, count: 16) + [0, 1]
    private static let name: [UInt8] = [5, 0, 0, 3, 4] + Array("exit".utf8) + [0, 1]

    struct Row: CustomTestStringConvertible, Sendable {
        let what: String
        let input: [UInt8]
        let sent: [[UInt8]]
        let end: SOCKS5Handshake.Step
        var testDescription: String { what }
    }

    static let rows: [Row] = [
        Row(what: "no authentication", input: [5, 0] + ipv4, sent: [request], end: .connected),
        Row(
            what: "name and password", input: [5, 2, 1, 0] + ipv4, sent: [password, request], end: .connected),
        Row(what: "bound to IPv6", input: [5, 0] + ipv6, sent: [request], end: .connected),
        Row(what: "bound to a name", input: [5, 0] + name, sent: [request], end: .connected),
        Row(what: "no method fits", input: [5, 0xFF], sent: [], end: .failed(.authenticationNeeded)),
        Row(what: "a method not offered", input: [5, 1], sent: [], end: .failed(.malformed)),
        Row(what: "SOCKS4", input: [0, 90], sent: [], end: .failed(.notSOCKS5)),
        Row(what: "HTTP", input: Array("HTTP/1.1 400".utf8), sent: [], end: .failed(.notSOCKS5)),
        Row(
            what: "wrong password", input: [5, 2, 1, 1], sent: [password], end: .failed(.authenticationFailed)
        ),
        Row(
            what: "verdict of another kind", input: [5, 2, 5, 0], sent: [password], end: .failed(.malformed)),
        Row(
            what: "host unreachable", input: [5, 0] + [5, 4, 0, 1, 0, 0, 0, 0, 0, 0], sent: [request],
            end: .failed(.refused(4))),
        Row(
            what: "a refusal without its rest", input: [5, 0, 5, 5], sent: [request],
            end: .failed(.refused(5))),
        Row(what: "an unknown refusal", input: [5, 0, 5, 200], sent: [request], end: .failed(.refused(200))),
        Row(
            what: "a reply of another version", input: [5, 0, 4, 0, 0], sent: [request],
            end: .failed(.malformed)),
        Row(
            what: "an unknown kind of address", input: [5, 0, 5, 0, 0, 2, 9], sent: [request],
            end: .failed(.malformed)),
    ]

    @Test(arguments: rows)
    func `whole or byte by byte, the same is said and the same is the end`(row: Row) throws {
        for pieces in [row.input.count, 1, 2, 3] {
            let run = try run(row.input, pieces: pieces)
            #expect(run.sent == row.sent)
            #expect(run.end == row.end)
            if row.end == .connected { #expect(run.left.isEmpty) }
        }
    }

    @Test(arguments: rows.filter { $0.end == .connected })
    func `an answer that is cut off anywhere is waited for`(row: Row) throws {
        for count in 0..<row.input.count {
            #expect(try run(Array(row.input.prefix(count)), pieces: 7).end == .wait)
        }
    }

    @Test func `what follows the reply belongs to the relay`() throws {
        let run = try run([5, 2, 1, 0] + Self.name + Array("ANTN".utf8), pieces: 1000)
        #expect(run.end == .connected)
        #expect(run.left == Array("ANTN".utf8))
    }

    @Test func `any bytes end in an answer, and after a failure nothing is said any more`() throws {
        var random = SystemRandomNumberGenerator()
        for _ in 0..<2000 {
            var machine = try machine()
            var steps = 0
            var bytes = (0..<Int.random(in: 1...300, using: &random)).map { _ in
                UInt8.random(in: 0...6, using: &random)
            }
            while steps < 10 {
                steps += 1
                let answer = machine.received(bytes)
                bytes.removeFirst(answer.used)
                if case .send = answer.step { continue }
                if case .failed = answer.step {
                    #expect(machine.received([5, 0, 5, 0]).step == .failed(.malformed))
                }
                break
            }
            #expect(steps <= 3)
        }
    }

    @Test func `targets and credentials are what the request can say`() throws {
        #expect(SOCKS5Target(.name([]), port: 1) == nil)
        #expect(SOCKS5Target(.name([UInt8](repeating: 97, count: 256)), port: 1) == nil)
        #expect(SOCKS5Target(.name([97, 0]), port: 1) == nil)
        #expect(SOCKS5Target(.v4([1, 2, 3]), port: 1) == nil)
        #expect(SOCKS5Credentials(name: [], password: [1]) == nil)
        #expect(SOCKS5Credentials(name: [1], password: [UInt8](repeating: 1, count: 256)) == nil)
    }

    @Test func `addresses travel as bytes`() throws {
        #expect(SocketAddress.parse("10.1.2.3:1")?.hostBytes == [10, 1, 2, 3])
        #expect(
            SocketAddress.parse("[2001:db8::5]:1")?.hostBytes
                == [0x20, 1, 0x0D, 0xB8] + [UInt8](repeating: 0, count: 11) + [5])
    }
}

/// Links through a proxy that the test plays by hand.
@Suite final class ProxiedLinkTests {
    let bench: Bench
    let socket: FileDescriptor
    let proxy: LinkProxy
    let recorder = Recorder()

    init() throws {
        bench = try Bench()
        socket = try Posix.listen(tcp: .loopback(port: 0))
        proxy = LinkProxy(
            addresses: [try #require(Posix.localAddress(socket.raw))],
            credentials: try #require(SOCKS5Credentials(name: [97], password: [98])))
    }

    private func connect(_ targets: Int = 1) throws -> Link {
        let targets = try (0..<targets).map {
            try #require(SOCKS5Target(.name(Array("r\($0).example".utf8)), port: 5280))
        }
        return Link.connect(
            to: targets, through: proxy, context: bench.context, settings: .client(),
            expectedIdentity: bench.identity.publicKey, delegate: recorder)
    }

    /// The next connection to the proxy, and what came first on it.
    private func accepted() throws -> Int32 {
        var raw: Int32 = -1
        bench.run("somebody connects to the proxy") {
            if case .accepted(let descriptor, _) = Posix.accept(socket.raw) { raw = descriptor.release() }
            return raw >= 0
        }
        return raw
    }

    private func expect(_ raw: Int32, _ bytes: [UInt8]) {
        var got: [UInt8] = []
        bench.run("the client says \(bytes)") {
            got += Posix.receive(raw, limit: max(1, bytes.count - got.count)).1
            return got.count >= bytes.count
        }
        #expect(got == bytes)
    }

    private func say(_ raw: Int32, _ bytes: [UInt8]) { #expect(Posix.send(raw, bytes) == .done(bytes.count)) }

    private func request(_ host: String) -> [UInt8] {
        [5, 1, 0, 3, UInt8(host.utf8.count)] + Array(host.utf8) + [0x14, 0xA0]
    }

    @Test func `after the proxy's reply the connection is a link to the relay`() throws {
        let link = try connect()
        let raw = try accepted()
        expect(raw, [5, 2, 2, 0])
        say(raw, [5, 2])
        expect(raw, [1, 1, 97, 1, 98])
        say(raw, [1, 0])
        expect(raw, request("r0.example"))
        say(raw, [5, 0, 0, 1, 0, 0, 0, 0, 0, 0])
        let atRelay = Recorder()
        let relay = Link.accept(
            FileDescriptor(owning: raw), peer: nil, context: bench.context, settings: bench.relaySettings(),
            delegate: atRelay)
        bench.run { recorder.isOpen && atRelay.isOpen }
        link.send(testRequest(1))
        relay.send(testFrame(2))
        bench.run { atRelay.frames == [testRequest(1)] && recorder.frames == [testFrame(2)] }
        #expect(link.peerIdentity == bench.identity.publicKey)
    }

    @Test func `a target that cannot be reached is followed by the next, on a new connection`() throws {
        _ = try connect(2)
        let first = try accepted()
        expect(first, [5, 2, 2, 0])
        say(first, [5, 0])
        expect(first, request("r0.example"))
        say(first, [5, 4, 0, 1, 0, 0, 0, 0, 0, 0])
        let second = try accepted()
        expect(second, [5, 2, 2, 0])
        say(second, [5, 0])
        expect(second, request("r1.example"))
        say(second, [5, 5])
        bench.run { recorder.reason != nil }
        #expect(recorder.reason == .proxyFailed(.refused(5)))
        Posix.closeRaw(first)
        Posix.closeRaw(second)
    }

    @Test func `what the proxy began to say about one target is no part of its answer about the next`() throws
    {
        let link = try connect(2)
        let first = try accepted()
        expect(first, [5, 2, 2, 0])
        say(first, [5])
        bench.run("the half of an answer has come") { link.bufferBytes > 0 }
        Posix.closeRaw(first)
        let second = try accepted()
        expect(second, [5, 2, 2, 0])
        say(second, [5, 0])
        expect(second, request("r1.example"))
        say(second, [5, 5])
        bench.run { recorder.reason != nil }
        #expect(recorder.reason == .proxyFailed(.refused(5)))
        Posix.closeRaw(second)
    }

    @Test(
        arguments: [
            ([5, 0xFF], SOCKS5Problem.authenticationNeeded), ([5, 2, 1, 1], .authenticationFailed),
            (Array("SSH-2.0-x\r\n".utf8), .notSOCKS5), ([5, 0, 5, 0, 0, 9, 9], .malformed),
        ] as [([UInt8], SOCKS5Problem)])
    func `a proxy that will not do is not asked for the other targets`(
        answer: [UInt8], problem: SOCKS5Problem
    )
        throws
    {
        _ = try connect(3)
        let raw = try accepted()
        say(raw, answer)
        bench.run { recorder.reason != nil }
        #expect(recorder.reason == .proxyFailed(problem))
        Posix.closeRaw(raw)
    }

    @Test func `a proxy that hangs up, or says nothing, is given up after its deadline`() throws {
        _ = try connect(2)
        let first = try accepted()
        expect(first, [5, 2, 2, 0])
        Posix.closeRaw(first)
        let second = try accepted()
        expect(second, [5, 2, 2, 0])
        say(second, [5, 0])
        bench.settle()
        bench.advance(milliseconds: 15_000)
        bench.settle()
        #expect(recorder.reason == nil, "a circuit takes its time")
        bench.advance(milliseconds: 6_000)
        bench.run { recorder.reason != nil }
        #expect(recorder.reason == .proxyFailed(.timedOut))
        Posix.closeRaw(second)
    }

    @Test func `without the proxy there is no connection at all`() throws {
        let dead = try Posix.listen(tcp: .loopback(port: 0))
        let address = try #require(Posix.localAddress(dead.raw))
        Posix.closeRaw(dead.release())
        // The target is an address that could be connected to, were the proxy passed by.
        let here = try #require(Posix.localAddress(socket.raw))
        _ = Link.connect(
            to: [try #require(SOCKS5Target(.v4(here.hostBytes), port: here.port))],
            through: LinkProxy(addresses: [address], credentials: proxy.credentials), context: bench.context,
            settings: .client(), delegate: recorder)
        bench.run { recorder.reason != nil }
        guard case .proxyUnreachable(let error)? = recorder.reason else {
            Issue.record("\(String(describing: recorder.reason))")
            return
        }
        #expect(error.isRefused)
        if case .accepted = Posix.accept(socket.raw) { Issue.record("somebody came straight to the target") }
    }
}
