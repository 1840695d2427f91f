import ChannelClient
import PosixKit
import SQLiteKit
import Testing

extension TestRelay {
    /// Starts the relay anew and changes what it has stored, as a dishonest operator could who knows that it
    /// looks at its rows when it starts.
    func tamper(_ change: (Database) throws -> Void) throws {
        stop()
        try start()
        let database = try Database(path: directory + "/state/relay.db", mode: .readWrite)
        try change(database)
        database.close()
    }

    /// The port that stands in the name readers know this relay by.
    var port: String { address.split(separator: "=").last.map(String.init) ?? "" }
}

@Suite("A relay that lies is named", .serialized)
struct LiarTests {
    static func disagreement(_ event: ClientEvent) -> RelayDisagreement? {
        if case .relayDisagreement(let disagreement) = event { disagreement } else { nil }
    }

    /// A channel on two relays with three messages, and a link to it.
    static func setUp(signMessages: Bool) async throws -> (relays: [TestRelay], link: String, ids: [String]) {
        let relays = [try TestRelay(), try TestRelay()]
        let alice = try await Person("alice")
        let creation = try await alice.create("news", on: relays, signMessages: signMessages)
        var ids: [String] = []
        for text in ["first", "hello", "third"] {
            ids.append(try await alice.client.publish(text, to: "news", minimumRelays: 2).messageID)
        }
        return (relays, creation.link, ids)
    }

    static func swapText(_ database: Database) throws {
        let frames = try database.query("SELECT entry, frame FROM log") { ($0.int64(0), $0.blob(1)) }
        for (entry, frame) in frames {
            guard let at = frame.firstRange(of: Array("hello".utf8))?.lowerBound else { continue }
            var changed = frame
            changed[at] = UInt8(ascii: "j")
            try database.run("UPDATE log SET frame = ? WHERE entry = ?", [.blob(changed), .integer(entry)])
        }
    }

    @Test("who changes a signed message is named, and the reader has the true one from the other relay")
    func alteredSigned() async throws {
        let (relays, link, _) = try await Self.setUp(signMessages: true)
        try relays[0].tamper(Self.swapText)
        let bob = try await Person("bob")
        let events = bob.client.events
        _ = try await bob.client.join(link: link)
        let found = try await events.first { Self.disagreement($0) }
        #expect(found.kind == .unverifiable && found.relay.hasSuffix(relays[0].port))
        let messages = try await bob.client.messages(in: "news")
        let texts = messages.map(\.text).sorted()
        #expect(texts == ["first", "hello", "third"])
        let hello = try #require(messages.first { $0.text == "hello" })
        #expect(hello.relays.allSatisfy { $0.hasSuffix(relays[1].port) })
    }

    @Test("where nothing is signed, two relays that deliver different bytes are reported with their names")
    func alteredUnsigned() async throws {
        let (relays, link, ids) = try await Self.setUp(signMessages: false)
        try relays[0].tamper(Self.swapText)
        let bob = try await Person("bob")
        let events = bob.client.events
        _ = try await bob.client.join(link: link)
        let found = try await events.first { Self.disagreement($0) }
        #expect(found.kind == .altered && found.messageID == ids[1])
        let named = Set([found.relay] + found.comparedWith)
        #expect(named.count == 2)
        for relay in relays { #expect(named.contains { $0.hasSuffix(relay.port) }) }
        #expect(try await bob.client.messages(in: "news").count == 3)
    }

    @Test("one relay that delivers other bytes under an id is named, however often, and the first stay")
    func contradictsItself() async throws {
        let (relays, link, ids) = try await Self.setUp(signMessages: false)
        // Both tell the same, so only each with itself can be compared.
        for relay in relays {
            try relay.tamper { database in
                let row = try #require(
                    try database.query(
                        "SELECT channel, frame FROM log WHERE tag = 'x.msg.new' ORDER BY entry"
                    ) { ($0.int64(0), $0.blob(1)) }.dropFirst().first)
                let at = try #require(row.1.firstRange(of: Array("hello".utf8))?.lowerBound)
                for (count, letter) in "jy".utf8.enumerated() {
                    let sequence = try #require(
                        try database.query("SELECT log_head + 1 FROM counters") { $0.int64(0) }.first)
                    var frame = row.1
                    frame[at] = letter
                    frame.replaceSubrange(
                        3..<11, with: (0..<8).map { UInt8(truncatingIfNeeded: sequence >> (56 - 8 * $0)) })
                    try database.run(
                        "INSERT INTO log (channel, sequence, time, author, message_id, tag, digest, frame) "
                            + "SELECT channel, ?, time, author, ?, tag, ?, ? FROM log "
                            + "WHERE tag = 'x.msg.new' ORDER BY entry LIMIT 1",
                        [
                            .integer(sequence), .blob([UInt8(count)]),
                            .blob([UInt8](repeating: letter, count: 32)), .blob(frame),
                        ])
                    try database.run(
                        "UPDATE counters SET log_head = ?, log_count = log_count + 1, log_bytes = log_bytes + ?",
                        [.integer(sequence), .integer(Int64(frame.count))])
                }
            }
        }
        let bob = try await Person("bob")
        let events = bob.client.events
        _ = try await bob.client.join(link: link)
        var named: Set<String> = []
        while named.count < 2 {
            let found = try await events.first { Self.disagreement($0) }
            #expect(found.kind == .altered && found.messageID == ids[1] && found.comparedWith.isEmpty)
            #expect(named.insert(found.relay).inserted, "what is found of one message is told once")
        }
        let texts = try await bob.client.messages(in: "news").map(\.text)
        #expect(texts == ["first", "hello", "third"])
    }

    @Test("who withholds a message that the other delivers is named, also when it claims a deletion")
    func withheld() async throws {
        let (relays, link, ids) = try await Self.setUp(signMessages: true)
        try relays[0].tamper { database in
            try database.run(
                "DELETE FROM log WHERE sequence = (SELECT max(sequence) - 1 FROM log WHERE tag = 'x.msg.new')"
            )
        }
        let bob = try await Person("bob", background: .always)
        let events = bob.client.events
        _ = try await bob.client.join(link: link)
        let found = try await events.first { Self.disagreement($0) }
        #expect(found.kind == .withheld && found.messageID == ids[1])
        #expect(found.relay.hasSuffix(relays[0].port))
        #expect(found.comparedWith.count == 1 && found.comparedWith[0].hasSuffix(relays[1].port))
    }

    @Test("what was really deleted is missing at both, and nobody is accused")
    func honestDeletion() async throws {
        let relays = [try TestRelay(), try TestRelay()]
        let alice = try await Person("alice")
        let creation = try await alice.create("news", on: relays)
        var ids: [String] = []
        for text in ["first", "hello", "third"] {
            ids.append(try await alice.client.publish(text, to: "news", minimumRelays: 2).messageID)
        }
        _ = try await alice.client.deleteMessage(ids[1], in: "news", minimumRelays: 2)
        let bob = try await Person("bob", background: .always)
        _ = try await bob.client.join(link: creation.link)
        let stream = bob.client.follow("news", since: .beginning)
        _ = try await alice.client.publish("fourth", to: "news", minimumRelays: 2)
        let items = try await stream.items(until: { $0.line == "message fourth" })
        #expect(!items.contains { if case .disagreement = $0.kind { true } else { false } })
        #expect(try await bob.client.messages(in: "news").map(\.text) == ["first", "third", "fourth"])
    }
}
