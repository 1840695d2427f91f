import ChannelWire
import LibeventLoop
import LinkRuntime
import PosixKit
import SodiumCrypto
import Synchronization
import Testing

@Suite struct LinkHandshakeTests {
    @Test(arguments: [AEADSuite.chaChaPoly, .aesGCM].filter { $0 != .aesGCM || AEADSuite.aesAvailable })
    func `both ends agree on the hash, the client knows the relay, and frames go both ways`(suite: AEADSuite)
        throws
    {
        let bench = try Bench()
        let pair = try bench.openPair(client: .client(suites: suite == .aesGCM ? .all : .chaChaPoly))
        #expect(pair.relay.handshakeHash.count == 64)
        #expect(pair.relay.handshakeHash == pair.client.handshakeHash)
        #expect(pair.client.peerIdentity == bench.identity.publicKey)
        pair.client.send(testRequest(1))
        pair.relay.send(testFrame(2))
        bench.run { pair.atRelay.frames == [testRequest(1)] && pair.atClient.frames == [testFrame(2)] }
    }

    @Test func `a relay and a client on two threads find each other over TCP`() throws {
        let identity = RelayIdentity.create(nowSeconds: Clock.nowSeconds())
        let ready = Mailbox<(SocketAddress, Mailbox<Bool>)>()
        let thread = PosixThread.start(name: "relay") {
            guard let loop = try? EventLoop(), let socket = try? Posix.listen(tcp: .loopback(port: 0)) else {
                return
            }
            let context = LinkLoopContext(loop: loop)
            let settings = LinkSettings.relay(identity.link)
            let echo = Recorder()
            echo.onFrame = { link, frame in
                if case .publish(let request, let body) = frame {
                    link.send(.record(request: request, record: body))
                }
            }
            let listener = LinkListener(loop: loop, socket: socket, trouble: { _ in }) { connection, peer in
                _ = Link.accept(connection, peer: peer, context: context, settings: settings, delegate: echo)
            }
            let waker = loop.waker
            let stop = Mailbox<Bool> { waker.wake() }
            loop.onWake { if !stop.drain().isEmpty { loop.stop() } }
            guard let address = listener.address else { return }
            ready.post((address, stop))
            loop.run()
            listener.stop()
            context.closeAll()
        }
        let (address, stop) = try #require(ready.waitDrain(timeoutMilliseconds: 10_000).first)
        let bench = try Bench()
        bench.time.wallSeconds = Clock.nowSeconds()
        let recorder = Recorder()
        recorder.onOpen = { link in
            for number in 1...50 { link.send(testRequest(UInt32(number), size: number * 20)) }
        }
        let link = Link.connect(
            to: [address], context: bench.context, settings: .client(), expectedIdentity: identity.publicKey,
            delegate: recorder)
        bench.run { recorder.frames.count == 50 || recorder.reason != nil }
        #expect(recorder.frames == (1...50).map { testFrame(UInt32($0), size: $0 * 20) })
        #expect(link.peerAddress == address)
        stop.post(true)
        thread.join()
        bench.run("the client sees the end") { recorder.reason == .peerClosed }
    }

