import Foundation
import SQLiteKit
import Testing

/// A folder that goes when the test ends.
final class SQLiteFolder {
    let path: String

    init() throws {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent(
            "sqlitekit-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        path = url.path
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    func file(_ name: String) -> String { "\(path)/\(name)" }
}

private func memory() throws -> Database {
    let database = try Database(path: ":memory:", mode: .create)
    try database.execute("CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT, data BLOB) STRICT")
    return database
}

@Suite struct SQLiteStatementTests {
    @Test func `every kind of value comes back as it went in`() throws {
        let database = try memory()
        let bytes = (0..<300).map { UInt8(truncatingIfNeeded: $0) }
        try database.run(
            "INSERT INTO item VALUES (?, ?, ?)", [.integer(.min), .text("na\0me é"), .blob(bytes)])
        try database.run("INSERT INTO item VALUES (?, ?, ?)", [1, "", .blob([])])
        try database.run(
            "INSERT INTO item VALUES (?, ?, ?)",
            [SQLiteValue(2 as Int64?), SQLiteValue(nil as String?), SQLiteValue(nil as [UInt8]?)])
        let rows = try database.query("SELECT id, name, data FROM item ORDER BY id") { row in
            (row.int64(0), row.textOrNil(1), row.blobOrNil(2))
        }
        #expect(rows.count == 3)
        #expect(rows[0] == (Int64.min, "na\0me é", bytes))
        #expect(rows[1] == (1, "", []), "empty is not NULL")
        #expect(rows[2] == (2, nil, nil))
        #expect(try database.first("SELECT ?", [.real(1.5)]) { row in row.double(0) } == 1.5)
    }

    @Test func `reading NULL gives nothing, zero and emptiness`() throws {
        let database = try memory()
        let seen = try database.first("SELECT NULL, 1") { row in
            row.isNull(0) && !row.isNull(1) && row.int64(0) == 0 && row.text(0).isEmpty && row.blob(0).isEmpty
                && row.int64OrNil(0) == nil && row.int64OrNil(1) == 1 && row.columnCount == 2 && row.bool(1)
        }
        #expect(seen == true)
    }

    @Test func `run answers how many rows changed`() throws {
        let database = try memory()
        #expect(try database.run("INSERT INTO item VALUES (1, 'a', NULL), (2, 'b', NULL)") == 2)
        #expect(database.lastInsertedRowID == 2)
        #expect(try database.run("UPDATE item SET name = 'c' WHERE id > 1") == 1)
        #expect(try database.run("DELETE FROM item WHERE id = 77") == 0)
        #expect(
            try database.run("CREATE TABLE other (id INTEGER) STRICT") == 0, "not the count of the one before"
        )
    }

    @Test func `a statement is prepared once per text and reset after use`() throws {
        let database = try memory()
        try database.run("INSERT INTO item VALUES (1, 'a', NULL), (2, 'b', NULL)")
        let before = database.cachedStatementCount
        for id in [1, 2, 3] {
            _ = try database.first("SELECT name FROM item WHERE id >= ? ORDER BY id", [.integer(Int64(id))]) {
                row in
                row.text(0)
            }
        }
        #expect(database.cachedStatementCount == before + 1)
        // A statement left in the middle of its rows would keep the table from being dropped.
        try database.execute("DROP TABLE item")
    }

    @Test func `texts that lie one after the other in the same memory are told apart`() throws {
        let database = try memory()
        for number in 1000..<3000 {
            // Each text goes before the next is made, which then lies where it lay.
            let found = try database.first("SELECT \(number) AS a_number_of_four_digits") { $0.int64(0) }
            #expect(found == Int64(number))
            #expect(database.cachedStatementCount <= 512)
        }
    }

    @Test func `a query may run the same query inside its own rows`() throws {
        let database = try memory()
        try database.run("INSERT INTO item VALUES (1, 'a', NULL), (2, 'b', NULL), (3, 'c', NULL)")
        let sql = "SELECT id FROM item WHERE id > ? ORDER BY id"
        var pairs: [[Int64]] = []
        try database.forEach(sql, [0]) { outer in
            let id = outer.int64(0)
            let inner = (try? database.query(sql, [.integer(id)]) { row in row.int64(0) }) ?? []
            pairs.append([outer.int64(0)] + inner)
            return .next
        }
        #expect(pairs == [[1, 2, 3], [2, 3], [3]])
    }

    @Test func `forEach stops when told, and the rest is not read`() throws {
        let database = try memory()
        var seen = 0
        try database.forEach(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 1000000000) SELECT i FROM n"
        ) { _ in
            seen += 1
            return seen == 3 ? .stop : .next
        }
        #expect(seen == 3)
        #expect(try database.first("SELECT 1 WHERE 0") { row in row.int64(0) } == nil)
    }

