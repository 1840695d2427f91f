internal import CLibevent

/// Something a loop watches: a descriptor or a signal. Letting go of it ends the watching.
@safe package final class LoopEvent {
    private let base: EventBase
    private let handler: () -> Void
    private var event: OpaquePointer?
    package private(set) var isAdded = false
    private let persists: Bool

    init(_ base: EventBase, _ descriptor: Int32, _ flags: Int32, _ handler: @escaping () -> Void) {
        self.base = base
        self.handler = handler
        persists = flags & EV_PERSIST != 0
        // The argument is not retained: `deinit` frees the event before the object goes.
        let argument = unsafe Unmanaged.passUnretained(self).toOpaque()
        unsafe event = base.makeEvent(
            descriptor, flags,
            { _, _, argument in
                guard let argument = unsafe argument else { return }
                // Taken strongly: the handler may let go of the last other reference.
                unsafe Unmanaged<LoopEvent>.fromOpaque(argument).takeUnretainedValue().fire()
            }, argument)
        precondition(unsafe event != nil, "libevent makes an event of a valid descriptor")
    }

    /// Watches from now on (again, after a one-shot event has come).
    /// Returns: false when the kernel refuses: no memory, or too many watches of this user.
    @discardableResult
    package func add() -> Bool {
        guard !isAdded else { return true }
        isAdded = unsafe event_add(event, nil) == 0
        return isAdded
    }

    package func remove() {
        guard isAdded else { return }
        isAdded = false
        unsafe _ = event_del(event)
    }

    private func fire() {
        if !persists { isAdded = false }
        handler()
    }

    deinit { unsafe event_free(event) }
}

/// A timer of a loop. Letting go of it stops it.
@safe package final class LoopTimer {
    private let base: EventBase
    private let handler: () -> Void
    private let delay: Int64
    private let repeating: Bool
    private var event: OpaquePointer?
    package private(set) var isRunning = false

    init(_ base: EventBase, _ delay: Int64, _ repeating: Bool, _ handler: @escaping () -> Void) {
        self.base = base
        self.delay = delay
        self.repeating = repeating
        self.handler = handler
        let argument = unsafe Unmanaged.passUnretained(self).toOpaque()
        unsafe event = base.makeEvent(
            -1, repeating ? EV_PERSIST : 0,
            { _, _, argument in
                guard let argument = unsafe argument else { return }
                unsafe Unmanaged<LoopTimer>.fromOpaque(argument).takeUnretainedValue().fire()
            }, argument)
        precondition(unsafe event != nil, "libevent makes a timer")
        restart()
    }

    /// Starts the delay anew, also after the timer has fired or was stopped.
    package func restart(afterMilliseconds delay: Int64? = nil) {
        let milliseconds = max(0, delay ?? self.delay)
        var time = antenna_timeval(tv_sec: milliseconds / 1000, tv_usec: milliseconds % 1000 * 1000)
        isRunning = true
        unsafe _ = event_add(event, &time)
    }

    package func stop() {
        guard isRunning else { return }
        isRunning = false
        unsafe _ = event_del(event)
    }

    private func fire() {
        if !repeating { isRunning = false }
        handler()
    }

    deinit { unsafe event_free(event) }
}

@available(*, unavailable)
extension LoopEvent: Sendable {}
@available(*, unavailable)
extension LoopTimer: Sendable {}
