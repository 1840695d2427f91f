import ChannelWire
import LibeventLoop
import LinkRuntime
import PosixKit
import SodiumCrypto
import Testing

/// Peers that send anything at all: the link may end, the process may not.
@Suite struct HostileInputTests {
    /// SplitMix64, so that a seed repeats a run: SEED in the environment.
    struct Randomness: RandomNumberGenerator {
        var state: UInt64
        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var mixed = state
            mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
            mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
            return mixed ^ (mixed >> 31)
        }
    }

    static let seed = Posix.environment("SEED").flatMap { UInt64($0) } ?? UInt64.random(in: 0...UInt64.max)

    /// Valid frames, some of them bent.
    private func plaintext(_ random: inout Randomness) -> [UInt8] {
        var bytes: [UInt8] = []
        for _ in 0..<Int.random(in: 1...4, using: &random) {
            let size = Int.random(in: 0...300, using: &random)
            let body = (0..<size).map { _ in UInt8.random(in: 0...255, using: &random) }
            let type =
                Bool.random(using: &random)
                ? FrameType.allCases.randomElement(using: &random)?.rawValue ?? 3
                : UInt8.random(in: 0...255, using: &random)
            let claimed =
                Int.random(in: 0...9, using: &random) == 0 ? Int.random(in: 0...20_000, using: &random) : size
            bytes += [type, UInt8(claimed >> 8), UInt8(truncatingIfNeeded: claimed)] + body
        }
        return bytes
    }

    @Test func `authentic records with any content end the link at most`() throws {
        print("SEED=\(Self.seed)")
        var random = Randomness(state: Self.seed)
        let bench = try Bench()
        for round in 0..<150 {
            let (_, atRelay, wire) = try bench.relayLink()
            let client = RawClient(wire, bench)
            try client.handshake()
            for _ in 0..<20 where atRelay.reason == nil {
                _ = Posix.send(wire, try client.record(plaintext(&random)))
                bench.settle()
                client.read()
                if client.isEnded { break }
            }
            Posix.shutdownWriting(wire)
            bench.run("round \(round) ends") {
                client.read()
                return atRelay.reason != nil
            }
            #expect(atRelay.callsAfterClose == 0)
        }
        bench.run { bench.context.linkCount == 0 }
    }

    @Test func `any bytes in place of the handshake end the link at most`() throws {
        print("SEED=\(Self.seed)")
        var random = Randomness(state: Self.seed)
        let bench = try Bench()
        for round in 0..<200 {
            let towardsRelay = round % 2 == 0
            let (_, recorder, wire) = towardsRelay ? try bench.relayLink() : try bench.clientLink()
            var bytes = (0..<Int.random(in: 0...600, using: &random)).map { _ in
                UInt8.random(in: 0...255, using: &random)
            }
            let start =
                towardsRelay
                ? LinkPreface.Client(suites: .all).bytes
                : LinkPreface.Relay.chosen(version: 1, suite: .chaChaPoly).bytes
            if Bool.random(using: &random) { bytes = start + bytes }
            _ = Posix.send(wire, bytes)
            bench.settle()
            Posix.shutdownWriting(wire)
            bench.run("round \(round) ends") {
                _ = Posix.receive(wire, limit: 4096)
                return recorder.reason != nil
            }
            #expect(!recorder.isOpen || towardsRelay)
            Posix.closeRaw(wire)
        }
    }
}
