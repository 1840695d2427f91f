internal import ChannelWire
internal import LibeventLoop
internal import NoiseProtocol
package import PosixKit
internal import SodiumCrypto

/// What a link knows only until it is open.
final class LinkHandshake {
    // Client
    let addresses: [SocketAddress]
    var nextAddress = 0
    let expectedIdentity: [UInt8]?
    /// Where the relay is reached through a proxy, whose addresses `addresses` are then.
    var proxy: ProxyStage?
    var ephemeral: DHKeyPair?
    var clientPreface: LinkPreface.Client?
    var relayPreface: LinkPreface.Relay?
    var suite = AEADSuite.chaChaPoly

    init(addresses: [SocketAddress] = [], expectedIdentity: [UInt8]? = nil) {
        self.addresses = addresses
        self.expectedIdentity = expectedIdentity
    }

    /// As much of the input as one step of the handshake can need.
    static let inputBytesMax = 4096
    static let messageOneBytes = LinkPreface.byteCount + 32
    static let prologue = Array("antenna-link/1".utf8)
}

extension Link {
    /// What the kernel queues for a client beyond what is on its way. Without a bound it takes megabytes for
    /// one that reads slowly, and its progress is not seen until a third of them is gone. Half of this in the
    /// time of `unsentWithoutProgress` is progress: with the defaults, half a kilobyte a second.
    static let unsentInKernelMax: Int32 = 32 << 10

    // MARK: - Beginning

    /// The relay's end of a connection that was just accepted.
    package static func accept(
        _ descriptor: consuming FileDescriptor, peer: SocketAddress?, context: LinkLoopContext,
        settings: LinkSettings, delegate: any LinkDelegate
    ) -> Link {
        precondition(settings.relay != nil, "a relay's settings hold its identity")
        let link = Link(.relay, .handshaking, context, settings, delegate)
        link.peerAddress = peer
        link.handshake = LinkHandshake()
        Posix.limitUnsent(descriptor.raw, bytes: Link.unsentInKernelMax)
        link.adopt(descriptor.release())
        return link
    }

    /// The client's end of a connection to be made: the addresses are tried in order.
    /// With `expectedIdentity` only the relay with that key is good enough.
    package static func connect(
        to addresses: [SocketAddress], context: LinkLoopContext, settings: LinkSettings,
        expectedIdentity: [UInt8]? = nil, delegate: any LinkDelegate
    ) -> Link {
        let link = Link(.client, .connecting, context, settings, delegate)
        link.handshake = LinkHandshake(addresses: addresses, expectedIdentity: expectedIdentity)
        link.connectNext(after: nil)
        return link
    }

    /// The client's end of a connection that stands already, as one through a proxy does.
    package static func handshake(
        over descriptor: consuming FileDescriptor, context: LinkLoopContext, settings: LinkSettings,
        expectedIdentity: [UInt8]? = nil, delegate: any LinkDelegate
    ) -> Link {
        let link = Link(.client, .connecting, context, settings, delegate)
        link.handshake = LinkHandshake(expectedIdentity: expectedIdentity)
        link.descriptor = descriptor.release()
        link.beginClientHandshake()
        return link
    }

    func adopt(_ raw: Int32) {
        descriptor = raw
        readWatch = context.loop.watch(raw, .read, owner: self)
        if readWatch?.add() != true { finish(.io(PosixError(errno: 0, call: "epoll_ctl"))) }
    }

    // MARK: - Connecting

    func connectNext(after failure: PosixError?) {
        var failure = failure
        dropDescriptor()
        while let handshake, handshake.nextAddress < handshake.addresses.count {
            let address = handshake.addresses[handshake.nextAddress]
            handshake.nextAddress += 1
            do throws(PosixError) {
                descriptor = try Posix.connect(tcp: address).release()
            } catch {
                failure = error
                continue
            }
            peerAddress = address
            enter(.connecting)
            writing = LinkWriting(
                context.loop.watch(descriptor, .write, owner: self), tick: context.tick)
            if writing?.watch.add() == true { return }
            dropDescriptor()
        }
        let reason =
            failure ?? PosixError(errno: PosixErrno.invalidArgument, call: "connect to no address")
        finish(handshake?.proxy == nil ? .unreachable(reason) : .proxyUnreachable(reason))
    }

    /// The connection stands or has failed.
    func connectionProgressed() {
        if let failure = Posix.connectOutcome(descriptor) { return connectNext(after: failure) }
        writing = nil
        if handshake?.proxy == nil { beginClientHandshake() } else { beginProxying() }
    }

    func connectionTimedOut() { connectNext(after: PosixError(errno: PosixErrno.timedOut, call: "connect")) }

    func beginClientHandshake() {
        guard let handshake else { return }
        let preface = LinkPreface.Client(suites: settings.suites)
        let ephemeral = SodiumNoise.keyPair(X25519.generate())
        handshake.clientPreface = preface
        handshake.ephemeral = ephemeral
        enter(.handshaking)
        if readWatch == nil { adopt(descriptor) }
        // Message 1 does not depend on the prologue, so it goes with the preface; see link.md.
        if phase == .handshaking { transmit(preface.bytes + ephemeral.publicKey) }
    }

    // MARK: - Steps

    /// Takes one message of the handshake from the front of `bytes`.
    /// Returns: how many bytes it was; 0 when it is not whole yet, or the link has ended.
    func advanceHandshake(_ bytes: [UInt8]) -> Int {
        side == .relay ? answerClient(bytes) : readRelay(bytes)
    }

