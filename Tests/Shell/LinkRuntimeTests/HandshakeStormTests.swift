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
        let count = 50
        var wires: [Int32] = []
        defer { for wire in wires { Posix.closeRaw(wire) } }
        for _ in 0..<count {
            let (a, b) = try Posix.socketPair()
            _ = Link.accept(
                FileDescriptor(owning: a), peer: nil, context: bench.context, settings: bench.relaySettings(),
                delegate: atRelay)
            #expect(Posix.send(b, firstFlight) == .done(firstFlight.count))
            wires.append(b)
        }
        var most = 0
        var answering: UInt64 = 0
        let start = Clock.monotonicNanoseconds()
        bench.run {
            let before = opened
            let turn = Clock.monotonicNanoseconds()
            bench.loop.runOnce(waiting: false)
            if opened > before { answering += Clock.monotonicNanoseconds() - turn }
            most = max(most, opened - before)
            return opened == count
        }
        #expect(most == 1)
        let all = Clock.monotonicNanoseconds() - start
        // What it may do at once is beyond its part; the rest of a turn is not the handshake's.
        #expect(answering < all / 2 + UInt64(LinkLoopContext.handshakeCreditMax))
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
        #expect(Posix.send(first, firstFlight) == .done(firstFlight.count))
        bench.run { Posix.waitReady(first, milliseconds: 0) }
        let more = [UInt8](repeating: 255, count: 60_000)
        #expect(Posix.send(wire, firstFlight + more) == .done(firstFlight.count + more.count))
        var most = 0
        bench.run {
            most = max(most, link.bufferBytes)
            return atRelay.isOpen
        }
        #expect(most <= LinkHandshake.inputBytesMax)
    }
}