    /// Carries bytes between two raw ends; the first flight of one side is changed.
    private func meet(
        _ bench: Bench, client: LinkSettings = .client(), changeClient: (inout [UInt8]) -> Void = { _ in },
        changeRelay: (inout [UInt8]) -> Void = { _ in }
    ) throws -> (atRelay: Recorder, atClient: Recorder) {
        let (_, atClient, clientWire) = try bench.clientLink(client)
        let (_, atRelay, relayWire) = try bench.relayLink()
        defer {
            Posix.closeRaw(clientWire)
            Posix.closeRaw(relayWire)
        }
        bench.settle()
        var flight = Posix.receive(clientWire, limit: 4096).1
        changeClient(&flight)
        #expect(Posix.send(relayWire, flight) == .done(flight.count))
        bench.run { Posix.waitReady(relayWire, milliseconds: 0) }
        var answer = Posix.receive(relayWire, limit: 4096).1
        changeRelay(&answer)
        if !answer.isEmpty { #expect(Posix.send(clientWire, answer) == .done(answer.count)) }
        bench.settle()
        return (atRelay, atClient)
    }

    @Test func `unchanged flights through a third party open both ends`() throws {
        let bench = try Bench()
        let (atRelay, atClient) = try meet(bench)
        #expect(atRelay.isOpen && atClient.isOpen)
    }

    @Test(.enabled(if: AEADSuite.aesAvailable))
    func `a suite struck from the client's offer breaks the handshake`() throws {
        let bench = try Bench()
        let (_, atClient) = try meet(bench, changeClient: { $0[6] = 1 })
        #expect(!atClient.isOpen)
        #expect(atClient.reason == .handshakeFailed(.notAuthentic))
    }

    @Test func `a version struck from the client's offer breaks the handshake`() throws {
        let bench = try Bench()
        let (_, atClient) = try meet(bench, changeClient: { $0[5] = 9 })
        #expect(atClient.reason == .handshakeFailed(.notAuthentic))
    }

    @Test func `reserved bits of the client's offer are ignored by the relay but bound by the handshake`()
        throws
    {
        let bench = try Bench()
        let (atRelay, atClient) = try meet(bench, changeClient: { $0[6] |= 0x80 })
        #expect(atRelay.isOpen)
        #expect(atClient.reason == .handshakeFailed(.notAuthentic))
    }

    @Test func `the relay may only choose what was offered`() throws {
        let bench = try Bench()
        let offer = LinkSettings.client(suites: .chaChaPoly)
        for wrong: (Int, UInt8) in [(5, 2), (5, 3), (5, 0), (4, 2), (4, 0)] {
            let (_, atClient) = try meet(bench, client: offer, changeRelay: { $0[wrong.0] = wrong.1 })
            #expect(atClient.reason == .handshakeFailed(.noCommonVersion))
        }
    }

    @Test func `a relay's message that is too long for a handshake is not waited for`() throws {
        let bench = try Bench()
        for (length, isTooLong) in [(4094, false), (4095, true), (65_535, true)] {
            let (_, recorder, wire) = try bench.clientLink()
            let relay = RawClient(wire, bench)
            let preface = LinkPreface.Relay.chosen(version: LinkPreface.version, suite: .chaChaPoly)
            relay.send(preface.bytes + [UInt8(length >> 8), UInt8(truncatingIfNeeded: length)])
            bench.settle()
            #expect(recorder.reason == (isTooLong ? .handshakeFailed(.malformed) : nil))
        }
    }

    @Test(arguments: [10, 50, 100, 250])
    func `a changed byte of the relay's message breaks the handshake`(index: Int) throws {
        let bench = try Bench()
        let (_, atClient) = try meet(bench, changeRelay: { $0[index] ^= 1 })
        #expect(atClient.reason == .handshakeFailed(.notAuthentic))
    }

    @Test func `a relay that is another one is refused`() throws {
        let bench = try Bench()
        let (_, atRelay, wire) = try bench.relayLink()
        let atClient = Recorder()
        _ = Link.handshake(
            over: FileDescriptor(owning: wire), context: bench.context, settings: .client(),
            expectedIdentity: [UInt8](repeating: 7, count: 32), delegate: atClient)
        bench.run { atClient.reason != nil && atRelay.reason != nil }
        #expect(atClient.reason == .handshakeFailed(.certificate(.otherIdentity)))
        #expect(!atClient.isOpen)
        #expect(atRelay.reason == .peerClosed)
    }

    @Test func `an expired certificate is refused`() throws {
        let bench = try Bench()
        let (_, atRelay, wire) = try bench.relayLink()
        bench.time.wallSeconds += RelayIdentity.defaultValidSeconds + 301
        let atClient = Recorder()
        _ = Link.handshake(
            over: FileDescriptor(owning: wire), context: bench.context, settings: .client(),
            delegate: atClient)
        bench.run { atClient.reason != nil }
        #expect(atClient.reason == .handshakeFailed(.certificate(.expired)))
        withExtendedLifetime(atRelay) {}
    }

    @Test func `a client without a common version is told so`() throws {
        let bench = try Bench()
        let (_, atRelay, wire) = try bench.relayLink()
        let client = RawClient(wire, bench)
        client.send(
            LinkPreface.Client(versionMin: 2, versionMax: 9, suites: .all).bytes
                + [UInt8](repeating: 0, count: 32))
        bench.run {
            client.read()
            return client.isEnded
        }
        #expect(LinkPreface.Relay(bytes: client.input) == .refusal(2))
        Posix.shutdownWriting(wire)
        bench.run { atRelay.reason != nil }
        #expect(atRelay.reason == .handshakeFailed(.noCommonVersion))
        #expect(!atRelay.isOpen)
    }

    @Test func `a connection that does not speak the protocol is closed without a word`() throws {
        let bench = try Bench()
        let (_, atRelay, wire) = try bench.relayLink()
        let client = RawClient(wire, bench)
        client.send(Array("GET / HTTP/1.1\r\nHost: example.com\r\n\r\n".utf8))
        bench.run {
            client.read()
            return client.isEnded
        }
        #expect(client.input.isEmpty)
        #expect(atRelay.reason == .handshakeFailed(.badPreface))
    }

    @Test func `a client's key of small order is refused`() throws {
        let bench = try Bench()
        let (_, atRelay, wire) = try bench.relayLink()
        let client = RawClient(wire, bench)
        client.send(LinkPreface.Client(suites: .chaChaPoly).bytes + [UInt8](repeating: 0, count: 32))
        bench.run { atRelay.reason != nil }
        #expect(atRelay.reason == .handshakeFailed(.malformed))
    }

    @Test func `the first flight may come byte by byte`() throws {
        let bench = try Bench()
        let (_, atClient, clientWire) = try bench.clientLink()
        let (_, atRelay, relayWire) = try bench.relayLink()
        defer {
            Posix.closeRaw(clientWire)
            Posix.closeRaw(relayWire)
        }
        bench.settle()
        for (from, to) in [(clientWire, relayWire), (relayWire, clientWire)] {
            for byte in Posix.receive(from, limit: 4096).1 {
                #expect(Posix.send(to, [byte]) == .done(1))
                bench.settle()
            }
        }
        #expect(atRelay.isOpen && atClient.isOpen)
    }
}

@Suite struct LinkCertificateTests {
    let identity = Ed25519.KeyPair.generate()
    let staticKey = X25519.generate().publicKey

