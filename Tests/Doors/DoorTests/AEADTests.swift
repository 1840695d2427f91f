import SodiumCrypto
import Testing

/// The suites that this processor has.
private let suites: [AEADSuite] = AEADSuite.aesAvailable ? [.chaChaPoly, .aesGCM] : [.chaChaPoly]

@Suite struct AEADTests {
    // Source: computed with Python's cryptography.
    @Test(arguments: suites)
    func `nonces are laid out as the Noise specification says`(suite: AEADSuite) {
        let key = AEADKey(suite: suite, key: [UInt8](0..<32))
        let sealed = key.seal(
            [UInt8]("a text of twenty-six bytes".utf8), nonce: 0x0102_0304_0506_0708,
            associatedData: [UInt8]("ad".utf8))
        switch suite {
        case .chaChaPoly:
            #expect(
                hexText(sealed)
                    == "9169d981d34dca77028b5ebb161615c1cd759bbca8263cea3246db321d60050885619a6b2d2d0a400665")
        case .aesGCM:
            #expect(
                hexText(sealed)
                    == "6571116ba59529f165bf89987b094d89578a35baf7b731188c88cc620353cfb09a5c627917ec6d7ba65f")
        }
    }

    @Test(arguments: suites, [0, 1, 15, 16, 17, 1000, 65519])
    func `what is sealed opens, in arrays and in place, to the same bytes`(suite: AEADSuite, count: Int) {
        let key = AEADKey(suite: suite, key: .random(32))
        let plaintext = Sodium.random(count)
        let sealed = key.seal(plaintext, nonce: 9)
        #expect(sealed.count == count + 16)
        #expect(key.open(sealed, nonce: 9) == plaintext)

        var buffer = plaintext + [UInt8](repeating: 0xff, count: 20)
        buffer.withUnsafeMutableBytes { key.seal($0, plaintextCount: count, nonce: 9) }
        #expect(Array(buffer[..<(count + 16)]) == sealed)
        #expect(
            Array(buffer[(count + 16)...]) == [0xff, 0xff, 0xff, 0xff], "nothing after the tag is touched")
        buffer.removeLast(4)
        let opened = buffer.withUnsafeMutableBytes { key.open($0, nonce: 9) }
        #expect(opened == count)
        #expect(Array(buffer[..<count]) == plaintext)

        var target = [UInt8](repeating: 0, count: count + 16)
        plaintext.withUnsafeBytes { source in
            target.withUnsafeMutableBytes { target in
                key.seal(
                    source, into: target, nonce: 9,
                    associatedData: UnsafeRawBufferPointer(start: nil, count: 0))
            }
        }
        #expect(target == sealed, "from one buffer into another")
    }

    @Test(arguments: suites)
    func `any change to text, data, nonce or key is noticed`(suite: AEADSuite) {
        let key = AEADKey(suite: suite, key: [UInt8](repeating: 1, count: 32))
        let sealed = key.seal([1, 2, 3], nonce: 5, associatedData: [4])
        #expect(key.open(sealed, nonce: 5, associatedData: [4]) == [1, 2, 3])
        for index in sealed.indices {
            var forged = sealed
            forged[index] ^= 0x80
            #expect(key.open(forged, nonce: 5, associatedData: [4]) == nil)
        }
        #expect(key.open(sealed, nonce: 6, associatedData: [4]) == nil)
        #expect(key.open(sealed, nonce: 5, associatedData: []) == nil)
        #expect(key.open(sealed + [0], nonce: 5, associatedData: [4]) == nil)
        let other = AEADKey(suite: suite, key: [UInt8](repeating: 2, count: 32))
        #expect(other.open(sealed, nonce: 5, associatedData: [4]) == nil)
        var buffer = sealed
        #expect(buffer.withUnsafeMutableBytes { key.open($0, nonce: 5) } == nil)
    }

    @Test(arguments: suites)
    func `a text shorter than its tag does not open`(suite: AEADSuite) {
        let key = AEADKey(suite: suite, key: .random(32))
        for count in 0..<16 {
            #expect(key.open([UInt8](repeating: 0, count: count), nonce: 0) == nil)
            var buffer = [UInt8](repeating: 0, count: count)
            #expect(buffer.withUnsafeMutableBytes { key.open($0, nonce: 0) } == nil)
        }
        var empty: [UInt8] = []
        #expect(empty.withUnsafeMutableBytes { key.open($0, nonce: 0) } == nil)
    }

    @Test(arguments: suites)
    func `keys of many connections share one schedule, and each direction has its own`(suite: AEADSuite) {
        let schedule = AEADSchedule()
        let keys = (0..<3).map { _ in Sodium.random(32) }
        let holders = (0..<3).map { index in
            var sending = keys[index]
            var receiving = keys[(index + 1) % 3]
            let holder = Holder()
            #expect(!holder.hasKeys)
            holder.pair.set(suite, sending: &sending, receiving: &receiving)
            #expect(holder.hasKeys)
            #expect(sending.allSatisfy { $0 == 0 } && receiving.allSatisfy { $0 == 0 }, "wiped")
            return holder
        }
        for (index, holder) in holders.enumerated() {
            let plain = Array("of connection \(index)".utf8)
            var buffer = plain + [UInt8](repeating: 0, count: 16)
            buffer.withUnsafeMutableBytes {
                let text = UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer($0)[..<plain.count])
                holder.pair.seal(schedule.job(text, into: $0), nonce: 7)
            }
            #expect(buffer == AEADKey(suite: suite, key: keys[index]).seal(plain, nonce: 7))
            // What is sent on one is what the connection before it receives with.
            var other = buffer
            holder.pair.loadReceiving(into: schedule)
            #expect(other.withUnsafeMutableBytes { schedule.open($0, nonce: 7) } == nil)
            holders[(index + 2) % 3].pair.loadReceiving(into: schedule)
            #expect(buffer.withUnsafeMutableBytes { schedule.open($0, nonce: 7) } == plain.count)
            #expect(Array(buffer[..<plain.count]) == plain)
        }
    }

    @Test func `keys that are wiped are gone from where they lay`() {
        let holder = Holder()
        var sending = [UInt8](repeating: 0xa5, count: 32)
        var receiving = [UInt8](repeating: 0x5a, count: 32)
        holder.pair.set(.chaChaPoly, sending: &sending, receiving: &receiving)
        func bytesOfKeys() -> Int {
            withUnsafeBytes(of: &holder.pair) { $0.count { $0 == 0xa5 || $0 == 0x5a } }
        }
        #expect(bytesOfKeys() == 64)
        holder.pair.wipe()
        #expect(bytesOfKeys() == 0 && !holder.hasKeys)
    }

    private final class Holder {
        var pair = AEADKeyPair()
        var hasKeys: Bool { pair.isSet }
        deinit { pair.wipe() }
    }
}

