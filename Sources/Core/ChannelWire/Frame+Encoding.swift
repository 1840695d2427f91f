extension Frame {
    /// Type, length and body: what stands in a record. **Shape**: 3 + body bytes.
    package func encode() -> [UInt8] {
        var writer = ByteWriter(reserving: 64)
        encode(into: &writer)
        return writer.bytes
    }

    /// Appends the whole frame. Its body must be within `Limits.frameBodyMax`: our own duty.
    package func encode(into writer: inout ByteWriter) {
        var body = ByteWriter(reserving: 64)
        let type = encodeBody(into: &body)
        Self.append(type: type, body: body.bytes, to: &writer)
    }

    /// A ready DELIVER frame: the bytes that a log keeps and every subscriber gets.
    package static func deliverBytes(sequence: Int64, batch: [UInt8]) -> [UInt8] {
        Frame.deliver(sequence: sequence, batch: batch).encode()
    }

    private static func append(type: UInt8, body: [UInt8], to writer: inout ByteWriter) {
        precondition(body.count <= Limits.frameBodyMax, "a frame body is at most 16384 bytes")
        writer.octet(type)
        writer.word16(UInt16(body.count))
        writer.raw(body)
    }

    private func encodeBody(into body: inout ByteWriter) -> UInt8 {
        switch self {
        case .error(let error):
            body.word32(error.request)
            body.word16(error.code)
            body.word32(error.retryAfterMs)
            body.len16(Array(error.text.utf8.prefix(Limits.errorTextMax)))
            return FrameType.error.rawValue
        case .drain(let delayMs):
            body.word32(delayMs)
            return FrameType.drain.rawValue
        case .ping(let token): return encode(token: token, .ping, &body)
        case .pong(let token): return encode(token: token, .pong, &body)
        case .recordGet(let request, let channel):
            body.word32(request)
            body.raw(channel.bytes)
            return FrameType.recordGet.rawValue
        case .record(let request, let record): return encode(request, record, .record, &body)
        case .recordPut(let request, let record): return encode(request, record, .recordPut, &body)
        case .recordStored(let request, let version):
            body.word32(request)
            body.int64(version)
            return FrameType.recordStored.rawValue
        case .control(let control): return encode(control, &body)
        case .controlled(let status, let recordVersion):
            body.text8(status)
            body.int64(recordVersion)
            return FrameType.controlled.rawValue
        case .direct(let bytes):
            body.raw(bytes)
            return FrameType.direct.rawValue
        case .membersGet(let request, let after, let limit):
            body.word32(request)
            body.len8(after?.bytes ?? [])
            body.word16(limit)
            return FrameType.membersGet.rawValue
        case .members(let page): return encode(page, &body)
        case .join(let channel, let element):
            body.raw(channel.bytes)
            body.raw(element)
            return FrameType.join.rawValue
        case .joined(let batch):
            body.raw(batch)
            return FrameType.joined.rawValue
        case .attach(let attach): return encode(attach, &body)
        case .attached(let attached): return encode(attached, &body)
        case .deliver(let sequence, let batch):
            body.int64(sequence)
            body.raw(batch)
            return FrameType.deliver.rawValue
        case .gap(let from, let to, let reason):
            body.int64(from)
            body.int64(to)
            body.octet(reason.rawValue)
            return FrameType.gap.rawValue
        case .publish(let request, let bytes): return encode(request, bytes, .publish, &body)
        case .ack(let request, let results): return encode(request, results, &body)
        case .historyGet(let request, let mode, let value, let limit):
            body.word32(request)
            body.octet(mode.rawValue)
            body.int64(value)
            body.word16(limit)
            return FrameType.historyGet.rawValue
        case .history(let request, let sequence, let batch):
            body.word32(request)
            body.int64(sequence)
            body.raw(batch)
            return FrameType.history.rawValue
        case .historyEnd(let request, let first, let more):
            body.word32(request)
            body.int64(first)
            body.bool(more)
            return FrameType.historyEnd.rawValue
        case .ignored(let type): return type
        }
    }

    private func encode(token: [UInt8], _ type: FrameType, _ body: inout ByteWriter) -> UInt8 {
        precondition(token.count == 8, "a ping's token has 8 bytes")
        body.raw(token)
        return type.rawValue
    }
    private func encode(_ request: UInt32, _ tail: [UInt8], _ type: FrameType, _ body: inout ByteWriter)
        -> UInt8
    {
        body.word32(request)
        body.raw(tail)
        return type.rawValue
    }
    private func encode(_ control: Control, _ body: inout ByteWriter) -> UInt8 {
        body.raw(control.channel.bytes)
        body.len8(control.owner.bytes)
        body.len8(control.signature.bytes)
        body.octet(control.invitationFollows ? 1 : 0)
        body.len16(control.record)
        return FrameType.control.rawValue
    }
    private func encode(_ page: MembersPage, _ body: inout ByteWriter) -> UInt8 {
        precondition(page.rows.count <= Limits.membersPageMax, "a members page has at most 50 rows")
        body.word32(page.request)
        body.bool(page.more)
        body.int64(page.total)
        body.octet(UInt8(page.rows.count))
        for row in page.rows {
            body.len8(row.member.bytes)
            body.text8(row.role)
            body.text8(row.status)
            body.text8(row.name)
            body.int64(row.joinedAt)
        }
        return FrameType.members.rawValue
    }
    private func encode(_ attach: Attach, _ body: inout ByteWriter) -> UInt8 {
        body.raw(attach.channel.bytes)
        body.len8(attach.member.bytes)
        body.len8(attach.signature.bytes)
        switch attach.start {
        case .cursor(let epoch, let position):
            precondition(epoch.count == 8, "an epoch has 8 bytes")
            body.octet(0)
            body.raw(epoch)
            body.int64(position)
        case .last(let count):
            body.octet(1)
            body.raw([UInt8](repeating: 0, count: 8))
            body.int64(count)
        case .live:
            body.octet(2)
            body.raw([UInt8](repeating: 0, count: 16))
        }
        return FrameType.attach.rawValue
    }
    private func encode(_ attached: Attached, _ body: inout ByteWriter) -> UInt8 {
        body.raw(attached.epoch)
        body.int64(attached.first)
        body.int64(attached.head)
        body.int64(attached.resumeAfter)
        body.text8(attached.role)
        body.int64(attached.recordVersion)
        return FrameType.attached.rawValue
    }
    private func encode(_ request: UInt32, _ results: [AckResult], _ body: inout ByteWriter) -> UInt8 {
        precondition(results.count <= Limits.batchCountMax, "an ack answers at most one batch")
        body.word32(request)
        body.octet(UInt8(results.count))
        for result in results {
            body.octet(result.outcome.rawValue)
            body.int64(result.sequence)
            body.word16(result.code)
        }
        return FrameType.ack.rawValue
    }
}
