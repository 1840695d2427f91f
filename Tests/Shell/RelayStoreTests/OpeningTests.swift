import PosixKit
import SQLiteKit
import Testing

@testable import RelayStore

@Suite("Opening a state directory")
struct OpeningTests {
    @Test("a new directory is private, and so is everything in it")
    func modes() throws {
        let parent = try TemporaryDirectory()
        let path = parent.path + "/deep/state"
        let ledger = try RelayLedger(directory: path)
        #expect(Posix.status(path)?.mode == 0o700)
        for name in try Posix.list(path) {
            #expect(Posix.status(path + "/" + name)?.mode == 0o600, "\(name)")
        }
        ledger.close()
    }

    @Test("a second relay is refused while the first works")
    func inUse() throws {
        let directory = try TemporaryDirectory()
        let first = try RelayLedger(directory: directory.path)
        let error = #expect(throws: RelayStoreError.self) { try RelayLedger(directory: directory.path) }
        #expect(error == .inUse(path: directory.path))
        #expect(error?.exitCode == 75)
        first.close()
    }

    @Test("a second relay is refused also where the lock's file was deleted")
    func lockDeleted() throws {
        let directory = try TemporaryDirectory()
        let first = try RelayLedger(directory: directory.path)
        try Posix.removeFile(directory.path + "/relay.lock")
        let error = #expect(throws: RelayStoreError.self) { try RelayLedger(directory: directory.path) }
        #expect(error == .inUse(path: directory.path))
        first.close()
        let second = try RelayLedger(directory: directory.path)
        second.close()
    }

    @Test("the lock is free again after closing")
    func reopen() throws {
        let directory = try TemporaryDirectory()
        do {
            let first = try RelayLedger(directory: directory.path)
            first.close()
        }
        let second = try RelayLedger(directory: directory.path)
        second.close()
    }

    /// Refuses to open, and leaves every byte and every name as it was.
    private func expectUntouched(_ directory: TemporaryDirectory, exitCode: Int32) throws -> RelayStoreError?
    {
        let before = try directory.content()
        let error = #expect(throws: RelayStoreError.self) { try RelayLedger(directory: directory.path) }
        #expect(error?.exitCode == exitCode)
        #expect(try directory.content() == before)
        return error
    }

    @Test("a file that is no database is refused with 65 and stays as it was")
    func notADatabase() throws {
        let directory = try TemporaryDirectory()
        try Posix.writeFileAtomically(directory.path + "/relay.db", Array("my diary".utf8))
        _ = try expectUntouched(directory, exitCode: 65)
    }

    @Test("an empty file is not taken for a database of ours")
    func emptyFile() throws {
        let directory = try TemporaryDirectory()
        try Posix.writeFileAtomically(directory.path + "/relay.db", [])
        _ = try expectUntouched(directory, exitCode: 65)
    }

    @Test("another program's database is refused with 65 and stays as it was")
    func foreign() throws {
        let directory = try TemporaryDirectory()
        let other = try Database(path: directory.path + "/relay.db", mode: .create)
        try other.setApplicationID(7)
        try other.execute("CREATE TABLE diary (page TEXT)")
        other.close()
        guard case .foreign = try expectUntouched(directory, exitCode: 65) else {
            Issue.record("the database was not recognised as foreign")
            return
        }
    }

