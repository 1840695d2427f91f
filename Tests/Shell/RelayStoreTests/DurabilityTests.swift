import ChannelWire
import PosixKit
import RelayCore
import SQLiteKit
import Testing

@testable import RelayStore

@Suite("Durability")
struct DurabilityTests {
    let news = TestChannel()

    @Test("what was answered is there after a crash, at whatever moment the files are taken")
    func crash() throws {
        let directory = try TemporaryDirectory()
        let ledger = try RelayLedger(directory: directory.path)
        try ledger.take(news)
        for number in 1...20 {
            #expect(try ledger.published(news.post("m\(number)")) == .stored(sequence: Int64(number)))
            guard number % 5 == 0 else { continue }
            let crashed = try TemporaryDirectory()
            try directory.copy(to: crashed, only: ["relay.db", "relay.db-wal"])
            let again = try RelayLedger(directory: crashed.path)
            #expect(try again.check() == [])
            for earlier in 1...number {
                #expect(try again.published(news.post("m\(earlier)")) == .repeated(sequence: Int64(earlier)))
            }
            #expect(try again.published(news.post("next")) == .stored(sequence: Int64(number + 1)))
            again.close()
        }
        ledger.close()
    }

    @Test("a ledger that was abandoned without closing is taken up where it was")
    func abandoned() throws {
        let directory = try TemporaryDirectory()
        do {
            let ledger = try RelayLedger(directory: directory.path)
            try ledger.take(news)
            _ = ledger.perform((1...10).map { news.post("m\($0)") }, now: 1)
        }
        let again = try RelayLedger(directory: directory.path)
        #expect(try again.published(news.post("m10")) == .repeated(sequence: 10))
        #expect(try again.published(news.post("m11")) == .stored(sequence: 11))
        again.close()
    }

    @Test(
        "a message alone writes its row, what finds it, and the channel's counters: nothing else",
        arguments: [0, 12_000])
    func pages(picture: Int) throws {
        var news = TestChannel()
        news.picture = picture
        let directory = try TemporaryDirectory()
        let ledger = try RelayLedger(directory: directory.path)
        defer { ledger.close() }
        try ledger.take(news)
        for number in 1...3 { _ = try ledger.published(news.post("m\(number)")) }
        func written() throws -> Int64 {
            try #require(Posix.status(directory.path + "/relay.db-wal")).size
        }
        let before = try written()
        _ = try ledger.published(news.post("m4"))
        // The row, its place by sequence and by message id, the counters; each with the 24 bytes of the log.
        #expect(try written() - before == 4 * (4096 + 24))
    }

    @Test("the relay's own key of a channel is the same after a restart")
    func relayKey() throws {
        let directory = try TemporaryDirectory()
        let first = try RelayLedger(directory: directory.path)
        let view = try first.take(news)
        first.close()
        let second = try RelayLedger(directory: directory.path)
        #expect(try second.take(news) == view)
        second.close()
    }

    private func big(_ number: Int) -> LedgerCommand {
        news.post("big\(number)", text: String(repeating: "x", count: 15_000))
    }

    @Test(
        "at the quota messages are refused, reading and the operator go on, and pruning frees it"
    )
    func quota() throws {
        let directory = try TemporaryDirectory()
        var options = LedgerOptions()
        options.quotaBytes = 1 << 20
        let ledger = try RelayLedger(directory: directory.path, options: options)
        try ledger.take(news)
        var stored = 0
        while case .published(.stored) = try ledger.ask(big(stored)) {
            stored += 1
            guard stored < 1000 else { break }
        }
        #expect(stored > 20 && stored < 80)
        guard case .failed(.storageFull) = try ledger.ask(big(stored)),
            case .attached = try ledger.ask(news.attach()),
            case .status(let status) = try ledger.ask(.status)
        else { throw TestFailure() }
        #expect(status.messages == Int64(stored) && status.lackOfRoom == .quota)
        let reader = try RelayReader(directory: directory.path)
        #expect(try reader.page(news.id, after: 0, maxBytes: 100)?.through == 1)

        ledger.options.retention = Retention(messages: 5)
        guard case .pruned(let pruned) = try ledger.ask(.prune(nil, operatorWord)) else {
            throw TestFailure()
        }
        #expect(pruned.messages == Int64(stored - 5))
        guard case .status(let after) = try ledger.ask(.status) else { throw TestFailure() }
        #expect(after.lackOfRoom == nil)
        #expect(try ledger.published(big(stored)) == .stored(sequence: Int64(stored + 1)))
        #expect(try ledger.check() == [])
        ledger.close()
    }

    @Test("at the quota the operator can still leave")
    func leaveWhenFull() throws {
        let directory = try TemporaryDirectory()
        var options = LedgerOptions()
        options.quotaBytes = 1 << 20
        let ledger = try RelayLedger(directory: directory.path, options: options)
        try ledger.take(news)
        var number = 0
        while case .published(.stored) = try ledger.ask(big(number)) { number += 1 }
        guard case .done = try ledger.ask(.leave(ChannelSelector("news"), operatorWord)) else {
            throw TestFailure()
        }
        #expect(try ledger.status(of: news) == .rejected)
        ledger.close()
    }

