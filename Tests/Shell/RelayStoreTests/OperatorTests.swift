import ChannelWire
import RelayCore
import RelayStore
import Testing

@Suite("The operator's names and lists")
struct OperatorTests {
    let directory: TemporaryDirectory
    let ledger: RelayLedger

    init() throws {
        directory = try TemporaryDirectory()
        ledger = try RelayLedger(directory: directory.path)
    }

    private func leave(_ text: String) throws -> LedgerReply {
        try ledger.ask(.leave(ChannelSelector(text), operatorWord))
    }

    @Test("channels of one title get suffixes, and each is found by its own")
    func suffixes() throws {
        for number in 1...3 { try ledger.take(TestChannel(UInt8(number), title: "news")) }
        #expect(try ledger.channels().map(\.name) == ["news", "news_1", "news_2"])
        guard case .done(let second) = try leave("#news_1"), case .done(let first) = try leave("#news") else {
            throw TestFailure()
        }
        #expect(second.channel == TestChannel(2).id)
        #expect(first.channel == TestChannel(1).id)
        #expect(try ledger.status(of: TestChannel(3)) == .accepted)
    }

    @Test(
        "the ways to name a channel",
        arguments: ["my news", "#'my news'", "'my news'", "#\"my news\"", " #my news "])
    func spellings(text: String) throws {
        try ledger.take(TestChannel(1, title: "my news"))
        guard case .done = try leave(text) else {
            Issue.record("\(text) was not understood")
            return
        }
    }

    @Test("an id names a channel, with padding and without")
    func ids() throws {
        let channel = TestChannel(1)
        try ledger.take(channel)
        guard case .done = try leave(channel.id.text),
            case .done = try ledger.ask(.allow(ChannelSelector(channel.id.unpaddedText), operatorWord))
        else { throw TestFailure() }
    }

    @Test("an unknown name changes nothing and tells what could be meant")
    func unknown() throws {
        try ledger.take(TestChannel(1, title: "news"))
        guard case .declined(.unknownChannel("#new", similar: ["news"])) = try leave("#new"),
            case .declined(.unknownChannel("", similar: [])) = try leave("")
        else { throw TestFailure() }
        #expect(try ledger.status(of: TestChannel(1)) == .accepted)
    }

    @Test("a title that several channels have now is ambiguous, and tells their names")
    func ambiguous() throws {
        var channels = [TestChannel(1, title: "one"), TestChannel(2, title: "two")]
        for index in channels.indices {
            try ledger.take(channels[index])
            channels[index].title = "same"
            let profile = try GroupProfile.decode(json: channels[index].profile)
            _ = try ledger.published(
                channels[index].publish(
                    "p", .changeProfile(id: channels[index].id), tag: "x.grp.info",
                    replacement: .groupProfile(profile)))
        }
        guard case .declined(.ambiguous("#same", candidates: ["one", "two"])) = try leave("#same") else {
            throw TestFailure()
        }
        #expect(try ledger.channels().allSatisfy { $0.status == .accepted })
        guard case .done = try leave("#two") else { throw TestFailure() }
    }

    @Test("the name of a refused channel is not given to another one")
    func refusedName() throws {
        try ledger.take(TestChannel(1, title: "news"))
        _ = try leave("news")
        _ = try ledger.ask(.forget(ChannelSelector("news"), operatorWord))
        try ledger.take(TestChannel(2, title: "news"))
        #expect(try ledger.channels().map(\.name).sorted() == ["news", "news_1"])
    }

    @Test(
        "a title that could not be typed gives a name that can",
        arguments: [
            ("#'x'", "x"), ("  news ", "news"), ("a\u{1B}[31mb", "a[31mb"), ("''", "channel"),
            ("", "channel"),
            ("it's \"so\"", "it's \"so"), ("\u{202E}swen", "swen"),
        ])
    func names(title: String, name: String) throws {
        var channel = TestChannel(1)
        try ledger.take(TestChannel(2, title: "other"))
        channel.title = title.replacing("\\", with: "").replacing("\"", with: "\\\"").replacing(
            "\u{1B}", with: "\\u001b")
        try ledger.take(channel)
        #expect(try ledger.channels().first { $0.channel == channel.id }?.name == name)
        guard case .done(let summary) = try leave("#'\(name)'") else { throw TestFailure() }
        #expect(summary.channel == channel.id)
    }

    @Test("a channel that is served is not forgotten")
    func forgetServed() throws {
        try ledger.take(TestChannel(1, title: "news"))
        guard
            case .declined(.stillServed("news")) = try ledger.ask(
                .forget(ChannelSelector("news"), operatorWord))
        else { throw TestFailure() }
    }

    @Test("the status counts channels, members, messages, refusals and bytes")
    func status() throws {
        let news = TestChannel(1, title: "news")
        try ledger.take(news)
        try ledger.take(TestChannel(2))
        _ = try leave(TestChannel(2).id.text)
        _ = try ledger.ask(news.join("bob", seed: 9))
        _ = ledger.perform([news.post("a"), news.post("b")], now: 1)
        guard case .status(let status) = try ledger.ask(.status) else { throw TestFailure() }
        #expect(status.channels == [.accepted: 1, .rejected: 1])
        #expect(status.refusals == 1)
        #expect(status.members == 3)
        #expect(status.messages == 3)
        #expect(status.databaseBytes > 0)
        #expect(status.epoch == ledger.epoch)
    }

