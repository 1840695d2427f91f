import ClientCore
import ClientStore
import PosixKit
import SQLiteKit
import SodiumCrypto
import Testing

@Suite("The client's home")
struct HomeTests {
    @Test("a fresh home has mode 0700 and its files 0600")
    func modes() throws {
        let home = try TemporaryHome()
        defer { home.remove() }
        let store = try home.open()
        try store.setProfileName("alice")
        #expect(Posix.status(home.path)?.mode == 0o700)
        for name in try Posix.list(home.path) {
            #expect(Posix.status(home.path + "/" + name)?.mode == 0o600, "\(name)")
        }
    }

    @Test(
        "what was replaced or removed while it is open is not written to any more",
        arguments: ["client.db", "client.db-wal"], [true, false])
    func replaced(name: String, isRemoved: Bool) throws {
        let home = try TemporaryHome()
        defer { home.remove() }
        let store = try home.open()
        try store.setProfileName("alice")
        let path = home.path + "/" + name
        if isRemoved {
            try Posix.removeFile(path)
        } else {
            try Posix.writeFileAtomically(path, try Posix.readFile(path), mode: 0o600)
        }
        let error = ClientStoreError.notWritable(
            "\(home.path)/client.db was replaced or removed while this program used it")
        #expect(throws: error) { try store.setProfileName("bob") }
        #expect(throws: error) { try store.write { () throws(ClientStoreError) in } }
        #expect(try store.profileName() == "alice")
        store.close()
    }