    @Test("a disk that fills inside a batch stores a prefix-free part: what fits, and nothing of the rest")
    func fullInsideBatch() throws {
        let directory = try TemporaryDirectory()
        var options = LedgerOptions()
        options.quotaBytes = 1 << 20
        options.quotaSlackBytes = 0
        let ledger = try RelayLedger(directory: directory.path, options: options)
        try ledger.take(news)
        let batch = ledger.perform((0..<100).map { big($0) }, now: 1)
        #expect(batch.replies.count == 100)
        var stored: [Int64] = []
        var full = 0
        for reply in batch.replies {
            switch reply {
            case .published(.stored(let sequence)): stored.append(sequence)
            case .failed(.storageFull): full += 1
            default: Issue.record("answered \(reply)")
            }
        }
        #expect(!stored.isEmpty && full > 0)
        #expect(stored == Array(1...Int64(stored.count)), "a failed message leaves no hole")
        let appended = batch.notices.filter { if case .appended = $0 { true } else { false } }
        #expect(appended.count == stored.count, "nobody hears of what was rolled back")
        // Each was carried out again by itself; what it told others still ends where the next one's begins.
        var told = 0
        let ends = batch.replies.map { reply in
            if case .published(.stored) = reply { told += 1 }
            return told
        }
        #expect(batch.noticeEnds == ends)
        #expect(try ledger.channels().first?.messages == Int64(stored.count))
        ledger.close()
    }

    @Test("what a failed batch changed in memory is not written by the next one")
    func forgotten() throws {
        let directory = try TemporaryDirectory()
        let ledger = try RelayLedger(directory: directory.path)
        defer { ledger.close() }
        try ledger.take(news)
        let state = try #require(try ledger.book.find(news.id))
        state.count = 99
        state.isDirty = true
        // As after a rollback.
        ledger.book.dropAll()
        #expect(try ledger.channels().first?.messages == 0)
        #expect(try ledger.check() == [])
    }

    @Test("when the volume is nearly full, messages wait and the rest goes on")
    func volumeReserve() throws {
        let directory = try TemporaryDirectory()
        let ledger = try RelayLedger(directory: directory.path)
        try ledger.take(news)
        ledger.options.volumeReserveBytes = .max
        guard case .failed(.storageFull) = try ledger.ask(news.post("a")),
            case .attached = try ledger.ask(news.attach()),
            case .done = try ledger.ask(.leave(ChannelSelector("news"), operatorWord))
        else { throw TestFailure() }
        ledger.close()
    }

    @Test("while another program holds the lock, the answer is internal, and nothing is half done")
    func foreignLock() throws {
        let directory = try TemporaryDirectory()
        let ledger = try RelayLedger(directory: directory.path)
        try ledger.take(news)
        ledger.setBusyTimeout(milliseconds: 1)
        let other = try Database(path: directory.path + "/relay.db", mode: .readWrite)
        try other.begin()
        let batch = ledger.perform([news.post("a"), news.post("b")], now: 1)
        for reply in batch.replies {
            guard case .failed(.internal) = reply else {
                Issue.record("answered \(reply)")
                continue
            }
        }
        #expect(batch.notices.isEmpty)
        other.rollback()
        #expect(try ledger.published(news.post("a")) == .stored(sequence: 1))
        other.close()
        ledger.close()
    }

    @Test("a backup taken between batches holds everything answered before, refusals too")
    func backup() throws {
        let directory = try TemporaryDirectory()
        let ledger = try RelayLedger(directory: directory.path)
        try ledger.take(news)
        let sport = TestChannel(2, title: "sport")
        try ledger.take(sport)
        _ = ledger.perform((1...50).map { news.post("m\($0)") }, now: 1)
        _ = try ledger.ask(.leave(ChannelSelector("sport"), operatorWord))
        let other = try TemporaryDirectory()
        try RelayReader(directory: directory.path).backup(to: other.path + "/relay.db")
        #expect(try Posix.list(other.path) == ["relay.db"])
        _ = try ledger.published(news.post("later"))
        let restored = try RelayLedger(directory: other.path)
        #expect(try restored.published(news.post("m50")) == .repeated(sequence: 50))
        #expect(try restored.status(of: sport) == .rejected)
        #expect(restored.epoch != ledger.epoch)
        restored.close()
        ledger.close()
    }

