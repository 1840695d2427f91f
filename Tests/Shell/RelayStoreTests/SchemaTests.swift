import PosixKit
import SQLiteKit
import SodiumCrypto
import Testing

@testable import RelayStore

@Suite("The relay's schema")
struct SchemaTests {
    private func database() throws -> (TemporaryDirectory, Database) {
        let directory = try TemporaryDirectory()
        let ledger = try RelayLedger(directory: directory.path)
        ledger.close()
        return (directory, try Database(path: directory.path + "/relay.db", mode: .readWrite))
    }

    /// The digest of each step as it shipped. A step never changes: add a new one instead.
    private static let shipped: [Int32: String] = [
        1: "c6f657a4b289f651b46631c1e78325ed4f2b3d270265f47cca0571aea46245d9",
        2: "c8c7ca9d168d0c116a561699384091af8237ac20b10e14004c942169e993e81a",
    ]

    @Test("a migration that has shipped never changes", arguments: Schema.steps.map(\.version))
    func immutable(version: Int32) throws {
        let step = try #require(Schema.steps.first { $0.version == version })
        let digest = Sodium.sha256(Array(step.sql.utf8)).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }
            .joined()
        #expect(SchemaTests.shipped[version] == digest)
    }

    @Test("migrations are numbered from 1 without a hole")
    func numbered() {
        #expect(Schema.steps.map(\.version) == Array(1...Schema.latest))
    }

    @Test("the schema is the golden one")
    func golden() throws {
        let (directory, database) = try database()
        let dump = try database.schemaDump()
        database.close()
        withExtendedLifetime(directory) {}
        let path = goldenPath("relay-schema.sql")
        if Posix.environment("UPDATE_GOLDEN") == "1" {
            try Posix.writeFileAtomically(path, Array(dump.utf8), mode: 0o644)
        }
        let golden = String(decoding: try Posix.readFile(path), as: UTF8.self)
        #expect(dump == golden, "run with UPDATE_GOLDEN=1 and review the difference")
    }

    @Test("a message that is erased, and its edits, are looked up: its author's others are not gone through")
    func erasing() throws {
        let (directory, database) = try database()
        let plan = try database.query(
            "EXPLAIN QUERY PLAN DELETE FROM log WHERE \(LogTable.messageAndEdits)",
            [.integer(1), .blob([1]), .blob([2])]
        ) { $0.text(3) }
        let looks = plan.filter { $0.contains(" log ") }
        #expect(looks.count == 3, "\(plan)")
        for last in ["sequence", "message_id", "amends"] {
            #expect(looks.contains { $0.hasSuffix("\(last)=?)") }, "by \(last): \(plan)")
        }
        database.close()
        withExtendedLifetime(directory) {}
    }

    @Test("every table is strict")
    func strict() throws {
        let (directory, database) = try database()
        let loose = try database.query(
            """
            SELECT name FROM pragma_table_list
            WHERE type = 'table' AND NOT strict AND name NOT LIKE 'sqlite_%'
            """
        ) { $0.text(0) }
        #expect(loose == [])
        database.close()
        withExtendedLifetime(directory) {}
    }

    @Test("every foreign key has an index that begins with it")
    func indexedForeignKeys() throws {
        let (directory, database) = try database()
        let tables = try database.query("SELECT name FROM pragma_table_list WHERE type = 'table'") {
            $0.text(0)
        }
        for table in tables {
            let keys = try database.query("SELECT \"from\" FROM pragma_foreign_key_list(?)", [.text(table)]) {
                $0.text(0)
            }
            var leading = try database.query(
                """
                SELECT (SELECT name FROM pragma_index_info(list.name) WHERE seqno = 0)
                FROM pragma_index_list(?) AS list WHERE partial = 0
                """, [.text(table)]
            ) { $0.text(0) }
            leading += try database.query(
                "SELECT name FROM pragma_table_info(?) WHERE pk = 1", [.text(table)]
            ) {
                $0.text(0)
            }
            for key in keys { #expect(leading.contains(key), "\(table).\(key)") }
        }
        database.close()
        withExtendedLifetime(directory) {}
    }

    @Test("the file says whose it is and keeps its promises")
    func pragmas() throws {
        let (directory, database) = try database()
        #expect(try database.applicationID == 0x414E_544E)
        #expect(try database.userVersion == Schema.latest)
        #expect(try database.pragma("journal_mode") == "wal")
        #expect(try database.pragma("auto_vacuum") == "2")
        database.close()
        withExtendedLifetime(directory) {}
    }

    private func goldenPath(_ name: String) -> String {
        // This file is Tests/Shell/RelayStoreTests/SchemaTests.swift.
        var folder = #filePath
        for _ in 0..<3 { folder = Posix.directory(of: folder) }
        return folder + "/Golden/" + name
    }
}
