/// Keeps the highest version of a channel's record, whoever served it.
package struct RecordKeeper: Equatable, Sendable {
    /// The version kept; 0 before the first.
    package private(set) var version: Int64
    /// The bytes kept.
    package private(set) var bytes: [UInt8]

    package init(version: Int64 = 0, bytes: [UInt8] = []) {
        self.version = version
        self.bytes = bytes
    }

    package enum Answer: Equatable, Sendable {
        /// Newer: store it.
        case take
        /// The same bytes again.
        case same
        /// Older than the one kept: say so, never accept it.
        case stale(kept: Int64)
        /// The same version with other bytes: an owner signed twice, or somebody rolled back.
        case conflict
    }

    /// A record that verifies was offered by a relay.
    package mutating func offered(version offered: Int64, bytes: [UInt8]) -> Answer {
        if offered > version {
            version = offered
            self.bytes = bytes
            return .take
        }
        if offered < version { return .stale(kept: version) }
        return bytes == self.bytes ? .same : .conflict
    }
}
