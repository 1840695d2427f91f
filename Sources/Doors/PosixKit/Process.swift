internal import CPosix
import Glibc

/// Numbers of the signals a program of ours handles.
package enum Signal {
    package static let hangup: Int32 = SIGHUP
    package static let interrupt: Int32 = SIGINT
    package static let terminate: Int32 = SIGTERM
    package static let user1: Int32 = SIGUSR1
    package static let user2: Int32 = SIGUSR2
    package static let windowChanged: Int32 = 28
}

extension Posix {
    package static var standardInput: Int32 { STDIN_FILENO }
    package static var standardOutput: Int32 { STDOUT_FILENO }
    package static var standardError: Int32 { STDERR_FILENO }

    /// The words after the program's name.
    ///
    /// The runtime's own list comes out empty where something that was loaded before the program has set an
    /// environment variable, as libfaketime does; the kernel's does not.
    package static var arguments: [String] {
        guard let bytes = try? readFile("/proc/self/cmdline", limit: 16 << 20), bytes.last == 0 else {
            return Array(CommandLine.arguments.dropFirst())
        }
        return bytes.dropLast().split(separator: 0, omittingEmptySubsequences: false).dropFirst()
            .map { String(decoding: $0, as: UTF8.self) }
    }

    /// Keeps the places of standard input, output and error taken where they were closed: a socket or a file
    /// of ours that got such a number would be written into by whoever means to talk to a person.
    ///
    /// What takes them fails as a closed one does. Call it before anything is opened.
    package static func holdStandardDescriptors() {
        for raw in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] {
            guard Glibc.fcntl(raw, F_GETFD) == -1, errno == EBADF else { continue }
            // The lowest that is free, so it is this one.
            _ = unsafe Glibc.open("/dev/null", raw == STDIN_FILENO ? O_WRONLY : O_RDONLY)
        }
    }

    /// Whether so many descriptors could be opened now.
    package static func hasFreeDescriptors(_ count: Int) -> Bool {
        var held: [Int32] = []
        defer { for raw in held { closeRaw(raw) } }
        while held.count < count {
            let raw = CPosix.eventfd(0, O_CLOEXEC)
            guard raw >= 0 else { return false }
            held.append(raw)
        }
        return true
    }

    package static var processID: Int32 { getpid() }
    package static var userID: UInt32 { geteuid() }

    /// How many processors this process may run on; fewer than the machine has under `taskset` or a cpuset.
    package static var processorCount: Int {
        // The kernel refuses a mask shorter than its own; it cannot be built for more than 8,192 processors.
        var mask = [UInt64](repeating: 0, count: 128)
        let code = unsafe mask.withUnsafeMutableBytes {
            unsafe sched_getaffinity(0, UInt($0.count), $0.baseAddress)
        }
        return code == 0 ? max(1, mask.reduce(0) { $0 + $1.nonzeroBitCount }) : 1
    }

    /// Returns what the process has freed to the system, where the allocator kept it for later. It looks at
    /// all that is allocated, so it is for quiet moments.
    package static func giveBackMemory() { _ = malloc_trim(0) }

    /// The value of an environment variable; nil when it is unset.
    package static func environment(_ name: String) -> String? {
        guard let value = unsafe getenv(name) else { return nil }
        return unsafe String(cString: value)
    }

    /// The names of all environment variables.
    package static var environmentNames: [String] {
        var names: [String] = []
        var next = unsafe environ
        while let entry = unsafe next.pointee {
            names.append(String(unsafe String(cString: entry).prefix { $0 != "=" }))
            unsafe next += 1
        }
        return names
    }

    package static func isTerminal(_ raw: Int32) -> Bool { isatty(raw) == 1 }

    /// Columns of the terminal; nil when `raw` is none.
    package static func terminalWidth(_ raw: Int32 = STDOUT_FILENO) -> Int? {
        var size = winsize()
        guard unsafe ioctl(raw, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
        return Int(size.ws_col)
    }

    /// Reads one line without showing it, for a passphrase; nil at the end of the input.
    package static func readSecretLine(prompt: () -> Void = {}) -> String? {
        var saved = termios()
        let isTerminal = unsafe tcgetattr(STDIN_FILENO, &saved) == 0
        if isTerminal {
            var silent = saved
            silent.c_lflag &= ~tcflag_t(ECHO)
            unsafe _ = tcsetattr(STDIN_FILENO, TCSAFLUSH, &silent)
        }
        defer { if isTerminal { unsafe _ = tcsetattr(STDIN_FILENO, TCSAFLUSH, &saved) } }
        // Only now, so that nothing is typed before it is hidden.
        prompt()
        return readLine(strippingNewline: true)
    }

    /// A write to a closed pipe or socket then fails with EPIPE instead of ending the process.
    package static func ignoreSIGPIPE() { _ = signal(SIGPIPE, SIG_IGN) }

    /// Raises the soft limit of open descriptors towards `wanted`, as far as the hard limit lets it.
    /// Returns: the limit that holds now.
    @discardableResult
    package static func raiseDescriptorLimit(to wanted: UInt64 = .max) -> UInt64 {
        var limit = rlimit()
        guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 1024 }
        let target = min(UInt64(limit.rlim_max), wanted)
        if target > limit.rlim_cur {
            let before = limit.rlim_cur
            limit.rlim_cur = rlim_t(target)
            if unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) != 0 {
                return UInt64(before)
            }
        }
        return UInt64(limit.rlim_cur)
    }

    /// Sends a signal to a process; false when there is no such process or it is not ours.
    @discardableResult
    package static func kill(_ pid: Int32, _ signal: Int32) -> Bool { Glibc.kill(pid, signal) == 0 }

    /// Resident memory of this process in bytes; 0 where the kernel does not tell.
    package static func residentBytes() -> Int {
        guard let bytes = try? readFile("/proc/self/statm", limit: 4096) else { return 0 }
        let fields = String(decoding: bytes, as: UTF8.self).split(separator: " ")
        guard fields.count > 1, let pages = Int(fields[1]) else { return 0 }
        return pages * Int(sysconf(Int32(_SC_PAGESIZE)))
    }
}
