internal import PosixKit
package import SQLiteKit

/// Why the home's database cannot be used, or did not take a change.
package enum ClientStoreError: Error, Equatable, Sendable {
    /// Another program's database, or not a database at all.
    case foreign(String)
    case tooNew(found: Int32, known: Int32)
    case corrupt(String)
    /// The directory or file cannot be created or written.
    case notWritable(String)
    /// The file may not be read by this user.
    case permission(String)
    /// Another process held the lock for longer than the busy timeout.
    case busy
    case full
    /// The home has a passphrase and none was given.
    case passphraseNeeded
    case wrongPassphrase
    /// A passphrase was given for a home that has none, and has secrets already: set it on purpose.
    case noPassphrase
    case inputOutput(String)
    /// A statement that can only fail through a mistake of ours.
    case defect(String)

    init(_ error: PosixError, _ path: String) {
        self = error.isNoSpace ? .full : .notWritable("\(path): \(error.reason)")
    }

    package init(_ error: SQLiteError) {
        if error.isBusy {
            self = .busy
        } else if error.isFull {
            self = .full
        } else if error.isNotADatabase {
            self = .foreign("the file is not a database")
        } else if error.isCorrupt {
            self = .corrupt(error.message)
        } else if error.isReadOnly || error.isCannotOpen {
            self = .notWritable(error.message)
        } else if error.isIO {
            self = .inputOutput(error.message)
        } else {
            self = .defect(error.description)
        }
    }
}

extension ClientStoreError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .foreign(let reason): "not a home of this program: \(reason)"
        case .tooNew(let found, let known): "schema \(found) is newer than the \(known) this program knows"
        case .corrupt(let reason): "damaged: \(reason)"
        case .notWritable(let reason): "cannot be written: \(reason)"
        case .permission(let reason): "not permitted: \(reason)"
        case .busy: "another program holds the lock"
        case .full: "the disk is full"
        case .passphraseNeeded: "a passphrase is needed"
        case .wrongPassphrase: "the passphrase is wrong"
        case .noPassphrase: "there is no passphrase, and one was given"
        case .inputOutput(let reason): "reading or writing failed: \(reason)"
        case .defect(let reason): reason
        }
    }
}
