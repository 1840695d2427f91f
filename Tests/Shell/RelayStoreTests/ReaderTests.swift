import ChannelWire
import RelayCore
import RelayStore
import Testing

@Suite("Reading")
struct ReaderTests {
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

    /// Posts `m1`… at rising times: number n at 1000 + n.
    private func post(_ numbers: ClosedRange<Int>) throws {
        for number in numbers {
            _ = try ledger.published(news.post("m\(number)"), now: Int64(1000 + number))
        }
    }

    private func erase(_ numbers: [Int]) throws {
        for number in numbers {
            let id = try #require(MessageID(bytes: Array("m\(number)".utf8)))
            _ = try ledger.published(
                news.publish("d\(number)", .delete(id, of: nil), tag: "x.msg.del"), now: 9000)
        }
    }

    /// Walks the log in pages of a size and answers the outline of all of it.
    private func walk(from after: Int64 = 0, maxBytes: Int) throws -> [String] {
        var lines: [String] = []
        var position = after
        while true {
            let page = try #require(try reader.page(news.id, after: position, maxBytes: maxBytes))
            if page.frames.isEmpty {
                #expect(page.through == position)
                #expect(position == page.head)
                return lines
            }
            #expect(page.through > position, "a page makes progress")
            #expect(page.frames.count <= maxBytes || outline(page.frames).count <= 2)
            lines += outline(page.frames)
            position = page.through
        }
    }

    /// The sequences that frames cover, one by one.
    private func covered(_ lines: [String]) -> [Int64] {
        lines.flatMap { line -> [Int64] in
            let ends = line.split(separator: "!")[0].split(separator: "-").compactMap { Int64($0) }
            return Array(ends[0]...ends[ends.count - 1])
        }
    }

    @Test(
        "pages are contiguous over erased and pruned ranges, whatever their size",
        arguments: [1, 200, 500, 1 << 20])
    func contiguous(maxBytes: Int) throws {
        try post(1...30)
        try erase([3, 12, 13, 14, 29, 30])
        ledger.options.retention = Retention(messages: 25)
        guard case .pruned(let pruned) = try ledger.ask(.prune(ChannelSelector("news"), operatorWord)) else {
            throw TestFailure()
        }
        #expect(pruned.messages == 5)
        let lines = try walk(maxBytes: maxBytes)
        #expect(covered(lines) == Array(1...36))
        #expect(lines.first == "1-6!pruned")
        #expect(lines.contains("12-14!erased"))
        #expect(lines.contains("29-30!erased"))
    }

    @Test("an erased head is covered by a gap up to it")
    func erasedHead() throws {
        try post(1...2)
        _ = try ledger.ask(news.join("bob", seed: 9))
        // Removal with messages erases what is stored of the member after its own entry.
        let roster = LedgerCommand.ApplyRoster(
            channel: news.id, owner: news.owner, version: 0, digest: [UInt8](repeating: 0, count: 64),
            entries: [
                Roster.Entry(
                    member: member("bob"), key: key(.init(seed: [UInt8](repeating: 9, count: 32))),
                    role: .member)
            ])
        _ = try ledger.ask(.applyRoster(roster))
        _ = try ledger.published(news.post("b1", by: member("bob")))
        _ = try ledger.published(news.post("b2", by: member("bob")))
        let remove = news.publish("r", .remove(member("bob"), eraseMessages: true), tag: "x.grp.mem.del")
        #expect(try ledger.published(remove) == .stored(sequence: 5))
        #expect(try walk(maxBytes: 1 << 20) == ["1", "2", "3-4!erased", "5"])
        #expect(try walk(from: 3, maxBytes: 1 << 20) == ["4-4!erased", "5"])
    }

    @Test("a reader at the head gets nothing, one of an unknown channel nil")
    func nothing() throws {
        try post(1...2)
        #expect(try reader.page(news.id, after: 2, maxBytes: 100)?.frames == [])
        #expect(try reader.page(TestChannel(9).id, after: 0, maxBytes: 100) == nil)
    }

