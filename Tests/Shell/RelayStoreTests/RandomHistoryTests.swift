import ChannelWire
import PosixKit
import RelayCore
import RelayStore
import Testing

/// A small generator with a seed. A failure can be had again: `SEED=7 swift test --filter RandomHistory`.
private struct SeededRandom: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

@Suite("Any history of a log")
struct RandomHistoryTests {
    /// What a log must be, as simply as it can be said.
    private struct Model {
        var head: Int64 = 0
        var live: [String: Int64] = [:]
        var erased: Set<String> = []
    }

    static let seeds: [UInt64] = Posix.environment("SEED").flatMap { UInt64($0) }.map { [$0] } ?? Array(1...8)

    @Test(
        "agrees with the model after posts, repeats, deletions, pruning, restarts and crashes",
        arguments: seeds)
    func agrees(seed: UInt64) throws {
        var random = SeededRandom(state: seed)
        var directory = try TemporaryDirectory()
        var ledger = try RelayLedger(directory: directory.path)
        let news = TestChannel()
        try ledger.take(news)
        var model = Model()

        for step in 0..<250 {
            let name = "m\(Int.random(in: 0..<60, using: &random))"
            switch Int.random(in: 0..<100, using: &random) {
            case 0..<60:
                let reply = try ledger.published(news.post(name, text: name))
                if let sequence = model.live[name] {
                    #expect(reply == .repeated(sequence: sequence), "seed \(seed) step \(step)")
                } else if model.erased.contains(name) {
                    #expect(reply == .refused(.messageDeleted), "seed \(seed) step \(step)")
                } else {
                    model.head += 1
                    model.live[name] = model.head
                    #expect(reply == .stored(sequence: model.head), "seed \(seed) step \(step)")
                }
            case 60..<80:
                let id = try #require(MessageID(bytes: Array(name.utf8)))
                let reply = try ledger.published(
                    news.publish("d\(step)", .delete(id, of: nil), tag: "x.msg.del"))
                if model.erased.contains(name) {
                    #expect(reply == .refused(.messageDeleted), "seed \(seed) step \(step)")
                } else {
                    model.head += 1
                    model.live["d\(step)"] = model.head
                    model.live[name] = nil
                    model.erased.insert(name)
                    #expect(reply == .stored(sequence: model.head), "seed \(seed) step \(step)")
                }
            case 80..<85:
                let keep = Int64.random(in: 1...30, using: &random)
                ledger.options.retention = Retention(messages: keep)
                _ = try ledger.ask(.prune(nil, operatorWord))
                ledger.options.retention = Retention()
                let sequences = model.live.values.sorted().suffix(Int(keep))
                model.live = model.live.filter { sequences.contains($0.value) }
            case 85..<90:
                ledger.maintain(now: 1000)
            case 90..<95:
                ledger.close()
                ledger = try RelayLedger(directory: directory.path)
            default:
                let crashed = try TemporaryDirectory()
                try directory.copy(to: crashed)
                ledger = try RelayLedger(directory: crashed.path)
                directory = crashed
            }
        }

        #expect(try ledger.check() == [], "seed \(seed)")
        let reader = try RelayReader(directory: directory.path)
        var position: Int64 = 0
        var delivered: [Int64] = []
        var covered: [Int64] = []
        while true {
            let page = try #require(try reader.page(news.id, after: position, maxBytes: 700))
            guard !page.frames.isEmpty else { break }
            for line in outline(page.frames) {
                let ends = line.split(separator: "!")[0].split(separator: "-").compactMap { Int64($0) }
                covered += Array(ends[0]...ends[ends.count - 1])
                if !line.contains("!") { delivered.append(ends[0]) }
            }
            position = page.through
        }
        #expect(covered == Array(1...max(1, model.head)).filter { $0 <= model.head }, "seed \(seed)")
        #expect(delivered == model.live.values.sorted(), "seed \(seed)")
        ledger.close()
    }
}