    @Test("another program's database is foreign and is left as it is")
    func foreign() throws {
        let home = try TemporaryHome()
        defer { home.remove() }
        try Posix.createDirectory(home.path)
        let other = try Database(path: home.path + "/client.db", mode: .create)
        try other.execute("CREATE TABLE theirs (x INTEGER)")
        other.close()
        #expect(throws: ClientStoreError.foreign("\(home.path)/client.db belongs to another program")) {
            _ = try home.open()
        }
        let again = try Database(path: home.path + "/client.db", mode: .readOnly)
        #expect(try again.query("SELECT name FROM sqlite_schema") { $0.text(0) } == ["theirs"])
    }

    @Test("a file that is no database is foreign")
    func noDatabase() throws {
        let home = try TemporaryHome()
        defer { home.remove() }
        try Posix.createDirectory(home.path)
        try Posix.writeFileAtomically(home.path + "/client.db", Array(repeating: 65, count: 5000))
        #expect(throws: ClientStoreError.foreign("the file is not a database")) { _ = try home.open() }
    }

    @Test("a newer version's database is refused")
    func tooNew() throws {
        let home = try TemporaryHome()
        defer { home.remove() }
        try home.open().close()
        let database = try Database(path: home.path + "/client.db", mode: .readWrite)
        try database.setUserVersion(99)
        database.close()
        #expect(throws: ClientStoreError.tooNew(found: 99, known: 1)) { _ = try home.open() }
    }

    @Test("a database whose pages are overwritten is corrupt")
    func corrupt() throws {
        let home = try TemporaryHome()
        defer { home.remove() }
        let store = try home.open()
        _ = try store.makeChannel()
        store.close()
        let path = home.path + "/client.db"
        var content = try Posix.readFile(path)
        for index in 100..<content.count { content[index] = 0xA5 }
        try Posix.writeFileAtomically(path, content)
        #expect {
            _ = try home.open().channels()
        } throws: { error in
            if case ClientStoreError.corrupt = error { true } else { false }
        }
    }

    @Test(
        "a row that cannot be is told as damage, in words",
        arguments: [
            "UPDATE profile SET display_name = ''",
            "UPDATE profile SET display_name = replace(hex(zeroblob(200)), '0', 'x')",
            "UPDATE relay SET identity = x''", "UPDATE relay SET name = ''",
            "UPDATE channel SET channel_id = x'07'", "UPDATE channel SET member_id = x''",
            "UPDATE channel SET member_id = zeroblob(256)", "UPDATE channel SET state = 'gone'",
            "UPDATE channel SET record_version = -1", "UPDATE channel SET member_secret = x''",
            "UPDATE channel SET local_name = ''", "UPDATE channel SET role = ''",
            "UPDATE channel SET member_name = hex(zeroblob(200))",
            "UPDATE channel_relay SET identity = x'0102'", "UPDATE channel_relay SET member_id = x''",
            "UPDATE channel_relay SET relay_key = x'00'", "UPDATE channel_relay SET joined = 7",
            "UPDATE channel_relay SET name = ''", "UPDATE channel_relay SET stored_version = -1",
            "UPDATE log_cursor SET position = -1", "UPDATE log_cursor SET epoch = zeroblob(300)",
        ])
    func rowsThatCannotBe(change: String) throws {
        let home = try TemporaryHome()
        defer { home.remove() }
        let store = try home.open()
        try store.setProfileName("alice")
        _ = try store.addRelay(
            StoredRelay(name: "r", address: "https://127.0.0.1/r#x", identity: bytes(1), addedAt: 1))
        let relay = try store.makeRelay(try store.makeChannel(), 2)
        try store.setCursor(DeliveryCursor(epoch: bytes(1, 8), position: 4), of: relay.id)
        store.close()
        let again = try home.open()
        again.close()
        let database = try Database(path: home.path + "/client.db", mode: .readWrite)
        try database.setPragma("ignore_check_constraints", to: 1)
        try #require(try database.run(change) > 0)
        database.close()
        #expect {
            _ = try home.open()
        } throws: { error in
            if case ClientStoreError.corrupt = error { true } else { false }
        }
    }

    @Test("a home below something that is no directory cannot be created")
    func notWritable() throws {
        let home = try TemporaryHome()
        defer { home.remove() }
        try Posix.createDirectory(home.path)
        try Posix.writeFileAtomically(home.path + "/file", [])
        #expect {
            _ = try ClientStore(home: home.path + "/file/home")
        } throws: { error in
            if case ClientStoreError.notWritable = error { true } else { false }
        }
    }

    @Test("while another process holds the write lock, a change is refused as busy and undone")
    func busy() throws {
        let home = try TemporaryHome()
        defer { home.remove() }
        let store = try home.open()
        let other = try Database(path: home.path + "/client.db", mode: .readWrite)
        try other.begin()
        #expect(throws: ClientStoreError.busy) { try store.setProfileName("alice") }
        other.rollback()
        try store.setProfileName("alice")
        #expect(try store.profileName() == "alice")
    }

    @Test("what a failed transaction did is undone")
    func undone() throws {
        let home = try TemporaryHome()
        defer { home.remove() }
        let store = try home.open()
        #expect(throws: ClientStoreError.busy) {
            try store.write { () throws(ClientStoreError) in
                try store.setProfileName("alice")
                throw ClientStoreError.busy
            }
        }
        #expect(try store.profileName() == nil)
    }

    @Test("the schema is the golden one; UPDATE_GOLDEN=1 writes it")
    func golden() throws {
        let home = try TemporaryHome()
        defer { home.remove() }
        let dump = try home.open().schemaDump()
        let path = Posix.directory(of: #filePath) + "/../../Golden/client-schema.sql"
        if Posix.environment("UPDATE_GOLDEN") == "1" {
            try Posix.writeFileAtomically(path, Array(dump.utf8), mode: 0o644)
        }
        #expect(String(decoding: try Posix.readFile(path), as: UTF8.self) == dump)
    }
}

@Suite("Channels and relays in the store")
struct StoredChannelTests {
    @Test("a second channel of the same name gets the suffix _1, a third _2")
    func suffixes() throws {
        let home = try TemporaryHome()
        defer { home.remove() }
        let store = try home.open()
        let names = try (1...3).map { try store.makeChannel(UInt8($0)).localName }
        #expect(names == ["news", "news_1", "news_2"])
    }

    @Test("the same channel is not stored twice")
    func sameChannel() throws {
        let home = try TemporaryHome()
        defer { home.remove() }
        let store = try home.open()
        _ = try store.makeChannel(1)
        let again = try store.insertChannel(
            channelID: bytes(1), displayName: "other", role: "observer", rootSecret: nil, memberID: [1],
            memberName: "bob", memberSecret: SecretBytes(bytes(1)), record: [], recordVersion: 0, now: 1)
        #expect(again == nil)
    }

