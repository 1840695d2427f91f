import ChannelWire
import TestKit
import Testing

@Suite("Frame")
struct FrameTests {
    struct Example: Sendable {
        let frame: Frame
        /// Body bytes from which on a prefix decodes, because the last field is a tail; nil: no tail.
        var fixed: Int?
    }
    static let signature = Signature(bytes: [UInt8](repeating: 0x5a, count: 64))!
    static let epoch: [UInt8] = [1, 2, 3, 4, 5, 6, 7, 8]

    static let examples: [Example] = [
        Example(frame: .error(LinkError(.unknownChannel, request: 7, retryAfterMs: 1000, text: "no ü"))),
        Example(frame: .error(LinkError(request: 0, code: 999, retryAfterMs: 0, text: ""))),
        Example(frame: .drain(delayMs: 30_000)),
        Example(frame: .ping(epoch)),
        Example(frame: .pong(epoch)),
        Example(frame: .recordGet(request: 1, channel: Fixture.channel)),
        Example(frame: .record(request: 0, record: [1, 2, 3]), fixed: 4),
        Example(frame: .recordPut(request: 2, record: [1, 2, 3]), fixed: 4),
        Example(frame: .recordStored(request: 3, version: .max)),
        Example(
            frame: .control(
                .init(
                    channel: Fixture.channel, owner: Fixture.owner, signature: signature,
                    invitationFollows: true,
                    record: [9, 9]))),
        Example(
            frame: .control(
                .init(
                    channel: Fixture.channel, owner: Fixture.owner, signature: signature,
                    invitationFollows: false,
                    record: []))),
        Example(frame: .controlled(status: "active", recordVersion: 4)),
        Example(frame: .controlled(status: "", recordVersion: 0)),
        Example(frame: .direct(body: Fixture.hiJSON), fixed: 0),
        Example(frame: .membersGet(request: 4, after: nil, limit: 50)),
        Example(frame: .membersGet(request: 4, after: Fixture.member, limit: 1)),
        Example(
            frame: .members(
                .init(
                    request: 5, more: true, total: 100,
                    rows: [
                        .init(
                            member: Fixture.member, role: "observer", status: "connected", name: "bob",
                            joinedAt: 1),
                        .init(
                            member: Fixture.owner, role: "owner", status: "creator", name: "é", joinedAt: -1),
                    ]))),
        Example(frame: .members(.init(request: 5, more: false, total: 0, rows: []))),
        Example(frame: .join(channel: Fixture.channel, element: [1]), fixed: 32),
        Example(frame: .joined(batch: [1, 2]), fixed: 0),
        Example(
            frame: .attach(
                .init(
                    channel: Fixture.channel, member: Fixture.member, signature: signature,
                    start: .cursor(epoch: epoch, position: 12)))),
        Example(
            frame: .attach(
                .init(
                    channel: Fixture.channel, member: Fixture.member, signature: signature, start: .last(100))
            )),
        Example(
            frame: .attach(
                .init(channel: Fixture.channel, member: Fixture.member, signature: signature, start: .live))),
        Example(
            frame: .attached(
                .init(epoch: epoch, first: 1, head: 9, resumeAfter: 4, role: "observer", recordVersion: 3))),
        Example(frame: .deliver(sequence: 10, batch: [1]), fixed: 8),
        Example(frame: .gap(from: 1, to: 9, reason: .pruned)),
        Example(frame: .gap(from: 0, to: 0, reason: .epoch)),
        Example(frame: .gap(from: 3, to: 3, reason: .erased)),
        Example(frame: .publish(request: 6, body: [1]), fixed: 4),
        Example(
            frame: .ack(request: 7, results: [.stored(1), .repeated(2), .refused(.signatureRequired)])),
        Example(frame: .ack(request: 7, results: [])),
        Example(frame: .historyGet(request: 8, mode: .beforeSequence, value: .max, limit: 500)),
        Example(frame: .historyGet(request: 8, mode: .beforeTime, value: 0, limit: 1)),
        Example(frame: .historyGet(request: 8, mode: .fromTime, value: -5, limit: 1)),
        Example(frame: .history(request: 9, sequence: 10, batch: [1]), fixed: 12),
        Example(frame: .historyEnd(request: 10, first: 0, more: false)),
    ]