    @Test("a log that was pruned whole is one gap")
    func allPruned() throws {
        try post(1...3)
        ledger.options.unservedLogSeconds = 10
        _ = try ledger.ask(.leave(ChannelSelector("news"), operatorWord), now: 100)
        _ = try ledger.ask(.prune(nil, operatorWord), now: 109)
        #expect(try ledger.channels().first?.messages == 4)
        _ = try ledger.ask(.prune(nil, operatorWord), now: 110)
        #expect(try ledger.channels().first?.messages == 0)
        #expect(try walk(maxBytes: 100) == ["1-4!pruned"])
    }

    // MARK: Attach

    private func attach(_ start: LogWindow.Start) throws -> AttachedView {
        guard case .attached(let view) = try ledger.ask(news.attach(nil, start)) else { throw TestFailure() }
        return view
    }

    @Test("a new subscriber gets the last messages, counted without erased ones")
    func newest() throws {
        try post(1...10)
        try erase([8, 9])
        // Stored: 1…7, 10, and the deletions 11 and 12.
        #expect(try attach(.newest(4)).resume.resumeAfter == 6)
        #expect(try attach(.newest(100)).resume.resumeAfter == 0)
        #expect(try attach(.live).resume.resumeAfter == 12)
        let window = try attach(.live).window
        #expect(window.first == 1 && window.head == 12)
    }

    @Test("more than 100 messages are never given as history of a new subscriber")
    func newestLimit() throws {
        try post(1...120)
        #expect(try attach(.newest(120)).resume.resumeAfter == 20)
    }