    @Test("secrets survive a restart")
    func secrets() throws {
        let home = try TemporaryHome()
        defer { home.remove() }
        let made = try home.open().makeChannel(7)
        let found = try #require(try home.open().channel(id: made.id))
        #expect(found.rootSecret?.copied() == bytes(7))
        #expect(found.memberSecret.copied() == bytes(7))
    }

    @Test("a listed relay cannot be listed again, whatever its status", arguments: OwnerRelay.Status.allCases)
    func listed(status: OwnerRelay.Status) throws {
        let home = try TemporaryHome()
        defer { home.remove() }
        let store = try home.open()
        let channel = try store.makeChannel()
        _ = try store.makeRelay(channel, 2, status: status)
        let again = try store.insertChannelRelay(
            channel: channel.id, name: "other name", memberID: bytes(9, 16), identity: bytes(2),
            address: "other",
            now: 1)
        #expect(again == nil)
    }

    @Test("every change of a status is in the history, with its time")
    func history() throws {
        let home = try TemporaryHome()
        defer { home.remove() }
        let store = try home.open()
        let relay = try store.makeRelay(try store.makeChannel(), 2, status: .new)
        _ = try store.changeRelay(relay.id, now: 101) { $0.invitationSent() }
        let changed = try store.changeRelay(relay.id, now: 102) { $0.rejectReceived(reason: "no room") }
        #expect(changed?.changed?.relay.status == .rejected)
        #expect(changed?.changed?.since == 102)
        let unchanged = try store.changeRelay(relay.id, now: 103) { $0.acceptReceived(matches: true) }
        #expect(unchanged?.changed == nil)
        let history = try store.relayHistory(relay.id)
        #expect(history.map(\.status) == [.new, .invited, .rejected])
        #expect(history.map(\.at) == [100, 101, 102])
        #expect(history.last?.reason == "no room")
    }

    @Test("two processes that publish records never use one version twice")
    func recordVersions() throws {
        let home = try TemporaryHome()
        defer { home.remove() }
        let (one, two) = (try home.open(), try home.open())
        let channel = try one.makeChannel()
        var versions: [Int64] = []
        for store in [one, two, two, one] {
            let made = try store.nextRecord(channel.id) { _, _, version in [UInt8(version)] }
            versions.append(try #require(made).version)
        }
        #expect(versions == [2, 3, 4, 5])
        #expect(try one.channel(id: channel.id)?.record == [5])
    }

    @Test("an older record never replaces a newer one")
    func olderRecord() throws {
        let home = try TemporaryHome()
        defer { home.remove() }
        let store = try home.open()
        let channel = try store.makeChannel()
        #expect(try store.storeRecord(channel.id, version: 5, bytes: [5]))
        #expect(try !store.storeRecord(channel.id, version: 4, bytes: [4]))
        #expect(try !store.storeRecord(channel.id, version: 5, bytes: [9]))
        #expect(try store.channel(id: channel.id)?.record == [5])
    }

    @Test("a position only rises within an epoch, and follows another epoch anywhere")
    func cursors() throws {
        let home = try TemporaryHome()
        defer { home.remove() }
        let store = try home.open()
        let relay = try store.makeRelay(try store.makeChannel(), 2)
        try store.setCursor(DeliveryCursor(epoch: [1], position: 10), of: relay.id)
        try store.setCursor(DeliveryCursor(epoch: [1], position: 7), of: relay.id)
        #expect(try store.cursor(of: relay.id) == DeliveryCursor(epoch: [1], position: 10))
        try store.setCursor(DeliveryCursor(epoch: [2], position: 3), of: relay.id)
        #expect(try store.cursor(of: relay.id) == DeliveryCursor(epoch: [2], position: 3))
    }

    @Test("a member's key, once known, stays")
    func memberKey() throws {
        let home = try TemporaryHome()
        defer { home.remove() }
        let store = try home.open()
        let channel = try store.makeChannel()
        func member(_ key: [UInt8]?) -> StoredMember {
            StoredMember(
                memberID: [5], name: "eve", role: "member", status: "connected", publicKey: key, joinedAt: nil
            )
        }
        try store.upsertMember(member(bytes(1)), of: channel.id)
        try store.upsertMember(member(bytes(2)), of: channel.id)
        #expect(try store.member([5], of: channel.id)?.publicKey == bytes(1))
    }
}

@Suite("Messages and the outbox in the store")
struct StoredMessageTests {
    @Test("an element is stored once, and the second time answers with the first one's digest")
    func once() throws {
        let home = try TemporaryHome()
        defer { home.remove() }
        let store = try home.open()
        let channel = try store.makeChannel()
        let id = try store.makeEvent(channel, 3)
        let again = try store.insertEvent(
            NewEvent(
                author: bytes(1, 16), messageID: bytes(3, 16), tag: "x.msg.new", time: 9,
                signature: "verified",
                own: false, digest: bytes(99), target: nil, element: [99]), channel: channel.id)
        #expect(again == .known(id, digest: bytes(3)))
    }

