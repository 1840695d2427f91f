internal import ChannelWire
internal import Operations
internal import PosixKit
internal import RelayCore
internal import RelayStore

/// The thread that reads from disk for links that lag behind, ask for history or list members.
final class DiskReader {
    private let relay: RelayShared
    private let reader: RelayReader
    private let loops: [Mailbox<LoopMessage>]

    private struct PageKey: Hashable {
        let channel: ChannelID
        let after: Int64
    }

    /// One record: it is handed on at once, so that a link that lags costs no more memory than its record.
    static let pageBytesMax = ChannelFeed.recordBytesMax
    /// HISTORY frames of one answer. Beyond it `more` says that the client asks again.
    static let historyBytesMax = 128 << 10

    init(relay: RelayShared, reader: RelayReader, loops: [Mailbox<LoopMessage>]) {
        self.relay = relay
        self.reader = reader
        self.loops = loops
    }

    func run() {
        while !turn(relay.reader.waitDrain(timeoutMilliseconds: 60_000)) {}
    }

    /// Reads what was asked for. Returns: whether to stop.
    func turn(_ messages: [ReaderMessage]) -> Bool {
        // After a restart a thousand links ask for the same page.
        var pages: [PageKey: LoopMessagePage] = [:]
        for message in messages {
            switch message {
            case .page(let link, let channel, let after):
                let key = PageKey(channel: channel, after: after)
                let page = pages[key] ?? readPage(key)
                if pages.count < DiskReader.pagesKeptMax { pages[key] = page }
                loops[link.loop].post(.page(link, page.segment, head: page.head))
            case .history(let link, let channel, let request, let question, let limit):
                loops[link.loop].post(
                    .history(link, request: request, history(channel, request, question, limit)))
            case .members(let link, let channel, let request, let after, let limit):
                loops[link.loop].post(
                    .members(link, request: request, members(channel, request, after, limit)))
            case .stop: return true
            }
        }
        return false
    }

    private static let pagesKeptMax = 16

    private struct LoopMessagePage {
        let segment: LogSegment?
        /// Nil where the relay does not carry the channel any more.
        let head: Int64?
    }

    private func readPage(_ key: PageKey) -> LoopMessagePage {
        do throws(RelayStoreError) {
            guard let page = try reader.page(key.channel, after: key.after, maxBytes: DiskReader.pageBytesMax)
            else {
                return LoopMessagePage(
                    segment: LogSegment(after: key.after, bytes: [], marks: []), head: nil)
            }
            if let first = page.damaged.first {
                relay.log.error(
                    "storage.damaged",
                    [
                        "channel": .text(key.channel.text), "first": .integer(first),
                        "messages": .count(page.damaged.count),
                        "hint": "readers are told of a gap; restore a backup",
                    ])
            }
            return LoopMessagePage(
                segment: LogSegment(after: key.after, frames: page.frames), head: page.head)
        } catch {
            failed(error)
            return LoopMessagePage(segment: nil, head: key.after)
        }
    }

    private func history(
        _ channel: ChannelID, _ request: UInt32, _ question: RelayReader.HistoryQuestion, _ limit: Int
    ) -> LogSegment? {
        do throws(RelayStoreError) {
            let page = try reader.history(
                channel, question, limit: min(limit, Limits.historyPageMax),
                maxBytes: DiskReader.historyBytesMax)
            var writer = ByteWriter(reserving: 4096)
            var marks: [LogSegment.Mark] = []
            for (index, message) in (page?.messages ?? []).enumerated() {
                Frame.history(request: request, sequence: message.sequence, batch: message.batch).encode(
                    into: &writer)
                marks.append(LogSegment.Mark(end: writer.bytes.count, through: Int64(index)))
            }
            Frame.historyEnd(request: request, first: page?.first ?? 0, more: page?.more ?? false).encode(
                into: &writer)
            marks.append(LogSegment.Mark(end: writer.bytes.count, through: Int64(marks.count)))
            return LogSegment(after: -1, bytes: writer.bytes, marks: marks)
        } catch {
            failed(error)
            return nil
        }
    }

    private func members(_ channel: ChannelID, _ request: UInt32, _ after: MemberID?, _ limit: Int) -> Frame?
    {
        do throws(RelayStoreError) {
            let wanted = min(max(limit, 1), Limits.membersPageMax)
            guard let page = try reader.members(channel, after: after, limit: wanted) else {
                // An owner may ask before the relay has said whether it carries the channel.
                return .error(LinkError(.unknownChannel, request: request))
            }
            var rows: [Frame.MembersPage.Row] = []
            // More, total, count and request come to 14 bytes.
            var size = 14
            for member in page.members {
                let row = Frame.MembersPage.Row(
                    member: member.id, role: member.role.text, status: member.status.rawValue,
                    name: member.name,
                    joinedAt: member.joinedAt)
                size +=
                    12 + row.member.bytes.count + row.role.utf8.count + row.status.utf8.count
                    + row.name.utf8.count
                guard size <= Limits.frameBodyMax else { break }
                rows.append(row)
            }
            return .members(
                Frame.MembersPage(
                    request: request, more: page.more || rows.count < page.members.count, total: page.total,
                    rows: rows))
        } catch {
            failed(error)
            return nil
        }
    }

    private func failed(_ error: RelayStoreError) {
        relay.log.error("storage.read-failed", ["reason": .text(error.description)])
    }
}

@available(*, unavailable)
extension DiskReader: Sendable {}
