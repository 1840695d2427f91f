/// 32 bytes that lie where they are used: a key or an id without an array of its own.
///
/// A relay keeps some for every link, and an array costs 80 bytes of heap for the same 32.
struct Bytes32: Hashable, Sendable {
    static let byteCount = 32
    private let words: (UInt64, UInt64, UInt64, UInt64)

    /// Nil unless there are 32.
    init?(_ bytes: some Collection<UInt8>) {
        guard bytes.count == Self.byteCount else { return nil }
        var iterator = bytes.makeIterator()
        func word() -> UInt64 {
            var word: UInt64 = 0
            for _ in 0..<8 { word = word << 8 | UInt64(iterator.next() ?? 0) }
            return word
        }
        words = (word(), word(), word(), word())
    }

    var bytes: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Self.byteCount)
        func append(_ word: UInt64) {
            for shift in stride(from: UInt64(56), through: 0, by: -8) {
                bytes.append(UInt8(truncatingIfNeeded: word >> shift))
            }
        }
        append(words.0)
        append(words.1)
        append(words.2)
        append(words.3)
        return bytes
    }

    static func == (one: Bytes32, other: Bytes32) -> Bool { one.words == other.words }

    func hash(into hasher: inout Hasher) {
        hasher.combine(words.0)
        hasher.combine(words.1)
        hasher.combine(words.2)
        hasher.combine(words.3)
    }
}
