/// What `--version` prints.
package enum Version {
    package static let number = "0.1.0"

    /// For example `antenna 0.1.0 (libevent 2.1.12)`.
    package static func line(program: String, parts: [String] = []) -> String {
        parts.isEmpty ? "\(program) \(number)" : "\(program) \(number) (\(parts.joined(separator: ", ")))"
    }
}
