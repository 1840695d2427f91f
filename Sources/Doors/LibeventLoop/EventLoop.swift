internal import CLibevent
package import PosixKit

/// The loop could not be made, or the kernel refused to watch something.
package enum LoopError: Error, Equatable, CustomStringConvertible {
    case cannotCreate
    case descriptor(PosixError)

    package var description: String {
        switch self {
        case .cannotCreate: "there is not enough memory, or libevent finds no way to wait"
        case .descriptor(let error): error.description
        }
    }
}

/// Lets any thread wake a loop. Kept apart from the loop, which belongs to one thread.
package final class LoopWaker: Sendable {
    fileprivate let descriptor: FileDescriptor

    fileprivate init(_ descriptor: consuming FileDescriptor) { self.descriptor = descriptor }

    /// Makes the loop run its wake handlers soon. Any thread; also after the loop has gone.
    package func wake() { Posix.signalEvent(descriptor.raw) }
}

/// One libevent loop and the thread it runs on.
///
/// Everything of a loop, its events and timers too, is used by one thread only: the one that calls `run` (or
/// `runOnce`), or before the first run the one that made it. `waker` alone may go to other threads.
package final class EventLoop {
    package let waker: LoopWaker
    let base: EventBase
    private var wakeEvent: LoopEvent?
    private var wakeHandlers: [() -> Void] = []
    private var isStopped = false
    private var owner: UInt

    package init() throws(LoopError) {
        EventLog.install()
        // libevent ends the process when it gets none; it takes five.
        guard Posix.hasFreeDescriptors(6) else {
            throw .descriptor(PosixError(errno: PosixErrno.tooManyFiles, call: "event_base_new"))
        }
        guard let base = EventBase() else { throw .cannotCreate }
        self.base = base
        do throws(PosixError) {
            waker = LoopWaker(try Posix.eventDescriptor())
        } catch {
            throw .descriptor(error)
        }
        owner = PosixThread.currentID
        let raw = waker.descriptor.raw
        let event = watch(raw, .read, persist: true) { [unowned self] in
            Posix.clearEvent(raw)
            for handler in self.wakeHandlers { handler() }
        }
        event.add()
        wakeEvent = event
    }

    /// Runs until `stop`. The calling thread is the loop's thread from now on.
    package func run() {
        owner = PosixThread.currentID
        isStopped = false
        while !isStopped { base.loop(flags: EVLOOP_NO_EXIT_ON_EMPTY) }
    }

    /// Waits for something to happen (or not, when `waiting` is false) and handles it.
    package func runOnce(waiting: Bool = true) {
        owner = PosixThread.currentID
        base.loop(flags: waiting ? EVLOOP_ONCE : EVLOOP_ONCE | EVLOOP_NONBLOCK)
    }

    /// Ends `run` after the handler that is running. Loop thread.
    package func stop() {
        assertOnLoop()
        isStopped = true
        base.breakLoop()
    }

    /// Wakes the loop from any thread that can name it; others keep `waker`.
    package func wake() { waker.wake() }

    /// Adds what runs when somebody woke the loop, as a rule the draining of a mailbox. It stays for good.
    package func onWake(_ handler: @escaping () -> Void) {
        assertOnLoop()
        wakeHandlers.append(handler)
    }

    package enum Interest: Sendable { case read, write }

    /// Makes an event for a descriptor; nothing is watched before `add`.
    /// The handler is kept by the event: let it hold its owner weakly or unowned where the owner holds the
    /// event.
    package func watch(
        _ descriptor: Int32, _ interest: Interest, persist: Bool, _ handler: @escaping () -> Void
    )
        -> LoopEvent
    {
        assertOnLoop()
        return LoopEvent(base, descriptor, interest.flags(persist), handler)
    }

    /// The same without a closure and an object of its own, for an owner among thousands. What is watched
    /// stays so until it is removed.
    package func watch(_ descriptor: Int32, _ interest: Interest, owner: any DescriptorOwner)
        -> DescriptorWatch
    {
        assertOnLoop()
        return DescriptorWatch(base, descriptor, interest, owner)
    }

    /// Calls `handler` after so many milliseconds, once or again and again. Letting go of the timer stops it.
    package func timer(
        afterMilliseconds delay: Int64, repeating: Bool = false, _ handler: @escaping () -> Void
    )
        -> LoopTimer
    {
        assertOnLoop()
        return LoopTimer(base, delay, repeating, handler)
    }

    /// Calls `handler` on the loop for each arrival of a signal, from now on.
    /// libevent serves signals on one loop of a process only: the last that asked for one.
    package func onSignal(_ number: Int32, _ handler: @escaping () -> Void) -> LoopEvent {
        assertOnLoop()
        let event = LoopEvent(base, number, EV_SIGNAL | EV_PERSIST, handler)
        event.add()
        return event
    }

    /// A defect of ours when another thread than the loop's calls.
    @inline(__always)
    package func assertOnLoop() {
        precondition(owner == PosixThread.currentID, "a loop is used by its own thread only")
    }

    /// Milliseconds of the clock that never steps.
    package var nowMonotonicMilliseconds: Int64 { Int64(Clock.monotonicNanoseconds() / 1_000_000) }

    /// The version of the libevent in use.
    package static var libeventVersion: String {
        guard let text = unsafe event_get_version() else { return "unknown" }
        return unsafe String(cString: text)
    }
}

@available(*, unavailable)
extension EventLoop: Sendable {}

extension EventLoop.Interest {
    fileprivate func flags(_ persist: Bool) -> Int32 {
        (self == .read ? EV_READ : EV_WRITE) | (persist ? EV_PERSIST : 0)
    }
}

/// The `event_base`, kept by its events too, so that it is freed after the last of them.
@safe final class EventBase {
    fileprivate let pointer: OpaquePointer

    fileprivate init?() {
        guard let config = unsafe event_config_new() else { return nil }
        defer { unsafe event_config_free(config) }
        // One thread per loop, so no locks; and the environment of an operator does not choose the poller.
        unsafe _ = event_config_set_flag(config, ANTENNA_BASE_NOLOCK | ANTENNA_BASE_IGNORE_ENV)
        guard let made = unsafe event_base_new_with_config(config) else { return nil }
        unsafe pointer = unsafe made
    }

    fileprivate func loop(flags: Int32) {
        let result = unsafe event_base_loop(pointer, flags)
        precondition(result >= 0, "the kernel polls the descriptors of a loop")
    }
    fileprivate func breakLoop() { unsafe _ = event_base_loopbreak(pointer) }

    func makeEvent(
        _ descriptor: Int32, _ flags: Int32, _ callback: event_callback_fn,
        _ argument: UnsafeMutableRawPointer
    ) -> OpaquePointer? {
        unsafe event_new(pointer, descriptor, Int16(truncatingIfNeeded: flags), callback, argument)
    }

    deinit { unsafe event_base_free(pointer) }
}