@Suite struct PassphraseBoxTests {
    private let passphrase = SecretBytes([UInt8]("correct horse".utf8))

    @Test func `the right passphrase opens, and another does not`() throws {
        let secret = SecretBytes.random(32)
        let box = try PassphraseBox.lock(secret, passphrase: passphrase, strength: .interactive)
        #expect(box.count == 3 + 16 + 24 + 32 + 16)
        #expect(try PassphraseBox.unlock(box, passphrase: passphrase) == secret)
        #expect(throws: PassphraseBox.Failure.wrongPassphraseOrDamaged) {
            try PassphraseBox.unlock(box, passphrase: SecretBytes([UInt8]("correct horsf".utf8)))
        }
        #expect(throws: PassphraseBox.Failure.wrongPassphraseOrDamaged) {
            try PassphraseBox.unlock(box, passphrase: SecretBytes([]))
        }
        var damaged = box
        damaged[box.count - 1] ^= 1
        #expect(throws: PassphraseBox.Failure.wrongPassphraseOrDamaged) {
            try PassphraseBox.unlock(damaged, passphrase: passphrase)
        }
        let again = try PassphraseBox.lock(secret, passphrase: passphrase, strength: .interactive)
        #expect(again != box, "salt and nonce are fresh")
    }

    @Test func `what is not a box of ours is refused before any work`() throws {
        #expect(throws: PassphraseBox.Failure.malformed) {
            try PassphraseBox.unlock([], passphrase: passphrase)
        }
        #expect(throws: PassphraseBox.Failure.malformed) {
            try PassphraseBox.unlock([1] + [UInt8](repeating: 3, count: 57), passphrase: passphrase)
        }
        let rest = [UInt8](repeating: 3, count: 80)
        #expect(throws: PassphraseBox.Failure.unknownVersion(2)) {
            try PassphraseBox.unlock([2, 16, 2] + rest, passphrase: passphrase)
        }
        for (memory, passes) in [(21, 2), (255, 2), (2, 2), (16, 0), (16, 11)] as [(UInt8, UInt8)] {
            #expect(throws: PassphraseBox.Failure.costTooHigh) {
                try PassphraseBox.unlock([1, memory, passes] + rest, passphrase: passphrase)
            }
        }
    }
}
