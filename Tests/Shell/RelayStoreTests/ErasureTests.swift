import ChannelWire
import RelayCore
import SQLiteKit
import SodiumCrypto
import Testing

@testable import RelayStore

@Suite("What an erasure takes away, and what stays of it")
struct ErasureTests {
    private let directory: TemporaryDirectory
    private let ledger: RelayLedger
    private let news = TestChannel()

    init() throws {
        directory = try TemporaryDirectory()
        ledger = try RelayLedger(directory: directory.path)
        try ledger.take(news)
    }

    private func outline() throws -> [String] {
        let reader = try RelayReader(directory: directory.path)
        let page = try #require(try reader.page(news.id, after: 0, maxBytes: 1 << 20))
        return RelayStoreTests.outline(page.frames)
    }

    private func erasedThrough(_ command: LedgerCommand) -> [Int64] {
        ledger.perform(command, now: 1000).notices.compactMap { notice in
            if case .erased(_, let through) = notice { through } else { nil }
        }
    }

    private func edit(_ message: String, of id: MessageID, by author: MemberID? = nil) -> LedgerCommand {
        news.publish(message, .edit(id, asGroup: false), tag: "x.msg.update", body: "newer", by: author)
    }

    @Test("the notice of a deletion reaches as far as the last edit, which memory may hold as well")
    func notice() throws {
        let id = try #require(MessageID(bytes: Array("a".utf8)))
        for command in [news.post("a"), news.post("b"), edit("a2", of: id), news.post("c")] {
            _ = try ledger.published(command)
        }
        #expect(erasedThrough(news.publish("d", .delete(id, of: nil), tag: "x.msg.del")) == [3])
        #expect(try outline() == ["1-1!erased", "2", "3-3!erased", "4", "5"])
    }

    @Test("who is removed with all messages loses the edits too, and none of them comes back")
    func everything() throws {
        let bob = member("bob")
        _ = try ledger.ask(news.join("bob", seed: 9))
        try ledger.database.run("UPDATE members SET role = 'author' WHERE member_id = ?", [.blob(bob.bytes)])
        let id = try #require(MessageID(bytes: Array("a".utf8)))
        for command in [news.post("a", by: bob), news.post("b"), edit("a2", of: id, by: bob)] {
            _ = try ledger.published(command)
        }
        let remove = news.publish("r", .remove(bob, eraseMessages: true), tag: "x.grp.mem.del")
        #expect(erasedThrough(remove) == [3])
        #expect(try outline() == ["1-1!erased", "2", "3-3!erased", "4"])
    }

    @Test("a channel that is deleted takes its roster and the memory of deletions with it")
    func wholeChannel() throws {
        let id = try #require(MessageID(bytes: Array("a".utf8)))
        _ = try ledger.published(news.post("a"))
        _ = try ledger.published(news.publish("d", .delete(id, of: nil), tag: "x.msg.del"))
        let bob = Roster.Entry(member: member("bob"), key: key(news.ownerKey), role: .member)
        _ = try ledger.ask(
            .applyRoster(
                LedgerCommand.ApplyRoster(
                    channel: news.id, owner: news.owner, version: 1,
                    digest: Sodium.sha512(Roster(entries: [bob]).blob()), entries: [bob])))
        func rows() throws -> [Int64] {
            try ["roster", "tombstones"].map { try ledger.number("SELECT count(*) FROM \($0)") }
        }
        #expect(try rows() == [1, 1])
        _ = try ledger.published(news.publish("x", .deleteChannel, tag: "x.grp.del"))
        #expect(try rows() == [0, 0])
        #expect(try ledger.check() == [])
    }

    @Test("an invitation that is accepted takes away what was turned down before")
    func acceptedAfterAll() throws {
        let other = TestChannel(5)
        func turnedDown() throws -> Int64 { try ledger.number("SELECT count(*) FROM turned_down") }
        ledger.options.admission = .manual
        _ = try ledger.ask(other.invite(record: other.record()))
        guard case .invitations(let pending) = try ledger.ask(.listInvitations),
            let name = pending.first?.name
        else { throw TestFailure() }
        _ = try ledger.ask(.rejectInvitation(ChannelSelector(name), operatorWord))
        #expect(try turnedDown() == 1)
        _ = try ledger.ask(other.invite(relay: "relay2", record: other.record()))
        _ = try ledger.ask(.acceptInvitation(ChannelSelector(name), operatorWord))
        #expect(try ledger.status(of: other) == .accepted)
        #expect(try turnedDown() == 0)
    }

    @Test("100000 deletions of a channel are remembered, the newest ones, also of one second")
    func bound() throws {
        let bound: Int64 = 100_000
        try ledger.database.run(
            """
            WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
            INSERT INTO tombstones (channel, author, message_id, erased_at)
            SELECT channel, x'61', CAST(i AS BLOB), CASE i WHEN 0 THEN 1 ELSE 2 END FROM n, channels
            """, [.integer(bound + 1)])
        ledger.maintain(now: 1000)
        #expect(try ledger.number("SELECT count(*) FROM tombstones") == bound)
        #expect(try ledger.number("SELECT count(*) FROM tombstones WHERE erased_at = 1") == 0)
    }

    @Test("so many invitations that were turned down are remembered, the newest, also where many are as old")
    func turnedDownBound() throws {
        ledger.options.pendingInvitationsMax = 10
        try ledger.database.run(
            """
            WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 14)
            INSERT INTO turned_down (channel_id, relay_member_id, turned_down_at)
            SELECT CAST(printf('%032d', i) AS BLOB), x'61', CASE i WHEN 0 THEN 1 ELSE 2 END FROM n
            """)
        ledger.maintain(now: 1000)
        #expect(try ledger.number("SELECT count(*) FROM turned_down") == 10)
        #expect(try ledger.number("SELECT count(*) FROM turned_down WHERE turned_down_at = 1") == 0)
    }

    @Test("old messages go at every round of upkeep, not at the first alone")
    func everyRound() throws {
        ledger.options.retention = Retention(ageSeconds: 100)
        _ = try ledger.published(news.post("a"), now: 1000)
        ledger.maintain(now: 1000)
        #expect(try outline() == ["1"])
        ledger.maintain(now: 2000)
        #expect(try outline() == ["1-1!pruned"])
    }

    @Test("a page of history ends where its bytes are spent, with one message at least, and says so")
    func historyBytes() throws {
        for name in ["a", "b", "c"] { _ = try ledger.published(news.post(name)) }
        let reader = try RelayReader(directory: directory.path)
        let page = try #require(try reader.history(news.id, .beforeSequence(4), limit: 100, maxBytes: 1))
        #expect(page.messages.map(\.sequence) == [3] && page.more)
    }
}