    @Test("a newer relay's database is refused with 65 and stays as it was")
    func tooNew() throws {
        let directory = try TemporaryDirectory()
        do {
            let ledger = try RelayLedger(directory: directory.path)
            ledger.close()
        }
        let database = try Database(path: directory.path + "/relay.db", mode: .readWrite)
        try database.setUserVersion(Schema.latest + 1)
        database.close()
        let error = try expectUntouched(directory, exitCode: 65)
        #expect(
            error
                == .tooNew(
                    path: directory.path + "/relay.db", version: Schema.latest + 1, supported: Schema.latest))
    }

    @Test("a database whose schema never was whole is refused with 65", arguments: [0, -5] as [Int32])
    func noVersion(version: Int32) throws {
        let directory = try TemporaryDirectory()
        do {
            let ledger = try RelayLedger(directory: directory.path)
            ledger.close()
        }
        let database = try Database(path: directory.path + "/relay.db", mode: .readWrite)
        try database.setUserVersion(version)
        database.close()
        _ = try expectUntouched(directory, exitCode: 65)
    }

    @Test("a link to a database that is not there is refused with 73, as when a volume is not mounted")
    func danglingLink() throws {
        let directory = try TemporaryDirectory()
        let link = directory.path + "/relay.db"
        try Posix.makeLink(link, to: directory.path + "/elsewhere/relay.db")
        let error = #expect(throws: RelayStoreError.self) { try RelayLedger(directory: directory.path) }
        #expect(error?.exitCode == 73)
        #expect(Posix.isDanglingLink(link))
    }

    @Test("a damaged database is refused with 65")
    func corrupt() throws {
        let directory = try TemporaryDirectory()
        do {
            let ledger = try RelayLedger(directory: directory.path)
            ledger.close()
        }
        var bytes = try Posix.readFile(directory.path + "/relay.db")
        for index in 100..<bytes.count { bytes[index] = 0xA5 }
        try Posix.writeFileAtomically(directory.path + "/relay.db", bytes)
        let error = #expect(throws: RelayStoreError.self) { try RelayLedger(directory: directory.path) }
        #expect(error?.exitCode == 65)
    }

    @Test("a path below a file cannot be created: 73")
    func cannotCreate() throws {
        let parent = try TemporaryDirectory()
        try Posix.writeFileAtomically(parent.path + "/file", Array("x".utf8))
        for path in [parent.path + "/file", parent.path + "/file/state"] {
            let error = #expect(throws: RelayStoreError.self) { try RelayLedger(directory: path) }
            #expect(error?.exitCode == 73)
        }
        #expect(try parent.content() == ["file": Array("x".utf8)])
    }

    @Test("a creation that was interrupted is started again")
    func interruptedCreation() throws {
        let directory = try TemporaryDirectory()
        try Posix.writeFileAtomically(directory.path + "/relay.db.new", Array("half".utf8))
        let ledger = try RelayLedger(directory: directory.path)
        #expect(try Posix.list(directory.path).contains("relay.db.new") == false)
        ledger.close()
    }
}

@Suite("Files that are taken away while the relay works")
struct ReplacedFilesTests {
    @Test(
        "nothing is accepted into files without a name, and all goes on once they are back",
        arguments: ["", "-wal"])
    func replaced(suffix: String) throws {
        let directory = try TemporaryDirectory()
        let ledger = try RelayLedger(directory: directory.path)
        let news = TestChannel()
        try ledger.take(news)
        #expect(try ledger.published(news.post("m1")) == .stored(sequence: 1))
        let file = directory.path + "/relay.db" + suffix
        let away = directory.path + "/away"
        for isReplaced in [false, true] {
            let copy = try Posix.readFile(file)
            try Posix.rename(file, to: away)
            if isReplaced { try Posix.writeFileAtomically(file, copy) }
            #expect(ledger.lackOfRoom() == .replaced)
            guard case .failed(.storageFull) = try ledger.ask(news.post("m2")) else { throw TestFailure() }
            guard case .failed(.internal) = try ledger.ask(.leave(ChannelSelector("news"), operatorWord))
            else {
                throw TestFailure()
            }
            guard case .status(let status) = try ledger.ask(.status) else { throw TestFailure() }
            #expect(status.lackOfRoom == .replaced && status.messages == 1)
            try Posix.rename(away, to: file)
            #expect(ledger.lackOfRoom() == nil)
        }
        #expect(try ledger.published(news.post("m2")) == .stored(sequence: 2))
        ledger.close()
        let again = try RelayLedger(directory: directory.path)
        #expect(try again.published(news.post("m2")) == .repeated(sequence: 2))
        again.close()
    }
}

