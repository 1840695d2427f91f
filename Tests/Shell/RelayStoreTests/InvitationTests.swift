import ChannelWire
import RelayCore
import RelayStore
import SQLiteKit
import SodiumCrypto
import Testing

@Suite("Invitations and records")
struct InvitationTests {
    let directory: TemporaryDirectory
    let ledger: RelayLedger
    let news = TestChannel(1, title: "news")

    init() throws {
        directory = try TemporaryDirectory()
        ledger = try RelayLedger(directory: directory.path)
    }

    private func put(_ channel: TestChannel, version: Int64) throws -> LedgerBatch {
        ledger.perform(
            .putRecord(
                LedgerCommand.PutRecord(owner: channel.owner, record: try channel.record(version: version))),
            now: 2000)
    }

    @Test("an accepted invitation repeated gets the same key, another relay id a fresh one")
    func repeated() throws {
        let first = try ledger.take(news)
        #expect(try ledger.take(news) == first)
        let second = try ledger.take(news, relay: "relay2")
        #expect(second.memberID == member("relay2"))
        #expect(second.memberKey != first.memberKey)
        #expect(try ledger.channels().count == 1)
    }

    @Test("an invitation without a record, for a channel not known, is no invitation")
    func withoutRecord() throws {
        guard case .invitation(.reject(.invalidRecord)) = try ledger.ask(news.invite(record: nil)) else {
            throw TestFailure()
        }
        #expect(try ledger.channels().isEmpty)
    }

    @Test("the relay takes as many channels as it may, and one more only after one has gone")
    func limit() throws {
        ledger.options.channelsMax = 2
        try ledger.take(news)
        try ledger.take(TestChannel(2))
        let third = TestChannel(3)
        guard case .invitation(.reject(.channelLimit)) = try ledger.ask(third.invite(record: third.record()))
        else {
            throw TestFailure()
        }
        _ = try ledger.ask(.leave(ChannelSelector(news.id), operatorWord))
        try ledger.take(third)
    }

    @Test("as many invitations wait as may, not one more")
    func pendingLimit() throws {
        ledger.options.admission = .manual
        ledger.options.pendingInvitationsMax = 1
        guard case .invitation(.hold) = try ledger.ask(news.invite(record: news.record())) else {
            throw TestFailure()
        }
        let other = TestChannel(2)
        guard case .invitation(.reject(.channelLimit)) = try ledger.ask(other.invite(record: other.record())),
            case .invitation(.hold) = try ledger.ask(news.invite(record: news.record()))
        else { throw TestFailure() }
    }

    @Test("of one address so many invitations are taken up, of another still some, and later more")
    func perSource() throws {
        ledger.options.invitationsPerSourceMax = 2
        let flood = InvitationAllowance.Source(address: [127, 0, 0, 2])
        let other = InvitationAllowance.Source(address: [127, 0, 0, 3])
        func invite(
            _ number: UInt8, from source: InvitationAllowance.Source?, relay: String = "relay1",
            now: Int64 = 1000
        ) throws -> LedgerReply {
            let channel = TestChannel(number)
            return try ledger.ask(
                channel.invite(relay: relay, record: channel.record(), source: source), now: now)
        }
        // What is turned down, or there already, does not count.
        ledger.options.admission = .closed
        for number in UInt8(1)...5 {
            guard case .invitation(.reject(.notAccepting)) = try invite(number, from: flood) else {
                throw TestFailure()
            }
        }
        ledger.options.admission = .open
        guard case .invitation(.accept) = try invite(1, from: flood),
            case .invitation(.accept) = try invite(1, from: flood)
        else { throw TestFailure() }
        ledger.options.admission = .manual
        guard case .invitation(.hold) = try invite(2, from: flood),
            case .invitation(.hold) = try invite(2, from: flood)
        else { throw TestFailure() }
        let before = try ledger.channels()
        for admission in [Admission.Policy.manual, .open] {
            ledger.options.admission = admission
            guard case .invitation(.comeBack(43_200_000)) = try invite(3, from: flood) else {
                throw TestFailure()
            }
        }
        // A new key in a channel that is served is work, too.
        guard case .invitation(.comeBack) = try invite(1, from: flood, relay: "relay2") else {
            throw TestFailure()
        }
        #expect(try ledger.channels() == before)
        guard case .invitation(.accept) = try invite(4, from: other),
            case .invitation(.accept) = try invite(5, from: nil),
            case .invitation(.accept) = try invite(3, from: flood, now: 1000 + 43_200)
        else { throw TestFailure() }
        _ = try ledger.ask(.leave(ChannelSelector(TestChannel(1).id), operatorWord))
        guard case .invitation(.reject(.rejoinRejected)) = try invite(1, from: flood) else {
            throw TestFailure()
        }
    }

