/// What one frame carries: one element, or several. **Source**: docs/protocol/channel.md, "Elements".
package enum Body {
    /// Divides a body into its elements. An element that does not decode does not spoil the others.
    ///
    /// - Throws: `WireError` when the body itself cannot be divided, or holds more than 255 elements.
    package static func decode(
        _ bytes: [UInt8], crypto: ChannelCrypto
    ) throws(WireError) -> [Result<Element, WireError>] {
        if bytes.first == UInt8(ascii: "X") {
            var elements: [Result<Element, WireError>] = []
            for block in try CompressedBody.decode(bytes, decompress: crypto.decompress) {
                if block.first == UInt8(ascii: "X") {
                    throw .malformed("a compressed body inside a compressed body")
                }
                elements += try divide(block)
                guard elements.count <= Limits.batchCountMax else {
                    throw .tooMany(limit: Limits.batchCountMax)
                }
            }
            return elements
        }
        return try divide(bytes)
    }

    /// A batch, also of a single element. **Shape**: `=`, one count byte, two length bytes before each
    /// element.
    ///
    /// The elements must fit (1 to 255 of at most 65535 bytes): our own duty.
    package static func encodeBatch(_ elements: [[UInt8]]) -> [UInt8] {
        precondition(1...Limits.batchCountMax ~= elements.count, "a batch has 1 to 255 elements")
        var writer = ByteWriter(reserving: elements.reduce(2) { $0 + $1.count + 2 })
        writer.octet(UInt8(ascii: "="))
        writer.octet(UInt8(elements.count))
        for element in elements { writer.len16(element) }
        return writer.bytes
    }

    private static func divide(_ bytes: [UInt8]) throws(WireError) -> [Result<Element, WireError>] {
        switch bytes.first {
        case nil: throw .truncated(needed: 1, have: 0)
        case UInt8(ascii: "="): return try batch(bytes)
        case UInt8(ascii: "["): return try JSONArrayBody.divide(bytes).map { element($0) }
        default: return [element(bytes)]
        }
    }
    private static func batch(_ bytes: [UInt8]) throws(WireError) -> [Result<Element, WireError>] {
        var reader = ByteReader(bytes)
        _ = try reader.octet()
        let count = try reader.octet()
        guard count >= 1 else { throw .malformed("a batch has at least one element") }
        var elements: [Result<Element, WireError>] = []
        elements.reserveCapacity(Int(count))
        for _ in 0..<count {
            let bytes = try reader.len16()
            guard bytes.count <= Limits.batchElementMax else {
                elements.append(.failure(.tooLarge(limit: Limits.batchElementMax, have: bytes.count)))
                continue
            }
            elements.append(element(bytes))
        }
        try reader.expectEnd()
        return elements
    }
    private static func element(_ bytes: [UInt8]) -> Result<Element, WireError> {
        do throws(WireError) { return .success(try Element.decode(bytes)) } catch { return .failure(error) }
    }
}

/// Divides a JSON array into its items without reading them: what is signed or kept must stay the sender's
/// bytes.
enum JSONArrayBody {
    static func divide(_ bytes: [UInt8]) throws(WireError) -> [[UInt8]] {
        var items: [[UInt8]] = []
        var depth = 0
        var inString = false
        var escaped = false
        var start: Int?
        var closed = false
        for (index, byte) in bytes.enumerated() {
            if closed {
                guard isSpace(byte) else { throw .malformed("text after the array") }
                continue
            }
            if inString {
                if escaped {
                    escaped = false
                } else if byte == UInt8(ascii: "\\") {
                    escaped = true
                } else if byte == UInt8(ascii: "\"") {
                    inString = false
                }
                continue
            }
            switch byte {
            case UInt8(ascii: "\""): inString = true
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                depth += 1
                if depth == 2 && start == nil { start = index }
                guard depth <= Limits.jsonDepthMax else { throw .tooMany(limit: Limits.jsonDepthMax) }
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                depth -= 1
                if depth == 1, let from = start {
                    items.append(Array(bytes[from...index]))
                    guard items.count <= Limits.batchCountMax else {
                        throw .tooMany(limit: Limits.batchCountMax)
                    }
                    start = nil
                }
                if depth == 0 { closed = true }
            case UInt8(ascii: ","): break
            default:
                if depth == 1 && !isSpace(byte) { throw .malformed("an array body holds JSON objects") }
            }
        }
        guard closed, !items.isEmpty else { throw .malformed("an array body is not closed or is empty") }
        return items
    }
    private static func isSpace(_ byte: UInt8) -> Bool { [0x20, 0x09, 0x0A, 0x0D].contains(byte) }
}