@Suite("The epoch of the log")
struct EpochTests {
    private func epoch(_ directory: TemporaryDirectory) throws -> [UInt8] {
        let ledger = try RelayLedger(directory: directory.path)
        defer { ledger.close() }
        return ledger.epoch
    }

    @Test("it stays over restarts, also after a crash")
    func stays() throws {
        let directory = try TemporaryDirectory()
        let first = try epoch(directory)
        #expect(first.count == 8)
        #expect(try epoch(directory) == first)
        let log = directory.path + "/relay.db-wal"
        let left: [UInt8]
        do {
            // Not closed: the lock goes with the object, and the log, which is put back, as it is after a crash.
            let crashed = try RelayLedger(directory: directory.path)
            #expect(crashed.epoch == first)
            left = try Posix.readFile(log)
        }
        try Posix.writeFileAtomically(log, left)
        #expect(try epoch(directory) == first)
    }

    @Test("it changes when the write-ahead log of a crashed relay was removed, and not after a clean stop")
    func removedLog() throws {
        let directory = try TemporaryDirectory()
        let first = try epoch(directory)
        #expect(try epoch(directory) == first)
        do {
            // Not closed: its log goes with the object, and is not put back.
            let crashed = try RelayLedger(directory: directory.path)
            #expect(crashed.epoch == first && !crashed.lostLog)
        }
        #expect(!Posix.exists(directory.path + "/relay.db-wal"))
        let ledger = try RelayLedger(directory: directory.path)
        #expect(ledger.lostLog && ledger.epoch != first)
        ledger.close()
        let again = try RelayLedger(directory: directory.path)
        #expect(!again.lostLog && again.epoch == ledger.epoch)
        again.close()
    }

    @Test("it changes when an older database takes the place of the newer one")
    func restoredDatabase() throws {
        let directory = try TemporaryDirectory()
        let saved = try TemporaryDirectory()
        let first = try epoch(directory)
        try directory.copy(to: saved, only: ["relay.db"])
        #expect(try epoch(directory) == first)
        let old = try Posix.readFile(saved.path + "/relay.db")
        try Posix.writeFileAtomically(directory.path + "/relay.db", old)
        #expect(try epoch(directory) != first)
    }

    @Test("it changes when a copy of the whole directory is put to work")
    func copiedDirectory() throws {
        let directory = try TemporaryDirectory()
        let copy = try TemporaryDirectory()
        let first = try epoch(directory)
        try directory.copy(to: copy)
        #expect(try epoch(copy) != first)
        #expect(try epoch(directory) == first)
    }

    @Test("it changes when a backup is put in the place of the database")
    func backup() throws {
        let directory = try TemporaryDirectory()
        let ledger = try RelayLedger(directory: directory.path)
        let first = ledger.epoch
        let file = directory.path + "/backup.db"
        try RelayReader(directory: directory.path).backup(to: file)
        ledger.close()
        let bytes = try Posix.readFile(file)
        try Posix.writeFileAtomically(directory.path + "/relay.db", bytes)
        withExtendedLifetime(ledger) {}
        let other = try TemporaryDirectory()
        try Posix.writeFileAtomically(other.path + "/relay.db", bytes)
        #expect(try epoch(other) != first)
    }

    @Test("lets the write-ahead log grow to 12 MB where there is room, and to 4 on a small volume")
    func checkpoints() {
        #expect(StateDirectory.checkpointPages(freeBytes: 16 << 20) == 1000)
        #expect(StateDirectory.checkpointPages(freeBytes: 512 << 20) == 2048)
        #expect(StateDirectory.checkpointPages(freeBytes: 1 << 40) == 3000)
        #expect(3000 * (4096 + 24) < 16 << 20, "beyond it SQLite would cut the file each time")
    }
}
