import ChannelWire
import LibeventLoop
import LinkRuntime
import NoiseProtocol
import PosixKit
import SodiumCrypto
import Testing

/// What every test of links starts with: a loop, its context under a clock that stands still, an identity.
final class Bench {
    let loop: EventLoop
    let context: LinkLoopContext
    let identity: RelayIdentity
    let time: ManualTime
    private let guardian: LoopTimer

    final class ManualTime {
        var nanoseconds: UInt64 = 1_000_000_000
        var wallSeconds: Int64 = 1_800_000_000
    }

    init() throws {
        loop = try EventLoop()
        let time = ManualTime()
        self.time = time
        context = LinkLoopContext(loop: loop, clock: { time.nanoseconds }, wallSeconds: { time.wallSeconds })
        identity = RelayIdentity.create(nowSeconds: time.wallSeconds)
        // So that a loop with nothing to do comes back and a test that waits in vain can fail.
        guardian = loop.timer(afterMilliseconds: 20, repeating: true) {}
    }

    deinit { context.closeAll() }

    /// Moves the deadlines' clock.
    func advance(milliseconds: UInt64) {
        time.nanoseconds += milliseconds * 1_000_000
        context.sweep()
    }

    /// Runs the loop until `condition` holds; fails the test after ten seconds.
    func run(_ what: Comment = "the expected happens", until condition: () -> Bool) {
        let end = Clock.monotonicNanoseconds() + 10_000_000_000
        while !condition() {
            guard Clock.monotonicNanoseconds() < end else {
                Issue.record(what)
                return
            }
            loop.runOnce()
        }
    }

    /// Handles what is there already.
    func settle() {
        for _ in 0..<5 { loop.runOnce(waiting: false) }
    }

    func relaySettings(
        suites: LinkPreface.Suites = .all, deadlines: LinkDeadlines = LinkDeadlines()
    ) -> LinkSettings {
        .relay(identity.link, suites: suites, deadlines: deadlines)
    }

    /// A relay's link and the raw other end of its connection.
    func relayLink(_ settings: LinkSettings? = nil) throws -> (Link, Recorder, Int32) {
        let (a, b) = try Posix.socketPair()
        let recorder = Recorder()
        let link = Link.accept(
            FileDescriptor(owning: a), peer: nil, context: context, settings: settings ?? relaySettings(),
            delegate: recorder)
        return (link, recorder, b)
    }

    func clientLink(_ settings: LinkSettings = .client(), expecting: [UInt8]? = nil) throws -> (
        Link, Recorder, Int32
    ) {
        let (a, b) = try Posix.socketPair()
        let recorder = Recorder()
        let link = Link.handshake(
            over: FileDescriptor(owning: a), context: context, settings: settings,
            expectedIdentity: expecting,
            delegate: recorder)
        return (link, recorder, b)
    }

    struct Pair { let relay: Link, client: Link, atRelay: Recorder, atClient: Recorder }

    /// Two links, connected and open.
    func openPair(relay: LinkSettings? = nil, client: LinkSettings = .client()) throws -> Pair {
        let (a, b) = try Posix.socketPair()
        let atRelay = Recorder()
        let atClient = Recorder()
        let relayLink = Link.accept(
            FileDescriptor(owning: a), peer: nil, context: context, settings: relay ?? relaySettings(),
            delegate: atRelay)
        let clientLink = Link.handshake(
            over: FileDescriptor(owning: b), context: context, settings: client,
            expectedIdentity: identity.publicKey, delegate: atClient)
        run("both ends open") { atRelay.isOpen && atClient.isOpen }
        return Pair(relay: relayLink, client: clientLink, atRelay: atRelay, atClient: atClient)
    }
}

/// Writes down what a link tells, and does what the test wants then.
final class Recorder: LinkDelegate {
    var isOpen = false
    var frames: [Frame] = []
    var writableCount = 0
    var reason: LinkCloseReason?
    var callsAfterClose = 0
    var onOpen: (Link) -> Void = { _ in }
    var onFrame: (Link, Frame) -> Void = { _, _ in }
    var onWritable: (Link) -> Void = { _ in }
    var onClose: (Link) -> Void = { _ in }

