package import ChannelWire
internal import LinkRuntime
internal import NoiseProtocol
package import PosixKit
internal import SodiumCrypto

/// A client that can send what no `Link` sends. It blocks, each step at most `patience`.
package final class PuppetClient {
    package enum Failure: Error { case closed, silent, handshake }

    /// Names this link in proofs of key. Shape: 64 bytes.
    package let handshakeHash: [UInt8]
    private let socket: FileDescriptor
    private let sending: AEADKey
    private let receiving: AEADKey
    private var sendNonce: UInt64 = 0
    private var receiveNonce: UInt64 = 0
    private var input: [UInt8]
    private var frames: [Frame] = []

    /// Units: milliseconds.
    private static let patience: Int32 = 10_000

    /// Connects and makes a true handshake with whoever answers.
    package init(to address: SocketAddress) throws {
        let socket = try Posix.connect(tcp: address)
        guard Posix.waitReady(socket.raw, writing: true, milliseconds: Self.patience),
            Posix.connectOutcome(socket.raw) == nil
        else { throw Failure.closed }
        let preface = LinkPreface.Client(suites: .chaChaPoly)
        let ephemeral = SodiumNoise.keyPair(X25519.generate())
        _ = Posix.send(socket.raw, preface.bytes + ephemeral.publicKey)
        var input: [UInt8] = []
        while input.count < 10 || input.count < 10 + Self.length(input[8...]) {
            input += try Self.receive(socket.raw)
        }
        let end = 10 + Self.length(input[8...])
        let state = HandshakeState(
            pattern: .nx, role: .initiator,
            prologue: Array("antenna-link/1".utf8) + preface.bytes + input[..<8],
            e: ephemeral, primitives: SodiumNoise.primitives(.chaChaPoly))
        _ = try state.writeMessage([])
        _ = try state.readMessage(Array(input[10..<end]))
        var split = state.split()
        guard let out = split.sending.takeKey(), let back = split.receiving.takeKey() else {
            throw Failure.handshake
        }
        sending = AEADKey(suite: .chaChaPoly, key: SecretBytes(out))
        receiving = AEADKey(suite: .chaChaPoly, key: SecretBytes(back))
        handshakeHash = split.handshakeHash
        self.input = Array(input[end...])
        self.socket = socket
    }

    package func send(_ frame: Frame) { send(plaintext: frame.encode()) }

    /// One record of exactly these bytes, which may be anything.
    package func send(plaintext: [UInt8]) {
        let text = sending.seal(Array(plaintext.prefix(Limits.recordPlaintextMax)), nonce: sendNonce)
        sendNonce += 1
        write([UInt8(text.count >> 8), UInt8(truncatingIfNeeded: text.count)] + text)
    }

    /// Bytes outside of any record.
    package func write(_ bytes: [UInt8]) {
        var rest = bytes[...]
        while !rest.isEmpty {
            switch Posix.send(socket.raw, Array(rest)) {
            case .done(let count): rest = rest.dropFirst(count)
            case .wouldBlock:
                guard Posix.waitReady(socket.raw, writing: true, milliseconds: Self.patience) else { return }
            case .closed, .failed: return
            }
        }
    }

    /// The first frame that fits; frames before it are dropped.
    package func wait(for fits: (Frame) -> Bool) throws -> Frame {
        while true {
            while !frames.isEmpty {
                let frame = frames.removeFirst()
                if fits(frame) { return frame }
            }
            try read()
        }
    }

    /// Waits until everything sent so far has been read at the other end, or the link is closed.
    /// Throws: `silent` where neither happens in time.
    package func settle() throws {
        send(.ping([1, 2, 3, 4, 5, 6, 7, 8]))
        do {
            _ = try wait { if case .pong = $0 { true } else { false } }
        } catch Failure.closed {}
    }

    /// Ends this half of the stream and waits until the other end has closed its own.
    package func finish() throws {
        Posix.shutdownWriting(socket.raw)
        do {
            while true { _ = try Self.receive(socket.raw) }
        } catch Failure.closed {}
    }

    private func read() throws {
        while input.count < 2 || input.count < 2 + Self.length(input) {
            input += try Self.receive(socket.raw)
        }
        let end = 2 + Self.length(input)
        guard let plaintext = receiving.open(Array(input[2..<end]), nonce: receiveNonce) else {
            throw Failure.handshake
        }
        receiveNonce += 1
        input.removeFirst(end)
        var offset = 0
        while offset + 3 <= plaintext.count, plaintext[offset] != 0 {
            let next = offset + 3 + Self.length(plaintext[(offset + 1)...])
            frames.append(
                try Frame.decode(type: plaintext[offset], body: Array(plaintext[offset + 3..<next])))
            offset = next
        }
    }

    private static func receive(_ raw: Int32) throws -> [UInt8] {
        while true {
            let (result, bytes) = Posix.receive(raw, limit: 1 << 16)
            switch result {
            case .done: return bytes
            case .closed, .failed: throw Failure.closed
            case .wouldBlock:
                guard Posix.waitReady(raw, milliseconds: patience) else { throw Failure.silent }
            }
        }
    }

    /// The two bytes of a length at the front.
    private static func length(_ bytes: some Collection<UInt8>) -> Int {
        bytes.prefix(2).reduce(0) { $0 << 8 | Int($1) }
    }
}
