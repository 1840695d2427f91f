/// What the first bytes of a file tell of a database, without opening it: opening may already write.
///
/// Source: "Database File Format", section 1.3: the magic at 0, the page size at 16, the user version at 60,
/// the application id at 68.
package struct DatabaseHeader: Equatable, Sendable {
    package let userVersion: Int32
    package let applicationID: Int32
    /// Units: bytes. 0: what stands there is none.
    package let pageSize: Int64

    /// Units: bytes to read from the beginning of the file.
    package static let byteCount = 100

    /// Nil: this is no database.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count >= Self.byteCount, bytes.starts(with: Array("SQLite format 3\0".utf8)) else {
            return nil
        }
        func word32(_ offset: Int) -> Int32 {
            bytes[offset..<offset + 4].reduce(0) { $0 << 8 | Int32($1) }
        }
        let size = Int64(bytes[16]) << 8 | Int64(bytes[17])
        pageSize = size == 1 ? 65536 : size
        userVersion = word32(60)
        applicationID = word32(68)
    }
}
