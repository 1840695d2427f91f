internal import CSQLite

/// The row that a query stands on, valid inside the closure that it was given to.
///
/// Columns count from 0. A column of another type is converted as SQLite does; `STRICT` tables do not need
/// that.
package struct Row {
    private let statement: Statement
    private let generation: Int

    init(_ statement: Statement) {
        self.statement = statement
        self.generation = statement.generation
    }

    package var columnCount: Int { statement.columnCount }

    package func int64(_ index: Int) -> Int64 {
        unsafe sqlite3_column_int64(statement.handle, checked(index))
    }

    package func int(_ index: Int) -> Int { Int(int64(index)) }

    package func bool(_ index: Int) -> Bool { int64(index) != 0 }

    package func double(_ index: Int) -> Double {
        unsafe sqlite3_column_double(statement.handle, checked(index))
    }

    /// The text of a column; empty for NULL, with bytes that are not UTF-8 replaced.
    package func text(_ index: Int) -> String {
        let column = checked(index)
        guard let bytes = unsafe sqlite3_column_text(statement.handle, column) else { return "" }
        let count = Int(unsafe sqlite3_column_bytes(statement.handle, column))
        return unsafe String(decoding: UnsafeBufferPointer(start: bytes, count: count), as: UTF8.self)
    }

    /// The bytes of a column; empty for NULL.
    package func blob(_ index: Int) -> [UInt8] {
        unsafe withBlob(index) { bytes in unsafe [UInt8](bytes) }
    }

    /// Lends the bytes of a column without copying them.
    @unsafe
    package func withBlob<T>(_ index: Int, _ body: (UnsafeRawBufferPointer) throws -> T) rethrows -> T {
        let column = checked(index)
        let bytes = unsafe sqlite3_column_blob(statement.handle, column)
        let count = Int(unsafe sqlite3_column_bytes(statement.handle, column))
        return try unsafe body(UnsafeRawBufferPointer(start: bytes, count: bytes == nil ? 0 : count))
    }

    package func isNull(_ index: Int) -> Bool {
        unsafe sqlite3_column_type(statement.handle, checked(index)) == SQLITE_NULL
    }

    package func int64OrNil(_ index: Int) -> Int64? { isNull(index) ? nil : int64(index) }
    package func textOrNil(_ index: Int) -> String? { isNull(index) ? nil : text(index) }
    package func blobOrNil(_ index: Int) -> [UInt8]? { isNull(index) ? nil : blob(index) }

    private func checked(_ index: Int) -> Int32 {
        precondition(generation == statement.generation, "a row outlived its place in: \(statement.sql)")
        precondition(index >= 0 && index < statement.columnCount, "no column \(index) in: \(statement.sql)")
        return Int32(truncatingIfNeeded: index)
    }
}

@available(*, unavailable)
extension Row: Sendable {}
