/// When the next handshake may be answered. Source: docs/decisions/0018.
///
/// A handshake is some 150 microseconds of work. All of them get one part in three of a loop's time, and what
/// was not used is kept for a while: the loop's timers go by a clock that ticks every few milliseconds.
struct HandshakePace {
    /// How long handshakes may still take before others have had their time; at worst less than nothing.
    private var credit = HandshakePace.creditMax
    private var creditedAt: UInt64

    private static let parts: Int64 = 3
    /// Units: nanoseconds.
    static let creditMax: Int64 = 2_000_000

    /// Units of all times: nanoseconds.
    init(now: UInt64) { creditedAt = now }

    /// A handshake was answered, which took `work` of this thread's own time.
    /// Returns: how long the next has to wait. Units: milliseconds.
    mutating func answered(in work: UInt64, now: UInt64) -> Int64 {
        let earned = Int64(clamping: now &- creditedAt) / Self.parts
        let left = min(credit + earned, Self.creditMax) - Int64(clamping: work)
        credit = max(left, -Self.creditMax)
        creditedAt = now
        return credit > 0 ? 0 : max(1, -credit * Self.parts / 1_000_000)
    }
}
