import ChannelWire
import PosixKit
import RelayCore
import SQLiteKit
import Testing

@testable import RelayStore

/// Databases that an older relay left.
@Suite("A database of the first schema")
struct MigrationTests {
    private let news = TestChannel()

    /// A relay's directory with two channels, members, messages and rejections, as the first schema had it.
    private func directory() throws -> (TemporaryDirectory, before: [ChannelSummary]) {
        let directory = try TemporaryDirectory()
        let ledger = try RelayLedger(directory: directory.path)
        try ledger.take(news)
        for number in 1...5 { _ = try ledger.published(news.post("m\(number)"), now: 1000 + Int64(number)) }
        let target = try #require(MessageID(bytes: Array("m3".utf8)))
        _ = try ledger.published(news.publish("d", .delete(target, of: nil), tag: "x.msg.del"), now: 1010)
        guard case .joined = try ledger.ask(news.join("bob", seed: 9)) else { throw TestFailure() }
        let other = TestChannel(2, title: "other")
        try ledger.take(other)
        _ = try ledger.ask(.leave(ChannelSelector("#other"), operatorWord))
        let before = try ledger.listChannels()
        ledger.close()
        try makeOld(directory.path + "/relay.db")
        return (directory, before)
    }

    /// Copies every row into a database that the first step alone has made, and puts that in its place.
    private func makeOld(_ path: String) throws {
        let old = try Database(path: path + ".old", mode: .create)
        try old.setPragma("auto_vacuum", to: "INCREMENTAL")
        try old.setApplicationID(Schema.applicationID)
        try old.execute(Schema.steps[0].sql)
        try old.setUserVersion(1)
        try old.execute("ATTACH '\(path)' AS new")
        try old.execute(
            """
            INSERT INTO channels
            SELECT channels.*, member_count, log_first, log_head, log_count, log_bytes, log_time
            FROM new.channels JOIN new.counters USING (channel)
            """)
        let others = [
            "meta", "refusals", "turned_down", "invitations", "members", "roster", "log", "tombstones",
            "audit",
        ]
        for table in others { try old.execute("INSERT INTO \(table) SELECT * FROM new.\(table)") }
        try old.execute("DETACH new")
        try old.setPragma("journal_mode", to: "WAL")
        old.close()
        for suffix in ["-wal", "-shm"] { try Posix.removeFile(path + suffix) }
        try Posix.rename(path + ".old", to: path)
    }

    @Test("is taken over with every channel, member, message and rejection")
    func opened() throws {
        let (directory, before) = try directory()
        let ledger = try RelayLedger(directory: directory.path)
        #expect(try ledger.status().schemaVersion == Schema.latest)
        #expect(try ledger.listChannels() == before)
        #expect(try ledger.check() == [])
        #expect(try ledger.published(news.post("m5"), now: 2000) == .repeated(sequence: 5))
        #expect(try ledger.published(news.post("m6"), now: 2000) == .stored(sequence: 7))
        let page = try RelayReader(directory: directory.path).page(news.id, after: 0, maxBytes: 1 << 20)
        #expect(page?.head == 7 && page?.through == 7)
        ledger.close()
        #expect(try RelayLedger(directory: directory.path).check() == [], "it is opened again")
    }

    @Test("is put back from a backup")
    func restored() throws {
        let (directory, before) = try directory()
        let empty = try TemporaryDirectory()
        let report = try Restore.run(from: directory.path + "/relay.db", into: empty.path)
        let messages = before.reduce(0) { $0 + $1.messages }
        #expect(report == Restore.Report(channels: 2, messages: messages, refusalsKept: 0))
        let ledger = try RelayLedger(directory: empty.path)
        #expect(try ledger.listChannels() == before)
        #expect(try ledger.check() == [])
        ledger.close()
    }

    @Test(
        "is refused where its rows cannot be, or it lacks some of them",
        arguments: [
            "UPDATE channels SET log_head = 3", "UPDATE log SET digest = zeroblob(32) WHERE sequence = 4",
            "ALTER TABLE channels DROP COLUMN log_time",
        ])
    func damaged(sql: String) throws {
        let (directory, _) = try directory()
        let path = directory.path + "/relay.db"
        let database = try Database(path: path, mode: .readWrite)
        try database.execute(sql)
        database.close()
        let empty = try TemporaryDirectory()
        let notPutBack = #expect(throws: RelayStoreError.self) {
            _ = try Restore.run(from: path, into: empty.path)
        }
        #expect(notPutBack?.exitCode == 65)
        #expect(!Posix.exists(empty.path + "/relay.db") && !Posix.exists(empty.path + "/relay.db.new"))
        let before = try Posix.readFile(path)
        #expect(throws: RelayStoreError.self) { try RelayLedger(directory: directory.path) }
        #expect(try Posix.readFile(path) == before && !Posix.exists(path + "-wal"), "it stays as it was")
    }
}
