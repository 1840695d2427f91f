internal import ChannelWire
internal import ClientCore
internal import LibeventLoop
internal import LinkRuntime
internal import PosixKit

/// Where a relay is reached and who it must be.
struct RelayEndpoint: Hashable {
    let hosts: [AntennaLink.Endpoint]
    let identity: PublicKey
}

/// What a session hears of its connection.
protocol RelayConnectionUser: AnyObject {
    func connectionDidOpen(_ link: Link)
    func connection(_ link: Link, didReceive frame: Frame)
    /// The link is given up because nobody wants it any more.
    func connectionWillStop()
    /// The link is gone, or could not be made.
    func connectionDidClose(_ failure: ConnectionFailure)
}

/// Why there is no link, for people and for the next attempt.
struct ConnectionFailure: Error, CustomStringConvertible {
    enum Stage { case resolve, connect, handshake, open }
    let stage: Stage
    let text: String
    /// Whether another attempt can help by itself.
    var retriable = true
    /// The relay's advice; 0: none.
    var retryAfterMilliseconds: Int64 = 0
    /// The error that the relay gave, where it gave one.
    var code: UInt16?
    /// The relay said that it is going away, and when to come back.
    var drainMilliseconds: Int64?

    var description: String { text }
}

/// Keeps one link to one relay while somebody wants it: resolve, connect, and again after a jittered pause.
///
/// ```
/// idle ──want──▶ resolving ──▶ connecting ──▶ open
///   ▲               │              │            │
///   └──nobody wants─┴──── waiting ◀─┴────────────┘
/// ```
/// Thread: the engine's.
final class RelayConnection: LinkDelegate {
    enum State { case idle, resolving, connecting, open, waiting }

    private unowned let engine: Engine
    private weak var user: (any RelayConnectionUser)?
    private(set) var endpoint: RelayEndpoint
    private(set) var state = State.idle
    private(set) var link: Link?
    private let circuit: Circuit
    private var random: JitterRandom
    private var backoff: Backoff
    private var timer: LoopTimer?
    private var attempt = 0
    private var drain: Int64?
    private var openedAt: Int64?
    private(set) var isWanted = false
    /// When it may be tried again, in monotonic milliseconds; for people.
    private(set) var lastFailure: ConnectionFailure?

    init(engine: Engine, endpoint: RelayEndpoint, circuit: Circuit, user: any RelayConnectionUser) {
        self.engine = engine
        self.endpoint = endpoint
        self.circuit = circuit
        self.user = user
        random = JitterRandom(seed: engine.options.randomSeed.map { $0 ^ circuit.seed })
        backoff = engine.makeBackoff()
    }

    /// Says whether the link is wanted from now on.
    func setWanted(_ wanted: Bool) {
        guard wanted != isWanted else { return }
        isWanted = wanted
        if wanted {
            if state == .idle { begin(within: engine.spreadMilliseconds) }
        } else {
            stop()
        }
    }

    /// Tries now rather than after the pause; for calls that people wait for. A call that wants several
    /// memberships at once says within how long, so that they are not seen to begin together.
    func hurry(within spread: Int64 = 0) {
        guard isWanted, state == .waiting, drain == nil else { return }
        begin(within: spread)
    }

    /// The session got through: the last failure is history.
    ///
    /// The pauses start small again only with `madeProgress`, or when the link has lasted: a relay that lets
    /// us in and hangs up at once is not asked twice a second for ever.
    func succeeded() { lastFailure = nil }

    /// The relay did something that it will not have to do again.
    func madeProgress() { backoff.succeeded() }

    func setEndpoint(_ endpoint: RelayEndpoint) {
        guard endpoint != self.endpoint else { return }
        self.endpoint = endpoint
        guard isWanted else { return }
        stop()
        begin(within: engine.spreadMilliseconds)
    }

    func send(_ frame: Frame) { link?.send(frame) }

    /// Ends this link for a reason of the session's; tried again later where it is still wanted.
    func restart(_ failure: ConnectionFailure) {
        attempt += 1
        link?.delegate = nil
        link?.close(after: true)
        link = nil
        failed(failure)
    }

    private func stop() {
        if link != nil { user?.connectionWillStop() }
        attempt += 1
        timer = nil
        state = .idle
        guard let link else { return }
        self.link = nil
        link.delegate = nil
        link.close(after: true)
    }

    /// Begins at a moment drawn for this connection alone, at most so long from now.
    private func begin(within spread: Int64) {
        guard spread > 0 else { return begin() }
        wait(Int64.random(in: 0...spread, using: &random))
    }

    private func wait(_ milliseconds: Int64) {
        state = .waiting
        timer = engine.loop.timer(afterMilliseconds: milliseconds) { [weak self] in
            guard let self, self.state == .waiting else { return }
            self.begin()
        }
    }

