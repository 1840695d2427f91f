import ChannelWire
import LibeventLoop
import LinkRuntime
import PosixKit
import SodiumCrypto
import Testing

@Suite struct LinkDeadlineTests {
    let bench: Bench
    init() throws { bench = try Bench() }

    private func openRaw(
        _ deadlines: LinkDeadlines = LinkDeadlines()
    ) throws -> (Link, Recorder, RawClient) {
        let (link, recorder, wire) = try bench.relayLink(bench.relaySettings(deadlines: deadlines))
        let client = RawClient(wire, bench)
        try client.handshake()
        return (link, recorder, client)
    }

    @Test(arguments: [0, 8, 39])
    func `a first flight that is not whole in ten seconds ends the link`(bytes: Int) throws {
        let (_, recorder, wire) = try bench.relayLink()
        let client = RawClient(wire, bench)
        let flight = LinkPreface.Client(suites: .chaChaPoly).bytes + [UInt8](repeating: 9, count: 32)
        if bytes > 0 { client.send(Array(flight[..<bytes])) }
        bench.settle()
        bench.advance(milliseconds: 9900)
        #expect(recorder.reason == nil)
        bench.advance(milliseconds: 1100)
        #expect(recorder.reason == .timedOut(.handshake))
    }

    @Test func `many deadlines at once are dealt with a few in each turn of the loop`() throws {
        let many = try (0..<200).map { _ in try bench.relayLink() }
        defer { for (_, _, wire) in many { Posix.closeRaw(wire) } }
        func ended() -> Int { many.count { $0.1.reason != nil } }
        bench.time.nanoseconds += 11_000_000_000
        bench.context.sweep(for: 0)
        #expect((1...50).contains(ended()))
        var most = 0
        bench.run {
            let before = ended()
            bench.loop.runOnce(waiting: false)
            most = max(most, ended() - before)
            return ended() == many.count
        }
        // Half a millisecond of them.
        #expect(most < many.count - 16)
    }

    @Test func `a client gives a silent relay ten seconds too`() throws {
        let (_, recorder, wire) = try bench.clientLink()
        bench.settle()
        bench.advance(milliseconds: 11_000)
        #expect(recorder.reason == .timedOut(.handshake))
        Posix.closeRaw(wire)
    }

    @Test func `a link without an opening frame is told so after ten seconds`() throws {
        let (_, recorder, client) = try openRaw()
        client.send(try client.record(Frame.ping([0, 0, 0, 0, 0, 0, 0, 1]).encode()))
        bench.run {
            client.read()
            return !client.input.isEmpty
        }
        #expect(try client.frames().count == 1, "a PING is no opening frame")
        bench.advance(milliseconds: 9900)
        bench.settle()
        #expect(recorder.reason == nil)
        bench.advance(milliseconds: 1100)
        bench.run {
            client.read()
            return client.isEnded
        }
        guard case .error(let error)? = try client.frames().last else {
            Issue.record("an ERROR is expected")
            return
        }
        #expect(error.known == .timeout)
        Posix.shutdownWriting(client.descriptor)
        bench.run { recorder.reason != nil }
        #expect(recorder.reason == .timedOut(.firstFrame))
    }

    @Test func `a record begun and not finished ends the link, however the bytes trickle`() throws {
        let (_, recorder, client) = try openRaw()
        client.send(try client.record(testRequest(1).encode()))
        bench.run { recorder.frames.count == 1 }
        let record = try client.record(testRequest(2).encode())
        for index in 0..<4 {
            client.send([record[index]])
            bench.settle()
            bench.advance(milliseconds: 7000)
            #expect(recorder.reason == nil)
        }
        bench.advance(milliseconds: 3000)
        #expect(recorder.reason == .timedOut(.record))
        #expect(recorder.frames.count == 1)
    }

    @Test func `a finished record stops its clock`() throws {
        let (_, recorder, client) = try openRaw()
        client.send(try client.record(testRequest(9).encode()))
        bench.settle()
        for number in 1...5 {
            let record = try client.record(testRequest(UInt32(number)).encode())
            client.send(Array(record[..<10]))
            bench.settle()
            bench.advance(milliseconds: 20_000)
            client.send(Array(record[10...]))
            bench.settle()
        }
        #expect(recorder.reason == nil)
        #expect(recorder.frames.count == 6)
    }

    @Test func `a silent peer gets a PING and, when it answers, stays`() throws {
        let pair = try bench.openPair()
        pair.client.send(testRequest(1))
        bench.run { pair.atRelay.frames.count == 1 }
        for _ in 0..<20 {
            bench.advance(milliseconds: 30_000)
            bench.settle()
        }
        #expect(pair.relay.isOpen && pair.client.isOpen)
        #expect(pair.atRelay.frames.count == 1 && pair.atClient.frames.isEmpty)
    }