    @Test func `a certificate holds at its time, with five minutes of tolerance`() throws {
        let certificate = LinkCertificate(
            identity: identity, staticKey: staticKey, notBefore: 1000, notAfter: 2000)
        #expect(certificate.bytes.count == 145)
        func check(_ now: Int64) -> LinkCertificate.Problem? {
            do throws(LinkCertificate.Problem) {
                _ = try LinkCertificate.check(
                    certificate.bytes, handshakeStatic: staticKey, expectedIdentity: identity.publicKey,
                    nowSeconds: now)
                return nil
            } catch { return error }
        }
        #expect(check(699) == .tooEarly)
        #expect(check(700) == nil)
        #expect(check(2300) == nil)
        #expect(check(2301) == .expired)
    }

    @Test func `any changed byte is noticed`() {
        let bytes = LinkCertificate(identity: identity, staticKey: staticKey, notBefore: 1, notAfter: 2).bytes
        for index in bytes.indices {
            var changed = bytes
            changed[index] ^= 1
            #expect(throws: index == 0 ? LinkCertificate.Problem.malformed : .badSignature) {
                try LinkCertificate(bytes: changed)
            }
        }
        #expect(throws: LinkCertificate.Problem.malformed) { try LinkCertificate(bytes: bytes + [0]) }
        #expect(throws: LinkCertificate.Problem.malformed) { try LinkCertificate(bytes: []) }
    }

    @Test func `extreme times overflow nothing`() throws {
        let certificate = LinkCertificate(
            identity: identity, staticKey: staticKey, notBefore: .min, notAfter: .max)
        _ = try LinkCertificate.check(
            certificate.bytes, handshakeStatic: staticKey, expectedIdentity: nil, nowSeconds: 1_800_000_000)
    }

    @Test func `another static key than the handshake's is refused`() {
        let bytes = LinkCertificate(identity: identity, staticKey: staticKey, notBefore: 1, notAfter: 2).bytes
        #expect(throws: LinkCertificate.Problem.otherStaticKey) {
            try LinkCertificate.check(
                bytes, handshakeStatic: X25519.generate().publicKey, expectedIdentity: nil, nowSeconds: 1)
        }
    }
}

@Suite struct RelayIdentityTests {
    @Test func `an identity reads back from its file, with and without its secret`() throws {
        let identity = RelayIdentity.create(nowSeconds: 1_800_000_000)
        let again = try RelayIdentity.decode(identity.encode())
        #expect(again.publicKey == identity.publicKey)
        #expect(again.identity?.seed == identity.identity?.seed)
        #expect(again.link.certificate == identity.link.certificate)
        let offline = try RelayIdentity.decode(identity.withoutIdentitySecret.encode())
        #expect(offline.identity == nil)
        #expect(offline.publicKey == identity.publicKey)
        #expect(offline.rotated(nowSeconds: 1) == nil)
    }

