import ClientCore
@testable import ClientStore
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

    @Test("a home whose database others may read is closed to them when it is opened")
    func tooOpen() throws {
        let home = try TemporaryHome()
        defer { home.remove() }
        try home.open().close()
        try Posix.changeMode(home.path + "/client.db", 0o644)
        try home.open().setProfileName("alice")
        for name in try Posix.list(home.path) {
            #expect(Posix.status(home.path + "/" + name)?.mode == 0o600, "\(name)")
        }
    }

    @Test("what is stored is on the disk before it is answered, and what is taken away is overwritten")
    func settings() throws {
        let home = try TemporaryHome()
        defer { home.remove() }
        let store = try home.open()
        #expect(try store.database.pragma("journal_mode") == "wal")
        // 2: FULL, a sync of the log at each commit.
        #expect(try store.database.pragma("synchronous") == "2")
        #expect(try store.database.pragma("secure_delete") == "1")
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

    @Test("only a membership that has ended begins again, and never an owner's: no key is written over")
    func beginsAgain() throws {
        let home = try TemporaryHome()
        defer { home.remove() }
        let store = try home.open()
        let owned = try store.makeChannel(1)
        let read = try #require(
            try store.insertChannel(
                channelID: bytes(2), displayName: "olds", role: "observer", rootSecret: nil, memberID: [2],
                memberName: "bob", memberSecret: SecretBytes(bytes(2)), record: [], recordVersion: 0, now: 1))
        _ = try store.makeRelay(read, 5)
        func again(_ channel: StoredChannel) throws -> StoredChannel? {
            try store.insertChannel(
                again: channel.id, channelID: channel.channelID, displayName: "x", role: "observer",
                rootSecret: nil, memberID: [9], memberName: "bo", memberSecret: SecretBytes(bytes(9)),
                record: [4], recordVersion: 4, now: 9)
        }
        #expect(try again(owned) == nil && again(read) == nil)
        try store.setChannelState(owned.id, .left)
        #expect(try again(owned) == nil)
        #expect(try store.channel(id: owned.id)?.memberSecret.copied() == bytes(1))
        #expect(try store.channel(id: read.id)?.memberSecret.copied() == bytes(2))
        try store.setChannelState(read.id, .removed)
        let found = try #require(try again(read))
        #expect(found.id == read.id && found.localName == "olds" && found.state == .current)
        #expect(found.memberSecret.copied() == bytes(9) && found.memberID == [9] && found.recordVersion == 4)
        #expect(try store.channelRelays(of: read.id).isEmpty)
    }

    @Test("after the last number there is no next record")
    func lastVersion() throws {
        let home = try TemporaryHome()
        defer { home.remove() }
        let store = try home.open()
        let channel = try store.makeChannel()
        #expect(try store.storeRecord(channel.id, version: .max - 1, bytes: [5]))
        #expect(try store.nextRecord(channel.id) { _, _, _ in [6] }?.version == .max)
        #expect(try store.nextRecord(channel.id) { _, _, _ in [7] } == nil)
        #expect(try store.channel(id: channel.id)?.record == [6])
    }

    @Test("what a relay is known to have never gets less, and a status has its time from the first moment")
    func relayFacts() throws {
        let home = try TemporaryHome()
        defer { home.remove() }
        let store = try home.open()
        let relay = try store.makeRelay(try store.makeChannel(), 2, status: .active)
        for (version, kept) in [(4, 4), (3, 4), (9, 9)] as [(Int64, Int64)] {
            try store.setRelayStoredVersion(relay.id, version)
            #expect(try store.channelRelay(relay.id)?.storedVersion == kept)
        }
        _ = try store.changeRelay(relay.id, now: 200) { $0.leaveReceived() }
        // The member's status changes, the relay's does not.
        _ = try store.changeRelay(relay.id, now: 300) { $0.removedByOwner() }
        let row = try #require(try store.channelRelay(relay.id))
        #expect(row.relay.status == .inactive && row.relay.memberStatus == .removed && row.since == 200)
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
        // Nor does the moment of joining move.
        for joined in [7, 9, nil] as [Int64?] {
            try store.upsertMember(
                StoredMember(
                    memberID: [5], name: "eve", role: "member", status: "left", publicKey: nil,
                    joinedAt: joined), of: channel.id)
        }
        let found = try #require(try store.member([5], of: channel.id))
        #expect(found.joinedAt == 7 && found.status == "left")
    }
}
