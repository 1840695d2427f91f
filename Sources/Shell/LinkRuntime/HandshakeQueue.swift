/// Who waits for a handshake. The oldest goes first; beyond `patient` the newest, since the oldest may have
/// been given up. Source: docs/decisions/0018.
struct HandshakeQueue<Waiting> {
    private var waiting: ContiguousArray<Waiting> = []
    /// Where the oldest is.
    private var first = 0
    private var room: Int
    private let patient: Int
    private let isOver: (Waiting) -> Bool

    /// `isOver` tells of one that has ended in the queue: it is forgotten when there is much in it.
    init(patient: Int, isOver: @escaping (Waiting) -> Bool) {
        self.patient = patient
        self.isOver = isOver
        room = 2 * patient
    }

    var isEmpty: Bool { first == waiting.count }
    /// Those in it, the ended ones too.
    var count: Int { waiting.count - first }

    mutating func add(_ one: Waiting) {
        if waiting.count >= room {
            waiting = ContiguousArray(waiting[first...].filter { !isOver($0) })
            first = 0
            room = 2 * max(patient, waiting.count)
        }
        waiting.append(one)
    }

    /// The one whose turn it is, which may have ended; nil where nobody waits.
    mutating func take() -> Waiting? {
        guard !isEmpty else { return nil }
        if count > patient { return waiting.removeLast() }
        let one = waiting[first]
        first += 1
        if isEmpty || first > patient {
            waiting.removeFirst(first)
            first = 0
        }
        return one
    }

    mutating func removeAll() {
        waiting = []
        first = 0
    }
}
