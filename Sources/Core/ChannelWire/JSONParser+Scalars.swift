extension JSONParser {
    /// A string at its opening quote.
    mutating func string() throws(WireError) -> String {
        position += 1
        let start = position
        var bits: UInt8 = 0
        while position < bytes.count {
            let byte = bytes[position]
            if byte == UInt8(ascii: "\"") {
                let utf8 = bytes[start..<position]
                let text = bits < 0x80 ? Self.text(ascii: utf8) : try Self.text(utf8)
                position += 1
                return text
            }
            bits |= byte
            guard byte != UInt8(ascii: "\\") else { return try escapedString(from: start) }
            guard byte >= 0x20 else { throw .malformed("control character in a JSON string") }
            position += 1
        }
        throw .malformed("JSON string without its end")
    }

    private mutating func escapedString(from start: Int) throws(WireError) -> String {
        var utf8 = Array(bytes[start..<position])
        while position < bytes.count {
            let byte = bytes[position]
            position += 1
            switch byte {
            case UInt8(ascii: "\""): return try Self.text(utf8[...])
            case UInt8(ascii: "\\"): try escape(into: &utf8)
            case 0..<0x20: throw .malformed("control character in a JSON string")
            default: utf8.append(byte)
            }
        }
        throw .malformed("JSON string without its end")
    }

    private mutating func escape(into utf8: inout [UInt8]) throws(WireError) {
        guard position < bytes.count else { throw .malformed("JSON escape") }
        let letter = bytes[position]
        position += 1
        switch letter {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): utf8.append(letter)
        case UInt8(ascii: "b"): utf8.append(0x08)
        case UInt8(ascii: "f"): utf8.append(0x0c)
        case UInt8(ascii: "n"): utf8.append(0x0a)
        case UInt8(ascii: "r"): utf8.append(0x0d)
        case UInt8(ascii: "t"): utf8.append(0x09)
        case UInt8(ascii: "u"):
            var code = try hexadecimal4()
            if 0xd800...0xdbff ~= code {
                guard position + 1 < bytes.count, bytes[position] == UInt8(ascii: "\\"),
                    bytes[position + 1] == UInt8(ascii: "u")
                else { throw .malformed("half of a surrogate pair") }
                position += 2
                let low = try hexadecimal4()
                guard 0xdc00...0xdfff ~= low else { throw .malformed("half of a surrogate pair") }
                code = 0x10000 + (code - 0xd800) << 10 + (low - 0xdc00)
            }
            // NUL would end the text early for whoever hands it to a C library.
            guard code != 0, let scalar = Unicode.Scalar(code) else { throw .malformed("JSON escape") }
            utf8.append(contentsOf: String(Character(scalar)).utf8)
        default: throw .malformed("JSON escape")
        }
    }

    private mutating func hexadecimal4() throws(WireError) -> UInt32 {
        guard position + 4 <= bytes.count else { throw .malformed("JSON escape") }
        var value: UInt32 = 0
        for _ in 0..<4 {
            let digit = bytes[position]
            position += 1
            switch digit {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): value = value << 4 | UInt32(digit - UInt8(ascii: "0"))
            case UInt8(ascii: "a")...UInt8(ascii: "f"):
                value = value << 4 | UInt32(digit - UInt8(ascii: "a") + 10)
            case UInt8(ascii: "A")...UInt8(ascii: "F"):
                value = value << 4 | UInt32(digit - UInt8(ascii: "A") + 10)
            default: throw .malformed("JSON escape")
            }
        }
        return value
    }

    /// `-`? integer fraction? exponent?, kept as text.
    mutating func number() throws(WireError) -> String {
        let start = position
        if position < bytes.count, bytes[position] == UInt8(ascii: "-") { position += 1 }
        let integer = position
        guard digits() > 0 else { throw .malformed("JSON value") }
        guard bytes[integer] != UInt8(ascii: "0") || position == integer + 1 else {
            throw .malformed("JSON number")
        }
        if position < bytes.count, bytes[position] == UInt8(ascii: ".") {
            position += 1
            guard digits() > 0 else { throw .malformed("JSON number") }
        }
        if position < bytes.count, bytes[position] | 0x20 == UInt8(ascii: "e") {
            position += 1
            if position < bytes.count,
                bytes[position] == UInt8(ascii: "+") || bytes[position] == UInt8(ascii: "-")
            {
                position += 1
            }
            guard digits() > 0 else { throw .malformed("JSON number") }
        }
        guard position - start <= 64 else { throw .malformed("JSON number of more than 64 characters") }
        return Self.text(ascii: bytes[start..<position])
    }

    private mutating func digits() -> Int {
        let start = position
        while position < bytes.count, UInt8(ascii: "0")...UInt8(ascii: "9") ~= bytes[position] {
            position += 1
        }
        return position - start
    }

    private static func text(_ utf8: ArraySlice<UInt8>) throws(WireError) -> String {
        guard let text = String(validating: utf8, as: UTF8.self) else {
            throw .malformed("JSON string is not UTF-8")
        }
        return text
    }

    /// Nearly all keys and much text is ASCII, which is valid: this costs a fifth of the other.
    private static func text(ascii bytes: ArraySlice<UInt8>) -> String {
        String(decoding: bytes, as: UTF8.self)
    }
}
