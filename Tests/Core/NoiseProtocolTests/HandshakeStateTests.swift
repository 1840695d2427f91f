import NoiseProtocol
import SodiumCrypto
import Synchronization
import Testing

@Suite struct HandshakeStateTests {
    private let prologue = [UInt8]("a prologue".utf8)

    private func pair(
        _ suite: AEADSuite = .chaChaPoly, initiatorPrologue: [UInt8]? = nil, e: DHKeyPair? = nil
    ) -> (initiator: HandshakeState, responder: HandshakeState, responderStatic: [UInt8]) {
        let primitives = TestPrimitives.make(suite)
        let s = primitives.dh.generateKeyPair()
        return (
            HandshakeState(
                pattern: .nx, role: .initiator, prologue: initiatorPrologue ?? prologue, e: e,
                primitives: primitives),
            HandshakeState(pattern: .nx, role: .responder, prologue: prologue, s: s, primitives: primitives),
            s.publicKey
        )
    }

    @Test(arguments: TestPrimitives.suites)
    func `both sides end with the same hash, crossed keys and the responder's static key`(suite: AEADSuite)
        throws
    {
        let (initiator, responder, key) = pair(suite)
        #expect(initiator.isOurTurn && !responder.isOurTurn)
        let first = try initiator.writeMessage([])
        #expect(first.count == 32)
        #expect(try responder.readMessage(first) == [])
        #expect(!initiator.isOurTurn && responder.isOurTurn)
        let certificate = [UInt8](repeating: 7, count: 145)
        let second = try responder.writeMessage(certificate)
        #expect(second.count == 32 + 48 + 145 + 16)
        #expect(try initiator.readMessage(second) == certificate)
        #expect(initiator.remoteStatic == key)
        #expect(initiator.isFinished && responder.isFinished)
        var (a, b) = (initiator.split(), responder.split())
        #expect(a.handshakeHash == b.handshakeHash)
        #expect(a.handshakeHash.count == 64)
        let (sending, receiving) = (a.sending.takeKey(), a.receiving.takeKey())
        #expect(sending?.count == 32 && receiving?.count == 32 && sending != receiving)
        #expect(b.receiving.takeKey() == sending)
        #expect(b.sending.takeKey() == receiving)
        #expect(!a.sending.hasKey)
    }

    @Test func `two handshakes share no key and no hash`() throws {
        var hashes: Set<[UInt8]> = []
        for _ in 0..<3 {
            let (initiator, responder, _) = pair()
            _ = try responder.readMessage(initiator.writeMessage([]))
            _ = try initiator.readMessage(responder.writeMessage([]))
            hashes.insert(initiator.split().handshakeHash)
        }
        #expect(hashes.count == 3)
    }

    @Test func `a preset ephemeral key can be sent before the prologue is known`() throws {
        let e = TestPrimitives.make(.chaChaPoly).dh.generateKeyPair()
        let sentEarly = e.publicKey
        let (initiator, responder, _) = pair(e: e)
        #expect(try initiator.writeMessage([]) == sentEarly)
        _ = try responder.readMessage(sentEarly)
        _ = try initiator.readMessage(responder.writeMessage([]))
        #expect(initiator.split().handshakeHash == responder.split().handshakeHash)
    }

    @Test func `another prologue breaks the handshake`() throws {
        let (initiator, responder, _) = pair(initiatorPrologue: prologue + [0])
        _ = try responder.readMessage(initiator.writeMessage([]))
        let answer = try responder.writeMessage([])
        #expect(throws: NoiseError.notAuthentic) { try initiator.readMessage(answer) }
    }

    @Test func `a changed bit anywhere in the answer is noticed, and the true answer still works afterwards`()
        throws
    {
        let (initiator, responder, _) = pair()
        _ = try responder.readMessage(initiator.writeMessage([]))
        let answer = try responder.writeMessage([1, 2, 3])
        for index in answer.indices {
            var forged = answer
            forged[index] ^= 0x40
            #expect(throws: NoiseError.self) { try initiator.readMessage(forged) }
            #expect(!initiator.isFinished)
            #expect(initiator.remoteStatic == nil)
        }
        #expect(try initiator.readMessage(answer) == [1, 2, 3])
        #expect(initiator.split().handshakeHash == responder.split().handshakeHash)
    }

