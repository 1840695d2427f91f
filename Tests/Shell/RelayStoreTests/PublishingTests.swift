import ChannelWire
import RelayCore
import Testing

@testable import RelayStore

@Suite("Publishing")
struct PublishingTests {
    let directory: TemporaryDirectory
    let ledger: RelayLedger
    let reader: RelayReader
    let news = TestChannel()

    init() throws {
        directory = try TemporaryDirectory()
        ledger = try RelayLedger(directory: directory.path)
        try ledger.take(news)
        reader = try RelayReader(directory: directory.path)
    }

    private func outline(after: Int64 = 0, maxBytes: Int = 1 << 20) throws -> [String] {
        let page = try #require(try reader.page(news.id, after: after, maxBytes: maxBytes))
        return RelayStoreTests.outline(page.frames)
    }

    @Test("sequences start at 1 and have no hole")
    func sequences() throws {
        let batch = ledger.perform([news.post("a"), news.post("b"), news.post("c")], now: 1000)
        let sequences = batch.notices.compactMap { notice in
            if case .appended(let entry) = notice { entry.sequence } else { nil }
        }
        #expect(sequences == [1, 2, 3])
        #expect(try outline() == ["1", "2", "3"])
    }

    @Test("the entry of a notice is the frame that the reader finds, a batch of one forward element")
    func sameBytes() throws {
        let batch = ledger.perform(news.post("a", text: "hi"), now: 1234)
        guard case .appended(let entry)? = batch.notices.first else { throw TestFailure() }
        #expect(try reader.page(news.id, after: 0, maxBytes: 1000)?.frames == entry.frame)
        var frame = ByteReader(entry.frame)
        #expect(try frame.octet() == 0x24)
        var body = ByteReader(try frame.len16())
        #expect(try body.int64() == 1)
        let elements = try Body.decode(body.tail(), crypto: testCrypto)
        guard elements.count == 1, case .success(.forward(let forward)) = elements[0] else {
            throw TestFailure()
        }
        #expect(forward.timestamp == 1234)
        #expect(forward.sender == .member(news.owner, name: "alice"))
        guard case .publish(let publish) = news.post("a", text: "hi") else { throw TestFailure() }
        #expect(forward.inner == publish.element)
    }

