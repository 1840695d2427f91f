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

    package init(_ value: Int64) { self = .number(String(value)) }

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
            for key in object.fields.keys.sorted(by: { $0.utf8.lexicographicallyPrecedes($1.utf8) }) {
                guard let value = object.fields[key] else { continue }
                if !first { out.append(UInt8(ascii: ",")) }
                first = false
                Self.write(key, to: &out)
                out.append(UInt8(ascii: ":"))
                value.write(to: &out)
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

/// A JSON object; `null` counts as absent everywhere.
package struct JSONObject: Hashable, Sendable, ExpressibleByDictionaryLiteral {
    package fileprivate(set) var fields: [String: JSONValue]

    package init() { fields = [:] }
    package init(dictionaryLiteral elements: (String, JSONValue)...) {
        fields = [:]
        for (key, value) in elements { self[key] = value }
    }
    package init(_ fields: [String: JSONValue]) { self.fields = fields.filter { $0.value != .null } }

    /// Setting nil or null removes the field.
    package subscript(key: String) -> JSONValue? {
        get { fields[key] }
        set { fields[key] = newValue == .null ? nil : newValue }
    }
    package var isEmpty: Bool { fields.isEmpty }
    package var keys: some Sequence<String> { fields.keys }
    /// The fields that are not among `names`: what a later version has added.
    package func without(_ names: Set<String>) -> JSONObject {
        JSONObject(fields.filter { !names.contains($0.key) })
    }
    /// These fields, with those of `other` where they are missing here.
    package func filled(from other: JSONObject) -> JSONObject {
        var result = self
        result.fields.merge(other.fields) { mine, _ in mine }
        return result
    }
    package static func decode(_ bytes: [UInt8]) throws(WireError) -> JSONObject {
        guard case .object(let object) = try JSONValue.decode(bytes) else {
            throw .malformed("not a JSON object")
        }
        return object
    }
    package func encode() -> [UInt8] { JSONValue.object(self).encode() }
}

/// A recursive descent over the bytes; `depth` bounds the recursion.
struct JSONParser {
    let bytes: [UInt8]
    var position = 0

    init(bytes: [UInt8]) { self.bytes = bytes }

    mutating func document() throws(WireError) -> JSONValue {
        let result = try value(depth: 1)
        skipSpace()
        guard position == bytes.count else { throw .malformed("bytes after the JSON value") }
        return result
    }

    private func peek() -> UInt8? { position < bytes.count ? bytes[position] : nil }
    private mutating func skipSpace() {
        while let byte = peek(), byte == 0x20 || byte == 0x0a || byte == 0x0d || byte == 0x09 {
            position += 1
        }
    }
    private mutating func accept(_ byte: UInt8) -> Bool {
        guard peek() == byte else { return false }
        position += 1
        return true
    }
    private mutating func literal(_ text: StaticString, _ value: JSONValue) throws(WireError) -> JSONValue {
        for byte in text.description.utf8 where !accept(byte) { throw .malformed("JSON literal") }
        return value
    }

    private mutating func value(depth: Int) throws(WireError) -> JSONValue {
        guard depth <= Limits.jsonDepthMax else { throw .malformed("JSON nested too deep") }
        skipSpace()
        guard let first = peek() else { throw .truncated(needed: 1, have: 0) }
        switch first {
        case UInt8(ascii: "{"): return .object(try object(depth: depth))
        case UInt8(ascii: "["): return .array(try array(depth: depth))
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return try literal("true", .bool(true))
        case UInt8(ascii: "f"): return try literal("false", .bool(false))
        case UInt8(ascii: "n"): return try literal("null", .null)
        default: return .number(try number())
        }
    }

    private mutating func object(depth: Int) throws(WireError) -> JSONObject {
        position += 1
        var object = JSONObject()
        // Absent for readers, but a key written twice is still twice when one value is null.
        var nulls: Set<String> = []
        skipSpace()
        if accept(UInt8(ascii: "}")) { return object }
        repeat {
            skipSpace()
            guard peek() == UInt8(ascii: "\"") else { throw .malformed("JSON key") }
            let key = try string()
            skipSpace()
            guard accept(UInt8(ascii: ":")) else { throw .malformed("JSON key without a value") }
            let value = try value(depth: depth + 1)
            let isNew =
                if case .null = value {
                    object.fields[key] == nil && nulls.insert(key).inserted
                } else {
                    !nulls.contains(key) && object.fields.updateValue(value, forKey: key) == nil
                }
            guard isNew else { throw .malformed("JSON key given twice") }
            skipSpace()
        } while accept(UInt8(ascii: ","))
        guard accept(UInt8(ascii: "}")) else { throw .malformed("JSON object without its end") }
        return object
    }

    private mutating func array(depth: Int) throws(WireError) -> [JSONValue] {
        position += 1
        var values: [JSONValue] = []
        skipSpace()
        if accept(UInt8(ascii: "]")) { return values }
        repeat {
            values.append(try value(depth: depth + 1))
            skipSpace()
        } while accept(UInt8(ascii: ","))
        guard accept(UInt8(ascii: "]")) else { throw .malformed("JSON array without its end") }
        return values
    }
}
