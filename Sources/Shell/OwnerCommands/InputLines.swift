internal import PosixKit

/// The lines of standard input, read on a thread of their own so that nothing waits for a person's typing.
final class InputLines: Sendable {
    private let stream: AsyncStream<String>
    private let continuation: AsyncStream<String>.Continuation
    private let stopped = Flag()

    init() {
        // A pipe is read no faster than it is published: the reading thread waits for room.
        (stream, continuation) = AsyncStream.makeStream(of: String.self, bufferingPolicy: .unbounded)
    }

    func start() {
        let continuation = continuation
        _ = PosixThread.start(name: "input") {
            while let line = readLine(strippingNewline: true) { continuation.yield(line) }
            continuation.finish()
        }
    }

    /// The next line; nil at the end of the input or after ``stop()``.
    func next() async -> String? {
        if wasStopped { return nil }
        for await line in stream { return wasStopped ? nil : line }
        return nil
    }

    func stop() {
        stopped.raise()
        continuation.finish()
    }

    var wasStopped: Bool { stopped.isRaised }
}
