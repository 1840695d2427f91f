/// Texts of strangers compared as what they are on the wire.
///
/// `==` and `<` ask what a text says: for one of thousands of combining marks that costs milliseconds each
/// time, and takes the Kelvin sign for a K, which no other reader of the same bytes does.
extension String {
    func hasSameBytes(as other: String) -> Bool {
        utf8.count == other.utf8.count && utf8.elementsEqual(other.utf8)
    }
    func precedesInBytes(_ other: String) -> Bool { utf8.lexicographicallyPrecedes(other.utf8) }
    func hashBytes(into hasher: inout Hasher) {
        for byte in utf8 { hasher.combine(byte) }
        hasher.combine(utf8.count)
    }
}
