import ChannelWire
import LibeventLoop
import LinkRuntime
import PosixKit
import SodiumCrypto
import Testing

@Suite struct RecordPaddingTests {
    @Test(arguments: [
        (1, 1), (2, 2), (3, 3), (8, 8), (9, 10), (11, 12), (100, 104), (256, 256), (257, 272), (1000, 1024),
        (1025, 1088),
        (16_387, 17_408), (65_519, 65_519), (65_000, 65_519),
    ])
    func `sizes are padded as Padmé says, and never beyond a record`(count: Int, expected: Int) {
        #expect(RecordPadding.padded(count) == expected)
    }

    @Test func `padding never shrinks, never costs more than an eighth, and keeps the order`() {
        var last = 0
        for count in 2...RecordPadding.plaintextBytesMax {
            let padded = RecordPadding.padded(count)
            #expect(padded >= count && (padded - count) * 8 <= count + 8 && padded >= last)
            last = padded
        }
    }
}

@Suite struct LinkRecordTests {
    let bench: Bench
    let link: Link
    let atRelay: Recorder
    let client: RawClient

    init() throws {
        bench = try Bench()
        let wire: Int32
        (link, atRelay, wire) = try bench.relayLink()
        client = RawClient(wire, bench)
        try client.handshake()
    }

    /// What came back until the relay ended the stream.
    private func framesToEnd() throws -> [Frame] {
        bench.run("the relay ends the link") {
            client.read()
            return client.isEnded
        }
        Posix.shutdownWriting(client.descriptor)
        bench.run("the relay reports the end") { atRelay.reason != nil }
        return try client.frames()
    }

    private func expectError(_ code: LinkErrorCode) throws {
        let frames = try framesToEnd()
        guard case .error(let error)? = frames.last, frames.count == 1 else {
            Issue.record("one ERROR was expected, not \(frames)")
            return
        }
        #expect(error.request == 0)
        #expect(error.known == code)
        guard case .malformed(code, _)? = atRelay.reason else {
            Issue.record("closed for \(String(describing: atRelay.reason))")
            return
        }
    }

    @Test(arguments: [1, 2, 3, 7, 100, 100_000])
    func `frames arrive the same however the bytes are cut`(piece: Int) throws {
        let sent = (1...5).map { testRequest(UInt32($0), size: 37 * $0) }
        var bytes = try client.record(sent[0].encode() + sent[1].encode())
        bytes += try client.record(sent[2].encode() + [0, 0, 0])
        bytes += try client.record(sent[3].encode())
        bytes += try client.record(sent[4].encode())
        var rest = bytes[...]
        while !rest.isEmpty {
            client.send(Array(rest.prefix(piece)))
            rest = rest.dropFirst(piece)
            bench.settle()
        }
        #expect(atRelay.frames == sent)
        #expect(link.isOpen)
    }

    @Test func `records behind the first flight are read after the handshake`() throws {
        // Glued: two records in one write, larger than one read would need.
        let sent = (1...8).map { testRequest(UInt32($0), size: 16_000) }
        client.send(try client.record(sent[0..<4].flatMap { $0.encode() }))
        client.send(try client.record(sent[4..<8].flatMap { $0.encode() }))
        bench.run { atRelay.frames.count == 8 }
        #expect(atRelay.frames == sent)
    }

    @Test func `a frame at the limit is taken, one beyond it is too large`() throws {
        client.send(try client.record(testRequest(1, size: 16_380).encode()))
        bench.run { atRelay.frames.count == 1 }
        let body = [UInt8](repeating: 1, count: 16_385)
        client.send(try client.record([0x28, 0x40, 0x01] + body))
        try expectError(.tooLarge)
    }

    @Test func `the largest record is taken`() throws {
        let frames = (1...4).map { testRequest(UInt32($0), size: 16_370) }.flatMap { $0.encode() }
        client.send(try client.record(frames + [UInt8](repeating: 0, count: 65_519 - frames.count)))
        bench.run { atRelay.frames.count == 4 }
        #expect(link.isOpen)
    }

    @Test func `padding that is not zero is refused`() throws {
        client.send(try client.record(testRequest(1).encode() + [0, 0, 1]))
        try expectError(.badFrame)
        #expect(atRelay.frames == [testRequest(1)])
    }

    @Test(
        arguments: [
            [0], [0, 0, 0, 0], [0x28], [0x28, 0], [0x28, 0, 5, 1, 2, 3], [0x05, 0, 0], [0x7F, 0, 1, 9],
            [0x03, 0, 7, 1, 2, 3, 4, 5, 6, 7],
            [0x28, 0, 3, 1, 2, 3], [0x28, 0, 4, 0, 0, 0, 0],
        ] as [[UInt8]])
    func `a plaintext that does not decode is a bad frame`(plaintext: [UInt8]) throws {
        client.send(try client.record(plaintext))
        try expectError(.badFrame)
        #expect(atRelay.frames.isEmpty)
    }

