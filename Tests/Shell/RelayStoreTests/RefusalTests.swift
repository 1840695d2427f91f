import ChannelWire
import RelayCore
import RelayStore
import SQLiteKit
import Testing

@Suite("Refusal: no means no")
struct RefusalTests {
    let directory: TemporaryDirectory
    var ledger: RelayLedger
    let news = TestChannel(1, title: "news")
    let sport = TestChannel(2, title: "sport")

    init() throws {
        directory = try TemporaryDirectory()
        ledger = try RelayLedger(directory: directory.path)
    }

    private func expectRejoinRejected(_ ledger: RelayLedger, _ command: LedgerCommand) throws {
        let rows = try ledger.channels().count
        guard case .invitation(.reject(.rejoinRejected)) = try ledger.ask(command) else {
            Issue.record("a refused channel was answered otherwise")
            return
        }
        #expect(try ledger.channels().count == rows, "a refused invitation leaves no row")
    }

    @Test("leaving is one transaction: status, refusal, farewell, audit, and who must be told")
    func leave() throws {
        let relay = try ledger.take(news)
        _ = try ledger.published(news.post("a"))
        let batch = ledger.perform(.leave(ChannelSelector("#news"), operatorWord), now: 5000)
        guard case .done(let summary)? = batch.replies.first else { throw TestFailure() }
        #expect(summary.status == .rejected)
        #expect(summary.refusal == Refusal(reason: "off topic", time: 5000, actor: "uid 1000"))

        guard batch.notices.count == 3, case .appended(let entry) = batch.notices[0],
            case .statusChanged(news.id, .rejected) = batch.notices[1],
            case .channelEnded(news.id, .channelRejected, .rejoinRejected?) = batch.notices[2]
        else {
            Issue.record("the notices are \(batch.notices)")
            return
        }
        #expect(entry.sequence == 2)
        guard case .forward(let forward) = try Element.decode(Array(entry.frame[15...])) else {
            throw TestFailure()
        }
        #expect(forward.sender == .member(relay.memberID, name: "relay"))
        let signed = try SignedElement(forward.inner)
        #expect(
            signed.check(
                channel: news.id, member: relay.memberID, key: relay.memberKey, verify: testCrypto.verify)
                == .valid)
        #expect(try Event.decode(json: signed.json).tag == .grpLeave)
        #expect(try Event.decode(json: signed.json).messageID != nil)

