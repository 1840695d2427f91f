import ChannelWire
import TestKit
import Testing

@Suite("Elements and bodies")
struct ElementTests {
    static let name = "a name of 16 ch."
    static let forward = ForwardElement(
        sender: .member(Fixture.owner, name: "alice"), timestamp: Fixture.timestamp, inner: Fixture.hiJSON)

    private func body(_ bytes: [UInt8]) throws(WireError) -> [Result<Element, WireError>] {
        try Body.decode(bytes, crypto: Fixture.crypto)
    }

    @Test("an element keeps its bytes, whole, and its prefixes do not pass for it")
    func prefixes() throws {
        let elements: [(bytes: [UInt8], shortest: Int)] = [
            (Fixture.signed(Fixture.hiJSON), 70),
            (Self.forward.bytes, 34),
            (
                ForwardElement(sender: .channel, timestamp: -1, inner: Fixture.signed(Fixture.hiJSON)).bytes,
                11
            ),
            (FileChunk(message: Fixture.message, number: 255, data: [1, 2, 3]).bytes, 20),
            (Fixture.hiJSON, 1),
        ]
        for (bytes, shortest) in elements {
            let element = try Element.decode(bytes)
            #expect(element.bytes == bytes)
            let problems = DecoderVerifier.problems(
                of: element, bytes: bytes, shortest: shortest, trailing: .partOfTheTail
            ) { bytes throws(WireError) in try Element.decode(bytes) }
            #expect(problems.isEmpty, "\(problems)")
        }
    }

    @Test(
        "what is not an element is refused",
        arguments: [
            "", "00", "78", "2f", "2f58014d40", "2f4700", "2f470058", "3e", "3e58", "3e4d00",
            "3e43000000000000000046",
            "3e4300000000000000003e", "3e430000000000000000", "46", "460000", "46000001", "3d", "5b",
        ])
    func refused(text: String) throws {
        let bytes = try #require(unhex(text))
        #expect(throws: WireError.self) { _ = try Element.decode(bytes) }
    }