    private func begin() {
        timer = nil
        attempt += 1
        let current = attempt
        state = .resolving
        drain = nil
        engine.resolver.route(to: endpoint.hosts, on: circuit) { [weak self] result in
            guard let self, self.attempt == current, self.isWanted else { return }
            switch result {
            case .success(let route): self.connect(route)
            case .failure(let failure): self.failed(failure)
            }
        }
    }

    private func connect(_ route: Route) {
        state = .connecting
        link = route.connect(engine, expectedIdentity: endpoint.identity, delegate: self)
    }

    private func failed(_ failure: ConnectionFailure) {
        lastFailure = failure
        if let openedAt, engine.loop.nowMonotonicMilliseconds - openedAt >= Self.lastingMilliseconds {
            backoff.succeeded()
        }
        openedAt = nil
        if isWanted {
            let pause =
                if let drain = failure.drainMilliseconds ?? drain {
                    backoff.drained(delayMilliseconds: drain, using: &random)
                } else {
                    backoff.failed(
                        retryAfterMilliseconds: failure.retryAfterMilliseconds, using: &random)
                }
            wait(pause + Int64.random(in: 0...engine.spreadMilliseconds, using: &random))
        } else {
            state = .idle
        }
        user?.connectionDidClose(failure)
    }

    /// A link that was open for so long did not fail for being tried too soon.
    private static let lastingMilliseconds: Int64 = 10_000

    // MARK: LinkDelegate

    func linkDidOpen(_ link: Link) {
        guard link === self.link else { return }
        state = .open
        openedAt = engine.loop.nowMonotonicMilliseconds
        user?.connectionDidOpen(link)
    }

    func link(_ link: Link, didReceive frame: Frame) {
        guard link === self.link else { return }
        if case .drain(let delay) = frame { drain = Int64(delay) }
        user?.connection(link, didReceive: frame)
    }

    func linkIsWritable(_ link: Link) {}

    func linkDidClose(_ link: Link, reason: LinkCloseReason) {
        guard link === self.link else { return }
        self.link = nil
        var failure = ConnectionFailure(reason, wasOpen: state == .open)
        failure.drainMilliseconds = drain
        failed(failure)
    }
}

extension ConnectionFailure {
    /// The relay answered what cannot be true.
    static func misfit(_ frame: String, _ problem: String) -> ConnectionFailure {
        ConnectionFailure(
            stage: .open, text: "the relay's \(frame) does not fit what it was asked: \(problem)")
    }

    init(_ reason: LinkCloseReason, wasOpen: Bool) {
        let stage: Stage = wasOpen ? .open : .handshake
        switch reason {
        case .local: self.init(stage: stage, text: "closed here")
        case .peerClosed:
            self.init(stage: stage, text: wasOpen ? "the relay closed the link" : "the relay hung up")
        case .peerError(let error):
            self.init(
                stage: stage, text: "\(error.name): \(printable(error.text))",
                retriable: error.known?.retry != .no,
                retryAfterMilliseconds: Int64(error.retryAfterMs), code: error.code)
        case .refused(let code):
            let known = LinkErrorCode(rawValue: code)
            self.init(
                stage: .handshake, text: known?.sentence ?? "refused with error \(code)",
                retriable: known?.retry != .no, code: code)
        case .handshakeFailed(let problem):
            self.init(stage: .handshake, text: Self.text(problem), retriable: false)
        case .notAuthentic: self.init(stage: stage, text: "somebody changed bytes on the way")
        case .malformed(_, let text):
            self.init(stage: stage, text: "the relay sent what does not decode: \(printable(text))")
        case .timedOut(let at):
            self.init(stage: at == .connect ? .connect : stage, text: "no answer in time (\(at.rawValue))")
        case .slowReader, .queueFull: self.init(stage: stage, text: "the relay does not read")
        case .unreachable(let error): self.init(stage: .connect, text: error.reason)
        case .proxyUnreachable(let error):
            self.init(stage: .connect, text: "the proxy cannot be reached: \(error.reason)")
        case .proxyFailed(let problem): self.init(stage: .connect, text: "the proxy: \(problem.sentence)")
        case .io(let error): self.init(stage: stage, text: error.reason)
        }
    }

    private static func text(_ problem: LinkHandshakeProblem) -> String {
        switch problem {
        case .badPreface: "what answers there is no Antenna relay"
        case .noCommonVersion: "no common link version; update the older side"
        case .notAuthentic: "the handshake does not verify"
        case .malformed: "the handshake does not decode"
        case .certificate(let problem): "the relay cannot be taken for the one of this address: \(problem)"
        }
    }
}

/// Text of a peer as it may be shown: no control characters, at most 512 bytes.
func printable(_ text: String) -> String {
    var out = ""
    for scalar in text.unicodeScalars {
        guard out.utf8.count < 508 else { break }
        out.unicodeScalars.append(scalar.properties.generalCategory == .control ? "\u{FFFD}" : scalar)
    }
    return out
}