    @Test("a cursor of this epoch resumes where it was, another one at the beginning")
    func cursor() throws {
        try post(1...10)
        let epoch = try attach(.live).window.epoch
        #expect(
            try attach(.after(epoch: epoch, position: 4)).resume
                == LogWindow.Resume(resumeAfter: 4, epochLost: false))
        #expect(
            try attach(.after(epoch: [0, 0, 0, 0, 0, 0, 0, 0], position: 4)).resume
                == LogWindow.Resume(resumeAfter: 0, epochLost: true))
    }

    @Test("a channel that was forgotten and comes back has another log, though the sequences look alike")
    func forgotten() throws {
        try post(1...10)
        let before = try attach(.live).window
        _ = try ledger.ask(.leave(ChannelSelector("news"), operatorWord))
        _ = try ledger.ask(.forget(ChannelSelector("news"), operatorWord))
        _ = try ledger.ask(.allow(ChannelSelector("news"), operatorWord))
        try ledger.take(news)
        try post(1...10)
        let after = try attach(.after(epoch: before.epoch, position: 5))
        #expect(after.window.head == before.head)
        #expect(after.resume == LogWindow.Resume(resumeAfter: 0, epochLost: true))
    }

    // MARK: History

    private func history(_ question: RelayReader.HistoryQuestion, limit: Int) throws -> (
        sequences: [Int64], more: Bool
    ) {
        let page = try #require(try reader.history(news.id, question, limit: limit))
        return (page.messages.map(\.sequence), page.more)
    }

    @Test("history before a sequence is the nearest, in rising order")
    func beforeSequence() throws {
        try post(1...10)
        #expect(try history(.beforeSequence(8), limit: 3) == ([5, 6, 7], true))
        #expect(try history(.beforeSequence(3), limit: 3) == ([1, 2], false))
        #expect(try history(.beforeSequence(1), limit: 3) == ([], false))
        #expect(try history(.beforeSequence(99), limit: 1) == ([10], true))
    }

    @Test("history by time finds its place among erased entries too")
    func byTime() throws {
        try post(1...20)
        try erase([5, 6, 7, 8, 9, 10, 11])
        for time in 1000...1022 as ClosedRange<Int64> {
            let stored = [1, 2, 3, 4] + Array(12...20).map { Int64($0) }
            let before = stored.filter { 1000 + $0 < time }
            let after = stored.filter { 1000 + $0 >= time }
            #expect(
                try history(.beforeTime(time), limit: 3) == (Array(before.suffix(3)), before.count > 3),
                "\(time)")
            // The seven deletions lie at 9000, after all of these.
            let following = (after + Array(21...27)).prefix(3)
            #expect(try history(.fromTime(time), limit: 3).sequences == Array(following), "\(time)")
        }
        #expect(try history(.fromTime(9001), limit: 3) == ([], false))
    }

    @Test("a page of history carries the batch that DELIVER carried")
    func batch() throws {
        try post(1...1)
        let page = try #require(try reader.history(news.id, .beforeSequence(2), limit: 1))
        let delivered = try #require(try reader.page(news.id, after: 0, maxBytes: 1000)).frames
        #expect(page.messages.first?.batch == Array(delivered[11...]))
    }

    @Test("history never has more than 500 messages")
    func historyLimit() throws {
        _ = ledger.perform((1...510).map { news.post("m\($0)") }, now: 1000)
        let page = try history(.beforeSequence(511), limit: 1000)
        #expect(page.sequences.count == 500)
        #expect(page.more)
    }

    // MARK: Members

    @Test("members come in pages by rising id, with the whole count")
    func members() throws {
        for number in 10..<40 { _ = try ledger.ask(news.join("m\(number)", seed: UInt8(number))) }
        var names: [String] = []
        var after: MemberID?
        repeat {
            let page = try #require(try reader.members(news.id, after: after, limit: 7))
            #expect(page.total == 31)
            names += page.members.map { String(decoding: $0.id.bytes, as: UTF8.self) }
            after = page.more ? page.members.last?.id : nil
        } while after != nil
        #expect(names == (10..<40).map { "m\($0)" } + ["owner1"])
    }

    @Test("a page has at most 50 members")
    func membersLimit() throws {
        for number in 10..<80 { _ = try ledger.ask(news.join("m\(number)", seed: UInt8(number))) }
        let page = try #require(try reader.members(news.id, after: nil, limit: 1000))
        #expect(page.members.count == 50)
        #expect(page.more)
    }

    // MARK: Retention

    @Test("a channel's log never passes its limits, in messages or in bytes")
    func retention() throws {
        ledger.options.retention = Retention(messages: 100, bytes: 1 << 20)
        for start in stride(from: 0, to: 1000, by: 50) {
            _ = ledger.perform((start..<start + 50).map { news.post("m\($0)") }, now: 1000)
            let summary = try #require(try ledger.channels().first)
            #expect(summary.messages <= 100)
            #expect(summary.head == Int64(start + 50))
        }
        ledger.options.retention = Retention(messages: 100, bytes: 4000)
        _ = ledger.perform((2000..<2100).map { news.post("m\($0)") }, now: 1000)
        let summary = try #require(try ledger.channels().first)
        #expect(summary.bytes <= 4000)
        let lines = try walk(maxBytes: 1 << 20)
        #expect(covered(lines) == Array(1...1100))
        #expect(Int64(lines.count - 1) == summary.messages)
    }

    @Test("upkeep sweeps all channels, a few at a time, without anybody asking")
    func sweep() throws {
        try post(1...10)
        ledger.options.retention = Retention(messages: 3)
        ledger.maintain(now: 2000)
        #expect(try walk(maxBytes: 1 << 20) == ["1-7!pruned", "8", "9", "10"])
        #expect(try ledger.check() == [])
    }

    @Test("entries older than the retention go with a sweep")
    func age() throws {
        try post(1...10)
        ledger.options.retention = Retention(ageSeconds: 100)
        _ = try ledger.ask(.prune(nil, operatorWord), now: 1105)
        #expect(try walk(maxBytes: 1 << 20) == ["1-4!pruned", "5", "6", "7", "8", "9", "10"])
    }
}