    @Test("invitations of one batch count one after the other, and what is rolled back does not count")
    func perSourceInBatch() throws {
        ledger.options.invitationsPerSourceMax = 2
        let flood = InvitationAllowance.Source(address: [127, 0, 0, 2])
        func perform(_ channels: [TestChannel]) throws -> [Bool] {
            let commands = try channels.map { try $0.invite(record: $0.record(), source: flood) }
            return ledger.perform(commands, now: 1000).replies.map {
                if case .invitation(.accept) = $0 { true } else { false }
            }
        }
        let other = try Database(path: directory.path + "/relay.db", mode: .readWrite)
        try other.execute(
            """
            CREATE TRIGGER spoiled BEFORE INSERT ON channels WHEN NEW.title = 'spoiled'
            BEGIN SELECT RAISE(ABORT, 'as if the disk had failed'); END
            """)
        other.close()
        let spoiled = TestChannel(9, title: "spoiled")
        #expect(try perform([TestChannel(1), spoiled]) == [true, false])
        #expect(try perform([TestChannel(2), TestChannel(3), TestChannel(4)]) == [true, false, false])
    }

    @Test("a waiting invitation that the operator accepts is answered to its owner")
    func accepted() throws {
        ledger.options.admission = .manual
        _ = try ledger.ask(news.invite(record: news.record()))
        guard case .invitations(let pending) = try ledger.ask(.listInvitations) else { throw TestFailure() }
        #expect(pending.map(\.name) == ["news"])
        #expect(pending.first?.ownerName == "alice")
        #expect(try ledger.published(news.post("a")) == .refused(.unknownChannel))
        let batch = ledger.perform(.acceptInvitation(ChannelSelector("news"), operatorWord), now: 1)
        guard case .done(let summary)? = batch.replies.first, summary.status == .accepted,
            case .invitationDecided(news.id, news.owner, .accept(let relay))? = batch.notices.last
        else { throw TestFailure() }
        // The owner may have been away: the invitation again gets the same answer.
        #expect(try ledger.take(news) == relay)
        #expect(try ledger.published(news.post("a")) == .stored(sequence: 1))
    }

    @Test("one that the operator turns down leaves nothing, and the same again gets the same answer")
    func turnedDown() throws {
        ledger.options.admission = .manual
        _ = try ledger.ask(news.invite(record: news.record()))
        let batch = ledger.perform(.rejectInvitation(ChannelSelector("news"), operatorWord), now: 1)
        guard
            case .invitationDecided(news.id, news.owner, .reject(.byOperator("off topic")))? = batch.notices
                .first
        else { throw TestFailure() }
        #expect(try ledger.channels().isEmpty)
        guard
            case .invitation(.reject(.byOperator("off topic"))) = try ledger.ask(
                news.invite(record: news.record()))
        else { throw TestFailure() }
        guard case .invitation(.hold) = try ledger.ask(news.invite(relay: "relay2", record: news.record()))
        else {
            throw TestFailure()
        }
    }

    @Test("records: newer is stored and pushed, the same again is fine, stale is 25, other bytes are 26")
    func versions() throws {
        try ledger.take(news)
        let batch = try put(news, version: 4)
        guard case .recordStored(4)? = batch.replies.first,
            case .recordChanged(news.id, _, 4)? = batch.notices.first
        else { throw TestFailure() }
        #expect(try put(news, version: 4).notices.isEmpty)
        guard case .recordStored(4)? = try put(news, version: 4).replies.first,
            case .refused(.recordStale)? = try put(news, version: 3).replies.first
        else { throw TestFailure() }
        var other = news
        other.title = "olds"
        guard case .refused(.recordConflict)? = try put(other, version: 4).replies.first else {
            throw TestFailure()
        }
        guard case .record(let bytes, 4) = try ledger.ask(.record(news.id)) else { throw TestFailure() }
        #expect(try bytes == news.record(version: 4).bytes)
    }

    @Test("the relay is active when the record names it with its key, and inactive when it no longer does")
    func ownEntry() throws {
        let relay = try ledger.take(news)
        var listed = news
        let link = "antenna:/g#x"
        listed.relays = [
            ChannelRecord.Relay(
                member: relay.memberID, key: key(news.root), identity: key(news.root), link: link)
        ]
        _ = try put(listed, version: 2)
        #expect(try ledger.status(of: news) == .accepted, "another key is not this relay")
        listed.relays = [
            ChannelRecord.Relay(
                member: relay.memberID, key: relay.memberKey, identity: key(news.root), link: link)
        ]
        _ = try put(listed, version: 3)
        #expect(try ledger.status(of: news) == .active)
        let batch = try put(news, version: 4)
        #expect(try ledger.status(of: news) == .inactive)
        guard case .channelEnded(news.id, .channelInactive, nil)? = batch.notices.last else {
            throw TestFailure()
        }
        #expect(try ledger.published(news.post("a")) == .refused(.channelInactive))
    }

