internal import ChannelWire

/// Frames of one link that wait until it is its turn, in order, and a PUBLISH that is checked in part.
final class CheckBacklog {
    private var frames: ContiguousArray<Frame> = []
    /// About how much memory the frames take.
    private(set) var bytes = 0
    var publishing: ElementReading.Publishing?

    /// Beyond this nothing more is read from the link.
    static let bytesMax = 64 << 10

    var isEmpty: Bool { publishing == nil && frames.isEmpty }

    func add(_ more: [Frame], first: Bool) {
        bytes += more.reduce(0) { $0 + $1.heldBytes }
        frames.insert(contentsOf: more, at: first ? 0 : frames.count)
    }

    func next() -> Frame? {
        guard !frames.isEmpty else { return nil }
        let frame = frames.removeFirst()
        bytes -= frame.heldBytes
        return frame
    }
}

extension Frame {
    /// Whether signatures are checked for it, or its JSON is read.
    var isWork: Bool {
        switch self {
        case .publish, .direct, .recordPut, .control, .join: true
        default: false
        }
    }

    /// About how much memory it takes while it is held back.
    var heldBytes: Int {
        let carried =
            switch self {
            case .direct(let body), .publish(_, let body): body.count
            case .recordPut(_, let record), .record(_, let record): record.count
            case .control(let control): control.record.count
            case .join(_, let element): element.count
            // No client's: they end the link, but not before it is their turn.
            case .joined(let batch), .deliver(_, let batch), .history(_, _, let batch): batch.count
            default: 0
            }
        return 64 + carried
    }
}
