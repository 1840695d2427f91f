import Synchronization

/// Answers one waiting call exactly once, from whatever thread.
///
/// A reply that is dropped without an answer (the engine was shut down) answers `shut-down` by itself, so no
/// caller waits for ever.
final class Reply<Value: Sendable>: Sendable {
    typealias Outcome = Result<Value, ChannelClientError>
    private let done: Mutex<(@Sendable (Outcome) -> Void)?>

    init(_ done: @escaping @Sendable (Outcome) -> Void) { self.done = Mutex(done) }

    deinit { finish(.failure(.shutDown)) }

    func succeed(_ value: Value) { finish(.success(value)) }
    func fail(_ error: ChannelClientError) { finish(.failure(error)) }

    func finish(_ outcome: Outcome) {
        let taken = done.withLock { done in
            let taken = done
            done = nil
            return taken
        }
        taken?(outcome)
    }

    /// Whether somebody still waits.
    var isOpen: Bool { done.withLock { $0 != nil } }
}

extension ChannelClientError {
    static var shutDown: ChannelClientError { .init(.shutDown, "The client was shut down.") }
    static var cancelled: ChannelClientError { .init(.cancelled, "The call was cancelled.") }
    static func defect(_ text: String) -> ChannelClientError { .init(.defect, text) }
}

extension Duration {
    /// Whole milliseconds, at least 0 and at most a day.
    var clampedMilliseconds: Int64 {
        let (seconds, attoseconds) = components
        guard seconds >= 0 else { return 0 }
        guard seconds < 86_400 else { return 86_400_000 }
        return seconds * 1000 + attoseconds / 1_000_000_000_000_000
    }
}