    @Test("the same element again is answered with its first sequence, and stored once")
    func repeated() throws {
        #expect(try ledger.published(news.post("a")) == .stored(sequence: 1))
        #expect(try ledger.published(news.post("b")) == .stored(sequence: 2))
        for _ in 0..<100 { #expect(try ledger.published(news.post("a")) == .repeated(sequence: 1)) }
        #expect(try outline() == ["1", "2"])
    }

    @Test("a repeat inside one batch is a repeat")
    func repeatedInBatch() throws {
        let replies = ledger.perform([news.post("a"), news.post("a")], now: 1).replies
        guard case .published(.stored(1)) = replies[0], case .published(.repeated(1)) = replies[1] else {
            Issue.record("answered \(replies)")
            return
        }
    }

    @Test("other bytes under the same id are error 45")
    func conflict() throws {
        _ = try ledger.published(news.post("a", text: "one"))
        #expect(try ledger.published(news.post("a", text: "two")) == .refused(.messageIDConflict))
    }

    @Test("a deleted message is a gap, its bytes are refused with 49, and its text is gone from the files")
    func deletion() throws {
        let secret = "SECRET-" + String(repeating: "s3cr3t", count: 40)
        _ = try ledger.published(news.post("a", text: secret))
        _ = try ledger.published(
            news.publish(
                "a2", .edit(MessageID(bytes: Array("a".utf8))!, asGroup: false), tag: "x.msg.update",
                body: secret))
        _ = try ledger.published(news.post("b"))
        let id = try #require(MessageID(bytes: Array("a".utf8)))
        let delete = news.publish("c", .delete(id, of: nil), tag: "x.msg.del")
        #expect(try ledger.published(delete) == .stored(sequence: 4))
        #expect(try outline() == ["1-2!erased", "3", "4"])
        #expect(try ledger.published(news.post("a", text: secret)) == .refused(.messageDeleted))
        #expect(try ledger.published(delete) == .repeated(sequence: 4))
        let edit = news.publish("d", .edit(id, asGroup: false), tag: "x.msg.update")
        #expect(try ledger.published(edit) == .refused(.messageDeleted))
        #expect(ledger.wantsMaintenance)
        ledger.maintain()
        #expect(!ledger.wantsMaintenance)
        for (name, bytes) in try directory.content() {
            #expect(!contains(bytes, Array("SECRET-".utf8)), "\(name) still holds the text")
        }
    }

    private func contains(_ bytes: [UInt8], _ part: [UInt8]) -> Bool {
        guard bytes.count >= part.count else { return false }
        return (0...bytes.count - part.count).contains {
            bytes[$0] == part[0] && bytes[$0...].starts(with: part)
        }
    }

    @Test("a message deleted before it came is kept out")
    func deletedBefore() throws {
        let id = try #require(MessageID(bytes: Array("a".utf8)))
        _ = try ledger.published(news.publish("c", .delete(id, of: nil), tag: "x.msg.del"))
        #expect(try ledger.published(news.post("a")) == .refused(.messageDeleted))
    }

    @Test("a message as the channel hides its author only when unsigned")
    func asGroup() throws {
        for (name, signed) in [("a", true), ("b", false)] {
            let batch = ledger.perform(news.post(name, asGroup: true, signed: signed), now: 1)
            guard case .appended(let entry)? = batch.notices.first else { throw TestFailure() }
            let element = Array(entry.frame[15...])
            guard case .forward(let forward) = try Element.decode(element) else { throw TestFailure() }
            #expect((forward.sender == .channel) == !signed)
        }
    }

    @Test("an element beyond the relay's limit is error 46")
    func tooLarge() throws {
        ledger.options.messageBytesMax = 100
        #expect(
            try ledger.published(news.post("a", text: String(repeating: "x", count: 100)))
                == .refused(.messageTooLarge))
        let most = 100 - #"{"event":"x.msg.new","text":""}"#.utf8.count
        #expect(
            try ledger.published(news.post("m", text: String(repeating: "x", count: most + 1)))
                == .refused(.messageTooLarge))
        #expect(
            try ledger.published(news.post("m", text: String(repeating: "x", count: most)))
                == .stored(sequence: 1))
        ledger.options.messageBytesMax = 15_602
        // Fits as an element, but not with the name of its author around it.
        let fill = 15_602 - 36
        #expect(
            try ledger.published(news.post("b", text: String(repeating: "x", count: fill)))
                == .refused(.messageTooLarge))
    }

    @Test("who is not a member, or not any more, publishes nothing")
    func strangers() throws {
        #expect(try ledger.published(news.post("a", by: member("nobody"))) == .refused(.unknownMember))
        _ = try ledger.ask(news.join("bob", seed: 9))
        #expect(try ledger.published(news.post("a", by: member("bob"))) == .refused(.notPermitted))
        let remove = news.publish("r", .remove(member("bob"), eraseMessages: false), tag: "x.grp.mem.del")
        #expect(try ledger.published(remove) == .stored(sequence: 1))
        #expect(try ledger.published(news.post("a", by: member("bob"))) == .refused(.memberRemoved))
        guard case .refused(.memberRemoved) = try ledger.ask(news.attach(member("bob"))) else {
            throw TestFailure()
        }
    }

    @Test("a member who has another name publishes under that from then on")
    func renamed() throws {
        _ = try ledger.published(news.post("a"))
        let rename = news.publish("b", .rename, tag: "x.info", replacement: .displayName("alicia"))
        _ = try ledger.published(rename)
        _ = try ledger.published(news.post("c"))
        let page = try #require(try reader.page(news.id, after: 0, maxBytes: 10_000))
        #expect(try names(page.frames) == ["alice", "alice", "alicia"])
    }

    @Test("of those who published lately few are kept in memory, however many do")
    func authors() throws {
        var most = 0
        for number in 1...3 * MemberTable.authorsMax {
            _ = try ledger.ask(news.join("m\(number)", seed: UInt8(number)))
            let post = news.post("a\(number)", by: member("m\(number)"))
            #expect(try ledger.published(post) == .refused(.notPermitted))
            most = max(most, try ledger.book.find(news.id)?.authors.count ?? 0)
        }
        #expect(most == MemberTable.authorsMax)
    }

    private func names(_ frames: [UInt8]) throws -> [String] {
        var names: [String] = []
        var reader = ByteReader(frames)
        while let type = try? reader.octet() {
            var body = ByteReader(try reader.len16())
            guard type == 0x24, try body.int64() > 0,
                case .success(.forward(let forward))? =
                    try Body.decode(body.tail(), crypto: testCrypto).first,
                case .member(_, let name) = forward.sender
            else { throw TestFailure() }
            names.append(name)
        }
        return names
    }

    @Test("the time of entries never goes back, whatever the clock does")
    func time() throws {
        let batch =
            ledger.perform(news.post("a"), now: 1000).notices
            + ledger.perform(news.post("b"), now: 900).notices
        let times = batch.compactMap { notice in
            if case .appended(let entry) = notice { entry.time } else { nil }
        }
        #expect(times == [1000, 1000])
    }

    /// The owner calls the channel otherwise, and wants its messages to be signed.
    private func newerProfile() throws -> LedgerCommand {
        var other = news
        other.title = "newer"
        other.signMessages = true
        let profile = try GroupProfile.decode(json: other.profile)
        return news.publish(
            "p", .changeProfile(id: news.id), tag: "x.grp.info", replacement: .groupProfile(profile))
    }

    @Test("a new profile lasts over a restart, as do the messages of the same batch")
    func profileLasts() throws {
        _ = ledger.perform([news.post("a"), try newerProfile(), news.post("b")], now: 1000)
        ledger.close()
        let again = try RelayLedger(directory: directory.path)
        defer { again.close() }
        #expect(try again.channels().first?.title == "newer")
        #expect(try again.published(news.post("c", signed: false)) == .refused(.signatureRequired))
        #expect(try again.published(news.post("c")) == .stored(sequence: 4))
        #expect(try again.check() == [])
    }

    @Test("a new profile is kept, and its preference for signatures holds at once")
    func profile() throws {
        #expect(try ledger.published(newerProfile()) == .stored(sequence: 1))
        #expect(try ledger.channels().first?.title == "newer")
        #expect(try ledger.channels().first?.name == "news")
        #expect(try ledger.published(news.post("a", signed: false)) == .refused(.signatureRequired))
        #expect(try ledger.published(news.post("b", signed: true)) == .stored(sequence: 2))
        let loose = news.publish(
            "q", .changePreferences, tag: "x.grp.prefs",
            replacement: .preferences(GroupPreferences(signMessages: .off)))
        #expect(try ledger.published(loose) == .stored(sequence: 3))
        #expect(try ledger.published(news.post("c", signed: false)) == .stored(sequence: 4))
    }
}