    @Test func `an answer cut at any place is refused, and the whole one still works afterwards`() throws {
        let (initiator, responder, _) = pair()
        #expect(throws: NoiseError.truncated(needed: 32, have: 31)) {
            try responder.readMessage([UInt8](repeating: 1, count: 31))
        }
        _ = try responder.readMessage(initiator.writeMessage([]))
        let answer = try responder.writeMessage([9])
        for count in answer.indices {
            #expect(throws: NoiseError.self) { try initiator.readMessage(Array(answer[..<count])) }
        }
        #expect(try initiator.readMessage(answer) == [9])
    }

    @Test(arguments: [
        [UInt8](repeating: 0, count: 32),
        [1] + [UInt8](repeating: 0, count: 31),
    ])
    func `a public key of small order is refused and changes nothing`(key: [UInt8]) throws {
        let (initiator, responder, _) = pair()
        _ = try responder.readMessage(key)
        #expect(throws: NoiseError.unusableKey) { try responder.writeMessage([]) }
        #expect(responder.isOurTurn)
        // The initiator meets it in the answer.
        _ = try initiator.writeMessage([])
        #expect(throws: NoiseError.unusableKey) {
            try initiator.readMessage(key + [UInt8](repeating: 0, count: 64))
        }
        #expect(!initiator.isFinished)
    }

    @Test func `a message of 65535 bytes is the longest`() throws {
        let (initiator, responder, _) = pair()
        #expect(throws: NoiseError.tooLong(65536)) {
            try initiator.writeMessage([UInt8](repeating: 0, count: 65504))
        }
        let message = try initiator.writeMessage([UInt8](repeating: 0, count: 65503))
        #expect(message.count == 65535)
        #expect(throws: NoiseError.tooLong(65536)) { try responder.readMessage(message + [0]) }
        #expect(try responder.readMessage(message).count == 65503)
    }

    @Test func `every secret that was handed out is wiped in the end`() throws {
        let ledger = WipeLedger()
        let primitives = ledger.primitives()
        do {
            let s = primitives.dh.generateKeyPair()
            let initiator = HandshakeState(
                pattern: .nx, role: .initiator, prologue: [], primitives: primitives)
            let responder = HandshakeState(
                pattern: .nx, role: .responder, prologue: [], s: s, primitives: primitives)
            _ = try responder.readMessage(initiator.writeMessage([]))
            let answer = try responder.writeMessage([])
            var forged = answer
            forged[60] ^= 1
            #expect(throws: NoiseError.notAuthentic) { try initiator.readMessage(forged) }
            _ = try initiator.readMessage(answer)
            var split = initiator.split()
            split.sending.wipe()
            split.receiving.wipe()
            // The responder ends in the middle of things.
        }
        #expect(ledger.handedOutCount > 10)
        #expect(ledger.neverWiped.isEmpty)
    }
}

/// Notes every secret that the cryptography hands out, and every array that comes back to be wiped.
private final class WipeLedger: Sendable {
    private let state = Mutex<(given: Set<[UInt8]>, wiped: Set<[UInt8]>)>((given: [], wiped: []))

    var handedOutCount: Int { state.withLock { $0.given.count } }

    /// Secrets of which neither the whole nor the 32 bytes cut from it came back.
    var neverWiped: Set<[UInt8]> { state.withLock { $0.given.subtracting($0.wiped) } }

    func primitives() -> NoisePrimitives {
        let real = TestPrimitives.make(.chaChaPoly)
        let give: @Sendable ([UInt8]) -> [UInt8] = { secret in
            self.state.withLock { _ = $0.given.insert(secret) }
            return secret
        }
        return NoisePrimitives(
            dh: NoisePrimitives.DH(name: "25519", keyByteCount: 32) {
                let pair = real.dh.generateKeyPair()
                return DHKeyPair(publicKey: pair.publicKey) { other in pair.sharedSecret(other).map(give) }
            },
            cipher: real.cipher,
            hash: NoisePrimitives.Hash(
                name: "BLAKE2b", byteCount: 64, digest: real.hash.digest,
                hmac: { key, message in give(real.hash.hmac(key, message)) }),
            wipe: { bytes in
                self.state.withLock { _ = $0.wiped.insert(bytes) }
                real.wipe(&bytes)
            })
    }
}
