package import SQLiteKit

/// Why a state directory was not opened, or an operation on it failed.
package enum RelayStoreError: Error, Equatable, Sendable {
    /// Another relay works in this directory.
    case inUse(path: String)
    /// The file is a database of another program, or no database at all. It was not touched.
    case foreign(path: String, reason: String)
    /// A newer relay wrote this database. It was not touched.
    case tooNew(path: String, version: Int32, supported: Int32)
    /// The directory or a file in it cannot be created or written.
    case cannotCreate(path: String, reason: String)
    /// The database is damaged.
    case corrupt(path: String, reason: String)
    /// There is nothing to open.
    case missing(path: String)
    /// The disk or the quota is full.
    case full
    /// Reading or writing failed.
    case failed(SQLiteError)

    /// The exit code a program ends with (sysexits values).
    package var exitCode: Int32 {
        switch self {
        case .inUse: 75
        case .foreign, .tooNew, .corrupt: 65
        case .cannotCreate: 73
        case .missing: 65
        case .full, .failed: 74
        }
    }

    init(_ error: SQLiteError, path: String) {
        if error.isNotADatabase {
            self = .foreign(path: path, reason: error.message)
        } else if error.isCorrupt {
            self = .corrupt(path: path, reason: error.message)
        } else if error.isFull {
            self = .full
        } else if error.isReadOnly || error.isCannotOpen {
            self = .cannotCreate(path: path, reason: error.message)
        } else if error.isBusy {
            self = .inUse(path: path)
        } else {
            self = .failed(error)
        }
    }
}

extension RelayStoreError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .inUse(let path): "\(path) is in use by another relay"
        case .foreign(let path, let reason): "\(path) is not a relay's database: \(reason)"
        case .tooNew(let path, let version, let supported):
            "\(path) has schema \(version), newer than the \(supported) this relay knows"
        case .cannotCreate(let path, let reason): "cannot create or write \(path): \(reason)"
        case .corrupt(let path, let reason): "\(path) is damaged: \(reason)"
        case .missing(let path): "\(path) does not exist"
        case .full: "the disk or the quota is full"
        case .failed(let error): "the database failed: \(error)"
        }
    }
}
