import Glibc
import PosixKit
import Synchronization
import Testing

@Suite struct SocketAddressTests {
    @Test(arguments: ["127.0.0.1:5280", "0.0.0.0:0", "[::1]:5280", "[2001:db8::5]:65535"])
    func `an address reads back as it was written`(text: String) {
        #expect(SocketAddress.parse(text)?.description == text)
    }

    @Test(arguments: [
        "", ":", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1", "127.0.0.1:+5", "localhost:80",
        "::1:80",
        "[::1]", "[127.0.0.1]:80", "[::1:80", "1.2.3:80", "1.2.3.4\0:80",
    ])
    func `anything else is refused`(text: String) {
        #expect(SocketAddress.parse(text) == nil)
    }

    @Test func `connections are counted by IPv4 address and by IPv6 slash 64`() throws {
        let one = try #require(SocketAddress.parse("[2001:db8::1]:1")).countingKey
        let two = try #require(SocketAddress.parse("[2001:db8::ffff]:2")).countingKey
        let other = try #require(SocketAddress.parse("[2001:db8:0:1::1]:1")).countingKey
        #expect(one == two)
        #expect(one != other)
        let mapped = try #require(SocketAddress.parse("[::ffff:10.0.0.1]:1")).countingKey
        #expect(mapped == SocketAddress.parse("10.0.0.1:9")?.countingKey)
    }

    @Test func `numeric hosts resolve without the resolver, bad names fail with their name`() throws {
        #expect(try SocketAddress.resolve(host: "::1", port: 7).map(\.description) == ["[::1]:7"])
        #expect(throws: ResolveError.self) { try SocketAddress.resolve(host: "", port: 7) }
        #expect(throws: ResolveError.self) { try SocketAddress.resolve(host: "host.invalid", port: 7) }
    }
}

@Suite struct SocketTests {
    @Test func `bytes go through a TCP connection and its end is seen`() throws {
        let listener = try Posix.listen(tcp: .loopback(port: 0))
        let address = try #require(Posix.localAddress(listener.raw))
        guard case .wouldBlock = Posix.accept(listener.raw) else {
            Issue.record("nobody has connected yet")
            return
        }
        let client = try Posix.connect(tcp: address)
        #expect(Posix.waitReady(client.raw, writing: true, milliseconds: 10_000))
        #expect(Posix.connectOutcome(client.raw) == nil)
        #expect(Posix.waitReady(listener.raw, milliseconds: 10_000))
        guard case .accepted(let server, let peer) = Posix.accept(listener.raw) else {
            Issue.record("the connection is there")
            return
        }
        #expect(peer == Posix.localAddress(client.raw))
        #expect(Posix.receive(server.raw, limit: 10).0 == .wouldBlock)
        #expect(Posix.send(client.raw, [1, 2, 3]) == .done(3))
        #expect(Posix.waitReady(server.raw, milliseconds: 10_000))
        #expect(Posix.receive(server.raw, limit: 10).1 == [1, 2, 3])
        Posix.shutdownWriting(client.raw)
        #expect(Posix.waitReady(server.raw, milliseconds: 10_000))
        #expect(Posix.receive(server.raw, limit: 10).0 == .closed)
    }