    @Test func `a blob can be lent without a copy`() throws {
        let database = try memory()
        try database.run("INSERT INTO item VALUES (1, NULL, ?), (2, NULL, NULL)", [[1, 2, 3]])
        let sums = try database.query("SELECT data FROM item ORDER BY id") { row in
            row.withBlob(0) { $0.reduce(0) { $0 + Int($1) } }
        }
        #expect(sums == [6, 0])
    }

    @Test func `an error says what is wrong with which statement, and never the values`() throws {
        let database = try memory()
        try database.run("INSERT INTO item VALUES (1, 'a', NULL)")
        let sql = "INSERT INTO item VALUES (?, ?, NULL)"
        let error = #expect(throws: SQLiteError.self) { try database.run(sql, [1, "a secret"]) }
        #expect(error?.extendedCode == 1555)
        #expect(error?.isConstraint == true && error?.isBusy == false)
        #expect(error?.sql == sql)
        #expect(error?.description.contains("item.id") == true)
        #expect(error?.description.contains("secret") == false)
        #expect(throws: SQLiteError.self) { try database.run("SELECT nothing FROM nowhere") }
        #expect(throws: SQLiteError.self) {
            try database.execute("CREATE TABLE a (b INTEGER) STRICT; nonsense")
        }
        #expect(throws: SQLiteError.self, "double quotes are for names") {
            try database.run("SELECT \"text\"")
        }
    }
}

@Suite struct SQLiteTransactionTests {
    private func count(_ database: Database) throws -> Int64 {
        try database.first("SELECT count(*) FROM item") { row in row.int64(0) } ?? -1
    }

    private struct Refused: Error {}

    @Test func `an error inside a transaction undoes all of it`() throws {
        let database = try memory()
        #expect(throws: Refused.self) {
            try database.transaction {
                try database.run("INSERT INTO item VALUES (1, NULL, NULL)")
                throw Refused()
            }
        }
        #expect(!database.isInTransaction)
        #expect(try count(database) == 0)
        let result = try database.transaction {
            #expect(database.isInTransaction)
            try database.run("INSERT INTO item VALUES (1, NULL, NULL)")
            return "done"
        }
        #expect(result == "done")
        #expect(try count(database) == 1)
    }

    @Test func `an error at COMMIT undoes all of it`() throws {
        let database = try memory()
        try database.execute(
            """
            CREATE TABLE child (id INTEGER PRIMARY KEY,
                item INTEGER NOT NULL REFERENCES item DEFERRABLE INITIALLY DEFERRED) STRICT
            """)
        let error = #expect(throws: SQLiteError.self) {
            try database.transaction { try database.run("INSERT INTO child VALUES (1, 99)") }
        }
        #expect(error?.isConstraint == true)
        #expect(!database.isInTransaction)
        #expect(try database.first("SELECT count(*) FROM child") { row in row.int64(0) } == 0)
    }

    @Test func `a savepoint undoes its own part only, and they nest`() throws {
        let database = try memory()
        try database.transaction {
            try database.run("INSERT INTO item VALUES (1, NULL, NULL)")
            #expect(throws: Refused.self) {
                try database.savepoint {
                    try database.run("INSERT INTO item VALUES (2, NULL, NULL)")
                    try database.savepoint { try database.run("INSERT INTO item VALUES (3, NULL, NULL)") }
                    throw Refused()
                }
            }
            try database.savepoint { try database.run("INSERT INTO item VALUES (4, NULL, NULL)") }
        }
        #expect(try database.query("SELECT id FROM item ORDER BY id") { row in row.int64(0) } == [1, 4])
    }

    @Test func `begin, commit and rollback do by hand what transaction does`() throws {
        let database = try memory()
        try database.begin()
        try database.run("INSERT INTO item VALUES (1, NULL, NULL)")
        database.rollback()
        database.rollback()
        #expect(try count(database) == 0)
        try database.begin()
        try database.run("INSERT INTO item VALUES (1, NULL, NULL)")
        try database.commit()
        #expect(try count(database) == 1)
    }

    @Test func `a lock held elsewhere is a typed error after the timeout`() throws {
        let folder = try SQLiteFolder()
        let first = try Database(path: folder.file("a.db"), mode: .create)
        try first.execute("CREATE TABLE item (id INTEGER PRIMARY KEY) STRICT")
        let second = try Database(path: folder.file("a.db"), mode: .readWrite, busyTimeoutMilliseconds: 0)
        try first.begin()
        let error = #expect(throws: SQLiteError.self) { try second.begin() }
        #expect(error?.isBusy == true)
        #expect(!second.isInTransaction)
        try first.commit()
        try second.begin()
        second.rollback()
    }

    @Test func `a snapshot sees one state while others write`() throws {
        let folder = try SQLiteFolder()
        let writer = try Database(path: folder.file("a.db"), mode: .create)
        #expect(try writer.setPragma("journal_mode", to: "WAL") == "wal")
        try writer.execute("CREATE TABLE item (id INTEGER PRIMARY KEY) STRICT")
        let reader = try Database(path: folder.file("a.db"), mode: .readOnly)
        try reader.snapshot {
            #expect(try count(reader) == 0)
            try writer.run("INSERT INTO item VALUES (1)")
            #expect(try count(reader) == 0)
        }
        #expect(try count(reader) == 1)
    }

    @Test func `a full database is a typed error, and the transaction is undone`() throws {
        let database = try memory()
        try database.setPragma("max_page_count", to: 8)
        let error = #expect(throws: SQLiteError.self) {
            try database.transaction {
                for _ in 0..<100 {
                    try database.run(
                        "INSERT INTO item VALUES (NULL, NULL, ?)", [.blob([UInt8](repeating: 1, count: 4000))]
                    )
                }
            }
        }
        #expect(error?.isFull == true)
        #expect(!database.isInTransaction)
        #expect(try count(database) == 0)
    }
}

