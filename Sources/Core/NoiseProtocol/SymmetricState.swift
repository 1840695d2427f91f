/// The chaining key, the handshake hash and the cipher made from them.
///
/// Source: The Noise Protocol Framework, revision 34, section 5.2.
package struct SymmetricState: Sendable {
    private let primitives: NoisePrimitives
    private var cipherState: CipherState
    private var ck: [UInt8]
    private var h: [UInt8]

    package init(protocolName: String, primitives: NoisePrimitives) {
        let name = [UInt8](protocolName.utf8)
        let length = primitives.hash.byteCount
        h =
            name.count <= length
            ? name + [UInt8](repeating: 0, count: length - name.count)
            : primitives.hash.digest(name, [])
        ck = h
        cipherState = CipherState(primitives)
        self.primitives = primitives
    }

    package var hasKey: Bool { cipherState.hasKey }

    package mutating func mixKey(_ input: [UInt8]) {
        var (next, key) = primitives.hkdf(chainingKey: ck, input: input)
        swap(&ck, &next)
        primitives.wipe(&next)
        setKey(&key)
    }

    package mutating func mixHash(_ data: [UInt8]) { h = primitives.hash.digest(h, data) }

    package func getHandshakeHash() -> [UInt8] { h }

    package mutating func encryptAndHash(_ plaintext: [UInt8]) throws(NoiseError) -> [UInt8] {
        let ciphertext = try cipherState.encryptWithAd(h, plaintext)
        mixHash(ciphertext)
        return ciphertext
    }

    package mutating func decryptAndHash(_ ciphertext: [UInt8]) throws(NoiseError) -> [UInt8] {
        let plaintext = try cipherState.decryptWithAd(h, ciphertext)
        mixHash(ciphertext)
        return plaintext
    }

    /// The two ciphers of the time after the handshake: the initiator sends with the first.
    package func split() -> (CipherState, CipherState) {
        var (first, second) = primitives.hkdf(chainingKey: ck, input: [])
        defer {
            primitives.wipe(&first)
            primitives.wipe(&second)
        }
        var (c1, c2) = (CipherState(primitives), CipherState(primitives))
        c1.initializeKey(Array(first.prefix(keyByteCount)))
        c2.initializeKey(Array(second.prefix(keyByteCount)))
        return (c1, c2)
    }

    package mutating func wipe() {
        primitives.wipe(&ck)
        cipherState.wipe()
    }

    /// Cuts a key to its 32 bytes, which a hash of 64 bytes makes necessary, and wipes what it was cut from.
    private mutating func setKey(_ key: inout [UInt8]) {
        cipherState.initializeKey(key.count == keyByteCount ? key : Array(key.prefix(keyByteCount)))
        if key.count != keyByteCount { primitives.wipe(&key) }
    }
}

private let keyByteCount = 32
