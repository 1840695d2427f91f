import ChannelWire
import LibeventLoop
import LinkRuntime
import PosixKit
import SodiumCrypto
import Testing

@Suite struct LinkClosingTests {
    @Test func `a close flushes what is queued and the error behind it`() throws {
        let bench = try Bench()
        let pair = try bench.openPair()
        // The client's own bytes are unread at the relay: closing right away would reset the connection.
        pair.client.sendBulk(testRequest(1).encode())
        for number in 1...20 { pair.relay.send(testFrame(UInt32(number), size: 3000)) }
        pair.relay.close(error: .draining, "come back", retryAfterMilliseconds: 1234)
        #expect(pair.relay.isEnding)
        bench.run { pair.atRelay.reason != nil && pair.atClient.reason != nil }
        #expect(pair.atClient.frames.count == 20)
        #expect(
            pair.atClient.reason == .peerError(LinkError(.draining, retryAfterMs: 1234, text: "come back")))
        #expect(pair.atRelay.reason == .local(.draining))
        #expect(pair.atRelay.frames.isEmpty)
    }

    @Test func `a close without flush is at once and drops the queue`() throws {
        let bench = try Bench()
        let pair = try bench.openPair()
        pair.relay.send(testFrame(1))
        pair.relay.close(after: false)
        #expect(pair.atRelay.reason == nil, "never from inside a call of the user's")
        bench.run { pair.atRelay.reason != nil && pair.atClient.reason != nil }
        #expect(pair.atRelay.reason == .local(nil))
        #expect(pair.atClient.reason == .peerClosed)
        #expect(pair.atClient.frames.isEmpty)
    }

    @Test func `a close without an error sends what is unsent before it ends the stream`() throws {
        let bench = try Bench()
        let (link, atRelay, wire) = try bench.relayLink()
        let client = RawClient(wire, bench)
        try client.handshake()
        var sent = 0
        while link.canSendBulk {
            link.sendBulk(testFrame(1, size: 16_000).encode())
            sent += 1
        }
        link.close(after: true)
        bench.run {
            client.read()
            return client.isEnded
        }
        #expect(try client.frames().count == sent)
        Posix.shutdownWriting(wire)
        bench.run { atRelay.reason != nil }
        #expect(atRelay.reason == .local(nil))
    }

    @Test func `a peer that does not take the error is given up after the deadline`() throws {
        let bench = try Bench()
        let (link, atRelay, wire) = try bench.relayLink()
        let client = RawClient(wire, bench)
        try client.handshake()
        while link.canSendBulk { link.sendBulk(testFrame(1, size: 16_000).encode()) }
        link.close(error: .replaced)
        bench.settle()
        bench.advance(milliseconds: 4900)
        bench.settle()
        #expect(atRelay.reason == nil)
        bench.advance(milliseconds: 1200)
        #expect(atRelay.reason == .local(.replaced))
        bench.settle()
    }

    @Test func `a peer that goes on sending after our end is given up beyond a limit`() throws {
        let bench = try Bench()
        let (link, atRelay, wire) = try bench.relayLink()
        let client = RawClient(wire, bench)
        try client.handshake()
        link.close(error: .replaced)
        let chunk = [UInt8](repeating: 0, count: 65_536)
        bench.run {
            _ = Posix.send(wire, chunk)
            return atRelay.reason != nil
        }
        #expect(atRelay.reason == .local(.replaced))
    }

    @Test func `a link closed while it hands on frames hands on no more`() throws {
        let bench = try Bench()
        let pair = try bench.openPair()
        pair.atRelay.onFrame = { link, _ in link.close(after: false) }
        pair.client.sendBulk((1...5).flatMap { testRequest(UInt32($0)).encode() })
        bench.run { pair.atRelay.reason != nil }
        #expect(pair.atRelay.frames.count == 1)
        #expect(pair.atRelay.callsAfterClose == 0)
    }

    @Test func `a link closed with flush while it hands on frames hands on no more`() throws {
        let bench = try Bench()
        let pair = try bench.openPair()
        pair.atRelay.onFrame = { link, _ in link.close(error: .protocolViolation) }
        pair.client.sendBulk((1...5).flatMap { testRequest(UInt32($0)).encode() })
        pair.client.sendBulk(testRequest(6).encode())
        bench.run { pair.atRelay.reason != nil && pair.atClient.reason != nil }
        #expect(pair.atRelay.frames.count == 1)
        #expect(pair.atRelay.reason == .local(.protocolViolation))
        #expect(pair.atClient.reason == .peerError(LinkError(.protocolViolation)))
    }

    @Test func `a link may be closed and let go of in every call`() throws {
        for stage in ["open", "frame", "writable", "close"] {
            let bench = try Bench()
            let (a, b) = try Posix.socketPair()
            Posix.setSocketBuffers(a, send: 4096)
            let recorder = Recorder()
            var link: Link? = Link.accept(
                FileDescriptor(owning: a), peer: nil, context: bench.context, settings: bench.relaySettings(),
                delegate: recorder)
            weak let watched = link
            let end: (Link) -> Void = {
                $0.close(after: false)
                link = nil
            }
            switch stage {
            case "open": recorder.onOpen = end
            case "frame":
                recorder.onFrame = {
                    end($0)
                    _ = $1
                }
            case "writable": recorder.onWritable = end
            default: recorder.onFrame = { link, _ in link.close(after: true) }
            }
            recorder.onClose = { end($0) }
            let atClient = Recorder()
            let client = Link.handshake(
                over: FileDescriptor(owning: b), context: bench.context, settings: .client(),
                delegate: atClient)
            bench.run { atClient.isOpen || atClient.reason != nil }
            client.send(testRequest(1))
            if stage == "writable" {
                while link?.canSendBulk == true { link?.sendBulk(testFrame(1, size: 16_000).encode()) }
            }
            bench.run { recorder.reason != nil }
            bench.settle()
            #expect(recorder.callsAfterClose == 0)
            #expect(watched == nil, "\(stage): nothing holds a closed link")
            #expect(bench.context.linkCount <= 1)
        }
    }

    @Test func `calls on a link that has ended do nothing`() throws {
        let bench = try Bench()
        let pair = try bench.openPair()
        pair.relay.close(after: false)
        bench.run { pair.atRelay.reason != nil }
        pair.relay.send(testFrame(1))
        pair.relay.close(error: .internal)
        pair.relay.close(after: false)
        #expect(!pair.relay.canSendBulk)
        bench.settle()
        #expect(pair.atRelay.reason == .local(nil))
        #expect(pair.atRelay.callsAfterClose == 0)
    }

    @Test func `two links may close each other from their callbacks`() throws {
        let bench = try Bench()
        let one = try bench.openPair()
        let two = try bench.openPair()
        one.atRelay.onFrame = { _, _ in two.relay.close(after: false) }
        two.atRelay.onClose = { _ in one.relay.close(after: false) }
        one.client.send(testRequest(1))
        bench.run { one.atClient.reason != nil && two.atClient.reason != nil }
        #expect(one.atRelay.reason == .local(nil) && two.atRelay.reason == .local(nil))
        bench.run { bench.context.linkCount == 0 }
    }

    @Test func `a slow reader gets everything in order, and nothing is unsent twice`() throws {
        let bench = try Bench()
        let (link, atRelay, wire) = try bench.relayLink()
        let client = RawClient(wire, bench)
        try client.handshake()
        var sent: UInt32 = 0
        func feed(_ link: Link) {
            while link.canSendBulk, sent < 500 {
                sent += 1
                link.sendBulk(testFrame(sent, size: 5000).encode())
            }
        }
        atRelay.onWritable = feed
        feed(link)
        #expect(sent < 500, "the socket fills up")
        link.send(testFrame(0))
        #expect(!link.canSendBulk)
        var got: [UInt32] = []
        while got.count < 501 {
            bench.run { client.read() }
            got += try client.frames().map { if case .record(let request, _) = $0 { request } else { .max } }
        }
        let place = try #require(got.firstIndex(of: 0))
        got.remove(at: place)
        #expect(got == Array(1...500))
        #expect(atRelay.writableCount > 0)
    }

    @Test func `a control queue over its limit ends the link as a slow reader's`() throws {
        let bench = try Bench()
        let (link, atRelay, wire) = try bench.relayLink()
        let client = RawClient(wire, bench)
        try client.handshake()
        while link.canSendBulk { link.sendBulk(testFrame(1, size: 16_000).encode()) }
        for _ in 0..<4 {
            link.send(testFrame(2, size: 16_370))
            #expect(link.isOpen)
        }
        #expect(link.queuedBytes <= Link.queueBytesMax)
        link.send(testFrame(3, size: 100))
        #expect(!link.isOpen)
        var frames: [Frame] = []
        bench.run {
            client.read()
            return client.isEnded
        }
        frames = try client.frames()
        #expect(frames.filter { $0 == testFrame(2, size: 16_370) }.count == 4)
        guard case .error(let error)? = frames.last else {
            Issue.record("the error is last")
            return
        }
        #expect(error.known == .slowReader)
        Posix.shutdownWriting(wire)
        bench.run { atRelay.reason != nil }
        #expect(atRelay.reason == .queueFull)
    }
}
