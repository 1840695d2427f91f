package import ChannelWire

/// A stored entry, ready to send.
package struct LogEntry: Equatable, Sendable {
    package let channel: ChannelID
    package let sequence: Int64
    /// Units: seconds since 1970, by the relay's clock.
    package let time: Int64
    /// Shape: one whole DELIVER frame with its type and length.
    package let frame: [UInt8]
}

/// The frames of a log as bytes. They are made once an entry, stored, and sent as they are.
///
/// Source: docs/protocol/frames.md.
enum DeliverFrame {
    static let type: UInt8 = 0x24
    /// Where the batch begins: after type, length and sequence.
    static let batchOffset = 11

    /// Shape: `24 len16 sequence "=" 01 len16 forward`.
    static func encode(sequence: Int64, forward: [UInt8]) -> [UInt8] {
        precondition(forward.count <= Limits.batchElementMax, "a log entry fits into a batch")
        var frame: [UInt8] = []
        frame.reserveCapacity(batchOffset + 4 + forward.count)
        frame.append(type)
        append(word16: 8 + 4 + forward.count, to: &frame)
        append(int64: sequence, to: &frame)
        frame.append(UInt8(ascii: "="))
        frame.append(1)
        append(word16: forward.count, to: &frame)
        frame.append(contentsOf: forward)
        return frame
    }

    /// The most bytes that `encode` makes.
    private static let bytesMax = batchOffset + 4 + Limits.batchElementMax

    /// Whether these are the bytes of one whole DELIVER frame with that sequence, and no more than such a
    /// frame has: what lays frames side by side counts on that.
    static func isWhole(_ frame: [UInt8], sequence: Int64) -> Bool {
        guard frame.count >= batchOffset, frame.count <= bytesMax else { return false }
        var begin: [UInt8] = [type]
        append(word16: frame.count - 3, to: &begin)
        append(int64: sequence, to: &begin)
        return frame[..<batchOffset] == begin[...]
    }

    /// The element in a frame; nil where the frame is not as `encode` makes it.
    static func forward(in frame: [UInt8], sequence: Int64) -> ForwardElement? {
        let start = batchOffset + 4
        guard frame.count > start, let forward = try? ForwardElement(Array(frame[start...])),
            forward.bytes.count <= Limits.batchElementMax,
            encode(sequence: sequence, forward: forward.bytes) == frame
        else { return nil }
        return forward
    }

    static func append(word16 value: Int, to bytes: inout [UInt8]) {
        bytes.append(UInt8(truncatingIfNeeded: value >> 8))
        bytes.append(UInt8(truncatingIfNeeded: value))
    }

    static func append(int64 value: Int64, to bytes: inout [UInt8]) {
        for shift in stride(from: 56, through: 0, by: -8) {
            bytes.append(UInt8(truncatingIfNeeded: value >> Int64(shift)))
        }
    }
}

/// Why a range of sequences is not delivered.
package enum GapReason: UInt8, Sendable {
    case pruned = 1
    case epoch = 2
    case erased = 3
}

package enum GapFrame {
    /// Shape: `25 00 11 from to reason`.
    package static func encode(from: Int64, to: Int64, reason: GapReason) -> [UInt8] {
        var frame: [UInt8] = [0x25, 0, 17]
        DeliverFrame.append(int64: from, to: &frame)
        DeliverFrame.append(int64: to, to: &frame)
        frame.append(reason.rawValue)
        return frame
    }
}