    @Test(
        "a backup takes the place of an older one, never of the relay's own files or of what is no file",
        arguments: [
            "relay.db", "relay.db-wal", "relay.identity", "relay.lock", "./relay.instance",
            "../linked/relay.db", "control.sock", "folder", "device",
        ])
    func backupInThePlaceOf(name: String) throws {
        let outer = try TemporaryDirectory()
        let state = outer.path + "/state"
        let ledger = try RelayLedger(directory: state)
        try ledger.take(news)
        try Posix.createDirectory(state + "/folder")
        // A device, seen through a link: were the link replaced, no device would be harmed.
        try Posix.makeLink(state + "/device", to: "/dev/zero")
        try Posix.makeLink(outer.path + "/linked", to: state)
        let before = Posix.status(state + "/relay.db")?.inode
        let reader = try RelayReader(directory: state)
        try Posix.writeFileAtomically(state + "/backup.db", Array("older".utf8))
        try reader.backup(to: state + "/backup.db")
        let names = try Posix.list(state).sorted()
        #expect { try reader.backup(to: "\(state)/\(name)") } throws: { error in
            guard case .cannotCreate = error as? RelayStoreError else { return false }
            return true
        }
        #expect(try Posix.list(state).sorted() == names)
        #expect(Posix.status(state + "/relay.db")?.inode == before)
        ledger.close()
    }

    @Test("upkeep does not wait for a reader in the middle of a page")
    func upkeepWithReader() throws {
        let directory = try TemporaryDirectory()
        let ledger = try RelayLedger(directory: directory.path)
        try ledger.take(news)
        _ = try ledger.published(news.post("a"))
        let id = try #require(MessageID(bytes: Array("a".utf8)))
        let reader = try Database(path: directory.path + "/relay.db", mode: .readOnly)
        try reader.execute("BEGIN; SELECT count(*) FROM log")
        _ = try ledger.published(news.publish("b", .delete(id, of: nil), tag: "x.msg.del"))
        // Waiting would be for ever: the reader goes on only below.
        ledger.setBusyTimeout(milliseconds: 100_000_000)
        ledger.maintain()
        #expect(ledger.wantsMaintenance)
        reader.rollback()
        ledger.maintain()
        #expect(!ledger.wantsMaintenance)
        reader.close()
        ledger.close()
    }

    @Test("what is dropped goes a piece at a time, and a restarted one goes on", arguments: [true, false])
    func pieces(keeping: Bool) throws {
        let directory = try TemporaryDirectory()
        var options = LedgerOptions()
        options.dropBytesMax = 100_000
        let ledger = try RelayLedger(directory: directory.path, options: options)
        try ledger.take(news)
        _ = ledger.perform((0..<60).map { big($0) }, now: 1)
        let command: LedgerCommand
        if keeping {
            command = .prune(ChannelSelector("news"), keep: 3, operatorWord)
        } else {
            _ = try ledger.ask(.leave(ChannelSelector("news"), operatorWord))
            command = .forget(ChannelSelector("news"), operatorWord)
        }
        var pieces: [Pruned] = []
        while case .pruned(let pruned) = try ledger.ask(command) {
            pieces.append(pruned)
            #expect(try ledger.check() == [])
            if pruned.isWhole { break }
        }
        #expect(pieces.count > 5)
        #expect(pieces.allSatisfy { $0.bytes < 120_000 && $0.messages > 0 })
        #expect(pieces.reduce(0) { $0 + $1.messages } >= (keeping ? 57 : 50))
        #expect(try ledger.channels().first?.messages == (keeping ? 3 : 0))
        guard case .audit(let actions) = try ledger.ask(.listAudit(limit: 10)) else { throw TestFailure() }
        #expect(actions.map(\.action) == (keeping ? ["prune"] : ["forget", "leave"]))
        ledger.close()
    }

    @Test("the log of a channel that was left goes in pieces too, one a sweep")
    func unservedPieces() throws {
        let directory = try TemporaryDirectory()
        var options = LedgerOptions()
        options.dropBytesMax = 100_000
        let ledger = try RelayLedger(directory: directory.path, options: options)
        try ledger.take(news)
        let other = TestChannel(2, title: "other")
        try ledger.take(other)
        _ = ledger.perform((0..<60).map { big($0) } + [other.post("a")], now: 1)
        for name in ["news", "other"] { _ = try ledger.ask(.leave(ChannelSelector(name), operatorWord)) }
        var sweeps = 0
        while try ledger.channels().contains(where: { $0.messages > 0 }), sweeps < 50 {
            ledger.maintain(now: 1000 + options.unservedLogSeconds + 1)
            sweeps += 1
        }
        #expect(sweeps > 5 && sweeps < 20)
        ledger.close()
    }

    @Test("after pruning, the file gives its pages back")
    func shrinks() throws {
        let directory = try TemporaryDirectory()
        let ledger = try RelayLedger(directory: directory.path)
        try ledger.take(news)
        _ = ledger.perform((0..<200).map { big($0) }, now: 1)
        ledger.maintain()
        let before = try #require(Posix.status(directory.path + "/relay.db")).size
        ledger.options.retention = Retention(messages: 1)
        _ = try ledger.ask(.prune(nil, operatorWord))
        ledger.maintain()
        let after = try #require(Posix.status(directory.path + "/relay.db")).size
        #expect(after < before / 4)
        ledger.close()
    }
}
