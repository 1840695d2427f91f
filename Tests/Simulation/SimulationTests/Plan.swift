import TestKit

/// What happens to the parties from outside, and when. It follows from the seed, and may be shortened.
struct Planned: CustomStringConvertible {
    /// Units: milliseconds since the beginning.
    let at: Int64
    let step: Step

    var description: String { "\(at) ms: \(step)" }
}

enum Step {
    // People
    case join(reader: Int)
    case publish(bytes: Int, copies: Int)
    case edit(recent: Int)
    case delete(recent: Int)
    case addRelay(relay: Int)
    case removeRelay(relay: Int)
    // The operator
    case leave(relay: Int)
    case allow(relay: Int)
    case backup(relay: Int)
    case restore(relay: Int, downFor: Int64)
    // The network between a client and a relay
    case cut(client: Int, relay: Int)
    case stall(client: Int, relay: Int, toRelay: Bool, toClient: Bool, milliseconds: Int64)
    case halfOpen(client: Int, relay: Int, toRelay: Bool, toClient: Bool)
    case slow(client: Int, relay: Int, bytesPerSecond: Int64, milliseconds: Int64)
    case latency(client: Int, relay: Int, upTo: Int64, milliseconds: Int64)
    case block(client: Int, relay: Int, refused: Bool, milliseconds: Int64)
    // The machines
    case crashRelay(relay: Int, afterOperations: Int?, silently: Bool, downFor: Int64)
    case crashClient(client: Int, afterOperations: Int?, silently: Bool, downFor: Int64)
    case slowDisk(relay: Int, milliseconds: Int64)
    /// Everybody's wall clock is put forth or back; only the scenarios have it.
    case stepClock(seconds: Int64)
}

/// Who takes part in one run, and what happens to them.
struct Plan {
    let seed: UInt64
    var relays: Int
    var readers: Int
    /// Relays that the channel is created on.
    var firstRelays: [Int]
    /// A relay that keeps so few messages that it has to drop some; nil: all keep everything.
    var shortLog: (relay: Int, messages: Int64)?
    var liar: (relay: Int, lie: Lie)?
    var signsMessages: Bool
    var steps: [Planned]

    /// Units: milliseconds. Afterwards nothing goes wrong any more, and all has to come right.
    static let troubles: Int64 = 18_000

    init(seed: UInt64) {
        var random = Random(seed: seed &* 0x2545_F491_4F6C_DD1D &+ 1)
        self.seed = seed
        relays = Int.random(in: 2...3, using: &random)
        readers = Int.random(in: 1...2, using: &random)
        firstRelays = Array(
            (0..<relays).shuffled(using: &random).prefix(Int.random(in: 1...relays, using: &random))
        )
        .sorted()
        signsMessages = Int.random(in: 0..<4, using: &random) > 0
        if Int.random(in: 0..<5, using: &random) == 0 {
            shortLog = (Int.random(in: 0..<relays, using: &random), Int64.random(in: 3...12, using: &random))
        }
        if Int.random(in: 0..<4, using: &random) == 0 {
            liar = (
                Int.random(in: 0..<relays, using: &random),
                Lie.allCases.randomElement(using: &random) ?? .alters
            )
        }
        steps = []
        for reader in 0..<readers {
            steps.append(
                Planned(at: Int64.random(in: 500...6_000, using: &random), step: .join(reader: reader)))
        }
        let count = Int.random(in: 10...26, using: &random)
        for _ in 0..<count {
            let at = Int64.random(in: 300...Plan.troubles - 1_000, using: &random)
            steps.append(Planned(at: at, step: Self.step(relays, readers, &random)))
        }
        steps.sort { $0.at < $1.at }
    }

    /// Written by hand: two relays that tell the truth, one reader, and nothing but these steps.
    init(seed: UInt64, steps: [Planned]) {
        self.seed = seed
        relays = 2
        readers = 1
        firstRelays = [0, 1]
        signsMessages = true
        self.steps = steps
    }

    private static func step(_ relays: Int, _ readers: Int, _ random: inout Random) -> Step {
        let relay = Int.random(in: 0..<relays, using: &random)
        // Client 0 is the owner.
        let client = Int.random(in: 0...readers, using: &random)
        let pause = Int64.random(in: 200...6_000, using: &random)
        let fuse: Int? = Bool.random(using: &random) ? Int.random(in: 0...12, using: &random) : nil
        let silently = Bool.random(using: &random)
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<34:
            let bytes = Int.random(in: 0..<8, using: &random) == 0 ? 6_000 : 40
            let copies =
                Int.random(in: 0..<4, using: &random) == 0 ? Int.random(in: 2...8, using: &random) : 1
            return .publish(bytes: bytes, copies: copies)
        case 34..<38: return .edit(recent: Int.random(in: 0..<4, using: &random))
        case 38..<42: return .delete(recent: Int.random(in: 0..<4, using: &random))
        case 42..<47: return .addRelay(relay: relay)
        case 47..<51: return .removeRelay(relay: relay)
        case 51..<54: return .leave(relay: relay)
        case 54..<57: return .allow(relay: relay)
        case 57..<60: return .backup(relay: relay)
        case 60..<62: return .restore(relay: relay, downFor: pause)
        case 62..<68: return .cut(client: client, relay: relay)
        case 68..<73:
            let direction = Int.random(in: 0..<3, using: &random)
            return .stall(
                client: client, relay: relay, toRelay: direction != 1, toClient: direction != 0,
                milliseconds: pause)
        case 73..<77:
            let direction = Int.random(in: 0..<3, using: &random)
            return .halfOpen(client: client, relay: relay, toRelay: direction != 1, toClient: direction != 0)
        case 77..<80:
            return .slow(
                client: client, relay: relay,
                bytesPerSecond: Int64.random(in: 300...20_000, using: &random), milliseconds: pause)
        case 80..<83:
            return .latency(
                client: client, relay: relay, upTo: Int64.random(in: 100...3_000, using: &random),
                milliseconds: pause)
        case 83..<86:
            return .block(
                client: client, relay: relay, refused: Bool.random(using: &random), milliseconds: pause)
        case 86..<92:
            return .crashRelay(relay: relay, afterOperations: fuse, silently: silently, downFor: pause)
        case 92..<97:
            return .crashClient(client: client, afterOperations: fuse, silently: silently, downFor: pause)
        default:
            return .slowDisk(relay: relay, milliseconds: pause)
        }
    }
}

/// What a relay does that lies.
enum Lie: String, CaseIterable {
    /// Changes a byte of a message before it delivers it.
    case alters
    /// Leaves a message out, without a word.
    case skips
    /// Leaves a message out, and says that it was deleted.
    case claimsDeletion
    /// Delivers what it delivered before.
    case repeats
    /// Delivers a message that nobody wrote.
    case invents
    /// Serves an old record.
    case servesOldRecord
}
