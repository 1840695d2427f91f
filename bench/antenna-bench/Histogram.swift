/// Counts durations in steps of at most 1.6 %, in memory that stays in the cache.
struct Histogram {
    private static let fine = 6  // 64 steps for each doubling
    private var counts = [UInt64](repeating: 0, count: (64 - Histogram.fine + 1) << Histogram.fine)
    private(set) var count: UInt64 = 0
    /// Units: nanoseconds.
    private(set) var max: UInt64 = 0

    @inline(__always)
    mutating func add(_ nanoseconds: UInt64) {
        counts[Histogram.slot(nanoseconds)] += 1
        count += 1
        if nanoseconds > max { max = nanoseconds }
    }

    mutating func add(_ other: Histogram) {
        for index in counts.indices { counts[index] += other.counts[index] }
        count += other.count
        max = Swift.max(max, other.max)
    }

    /// The duration that this share of all stays below. Units: microseconds.
    func microseconds(_ share: Double) -> Double {
        let wanted = UInt64(Double(count) * share)
        var seen: UInt64 = 0
        for index in counts.indices {
            seen += counts[index]
            if seen > wanted { return Swift.min(Histogram.middle(index), Double(max)) / 1000 }
        }
        return Double(max) / 1000
    }

    var maxMicroseconds: Double { Double(max) / 1000 }

    @inline(__always)
    private static func slot(_ value: UInt64) -> Int {
        guard value >= 1 << fine else { return Int(value) }
        let exponent = 63 - value.leadingZeroBitCount
        let step = Int(value >> UInt64(exponent - fine)) - (1 << fine)
        return (exponent - fine + 1) << fine + step
    }

    private static func middle(_ slot: Int) -> Double {
        guard slot >= 2 << fine else { return Double(slot) }
        let exponent = slot >> fine - 1
        let low = UInt64(slot & ((1 << fine) - 1) | 1 << fine) << UInt64(exponent)
        return Double(low) + Double(UInt64(1) << UInt64(exponent)) / 2
    }
}