    @Test("each action of the operator is in the audit, newest first, and what changed nothing is not")
    func audit() throws {
        try ledger.take(TestChannel(1, title: "news"))
        _ = try leave("news")
        _ = try leave("news")
        _ = try ledger.ask(.allow(ChannelSelector("news"), operatorWord))
        _ = try ledger.ask(.forget(ChannelSelector("news"), operatorWord))
        guard case .audit(let entries) = try ledger.ask(.listAudit(limit: 100)) else { throw TestFailure() }
        #expect(entries.map(\.action) == ["forget", "allow", "leave"])
        #expect(entries.allSatisfy { $0.actor == "uid 1000" && $0.name == "news" })
    }

    @Test("the audit keeps so many rows and no more")
    func auditLimit() throws {
        ledger.options.auditRowsMax = 3
        try ledger.take(TestChannel(1, title: "news"))
        for _ in 0..<4 {
            _ = try leave("news")
            _ = try ledger.ask(.allow(ChannelSelector("news"), operatorWord))
        }
        _ = try ledger.ask(.prune(nil, operatorWord))
        guard case .audit(let entries) = try ledger.ask(.listAudit(limit: 100)) else { throw TestFailure() }
        #expect(entries.count == 3)
    }
}

@Suite("Joining")
struct JoiningTests {
    let directory: TemporaryDirectory
    let ledger: RelayLedger
    let news = TestChannel()

    init() throws {
        directory = try TemporaryDirectory()
        ledger = try RelayLedger(directory: directory.path)
        try ledger.take(news)
    }

    @Test("a join is answered with the channel's owners and profile, and owners are told of the member once")
    func join() throws {
        let batch = ledger.perform([news.join("bob", seed: 9), news.join("bob", seed: 9)], now: 77)
        guard case .joined(let first) = batch.replies[0], case .joined(let second) = batch.replies[1] else {
            throw TestFailure()
        }
        #expect(first.isNew && !second.isNew)
        #expect(first.role == .observer)
        #expect(first.relay == second.relay)
        #expect(first.owners.map(\.id) == [news.owner])
        #expect(first.owners.first?.name == "alice")
        #expect(first.profile == news.profile)
        guard batch.notices.count == 1, case .memberJoined(news.id, let member) = batch.notices[0] else {
            throw TestFailure()
        }
        #expect(member.joinedAt == 77)
    }

    @Test("who left stays out under the old id, and may come under a new one")
    func leftAndBack() throws {
        _ = try ledger.ask(news.join("bob", seed: 9))
        let batch = ledger.perform(
            news.publish("l", .leave, tag: "x.grp.leave", by: member("bob")), now: 1)
        guard case .published(.stored(1))? = batch.replies.first,
            case .membershipEnded(news.id, member("bob"), .memberRemoved)? = batch.notices.last
        else { throw TestFailure() }
        guard case .refused(.memberRemoved) = try ledger.ask(news.join("bob", seed: 9)),
            case .joined = try ledger.ask(news.join("bob2", seed: 10))
        else { throw TestFailure() }
        #expect(try ledger.channels().first?.members == 2)
    }

    @Test("the sole owner cannot leave; with a second one it can, and stays out")
    func ownerLeaves() throws {
        let leave = news.publish("l", .leave, tag: "x.grp.leave")
        #expect(try ledger.published(leave) == .refused(.notPermitted))
        var two = news
        two.moreOwners = [(member("carol"), TestChannel(3).ownerKey)]
        _ = try ledger.ask(
            .putRecord(LedgerCommand.PutRecord(owner: news.owner, record: two.record(version: 2))))
        #expect(try ledger.published(leave) == .stored(sequence: 1))
        guard case .refused(.memberRemoved) = try ledger.ask(news.attach()),
            case .attached(let carol) = try ledger.ask(news.attach(member("carol")))
        else { throw TestFailure() }
        #expect(carol.role == .owner)
    }

    @Test("an owner who is not in the record any more is a member no more")
    func ownerDropped() throws {
        var two = news
        two.moreOwners = [(member("carol"), TestChannel(3).ownerKey)]
        func put(_ channel: TestChannel, _ version: Int64) throws -> LedgerBatch {
            ledger.perform(
                .putRecord(
                    LedgerCommand.PutRecord(owner: news.owner, record: try channel.record(version: version))),
                now: 1)
        }
        _ = try put(two, 2)
        guard case .attached = try ledger.ask(news.attach(member("carol"))) else { throw TestFailure() }
        let batch = try put(news, 3)
        guard case .membershipEnded(news.id, member("carol"), .memberRemoved)? = batch.notices.first else {
            throw TestFailure()
        }
        guard case .refused(.memberRemoved) = try ledger.ask(news.attach(member("carol"))) else {
            throw TestFailure()
        }
    }

    @Test("the channel's member limit holds at the limit and one beyond")
    func full() throws {
        ledger.options.membersPerChannelMax = 3
        guard case .joined = try ledger.ask(news.join("a", seed: 11)),
            case .joined = try ledger.ask(news.join("b", seed: 12)),
            case .refused(.channelFull) = try ledger.ask(news.join("c", seed: 13)),
            case .joined = try ledger.ask(news.join("a", seed: 11))
        else { throw TestFailure() }
    }
}
