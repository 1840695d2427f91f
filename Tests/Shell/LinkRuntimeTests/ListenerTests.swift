import ChannelWire
import LibeventLoop
import LinkRuntime
import PosixKit
import SodiumCrypto
import Testing

@Suite struct LinkListenerTests {
    let bench: Bench
    init() throws { bench = try Bench() }

    private func connect(_ listener: LinkListener) throws -> (Link, Recorder) {
        let recorder = Recorder()
        let address = try #require(listener.address)
        let link = Link.connect(
            to: [address], context: bench.context, settings: .client(),
            expectedIdentity: bench.identity.publicKey,
            delegate: recorder)
        return (link, recorder)
    }

    private func listen(
        admit: @escaping LinkListener.Admit = { _ in nil },
        trouble: @escaping (PosixError) -> Void = { _ in },
        accept: @escaping (Int32) -> AcceptResult = Posix.accept, pace: UInt64 = LinkListener.pace,
        recorder: Recorder = Recorder()
    ) throws -> LinkListener {
        let bench = self.bench
        let settings = bench.relaySettings()
        return LinkListener(
            loop: bench.loop, socket: try Posix.listen(tcp: .loopback(port: 0)), admit: admit,
            trouble: trouble,
            accept: accept, pace: pace
        ) { connection, peer in
            _ = Link.accept(
                connection, peer: peer, context: bench.context, settings: settings, delegate: recorder)
        }
    }

    @Test func `connections over a limit are refused in the preface and the others live on`() throws {
        let counter = ConnectionCounter(totalMax: 100, perAddressMax: 2)
        let listener = try listen(admit: { counter.enter($0) ? nil : .tooManyConnections })
        let first = try [connect(listener), connect(listener)]
        bench.run { first.allSatisfy { $0.1.isOpen } }
        let (_, third) = try connect(listener)
        bench.run { third.reason != nil }
        #expect(third.reason == .refused(code: 6))
        #expect(listener.refusedCount == 1)
        #expect(first.allSatisfy { $0.0.isOpen })
        counter.leave(first[0].0.peerAddress)
        let (_, fourth) = try connect(listener)
        bench.run { fourth.isOpen }
    }

    @Test func `a refusal may have another reason`() throws {
        let listener = try listen(admit: { _ in .draining })
        let (_, recorder) = try connect(listener)
        bench.run { recorder.reason != nil }
        #expect(recorder.reason == .refused(code: 7))
    }

    @Test func `connections without end are accepted at a measured pace`() throws {
        var accepted = 0
        let pace: UInt64 = 4_000_000
        let listener = try listen(
            admit: { _ in
                accepted += 1
                return nil
            }, pace: pace)
        let address = try #require(listener.address)
        let beyond = 50
        let start = Clock.monotonicNanoseconds()
        let clients = try (0..<LinkListener.creditMax + beyond).map { _ in
            try Posix.connect(tcp: address).release()
        }
        defer { for client in clients { Posix.closeRaw(client) } }
        bench.run { accepted == clients.count }
        // Beyond those that may come at once.
        #expect(Clock.monotonicNanoseconds() - start >= UInt64(beyond - 1) * pace)
        #expect(!listener.isBackingOff)
    }

    @Test func `without descriptors the listener waits instead of spinning, and says so once`() throws {
        var tries = 0
        var isOut = true
        var troubles: [PosixError] = []
        let listener = try listen(
            trouble: { troubles.append($0) },
            accept: { raw in
                tries += 1
                return isOut
                    ? .failed(PosixError(errno: PosixErrno.tooManyFiles, call: "accept")) : Posix.accept(raw)
            })
        let (_, recorder) = try connect(listener)
        let start = Clock.monotonicNanoseconds()
        bench.run { tries == 3 }
        // 100 ms and 200 ms lie between the three attempts.
        #expect(Clock.monotonicNanoseconds() - start >= 290_000_000)
        #expect(troubles.count == 1)
        #expect(troubles.first?.isOutOfDescriptors == true)
        #expect(listener.isBackingOff)
        #expect(recorder.reason == nil)
        isOut = false
        bench.run { recorder.isOpen }
        #expect(!listener.isBackingOff)
        bench.run { tries >= 5 }
        isOut = true
        let (_, second) = try connect(listener)
        bench.run { troubles.count == 2 }
        withExtendedLifetime(second) {}
    }

    @Test func `one connection let in between two failures does not end the trouble`() throws {
        var tries = 0
        var troubles = 0
        let listener = try listen(
            trouble: { _ in troubles += 1 },
            accept: { raw in
                tries += 1
                return tries == 1 || tries == 3
                    ? .failed(PosixError(errno: PosixErrno.tooManyFiles, call: "accept")) : Posix.accept(raw)
            })
        let clients = try [connect(listener), connect(listener)]
        bench.run { clients.allSatisfy { $0.1.isOpen } }
        #expect(tries >= 4 && troubles == 1)
    }

