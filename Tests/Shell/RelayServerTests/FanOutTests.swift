import ChannelWire
import PosixKit
import RelayServer
import Testing

/// `FANOUT_SUBSCRIBERS`, `FANOUT_MESSAGES`, `FANOUT_BYTES` and `FANOUT_LOOPS` make a measurement of it; the figures are
/// printed then.
@Suite("A relay with many subscribers")
struct FanOutTests {
    private static func number(_ name: String, _ standard: Int) -> Int {
        Posix.environment("FANOUT_" + name).flatMap(Int.init) ?? standard
    }

    @Test("delivers every message to every subscriber, once and in order")
    func everybody() throws {
        let subscribers = FanOutTests.number("SUBSCRIBERS", 100)
        let messages = FanOutTests.number("MESSAGES", 50)
        let bytes = FanOutTests.number("BYTES", 1024)
        let loops = FanOutTests.number("LOOPS", 2)
        Posix.raiseDescriptorLimit()
        let relay = try TestRelay {
            $0.loops = loops
            $0.connectionsPerAddressMax = 100_000
        }
        let net = try TestNet()
        let channel = TestChannel()
        try channel.serve(relay, net)

        let joining = Clock.monotonicNanoseconds()
        let seen = Seen(count: subscribers)
        var clients: [TestClient] = []
        for index in 0..<subscribers {
            let (client, _, _) = try channel.subscribe(relay, net)
            client.each { frame in
                guard case .deliver(let sequence, _) = frame else { return }
                seen.saw(sequence, index)
            }
            clients.append(client)
        }
        let joined = Clock.monotonicNanoseconds()

        let writer = try channel.attachOwner(relay, net)
        var acknowledged = 0
        writer.each { frame in
            if case .ack(_, let results) = frame, results == [.stored(Int64(acknowledged + 1))] {
                acknowledged += 1
            }
        }
        let text = String(repeating: "x", count: bytes)
        let elements = (0..<messages).map { _ in channel.owner.post(channel.id, text) }
        // The clients are on this thread, the relay is on all others.
        let cpuBefore = Clock.processNanoseconds() - Clock.threadNanoseconds()
        let start = Clock.monotonicNanoseconds()
        for (number, element) in elements.enumerated() {
            writer.send(.publish(request: UInt32(number + 1), body: element))
            try net.wait("room") { writer.link?.queuedBytes ?? 0 < 32 << 10 }
        }
        try net.wait("every delivery", seconds: 120) { seen.total == subscribers * messages }
        let end = Clock.monotonicNanoseconds()
        let cpu = Clock.processNanoseconds() - Clock.threadNanoseconds() - cpuBefore

        #expect(acknowledged == messages)
        #expect(seen.outOfOrder == 0)
        #expect(seen.positions.allSatisfy { $0 == Int64(messages) })
        if Posix.environment("FANOUT_SUBSCRIBERS") != nil {
            let milliseconds = (end - start) / 1_000_000
            let deliveries = UInt64(subscribers * messages)
            let rate = deliveries * 1000 / max(1, milliseconds)
            print("\(subscribers) joined in \((joined - joining) / 1_000_000) ms;")
            print("\(deliveries) deliveries of \(bytes) B in \(milliseconds) ms, \(rate)/s;")
            print("CPU of the relay \(cpu / deliveries) ns each; resident \(Posix.residentBytes() >> 20) MiB")
        }
    }

    /// Where each subscriber stands.
    private final class Seen {
        var positions: [Int64]
        var total = 0
        var outOfOrder = 0

        init(count: Int) { positions = [Int64](repeating: 0, count: count) }

        func saw(_ sequence: Int64, _ index: Int) {
            if sequence != positions[index] + 1 { outOfOrder += 1 }
            positions[index] = sequence
            total += 1
        }
    }
}
