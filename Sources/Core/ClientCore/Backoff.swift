/// When a relay is tried again: doubling pauses with jitter, and the relay's own advice.
package struct Backoff: Equatable, Sendable {
    package let minimumMilliseconds: Int64
    package let maximumMilliseconds: Int64
    /// Failures since the last success.
    package private(set) var failures = 0

    package init(minimumMilliseconds: Int64 = 500, maximumMilliseconds: Int64 = 300_000, failures: Int = 0) {
        precondition(
            minimumMilliseconds > 0 && maximumMilliseconds >= minimumMilliseconds,
            "a pause is between two positive bounds")
        self.minimumMilliseconds = minimumMilliseconds
        self.maximumMilliseconds = maximumMilliseconds
        self.failures = failures
    }

    /// Something worked: the next failure starts with the shortest pause.
    package mutating func succeeded() { failures = 0 }

    /// An attempt failed; the pause before the next one, in milliseconds.
    ///
    /// Shape: between half and the whole of the doubled pause, but never sooner than the relay's advice
    /// (`retryAfterMilliseconds`, 0: none), which gets up to a quarter on top, so that a crowd does not
    /// return at once. An advice of more than a day counts as a day.
    package mutating func failed(
        retryAfterMilliseconds: Int64 = 0, using random: inout some RandomNumberGenerator
    ) -> Int64 {
        let doublings = min(failures, 40)
        failures += 1
        let (shifted, overflow) = minimumMilliseconds.multipliedReportingOverflow(by: Int64(1) << doublings)
        let whole = overflow ? maximumMilliseconds : min(shifted, maximumMilliseconds)
        let jittered = whole - Int64.random(in: 0...(whole / 2), using: &random)
        guard retryAfterMilliseconds > 0 else { return jittered }
        let advice = min(retryAfterMilliseconds, Self.adviceMaximumMilliseconds)
        return max(jittered, advice + Int64.random(in: 0...max(1, advice / 4), using: &random))
    }

    /// The relay is going away and said when to return; the pause in milliseconds. Not a failure.
    ///
    /// The relay has spread its clients already, so only a little is added.
    package func drained(delayMilliseconds: Int64, using random: inout some RandomNumberGenerator) -> Int64 {
        let advice = min(max(0, delayMilliseconds), Self.adviceMaximumMilliseconds)
        return advice + Int64.random(in: 0...max(minimumMilliseconds, advice / 10), using: &random)
    }

    package static let adviceMaximumMilliseconds: Int64 = 86_400_000
    /// No pause is longer: an advice and what is added to it.
    package static let pauseMaximumMilliseconds = adviceMaximumMilliseconds * 5 / 4
}

/// A small deterministic generator (SplitMix64), so that a run with a seed can be repeated.
package struct SeededRandom: RandomNumberGenerator, Sendable {
    private var state: UInt64

    package init(seed: UInt64) { state = seed }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}