    @Test("an element of 15602 bytes is read, one byte more is refused by its size")
    func elementLimit() throws {
        let largest = [UInt8(ascii: "{")] + [UInt8](repeating: 0x20, count: Limits.encodedMessageMax - 1)
        _ = try Element.decode(largest)
        #expect(throws: WireError.tooLarge(limit: 15_602, have: 15_603)) {
            _ = try Element.decode(largest + [0x20])
        }
    }

    @Test("a batch decodes whole only: no prefix, nothing after it")
    func batchPrefixes() throws {
        let batch = Body.encodeBatch([Self.forward.bytes, Fixture.signed(Fixture.hiJSON)])
        let problems = DecoderVerifier.problems(
            of: try body(batch), bytes: batch, trailing: .refused
        ) { bytes throws(WireError) in try self.body(bytes) }
        #expect(problems.isEmpty, "\(problems)")
        #expect(throws: WireError.self) { _ = try body([UInt8(ascii: "="), 0]) }
    }

    @Test("255 elements are a batch")
    func batchLimit() throws {
        let batch = Body.encodeBatch([[UInt8]](repeating: Array("{}".utf8), count: 255))
        #expect(try body(batch).count == 255)
    }

    @Test("an element of 15598 bytes is read inside a batch, one byte more is refused alone")
    func batchElementLimit() throws {
        let largest = [UInt8(ascii: "{")] + [UInt8](repeating: 0x20, count: Limits.batchElementMax - 1)
        let results = try body(Body.encodeBatch([largest, largest + [0x20], Fixture.hiJSON]))
        #expect(results[0] == .success(.plain(json: largest)))
        #expect(results[1] == .failure(.tooLarge(limit: 15_598, have: 15_599)))
        #expect(results[2] == .success(.plain(json: Fixture.hiJSON)))
    }

    @Test("one bad element does not spoil the others")
    func badElement() throws {
        let results = try body(Body.encodeBatch([Fixture.hiJSON, [0x78], Self.forward.bytes, []]))
        #expect(results.map { (try? $0.get()) != nil } == [true, false, true, false])
    }

    @Test("a JSON array of 255 messages is read, of 256 refused, also over several compressed blocks")
    func arrays() throws {
        func array(_ count: Int) -> [UInt8] {
            Array(
                ("[" + [String](repeating: #"{"a":"]}\"{["}"#, count: count).joined(separator: " , ") + "]")
                    .utf8)
        }
        #expect(try body(array(255)).count == 255)
        #expect(throws: WireError.tooMany(limit: 255)) { _ = try body(array(256)) }
        func blocks(_ parts: [[UInt8]]) -> [UInt8] {
            var writer = ByteWriter()
            writer.octet(UInt8(ascii: "X"))
            writer.octet(UInt8(parts.count))
            for part in parts {
                writer.octet(UInt8(ascii: "1"))
                writer.len16(Fixture.crypto.compress(part))
            }
            return writer.bytes
        }
        #expect(try body(blocks([array(200), array(55)])).count == 255)
        #expect(throws: WireError.tooMany(limit: 255)) { _ = try body(blocks([array(200), array(56)])) }
        #expect(throws: WireError.self) { _ = try body(blocks([blocks([array(1)])])) }
    }

    @Test("items of an array keep their bytes")
    func arrayBytes() throws {
        let results = try body(Array(#" [ {"a" : 1}, {"b":[{}]}]"#.utf8.dropFirst()))
        #expect(
            try results.map { try $0.get().bytes } == [Array(#"{"a" : 1}"#.utf8), Array(#"{"b":[{}]}"#.utf8)])
    }

    @Test(
        "what is not an array of objects is refused",
        arguments: ["[", "[]", "[1]", "[{}", "[{}]x", "[{}]]", #"["{}"]"#, "[{},]x", "[}]", "[null]"])
    func badArrays(text: String) {
        #expect(throws: WireError.self) { _ = try body(Array(text.utf8)) }
    }

    @Test("65536 bytes decompress, one more is refused, however the blocks are cut")
    func decompressionLimit() throws {
        func frame(_ count: Int) -> [UInt8] {
            Fixture.crypto.compress([UInt8](repeating: 0x20, count: count))
        }
        func blocks(_ counts: [Int]) -> [UInt8] {
            var writer = ByteWriter()
            writer.octet(UInt8(ascii: "X"))
            writer.octet(UInt8(counts.count))
            for count in counts {
                writer.octet(UInt8(ascii: "1"))
                writer.len16(frame(count))
            }
            return writer.bytes
        }
        func size(_ bytes: [UInt8]) throws(WireError) -> Int {
            try CompressedBody.decode(bytes, decompress: Fixture.crypto.decompress).reduce(0) {
                $0 + $1.count
            }
        }
        #expect(try size(blocks([65_536])) == 65_536)
        #expect(try size(blocks([65_000, 536])) == 65_536)
        #expect(throws: WireError.self) { _ = try size(blocks([65_537])) }
        #expect(throws: WireError.self) { _ = try size(blocks([65_000, 537])) }
        #expect(throws: WireError.self) { _ = try size(blocks([50_000_000])) }
        #expect(throws: WireError.self) { _ = try size([UInt8(ascii: "X"), 0]) }
        #expect(throws: WireError.self) { _ = try size(blocks([10]) + [0]) }
    }

    @Test("what is compressed is read again, small or large", arguments: [0, 1, 180, 181, 65_536])
    func compression(count: Int) throws {
        let data = [UInt8](repeating: UInt8(ascii: "b"), count: count)
        let bytes = CompressedBody.encode(data, compress: Fixture.crypto.compress)
        #expect(bytes[2] == (count <= 180 ? UInt8(ascii: "0") : UInt8(ascii: "1")))
        #expect(try CompressedBody.decode(bytes, decompress: Fixture.crypto.decompress) == [data])
    }

    @Test("a forwarded name has at most 255 bytes, wherever its characters end")
    func forwardedNameBytes() throws {
        for bytes in 240...260 {
            // 15 letters, a character of many bytes, and one more so that a mark of three bytes is added.
            let name =
                String(repeating: "a", count: 15) + "e"
                + String(repeating: "\u{301}", count: (bytes - 16) / 2)
            for name in [name + "z", name.replacing("a", with: "å", maxReplacements: 1) + "z"] {
                let element = ForwardElement(
                    sender: .member(Fixture.owner, name: name), timestamp: 1, inner: Fixture.hiJSON)
                guard case .member(_, let cut) = try ForwardElement(element.bytes).sender else {
                    Issue.record("a member's")
                    return
                }
                #expect(cut.utf8.count <= 255)
            }
        }
    }

    @Test("a forwarded name of 16 characters stays, a longer one is cut and marked")
    func names() {
        func forwarded(_ name: String) -> ForwardElement.Sender {
            ForwardElement(sender: .member(Fixture.owner, name: name), timestamp: 0, inner: Fixture.hiJSON)
                .sender
        }
        #expect(forwarded(Self.name) == .member(Fixture.owner, name: Self.name))
        #expect(forwarded(Self.name + "x") == .member(Fixture.owner, name: Self.name + "…"))
        let family = String(repeating: "👨‍👩‍👧‍👦", count: 16)
        guard case .member(_, let cut) = forwarded(family) else {
            Issue.record("not a member")
            return
        }
        #expect(cut.utf8.count <= 255 && family.hasPrefix(cut))
    }
}

@Suite("Roster")
struct RosterTests {
    private func roster(_ count: Int) -> Roster {
        Roster(
            entries: (0..<count).map { index in
                .init(
                    member: MemberID(bytes: [UInt8(index >> 8), UInt8(index & 255)])!, key: Fixture.memberKey,
                    role: .member)
            })
    }

    @Test("a roster decodes whole only")
    func prefixes() throws {
        let blob = Fixture.roster.blob()
        let problems = DecoderVerifier.problems(of: Fixture.roster, bytes: blob, trailing: .refused) {
            bytes throws(WireError) in try Roster(blob: bytes)
        }
        #expect(problems.isEmpty, "\(problems)")
    }

    @Test("256 entries are read, 257 refused")
    func limit() throws {
        let blob = roster(256).blob()
        #expect(try Roster(blob: blob).entries.count == 256)
        var more = blob + roster(1).blob().dropFirst(2)
        (more[0], more[1]) = (1, 1)
        #expect(throws: WireError.tooMany(limit: 256)) { _ = try Roster(blob: more) }
        #expect(throws: WireError.tooLarge(limit: 32_768, have: 32_769)) {
            _ = try Roster(blob: [UInt8](repeating: 0, count: 32_769))
        }
    }

    @Test("owners, observers and repeated members are refused")
    func entries() throws {
        for role in [Role.owner, .observer, .relay, Role(text: "commenter")] {
            let blob = Roster(entries: [.init(member: Fixture.member, key: Fixture.memberKey, role: role)])
                .blob()
            #expect(throws: WireError.self) { _ = try Roster(blob: blob) }
        }
        let twice = Roster(entries: Fixture.roster.entries + Fixture.roster.entries).blob()
        #expect(throws: WireError.self) { _ = try Roster(blob: twice) }
    }

    @Test(
        "a roster travels in chunks, each fit for a batch, and is put together again", arguments: [0, 1, 250])
    func chunks(count: Int) throws {
        let blob = roster(count).blob()
        let header = RosterHeader(
            version: 1, fileSize: Int64(blob.count), fileDigest: Fixture.crypto.sha512(blob))
        let chunks = Roster.chunks(of: blob, message: Fixture.message)
        var assembly = try RosterAssembly(header: header, message: Fixture.message)
        for (index, chunk) in chunks.enumerated() {
            #expect(chunk.bytes.count <= Limits.batchElementMax)
            let result = try assembly.add(chunk, sha512: Fixture.crypto.sha512)
            #expect(result == (index == chunks.count - 1 ? roster(count) : nil))
        }
    }

    @Test("chunks out of order, of another message, too long or with another digest are refused")
    func badChunks() throws {
        let blob = Fixture.roster.blob()
        let digest = Fixture.crypto.sha512(blob)
        let header = RosterHeader(version: 1, fileSize: Int64(blob.count), fileDigest: digest)
        let other = MessageID(bytes: [1])!
        let bad: [(RosterHeader, FileChunk)] = [
            (header, FileChunk(message: other, number: 1, data: blob)),
            (header, FileChunk(message: Fixture.message, number: 2, data: blob)),
            (header, FileChunk(message: Fixture.message, number: 0, data: blob)),
            (header, FileChunk(message: Fixture.message, number: 1, data: blob + [0])),
            (
                RosterHeader(
                    version: 1, fileSize: Int64(blob.count), fileDigest: [UInt8](repeating: 0, count: 64)),
                FileChunk(message: Fixture.message, number: 1, data: blob)
            ),
        ]
        for (header, chunk) in bad {
            var assembly = try RosterAssembly(header: header, message: Fixture.message)
            #expect(throws: WireError.self) { _ = try assembly.add(chunk, sha512: Fixture.crypto.sha512) }
        }
        #expect(throws: WireError.tooLarge(limit: 32_768, have: 32_769)) {
            _ = try RosterAssembly(
                header: RosterHeader(version: 1, fileSize: 32_769, fileDigest: digest),
                message: Fixture.message)
        }
    }
}
