/// Whose frames are checked next, where checking them all at once would keep the loop from everybody else.
///
/// A frame with signatures costs tens of microseconds for each of them, and a client may send as many as it
/// likes. What is little goes at once; who has cost much lately waits, and of those who wait the one that
/// has cost least goes first. So who sends much slows down itself.
struct CheckTurns {
    /// What one link has cost, halved every `halfLife`.
    struct Account {
        /// Units: microseconds, and half-lives.
        private var cost: UInt32 = 0
        private var asOf: UInt32 = 0
        fileprivate(set) var isWaiting = false

        /// Units: nanoseconds.
        fileprivate mutating func balance(at now: UInt64) -> UInt64 {
            let today = UInt32(truncatingIfNeeded: now / CheckTurns.halfLife)
            let halvings = today &- asOf
            cost = halvings < 32 ? cost >> halvings : 0
            asOf = today
            return UInt64(cost) * 1000
        }

        fileprivate mutating func add(_ nanoseconds: UInt64, at now: UInt64) {
            cost = UInt32(clamping: (balance(at: now) + nanoseconds) / 1000)
        }
    }

    private var waiting: ContiguousArray<LinkSession> = []
    /// What went at once since the loop last looked at everything.
    private var spentThisTurn: UInt64 = 0

    /// Units of all: nanoseconds.
    static let halfLife: UInt64 = 50_000_000
    /// A link goes at once as long as it has cost less than this.
    static let freeOfLink: UInt64 = 2_000_000
    /// And all of them together no more than this in one turn of the loop.
    static let freeOfTurn: UInt64 = 500_000
    /// How long those who wait are served in one turn of the loop; as long as readers are, up to the second.
    static let slice: UInt64 = 250_000
    static let sliceMax: UInt64 = 1_000_000

    /// Whether a frame of this link may be checked at once.
    func mayGoAtOnce(_ session: LinkSession, now: UInt64) -> Bool {
        !session.checks.isWaiting && spentThisTurn < Self.freeOfTurn
            && session.checks.balance(at: now) < Self.freeOfLink
    }

    /// A check took from `start` to `end`.
    mutating func spent(by session: LinkSession, from start: UInt64, to end: UInt64) {
        let cost = end > start ? end - start : 0
        spentThisTurn += cost
        session.checks.add(cost, at: end)
    }

    /// Puts a link among those who wait. Returns: whether the loop must be woken for it.
    mutating func wait(_ session: LinkSession) -> Bool {
        guard !session.checks.isWaiting else { return false }
        session.checks.isWaiting = true
        waiting.append(session)
        return waiting.count == 1
    }

    var isEmpty: Bool { waiting.isEmpty }

    mutating func beginTurn() { spentThisTurn = 0 }

    /// The one that has cost least, taken out.
    mutating func next(now: UInt64) -> LinkSession? {
        guard !waiting.isEmpty else { return nil }
        var best = 0
        var least = waiting[0].checks.balance(at: now)
        for index in 1..<waiting.count {
            let balance = waiting[index].checks.balance(at: now)
            if balance < least { (best, least) = (index, balance) }
        }
        waiting.swapAt(best, waiting.count - 1)
        let session = waiting.removeLast()
        session.checks.isWaiting = false
        return session
    }

    mutating func forget(_ session: LinkSession) {
        guard session.checks.isWaiting else { return }
        session.checks.isWaiting = false
        waiting.removeAll { $0 === session }
    }
}
