import ChannelWire
import LibeventLoop
import LinkRuntime
import PosixKit
import SodiumCrypto
import Testing

@Suite struct LinkMemoryTests {
    @Test(arguments: [AEADSuite.chaChaPoly, .aesGCM].filter { $0 != .aesGCM || AEADSuite.aesAvailable })
    func `a thousand idle links hold no buffer and no handshake`(suite: AEADSuite) throws {
        let bench = try Bench()
        let settings = bench.relaySettings(suites: suite == .aesGCM ? .aesGCM : .chaChaPoly)
        let atRelay = Recorder()
        var links: [Link] = []
        var clients: [RawClient] = []
        func open(_ count: Int) throws {
            for _ in 0..<count {
                let (a, b) = try Posix.socketPair()
                links.append(
                    Link.accept(
                        FileDescriptor(owning: a), peer: nil, context: bench.context, settings: settings,
                        delegate: atRelay))
                let client = RawClient(b, bench, suite: suite)
                try client.handshake()
                client.send(try client.record(testRequest(1, size: 10).encode()))
                clients.append(client)
            }
        }
        try open(1000)
        bench.run { atRelay.frames.count == 1000 }
        #expect(links.allSatisfy { $0.isOpen && $0.bufferBytes == 0 && !$0.isHandshaking })
        #expect(bench.context.linkCount == 1000)
    }

    @Test func `buffers are there while they are needed and gone afterwards`() throws {
        let bench = try Bench()
        let (link, recorder, wire) = try bench.relayLink()
        let client = RawClient(wire, bench)
        try client.handshake()
        #expect(link.bufferBytes == 0)
        let record = try client.record(testRequest(1, size: 1000).encode())
        client.send(Array(record[..<500]))
        bench.settle()
        #expect(link.bufferBytes >= 500)
        client.send(Array(record[500...]))
        bench.run { recorder.frames.count == 1 }
        #expect(link.bufferBytes == 0)
        while link.canSendBulk { link.sendBulk(testFrame(1, size: 16_000).encode()) }
        link.send(testFrame(2))
        #expect(link.bufferBytes > 0)
        #expect(link.bufferBytes < 3 * 16_384, "one record at most")
        bench.run {
            client.read()
            return link.canSendBulk && link.queuedBytes == 0
        }
        #expect(link.bufferBytes == 0)
    }
}