    @Test func `what a peer does not take is not piled up in the kernel`() throws {
        let listener = try Posix.listen(tcp: .loopback(port: 0))
        let client = try Posix.connect(tcp: try #require(Posix.localAddress(listener.raw)))
        #expect(Posix.waitReady(listener.raw, milliseconds: 10_000))
        guard case .accepted(let server, _) = Posix.accept(listener.raw) else {
            Issue.record("the connection is there")
            return
        }
        Posix.limitUnsent(server.raw, bytes: 32 << 10)
        let record = [UInt8](repeating: 7, count: 64 << 10)
        var taken = 0
        // Until nothing more is taken, also a moment later: what travels meanwhile makes room.
        while Posix.waitReady(server.raw, writing: true, milliseconds: 200), taken < 8 << 20 {
            guard case .done(let count) = Posix.send(server.raw, record) else { continue }
            taken += count
        }
        // With what the peer's kernel keeps for it. Without a limit of ours it would be 2.5 MiB and more.
        #expect(taken < 1 << 20)
        let held = try #require(Posix.unacknowledgedBytes(server.raw))
        #expect(held > 0 && held <= 256 << 10)
        while case .done = Posix.receive(client.raw, limit: 1 << 20).0 {}
        #expect(Posix.waitReady(server.raw, writing: true, milliseconds: 10_000))
        #expect(try #require(Posix.unacknowledgedBytes(server.raw)) < held)
    }

    @Test func `a refused connection says so`() throws {
        let listener = try Posix.listen(tcp: .loopback(port: 0))
        let address = try #require(Posix.localAddress(listener.raw))
        Posix.closeRaw(listener.release())
        var refused: PosixError?
        do throws(PosixError) {
            let client = try Posix.connect(tcp: address)
            #expect(Posix.waitReady(client.raw, writing: true, milliseconds: 10_000))
            refused = Posix.connectOutcome(client.raw)
        } catch {
            refused = error
        }
        #expect(refused?.isRefused == true)
    }

    @Test func `sending to a peer that has gone is closed, not a signal`() throws {
        let (a, b) = try Posix.socketPair()
        Posix.closeRaw(b)
        #expect(Posix.send(a, [1]) == .closed)
        Posix.closeRaw(a)
    }

    @Test func `a Unix listener replaces a dead socket but not a living one, and tells who called`() throws {
        let directory = try Posix.makeTemporaryDirectory(prefix: "posixkit")
        let path = "\(directory)/control"
        Posix.closeRaw(try Posix.listen(unix: path).release())
        let file = directory + "/file"
        try Posix.writeFileAtomically(file, [1])
        #expect(throws: PosixError.self) { _ = try Posix.listen(unix: file).release() }
        #expect(try Posix.readFile(file) == [1], "what is no socket is not removed")
        let listener = try Posix.listen(unix: path, mode: 0o600)
        #expect(Posix.status(path)?.mode == 0o600)
        #expect(throws: PosixError.self) { _ = try Posix.listen(unix: path).release() }
        let client = try Posix.connect(unix: path)
        let who = try Posix.peerCredentials(client.raw)
        #expect(who.pid == Posix.processID)
        #expect(who.uid == Posix.userID)
        _ = listener.raw
        try Posix.removeFile(path)
    }

    @Test func `a socket path that does not fit is an error`() {
        #expect(throws: PosixError.self) {
            _ = try Posix.connect(unix: String(repeating: "x", count: 200)).release()
        }
    }
}

@Suite struct FileTests {
    let directory: String
    init() throws { directory = try Posix.makeTemporaryDirectory(prefix: "posixkit") }

    @Test func `a file is replaced whole, with its mode and nothing left behind`() throws {
        let path = "\(directory)/a"
        try Posix.writeFileAtomically(path, [1, 2], mode: 0o640)
        try Posix.writeFileAtomically(path, [3], mode: 0o600)
        #expect(try Posix.readFile(path) == [3])
        #expect(Posix.status(path)?.mode == 0o600)
        #expect(try Posix.list(directory) == ["a"])
    }

    @Test func `a file over the limit is refused, one at the limit is read`() throws {
        let path = "\(directory)/b"
        try Posix.writeFileAtomically(path, [UInt8](repeating: 7, count: 1000), fsync: false)
        #expect(try Posix.readFile(path, limit: 1000).count == 1000)
        #expect(throws: PosixError.self) { try Posix.readFile(path, limit: 999) }
    }

    @Test func `a missing file is told from other failures`() {
        let error = #expect(throws: PosixError.self) { try Posix.readFile("\(directory)/none") }
        #expect(error?.isNotFound == true)
        #expect(error?.description.contains("No such file") == true)
    }

    @Test func `directories are made with those above them, twice is fine, over a file is not`() throws {
        let path = "\(directory)/x/y/z"
        try Posix.createDirectory(path)
        try Posix.createDirectory(path)
        #expect(Posix.status(path)?.isDirectory == true)
        #expect(Posix.status(path)?.mode == 0o700)
        try Posix.writeFileAtomically("\(directory)/file", [])
        #expect(throws: PosixError.self) { try Posix.createDirectory("\(directory)/file") }
    }

