import Operations
import Synchronization
import Testing

final class Lines: Sendable {
    private let lines = Mutex<[String]>([])
    let clock = Mutex<Int64>(1_000_000_000_123)
    func add(_ line: String) { lines.withLock { $0.append(line) } }
    var all: [String] { lines.withLock { $0 } }
    func advance(_ milliseconds: Int64) { clock.withLock { $0 += milliseconds } }
}

@Suite("Log") struct LogTests {
    private func log(
        _ lines: Lines, format: Log.Format = .text, minimum: Log.Level = .info, journal: Bool = false,
        burst: Int = 3
    ) -> Log {
        Log(
            format: format, minimum: minimum, underJournal: journal, colour: false,
            repetition: Log.Repetition(burst: burst, windowMilliseconds: 1000),
            now: { lines.clock.withLock { $0 } }, sink: { lines.add($0) })
    }

    @Test("an event is one line: time, level, event, fields")
    func text() {
        let lines = Lines()
        log(lines).info(
            "link-open", ["peer": "127.0.0.1:9", "links": 3, "name": "a b", "quote": #"x"y"#, "none": ""])
        #expect(
            lines.all == [
                #"2001-09-09T01:46:40.123Z info link-open peer=127.0.0.1:9 links=3 name="a b" quote="x\"y" none="""#
                    + "\n"
            ])
    }

    @Test("what is not taken at once is left out and counted, and nobody waits")
    func leftOut() {
        let lines = Lines()
        let isStuck = Mutex(true)
        let log = Log(
            format: .text, minimum: .info, underJournal: true, colour: false,
            repetition: Log.Repetition(burst: 100), now: { 0 },
            offer: { line in
                if isStuck.withLock({ $0 }) { return false }
                lines.add(line)
                return true
            })
        for _ in 0..<3 { log.info("x") }
        isStuck.withLock { $0 = false }
        log.info("y")
        log.info("z")
        #expect(lines.all == ["<4>warning log-left-out lines=3\n", "<6>info y\n", "<6>info z\n"])
    }

    @Test("as JSON an event is one object")
    func json() {
        let lines = Lines()
        log(lines, format: .json).warning("x", ["a": "b\n", "n": 1, "t": true])
        #expect(
            lines.all == [
                #"{"time":"2001-09-09T01:46:40.123Z","level":"warning","event":"x","a":"b\n","n":1,"t":true}"#
                    + "\n"
            ])
    }

    @Test("under a journal the priority stands in front and the time is left out")
    func journal() {
        let lines = Lines()
        log(lines, journal: true).error("broken")
        #expect(lines.all == ["<3>error broken\n"])
    }

    @Test("levels under the minimum are not written")
    func levels() {
        let lines = Lines()
        let log = log(lines, minimum: .warning)
        log.info("a")
        log.notice("b")
        log.warning("c")
        log.error("d")
        #expect(lines.all.count == 2)
    }

    @Test("what a peer wrote cannot start a line or colour a terminal, and is cut at 512 bytes")
    func hostile() {
        let lines = Lines()
        let text = "\u{1B}[31m\n2001 error fake \u{202E}" + String(repeating: "é", count: 600)
        log(lines).info("peer-said", ["text": .text(text)])
        let line = lines.all[0]
        #expect(line.filter { $0 == "\n" }.count == 1 && line.hasSuffix("\n"))
        #expect(!line.contains("\u{1B}") && !line.contains("\u{202E}"))
        #expect(line.utf8.count < 700)
    }

    @Test("a repeated event is written a few times, then counted, then summarised")
    func repetition() {
        let lines = Lines()
        let log = log(lines)
        for _ in 0..<100 { log.info("accept-failed") }
        log.info("other")
        #expect(lines.all.count == 4)
        lines.advance(1000)
        log.info("accept-failed")
        #expect(lines.all.count == 6)
        #expect(lines.all[4].contains("log-suppressed of=accept-failed count=97"))
    }

    @Test("counts that nobody asked for again are written at the end")
    func flush() {
        let lines = Lines()
        let log = log(lines)
        for _ in 0..<5 { log.error("x") }
        log.flushSuppressed()
        #expect(lines.all.count == 3)
        log.flushSuppressed(all: true)
        #expect(lines.all.count == 4)
        log.flushSuppressed(all: true)
        #expect(lines.all.count == 4)
    }
}