    @Test func `rotating keeps the identity and changes the static key`() throws {
        let identity = RelayIdentity.create(nowSeconds: 1_800_000_000, validSeconds: 90)
        let rotated = try #require(identity.rotated(nowSeconds: 1_800_000_050))
        #expect(rotated.publicKey == identity.publicKey)
        #expect(rotated.link.staticKey.publicKey != identity.link.staticKey.publicKey)
        #expect(rotated.link.certificate.notAfter > identity.link.certificate.notAfter)
    }

    @Test func `a certificate is replaced in the last third of its time`() {
        let identity = RelayIdentity.create(nowSeconds: 0, validSeconds: 300 * 86400)
        #expect(!identity.shouldRotate(nowSeconds: 199 * 86400))
        #expect(identity.shouldRotate(nowSeconds: 201 * 86400))
    }

    @Test func `a certificate whose time has not come is replaced: a clock that was ahead made it`() {
        let identity = RelayIdentity.create(nowSeconds: 4_000_000_000)
        #expect(identity.shouldRotate(nowSeconds: 1_800_000_000))
        #expect(!identity.shouldRotate(nowSeconds: 4_000_000_000))
        // Clocks differ by some minutes.
        #expect(!identity.shouldRotate(nowSeconds: 4_000_000_000 - 1800))
    }

    @Test(arguments: [
        (Int64.min, Int64.max, false), (.min, .min + 1, true), (.max - 1, .max, true), (-5, 5, true),
    ]) func `impossible times in a certificate are only numbers`(from: Int64, until: Int64, ends: Bool) throws
    {
        let keys = X25519.generate()
        let pair = Ed25519.KeyPair.generate()
        let certificate = LinkCertificate(
            identity: pair, staticKey: keys.publicKey, notBefore: from, notAfter: until)
        let file = """
            antenna relay identity 1
            static-secret \(Base64URL.encode(keys.secretKey.copied(), padded: false))
            certificate \(Base64URL.encode(certificate.bytes, padded: false))
            """
        let identity = try RelayIdentity.decode(Array(file.utf8))
        for now in [0, 1_800_000_000, Int64.min, .max] { _ = identity.shouldRotate(nowSeconds: now) }
        #expect(identity.shouldRotate(nowSeconds: 1_800_000_000) == ends)
    }

    @Test func `files that are wrong are refused and say how`() {
        let good = String(decoding: RelayIdentity.create(nowSeconds: 0).encode(), as: UTF8.self)
        let other = String(decoding: RelayIdentity.create(nowSeconds: 0).encode(), as: UTF8.self)
        let lines = good.split(separator: "\n").map(String.init)
        let others = other.split(separator: "\n").map(String.init)
        func problem(_ lines: [String]) -> RelayIdentity.FileProblem? {
            do throws(RelayIdentity.FileProblem) {
                _ = try RelayIdentity.decode(Array(lines.joined(separator: "\n").utf8))
                return nil
            } catch { return error }
        }
        #expect(problem([]) == .notAnIdentity)
        #expect(problem(["hello"]) == .notAnIdentity)
        #expect(problem([lines[0], lines[1], lines[3]]) == .missing("static-secret"))
        #expect(problem([lines[0], lines[1], lines[2]]) == .missing("certificate"))
        #expect(problem([lines[0], lines[1], "static-secret !!", lines[3]]) == .line(3))
        #expect(problem(lines + [lines[2]]) == .line(5))
        #expect(problem([lines[0], lines[1], others[2], lines[3]]) == .mismatch)
        #expect(problem([lines[0], others[1], lines[2], lines[3]]) == .mismatch)
        #expect(problem([lines[0], lines[1], lines[2], lines[3] + "AAAA"]) == .certificate(.malformed))
        #expect(problem(lines) == nil)
    }

    @Test("what is wrong with a certificate is said in words, each its own")
    func words() {
        let texts = LinkCertificate.Problem.allCases.map { "\($0)" }
        #expect(Set(texts).count == texts.count)
        #expect(texts.allSatisfy { $0.contains(" ") && !$0.contains("Identity") })
    }
}