    @Test func `a tree is removed whole, and what a link in it leads to stays`() throws {
        let tree = "\(directory)/tree"
        try Posix.createDirectory("\(tree)/a/b")
        try Posix.createDirectory("\(directory)/kept")
        for path in ["\(tree)/f", "\(tree)/a/b/f", "\(directory)/kept/f"] {
            try Posix.writeFileAtomically(path, [1])
        }
        #expect(symlink("\(directory)/kept", "\(tree)/a/link") == 0)
        Posix.removeTree(tree)
        #expect(!Posix.exists(tree))
        #expect(Posix.exists("\(directory)/kept/f"))
        Posix.removeTree(tree)
    }

    @Test func `a lock is held by one and free after`() throws {
        let path = "\(directory)/lock"
        do {
            let lock = try FileLock(path: path)
            #expect(lock != nil)
            // flock is per open file, so a second one in this process stands for another process.
            #expect(try FileLock(path: path) == nil)
            withExtendedLifetime(lock) {}
        }
        #expect(try FileLock(path: path) != nil)
    }

    @Test(arguments: [("a", "."), ("/a", "/"), ("x/a", "x"), ("/x/y/", "/x"), ("/", "/")])
    func `the directory of a path`(path: String, expected: String) {
        #expect(Posix.directory(of: path) == expected)
    }
}

@Suite struct ThreadTests {
    /// Also on kernels that do not know short turns the call succeeds; only a filter of calls refuses it.
    @Test func `a thread may ask for short turns`() {
        let taken = Mutex(false)
        let thread = PosixThread.start(name: "short") {
            taken.withLock { $0 = PosixThread.takeShortTurns(nanoseconds: 100_000) }
        }
        thread.join()
        #expect(taken.withLock { $0 })
    }
}

@Suite struct MailboxTests {
    @Test func `messages come out whole and in order, and wake runs once per filling`() {
        let wakes = Mutex(0)
        let box = Mailbox<Int> { wakes.withLock { $0 += 1 } }
        box.post(1)
        box.post(2)
        var more = [3, 4]
        box.post(emptying: &more)
        #expect(more.isEmpty)
        box.post(emptying: &more)
        #expect(wakes.withLock { $0 } == 1)
        #expect(box.count == 4)
        #expect(box.drain() == [1, 2, 3, 4])
        #expect(box.drain().isEmpty)
        box.post(5)
        #expect(wakes.withLock { $0 } == 2)
        var buffer = [9, 9]
        box.drain(into: &buffer)
        #expect(buffer == [5])
        more = [6, 7]
        box.post(emptying: &more)
        #expect(wakes.withLock { $0 } == 3 && more.isEmpty && box.count == 2)
        box.post(8)
        more.append(9)
        box.post(emptying: &more)
        #expect(wakes.withLock { $0 } == 3 && more.isEmpty && box.count == 4)
        box.drain(into: &buffer)
        #expect(buffer == [6, 7, 8, 9])
    }

    @Test func `waiting ends with a message or with the time`() {
        let box = Mailbox<Int>()
        #expect(box.waitDrain(timeoutMilliseconds: 1).isEmpty)
        let thread = PosixThread.start(name: "poster") { box.post(7) }
        var buffer = [9]
        box.waitDrain(into: &buffer, timeoutMilliseconds: 10_000)
        #expect(buffer == [7])
        thread.join()
        box.waitDrain(into: &buffer, timeoutMilliseconds: 1)
        #expect(buffer.isEmpty)
    }

    @Test func `something urgent is so until it is taken`() {
        let box = Mailbox<Int>()
        func post(_ message: Int, urgent: Bool = false) {
            var messages = [message]
            box.post(emptying: &messages, urgent: urgent)
        }
        post(1)
        #expect(!box.isUrgent)
        post(2, urgent: true)
        post(3)
        #expect(box.isUrgent)
        #expect(box.drain() == [1, 2, 3] && !box.isUrgent)
        post(4, urgent: true)
        var buffer: [Int] = []
        box.drain(into: &buffer)
        #expect(buffer == [4] && !box.isUrgent)
        post(5, urgent: true)
        #expect(box.waitDrain(timeoutMilliseconds: 0) == [5] && !box.isUrgent)
    }

