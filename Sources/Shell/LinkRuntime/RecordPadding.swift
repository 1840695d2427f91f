/// How far a record's plaintext is padded. Source: link.md, "Records".
package enum RecordPadding {
    /// 65535 bytes of ciphertext less the tag.
    package static let plaintextBytesMax = 65519

    /// The Padmé length of `count`: it tells the magnitude of a size and wastes 12 % at most.
    @inline(__always)
    package static func padded(_ count: Int) -> Int {
        let mask = zerosMax(count)
        return min((count + mask) & ~mask, plaintextBytesMax)
    }

    /// The most zeros that a plaintext of up to `count` bytes is padded with: one less than a power of two.
    @inline(__always)
    package static func zerosMax(_ count: Int) -> Int {
        guard count >= 2 else { return 0 }
        let exponent = Int.bitWidth - 1 - count.leadingZeroBitCount
        let kept = Int.bitWidth - exponent.leadingZeroBitCount
        return (1 << (exponent - kept)) - 1
    }
}
