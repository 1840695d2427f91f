/// A cipher key and the counter of its nonces.
///
/// Source: The Noise Protocol Framework, revision 34, section 5.1.
package struct CipherState: Sendable {
    private let primitives: NoisePrimitives
    private var k: [UInt8]?
    /// The nonce that the next message uses.
    package private(set) var n: UInt64 = 0

    init(_ primitives: NoisePrimitives) { self.primitives = primitives }

    package mutating func initializeKey(_ key: [UInt8]?) {
        wipe()
        k = key
        n = 0
    }

    package var hasKey: Bool { k != nil }

    package mutating func setNonce(_ nonce: UInt64) { n = nonce }

    /// Seals when there is a key; without one the plaintext goes as it is.
    package mutating func encryptWithAd(_ ad: [UInt8], _ plaintext: [UInt8]) throws(NoiseError) -> [UInt8] {
        guard let k else { return plaintext }
        guard n != .max else { throw .nonceExhausted }
        let ciphertext = primitives.cipher.seal(k, n, ad, plaintext)
        n += 1
        return ciphertext
    }

    /// Opens when there is a key. A text that is not authentic leaves the nonce as it was.
    package mutating func decryptWithAd(_ ad: [UInt8], _ ciphertext: [UInt8]) throws(NoiseError) -> [UInt8] {
        guard let k else { return ciphertext }
        guard n != .max else { throw .nonceExhausted }
        guard let plaintext = primitives.cipher.open(k, n, ad, ciphertext) else { throw .notAuthentic }
        n += 1
        return plaintext
    }

    /// Replaces the key by one that does not tell the old one.
    package mutating func rekey() {
        guard var old = k else { return }
        k = Array(primitives.cipher.seal(old, .max, [], [UInt8](repeating: 0, count: 32)).prefix(32))
        primitives.wipe(&old)
    }

    /// Hands the key over to another implementation and forgets it here.
    ///
    /// Shape: 32 bytes, or nil without a key. The caller wipes them.
    package mutating func takeKey() -> [UInt8]? {
        defer { k = nil }
        return k
    }

    package mutating func wipe() {
        guard var old = k else { return }
        // The only reference, so that it is this memory that is overwritten.
        k = nil
        primitives.wipe(&old)
    }
}
