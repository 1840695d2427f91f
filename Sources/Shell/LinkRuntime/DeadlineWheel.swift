/// Coarse deadlines of many links: a link waits in one slot, and asking again is free until that slot comes.
///
/// ```
///  tick:   … 41   42   43   44 …      slot = tick % 256
///               [3,9]      [5]        links to look at when the tick comes
/// ```
/// An entry may be stale (its link has gone, or asked for an earlier tick meanwhile): `take` only proposes.
struct DeadlineWheel {
    struct Entry { let link: Int32, tick: UInt32 }

    static let slotCount = 256
    private var slots: [[Entry]] = Array(repeating: [], count: slotCount)

    /// The tick to wait for when `wanted` is too far away to have a slot: then the link is looked at and
    /// waits again.
    static func reachable(_ wanted: UInt32, from now: UInt32) -> UInt32 {
        min(max(wanted, now + 1), now + UInt32(slotCount) - 1)
    }

    mutating func add(_ link: Int32, at tick: UInt32) {
        slots[Int(tick) % Self.slotCount].append(Entry(link: link, tick: tick))
    }

    /// Moves what waits for `tick` into `entries`, whose memory the slot gets in exchange.
    mutating func take(_ tick: UInt32, into entries: inout [Entry]) {
        entries.removeAll(keepingCapacity: true)
        swap(&entries, &slots[Int(tick) % Self.slotCount])
    }
}
