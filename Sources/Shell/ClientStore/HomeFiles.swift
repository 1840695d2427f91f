internal import PosixKit

/// Which files a store has opened. What is written after others stand in their place, or none, would be gone
/// when the program ends, or would spoil what stands there now.
struct HomeFiles {
    private let path: String
    private let database: FileStatus?
    /// Nil until it was seen. While a store is open no other program of this kind removes it.
    private var log: FileStatus?

    init(_ path: String) {
        self.path = path
        database = Posix.status(path)
    }

    /// Throws: `notWritable` where one was replaced or removed.
    mutating func checkInPlace() throws(ClientStoreError) {
        let found = Posix.status(path + "-wal")
        if log == nil { log = found }
        guard Self.isSame(database, Posix.status(path)), Self.isSame(log, found) else {
            throw .notWritable("\(path) was replaced or removed while this program used it")
        }
    }

    private static func isSame(_ known: FileStatus?, _ found: FileStatus?) -> Bool {
        guard let known else { return true }
        return found.map { known.isSameFile(as: $0) } ?? false
    }
}