    @Test(arguments: [0, 1, 15, 16])
    func `a record too short to hold anything is a bad frame`(length: Int) throws {
        client.send([0, UInt8(length)] + [UInt8](repeating: 7, count: length))
        try expectError(.badFrame)
    }

    @Test func `frames of later versions are passed over`() throws {
        client.send(try client.record([0x80, 0, 2, 1, 2] + testRequest(1).encode() + [0xFF, 0, 0]))
        bench.run { !atRelay.frames.isEmpty }
        #expect(atRelay.frames == [testRequest(1)])
        #expect(link.isOpen)
    }

    @Test func `a changed record ends the link without a word`() throws {
        var record = try client.record(testRequest(1).encode())
        record[20] ^= 1
        client.send(record)
        #expect(try framesToEnd().isEmpty)
        #expect(atRelay.reason == .notAuthentic)
        #expect(atRelay.frames.isEmpty)
    }

    @Test func `a repeated record ends the link without a word`() throws {
        let record = try client.record(testRequest(1).encode())
        client.send(record)
        client.send(record)
        #expect(try framesToEnd().isEmpty)
        #expect(atRelay.reason == .notAuthentic)
        #expect(atRelay.frames.count == 1)
    }

    @Test func `noise instead of records ends the link without a word`() throws {
        client.send([0x01, 0x00] + Sodium.random(256))
        #expect(try framesToEnd().isEmpty)
        #expect(atRelay.reason == .notAuthentic)
    }

