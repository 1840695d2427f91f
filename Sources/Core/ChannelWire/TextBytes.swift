/// Texts of strangers compared as what they are on the wire.
///
/// `==` and `<` ask what a text says: for one of thousands of combining marks that costs milliseconds each
/// time, and takes the Kelvin sign for a K, which no other reader of the same bytes does.
extension String {
    func hasSameBytes(as other: String) -> Bool {
        guard utf8.count == other.utf8.count else { return false }
        let mine = utf8Span.span
        let theirs = other.utf8Span.span
        for index in mine.indices where mine[index] != theirs[index] { return false }
        return true
    }
    var isASCII: Bool { utf8.allSatisfy { $0 < 0x80 } }
    func precedesInBytes(_ other: String) -> Bool { utf8.lexicographicallyPrecedes(other.utf8) }
    func hashBytes(into hasher: inout Hasher) {
        for byte in utf8 { hasher.combine(byte) }
        hasher.combine(utf8.count)
    }
}
