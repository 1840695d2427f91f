internal import CBench
internal import ChannelWire
internal import LinkRuntime
internal import NoiseProtocol
internal import Operations
internal import PosixKit
internal import SodiumCrypto

/// The client's end of one link: the handshake of `LinkRuntime` and its records, without its loop and deadlines, so
/// that tens of thousands of them cost a measurement little.
final class BenchLink {
    enum Phase { case preface, messageTwo, open }

    let descriptor: Int32
    private(set) var phase = Phase.preface
    /// Shape: 64 bytes once open.
    private(set) var handshakeHash: [UInt8] = []
    private(set) var suite = AEADSuite.chaChaPoly

    private let expectedIdentity: [UInt8]
    private let clientPreface: LinkPreface.Client
    private var relayPreface: LinkPreface.Relay?
    private var ephemeral: DHKeyPair?
    private var sendKey: AEADKey?
    private var sendNonce: UInt64 = 0
    private(set) var receiveKey: AEADKey?
    var receiveNonce: UInt64 = 0
    /// A record or handshake message that has not come whole.
    var partial: [UInt8] = []
    private var unsent: [UInt8] = []

    /// The sequence that the next delivery must have; 0 before the link is attached.
    var nextSequence: Int64 = 0
    /// Whether every byte that comes is opened and compared.
    let isSampled: Bool
    /// When the connection was begun. Units: nanoseconds.
    let begun: UInt64

    /// Connects and sends the first flight.
    init(_ relay: RelayPlace, source: UInt32, suites: LinkPreface.Suites, isSampled: Bool)
        throws(OperatorError)
    {
        begun = Clock.monotonicNanoseconds()
        self.isSampled = isSampled
        expectedIdentity = relay.identity
        clientPreface = LinkPreface.Client(suites: suites)
        descriptor = bench_connect(relay.address, relay.port, source)
        guard descriptor >= 0 else { throw OperatorError(errno: -descriptor, "connect") }
        let pair = SodiumNoise.keyPair(X25519.generate())
        ephemeral = pair
        try write(clientPreface.bytes + pair.publicKey)
    }

    deinit { if descriptor >= 0 { Posix.closeRaw(descriptor) } }

    // MARK: - Handshake

    private static let primitives = (
        chaChaPoly: SodiumNoise.primitives(.chaChaPoly), aesGCM: SodiumNoise.primitives(.aesGCM)
    )

    /// Takes one message of the handshake. Returns: how many bytes it was; 0 when it is not whole yet.
    func advanceHandshake(_ bytes: [UInt8]) throws(OperatorError) -> Int {
        if phase == .preface {
            guard bytes.count >= LinkPreface.byteCount else { return 0 }
            switch LinkPreface.Relay(bytes: bytes[..<LinkPreface.byteCount]) {
            case .chosen(_, let chosen)?:
                guard clientPreface.suites.contains(chosen) else {
                    throw .unexpected("a suite that was not offered")
                }
                suite = chosen == .aesGCM ? .aesGCM : .chaChaPoly
                relayPreface = .chosen(version: LinkPreface.version, suite: chosen)
            case .refusal(let code)?:
                throw .unexpected("the relay refused a link with \(LinkErrorCode.described(code))")
            case nil: throw .unexpected("what answered is no relay")
            }
            phase = .messageTwo
            return LinkPreface.byteCount
        }
        guard bytes.count >= 2 else { return 0 }
        let length = Int(bytes[0]) << 8 | Int(bytes[1])
        guard bytes.count >= 2 + length else { return 0 }
        try readMessageTwo(Array(bytes[2..<2 + length]))
        return 2 + length
    }

    private func readMessageTwo(_ message: [UInt8]) throws(OperatorError) {
        guard let relayPreface, let ephemeral else { throw .unexpected("a handshake out of order") }
        let state = HandshakeState(
            pattern: .nx, role: .initiator,
            prologue: Array("antenna-link/1".utf8) + clientPreface.bytes + relayPreface.bytes, e: ephemeral,
            primitives: suite == .aesGCM ? BenchLink.primitives.aesGCM : BenchLink.primitives.chaChaPoly)
        do {
            _ = try state.writeMessage([])
            let payload = try state.readMessage(message)
            _ = try LinkCertificate.check(
                payload, handshakeStatic: state.remoteStatic, expectedIdentity: expectedIdentity,
                nowSeconds: Clock.nowSeconds())
        } catch {
            throw .unexpected("the handshake failed: \(error)")
        }
        var split = state.split()
        guard let sending = split.sending.takeKey(), let receiving = split.receiving.takeKey() else {
            throw .unexpected("a handshake without keys")
        }
        handshakeHash = split.handshakeHash
        sendKey = AEADKey(suite: suite, key: sending)
        receiveKey = AEADKey(suite: suite, key: receiving)
        self.ephemeral = nil
        phase = .open
    }

    func forgetHandshakeHash() { handshakeHash = [] }

    /// For a link that only reads from here on.
    func acknowledgeWhenRead() throws(OperatorError) {
        let result = bench_acknowledge_when_read(descriptor)
        guard result == 0 else { throw OperatorError(errno: -result, "TCP_QUICKACK") }
    }

    // MARK: - Sending

    var hasUnsent: Bool { !unsent.isEmpty }

    func send(_ frames: Frame...) throws(OperatorError) {
        try send(frames: frames.reduce(into: []) { $0 += $1.encode() })
    }

    /// Seals whole frames, at most one record of them, and hands them to the kernel; what it does not take waits.
    func send(frames: [UInt8]) throws(OperatorError) {
        guard let sendKey else { throw .unexpected("a frame before the handshake") }
        let plaintext = RecordPadding.padded(frames.count)
        let ciphertext = plaintext + AEADKey.tagByteCount
        var record: [UInt8] = [UInt8(ciphertext >> 8), UInt8(truncatingIfNeeded: ciphertext)]
        record.reserveCapacity(2 + ciphertext)
        record += frames
        record += repeatElement(0, count: 2 + ciphertext - record.count)
        let nonce = sendNonce
        unsafe record.withUnsafeMutableBytes { bytes in
            unsafe sendKey.seal(
                UnsafeMutableRawBufferPointer(rebasing: bytes[2...]), plaintextCount: plaintext, nonce: nonce)
        }
        sendNonce += 1
        try write(record)
    }

    /// Sends what waits. Call it again while `hasUnsent`.
    func flush() throws(OperatorError) {
        guard !unsent.isEmpty else { return }
        let waiting = unsent
        unsent = []
        try write(waiting)
    }

    private func write(_ bytes: [UInt8]) throws(OperatorError) {
        guard unsent.isEmpty else {
            unsent += bytes
            return
        }
        switch Posix.send(descriptor, bytes) {
        case .done(let count): if count < bytes.count { unsent = Array(bytes[count...]) }
        case .wouldBlock: unsent = bytes
        case .closed: throw .unexpected("the relay closed a link")
        case .failed(let error): throw OperatorError(.inputOutput, error.description)
        }
    }
}

extension LinkErrorCode {
    /// The number with its name where it has one.
    static func described(_ code: UInt16) -> String {
        "error \(code)" + (LinkErrorCode(rawValue: code).map { " \($0.name)" } ?? "")
    }
}
