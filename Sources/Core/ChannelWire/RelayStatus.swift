/// How a relay and a channel stand to each other, on the owner's side and on the relay's own.
///
/// The raw value is the text in frames and databases. **Source**: docs/protocol/relay-lifecycle.md.
package enum RelayStatus: String, Hashable, Sendable, CaseIterable {
    case new, invited, accepted
    case acknowledgedRoster = "acknowledged_roster"
    case active, inactive, rejected

    /// The text that programs read in JSON output.
    package var apiText: String { self == .acknowledgedRoster ? "acknowledgedRoster" : rawValue }
    /// The relay takes joins, attaches and publishes.
    package var isServing: Bool {
        switch self {
        case .accepted, .acknowledgedRoster, .active: true
        case .new, .invited, .inactive, .rejected: false
        }
    }
}
