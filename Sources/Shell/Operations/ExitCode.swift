/// What a program of Antenna tells its caller when it ends.
///
/// **Source** the values of `sysexits.h`, so that a service manager can say which ones must not be retried.
package enum ExitCode: Int32, Sendable, CaseIterable {
    /// Done; also after a clean stop by TERM or INT.
    case ok = 0
    /// A defect of ours.
    case unexpected = 1
    /// Some relays took it, some did not.
    case partial = 2
    /// Wrong usage; repeating it will not help.
    case usage = 64
    /// A database is corrupt, foreign or too new.
    case badData = 65
    /// A service could not be reached in time, or no relay took it.
    case unavailable = 69
    /// The state directory cannot be created or written.
    case cannotCreate = 73
    /// Input or output failed.
    case inputOutput = 74
    /// Somebody else holds a lock; try later.
    case temporary = 75
    /// Not permitted, or a wrong passphrase.
    case permission = 77
    /// The configuration is invalid.
    case badConfiguration = 78
}
