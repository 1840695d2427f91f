import NoiseProtocol
import SodiumCrypto
import Testing

@Suite struct CipherStateTests {
    private func pair(_ suite: AEADSuite = .chaChaPoly) throws -> (sender: CipherState, receiver: CipherState)
    {
        let primitives = TestPrimitives.make(suite)
        let initiator = HandshakeState(pattern: .nx, role: .initiator, prologue: [], primitives: primitives)
        let responder = HandshakeState(
            pattern: .nx, role: .responder, prologue: [], s: primitives.dh.generateKeyPair(),
            primitives: primitives)
        _ = try responder.readMessage(initiator.writeMessage([]))
        _ = try initiator.readMessage(responder.writeMessage([]))
        return (initiator.split().sending, responder.split().receiving)
    }

    @Test func `a text that is not authentic leaves the nonce, so that the next true one opens`() throws {
        var (sender, receiver) = try pair()
        let text = try sender.encryptWithAd([1], [2, 3])
        #expect(sender.n == 1)
        #expect(throws: NoiseError.notAuthentic) { try receiver.decryptWithAd([0], text) }
        #expect(throws: NoiseError.notAuthentic) { try receiver.decryptWithAd([1], text + [0]) }
        #expect(receiver.n == 0)
        #expect(try receiver.decryptWithAd([1], text) == [2, 3])
        #expect(receiver.n == 1)
        #expect(throws: NoiseError.notAuthentic, "a repetition") { try receiver.decryptWithAd([1], text) }
    }

    @Test func `the last nonce is never used`() throws {
        var (sender, receiver) = try pair()
        sender.setNonce(.max - 1)
        receiver.setNonce(.max - 1)
        #expect(try receiver.decryptWithAd([], sender.encryptWithAd([], [5])) == [5])
        #expect(throws: NoiseError.nonceExhausted) { try sender.encryptWithAd([], [5]) }
        #expect(throws: NoiseError.nonceExhausted) {
            try receiver.decryptWithAd([], [UInt8](repeating: 0, count: 17))
        }
    }

    @Test(arguments: TestPrimitives.suites)
    func `rekeying changes the key on both sides in the same way and keeps the nonce`(suite: AEADSuite) throws
    {
        var (sender, receiver) = try pair(suite)
        _ = try receiver.decryptWithAd([], sender.encryptWithAd([], []))
        var old = sender
        sender.rekey()
        #expect(sender.n == 1)
        let text = try sender.encryptWithAd([], [4])
        #expect(try old.encryptWithAd([], [4]) != text)
        #expect(throws: NoiseError.notAuthentic) { try receiver.decryptWithAd([], text) }
        receiver.rekey()
        #expect(try receiver.decryptWithAd([], text) == [4])
    }

    @Test func `without a key a text goes as it is`() throws {
        var (sender, _) = try pair()
        sender.wipe()
        #expect(!sender.hasKey)
        #expect(try sender.encryptWithAd([], [1, 2]) == [1, 2])
        #expect(try sender.decryptWithAd([], [1, 2]) == [1, 2])
        #expect(sender.takeKey() == nil)
    }
}
