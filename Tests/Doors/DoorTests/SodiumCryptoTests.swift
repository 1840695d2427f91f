import SodiumCrypto
import Testing

@Suite struct SodiumHashTests {
    @Test func `the hashes give the published values for "abc"`() {
        let abc = [UInt8]("abc".utf8)
        // Source: FIPS 180-4 examples; RFC 7693, appendix A.
        #expect(
            hexText(Sodium.sha256(abc)) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
        #expect(
            hexText(Sodium.sha512(abc))
                == "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
                + "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f")
        #expect(
            hexText(Sodium.blake2b512(abc))
                == "ba80a53f981c4d0d6a2797b69f12f6e94c212f14685ac4b74b12bb6fdbffa2d1"
                + "7d87c5392aab792dc252d5de4533cc9518d38aa8dbf1925ab92386edd4009923")
    }

    @Test func `the hash of parts is the hash of the whole`() {
        let whole = [UInt8](0..<200)
        let expected = Sodium.blake2b512(whole)
        for cut in [0, 1, 127, 128, 129, 200] {
            #expect(Sodium.blake2b512(Array(whole[..<cut]), Array(whole[cut...])) == expected)
        }
        #expect(Sodium.blake2b512(Array(whole[..<3]), Array(whole[3..<9]), Array(whole[9...])) == expected)
    }

    // Source: computed with Python's hmac over hashlib.blake2b; the first half of each.
    @Test(arguments: [
        (0, 0, "198cd2006f66ff83fbbd913f78aca2251caf4f19fe9475aade8cf2091b99a684"),
        (32, 3, "0c5dfd3e2e8c8879421ea72b084ab7644371b840f2c53cb8bccf061867259cba"),
        (64, 64, "043a6c2aa26318b96fa8b52a21ca830ae66e01badc5f17e067aa8424da04ec9a"),
        (128, 200, "8f6392233e532e78af9094e199b8cc25a90cf674fe64c172a3c96bfc0ebe7bdb"),
        (129, 5, "39cb2354b69c09f046942d7c2e935a898536e14fe4a36531363b0dcd6d5cafc4"),
        (300, 1, "ae89795ea68c61f9af705e804186547b401dfc6773c404116a15e7f8ebe00e17"),
    ])
    func `HMAC is RFC 2104 over BLAKE2b with blocks of 128 bytes`(
        keyCount: Int, messageCount: Int, expected: String
    ) {
        let key = (0..<keyCount).map { UInt8(truncatingIfNeeded: $0) }
        let message = (0..<messageCount).map { UInt8(truncatingIfNeeded: $0 &* 3) }
        let mac = Sodium.hmacBlake2b(key: key, message)
        #expect(mac.count == 64)
        #expect(hexText(mac).hasPrefix(expected))
        let half = messageCount / 2
        #expect(Sodium.hmacBlake2b(key: key, Array(message[..<half]), Array(message[half...])) == mac)
    }
}

@Suite struct SodiumSecretTests {
    @Test func `random bytes have the count asked for and do not repeat`() {
        #expect(Sodium.random(0).isEmpty)
        let draws = Set((0..<50).map { _ in Sodium.random(32) })
        #expect(draws.count == 50)
        #expect(draws.allSatisfy { $0.count == 32 })
        var generator = SodiumRandom()
        #expect(Set((0..<50).map { _ in generator.next() }).count == 50)
    }

    @Test func `constant-time equality agrees with equality`() {
        #expect(Sodium.constantTimeEquals([], []))
        #expect(Sodium.constantTimeEquals([1, 2], [1, 2]))
        #expect(!Sodium.constantTimeEquals([1, 2], [1, 3]))
        #expect(!Sodium.constantTimeEquals([1, 2], [1, 2, 3]))
    }

    @Test func `wiping overwrites the memory and empties the array`() {
        var bytes: [UInt8] = [1, 2, 3]
        Sodium.wipe(&bytes)
        #expect(bytes.isEmpty)
        Sodium.wipe(&bytes)
    }

    @Test func `secrets compare by content, copy out and never describe themselves`() {
        var original: [UInt8] = [0xab, 0xcd, 0xef]
        let secret = SecretBytes(moving: &original)
        #expect(original.isEmpty)
        #expect(secret.count == 3)
        #expect(secret.copied() == [0xab, 0xcd, 0xef])
        #expect(secret == SecretBytes([0xab, 0xcd, 0xef]))
        #expect(secret != SecretBytes([0xab, 0xcd, 0xee]))
        #expect(secret != SecretBytes([0xab, 0xcd]))
        #expect("\(secret)" == "SecretBytes(3)")
        var dumped = ""
        dump(Ed25519.KeyPair(seed: [UInt8](repeating: 0xab, count: 32)), to: &dumped)
        #expect(dumped.contains("SecretBytes(64)"))
        #expect(SecretBytes([]).copied() == [])
        #expect(SecretBytes.random(32) != SecretBytes.random(32))
    }
}

