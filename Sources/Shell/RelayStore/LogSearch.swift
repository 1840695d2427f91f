import SQLiteKit

/// Finds a place in a log by time. Times rise with the sequence, so no index is needed.
struct LogSearch {
    let database: Database
    let channel: Int64

    /// One stored entry of the log.
    private struct Place {
        let sequence: Int64
        let time: Int64
    }

    /// The newest stored sequence whose time is before `time`. Cost: O(log n) look-ups.
    func lastSequence(before time: Int64) throws(SQLiteError) -> Int64? {
        guard var low = try place("TRUE ORDER BY sequence"), low.time < time else { return nil }
        guard let high = try place("TRUE ORDER BY sequence DESC") else { return nil }
        if high.time < time { return high.sequence }
        // `low` is before the time, `end` is not.
        var end = high.sequence
        while end - low.sequence > 1 {
            let middle = low.sequence + (end - low.sequence) / 2
            guard let found = try place("sequence <= ? ORDER BY sequence DESC", middle) else { break }
            if found.time >= time {
                end = found.sequence
            } else if found.sequence > low.sequence {
                low = found
            } else {
                // Nothing is stored between `low` and `middle`: look on the other side.
                guard let next = try place("sequence > ? ORDER BY sequence", middle), next.time < time else {
                    break
                }
                low = next
            }
        }
        return low.sequence
    }

    private func place(_ condition: String, _ bound: Int64? = nil) throws(SQLiteError) -> Place? {
        try database.first(
            "SELECT sequence, time FROM log WHERE channel = ? AND \(condition) LIMIT 1",
            [.integer(channel)] + (bound.map { [.integer($0)] } ?? [])
        ) { Place(sequence: $0.int64(0), time: $0.int64(1)) }
    }
}