    @Test(
        "a frame decodes whole, its prefixes are too short, and later fields are ignored", arguments: examples
    )
    func roundTrip(example: Example) throws {
        let bytes = example.frame.encode()
        let body = Array(bytes.dropFirst(3))
        #expect(Int(bytes[1]) << 8 | Int(bytes[2]) == body.count)
        let problems = DecoderVerifier.problems(
            of: example.frame, bytes: body, shortest: example.fixed,
            trailing: example.fixed == nil ? .ignored : .partOfTheTail
        ) { body throws(WireError) in try Frame.decode(type: bytes[0], body: body) }
        #expect(problems.isEmpty, "\(problems)")
    }

    @Test("every type has an example")
    func cover() {
        let types = Set(Self.examples.map { $0.frame.encode()[0] })
        #expect(types == Set(FrameType.allCases.map(\.rawValue)))
    }

    @Test("a body of 16384 bytes is read, one byte more is refused by its size")
    func limit() throws {
        let body = [UInt8](repeating: 7, count: Limits.frameBodyMax)
        #expect(try Frame.decode(type: FrameType.direct.rawValue, body: body) == .direct(body: body))
        #expect(throws: WireError.tooLarge(limit: 16_384, have: 16_385)) {
            _ = try Frame.decode(type: FrameType.direct.rawValue, body: body + [7])
        }
    }

    @Test("unknown types are ignored from 80, refused below")
    func unknownTypes() throws {
        let known = Set(FrameType.allCases.map(\.rawValue))
        for type in UInt8.min...UInt8.max where !known.contains(type) {
            if type >= 0x80 {
                #expect(try Frame.decode(type: type, body: [1, 2]) == .ignored(type: type))
            } else {
                #expect(throws: WireError.self) { _ = try Frame.decode(type: type, body: []) }
            }
        }
    }

    @Test("a request number of 0 is refused where there must be one")
    func requestZero() {
        let zero: [UInt8] = [0, 0, 0, 0]
        let rest = [UInt8](repeating: 1, count: 40)
        for type: FrameType in [
            .recordGet, .recordPut, .recordStored, .membersGet, .members, .publish, .ack, .historyGet,
            .history,
            .historyEnd,
        ] {
            #expect(throws: WireError.self) { _ = try Frame.decode(type: type.rawValue, body: zero + rest) }
        }
    }

    @Test("values outside their range are refused")
    func ranges() throws {
        func refuses(_ type: FrameType, _ frame: Frame, at index: Int, _ value: UInt8) {
            var body = Array(frame.encode().dropFirst(3))
            body[index < 0 ? body.count + index : index] = value
            #expect(throws: WireError.self) { _ = try Frame.decode(type: type.rawValue, body: body) }
        }
        refuses(.gap, .gap(from: 1, to: 9, reason: .pruned), at: -1, 0)
        refuses(.gap, .gap(from: 1, to: 9, reason: .pruned), at: -1, 4)
        refuses(.gap, .gap(from: 9, to: 9, reason: .pruned), at: 7, 10)
        refuses(.historyGet, .historyGet(request: 1, mode: .fromTime, value: 0, limit: 1), at: 4, 3)
        refuses(.historyEnd, .historyEnd(request: 1, first: 0, more: false), at: -1, 0)
        refuses(.ack, .ack(request: 1, results: [.stored(1)]), at: 5, 3)
        let attach = Frame.attach(
            .init(
                channel: Fixture.channel, member: Fixture.member, signature: Self.signature,
                start: .cursor(epoch: Self.epoch, position: 0)))
        refuses(.attach, attach, at: -17, 3)
        refuses(.attach, attach, at: -8, 0x80)
        refuses(.attach, attach, at: 32, 0)
    }

    @Test("an error's text is cut at 512 bytes by writer and reader, and never spoils the frame")
    func errorText() throws {
        let long = LinkError(request: 1, code: 8, retryAfterMs: 0, text: String(repeating: "é", count: 600))
        let body = Array(Frame.error(long).encode().dropFirst(3))
        #expect(body.count == 12 + Limits.errorTextMax)
        var writer = ByteWriter()
        writer.word32(1)
        writer.word16(8)
        writer.word32(0)
        writer.len16([UInt8](repeating: UInt8(ascii: "a"), count: 5_000))
        guard case .error(let read) = try Frame.decode(type: 1, body: writer.bytes) else {
            Issue.record("not an error")
            return
        }
        #expect(read.text.utf8.count == Limits.errorTextMax)
    }

    @Test("the log's ready DELIVER bytes are the frame")
    func deliverBytes() {
        #expect(
            Frame.deliverBytes(sequence: 5, batch: [1, 2, 3])
                == Frame.deliver(sequence: 5, batch: [1, 2, 3]).encode())
    }
}