    private func expectPing(_ client: RawClient) throws {
        bench.run {
            client.read()
            return !client.input.isEmpty
        }
        guard case .ping? = try client.frames().first else {
            Issue.record("a PING is expected")
            return
        }
    }

    @Test func `a silent peer that does not answer is gone after thirty seconds more`() throws {
        let (_, recorder, client) = try openRaw()
        client.send(try client.record(testRequest(1).encode()))
        bench.run { recorder.frames.count == 1 }
        bench.advance(milliseconds: 89_900)
        bench.settle()
        client.read()
        #expect(client.input.isEmpty)
        bench.advance(milliseconds: 1100)
        try expectPing(client)
        bench.advance(milliseconds: 28_000)
        #expect(recorder.reason == nil)
        bench.advance(milliseconds: 2_500)
        #expect(recorder.reason == .timedOut(.silence))
    }

    @Test func `a client asks after sixty seconds of silence and gives up thirty later`() throws {
        let pair = try bench.openPair()
        pair.client.send(testRequest(1))
        bench.run { pair.atRelay.frames.count == 1 }
        bench.advance(milliseconds: 61_000)
        #expect(pair.client.queuedBytes == 0, "the PING has left")
        // The relay never gets to read it.
        bench.advance(milliseconds: 31_000)
        #expect(pair.atClient.reason == .timedOut(.silence))
    }

    @Test
    func `an unsent record without progress for thirty seconds ends the link, with progress it does not`()
        throws
    {
        let (link, recorder, client) = try openRaw()
        client.send(try client.record(testRequest(1).encode()))
        bench.run { recorder.frames.count == 1 }
        func fill() { while link.canSendBulk { link.sendBulk(testFrame(1, size: 16_000).encode()) } }
        fill()
        for _ in 0..<4 {
            // Bytes from the peer keep the silence away; only taking ours counts as progress here.
            client.send(try client.record(testRequest(2).encode()))
            bench.settle()
            bench.advance(milliseconds: 20_000)
            #expect(recorder.reason == nil)
            bench.run {
                client.read()
                bench.loop.runOnce(waiting: false)
                return link.canSendBulk
            }
            fill()
        }
        bench.advance(milliseconds: 29_900)
        bench.settle()
        #expect(link.isOpen)
        bench.advance(milliseconds: 1200)
        #expect(!link.isOpen)
        bench.advance(milliseconds: 6000)
        #expect(recorder.reason == .slowReader)
    }

    @Test func `a reader that takes a little again and again is neither cut nor asked whether it lives`()
        throws
    {
        let (link, recorder, client) = try openRaw()
        client.send(try client.record(testRequest(1).encode()))
        bench.run { recorder.frames.count == 1 }
        while link.canSendBulk { link.sendBulk(testFrame(1, size: 4000).encode()) }
        // Less than what makes the kernel ask for more, for longer than silence may last.
        for _ in 0..<5 {
            guard case (.done, _) = Posix.receive(client.descriptor, limit: 6000) else {
                Issue.record("there is something to read")
                return
            }
            bench.advance(milliseconds: 28_000)
            bench.settle()
            #expect(link.isOpen && !link.canSendBulk && link.queuedBytes == 0)
        }
        bench.advance(milliseconds: 39_000)
        #expect(!link.isOpen, "and then it takes nothing")
        bench.advance(milliseconds: 6000)
        #expect(recorder.reason == .slowReader)
    }

    @Test func `a reader that takes a little now and then is cut when a record has not gone for long`() throws
    {
        var deadlines = LinkDeadlines()
        #expect(deadlines.unsentRecord == 10 * deadlines.unsentWithoutProgress)
        deadlines.unsentRecord = 100_000
        let (link, recorder, client) = try openRaw(deadlines)
        client.send(try client.record(testRequest(1).encode()))
        bench.run { recorder.frames.count == 1 }
        while link.canSendBulk { link.sendBulk(testFrame(1, size: 4000).encode()) }
        var rounds = 0
        while link.isOpen, rounds < 5 {
            guard case (.done, _) = Posix.receive(client.descriptor, limit: 6000) else {
                Issue.record("there is something to read")
                return
            }
            bench.advance(milliseconds: 28_000)
            bench.settle()
            rounds += 1
        }
        #expect(rounds == 4)
        bench.advance(milliseconds: 6000)
        #expect(recorder.reason == .slowReader)
    }

