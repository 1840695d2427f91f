import LibeventLoop
import PosixKit
import SodiumCrypto
import Testing

@testable import LinkRuntime

/// Many handshakes at once. Source: limits.md, "Under attack".
@Suite struct HandshakeStormTests {
    private let firstFlight = LinkPreface.Client(suites: .chaChaPoly).bytes + X25519.generate().publicKey

    @Test func `a turn of the loop answers one handshake, and most of the time is for others`() throws {
        let bench = try Bench()
        let atRelay = Recorder()
        var opened = 0
        atRelay.onOpen = { _ in opened += 1 }
        let count = 100
        let wires = try storm(bench, atRelay, count)
        defer { for wire in wires { Posix.closeRaw(wire) } }
        var most = 0
        var answering: UInt64 = 0
        let start = Clock.monotonicNanoseconds()
        while opened < count, Clock.monotonicNanoseconds() - start < 10_000_000_000 {
            let before = opened
            let turn = Clock.threadNanoseconds()
            bench.loop.runOnce(waiting: false)
            if opened > before { answering += Clock.threadNanoseconds() - turn }
            most = max(most, opened - before)
        }
        #expect(opened == count)
        #expect(most == 1)
        let all = Clock.monotonicNanoseconds() - start
        // Some it may do at once, and not all of such a turn is the handshake's.
        #expect(answering < all * 45 / 100 + UInt64(LinkLoopContext.handshakeCreditMax))
    }

    @Test func `those who have hung up meanwhile keep nobody waiting`() throws {
        let bench = try Bench()
        let gone = Recorder()
        for wire in try storm(bench, gone, 60) { Posix.closeRaw(wire) }
        let (_, atRelay, wire) = try bench.relayLink()
        defer { Posix.closeRaw(wire) }
        #expect(Posix.send(wire, firstFlight) == .done(firstFlight.count))
        var turns = 0
        while !atRelay.isOpen, turns < 20 {
            bench.loop.runOnce(waiting: false)
            turns += 1
        }
        #expect(atRelay.isOpen)
        #expect(!gone.isOpen)
    }

    /// So many connections with a whole first flight; their other ends.
    private func storm(_ bench: Bench, _ atRelay: Recorder, _ count: Int) throws -> [Int32] {
        try (0..<count).map { _ in
            let (a, b) = try Posix.socketPair()
            _ = Link.accept(
                FileDescriptor(owning: a), peer: nil, context: bench.context, settings: bench.relaySettings(),
                delegate: atRelay)
            #expect(Posix.send(b, firstFlight) == .done(firstFlight.count))
            return b
        }
    }

    @Test func `who hangs up at once gets no answer, whatever else it sent`() throws {
        let bench = try Bench()
        let (_, atRelay, wire) = try bench.relayLink()
        let client = RawClient(wire, bench)
        client.send(firstFlight + firstFlight)
        Posix.shutdownWriting(wire)
        bench.run { atRelay.reason != nil }
        #expect(atRelay.reason == .peerClosed)
        #expect(!atRelay.isOpen)
        bench.run {
            client.read()
            return client.isEnded
        }
        #expect(client.input.isEmpty)
    }

    @Test func `what comes behind a handshake that waits is left with the kernel`() throws {
        let bench = try Bench()
        // The first is answered, so the second waits.
        let (_, _, first) = try bench.relayLink()
        let (link, atRelay, wire) = try bench.relayLink()
        defer {
            Posix.closeRaw(first)
            Posix.closeRaw(wire)
        }
        let more = [UInt8](repeating: 255, count: 60_000)
        #expect(Posix.send(first, firstFlight) == .done(firstFlight.count))
        #expect(Posix.send(wire, firstFlight + more) == .done(firstFlight.count + more.count))
        bench.loop.runOnce(waiting: false)
        #expect(link.isHandshaking)
        #expect(link.bufferBytes >= firstFlight.count)
        // The capacity of what is kept may be somewhat more than is in it.
        #expect(link.bufferBytes <= 2 * LinkHandshake.inputBytesMax)
        bench.run { atRelay.isOpen }
    }
}
