internal import Operations
internal import PosixKit

/// Ctrl-C and TERM end a stream in good order; a second one ends the process at once.
enum Interrupt {
    static func whenAsked(_ stop: @Sendable @escaping () -> Void) {
        // Where signals cannot be watched they keep their default effect, which also ends the stream.
        try? SignalWatch.start([Signal.interrupt, Signal.terminate]) { _ in
            Console.stopWaiting()
            stop()
        }
    }
}