@Suite struct SQLiteFileTests {
    @Test func `modes do what they say`() throws {
        let folder = try SQLiteFolder()
        let path = folder.file("a.db")
        for mode in [Database.OpenMode.readOnly, .readWrite] {
            let error = #expect(throws: SQLiteError.self) { try Database(path: path, mode: mode) }
            #expect(error?.isCannotOpen == true)
        }
        let database = try Database(path: path, mode: .create)
        try database.execute("CREATE TABLE item (id INTEGER PRIMARY KEY) STRICT")
        database.close()
        database.close()
        let reader = try Database(path: path, mode: .readOnly)
        let error = #expect(throws: SQLiteError.self) { try reader.run("INSERT INTO item VALUES (1)") }
        #expect(error?.isReadOnly == true)
    }

    @Test func `a file of something else is noticed at first use`() throws {
        let folder = try SQLiteFolder()
        try Data(repeating: 0x41, count: 5000).write(to: URL(fileURLWithPath: folder.file("a.db")))
        let database = try Database(path: folder.file("a.db"), mode: .readWrite)
        let error = #expect(throws: SQLiteError.self) { try database.userVersion }
        #expect(error?.isNotADatabase == true)
    }

    @Test func `damage is found by the quick check`() throws {
        let folder = try SQLiteFolder()
        let path = folder.file("a.db")
        let database = try Database(path: path, mode: .create)
        try database.execute("CREATE TABLE item (id INTEGER PRIMARY KEY, data BLOB) STRICT")
        for _ in 0..<50 {
            try database.run("INSERT INTO item VALUES (NULL, ?)", [.blob([UInt8](repeating: 7, count: 1000))])
        }
        #expect(try database.quickCheck() == [])
        database.close()
        var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        bytes.replaceSubrange(4096..<4200, with: Data(repeating: 0xff, count: 104))
        try bytes.write(to: URL(fileURLWithPath: path))
        let damaged = try Database(path: path, mode: .readOnly)
        do {
            #expect(try !damaged.quickCheck().isEmpty)
        } catch {
            #expect(error.isCorrupt)
        }
    }