    private func answerClient(_ bytes: [UInt8]) -> Int {
        guard let relay = settings.relay, bytes.count >= LinkPreface.byteCount else { return 0 }
        guard let client = LinkPreface.Client(bytes: bytes[..<LinkPreface.byteCount]) else {
            finish(.handshakeFailed(.badPreface))
            return 0
        }
        guard let answer = client.answer(settings.suites), case .chosen(_, let chosen) = answer else {
            refuse(LinkErrorCode.unsupportedVersion.rawValue)
            return 0
        }
        guard bytes.count >= LinkHandshake.messageOneBytes else { return 0 }
        guard context.mayAnswerHandshake(self) else {
            readWatch?.remove()
            return 0
        }
        // Who hangs up at once is not worth the work, and may have meant no more than that.
        guard !Posix.hasHungUp(descriptor) else {
            finish(.peerClosed)
            return 0
        }
        let start = Clock.threadNanoseconds()
        defer { context.answeredHandshake(in: Clock.threadNanoseconds() &- start) }
        let suite: AEADSuite = chosen == .aesGCM ? .aesGCM : .chaChaPoly
        let state = HandshakeState(
            pattern: .nx, role: .responder,
            prologue: LinkHandshake.prologue + bytes[..<LinkPreface.byteCount] + answer.bytes,
            s: SodiumNoise.keyPair(relay.staticKey), primitives: SodiumNoise.primitives(suite))
        let messageTwo: [UInt8]
        do throws(NoiseError) {
            _ = try state.readMessage(Array(bytes[LinkPreface.byteCount..<LinkHandshake.messageOneBytes]))
            messageTwo = try state.writeMessage(relay.certificate.bytes)
        } catch {
            finish(.handshakeFailed(.malformed))
            return 0
        }
        let length = messageTwo.count
        transmit(answer.bytes + [UInt8(length >> 8), UInt8(truncatingIfNeeded: length)] + messageTwo)
        if phase == .handshaking { open(state.split(), suite) }
        return LinkHandshake.messageOneBytes
    }

    /// The handshake was put off for others; its bytes are here already.
    func answerLate() {
        guard phase == .handshaking else { return }
        guard readWatch?.add() == true else { return finish(.io(PosixError(errno: 0, call: "epoll_ctl"))) }
        processInbound()
    }

    private func readRelay(_ bytes: [UInt8]) -> Int {
        guard let handshake, let client = handshake.clientPreface else { return 0 }
        guard handshake.relayPreface != nil else { return readRelayPreface(bytes, handshake, client) }
        guard bytes.count >= 2 else { return 0 }
        let length = Int(bytes[0]) << 8 | Int(bytes[1])
        guard length <= LinkHandshake.inputBytesMax - 2 else {
            finish(.handshakeFailed(.malformed))
            return 0
        }
        guard bytes.count >= 2 + length else { return 0 }
        readMessageTwo(Array(bytes[2..<2 + length]), handshake, client)
        return 2 + length
    }

    private func readRelayPreface(_ bytes: [UInt8], _ handshake: LinkHandshake, _ client: LinkPreface.Client)
        -> Int
    {
        guard bytes.count >= LinkPreface.byteCount else { return 0 }
        switch LinkPreface.Relay(bytes: bytes[..<LinkPreface.byteCount]) {
        case nil: finish(.handshakeFailed(.badPreface))
        case .refusal(let code): finish(.refused(code: code))
        case .chosen(let version, let suite):
            // Exactly one of the suites that we offered.
            guard version == LinkPreface.version, suite == .aesGCM || suite == .chaChaPoly,
                client.suites.contains(suite)
            else {
                finish(.handshakeFailed(.noCommonVersion))
                return 0
            }
            handshake.relayPreface = .chosen(version: version, suite: suite)
            handshake.suite = suite == .aesGCM ? .aesGCM : .chaChaPoly
            return LinkPreface.byteCount
        }
        return 0
    }

    private func readMessageTwo(_ message: [UInt8], _ handshake: LinkHandshake, _ client: LinkPreface.Client)
    {
        guard let relayPreface = handshake.relayPreface else { return }
        let state = HandshakeState(
            pattern: .nx, role: .initiator,
            prologue: LinkHandshake.prologue + client.bytes + relayPreface.bytes, e: handshake.ephemeral,
            primitives: SodiumNoise.primitives(handshake.suite))
        let payload: [UInt8]
        do throws(NoiseError) {
            _ = try state.writeMessage([])
            payload = try state.readMessage(message)
        } catch {
            if case .truncated = error { return finish(.handshakeFailed(.malformed)) }
            return finish(.handshakeFailed(.notAuthentic))
        }
        do throws(LinkCertificate.Problem) {
            let certificate = try LinkCertificate.check(
                payload, handshakeStatic: state.remoteStatic, expectedIdentity: handshake.expectedIdentity,
                nowSeconds: context.wallSeconds())
            peerIdentity = certificate.identity
        } catch {
            return finish(.handshakeFailed(.certificate(error)))
        }
        open(state.split(), handshake.suite)
    }

    // MARK: - Ends

    /// Takes over the keys; from here on there are records.
    private func open(_ split: HandshakeState.Split, _ suite: AEADSuite) {
        var split = split
        guard var sending = split.sending.takeKey(), var receiving = split.receiving.takeKey() else {
            preconditionFailure("a finished handshake has its keys")
        }
        handshakeHash = split.handshakeHash
        unsafe keys.set(suite, sending: &sending, receiving: &receiving)
        handshake = nil
        enter(.open)
        delegate?.linkDidOpen(self)
        if !queue.isEmpty { putOff() }
    }

    /// Answers a client in the clear that it cannot be served, and closes once it has read that.
    private func refuse(_ code: UInt16) {
        transmit(LinkPreface.Relay.refusal(code).bytes)
        guard phase == .handshaking else { return }
        closeReason = .handshakeFailed(.noCommonVersion)
        inbound = []
        queue = []
        enter(.closing)
        putOff()
    }
}
