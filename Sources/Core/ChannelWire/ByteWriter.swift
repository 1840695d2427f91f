/// Writes the base encodings of docs/protocol/README.md. What it is given must fit: that is our own duty,
/// checked here.
package struct ByteWriter: Sendable {
    package private(set) var bytes: [UInt8] = []

    package init(reserving capacity: Int = 0) { bytes.reserveCapacity(capacity) }

    package mutating func octet(_ value: UInt8) { bytes.append(value) }
    package mutating func word16(_ value: UInt16) { integer(UInt64(value), 2) }
    package mutating func word32(_ value: UInt32) { integer(UInt64(value), 4) }
    package mutating func int64(_ value: Int64) { integer(UInt64(bitPattern: value), 8) }
    package mutating func bool(_ value: Bool) { bytes.append(value ? UInt8(ascii: "T") : UInt8(ascii: "F")) }
    package mutating func raw(_ value: some Sequence<UInt8>) { bytes.append(contentsOf: value) }
    package mutating func len8(_ value: some Collection<UInt8>) {
        precondition(value.count <= 255, "a len8 field holds at most 255 bytes")
        bytes.append(UInt8(value.count))
        bytes.append(contentsOf: value)
    }
    package mutating func len16(_ value: some Collection<UInt8>) {
        precondition(value.count <= 65_535, "a len16 field holds at most 65535 bytes")
        word16(UInt16(value.count))
        bytes.append(contentsOf: value)
    }
    package mutating func text8(_ value: String) { len8(Array(value.utf8)) }
    package mutating func text16(_ value: String) { len16(Array(value.utf8)) }

    private mutating func integer(_ value: UInt64, _ count: Int) {
        for index in (0..<count).reversed() {
            bytes.append(UInt8(truncatingIfNeeded: value >> UInt64(8 * index)))
        }
    }
}