    @Test func `a reader is busy until it waits with nothing to do`() {
        let box = Mailbox<Int>()
        #expect(box.isReaderBusy, "it has not come to wait")
        let thread = PosixThread.start(name: "reader") {
            while box.waitDrain(timeoutMilliseconds: 10_000) != [1] {}
        }
        let deadline = Clock.monotonicNanoseconds() + 10_000_000_000
        while box.isReaderBusy, Clock.monotonicNanoseconds() < deadline { PosixThread.giveWay() }
        #expect(!box.isReaderBusy)
        box.post(1)
        thread.join()
        #expect(box.isReaderBusy, "it has taken something and not come back")
    }

    @Test func `nothing is lost between many posters and one reader`() {
        let box = Mailbox<Int>()
        let threads = (0..<4).map { part in
            PosixThread.start(name: "poster") { for number in 0..<5000 { box.post(part * 5000 + number) } }
        }
        var seen: [Int] = []
        while seen.count < 20_000 {
            let got = box.waitDrain(timeoutMilliseconds: 10_000)
            if got.isEmpty { break }
            seen += got
        }
        threads.forEach { $0.join() }
        #expect(Set(seen).count == 20_000)
        for part in 0..<4 {
            let own = seen.filter { $0 / 5000 == part }
            #expect(own == own.sorted(), "one poster's messages keep their order")
        }
    }
}

@Suite struct ClockAndLimitTests {
    @Test func `the monotonic clock does not go back and the wall clock is past 2024`() {
        let first = Clock.monotonicNanoseconds()
        #expect(Clock.monotonicNanoseconds() >= first)
        #expect(Clock.nowSeconds() > 1_700_000_000)
        #expect(abs(Clock.nowMilliseconds() / 1000 - Clock.nowSeconds()) <= 1)
    }

    @Test func `the processors that this process may run on are counted`() throws {
        // Source: proc(5), "Cpus_allowed": hexadecimal words with commas, one bit a processor.
        let status = String(decoding: try Posix.readFile("/proc/self/status", limit: 64 << 10), as: UTF8.self)
        let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("Cpus_allowed:") })
        let bits = line.dropFirst("Cpus_allowed:".count).compactMap(\.hexDigitValue).reduce(0) {
            $0 + $1.nonzeroBitCount
        }
        #expect(bits > 0 && Posix.processorCount == bits)
    }

    @Test func `the descriptor limit never sinks`() {
        let before = Posix.raiseDescriptorLimit(to: 0)
        #expect(Posix.raiseDescriptorLimit(to: before) == before)
    }
}

@Suite struct CommandLineOptionsTests {
    typealias Option = CommandLineOptions.Option
    let known = [
        Option("config", short: "c", argument: .required), Option("verbose", short: "v"), Option("json"),
        Option("color", argument: .optional),
    ]

    @Test func `options and positionals may be mixed`() throws {
        let result = try CommandLineOptions.parse(
            ["-v", "one", "--config=/a", "two", "-cb", "--json", "--color", "--", "--three"], known)
        #expect(result.options.map(\.name) == ["verbose", "config", "config", "json", "color"])
        #expect(result.values("config") == ["/a", "b"])
        #expect(result.value("config") == "b")
        #expect(result.has("json"))
        #expect(result.value("color") == nil)
        #expect(result.positionals == ["one", "two", "--three"])
    }

    @Test func `a command stops at its first positional when asked`() throws {
        let result = try CommandLineOptions.parse(["-v", "leave", "--json"], known, stopAtPositional: true)
        #expect(result.options.map(\.name) == ["verbose"])
        #expect(result.positionals == ["leave", "--json"])
    }

    @Test(arguments: [
        (["--nope"], CommandLineOptions.ParseError.unknown("--nope")), (["-x"], .unknown("-x")),
        (["--nope=5"], .unknown("--nope")), (["--config"], .missingValue("--config")),
        (["-c"], .missingValue("-c")),
        (["--json=1"], .unexpectedValue("--json")),
    ])
    func `a wrong option is named`(arguments: [String], expected: CommandLineOptions.ParseError) {
        #expect(throws: expected) { try CommandLineOptions.parse(arguments, known) }
    }

    @Test func `no arguments are fine and parsing can be repeated`() throws {
        for _ in 0..<3 {
            #expect(try CommandLineOptions.parse([], known).options.isEmpty)
            #expect(try CommandLineOptions.parse(["x", "-v"], known).positionals == ["x"])
        }
    }
}
