/// A JSON document to print. Keys keep the order in which they were given, so output is stable.
package indirect enum JSONValue: Sendable {
    case null
    case bool(Bool)
    case integer(Int64)
    case number(Double)
    case string(String)
    case array([JSONValue])
    case object([(String, JSONValue)])

    package static func optional(_ text: String?) -> JSONValue { text.map(JSONValue.string) ?? .null }
    package static func optional(_ value: Int64?) -> JSONValue { value.map(JSONValue.integer) ?? .null }

    /// One line without spaces; everything that a terminal would obey is escaped.
    package var text: String {
        var out = ""
        write(into: &out)
        return out
    }

    private func write(into out: inout String) {
        switch self {
        case .null: out += "null"
        case .bool(let value): out += value ? "true" : "false"
        case .integer(let value): out += String(value)
        case .number(let value): out += value.isFinite ? String(value) : "null"
        case .string(let value): JSONValue.quote(value, into: &out)
        case .array(let values):
            out += "["
            for (index, value) in values.enumerated() {
                if index > 0 { out += "," }
                value.write(into: &out)
            }
            out += "]"
        case .object(let fields):
            out += "{"
            for (index, field) in fields.enumerated() {
                if index > 0 { out += "," }
                JSONValue.quote(field.0, into: &out)
                out += ":"
                field.1.write(into: &out)
            }
            out += "}"
        }
    }

    private static func quote(_ text: String, into out: inout String) {
        out += "\""
        for scalar in text.unicodeScalars {
            switch scalar.value {
            case 0x22: out += "\\\""
            case 0x5C: out += "\\\\"
            case 0x0A: out += "\\n"
            case 0x0D: out += "\\r"
            case 0x09: out += "\\t"
            case let value where TerminalText.isHostile(value): escape(value, into: &out)
            default: out.unicodeScalars.append(scalar)
            }
        }
        out += "\""
    }

    private static func escape(_ value: UInt32, into out: inout String) {
        let digits = String(value, radix: 16)
        out += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
    }

    /// A document that something else encoded on one line, with everything escaped that a terminal would
    /// obey. Such scalars stand only inside its strings.
    package static func harmless(_ document: String) -> String {
        guard document.unicodeScalars.contains(where: { TerminalText.isHostile($0.value) }) else {
            return document
        }
        var out = ""
        for scalar in document.unicodeScalars {
            if TerminalText.isHostile(scalar.value) {
                escape(scalar.value, into: &out)
            } else {
                out.unicodeScalars.append(scalar)
            }
        }
        return out
    }
}

extension JSONValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral {
    package init(stringLiteral value: String) { self = .string(value) }
    package init(integerLiteral value: Int64) { self = .integer(value) }
    package init(booleanLiteral value: Bool) { self = .bool(value) }
}

extension JSONValue: ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral {
    package init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
    package init(dictionaryLiteral elements: (String, JSONValue)...) { self = .object(elements) }
}
