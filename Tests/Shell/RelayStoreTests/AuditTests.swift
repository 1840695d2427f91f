import ChannelWire
import PosixKit
import RelayCore
import SQLiteKit
import Testing

@testable import RelayStore

/// Rows that no relay wrote: a disk, a program or a hand did.
@Suite("A database whose rows cannot be")
struct AuditTests {
    /// A relay's directory with two channels, members, messages and a rejection, closed.
    private func directory() throws -> TemporaryDirectory {
        let directory = try TemporaryDirectory()
        let ledger = try RelayLedger(directory: directory.path)
        let news = TestChannel()
        try ledger.take(news)
        for number in 1...6 { _ = try ledger.published(news.post("m\(number)", text: "text \(number)")) }
        let target = try #require(MessageID(bytes: Array("m3".utf8)))
        _ = try ledger.published(news.publish("d", .delete(target, of: nil), tag: "x.msg.del"))
        guard case .joined = try ledger.ask(news.join("bob", seed: 9)) else { throw TestFailure() }
        let other = TestChannel(2, title: "other")
        try ledger.take(other)
        _ = try ledger.ask(.leave(ChannelSelector("#other"), operatorWord))
        #expect(try ledger.check() == [])
        ledger.close()
        return directory
    }

    private func change(_ directory: TemporaryDirectory, _ sql: String) throws {
        let database = try Database(path: directory.path + "/relay.db", mode: .readWrite)
        try database.setPragma("ignore_check_constraints", to: 1)
        try #require(try database.run(sql) > 0, "nothing was changed: \(sql)")
        database.close()
    }

    static let changes = [
        "UPDATE counters SET log_head = log_head - 1", "UPDATE counters SET log_head = \(Int64.max)",
        "UPDATE counters SET log_head = -1", "UPDATE counters SET log_first = 0",
        "UPDATE counters SET log_first = \(Int64.min)", "UPDATE counters SET log_first = log_first + 1",
        "UPDATE counters SET log_count = log_count + 1", "UPDATE counters SET log_count = \(Int64.max)",
        "UPDATE counters SET log_bytes = \(Int64.max)", "UPDATE counters SET log_bytes = 0",
        "UPDATE counters SET member_count = -1", "UPDATE counters SET log_time = \(Int64.max)",
        "DELETE FROM counters",
        "UPDATE channels SET record_version = record_version + 1", "UPDATE channels SET record = x'00'",
        "UPDATE channels SET relay_key_seed = x'00'", "UPDATE channels SET relay_key_seed = x''",
        "UPDATE channels SET relay_member_id = NULL", "UPDATE channels SET relay_member_id = x''",
        "UPDATE channels SET status = 'sold'", "UPDATE channels SET log_nonce = x'01'",
        "UPDATE channels SET channel_id = CAST(x'01' || substr(channel_id, 2) AS BLOB)",
        "UPDATE channels SET roster_version = -2",
        "UPDATE refusals SET channel_id = x'07'",
        "UPDATE members SET public_key = x''", "UPDATE members SET member_id = x'' WHERE role = 'observer'",
        "UPDATE members SET status = 'asleep'", "UPDATE members SET role = hex(zeroblob(200))",
        "UPDATE members SET status = 'left' WHERE status = 'connected'",
        "DELETE FROM members WHERE role = 'observer'",
        "DELETE FROM log WHERE sequence = 2", "UPDATE log SET frame = x''",
        "UPDATE log SET frame = substr(frame, 2) WHERE sequence = 2",
        "UPDATE log SET frame = CAST(substr(frame, 1, length(frame) - 2) || x'2021' AS BLOB) WHERE sequence = 4",
        "UPDATE log SET digest = zeroblob(32) WHERE sequence = 4", "UPDATE log SET digest = x'00'",
        "UPDATE log SET time = 2000 WHERE sequence = 2", "UPDATE log SET author = x'4142' WHERE sequence = 2",
        "UPDATE log SET sequence = sequence + 100",
    ]

    @Test("is refused with 65 and a sentence, and stays as it was", arguments: changes)
    func refused(sql: String) throws {
        let directory = try directory()
        try change(directory, sql)
        let before = try directory.content()
        let error = #expect(throws: RelayStoreError.self) { try RelayLedger(directory: directory.path) }
        guard case .corrupt(_, let reason) = error else {
            Issue.record("\(sql): \(String(describing: error))")
            return
        }
        #expect(!reason.isEmpty && error?.exitCode == 65)
        #expect(try directory.content() == before)
    }

    @Test("is neither put back from a backup nor taken for one")
    func backups() throws {
        let damaged = try directory()
        try change(damaged, "UPDATE counters SET log_head = \(Int64.max)")
        let empty = try TemporaryDirectory()
        let error = #expect(throws: RelayStoreError.self) {
            _ = try Restore.run(from: damaged.path + "/relay.db", into: empty.path)
        }
        #expect(error?.exitCode == 65)
        #expect(!Posix.exists(empty.path + "/relay.db"))

        let working = try directory()
        let ledger = try RelayLedger(directory: working.path)
        try change(working, "UPDATE log SET digest = zeroblob(32) WHERE sequence = 4")
        let copy = working.path + "/backup"
        #expect(throws: RelayStoreError.self) { try RelayReader(directory: working.path).backup(to: copy) }
        #expect(!Posix.exists(copy))
        ledger.close()
    }

    @Test("while the relay runs: a message that is no frame any more is a gap, and the rest is delivered")
    func damagedWhileRunning() throws {
        let directory = try directory()
        let ledger = try RelayLedger(directory: directory.path)
        try change(directory, "UPDATE log SET frame = x'0102' WHERE sequence IN (2, 6)")
        let reader = try RelayReader(directory: directory.path)
        let page = try #require(try reader.page(TestChannel().id, after: 0, maxBytes: 1 << 20))
        #expect(outline(page.frames) == ["1", "2-3!erased", "4", "5", "6-6!erased", "7"])
        #expect(page.damaged == [2, 6])
        let history = try #require(
            try reader.history(TestChannel().id, .beforeSequence(100), limit: 50))
        #expect(history.messages.map(\.sequence) == [1, 4, 5, 7])
        ledger.close()
    }

    @Test("while the relay runs: a frame that is longer than any that it makes is a gap", arguments: [5, 7])
    func overlongWhileRunning(sequence: Int64) throws {
        let directory = try directory()
        let ledger = try RelayLedger(directory: directory.path)
        // The type, the length and the sequence are right; no record has room for it.
        try change(
            directory,
            """
            UPDATE log SET frame = CAST(x'24EA5D' || substr(frame, 4, 8) || zeroblob(59989) AS BLOB)
            WHERE sequence = \(sequence)
            """)
        let reader = try RelayReader(directory: directory.path)
        let page = try #require(try reader.page(TestChannel().id, after: 0, maxBytes: 1 << 20))
        #expect(page.damaged == [sequence])
        #expect(page.through == 7)
        let history = try #require(
            try reader.history(TestChannel().id, .beforeSequence(100), limit: 50))
        #expect(history.messages.map(\.sequence) == [1, 2, 4, 5, 6, 7].filter { $0 != sequence })
        ledger.close()
    }
}
