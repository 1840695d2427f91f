import ChannelWire
import LibeventLoop
import LinkRuntime
import PosixKit
import SQLiteKit
import Testing

@testable import RelayServer
@testable import RelayStore

@Suite("The reader of the disk")
struct DiskReaderTests {
    @Test("laggards of two channels at one position get each the page of their own channel")
    func twoChannels() throws {
        let directory = try Posix.makeTemporaryDirectory(prefix: "antenna-reader-")
        defer { Posix.removeTree(directory) }
        let ledger = try RelayLedger(directory: directory)
        defer { ledger.close() }
        for (digit, head) in [("1", 3), ("2", 7)] {
            let id = String(repeating: "0" + digit, count: 32)
            try ledger.database.run(
                """
                INSERT INTO channels (channel_id, name, title, status, status_at, created_at, log_nonce,
                    record_version, record, profile)
                VALUES (x'\(id)', '\(digit)', '', 'inactive', 1, 1, x'0000000000000000', 1, x'', x'')
                """)
            try ledger.database.run(
                "INSERT INTO counters (channel, log_head) VALUES (last_insert_rowid(), \(head))")
        }
        let loop = Mailbox<LoopMessage>()
        let reader = DiskReader(
            relay: try RelayLoopTests.shared(RelayIdentity.create(nowSeconds: 1), loops: 1),
            reader: try RelayReader(directory: directory), loops: [loop])
        let questions = try (1...4).map { number in
            let digit = number == 4 ? 3 : UInt8(1 + number % 2)
            let id = try #require(ChannelID(bytes: [UInt8](repeating: digit, count: 32)))
            return ReaderMessage.page(LinkReference(loop: 0, number: UInt64(number)), id, after: 0)
        }
        #expect(!reader.turn(questions))
        let heads = loop.drain().map { message -> Int64? in
            guard case .page(_, _, let head) = message else { return -1 }
            return head
        }
        // The last channel is forgotten: that its log is empty does not mean that it was cut.
        #expect(heads == [7, 3, 7, nil])
    }
}
