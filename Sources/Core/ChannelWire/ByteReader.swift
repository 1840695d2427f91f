/// Reads the base encodings of docs/protocol/README.md from bytes that a peer sent.
package struct ByteReader: Sendable {
    private let bytes: ArraySlice<UInt8>
    package private(set) var position: Int

    package init(_ bytes: [UInt8]) { self.init(bytes[...]) }
    package init(_ bytes: ArraySlice<UInt8>) {
        self.bytes = bytes
        position = bytes.startIndex
    }

    package var remaining: Int { bytes.endIndex - position }
    package var isAtEnd: Bool { position == bytes.endIndex }
    /// The bytes from an earlier `position` up to the current one, as they were sent.
    package func slice(from start: Int) -> [UInt8] { Array(bytes[start..<position]) }

    package mutating func octet() throws(WireError) -> UInt8 {
        try need(1)
        defer { position += 1 }
        return bytes[position]
    }
    package mutating func word16() throws(WireError) -> UInt16 { UInt16(truncatingIfNeeded: try integer(2)) }
    package mutating func word32() throws(WireError) -> UInt32 { UInt32(truncatingIfNeeded: try integer(4)) }
    package mutating func int64() throws(WireError) -> Int64 { Int64(bitPattern: try integer(8)) }

    /// `T` or `F`.
    package mutating func bool() throws(WireError) -> Bool {
        switch try octet() {
        case UInt8(ascii: "T"): return true
        case UInt8(ascii: "F"): return false
        default: throw .malformed("a Bool is T or F")
        }
    }
    package mutating func take(_ count: Int) throws(WireError) -> [UInt8] {
        try need(count)
        defer { position += count }
        return Array(bytes[position..<position + count])
    }
    package mutating func len8() throws(WireError) -> [UInt8] { try take(Int(try octet())) }
    package mutating func len16() throws(WireError) -> [UInt8] { try take(Int(try word16())) }
    package mutating func tail() -> [UInt8] {
        defer { position = bytes.endIndex }
        return Array(bytes[position...])
    }
    /// UTF-8 text with a one-byte length.
    package mutating func text8() throws(WireError) -> String { try Self.text(try len8()) }
    /// UTF-8 text with a two-byte length.
    package mutating func text16() throws(WireError) -> String { try Self.text(try len16()) }
    /// For formats in which nothing may follow.
    package func expectEnd() throws(WireError) {
        guard isAtEnd else { throw .malformed("\(remaining) bytes too many") }
    }

    package static func text(_ bytes: [UInt8]) throws(WireError) -> String {
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw .malformed("text is not UTF-8")
        }
        return text
    }
    private mutating func integer(_ count: Int) throws(WireError) -> UInt64 {
        try need(count)
        var value: UInt64 = 0
        for index in position..<position + count { value = value << 8 | UInt64(bytes[index]) }
        position += count
        return value
    }
    private func need(_ count: Int) throws(WireError) {
        guard remaining >= count else { throw .truncated(needed: count, have: remaining) }
    }
}
