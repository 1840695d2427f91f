internal import CSodium

/// libsodium as a whole: its one-time initialisation, randomness and hashes.
package enum Sodium {
    /// Whether libsodium is initialised; the first look at it does that, on any thread.
    package static let ready: Bool = sodium_init() >= 0

    /// Bytes from the operating system's generator.
    package static func random(_ count: Int) -> [UInt8] {
        requireReady()
        return unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            if let base = buffer.baseAddress { unsafe randombytes_buf(base, count) }
            filled = count
        }
    }

    package static func random(count: Int) -> [UInt8] { random(count) }

    /// Whether two byte strings are equal, in a time that depends on their lengths only.
    package static func constantTimeEquals(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        guard left.count == right.count else { return false }
        return unsafe sodium_memcmp(left, right, left.count) == 0
    }

    /// Overwrites bytes in a way that no optimiser removes. Copies made before are not found.
    package static func wipe(_ bytes: inout [UInt8]) {
        unsafe bytes.withUnsafeMutableBytes { buffer in
            if let base = buffer.baseAddress { unsafe sodium_memzero(base, buffer.count) }
        }
        bytes.removeAll()
    }

    static func requireReady() {
        precondition(ready, "libsodium could not be initialised")
    }
}

// MARK: Hashes

extension Sodium {
    package static func sha256(_ message: [UInt8]) -> [UInt8] {
        unsafe digest(count: Int(crypto_hash_sha256_BYTES)) { out in
            unsafe _ = crypto_hash_sha256(out, message, UInt64(message.count))
        }
    }

    package static func sha512(_ message: [UInt8]) -> [UInt8] {
        unsafe digest(count: Int(crypto_hash_sha512_BYTES)) { out in
            unsafe _ = crypto_hash_sha512(out, message, UInt64(message.count))
        }
    }

    /// BLAKE2b with 64 bytes of output and no key.
    package static func blake2b512(_ message: [UInt8]) -> [UInt8] {
        blake2b512(message, [])
    }

    /// BLAKE2b-512 of up to three byte strings one after the other, without joining them first.
    package static func blake2b512(_ first: [UInt8], _ second: [UInt8], _ third: [UInt8] = []) -> [UInt8] {
        unsafe digest(count: 64) { out in
            unsafe antenna_blake2b512(
                out, first, first.count, second, second.count, third, third.count)
        }
    }

    /// HMAC over BLAKE2b-512, of up to two byte strings one after the other.
    ///
    /// This is RFC 2104's construction, which Noise's HKDF asks for, and not BLAKE2b's own keyed mode.
    package static func hmacBlake2b(key: [UInt8], _ message: [UInt8], _ more: [UInt8] = []) -> [UInt8] {
        var block = key.count > blake2bBlockCount ? blake2b512(key) : key
        block.append(contentsOf: repeatElement(0, count: blake2bBlockCount - block.count))
        for index in block.indices { block[index] ^= 0x36 }
        var inner = blake2b512(block, message, more)
        for index in block.indices { block[index] ^= 0x36 ^ 0x5c }
        let mac = blake2b512(block, inner)
        wipe(&inner)
        wipe(&block)
        return mac
    }

    private static func digest(count: Int, _ fill: (UnsafeMutablePointer<UInt8>) -> Void) -> [UInt8] {
        unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            guard let base = buffer.baseAddress else { return }
            unsafe fill(base)
            filled = count
        }
    }
}

private let blake2bBlockCount = 128

/// Swift's generator protocol over libsodium's randomness.
package struct SodiumRandom: RandomNumberGenerator, Sendable {
    package init() { Sodium.requireReady() }

    package mutating func next() -> UInt64 {
        UInt64(randombytes_random()) << 32 | UInt64(randombytes_random())
    }
}
