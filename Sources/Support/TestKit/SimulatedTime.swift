/// A clock that goes as far as it is told, and what is to happen on it.
///
/// Two things of one moment happen in the order in which they were put down, so a run can be repeated.
package struct SimulatedTime<Happening> {
    private struct Entry {
        let at: Int64
        let order: Int64
        let happening: Happening
    }

    /// Units: milliseconds since the beginning.
    package private(set) var now: Int64 = 0
    /// A heap: each entry comes before the two below it.
    private var entries: [Entry] = []
    private var order: Int64 = 0

    package init() {}

    /// When the next thing happens; nil where nothing is planned.
    package var next: Int64? { entries.first?.at }
    package var count: Int { entries.count }

    package mutating func plan(at moment: Int64, _ happening: Happening) {
        order += 1
        entries.append(Entry(at: max(moment, now), order: order, happening: happening))
        var index = entries.count - 1
        while index > 0, precedes(index, (index - 1) / 2) {
            entries.swapAt(index, (index - 1) / 2)
            index = (index - 1) / 2
        }
    }

    /// Goes on to a later moment; nothing that is planned before it may be left.
    package mutating func advance(to moment: Int64) {
        precondition(moment >= now, "time does not go back")
        now = moment
    }

    /// Takes the next thing that is due now.
    package mutating func takeDue() -> Happening? {
        guard let first = entries.first, first.at <= now else { return nil }
        entries.swapAt(0, entries.count - 1)
        entries.removeLast()
        var index = 0
        while true {
            var least = index
            for child in [2 * index + 1, 2 * index + 2] where child < entries.count {
                if precedes(child, least) { least = child }
            }
            guard least != index else { return first.happening }
            entries.swapAt(index, least)
            index = least
        }
    }

    private func precedes(_ one: Int, _ other: Int) -> Bool {
        (entries[one].at, entries[one].order) < (entries[other].at, entries[other].order)
    }
}
