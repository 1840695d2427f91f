import ChannelWire
import PosixKit
import RelayCore
import RelayStore
import SQLiteKit
import Testing

@Suite("Backup and restore")
struct RestoreTests {
    let news = TestChannel(1, title: "news")
    let sport = TestChannel(2, title: "sport")
    let directory: TemporaryDirectory
    let backup: String

    init() throws {
        directory = try TemporaryDirectory()
        backup = directory.path + "/backup.db"
    }

    /// A relay with ten messages in one channel and another channel, backed up.
    private func prepare() throws -> RelayLedger {
        let ledger = try RelayLedger(directory: directory.path + "/state")
        try ledger.take(news)
        try ledger.take(sport)
        _ = ledger.perform((1...10).map { news.post("m\($0)") }, now: 1)
        try RelayReader(directory: directory.path + "/state").backup(to: backup)
        return ledger
    }

    @Test("a restored relay has what the backup has, under another epoch")
    func restored() throws {
        let ledger = try prepare()
        _ = ledger.perform((11...20).map { news.post("m\($0)") }, now: 1)
        ledger.close()
        let report = try Restore.run(from: backup, into: directory.path + "/state")
        #expect(report.channels == 2)
        #expect(report.messages == 10)
        let again = try RelayLedger(directory: directory.path + "/state")
        #expect(again.epoch != ledger.epoch)
        #expect(try again.published(news.post("m10")) == .repeated(sequence: 10))
        #expect(try again.published(news.post("m11")) == .stored(sequence: 11))
        #expect(try again.check() == [])
        again.close()
    }

    @Test("a backup of another relay is not put in the place of this one's database")
    func anotherRelays() throws {
        let ledger = try prepare()
        try ledger.claim(for: [UInt8](repeating: 1, count: 32))
        let theirs = directory.path + "/theirs.db"
        try RelayReader(directory: directory.path + "/state").backup(to: theirs)
        ledger.close()
        let state = directory.path + "/other"
        let other = try RelayLedger(directory: state)
        try other.claim(for: [UInt8](repeating: 2, count: 32))
        let claimed = #expect(throws: RelayStoreError.self) {
            try other.claim(for: [UInt8](repeating: 1, count: 32))
        }
        #expect(claimed?.exitCode == 65)
        other.close()
        let error = #expect(throws: RelayStoreError.self) {
            try Restore.run(from: theirs, into: state, identity: [UInt8](repeating: 2, count: 32))
        }
        #expect(error?.exitCode == 65)
        let again = try RelayLedger(directory: state)
        #expect(try again.owner() == [UInt8](repeating: 2, count: 32))
        again.close()
        // One that nobody has claimed is anybody's.
        #expect(
            try Restore.run(from: backup, into: state, identity: [UInt8](repeating: 2, count: 32)).channels
                == 2)
    }

    @Test("what the operator left after the backup stays refused: no means no")
    func refusalsKept() throws {
        let ledger = try prepare()
        _ = try ledger.ask(.leave(ChannelSelector("sport"), operatorWord))
        ledger.close()
        #expect(try Restore.run(from: backup, into: directory.path + "/state").refusalsKept == 1)
        let again = try RelayLedger(directory: directory.path + "/state")
        guard case .invitation(.reject(.rejoinRejected)) = try again.ask(sport.invite(record: sport.record()))
        else {
            throw TestFailure()
        }
        #expect(try again.published(news.post("m11")) == .stored(sequence: 11))
        again.close()
    }

    @Test("restoring over a running relay is refused with 75 and changes nothing")
    func running() throws {
        let ledger = try prepare()
        let error = #expect(throws: RelayStoreError.self) {
            try Restore.run(from: backup, into: directory.path + "/state")
        }
        #expect(error?.exitCode == 75)
        #expect(try ledger.published(news.post("m11")) == .stored(sequence: 11))
        ledger.close()
    }

    @Test("what is no sound backup is refused with 65, and the relay's own database stays")
    func unsound() throws {
        let ledger = try prepare()
        ledger.close()
        var bytes = try Posix.readFile(backup)
        for index in 4096..<8192 { bytes[index] = 0xA5 }
        try Posix.writeFileAtomically(directory.path + "/damaged.db", bytes)
        try Posix.writeFileAtomically(directory.path + "/text.db", Array("x".utf8))
        for name in ["damaged.db", "text.db", "missing.db"] {
            let error = #expect(throws: RelayStoreError.self) {
                try Restore.run(from: directory.path + "/" + name, into: directory.path + "/state")
            }
            #expect(error?.exitCode == 65, "\(name)")
        }
        let again = try RelayLedger(directory: directory.path + "/state")
        #expect(again.epoch == ledger.epoch)
        #expect(try again.published(news.post("m11")) == .stored(sequence: 11))
        again.close()
    }

    @Test("the write-ahead log of the old database never meets the new one")
    func staleLog() throws {
        let crashed = try TemporaryDirectory()
        let ledger = try prepare()
        _ = ledger.perform((11...20).map { news.post("m\($0)") }, now: 1)
        // As after a crash: the log is full of what the backup does not have.
        for name in ["relay.db", "relay.db-wal"] {
            try Posix.writeFileAtomically(
                crashed.path + "/" + name, try Posix.readFile(directory.path + "/state/" + name))
        }
        ledger.close()
        _ = try Restore.run(from: backup, into: crashed.path)
        let again = try RelayLedger(directory: crashed.path)
        #expect(try again.check() == [])
        #expect(try again.published(news.post("m11")) == .stored(sequence: 11))
        again.close()
    }

    @Test("a write-ahead log without its database is gone after the restore")
    func orphanedLog() throws {
        let ledger = try prepare()
        ledger.close()
        let other = try TemporaryDirectory()
        try Posix.writeFileAtomically(other.path + "/relay.db-wal", Array("left over".utf8))
        _ = try Restore.run(from: backup, into: other.path)
        #expect(try Posix.list(other.path) == ["relay.db", "relay.lock"])
    }

    @Test("a restore into a new directory makes a relay of it")
    func newDirectory() throws {
        let ledger = try prepare()
        ledger.close()
        let other = directory.path + "/other"
        _ = try Restore.run(from: backup, into: other)
        let again = try RelayLedger(directory: other)
        #expect(try again.published(news.post("m10")) == .repeated(sequence: 10))
        again.close()
    }
}
