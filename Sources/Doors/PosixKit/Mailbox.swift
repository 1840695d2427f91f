/// A queue from many threads to one: posted one by one, drained whole.
///
/// `wake` runs on the posting thread, once for each time the box stops being empty; it has to make the reader
/// drain. A plain thread without a loop needs no `wake` and sits in `waitDrain`.
package final class Mailbox<Message: Sendable>: @unchecked Sendable {
    // SAFETY: `queue`, `queued`, `waiting` and `urgent` are touched with `lock` held only.
    private let lock = Lock()
    private var queue: [Message] = []
    /// How many these are. To ask an array of any kind of message whether it is empty takes the long way.
    private var queued = 0
    private var waiting = false
    private var urgent = false
    private let wake: @Sendable () -> Void

    package init(wake: @Sendable @escaping () -> Void = {}) { self.wake = wake }

    package func post(_ message: Message) {
        lock.lock()
        let wasEmpty = queued == 0
        queue.append(message)
        queued += 1
        let mustSignal = waiting
        lock.unlock()
        // Afterwards, or the reader would wake only to wait for the lock.
        if mustSignal { lock.signal() }
        if wasEmpty { wake() }
    }

    /// Posts all of `messages`, which is empty afterwards. An empty box exchanges its memory for theirs, so
    /// that no message is copied. `urgent`: a reader that asks `isUrgent` in the middle of something else is
    /// to come soon.
    package func post(emptying messages: inout [Message], urgent: Bool = false) {
        let more = messages.count
        guard more > 0 else { return }
        lock.lock()
        let wasEmpty = queued == 0
        if wasEmpty {
            swap(&queue, &messages)
        } else {
            queue.append(contentsOf: messages)
            messages.removeAll(keepingCapacity: true)
        }
        queued += more
        if urgent { self.urgent = true }
        let mustSignal = waiting
        lock.unlock()
        // Afterwards, or the reader would wake only to wait for the lock.
        if mustSignal { lock.signal() }
        if wasEmpty { wake() }
    }

    /// Takes everything, in the order of posting. One reader.
    package func drain() -> [Message] {
        lock.lock()
        defer { lock.unlock() }
        let taken = queue
        queue = []
        queued = 0
        urgent = false
        return taken
    }

    /// Takes everything into `buffer`, whose old contents go and whose memory serves the box from now on.
    package func drain(into buffer: inout [Message]) {
        lock.lock()
        take(into: &buffer)
        lock.unlock()
    }

    /// Waits for a message, at most so long, and takes everything; empty when the time ran out.
    package func waitDrain(timeoutMilliseconds: Int) -> [Message] {
        var taken: [Message] = []
        waitDrain(into: &taken, timeoutMilliseconds: timeoutMilliseconds)
        return taken
    }

    /// The same into a buffer that is used again.
    package func waitDrain(into buffer: inout [Message], timeoutMilliseconds: Int) {
        let deadline = Clock.monotonicNanoseconds() &+ UInt64(max(0, timeoutMilliseconds)) &* 1_000_000
        lock.lock()
        waiting = true
        while queued == 0 {
            if !lock.wait(untilNanoseconds: deadline) { break }
        }
        waiting = false
        take(into: &buffer)
        lock.unlock()
    }

    private func take(into buffer: inout [Message]) {
        // To remove nothing costs as much as to remove some.
        if buffer.count > 0 { buffer.removeAll(keepingCapacity: true) }
        if queued > 0 { swap(&buffer, &queue) }
        queued = 0
        urgent = false
    }

    /// Whether something that waits was posted as urgent.
    package var isUrgent: Bool {
        lock.lock()
        defer { lock.unlock() }
        return urgent
    }

    /// Whether its reader has something to do: it does not sit in `waitDrain`, or will at once leave it.
    package var isReaderBusy: Bool {
        lock.lock()
        defer { lock.unlock() }
        return !waiting || queued > 0
    }

    /// How many messages wait now; for metrics.
    package var count: Int {
        lock.lock()
        defer { lock.unlock() }
        return queued
    }
}
