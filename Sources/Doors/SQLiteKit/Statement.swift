internal import CSQLite

/// A prepared statement and whether somebody is stepping through it.
///
/// `generation` rises with every step and every reset, so that a `Row` kept for too long is noticed, not
/// followed.
@safe
final class Statement {
    let sql: String
    let handle: OpaquePointer
    let columnCount: Int
    private(set) var generation = 0
    var isInUse = false

    init(_ handle: OpaquePointer, sql: String) {
        unsafe self.handle = handle
        self.sql = sql
        self.columnCount = Int(unsafe sqlite3_column_count(handle))
    }

    deinit { unsafe _ = sqlite3_finalize(handle) }

    /// Binds every `?` in order. An answer other than `SQLITE_OK` is SQLite's code.
    func bind(_ values: [SQLiteValue]) -> Int32 {
        let expected = Int(unsafe sqlite3_bind_parameter_count(handle))
        precondition(
            expected == values.count, "\(values.count) values for the \(expected) parameters of: \(sql)")
        var index: Int32 = 0
        for value in values {
            index += 1
            let code: Int32
            switch value {
            case .null: code = unsafe sqlite3_bind_null(handle, index)
            case .integer(let number): code = unsafe sqlite3_bind_int64(handle, index, number)
            case .real(let number): code = unsafe sqlite3_bind_double(handle, index, number)
            case .text(var text):
                code = text.withUTF8 { bytes in
                    // An empty buffer may have no address, and SQLite reads that as NULL.
                    guard let base = bytes.baseAddress, bytes.count > 0 else {
                        return unsafe antenna_sqlite_bind_text(handle, index, "", 0)
                    }
                    return unsafe base.withMemoryRebound(to: CChar.self, capacity: bytes.count) {
                        characters in
                        unsafe antenna_sqlite_bind_text(handle, index, characters, UInt64(bytes.count))
                    }
                }
            case .blob(let blob):
                code =
                    blob.isEmpty
                    ? unsafe sqlite3_bind_zeroblob(handle, index, 0)
                    : unsafe antenna_sqlite_bind_blob(handle, index, blob, UInt64(blob.count))
            }
            if code != SQLITE_OK { return code }
        }
        return SQLITE_OK
    }

    func step() -> Int32 {
        generation &+= 1
        return unsafe sqlite3_step(handle)
    }

    /// Ends the step-through, lets go of locks and of the bound values.
    func reset() {
        generation &+= 1
        unsafe _ = sqlite3_reset(handle)
        unsafe _ = sqlite3_clear_bindings(handle)
    }
}
