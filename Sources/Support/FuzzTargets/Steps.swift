/// Reads an input as a program: a byte that chooses, numbers, and stretches of bytes. At its end all are 0
/// and empty.
struct Steps {
    private var rest: ArraySlice<UInt8>

    /// So many steps of one input are taken at most.
    static let most = 64

    init(_ input: [UInt8]) { rest = input[...] }

    var isOver: Bool { rest.isEmpty }

    mutating func octet() -> UInt8 { rest.popFirst() ?? 0 }

    mutating func number() -> Int64 {
        var value: UInt64 = 0
        for _ in 0..<8 { value = value << 8 | UInt64(octet()) }
        return Int64(bitPattern: value)
    }

    /// Two bytes of length, cut to `most` and to what there is.
    mutating func bytes(atMost most: Int) -> [UInt8] {
        let length = Int(octet()) << 8 | Int(octet())
        let taken = Array(rest.prefix(min(length, most)))
        rest = rest.dropFirst(taken.count)
        return taken
    }
}