        guard case .audit(let audit) = try ledger.ask(.listAudit(limit: 10)) else { throw TestFailure() }
        #expect(audit.map(\.action) == ["leave"])
        #expect(audit.first?.channel == news.id)
        #expect(audit.first?.detail == "off topic")
    }

    @Test("after leaving, everything asked of the channel is error 21")
    func afterwards() throws {
        try ledger.take(news)
        _ = try ledger.ask(.leave(ChannelSelector("news"), operatorWord))
        guard case .refused(.channelRejected) = try ledger.ask(news.attach()),
            case .refused(.channelRejected) = try ledger.ask(news.join("bob", seed: 9)),
            case .refused(.channelRejected) = try ledger.ask(.record(news.id))
        else { throw TestFailure() }
        #expect(try ledger.published(news.post("a")) == .refused(.channelRejected))
        guard
            case .refused(.channelRejected) = try ledger.ask(
                .putRecord(LedgerCommand.PutRecord(owner: news.owner, record: news.record(version: 2))))
        else { throw TestFailure() }
    }

    @Test(
        "every later invitation is answered rejoin_rejected: any owner, any relay id, also after a crash"
    )
    func sticks() throws {
        var news = news
        let other = TestChannel(3)
        news.moreOwners = [(member("carol"), other.ownerKey)]
        try ledger.take(news)
        try ledger.take(sport)
        _ = try ledger.ask(.leave(ChannelSelector("news"), operatorWord))
        for relay in ["relay1", "relay2"] {
            try expectRejoinRejected(ledger, news.invite(relay: relay, record: news.record(version: 9)))
            try expectRejoinRejected(ledger, news.invite(relay: relay, record: nil))
        }
        let byCarol = LedgerCommand.invite(
            LedgerCommand.Invite(
                channel: news.id, linkOwner: member("carol"),
                invitation: InvitationCheck.Invitation(
                    owner: member("carol"), relayMember: member("relay3"), linkedChannel: news.id,
                    isSigned: true),
                ownerName: "carol", record: try news.record(version: 2)))
        try expectRejoinRejected(ledger, byCarol)

        let crashed = try TemporaryDirectory()
        try directory.copy(to: crashed)
        let again = try RelayLedger(directory: crashed.path)
        try expectRejoinRejected(again, news.invite(record: news.record()))
        #expect(try again.status(of: sport) == .accepted)
        #expect(try again.published(sport.post("a")) == .stored(sequence: 1))
        again.close()
    }

    @Test("it survives cleaning up, and the deletion of every other row about the channel")
    func survivesCleaning() throws {
        try ledger.take(news)
        _ = try ledger.ask(.leave(ChannelSelector("news"), operatorWord))
        guard case .done = try ledger.ask(.forget(ChannelSelector("news"), operatorWord)) else {
            throw TestFailure()
        }
        #expect(try ledger.status(of: news) == .rejected)
        try expectRejoinRejected(ledger, news.invite(record: news.record()))
        ledger.close()

        let database = try Database(path: directory.path + "/relay.db", mode: .readWrite)
        for table in try database.query(
            "SELECT name FROM pragma_table_list WHERE type = 'table'", [], { $0.text(0) })
        where !["meta", "refusals"].contains(table) && !table.hasPrefix("sqlite_") {
            try database.run("DELETE FROM \(table)")
        }
        database.close()
        withExtendedLifetime(ledger) {}
        let copy = try TemporaryDirectory()
        try directory.copy(to: copy)
        let again = try RelayLedger(directory: copy.path)
        try expectRejoinRejected(again, news.invite(record: news.record()))
        again.close()
    }

    @Test("either mark alone is enough: the refusal row, or the status")
    func eitherMark() throws {
        try ledger.take(news)
        try ledger.take(sport)
        _ = try ledger.ask(.leave(ChannelSelector("news"), operatorWord))
        _ = try ledger.ask(.leave(ChannelSelector("sport"), operatorWord))
        ledger.close()
        let copy = try TemporaryDirectory()
        try directory.copy(to: copy)
        let database = try Database(path: copy.path + "/relay.db", mode: .readWrite)
        try database.run("UPDATE channels SET status = 'active' WHERE name = 'news'")
        try database.run("DELETE FROM refusals WHERE name = 'sport'")
        database.close()
        let again = try RelayLedger(directory: copy.path)
        try expectRejoinRejected(again, news.invite(record: news.record()))
        try expectRejoinRejected(again, sport.invite(record: sport.record()))
        again.close()
    }

    @Test("allow ends it quietly: nobody is told, and the next invitation is accepted")
    func allow() throws {
        try ledger.take(news)
        _ = try ledger.ask(.leave(ChannelSelector("news"), operatorWord))
        let batch = ledger.perform(.allow(ChannelSelector("#news"), operatorWord), now: 1)
        guard case .done(let summary)? = batch.replies.first else { throw TestFailure() }
        #expect(summary.status == .inactive)
        #expect(summary.refusal == nil)
        #expect(batch.notices.isEmpty)
        let relay = try ledger.take(news)
        #expect(relay.memberID == member("relay1"))
        #expect(try ledger.published(news.post("a")) == .stored(sequence: 2), "the farewell was 1")
    }

    @Test("allow on a channel that is not refused changes nothing and says so")
    func allowNothing() throws {
        try ledger.take(news)
        guard
            case .declined(.notRejected("news")) = try ledger.ask(
                .allow(ChannelSelector("news"), operatorWord)),
            case .declined(.unknownChannel("nothing", _)) = try ledger.ask(
                .allow(ChannelSelector("nothing"), operatorWord))
        else { throw TestFailure() }
        #expect(try ledger.status(of: news) == .accepted)
    }

    @Test("allow works for a channel of which only the refusal is left")
    func allowForgotten() throws {
        try ledger.take(news)
        _ = try ledger.ask(.leave(ChannelSelector("news"), operatorWord))
        _ = try ledger.ask(.forget(ChannelSelector("news"), operatorWord))
        guard case .done = try ledger.ask(.allow(ChannelSelector("news"), operatorWord)) else {
            throw TestFailure()
        }
        #expect(try ledger.channels().isEmpty)
        try ledger.take(news)
    }

    @Test("leaving a channel twice, or one never heard of, changes nothing and says so")
    func leaveTwice() throws {
        try ledger.take(news)
        _ = try ledger.ask(.leave(ChannelSelector("news"), operatorWord))
        guard
            case .declined(.alreadyRejected(_, "news")) = try ledger.ask(
                .leave(ChannelSelector("news"), operatorWord)),
            case .declined(.unknownChannel) = try ledger.ask(.leave(ChannelSelector("olds"), operatorWord))
        else { throw TestFailure() }
        guard case .audit(let audit) = try ledger.ask(.listAudit(limit: 10)) else { throw TestFailure() }
        #expect(audit.count == 1)
    }

    @Test("leaving ends a waiting invitation with a reject to its owner")
    func leavePending() throws {
        ledger.options.admission = .manual
        guard case .invitation(.hold) = try ledger.ask(news.invite(record: news.record())) else {
            throw TestFailure()
        }
        let batch = ledger.perform(.leave(ChannelSelector("news"), operatorWord), now: 1)
        guard case .done? = batch.replies.first,
            case .invitationDecided(news.id, news.owner, .reject(.rejoinRejected))? = batch.notices.first
        else { throw TestFailure() }
        guard case .invitations(let pending) = try ledger.ask(.listInvitations) else { throw TestFailure() }
        #expect(pending.isEmpty)
        try expectRejoinRejected(ledger, news.invite(record: news.record()))
    }
}
