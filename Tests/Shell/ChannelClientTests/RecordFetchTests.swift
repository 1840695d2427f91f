@testable import ChannelClient
import ChannelWire
import SodiumCrypto
import Testing

@Suite("The record of a link's relays")
struct RecordFetchTests {
    @Test(
        "the highest version is taken, whoever answers first; another channel's is none",
        arguments: [false, true])
    func highest(isReversed: Bool) async throws {
        let stage = try await Stage()
        let versions = isReversed ? [7, 5] : [5, 7]
        let fetch = RecordFetch(channel: stage.channel, open: 3)
        fetch.answered(
            try Stage.foreignRecord(version: 99), crypto: .client, host: "foreign")
        #expect(!fetch.hasRecord)
        for version in versions {
            let record = try stage.record { $0.version = Int64(version) }
            fetch.answered(record, crypto: .client, host: "\(version)")
        }
        #expect(fetch.open == 0)
        var found: Int64?
        fetch.end { found = try? $0.get().version }
        #expect(found == 7)
    }
}
