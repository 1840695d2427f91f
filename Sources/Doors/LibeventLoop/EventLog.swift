internal import CLibevent
import Synchronization

/// Where libevent's own messages go: nowhere, or to the program's log. Never to stderr by themselves.
package enum EventLog {
    /// libevent's numbers.
    package enum Severity: Int32, Sendable { case debug = 0, message, warning, error }

    private static let handler = Mutex<(@Sendable (Severity, String) -> Void)?>(nil)
    // Set once for the process, by the first loop.
    private static let installed: Void = {
        unsafe event_set_log_callback { severity, message in
            guard let handler = EventLog.handler.withLock({ $0 }), let message = unsafe message else {
                return
            }
            handler(Severity(rawValue: severity) ?? .error, unsafe String(cString: message))
        }
    }()

    static func install() { _ = installed }

    /// Routes libevent's messages of the whole process. Any thread; the handler may run on any.
    package static func route(to handler: (@Sendable (Severity, String) -> Void)?) {
        install()
        self.handler.withLock { $0 = handler }
    }
}