    @Test("pages go backwards by time and miss nothing where times are equal")
    func pages() throws {
        let home = try TemporaryHome()
        defer { home.remove() }
        let store = try home.open()
        let channel = try store.makeChannel()
        for n: UInt8 in 1...10 {
            let event = try store.makeEvent(channel, n)
            try store.insertMessage(
                event: event, channel: channel.id, author: bytes(1, 16), messageID: bytes(n, 16),
                authorName: "alice",
                asGroup: false, time: Int64(n / 4), contentType: "text", text: "\(n)", signature: "verified")
        }
        var pages: [[String]] = []
        var before: StoredMessage?
        while true {
            let page = try store.messages(in: channel.id, before: before, limit: 4)
            guard let first = page.first else { break }
            pages.append(page.map(\.text))
            before = first
        }
        #expect(pages == [["7", "8", "9", "10"], ["3", "4", "5", "6"], ["1", "2"]])
    }

    @Test("an erased message leaves no bytes, neither of itself nor of its edits")
    func erased() throws {
        let home = try TemporaryHome()
        defer { home.remove() }
        let store = try home.open()
        let channel = try store.makeChannel()
        let event = try store.makeEvent(channel, 3)
        try store.insertMessage(
            event: event, channel: channel.id, author: bytes(1, 16), messageID: bytes(3, 16),
            authorName: "alice",
            asGroup: false, time: 1, contentType: "text", text: "secret", signature: "verified")
        _ = try store.makeEvent(channel, 4, tag: "x.msg.update", target: bytes(3, 16))
        #expect(try store.eraseMessage(event: event))
        #expect(try !store.eraseMessage(event: event))
        #expect(try store.message(event: event)?.text == "")
        #expect(try store.message(event: event)?.deleted == true)
        #expect(try store.events(targeting: bytes(3, 16), in: channel.id).allSatisfy { $0.element.isEmpty })
        #expect(try !store.editMessage(event: event, contentType: "text", text: "back"))
    }

    @Test("an outbox row goes from pending to accepted once, and others wait in order")
    func outbox() throws {
        let home = try TemporaryHome()
        defer { home.remove() }
        let store = try home.open()
        let channel = try store.makeChannel()
        let relay = try store.makeRelay(channel, 2)
        let events = try (1...3).map { try store.makeEvent(channel, UInt8($0)) }
        for event in events {
            try store.enqueue(event: event, relay: relay.id, now: 5)
            try store.enqueue(event: event, relay: relay.id, now: 6)
        }
        #expect(try store.pendingRows(relay: relay.id, limit: 10).map(\.event) == events)
        try store.changeOutbox(event: events[0], relay: relay.id) {
            $0.sent()
            $0.acknowledged(sequence: 40)
        }
        try store.changeOutbox(event: events[1], relay: relay.id) {
            $0.refused(
                code: 43, name: "not-permitted", retry: .no, backoffMilliseconds: 0, nowMilliseconds: 0)
        }
        #expect(try store.pendingRows(relay: relay.id, limit: 10).map(\.event) == [events[2]])
        #expect(try store.openOutboxRows().map(\.event) == [events[1], events[2]])
        #expect(try store.outboxRows(event: events[0]).map(\.entry.state) == [.accepted(sequence: 40)])
        #expect(try store.isPending(messageID: bytes(3, 16), relay: relay.id))
        #expect(try !store.isPending(messageID: bytes(1, 16), relay: relay.id))
        #expect(try store.discardOutbox(event: events[1], pendingToo: false) == 1)
        #expect(try store.discardOutbox(event: events[2], pendingToo: false) == 0)
    }