    func linkDidOpen(_ link: Link) {
        note()
        isOpen = true
        onOpen(link)
    }
    func link(_ link: Link, didReceive frame: Frame) {
        note()
        frames.append(frame)
        onFrame(link, frame)
    }
    func linkIsWritable(_ link: Link) {
        note()
        writableCount += 1
        onWritable(link)
    }
    func linkDidClose(_ link: Link, reason: LinkCloseReason) {
        note()
        self.reason = reason
        onClose(link)
    }
    private func note() { if reason != nil { callsAfterClose += 1 } }
}

/// A client made by hand over a raw descriptor: it can send what no `Link` sends.
final class RawClient {
    let descriptor: Int32
    let bench: Bench
    let suite: AEADSuite
    private var sending: AEADKey?
    private var receiving: AEADKey?
    private var sendNonce: UInt64 = 0
    private var receiveNonce: UInt64 = 0
    private(set) var input: [UInt8] = []
    private(set) var isEnded = false

    init(_ descriptor: Int32, _ bench: Bench, suite: AEADSuite = .chaChaPoly) {
        self.descriptor = descriptor
        self.bench = bench
        self.suite = suite
    }

    deinit { Posix.closeRaw(descriptor) }

    /// Takes what is there; true when something new was.
    @discardableResult
    func read() -> Bool {
        let (result, bytes) = Posix.receive(descriptor, limit: 1 << 20)
        switch result {
        case .done:
            input += bytes
            return true
        case .wouldBlock: return false
        case .closed, .failed:
            isEnded = true
            return false
        }
    }

    /// Adds what a test has read itself.
    func took(_ bytes: [UInt8]) { input += bytes }

    func send(_ bytes: [UInt8]) {
        #expect(Posix.send(descriptor, bytes) == .done(bytes.count))
    }

    func handshake() throws {
        let preface = LinkPreface.Client(suites: suite == .aesGCM ? .aesGCM : .chaChaPoly)
        let ephemeral = SodiumNoise.keyPair(X25519.generate())
        send(preface.bytes + ephemeral.publicKey)
        bench.run("the relay answers") {
            read()
            return input.count >= 10 && input.count >= 10 + messageLength
        }
        let state = HandshakeState(
            pattern: .nx, role: .initiator,
            prologue: Array("antenna-link/1".utf8) + preface.bytes + input[..<8],
            e: ephemeral, primitives: SodiumNoise.primitives(suite))
        _ = try state.writeMessage([])
        _ = try state.readMessage(Array(input[10..<10 + messageLength]))
        input.removeFirst(10 + messageLength)
        var split = state.split()
        let (out, back) = (split.sending.takeKey(), split.receiving.takeKey())
        sending = AEADKey(suite: suite, key: try #require(out))
        receiving = AEADKey(suite: suite, key: try #require(back))
    }

    private var messageLength: Int { input.count >= 10 ? Int(input[8]) << 8 | Int(input[9]) : 0 }

    /// A sealed record of exactly this plaintext.
    func record(_ plaintext: [UInt8]) throws -> [UInt8] {
        let text = try #require(sending).seal(plaintext, nonce: sendNonce)
        sendNonce += 1
        return [UInt8(text.count >> 8), UInt8(truncatingIfNeeded: text.count)] + text
    }

    /// The plaintext of the next record from the relay, padding included; nil when there is no whole one.
    func nextRecord() throws -> [UInt8]? {
        guard input.count >= 2 else { return nil }
        let length = Int(input[0]) << 8 | Int(input[1])
        guard input.count >= 2 + length else { return nil }
        let key = try #require(receiving)
        let plaintext = try #require(key.open(Array(input[2..<2 + length]), nonce: receiveNonce))
        receiveNonce += 1
        input.removeFirst(2 + length)
        return plaintext
    }

    /// All frames that have come, decoded.
    func frames() throws -> [Frame] {
        var frames: [Frame] = []
        while let plaintext = try nextRecord() {
            var offset = 0
            while offset < plaintext.count, plaintext[offset] != 0 {
                let length = Int(plaintext[offset + 1]) << 8 | Int(plaintext[offset + 2])
                frames.append(
                    try Frame.decode(
                        type: plaintext[offset], body: Array(plaintext[offset + 3..<offset + 3 + length])))
                offset += 3 + length
            }
        }
        return frames
    }
}

/// Frames that tests send.
func testFrame(_ number: UInt32, size: Int = 100) -> Frame {
    .record(request: number, record: [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: size))
}
func testRequest(_ number: UInt32, size: Int = 100) -> Frame {
    .publish(request: number, body: [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: size))
}
