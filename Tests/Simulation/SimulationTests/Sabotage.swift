@testable import RelayServer
@testable import RelayStore

import ChannelWire
import TestKit

/// Deliberate faults, put in one at a time to see whether the simulator finds them.
///
/// None of them is in a shipped code path: each is done to what passes between the parts of a simulated party, or
/// to its database between two of its turns.
enum Sabotage: String, CaseIterable {
    case ackBeforeCommit
}

/// Carries out a sabotage.
struct Saboteur {
    let sabotage: Sabotage?
    private var held: [Int: [AuthorityMessage]] = [:]

    init(_ sabotage: Sabotage?) { self.sabotage = sabotage }

    mutating func authorityIsAsked(
        _ messages: inout [AuthorityMessage], _ relay: SimulatedRelay, _ world: World
    ) {}
    mutating func authorityAnswered(
        _ messages: inout [LoopMessage], _ relay: SimulatedRelay, _ world: World
    ) {}
    mutating func readerAnswered(_ messages: inout [LoopMessage], _ relay: SimulatedRelay, _ world: World) {}
}
