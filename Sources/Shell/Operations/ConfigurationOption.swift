/// One setting: where it stands in the file, what it may be, what it is when nobody says.
package struct ConfigurationOption: Sendable {
    package enum Kind: Sendable {
        case text
        case boolean
        case choice([String])
        /// A whole number.
        case integer(ClosedRange<Int64>)
        /// Kept in seconds; `30`, `30 s`, `5 min`, `2 h`, `7 d` are read.
        case seconds(ClosedRange<Int64>)
        /// Kept in bytes; `4096`, `64 KiB`, `256 MiB`, `1 GiB` are read.
        case bytes(ClosedRange<Int64>)
    }

    package let section: String
    package let key: String
    package let kind: Kind
    /// As it would stand in the file; empty: not set.
    package let defaultText: String
    /// Whether a reload takes it over, or only a restart.
    package let reloadable: Bool
    package let help: String

    package init(
        _ section: String, _ key: String, _ kind: Kind, default defaultText: String, reloadable: Bool,
        _ help: String
    ) {
        self.section = section
        self.key = key
        self.kind = kind
        self.defaultText = defaultText
        self.reloadable = reloadable
        self.help = help
    }

    /// `[relay] listen`
    package var place: String { "[\(section)] \(key)" }

    /// `ANTENNA_RELAY__LISTEN`
    package var environmentName: String {
        "ANTENNA_\(section)__\(key)".uppercased().replacingHyphens()
    }

    /// What it may be, for messages and for the commented file.
    package var expectation: String {
        switch kind {
        case .text: "text"
        case .boolean: "yes or no"
        case .choice(let choices): "one of \(choices.joined(separator: ", "))"
        case .integer(let range): "a whole number from \(range.lowerBound) to \(range.upperBound)"
        case .seconds(let range):
            "a time from \(range.lowerBound) to \(range.upperBound) seconds (30, 30 s, 5 min, 2 h, 7 d)"
        case .bytes(let range):
            "a size from \(range.lowerBound) to \(range.upperBound) bytes (4096, 64 KiB, 256 MiB, 1 GiB)"
        }
    }

    /// The value in its one spelling (`300` for `5 min`); nil when the text does not fit.
    package func normalised(_ text: String) -> String? {
        switch kind {
        case .text: return text
        case .boolean: return ConfigurationOption.boolean(text).map { $0 ? "yes" : "no" }
        case .choice(let choices): return choices.contains(text) ? text : nil
        case .integer(let range): return inRange(Int64(text), range)
        case .seconds(let range):
            return inRange(
                ConfigurationOption.quantity(
                    text, units: ["": 1, "s": 1, "min": 60, "h": 3600, "d": 86_400]), range)
        case .bytes(let range):
            let units: [String: Int64] = ["": 1, "b": 1, "kib": 1024, "mib": 1_048_576, "gib": 1_073_741_824]
            return inRange(ConfigurationOption.quantity(text, units: units), range)
        }
    }

    private func inRange(_ value: Int64?, _ range: ClosedRange<Int64>) -> String? {
        guard let value, range.contains(value) else { return nil }
        return String(value)
    }

    static func boolean(_ text: String) -> Bool? {
        switch text.lowercased() {
        case "yes", "true", "on", "1": true
        case "no", "false", "off", "0": false
        default: nil
        }
    }

    private static func quantity(_ text: String, units: [String: Int64]) -> Int64? {
        let digits = text.prefix(while: { $0.isASCII && $0.isNumber })
        let rest = text.dropFirst(digits.count)
        let unit = String(rest.drop(while: { $0 == " " })).lowercased()
        guard !digits.isEmpty, let number = Int64(digits), let factor = units[unit] else { return nil }
        let (product, overflow) = number.multipliedReportingOverflow(by: factor)
        return overflow ? nil : product
    }
}

extension String {
    fileprivate func replacingHyphens() -> String { String(map { $0 == "-" ? "_" : $0 }) }
}
