/// Until when readers are served in a turn of the loop. Who lags gets much at a time, and when many do the
/// loop looks at its sockets more often: new messages and their acks do not wait for laggards.
///
/// Units of all: nanoseconds of the monotonic clock.
struct ServingTime {
    let all: UInt64
    let behind: UInt64
    /// Not even an ack ends it before, so that checking does not get more than serving.
    let least: UInt64

    static let allMax: UInt64 = 1_000_000
    static let behindMax: UInt64 = 250_000
    static let leastMax: UInt64 = 125_000

    init(from start: UInt64) {
        least = start + ServingTime.leastMax
        all = start + ServingTime.allMax
        behind = start + ServingTime.behindMax
    }
}

/// What readers get between two turns of the loop, fed at once because their links take more.
///
/// Hundreds may become writable in one look at the sockets. Beyond this share they wait for the turn.
struct WritableShare: Equatable {
    private var spent: UInt64 = 0

    var isUsedUp: Bool { spent >= ServingTime.behindMax }

    mutating func spend(from start: UInt64, to end: UInt64) { spent += end > start ? end - start : 0 }

    mutating func beginTurn() { spent = 0 }
}