    @Test func `the header's numbers are kept, and the schema comes sorted`() throws {
        let folder = try SQLiteFolder()
        do {
            let database = try Database(path: folder.file("a.db"), mode: .create)
            try database.setUserVersion(7)
            try database.setApplicationID(0x414e_544e)
            try database.execute(
                """
                CREATE TABLE zebra (id INTEGER PRIMARY KEY) STRICT;
                CREATE TABLE sqlites (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT UNIQUE) STRICT;
                CREATE INDEX ant ON zebra (id);
                """)
        }
        let database = try Database(path: folder.file("a.db"), mode: .readOnly)
        #expect(try database.userVersion == 7)
        #expect(try database.applicationID == 0x414e_544e)
        #expect(
            try database.schemaDump() == """
                CREATE TABLE sqlites (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT UNIQUE) STRICT;
                CREATE TABLE zebra (id INTEGER PRIMARY KEY) STRICT;
                CREATE INDEX ant ON zebra (id);

                """)
    }

    @Test func `foreign keys are enforced on every connection`() throws {
        let database = try memory()
        #expect(try database.pragma("foreign_keys") == "1")
        try database.execute("CREATE TABLE child (item INTEGER NOT NULL REFERENCES item) STRICT")
        let error = #expect(throws: SQLiteError.self) { try database.run("INSERT INTO child VALUES (5)") }
        #expect(error?.isConstraint == true)
    }

    @Test func `a checkpoint moves the log into the file and says how much`() throws {
        let folder = try SQLiteFolder()
        let database = try Database(path: folder.file("a.db"), mode: .create)
        #expect(try database.checkpoint(.passive) == Database.CheckpointResult(logPages: -1, movedPages: -1))
        try database.setPragma("journal_mode", to: "WAL")
        try database.execute("CREATE TABLE item (id INTEGER PRIMARY KEY) STRICT")
        let passive = try database.checkpoint(.passive)
        #expect(passive.logPages > 0 && passive.movedPages == passive.logPages)
        #expect(try database.checkpoint(.truncate) == Database.CheckpointResult(logPages: 0, movedPages: 0))
    }

    @Test func `a checkpoint that a reader holds up is busy, except a passive one`() throws {
        let folder = try SQLiteFolder()
        let writer = try Database(path: folder.file("a.db"), mode: .create, busyTimeoutMilliseconds: 0)
        try writer.setPragma("journal_mode", to: "WAL")
        try writer.execute("CREATE TABLE item (id INTEGER PRIMARY KEY) STRICT")
        let reader = try Database(path: folder.file("a.db"), mode: .readOnly)
        try reader.snapshot {
            _ = try reader.query("SELECT id FROM item") { row in row.int64(0) }
            try writer.run("INSERT INTO item VALUES (1)")
            let result = try writer.checkpoint(.passive)
            #expect(result.movedPages < result.logPages)
            let error = #expect(throws: SQLiteError.self) { try writer.checkpoint(.truncate) }
            #expect(error?.isBusy == true)
        }
        #expect(try writer.checkpoint(.truncate).logPages == 0)
    }

    @Test func `an online copy holds what the source holds`() throws {
        let folder = try SQLiteFolder()
        let source = try memory()
        for id in 1...200 {
            try source.run(
                "INSERT INTO item VALUES (?, NULL, ?)",
                [.integer(Int64(id)), .blob([UInt8](repeating: UInt8(id), count: 500))])
        }
        let target = try Database(path: folder.file("copy.db"), mode: .create)
        do {
            let backup = try Backup(from: source, to: target)
            #expect(try backup.step(pages: 2) == .more)
            #expect(backup.totalPages > 20 && backup.remainingPages == backup.totalPages - 2)
            try source.run("INSERT INTO item VALUES (201, 'late', NULL)")
            #expect(try backup.step() == .finished)
        }
        #expect(try target.first("SELECT count(*) FROM item") { row in row.int64(0) } == 201)
        #expect(try target.quickCheck() == [])
    }

    @Test func `a database goes to another thread once it was detached`() async throws {
        let database = try memory()
        database.detachFromThread()
        nonisolated(unsafe) let moved = database
        let version = await withCheckedContinuation { continuation in
            Thread { continuation.resume(returning: Result { try moved.userVersion }) }.start()
        }
        #expect(try version.get() == 0)
    }
}

@Suite struct SQLiteMisuseTests {
    @Test func `use on a second thread stops the program`() async {
        await #expect(processExitsWith: .failure) {
            let database = try Database(path: ":memory:", mode: .create)
            try database.execute("CREATE TABLE a (b INTEGER) STRICT")
            nonisolated(unsafe) let moved = database
            await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
                Thread {
                    try? moved.execute("DELETE FROM a")
                    continuation.resume()
                }.start()
            }
        }
    }

    @Test func `a transaction inside a transaction stops the program`() async {
        await #expect(processExitsWith: .failure) {
            let database = try Database(path: ":memory:", mode: .create)
            try database.transaction { try database.transaction {} }
        }
    }

    @Test func `a row kept beyond its closure stops the program`() async {
        await #expect(processExitsWith: .failure) {
            let database = try Database(path: ":memory:", mode: .create)
            var kept: Row?
            _ = try database.query("SELECT 1") { row in kept = row }
            _ = kept?.int64(0)
        }
    }

    @Test func `a closed database in use stops the program`() async {
        await #expect(processExitsWith: .failure) {
            let database = try Database(path: ":memory:", mode: .create)
            database.close()
            try database.execute("SELECT 1")
        }
    }

    @Test func `too few values for the parameters stop the program`() async {
        await #expect(processExitsWith: .failure) {
            let database = try Database(path: ":memory:", mode: .create)
            try database.run("SELECT ?, ?", [1])
        }
    }
}