    @Test("a roster acknowledges, pins roles, and an older one does not come back")
    func roster() throws {
        try ledger.take(news)
        _ = try ledger.ask(news.join("bob", seed: 9))
        let bobKey = key(Ed25519.KeyPair(seed: [UInt8](repeating: 9, count: 32)))
        func apply(_ version: Int64, _ role: Role?) throws -> LedgerReply {
            let entries = role.map { [Roster.Entry(member: member("bob"), key: bobKey, role: $0)] } ?? []
            return try ledger.ask(
                .applyRoster(
                    LedgerCommand.ApplyRoster(
                        channel: news.id, owner: news.owner, version: version,
                        digest: Sodium.sha512(Roster(entries: entries).blob()), entries: entries)))
        }
        guard case .rosterAck(2, nil) = try apply(2, .member) else { throw TestFailure() }
        #expect(try ledger.status(of: news) == .acknowledgedRoster)
        #expect(try ledger.published(news.post("a", by: member("bob"))) == .stored(sequence: 1))
        guard case .rosterAck(2, nil) = try apply(1, nil) else { throw TestFailure() }
        #expect(try ledger.published(news.post("b", by: member("bob"))) == .stored(sequence: 2))
        guard case .rosterAck(3, nil) = try apply(3, nil) else { throw TestFailure() }
        #expect(try ledger.published(news.post("c", by: member("bob"))) == .refused(.notPermitted))
        guard case .rosterAck(4, .some) = try apply(4, .owner) else { throw TestFailure() }
    }

    @Test("CONTROL knows an owner by the newest record, and nobody else")
    func control() throws {
        func open(_ owner: MemberID, _ record: VerifiedRecord?) throws -> LedgerReply {
            try ledger.ask(
                .openControl(LedgerCommand.OpenControl(channel: news.id, owner: owner, record: record)))
        }
        guard case .refused(.unknownChannel) = try open(news.owner, nil),
            case .control(let fresh) = try open(news.owner, news.record())
        else { throw TestFailure() }
        #expect(fresh.status == .none)
        #expect(fresh.ownerKey == key(news.ownerKey))
        #expect(!fresh.recordIsNews)
        try ledger.take(news)
        guard case .control(let known) = try open(news.owner, nil),
            case .refused(.notOwner) = try open(member("x"), nil),
            case .control(let newer) = try open(news.owner, news.record(version: 5))
        else { throw TestFailure() }
        #expect(known.status == .accepted)
        #expect(known.recordVersion == 1)
        #expect(newer.recordIsNews)
        _ = try ledger.ask(.leave(ChannelSelector("news"), operatorWord))
        guard case .control(let refused) = try open(news.owner, nil) else { throw TestFailure() }
        #expect(refused.status == .rejected)
        #expect(refused.refusal == .rejoinRejected)
    }

    @Test("an owner who left opens no control link, unless the channel was deleted: then it may hear so")
    func formerOwner() throws {
        var two = news
        two.moreOwners = [(member("carol"), TestChannel(3).ownerKey)]
        try ledger.take(two)
        func open(_ owner: MemberID) throws -> LedgerReply {
            try ledger.ask(
                .openControl(LedgerCommand.OpenControl(channel: news.id, owner: owner, record: nil)))
        }
        guard case .control = try open(member("carol")) else { throw TestFailure() }
        let leave = news.publish("l", .leave, tag: "x.grp.leave", by: member("carol"))
        #expect(try ledger.published(leave) == .stored(sequence: 1))
        guard case .refused(.notOwner) = try open(member("carol")), case .control = try open(news.owner)
        else { throw TestFailure() }
        _ = try ledger.published(news.publish("d", .deleteChannel, tag: "x.grp.del"))
        guard case .control(let former) = try open(member("carol")), case .control = try open(news.owner)
        else { throw TestFailure() }
        #expect(former.status == .inactive)
    }

    @Test("a deleted channel ends all memberships and its log, and says 23 until it is taken up again")
    func deleted() throws {
        try ledger.take(news)
        _ = try ledger.ask(news.join("bob", seed: 9))
        _ = try ledger.published(news.post("a"))
        let batch = ledger.perform(news.publish("d", .deleteChannel, tag: "x.grp.del"), now: 1)
        guard case .published(.stored(2))? = batch.replies.first,
            case .channelEnded(news.id, .channelDeleted, nil)? = batch.notices.last
        else { throw TestFailure() }
        guard case .refused(.channelDeleted) = try ledger.ask(news.attach(member("bob"))) else {
            throw TestFailure()
        }
        let reader = try RelayReader(directory: directory.path)
        let page = try #require(try reader.page(news.id, after: 0, maxBytes: 1 << 20))
        #expect(outline(page.frames) == ["1-1!pruned", "2"], "who lags behind still comes to the deletion")
        try ledger.take(news, relay: "relay2")
        #expect(try ledger.published(news.post("b")) == .stored(sequence: 3))
        guard case .refused(.memberRemoved) = try ledger.ask(news.attach(member("bob"))) else {
            throw TestFailure()
        }
    }
}
