extension Frame {
    /// Decodes a frame's body. Trailing bytes are ignored, so that later versions can add fields.
    ///
    /// - Throws: `WireError` for a missing or malformed field, a body over 16384 bytes, or an unknown type
    /// below 80.
    package static func decode(type: UInt8, body: [UInt8]) throws(WireError) -> Frame {
        guard body.count <= Limits.frameBodyMax else {
            throw .tooLarge(limit: Limits.frameBodyMax, have: body.count)
        }
        guard let known = FrameType(rawValue: type) else {
            if type >= 0x80 { return .ignored(type: type) }
            throw .malformed("unknown frame type \(type)")
        }
        var reader = ByteReader(body)
        switch known {
        case .error: return .error(try linkError(&reader))
        case .drain: return .drain(delayMs: try reader.word32())
        case .ping: return .ping(try reader.take(8))
        case .pong: return .pong(try reader.take(8))
        case .recordGet:
            let request = try Self.request(&reader)
            return .recordGet(request: request, channel: try reader.channelID())
        case .record: return .record(request: try reader.word32(), record: reader.tail())
        case .recordPut: return .recordPut(request: try Self.request(&reader), record: reader.tail())
        case .recordStored:
            let request = try Self.request(&reader)
            return .recordStored(request: request, version: try reader.int64())
        case .control: return .control(try control(&reader))
        case .controlled:
            let status = try reader.text8()
            return .controlled(status: status, recordVersion: try reader.int64())
        case .direct: return .direct(body: reader.tail())
        case .membersGet: return try membersGet(&reader)
        case .members: return .members(try membersPage(&reader))
        case .join:
            let channel = try reader.channelID()
            return .join(channel: channel, element: reader.tail())
        case .joined: return .joined(batch: reader.tail())
        case .attach: return .attach(try attach(&reader))
        case .attached: return .attached(try attached(&reader))
        case .deliver:
            let sequence = try reader.int64()
            return .deliver(sequence: sequence, batch: reader.tail())
        case .gap: return try gap(&reader)
        case .publish: return .publish(request: try Self.request(&reader), body: reader.tail())
        case .ack: return try ack(&reader)
        case .historyGet: return try historyGet(&reader)
        case .history:
            let request = try Self.request(&reader)
            let sequence = try reader.int64()
            return .history(request: request, sequence: sequence, batch: reader.tail())
        case .historyEnd:
            let request = try Self.request(&reader)
            let first = try reader.int64()
            return .historyEnd(request: request, first: first, more: try reader.bool())
        }
    }

    private static func request(_ reader: inout ByteReader) throws(WireError) -> UInt32 {
        let request = try reader.word32()
        guard request != 0 else { throw .malformed("a request number is not 0") }
        return request
    }
    private static func linkError(_ reader: inout ByteReader) throws(WireError) -> LinkError {
        let request = try reader.word32()
        let code = try reader.word16()
        let retryAfterMs = try reader.word32()
        let text = String(decoding: try reader.len16().prefix(Limits.errorTextMax), as: UTF8.self)
        return LinkError(request: request, code: code, retryAfterMs: retryAfterMs, text: text)
    }
    private static func control(_ reader: inout ByteReader) throws(WireError) -> Control {
        let channel = try reader.channelID()
        let owner = try reader.memberID()
        let signature = try reader.signature()
        let flags = try reader.octet()
        return Control(
            channel: channel, owner: owner, signature: signature, invitationFollows: flags & 1 == 1,
            record: try reader.len16())
    }
    private static func membersGet(_ reader: inout ByteReader) throws(WireError) -> Frame {
        let request = try Self.request(&reader)
        let after = try reader.len8()
        return .membersGet(request: request, after: MemberID(bytes: after), limit: try reader.word16())
    }
    private static func membersPage(_ reader: inout ByteReader) throws(WireError) -> MembersPage {
        let request = try Self.request(&reader)
        let more = try reader.bool()
        let total = try reader.int64()
        var rows: [MembersPage.Row] = []
        for _ in 0..<(try reader.octet()) {
            let member = try reader.memberID()
            let role = try reader.text8()
            let status = try reader.text8()
            let name = try reader.text8()
            rows.append(
                .init(member: member, role: role, status: status, name: name, joinedAt: try reader.int64()))
        }
        return MembersPage(request: request, more: more, total: total, rows: rows)
    }
    private static func attach(_ reader: inout ByteReader) throws(WireError) -> Attach {
        let channel = try reader.channelID()
        let member = try reader.memberID()
        let signature = try reader.signature()
        let start = try reader.octet()
        let epoch = try reader.take(8)
        let position = try reader.int64()
        guard position >= 0 else { throw .malformed("a position is not negative") }
        switch start {
        case 0:
            return Attach(
                channel: channel, member: member, signature: signature,
                start: .cursor(epoch: epoch, position: position))
        case 1: return Attach(channel: channel, member: member, signature: signature, start: .last(position))
        case 2: return Attach(channel: channel, member: member, signature: signature, start: .live)
        default: throw .malformed("a start is 0, 1 or 2")
        }
    }
    private static func attached(_ reader: inout ByteReader) throws(WireError) -> Attached {
        let epoch = try reader.take(8)
        let first = try reader.int64()
        let head = try reader.int64()
        let resumeAfter = try reader.int64()
        let role = try reader.text8()
        return Attached(
            epoch: epoch, first: first, head: head, resumeAfter: resumeAfter, role: role,
            recordVersion: try reader.int64())
    }
    private static func gap(_ reader: inout ByteReader) throws(WireError) -> Frame {
        let from = try reader.int64()
        let to = try reader.int64()
        guard let reason = GapReason(rawValue: try reader.octet()) else {
            throw .malformed("unknown gap reason")
        }
        guard from <= to else { throw .malformed("a gap ends before it begins") }
        return .gap(from: from, to: to, reason: reason)
    }
    private static func ack(_ reader: inout ByteReader) throws(WireError) -> Frame {
        let request = try Self.request(&reader)
        var results: [AckResult] = []
        for _ in 0..<(try reader.octet()) {
            guard let outcome = AckResult.Outcome(rawValue: try reader.octet()) else {
                throw .malformed("an ack's result is 0, 1 or 2")
            }
            let sequence = try reader.int64()
            results.append(AckResult(outcome: outcome, sequence: sequence, code: try reader.word16()))
        }
        return .ack(request: request, results: results)
    }
    private static func historyGet(_ reader: inout ByteReader) throws(WireError) -> Frame {
        let request = try Self.request(&reader)
        guard let mode = HistoryMode(rawValue: try reader.octet()) else {
            throw .malformed("a history mode is 0, 1 or 2")
        }
        let value = try reader.int64()
        return .historyGet(request: request, mode: mode, value: value, limit: try reader.word16())
    }
}