    @Test("what is erased is a message with its changes, and nothing else")
    func whatIsErased() throws {
        let home = try TemporaryHome()
        defer { home.remove() }
        let store = try home.open()
        let channel = try store.makeChannel()
        for n: UInt8 in [3, 4] {
            let event = try store.makeEvent(channel, n)
            try store.insertMessage(
                event: event, channel: channel.id, author: bytes(1, 16), messageID: bytes(n, 16),
                authorName: "alice", asGroup: false, time: 3, contentType: "text", text: "\(n)",
                signature: "verified")
            _ = try store.makeEvent(channel, n + 10, tag: "x.msg.update", target: bytes(n, 16))
        }
        let gone = try #require(try store.messages(id: bytes(3, 16), in: channel.id).first)
        #expect(try store.eraseMessage(event: gone.event))
        func isErased(_ n: UInt8) throws -> Bool {
            try store.isErased(author: bytes(1, 16), messageID: bytes(n, 16), in: channel.id)
        }
        #expect(try isErased(3) && isErased(13))
        #expect(try !isErased(4) && !isErased(14) && !isErased(99))
    }

    @Test("the bytes of an erased message wait for the relays that do not have it, and then go")
    func erasedWhilePending() throws {
        let home = try TemporaryHome()
        defer { home.remove() }
        let store = try home.open()
        let channel = try store.makeChannel()
        let relay = try store.makeRelay(channel, 2)
        let event = try store.makeEvent(channel, 3)
        try store.insertMessage(
            event: event, channel: channel.id, author: bytes(1, 16), messageID: bytes(3, 16),
            authorName: "alice",
            asGroup: false, time: 1, contentType: "text", text: "secret", signature: "verified")
        try store.enqueue(event: event, relay: relay.id, now: 5)
        #expect(try store.eraseMessage(event: event))
        #expect(try store.pendingRows(relay: relay.id, limit: 1).first?.element == [3])
        try store.changeOutbox(event: event, relay: relay.id) { $0.acknowledged(sequence: 1) }
        #expect(try store.outboxRows(event: event).first?.element == [])
    }

    @Test("the journal is read from a position, and from before the last messages")
    func journal() throws {
        let home = try TemporaryHome()
        defer { home.remove() }
        let store = try home.open()
        let channel = try store.makeChannel()
        var ids: [Int64] = []
        for kind in ["message", "gap", "message", "message"] {
            ids.append(try store.appendJournal(channel: channel.id, kind: kind, now: 1))
        }
        #expect(try store.journal(of: channel.id, after: ids[1], limit: 10).map(\.id) == [ids[2], ids[3]])
        #expect(try store.journalPosition(of: channel.id, beforeLastMessages: 2) == ids[2] - 1)
        #expect(try store.lastJournalID(of: channel.id) == ids[3])
    }

    @Test("removing a relay takes its copies, position and outbox rows, and leaves the messages")
    func relayRemoved() throws {
        let home = try TemporaryHome()
        defer { home.remove() }
        let store = try home.open()
        let channel = try store.makeChannel()
        let relay = try store.makeRelay(channel, 2)
        let event = try store.makeEvent(channel, 3)
        #expect(try store.insertCopy(event: event, relay: relay.id, digest: [1], sequence: 4, now: 1))
        #expect(try !store.insertCopy(event: event, relay: relay.id, digest: [2], sequence: 4, now: 1))
        try store.enqueue(event: event, relay: relay.id, now: 1)
        try store.deleteChannelRelay(relay.id)
        #expect(try store.copies(of: event).isEmpty)
        #expect(try store.openOutboxRows().isEmpty)
        #expect(try store.makeEvent(channel, 3) == event)
    }
}
