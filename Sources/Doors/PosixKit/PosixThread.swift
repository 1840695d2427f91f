internal import CPosix
import Glibc

/// A plain thread with a name.
package final class PosixThread: @unchecked Sendable {
    // SAFETY: `handle` is written once before the object is handed out; `joined` is guarded by `lock`.
    private let handle: pthread_t
    private let lock = Lock()
    private var joined = false

    private init(handle: pthread_t) { self.handle = handle }

    /// Starts a thread that runs `body` once.
    package static func start(name: String, _ body: @Sendable @escaping () -> Void) -> PosixThread {
        let box = unsafe Unmanaged.passRetained(ThreadBody(name: name, run: body)).toOpaque()
        var handle = pthread_t()
        let result = unsafe pthread_create(
            &handle, nil,
            { argument in
                guard let argument = unsafe argument else { return nil }
                let body = unsafe Unmanaged<ThreadBody>.fromOpaque(argument).takeRetainedValue()
                // The kernel keeps 15 bytes of a name.
                let name = String(decoding: body.name.utf8.prefix(15), as: UTF8.self)
                unsafe _ = CPosix.pthread_setname_np(UInt(pthread_self()), name)
                body.run()
                return nil
            }, box)
        precondition(result == 0, "the system gives us a thread at start")
        return PosixThread(handle: handle)
    }

    /// Waits for the end of the thread; later calls return at once.
    package func join() {
        lock.lock()
        defer { lock.unlock() }
        guard !joined else { return }
        joined = true
        _ = pthread_join(handle, nil)
    }

    deinit {
        if !joined { pthread_detach(handle) }
    }

    /// Asks for short turns of the running thread: one that works little gets the processor as soon as it has
    /// something to do. Before Linux 6.12 it changes nothing. Units: nanoseconds.
    /// Returns: whether it was not refused.
    package static func takeShortTurns(nanoseconds: UInt64) -> Bool { antenna_slice(nanoseconds) == 0 }

    /// Lets other threads that could run on this processor do so first; returns at once where there are none.
    package static func giveWay() { _ = sched_yield() }

    /// A number for the running thread, to check who is calling.
    package static var currentID: UInt { UInt(pthread_self()) }
}

private final class ThreadBody: Sendable {
    let name: String
    let run: @Sendable () -> Void
    init(name: String, run: @Sendable @escaping () -> Void) {
        self.name = name
        self.run = run
    }
}

/// A mutex with a condition variable on the monotonic clock.
@safe package final class Lock: @unchecked Sendable {
    // SAFETY: both pointers are constant, and what they point to is made for use by many threads.
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let condition: UnsafeMutablePointer<pthread_cond_t>

    package init() {
        unsafe mutex = .allocate(capacity: 1)
        unsafe condition = .allocate(capacity: 1)
        unsafe mutex.initialize(to: pthread_mutex_t())
        unsafe condition.initialize(to: pthread_cond_t())
        unsafe _ = pthread_mutex_init(mutex, nil)
        unsafe _ = pthread_cond_init(condition, nil)
    }

    deinit {
        unsafe _ = pthread_cond_destroy(condition)
        unsafe _ = pthread_mutex_destroy(mutex)
        unsafe condition.deallocate()
        unsafe mutex.deallocate()
    }

    package func lock() { unsafe _ = pthread_mutex_lock(mutex) }
    package func unlock() { unsafe _ = pthread_mutex_unlock(mutex) }
    /// Wakes one waiter; call it with the lock held, or when what is waited for was done with it held.
    package func signal() { unsafe _ = pthread_cond_signal(condition) }
    /// Wakes all waiters; call it with the lock held.
    package func broadcast() { unsafe _ = pthread_cond_broadcast(condition) }

    /// Waits with the lock held (given up meanwhile); false when the monotonic time `deadline` has come.
    package func wait(untilNanoseconds deadline: UInt64) -> Bool {
        var time = timespec(tv_sec: Int(deadline / 1_000_000_000), tv_nsec: Int(deadline % 1_000_000_000))
        // The clock is named here and not when the condition is made: tools that put a program into another
        // time take pthread_cond_timedwait for a wait by the wall clock.
        return unsafe CPosix.pthread_cond_clockwait(condition, mutex, CLOCK_MONOTONIC, &time) == 0
    }
}