    @Test func `a stopped listener accepts nobody and keeps whom it has`() throws {
        let listener = try listen()
        let (link, recorder) = try connect(listener)
        bench.run { recorder.isOpen }
        listener.stop()
        let (_, late) = try connect(listener)
        bench.settle()
        #expect(!late.isOpen)
        #expect(link.isOpen)
    }

    @Test func `a client tries its addresses in order`() throws {
        let dead = try Posix.listen(tcp: .loopback(port: 0))
        let deadAddress = try #require(Posix.localAddress(dead.raw))
        Posix.closeRaw(dead.release())
        let listener = try listen()
        let recorder = Recorder()
        let link = Link.connect(
            to: [deadAddress, try #require(listener.address)], context: bench.context, settings: .client(),
            delegate: recorder)
        bench.run { recorder.isOpen }
        #expect(link.peerAddress == listener.address)
    }

    @Test func `a client without a living address says why`() throws {
        let dead = try Posix.listen(tcp: .loopback(port: 0))
        let deadAddress = try #require(Posix.localAddress(dead.raw))
        Posix.closeRaw(dead.release())
        let recorder = Recorder()
        _ = Link.connect(to: [deadAddress], context: bench.context, settings: .client(), delegate: recorder)
        #expect(recorder.reason == nil, "never from inside the call")
        bench.run { recorder.reason != nil }
        guard case .unreachable(let error)? = recorder.reason else {
            Issue.record("\(String(describing: recorder.reason))")
            return
        }
        #expect(error.isRefused)
        let nowhere = Recorder()
        _ = Link.connect(to: [], context: bench.context, settings: .client(), delegate: nowhere)
        bench.run { nowhere.reason != nil }
    }

    @Test func `an address that does not answer is left after its deadline`() throws {
        // A listener with a full backlog does not complete connections.
        let full = try Posix.listen(tcp: .loopback(port: 0), backlog: 0)
        let address = try #require(Posix.localAddress(full.raw))
        var fillers: [Int32] = []
        defer { fillers.forEach { Posix.closeRaw($0) } }
        for _ in 0..<4 { fillers.append(try Posix.connect(tcp: address).release()) }
        let listener = try listen()
        let recorder = Recorder()
        let link = Link.connect(
            to: [address, try #require(listener.address)], context: bench.context, settings: .client(),
            delegate: recorder)
        bench.settle()
        #expect(!recorder.isOpen)
        bench.advance(milliseconds: 11_000)
        bench.run { recorder.isOpen }
        #expect(link.peerAddress == listener.address)
        _ = full.raw
    }
}

@Suite struct ConnectionCounterTests {
    @Test func `both limits hold, and leaving makes room`() throws {
        let counter = ConnectionCounter(totalMax: 3, perAddressMax: 2)
        let one = try #require(SocketAddress.parse("10.0.0.1:1"))
        let two = try #require(SocketAddress.parse("10.0.0.2:1"))
        #expect(counter.enter(one))
        #expect(counter.enter(one.with(port: 9)))
        #expect(!counter.enter(one), "two from this address")
        #expect(counter.enter(two))
        #expect(!counter.enter(nil), "three in all")
        counter.leave(one)
        #expect(counter.count(one) == 1)
        #expect(counter.enter(nil))
        #expect(counter.total == 3)
    }
    @Test func `who is refused counts nowhere, and of who has gone nothing is kept`() throws {
        let counter = ConnectionCounter(totalMax: 2, perAddressMax: 2)
        let peers = try (0..<100).map { try #require(SocketAddress.parse("10.0.1.\($0):1")) }
        for peer in peers {
            #expect(counter.enter(peer) && counter.enter(nil))
            #expect(!counter.enter(peer) && !counter.enter(peers[0]), "two in all")
            #expect(counter.count(peer) == 1 && counter.total == 2 && counter.addressCount == 1)
            counter.leave(peer)
            counter.leave(nil)
        }
        #expect(counter.total == 0 && counter.addressCount == 0)
    }

    @Test func `other limits count from then on, and who is in stays`() throws {
        let counter = ConnectionCounter(totalMax: 1, perAddressMax: 1)
        let peer = try #require(SocketAddress.parse("10.0.0.1:1"))
        #expect(counter.enter(peer))
        counter.setLimits(totalMax: 5, perAddressMax: 3)
        #expect(counter.enter(peer) && counter.enter(peer))
        #expect(!counter.enter(peer), "three from this address")
        #expect(counter.enter(nil))
        counter.setLimits(totalMax: 5, perAddressMax: 1)
        #expect(counter.count(peer) == 3)
        counter.leave(peer)
        #expect(!counter.enter(peer), "two are one too many already")
        counter.setLimits(totalMax: 2, perAddressMax: 9)
        #expect(!counter.enter(nil) && counter.totalMax == 2)
    }
}
