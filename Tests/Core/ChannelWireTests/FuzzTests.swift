import ChannelWire
import TestKit
import Testing

#if canImport(Glibc)
    import Glibc
#endif

/// Damaged bytes: nothing traps, and what still decodes keeps the properties that the rest relies on.
@Suite("Mutated bytes from a peer")
struct FuzzTests {
    /// `SEED` repeats a run; `ROUNDS` makes it longer.
    private static func number(_ name: String) -> UInt64? {
        unsafe getenv(name).flatMap { UInt64(unsafe String(cString: $0)) }
    }
    private static let seed = number("SEED") ?? UInt64.random(in: 0...UInt64.max)
    private static let rounds = Int(number("ROUNDS") ?? 4_000)

    private func run(_ name: String, _ corpus: [[UInt8]], _ check: ([UInt8]) throws -> Void) rethrows {
        print("\(name): SEED=\(Self.seed)")
        var random = SeededRandom(seed: Self.seed)
        for round in 0..<Self.rounds {
            try check(Mutation.apply(to: corpus[round % corpus.count], using: &random))
        }
    }

    static let elements: [[UInt8]] = [
        Fixture.hiJSON, Fixture.signed(Fixture.roleChangeJSON), ElementTests.forward.bytes,
        ForwardElement(sender: .channel, timestamp: 1, inner: Fixture.signed(Fixture.hiJSON)).bytes,
        FileChunk(message: Fixture.message, number: 1, data: Fixture.roster.blob()).bytes,
    ]

    @Test("bodies: elements keep the bytes they came in")
    func bodies() {
        let array = Array(("[" + String(decoding: Fixture.hiJSON, as: UTF8.self) + ",{}]").utf8)
        let batch = Body.encodeBatch(Self.elements)
        let corpus =
            Self.elements + [
                batch, array, CompressedBody.encode(batch, compress: Fixture.crypto.compress),
                CompressedBody.encode(array, compress: Fixture.crypto.compress),
            ]
        run("Body", corpus) { bytes in
            guard let results = try? Body.decode(bytes, crypto: Fixture.crypto) else { return }
            #expect(1...Limits.batchCountMax ~= results.count)
            for case .success(let element) in results {
                #expect((try? Element.decode(element.bytes)) == element)
                if let json = element.json { _ = try? Event.decode(json: json) }
            }
        }
    }

    @Test("frames: what decodes is encoded and decoded to the same")
    func frames() throws {
        let corpus = FrameTests.examples.map { $0.frame.encode() }
        run("Frame", corpus) { bytes in
            guard bytes.count >= 3 else { return }
            guard let frame = try? Frame.decode(type: bytes[0], body: Array(bytes.dropFirst(3))) else {
                return
            }
            // Our own writer holds itself to less than a reader takes.
            if case .members(let page) = frame, page.rows.count > Limits.membersPageMax { return }
            let again = frame.encode()
            let twice = try? Frame.decode(type: again[0], body: Array(again.dropFirst(3)))
            if case .error = frame { return }
            #expect(twice == frame)
        }
    }

    @Test("records: what is verified is one of those that were signed")
    func records() {
        let record = Fixture.record().bytes
        run("ChannelRecord", [record]) { bytes in
            guard let decoded = try? ChannelRecord.decode(bytes) else { return }
            #expect(decoded.bytes == bytes)
            if let verified = try? VerifiedRecord(bytes, expected: nil, crypto: Fixture.crypto) {
                #expect(verified.bytes == record)
            }
        }
    }

    @Test("events: what decodes is encoded and decoded to the same")
    func events() {
        run("Event", EventExamples.all.map { Array($0.json.utf8) }) { bytes in
            guard let event = try? Event.decode(json: bytes) else { return }
            // Escapes can make the text longer than the limit; these inputs are far from it.
            #expect((try? Event.decode(json: event.encode())) == event)
        }
    }

    @Test("links: what is read is written and read to the same")
    func links() {
        run("AntennaLink", LinkTests.links.flatMap { [Array($0.https.utf8), Array($0.antenna.utf8)] }) {
            bytes in
            guard let link = try? AntennaLink.parse(String(decoding: bytes, as: UTF8.self)) else { return }
            #expect((try? AntennaLink.parse(link.text())) == link)
            #expect((try? AntennaLink.parse(link.text(.antenna))) == link)
        }
    }

    @Test("rosters: what is read is written the same")
    func rosters() {
        run("Roster", [Fixture.roster.blob()]) { bytes in
            guard let roster = try? Roster(blob: bytes) else { return }
            #expect((try? Roster(blob: roster.blob())) == roster)
        }
    }
}
