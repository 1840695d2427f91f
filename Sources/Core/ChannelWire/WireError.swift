/// What can be wrong with bytes that somebody sent. A value for the peer's mistake, never a crash of ours.
package enum WireError: Error, Hashable, Sendable {
    /// Fewer bytes than a field needs. **Units**: bytes.
    case truncated(needed: Int, have: Int)
    /// More bytes than a limit of docs/protocol/limits.md allows. **Units**: bytes.
    case tooLarge(limit: Int, have: Int)
    /// More items than a limit allows.
    case tooMany(limit: Int)
    /// Bytes that do not fit the grammar; the text names the field and what would be right.
    case malformed(String)
}

extension WireError: CustomStringConvertible {
    /// For the middle of a sentence that says what it is about: what would be right, where that is known.
    package var explanation: String { if case .malformed(let what) = self { what } else { description } }

    package var description: String {
        switch self {
        case .truncated(let needed, let have): "truncated: needs \(needed) bytes, has \(have)"
        case .tooLarge(let limit, let have): "too large: \(have) bytes, the limit is \(limit)"
        case .tooMany(let limit): "too many items, the limit is \(limit)"
        case .malformed(let what): "malformed: \(what)"
        }
    }
}
