import ChannelWire
import Foundation
import Testing

/// docs/protocol/vectors.md against our code. `UPDATE_GOLDEN=1` rewrites its blocks; the change is to be reviewed.
@Suite("docs/protocol/vectors.md", .serialized)
struct VectorFileTests {
    private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("../../../docs/protocol").standardizedFileURL
    private static let path = folder.appendingPathComponent("vectors.md").path

    /// Value by name, with lines that were wrapped put together again.
    private func parse(_ text: String) throws -> [String: String] {
        var values: [String: String] = [:]
        var name: String?
        var isInBlock = false
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix("```") {
                isInBlock.toggle()
                name = nil
            } else if isInBlock, line.hasPrefix("  "), let name {
                values[name]?.append(contentsOf: line.dropFirst(2))
            } else if isInBlock, !line.hasPrefix("#") {
                let parts = line.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false)
                try #require(parts.count == 3 && parts[1] == "=", "a line is `name = value`: \(line)")
                name = String(parts[0])
                try #require(values[String(parts[0])] == nil, "\(parts[0]) stands there twice")
                values[String(parts[0])] = String(parts[2])
            }
        }
        return values
    }

    /// The text with the entries of each `## Title` in the block that follows it.
    private func updated(_ text: String) -> String {
        var out: [String] = []
        var title = ""
        var isInBlock = false
        for line in text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init) {
            if line.hasPrefix("## ") { title = String(line.dropFirst(3)) }
            if line.hasPrefix("```") {
                out.append(line)
                isInBlock.toggle()
                if isInBlock { out += (VectorFile.sections[title] ?? []).flatMap(lines) }
            } else if !isInBlock {
                out.append(line)
            }
        }
        return out.joined(separator: "\n")
    }
    private func lines(_ entry: VectorFile.Entry) -> [String] {
        var lines: [String] = []
        if let comment = entry.comment, !comment.isEmpty { lines.append("# \(comment)") }
        var rest = Substring("\(entry.name) = \(entry.value)")
        lines.append(String(rest.prefix(110)))
        rest = rest.dropFirst(110)
        while !rest.isEmpty {
            lines.append("  " + rest.prefix(108))
            rest = rest.dropFirst(108)
        }
        return lines
    }

    @Test("every vector of the text is what our code makes, and none is missing")
    func compare() throws {
        if ProcessInfo.processInfo.environment["UPDATE_GOLDEN"] == "1" {
            let old = try String(contentsOfFile: Self.path, encoding: .utf8)
            try updated(old).write(toFile: Self.path, atomically: true, encoding: .utf8)
        }
        let values = try parse(try String(contentsOfFile: Self.path, encoding: .utf8))
        let entries = VectorFile.sections.values.flatMap { $0 }
        #expect(values.count == entries.count)
        for entry in entries { #expect(values[entry.name] == entry.value, "\(entry.name)") }
    }

    @Test("what the text gives in bytes is read back by our decoders")
    func decode() throws {
        let values = try parse(try String(contentsOfFile: Self.path, encoding: .utf8))
        func bytes(_ name: String) throws -> [UInt8] {
            let value = try #require(values[name])
            return try #require(unhex(value))
        }
        for example in VectorFile.frameExamples {
            let frame = try bytes("frame.\(example.name)")
            #expect(try Frame.decode(type: frame[0], body: Array(frame.dropFirst(3))) == example.frame)
        }
        let record = try VectorFileTests.verified(try bytes("record"))
        #expect(record.content == Fixture.content)
        let batch = try Body.decode(try bytes("batch"), crypto: Fixture.crypto)
        #expect(batch.count == 2)
        guard case .forward(let first) = try batch[0].get(),
            case .signed(let signed) = try Element.decode(first.inner)
        else {
            Issue.record("the batch begins with a forwarded signed element")
            return
        }
        #expect(signed.bytes == (try bytes("signed.element")))
        let body = try Body.decode(try bytes("roster.body"), crypto: Fixture.crypto)
        guard case .signed(let header) = try body[0].get(), case .fileChunk(let chunk) = try body[1].get(),
            case .roster(let announced) = try Event.decode(json: header.json).params
        else {
            Issue.record("the roster is a signed header and a chunk")
            return
        }
        var assembly = try RosterAssembly(header: announced, message: chunk.message)
        #expect(try assembly.add(chunk, sha512: Fixture.crypto.sha512) == Fixture.roster)
        let large = try CompressedBody.decode(
            try bytes("compressed.zstd"), decompress: Fixture.crypto.decompress)
        #expect(large == [[UInt8](repeating: 0x61, count: 400)])
    }

    @Test("the records, proofs and frames that the independent client made are read, and made again")
    func independentClient() throws {
        let page = Self.folder.appendingPathComponent("link-vectors.md").path
        let values = try parse(try String(contentsOfFile: page, encoding: .utf8))
        func bytes(_ name: String) throws -> [UInt8] {
            let value = try #require(values[name])
            return try #require(unhex(value))
        }
        for (name, signer, pair) in [
            ("record-by-root", nil, Fixture.rootPair), ("record-by-owner", Fixture.owner, Fixture.ownerPair),
        ] {
            let record = try Self.verified(try bytes(name))
            #expect(record.version == 7)
            let again = ChannelRecord.make(record.content, signer: signer, sign: Fixture.sign(pair))
            #expect(again?.bytes == record.bytes)
        }
        for suite in ["chachapoly", "aesgcm"] {
            let hash = try bytes("\(suite).h")
            for (name, proof) in [("control-proof", ProofOfKey.control), ("attach-proof", ProofOfKey.attach)]
            {
                let input = proof.input(handshakeHash: hash, channel: Fixture.channel, member: Fixture.owner)
                #expect(Fixture.sign(Fixture.ownerPair)(input).bytes == (try bytes("\(suite).\(name)")))
            }
        }
        #expect(try bytes("frame-ping") == Frame.ping(Array("12345678".utf8)).encode())
        #expect(
            try bytes("frame-record-get").dropFirst(7) == Fixture.channel.bytes[...])
    }

    private static func verified(_ bytes: [UInt8]) throws -> VerifiedRecord {
        try VerifiedRecord(bytes, expected: Fixture.channel, crypto: Fixture.crypto)
    }
}