    @Test func `a reader that has caught up at last is not asked at once whether it lives`() throws {
        let (link, recorder, client) = try openRaw()
        client.send(try client.record(testRequest(1).encode()))
        bench.run { recorder.frames.count == 1 }
        while link.canSendBulk { link.sendBulk(testFrame(1, size: 4000).encode()) }
        for _ in 0..<5 {
            guard case (.done(6000), let bytes) = Posix.receive(client.descriptor, limit: 6000) else {
                Issue.record("there is something to read")
                return
            }
            client.took(bytes)
            bench.advance(milliseconds: 28_000)
            bench.settle()
        }
        bench.run {
            client.read()
            return link.canSendBulk
        }
        bench.advance(milliseconds: 80_000)
        bench.settle()
        client.read()
        let early = try client.frames()
        #expect(link.isOpen && !early.isEmpty && early.allSatisfy { $0 == testFrame(1, size: 4000) })
        bench.advance(milliseconds: 11_000)
        try expectPing(client)
    }

    @Test func `a slow reader that wakes up in time reads why it is cut`() throws {
        let (link, recorder, client) = try openRaw()
        client.send(try client.record(testRequest(1).encode()))
        bench.run { recorder.frames.count == 1 }
        while link.canSendBulk { link.sendBulk(testFrame(1, size: 16_000).encode()) }
        bench.advance(milliseconds: 31_000)
        bench.run {
            client.read()
            return client.isEnded
        }
        guard case .error(let error)? = try client.frames().last else {
            Issue.record("an ERROR is expected")
            return
        }
        #expect(error.known == .slowReader)
        Posix.shutdownWriting(client.descriptor)
        bench.run { recorder.reason != nil }
        #expect(recorder.reason == .slowReader)
    }

    @Test func `a link whose reading is paused blames the peer for nothing, and goes on where it was`() throws
    {
        let (link, recorder, client) = try openRaw()
        client.send(try client.record(testRequest(1).encode()))
        bench.run { recorder.frames.count == 1 }
        let record = try client.record(testRequest(2).encode())
        client.send(Array(record[..<10]))
        bench.settle()
        link.pauseReading()
        client.send(Array(record[10...]))
        client.send(try client.record(testRequest(3).encode()))
        for _ in 0..<20 {
            bench.advance(milliseconds: 20_000)
            bench.settle()
        }
        client.read()
        #expect(client.input.isEmpty && link.isOpen)
        #expect(recorder.frames.count == 1)
        link.resumeReading()
        bench.run { recorder.frames.count == 3 }
        #expect(recorder.frames == [testRequest(1), testRequest(2), testRequest(3)])
        bench.advance(milliseconds: 121_000)
        bench.settle()
        bench.advance(milliseconds: 31_000)
        #expect(recorder.reason == .timedOut(.silence), "the clocks run again")
    }

    @Test func `a link that reads again gives the peer its time anew, before anything has come`() throws {
        let (link, recorder, client) = try openRaw()
        client.send(try client.record(testRequest(1).encode()))
        bench.run { recorder.frames.count == 1 }
        let record = try client.record(testRequest(2).encode())
        client.send(Array(record[..<10]))
        bench.settle()
        link.pauseReading()
        for _ in 0..<20 { bench.advance(milliseconds: 20_000) }
        link.resumeReading()
        bench.advance(milliseconds: 25_000)
        bench.settle()
        client.read()
        #expect(link.isOpen && client.input.isEmpty, "neither cut nor asked whether it lives")
        client.send(Array(record[10...]))
        bench.run { recorder.frames.count == 2 }
    }

    @Test func `a link whose reading is paused still sees its end when it closes`() throws {
        let (link, recorder, client) = try openRaw()
        link.pauseReading()
        link.close(error: .draining)
        bench.run {
            client.read()
            return client.isEnded
        }
        Posix.shutdownWriting(client.descriptor)
        bench.run { recorder.reason != nil }
        #expect(recorder.reason == .local(.draining))
    }

    @Test func `deadlines further away than the wheel reaches still hold`() throws {
        var deadlines = LinkDeadlines()
        deadlines.idle = 1_000_000
        let (_, recorder, wire) = try bench.relayLink(bench.relaySettings(deadlines: deadlines))
        let client = RawClient(wire, bench)
        try client.handshake()
        client.send(try client.record(testRequest(1).encode()))
        bench.run { recorder.frames.count == 1 }
        for _ in 0..<9 { bench.advance(milliseconds: 110_000) }
        bench.settle()
        client.read()
        #expect(client.input.isEmpty)
        bench.advance(milliseconds: 11_000)
        bench.run {
            client.read()
            return !client.input.isEmpty
        }
        #expect(recorder.reason == nil)
    }
}
