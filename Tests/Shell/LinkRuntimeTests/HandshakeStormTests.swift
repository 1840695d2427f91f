import LibeventLoop
import PosixKit
import SodiumCrypto
import Testing

@testable import LinkRuntime

/// Many handshakes at once. Source: limits.md, "Under attack".
@Suite struct HandshakeStormTests {
    private let firstFlight = LinkPreface.Client(suites: .chaChaPoly).bytes + X25519.generate().publicKey

    @Test func `a turn of the loop answers one handshake`() throws {
        let bench = try Bench()
        let atRelay = Recorder()
        var opened = 0
        atRelay.onOpen = { _ in opened += 1 }
        let count = 30
        let wires = try storm(bench, atRelay, count)
        defer { for wire in wires { Posix.closeRaw(wire) } }
        var most = 0
        let start = Clock.monotonicNanoseconds()
        while opened < count, Clock.monotonicNanoseconds() - start < 10_000_000_000 {
            let before = opened
            bench.loop.runOnce(waiting: false)
            most = max(most, opened - before)
        }
        #expect(opened == count)
        #expect(most == 1)
    }

    @Test func `handshakes get a third of the time, however many there are`() {
        let work: UInt64 = 150_000
        let second: UInt64 = 1_000_000_000
        var pace = HandshakePace(now: 0)
        var (now, answered): (UInt64, UInt64) = (0, 0)
        while now < 10 * second {
            now += work
            answered += 1
            // The timer is late by some part of a tick.
            let pause = pace.answered(in: work, now: now)
            if pause > 0 { now += UInt64(pause) * 1_000_000 + answered * 7 % 4 * 1_000_000 }
        }
        let share = Double(answered * work) / Double(now)
        #expect((0.3...0.34).contains(share))
    }

    @Test func `one that took very long, and a long rest, are soon forgotten`() {
        let second: UInt64 = 1_000_000_000
        var pace = HandshakePace(now: 0)
        #expect(pace.answered(in: 5 * second, now: 5 * second) <= 6)
        // What was not used for an hour is no more than a burst.
        var now = 3600 * second
        var burst = 0
        while burst < 100, pace.answered(in: 150_000, now: now) == 0 {
            burst += 1
            now += 150_000
        }
        #expect((10...25).contains(burst))
    }

    @Test func `the oldest goes first, and the newest where very many wait`() {
        var queue = HandshakeQueue<Int>(patient: 3) { _ in false }
        for number in 1...3 { queue.add(number) }
        #expect([queue.take(), queue.take()] == [1, 2])
        for number in 4...7 { queue.add(number) }
        #expect([queue.take(), queue.take()] == [7, 6])
        #expect([queue.take(), queue.take(), queue.take(), queue.take()] == [3, 4, 5, nil])
        #expect(queue.isEmpty)
    }

    @Test func `a queue does not fill with those whose time is over`() {
        var over: Set<Int> = []
        var queue = HandshakeQueue<Int>(patient: 10) { over.contains($0) }
        var most = 0
        for number in 1...10_000 {
            queue.add(number)
            // Nobody is served, and after five more each is given up.
            if number > 5 { over.insert(number - 5) }
            most = max(most, queue.count)
        }
        #expect(most <= 20)
        // Those that live are kept, however many.
        for number in 20_001...20_100 { queue.add(number) }
        #expect(queue.count >= 100)
    }

    @Test func `those who have hung up meanwhile keep nobody waiting`() throws {
        let bench = try Bench()
        let gone = Recorder()
        var ended = 0
        gone.onClose = { _ in ended += 1 }
        let wires = try storm(bench, gone, 60)
        // One is answered, the others wait; then they go.
        bench.run { gone.isOpen }
        for wire in wires { Posix.closeRaw(wire) }
        let (_, atRelay, wire) = try bench.relayLink()
        defer { Posix.closeRaw(wire) }
        #expect(Posix.send(wire, firstFlight) == .done(firstFlight.count))
        var turnsForThem = 0
        let start = Clock.monotonicNanoseconds()
        while !atRelay.isOpen, Clock.monotonicNanoseconds() - start < 10_000_000_000 {
            let before = ended
            bench.loop.runOnce(waiting: false)
            if ended > before { turnsForThem += 1 }
        }
        #expect(atRelay.isOpen)
        #expect(ended == wires.count)
        #expect(turnsForThem <= 4)
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
