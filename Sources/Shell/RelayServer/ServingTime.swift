/// Until when readers are served in a turn of the loop. Who lags gets much at a time, and when many do the
/// loop looks at its sockets more often: new messages and their acks do not wait for laggards.
///
/// Units of all: nanoseconds of the monotonic clock.
struct ServingTime: Equatable {
    let all: UInt64
    let behind: UInt64
    /// Not even an ack ends it before, so that checking does not get more than serving.
    let least: UInt64

    static let allMax: UInt64 = 1_000_000
    static let behindMax: UInt64 = 250_000
    static let leastMax: UInt64 = 125_000

    /// `lag`: of those who lag, as it was in the turn before.
    init(from start: UInt64, lag: Lag = Lag()) {
        all = start + ServingTime.allMax
        let factor = lag.factor
        behind = start + min(ServingTime.allMax, ServingTime.behindMax * factor)
        least = start + min(ServingTime.allMax, ServingTime.leastMax * factor)
    }
}

/// How far those are behind who lag, by the size of the records that they take.
///
/// A message that comes now reaches them after all that they lack, so the further they are behind the less
/// it matters when it is taken up; and with longer turns more messages share a commit and its changes of
/// threads.
struct Lag: Equatable {
    private var bytes: UInt64 = 0
    private var records: UInt64 = 0

    /// With records of this size on average turns are not yet longer. Units: bytes.
    static let smallMax: UInt64 = 4 << 10

    /// How much longer turns may be.
    var factor: UInt64 {
        guard records > 0 else { return 1 }
        return max(1, min(bytes / records / Lag.smallMax, ServingTime.allMax / ServingTime.behindMax))
    }

    /// A reader that lags got a record of so many bytes.
    mutating func sent(_ count: Int) {
        bytes += UInt64(count)
        records += 1
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
