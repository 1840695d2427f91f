internal import Glibc

/// Where a program's words go: its standard streams, whether a person looks at them, and its environment.
package enum Console {
    package enum Stream: Int32, Sendable {
        case output = 1
        case error = 2
    }

    /// Writes all of it; a closed or full stream is not worth dying for, so failures are reported as `false`.
    @discardableResult
    package static func write(_ text: String, to stream: Stream) -> Bool {
        let bytes = Array(text.utf8)
        var sent = 0
        while sent < bytes.count {
            let count = unsafe bytes.withUnsafeBytes { raw in
                unsafe Glibc.write(stream.rawValue, raw.baseAddress! + sent, raw.count - sent)
            }
            if count < 0 {
                if errno == EINTR { continue }
                return false
            }
            sent += count
        }
        return true
    }

    package static func isTerminal(_ stream: Stream) -> Bool { isatty(stream.rawValue) == 1 }

    package static var inputIsTerminal: Bool { isatty(0) == 1 }

    package static func environment(_ name: String) -> String? {
        guard let value = unsafe getenv(name) else { return nil }
        return unsafe String(cString: value)
    }

    /// Colour only for people, and only for those who did not say no.
    package static func wantsColour(_ stream: Stream) -> Bool {
        isTerminal(stream) && (environment("NO_COLOR") ?? "").isEmpty && environment("TERM") != "dumb"
    }

    package static var nowMilliseconds: Int64 {
        var now = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &now)
        return Int64(now.tv_sec) * 1000 + Int64(now.tv_nsec) / 1_000_000
    }
}
