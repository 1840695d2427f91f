internal import ChannelWire
internal import LibeventLoop
internal import LinkRuntime
internal import PosixKit

/// One question on a link of its own that belongs to no membership: a record, or a test of the relay.
final class AnonymousQuestion: LinkDelegate {
    enum Ask {
        case record(ChannelID)
        case challenge([UInt8])
    }

    enum Progress {
        /// Where it goes, for people.
        case resolved(String)
        case opened(identity: [UInt8])
        case record([UInt8])
        case signature(Signature)
        case failed(ConnectionFailure)
    }

    private unowned let engine: Engine
    private let hosts: [AntennaLink.Endpoint]
    private let identity: PublicKey?
    private let ask: Ask
    private let tell: (Progress) -> Void
    private var link: Link?
    private var timer: LoopTimer?
    private var isOver = false

    /// Keeps itself alive until it has told of its end: an answer or a failure.
    static func ask(
        engine: Engine, hosts: [AntennaLink.Endpoint], identity: PublicKey?, _ ask: Ask, milliseconds: Int64,
        _ tell: @escaping (Progress) -> Void
    ) {
        let question = AnonymousQuestion(
            engine: engine, hosts: hosts, identity: identity, ask: ask, tell: tell)
        engine.questions[ObjectIdentifier(question)] = question
        question.begin(milliseconds)
    }

    private init(
        engine: Engine, hosts: [AntennaLink.Endpoint], identity: PublicKey?, ask: Ask,
        tell: @escaping (Progress) -> Void
    ) {
        self.engine = engine
        self.hosts = hosts
        self.identity = identity
        self.ask = ask
        self.tell = tell
    }

    private func begin(_ milliseconds: Int64) {
        timer = engine.loop.timer(afterMilliseconds: max(1, milliseconds)) { [weak self] in
            self?.finish(.failed(ConnectionFailure(stage: self?.stage ?? .open, text: "no answer in time")))
        }
        engine.resolver.route(to: hosts, on: .fresh()) { [weak self] result in
            guard let self, !self.isOver else { return }
            switch result {
            case .failure(let failure):
                self.finish(.failed(failure))
            case .success(let route):
                self.tell(.resolved(route.description))
                self.link = route.connect(self.engine, expectedIdentity: self.identity, delegate: self)
            }
        }
    }

    private var stage: ConnectionFailure.Stage {
        guard let link else { return .resolve }
        return link.isOpen ? .open : .connect
    }

    private func finish(_ progress: Progress) {
        guard !isOver else { return }
        isOver = true
        timer = nil
        link?.delegate = nil
        link?.close(after: true)
        link = nil
        engine.questions[ObjectIdentifier(self)] = nil
        tell(progress)
    }

    func linkDidOpen(_ link: Link) {
        tell(.opened(identity: link.peerIdentity ?? []))
        switch ask {
        case .record(let channel): link.send(.recordGet(request: 1, channel: channel))
        case .challenge(let challenge):
            link.send(.direct(body: Event(params: .relayTest(RelayTest(challenge: challenge))).encode()))
        }
    }

    func link(_ link: Link, didReceive frame: Frame) {
        switch (frame, ask) {
        case (.record(1, let record), .record): finish(.record(record))
        case (.direct(let body), .challenge):
            guard let elements = try? Body.decode(body, crypto: engine.crypto) else { return }
            for case .success(let element) in elements {
                guard let json = element.json,
                    case .relayTest(let test)? = try? Event.decode(json: json).params,
                    let signature = test.signature
                else { continue }
                finish(.signature(signature))
            }
        case (.error(let error), _):
            finish(
                .failed(
                    ConnectionFailure(
                        stage: .open, text: "\(error.name): \(printable(error.text))",
                        retriable: error.known?.retry == .yes,
                        code: error.code)))
        default: break
        }
    }

    func linkIsWritable(_ link: Link) {}

    func linkDidClose(_ link: Link, reason: LinkCloseReason) {
        let wasOpen = link.handshakeHash.isEmpty == false
        self.link = nil
        finish(.failed(ConnectionFailure(reason, wasOpen: wasOpen)))
    }
}
