@testable import RelayServer

import ChannelWire
import TestKit

/// A relay that lies: it stores what it is given, and tells its links something else.
final class Liar {
    let relay: Int
    let lie: Lie
    /// Messages that it lied about, and their place in its log.
    private(set) var told: [ReferenceRelay.Key: Int64] = [:]
    private var seen = 0
    private var firstRecord: [UInt8]?

    init(_ relay: Int, _ lie: Lie) {
        self.relay = relay
        self.lie = lie
    }

    func tell(_ messages: inout [LoopMessage], _ world: World) {
        for index in messages.indices {
            switch messages[index] {
            case .appended(let channel, let segment):
                messages[index] = .appended(channel, change(segment, world))
            case .page(let link, let segment?, let head):
                messages[index] = .page(link, change(segment, world), head: head)
            case .recordChanged(let channel, let record, let version):
                guard lie == .servesOldRecord else { break }
                if firstRecord == nil { firstRecord = record }
                messages[index] = .recordChanged(channel, record: firstRecord ?? record, version: version)
            case .reply(let link, .recordGet(let request), .record(let record, let version), let bytes):
                guard lie == .servesOldRecord else { break }
                if firstRecord == nil { firstRecord = record }
                messages[index] = .reply(
                    link, .recordGet(request: request),
                    .record(firstRecord ?? record, version: version), bytes: bytes)
            default: break
            }
        }
    }

    private func change(_ segment: LogSegment, _ world: World) -> LogSegment {
        guard lie != .servesOldRecord else { return segment }
        var bytes: [UInt8] = []
        var marks: [LogSegment.Mark] = []
        for (index, mark) in segment.marks.enumerated() {
            let frame = Array(segment.padded[segment.start(of: index)..<mark.end])
            bytes += change(frame, world)
            marks.append(LogSegment.Mark(end: bytes.count, through: mark.through))
        }
        return LogSegment(after: segment.after, bytes: bytes, marks: marks)
    }

    private func change(_ frame: [UInt8], _ world: World) -> [UInt8] {
        guard let entry = Delivered(frame: frame),
            world.truth.written[entry.key]?.tag == EventTag.msgNew.rawValue
        else { return frame }
        if told[entry.key] == nil {
            seen += 1
            // Every third message, beginning with the second.
            guard seen % 3 == 2 else { return frame }
            told[entry.key] = entry.sequence
        }
        switch lie {
        case .alters:
            guard let at = frame.firstRange(of: Array("message ".utf8))?.lowerBound else { return frame }
            var changed = frame
            changed[at] = UInt8(ascii: "M")
            return changed
        case .skips: return Self.nothing
        case .claimsDeletion:
            return Frame.gap(from: entry.sequence, to: entry.sequence, reason: .erased).encode()
        case .repeats: return frame + frame
        case .invents:
            let json = Event(
                messageID: MessageID(random: [UInt8](repeating: UInt8(truncatingIfNeeded: seen), count: 12)),
                params: .msgNew(MessageContainer(content: MessageContent(text: "invented"), asGroup: false))
            ).encode()
            let author =
                MemberID(bytes: entry.key.author) ?? MemberID(random: [UInt8](repeating: 1, count: 12))
            let forward = ForwardElement(
                sender: .member(author, name: "alice"), timestamp: Machine.wallStart, inner: json)
            return Frame.deliver(
                sequence: entry.sequence, batch: Body.encodeBatch([forward.bytes])
            ).encode()
        case .servesOldRecord: return frame
        }
    }

    /// A frame of a later version, which everybody passes over.
    private static let nothing: [UInt8] = [0x90, 0, 0]

    /// Whether somebody who hears another relay too can tell.
    var isProvable: Bool {
        switch lie {
        case .alters, .skips, .claimsDeletion: true
        case .repeats, .invents, .servesOldRecord: false
        }
    }
}