@Suite struct Ed25519Tests {
    @Test func `RFC 8032's first test has its published key and signature`() {
        let key = Ed25519.KeyPair(
            seed: hexBytes("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60"))
        #expect(hexText(key.publicKey) == "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a")
        let signature = Ed25519.sign([], with: key)
        #expect(
            hexText(signature)
                == "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155"
                + "5fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b")
        #expect(Ed25519.verify(signature: signature, message: [], publicKey: key.publicKey))
        #expect(
            hexText(key.seed.copied()) == "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")
    }

    @Test func `a signature holds for its message, key and own bytes only`() {
        let key = Ed25519.KeyPair.generate()
        let message = [UInt8]("message".utf8)
        let signature = Ed25519.sign(message, with: key)
        #expect(Ed25519.verify(signature: signature, message: message, publicKey: key.publicKey))
        #expect(!Ed25519.verify(signature: signature, message: message + [0], publicKey: key.publicKey))
        #expect(
            !Ed25519.verify(
                signature: signature, message: message, publicKey: Ed25519.KeyPair.generate().publicKey))
        for index in signature.indices {
            var forged = signature
            forged[index] ^= 1
            #expect(!Ed25519.verify(signature: forged, message: message, publicKey: key.publicKey))
        }
    }

    @Test func `wrong sizes are refused, not read`() {
        let key = Ed25519.KeyPair.generate()
        let signature = Ed25519.sign([1], with: key)
        #expect(
            !Ed25519.verify(signature: Array(signature.dropLast()), message: [1], publicKey: key.publicKey))
        #expect(!Ed25519.verify(signature: signature + [0], message: [1], publicKey: key.publicKey))
        #expect(
            !Ed25519.verify(signature: signature, message: [1], publicKey: Array(key.publicKey.dropLast())))
        #expect(!Ed25519.verify(signature: [], message: [1], publicKey: []))
    }

    @Test func `a second encoding of a true signature is refused`() {
        let key = Ed25519.KeyPair.generate()
        var signature = Ed25519.sign([7], with: key)
        // S + L, the group's order: the same number modulo L.
        let order = hexBytes("edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010")
        var carry = 0
        for index in 0..<32 {
            let sum = Int(signature[32 + index]) + Int(order[index]) + carry
            signature[32 + index] = UInt8(sum & 0xff)
            carry = sum >> 8
        }
        #expect(!Ed25519.verify(signature: signature, message: [7], publicKey: key.publicKey))
    }

    @Test func `a key of small order signs nothing`() {
        // With the neutral element as key and as R, and S = 0, the bare equation would hold for every
        // message.
        let neutral = [1] + [UInt8](repeating: 0, count: 31)
        #expect(
            !Ed25519.verify(
                signature: neutral + [UInt8](repeating: 0, count: 32), message: [1, 2], publicKey: neutral))
    }
}

@Suite struct X25519Tests {
    // Source: computed with Python's cryptography.
    @Test func `public keys and shared secrets are those of another implementation`() {
        let a = X25519.keyPair(seed: [UInt8](0..<32))
        let b = X25519.keyPair(seed: [UInt8](32..<64))
        #expect(hexText(a.publicKey) == "8f40c5adb68f25624ae5b214ea767a6ec94d829d3d7b5e1ad1ba6f3e2138285f")
        #expect(hexText(b.publicKey) == "358072d6365880d1aeea329adf9121383851ed21a28e3b75e965d0d2cd166254")
        let shared = X25519.sharedSecret(secret: a.secretKey, public: b.publicKey)
        #expect(
            shared.map { hexText($0.copied()) }
                == "9663aa1da97e848a914a436d04163dfbb89178f107f1b5b77ed3854203382854")
        #expect(X25519.sharedSecret(secret: b.secretKey, public: a.publicKey) == shared)
    }

    @Test func `keys of small order or of a wrong size share nothing`() {
        let pair = X25519.generate()
        let zero = [UInt8](repeating: 0, count: 32)
        #expect(X25519.sharedSecret(secret: pair.secretKey, public: zero) == nil)
        #expect(X25519.sharedSecret(secret: pair.secretKey, public: [1] + zero.dropLast()) == nil)
        #expect(X25519.sharedSecret(secret: pair.secretKey, public: pair.publicKey + [0]) == nil)
        #expect(X25519.sharedSecret(secret: pair.secretKey, public: []) == nil)
    }

    @Test func `generated pairs differ`() {
        #expect(Set((0..<20).map { _ in X25519.generate().publicKey }).count == 20)
    }
}

func hexText(_ bytes: some Sequence<UInt8>) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
}

func hexBytes(_ text: String) -> [UInt8] {
    let digits = text.compactMap(\.hexDigitValue)
    return stride(from: 0, to: digits.count - 1, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
}
