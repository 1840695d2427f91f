internal import Synchronization

/// Counts of what a process did and how much of something it holds, by constant names.
///
/// **Thread** any; a caller on a hot path keeps its own count and reports it now and then.
package final class Metrics: Sendable {
    private let values = Mutex<[String: Int64]>([:])

    package init() {}

    /// Names of counters end in `_total`.
    package func add(_ name: StaticString, _ amount: Int64 = 1) {
        values.withLock { $0[name.description, default: 0] += amount }
    }

    /// For what goes up and down.
    package func set(_ name: StaticString, _ value: Int64) {
        values.withLock { $0[name.description] = value }
    }

    /// Sorted by name.
    package func snapshot() -> [(name: String, value: Int64)] {
        values.withLock { $0.sorted { $0.key < $1.key }.map { (name: $0.key, value: $0.value) } }
    }
}
