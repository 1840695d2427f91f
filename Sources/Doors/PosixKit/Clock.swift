import Glibc

/// The machine's clocks. Only the shell reads them; Core is told the time.
package enum Clock {
    /// Seconds since 1970-01-01 UTC.
    package static func nowSeconds() -> Int64 { Int64(read(CLOCK_REALTIME).tv_sec) }

    /// Milliseconds since 1970-01-01 UTC.
    package static func nowMilliseconds() -> Int64 {
        let time = read(CLOCK_REALTIME)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }

    /// Nanoseconds of a clock that never steps; its zero means nothing.
    package static func monotonicNanoseconds() -> UInt64 {
        let time = read(CLOCK_MONOTONIC)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }

    /// Nanoseconds of processor time this process has used, for measurements.
    package static func processNanoseconds() -> UInt64 {
        let time = read(CLOCK_PROCESS_CPUTIME_ID)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }

    /// Nanoseconds of processor time this thread has used, for measurements.
    package static func threadNanoseconds() -> UInt64 {
        let time = read(CLOCK_THREAD_CPUTIME_ID)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }

    /// Blocks this thread for about so long, or until a signal comes; for programs with nothing else to do.
    package static func pause(milliseconds: Int32) {
        _ = poll(nil, 0, milliseconds)
    }

    private static func read(_ clock: clockid_t) -> timespec {
        var time = timespec()
        let result = unsafe clock_gettime(clock, &time)
        precondition(result == 0, "the kernel knows these clocks")
        return time
    }
}
