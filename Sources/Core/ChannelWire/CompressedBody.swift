/// A compressed body: `X`, a count, and blocks. **Source**: docs/protocol/channel.md, "Elements".
package enum CompressedBody {
    /// - Throws: `WireError` for a bad block, or more than 65536 bytes in all once decompressed.
    package static func decode(
        _ bytes: [UInt8], decompress: (_ frame: [UInt8], _ limit: Int) -> [UInt8]?
    ) throws(WireError) -> [[UInt8]] {
        var reader = ByteReader(bytes)
        guard try reader.octet() == UInt8(ascii: "X") else {
            throw .malformed("a compressed body begins with X")
        }
        let count = try reader.octet()
        guard count >= 1 else { throw .malformed("a compressed body has at least one block") }
        var blocks: [[UInt8]] = []
        var left = Limits.decompressedMax
        for _ in 0..<count {
            let block: [UInt8]
            switch try reader.octet() {
            case UInt8(ascii: "0"): block = try reader.len8()
            case UInt8(ascii: "1"):
                guard let data = decompress(try reader.len16(), left) else {
                    throw .malformed("a block is not one zstd frame of an allowed size")
                }
                block = data
            default: throw .malformed("a block is 0 (as it is) or 1 (zstd)")
            }
            left -= block.count
            guard left >= 0 else {
                throw .tooLarge(limit: Limits.decompressedMax, have: Limits.decompressedMax - left)
            }
            blocks.append(block)
        }
        try reader.expectEnd()
        return blocks
    }

    /// One block: as it is up to 180 bytes, else one zstd frame.
    package static func encode(_ data: [UInt8], compress: ([UInt8]) -> [UInt8]) -> [UInt8] {
        precondition(data.count <= Limits.decompressedMax, "a body is at most 65536 bytes before compression")
        var writer = ByteWriter()
        writer.octet(UInt8(ascii: "X"))
        writer.octet(1)
        if data.count <= Limits.compressionThreshold {
            writer.octet(UInt8(ascii: "0"))
            writer.len8(data)
        } else {
            writer.octet(UInt8(ascii: "1"))
            writer.len16(compress(data))
        }
        return writer.bytes
    }
}
