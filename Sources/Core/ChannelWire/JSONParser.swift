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
        skipSpace()
        if accept(UInt8(ascii: "}")) { return JSONObject() }
        var fields: [JSONObject.Field] = []
        fields.reserveCapacity(4)
        var isASCII = true
        repeat {
            skipSpace()
            guard peek() == UInt8(ascii: "\"") else { throw .malformed("JSON key") }
            let key = try string()
            if !key.isASCII {
                // It can be a name. What is longer would cost what a stranger wishes.
                guard key.utf8.count <= Limits.displayNameBytesMax else {
                    throw .malformed("JSON key too long")
                }
                isASCII = false
            }
            skipSpace()
            guard accept(UInt8(ascii: ":")) else { throw .malformed("JSON key without a value") }
            fields.append(JSONObject.Field(key: key, value: try value(depth: depth + 1)))
            skipSpace()
        } while accept(UInt8(ascii: ","))
        guard accept(UInt8(ascii: "}")) else { throw .malformed("JSON object without its end") }
        guard let object = JSONObject(read: fields, isASCII: isASCII) else {
            throw .malformed("JSON key given twice")
        }
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