    @Test func `a PING is answered in the link and its user sees nothing`() throws {
        client.send(
            try client.record(
                Frame.ping([1, 2, 3, 4, 5, 6, 7, 8]).encode() + Frame.ping([9, 9, 9, 9, 9, 9, 9, 9]).encode())
        )
        bench.run {
            client.read()
            return !client.input.isEmpty
        }
        let record = try #require(try client.nextRecord())
        #expect(
            record
                == RecordPaddingTests.pad(
                    Frame.pong([1, 2, 3, 4, 5, 6, 7, 8]).encode()
                        + Frame.pong([9, 9, 9, 9, 9, 9, 9, 9]).encode()))
        #expect(client.input.isEmpty, "both answers leave in one record")
        #expect(atRelay.frames.isEmpty)
    }

    @Test func `frames sent in one event leave in one padded record`() throws {
        atRelay.onFrame = { link, _ in
            for number in 1...5 { link.send(testFrame(UInt32(number))) }
        }
        client.send(try client.record(testRequest(1).encode()))
        bench.run {
            client.read()
            return !client.input.isEmpty
        }
        let record = try #require(try client.nextRecord())
        #expect(record == RecordPaddingTests.pad((1...5).flatMap { testFrame(UInt32($0)).encode() }))
        #expect(client.input.isEmpty)
    }

    @Test func `on the wire every length is one of few sizes, whatever the frame's own length`() throws {
        // Source of the classes: link.md, "Records". docs/THREAT_MODEL.md quotes the two counts.
        var sizes: Set<Int> = []
        var frames = 0
        var overhead = 0
        for size in 1...15_600 {
            link.send(testFrame(UInt32(size), size: size))
            bench.run {
                client.read()
                return client.input.count >= 2
                    && client.input.count == 2 + (Int(client.input[0]) << 8 | Int(client.input[1]))
            }
            let plaintext = client.input.count - 2 - AEADKey.tagByteCount
            #expect(RecordPadding.padded(plaintext) == plaintext, "a size that is no class")
            overhead += plaintext - testFrame(1, size: size).encode().count
            sizes.insert(client.input.count)
            frames += 1
            _ = try client.nextRecord()
        }
        #expect(frames == 15_600 && sizes.count == 132)
        // The mean price of a padded record. Units: bytes.
        #expect(overhead / frames == 168)
    }

    @Test func `a queue longer than a record leaves in records of whole frames`() throws {
        let sent = (1...4).map { testFrame(UInt32($0), size: 16_370) }
        for frame in sent { link.send(frame) }
        link.send(testFrame(5, size: 8))
        bench.run {
            client.read()
            return client.input.count > 65_540
        }
        #expect(try client.frames() == sent + [testFrame(5, size: 8)])
    }

    @Test func `what was queued goes before bulk, what is queued after goes after`() throws {
        link.send(testFrame(1))
        link.sendBulk(testFrame(2).encode() + testFrame(3).encode())
        link.send(testFrame(4))
        link.sendBulk(testFrame(5).encode())
        bench.run {
            client.read()
            return client.input.count > 500
        }
        #expect(try client.frames() == (1...5).map { testFrame(UInt32($0)) })
    }

    @Test func `bulk with zeros behind it is sealed where it lies, to the same record as without`() throws {
        // What lies behind must not get out where the zeros do not reach as far as the padding.
        for (size, zeros) in [(300, 0), (300, 15), (300, 1), (17_000, 1023), (40_000, 2047), (10, 0)] {
            let frame = testFrame(1, size: min(size, 16_370)).encode()
            let frames = Array(repeatElement(frame, count: max(1, size / 16_370))).flatMap { $0 }
            let memory = frames + [UInt8](repeating: 0, count: zeros) + [UInt8](repeating: 0xEE, count: 4096)
            unsafe memory.withUnsafeBytes {
                unsafe link.sendBulk(UnsafeRawBufferPointer(rebasing: $0[..<frames.count]), zerosAfter: zeros)
            }
            let wanted = 2 + RecordPadding.padded(frames.count) + AEADKey.tagByteCount
            bench.run {
                client.read()
                return client.input.count >= wanted
            }
            #expect(client.input.count == wanted)
            #expect(try client.nextRecord() == RecordPaddingTests.pad(frames))
        }
    }

    /// Sends a record made for many links; whether the link took it.
    private func sendForAll(_ frames: [UInt8]) -> Bool {
        let memory = frames + [UInt8](repeating: 0, count: RecordPadding.zerosMax(frames.count))
        return unsafe memory.withUnsafeBytes {
            let frames = unsafe UnsafeRawBufferPointer(rebasing: $0[..<frames.count])
            return unsafe link.sendBulk(
                BulkRecord(frames, zerosAfter: $0.count - frames.count, for: link.context))
        }
    }

    @Test func `a record for many links is what the link would make, and is numbered with the others`()
        throws
    {
        link.sendBulk(testFrame(1, size: 300).encode())
        #expect(sendForAll(testFrame(2, size: 300).encode()))
        link.sendBulk(testFrame(3, size: 300).encode())
        #expect(sendForAll(testFrame(4, size: 16_370).encode()))
        bench.run {
            client.read()
            return client.input.count > 17_000
        }
        #expect(try client.nextRecord() == RecordPaddingTests.pad(testFrame(1, size: 300).encode()))
        #expect(try client.nextRecord() == RecordPaddingTests.pad(testFrame(2, size: 300).encode()))
        #expect(
            try client.frames() == [testFrame(3, size: 300), testFrame(4, size: 16_370)])
    }

    @Test func `a link that has something else to say, is full or at its end takes no record for many`()
        throws
    {
        link.send(testFrame(1))
        #expect(!sendForAll(testFrame(9).encode()), "the queue comes first")
        bench.run {
            client.read()
            return client.input.count > 30
        }
        var number: UInt32 = 1
        while link.canSendBulk {
            number += 1
            #expect(sendForAll(testFrame(number, size: 16_000).encode()))
        }
        #expect(!sendForAll(testFrame(9).encode()), "nothing overtakes what is unsent")
        var got: [Frame] = []
        while got.count < Int(number) {
            bench.run { client.read() }
            got += try client.frames()
        }
        #expect(got.map { if case .record(let request, _) = $0 { request } else { 0 } } == Array(1...number))
        link.close(error: .internal)
        #expect(!sendForAll(testFrame(9).encode()), "a link that closes says nothing more")
    }

    @Test func `the most zeros of a size are enough for every size below it`() {
        for count in 1..<RecordPadding.plaintextBytesMax {
            let zeros = RecordPadding.padded(count) - count
            #expect(zeros <= RecordPadding.zerosMax(count))
            #expect(RecordPadding.zerosMax(count - 1) <= RecordPadding.zerosMax(count))
        }
    }

    @Test func `the largest bulk behind a full queue gets through in order`() throws {
        var numbers: [UInt32] = []
        var number: UInt32 = 0
        func next(_ size: Int) -> Frame {
            number += 1
            numbers.append(number)
            return testFrame(number, size: size)
        }
        for _ in 0..<3 { link.send(next(16_370)) }
        link.send(next(16_000))
        let bulk = (0..<3).flatMap { _ in next(16_370).encode() } + next(16_000).encode()
        #expect(link.canSendBulk)
        link.sendBulk(bulk)
        var got: [Frame] = []
        while got.count < numbers.count {
            bench.run { client.read() }
            got += try client.frames()
        }
        #expect(got.map { if case .record(let request, _) = $0 { request } else { 0 } } == numbers)
    }

    @Test func `an ERROR about the link ends it, one about a request is handed on`() throws {
        let about = LinkError(.rateLimited, request: 9, retryAfterMs: 5, text: "later")
        let end = LinkError(.internal, retryAfterMs: 77, text: "sorry")
        client.send(
            try client.record(
                Frame.error(about).encode() + Frame.error(end).encode() + testRequest(1).encode()))
        bench.run { atRelay.reason != nil }
        #expect(atRelay.frames == [.error(about)])
        #expect(atRelay.reason == .peerError(end))
    }
}

extension RecordPaddingTests {
    static func pad(_ bytes: [UInt8]) -> [UInt8] {
        bytes + [UInt8](repeating: 0, count: RecordPadding.padded(bytes.count) - bytes.count)
    }
}
