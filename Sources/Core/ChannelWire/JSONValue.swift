/// One JSON value as it was read; numbers stay text, so that nothing is lost on the way back.
///
/// Events come from strangers: this reader bounds depth, refuses repeated keys and never traps, which the
/// general decoders do not promise.
package enum JSONValue: Hashable, Sendable {
    case null
    case bool(Bool)
    /// **Shape**: the number's text, of the JSON grammar.
    case number(String)
    case string(String)
    case array([JSONValue])
    case object(JSONObject)

    /// As it is on the wire: texts are the same where their bytes are.
    package static func == (left: JSONValue, right: JSONValue) -> Bool {
        switch (left, right) {
        case (.null, .null): true
        case (.bool(let left), .bool(let right)): left == right
        case (.number(let left), .number(let right)), (.string(let left), .string(let right)):
            left.hasSameBytes(as: right)
        case (.array(let left), .array(let right)): left == right
        case (.object(let left), .object(let right)): left == right
        default: false
        }
    }
    package func hash(into hasher: inout Hasher) {
        switch self {
        case .null: hasher.combine(0)
        case .bool(let value): hasher.combine(value)
        case .number(let text), .string(let text): text.hashBytes(into: &hasher)
        case .array(let values): hasher.combine(values)
        case .object(let object): hasher.combine(object)
        }
    }

    package init(_ value: Int64) { self = .number(String(value)) }

    var isNull: Bool {
        if case .null = self { true } else { false }
    }

    /// Reads one value that fills `bytes`.
    ///
    /// **Throws** `.malformed` for anything but JSON, for depth over `Limits.jsonDepthMax`, repeated keys,
    /// NUL and numbers over 64 characters.
    package static func decode(_ bytes: [UInt8]) throws(WireError) -> JSONValue {
        var parser = JSONParser(bytes: bytes)
        return try parser.document()
    }

    /// The value without spaces, keys in byte order, slashes as they are.
    package func encode() -> [UInt8] {
        var out: [UInt8] = []
        write(to: &out)
        return out
    }

    fileprivate func write(to out: inout [UInt8]) {
        switch self {
        case .null: out.append(contentsOf: "null".utf8)
        case .bool(let value): out.append(contentsOf: (value ? "true" : "false").utf8)
        case .number(let text): out.append(contentsOf: text.utf8)
        case .string(let text): Self.write(text, to: &out)
        case .array(let values):
            out.append(UInt8(ascii: "["))
            for (index, value) in values.enumerated() {
                if index > 0 { out.append(UInt8(ascii: ",")) }
                value.write(to: &out)
            }
            out.append(UInt8(ascii: "]"))
        case .object(let object):
            out.append(UInt8(ascii: "{"))
            var first = true
            for field in object.fields {
                if !first { out.append(UInt8(ascii: ",")) }
                first = false
                Self.write(field.key, to: &out)
                out.append(UInt8(ascii: ":"))
                field.value.write(to: &out)
            }
            out.append(UInt8(ascii: "}"))
        }
    }

    private static func write(_ text: String, to out: inout [UInt8]) {
        out.append(UInt8(ascii: "\""))
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""): out.append(contentsOf: #"\""#.utf8)
            case UInt8(ascii: "\\"): out.append(contentsOf: #"\\"#.utf8)
            case UInt8(ascii: "\n"): out.append(contentsOf: #"\n"#.utf8)
            case UInt8(ascii: "\r"): out.append(contentsOf: #"\r"#.utf8)
            case UInt8(ascii: "\t"): out.append(contentsOf: #"\t"#.utf8)
            case 0..<0x20:
                out.append(contentsOf: #"\u00"#.utf8)
                out.append(byte < 0x10 ? UInt8(ascii: "0") : UInt8(ascii: "1"))
                out.append(contentsOf: String(byte & 15, radix: 16).utf8)
            default: out.append(byte)
            }
        }
        out.append(UInt8(ascii: "\""))
    }
}
