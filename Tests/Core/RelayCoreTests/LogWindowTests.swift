import RelayCore
import Testing

@Suite("Log window")
struct LogWindowTests {
    static let epoch: [UInt8] = [1, 2, 3, 4, 5, 6, 7, 8]
    static let window = LogWindow(epoch: epoch, first: 11, head: 20)

    static func resolve(_ start: LogWindow.Start, _ window: LogWindow = window) -> LogWindow.Resume {
        window.resolve(start) { (count: Int) -> Int64? in count <= 10 ? 20 - Int64(count) + 1 : nil }
    }

    @Test("a cursor in this log is where it says", arguments: [0, 5, 10, 15, 20] as [Int64])
    func known(position: Int64) {
        #expect(
            LogWindowTests.resolve(.after(epoch: LogWindowTests.epoch, position: position))
                == LogWindow.Resume(resumeAfter: position, epochLost: false))
    }

    @Test("a cursor of another log, or from beyond this one, means nothing: everything stored comes")
    func lost() {
        let everything = LogWindow.Resume(resumeAfter: 10, epochLost: true)
        let zero = [UInt8](repeating: 0, count: 8)
        #expect(LogWindowTests.resolve(.after(epoch: zero, position: 15)) == everything)
        #expect(LogWindowTests.resolve(.after(epoch: LogWindowTests.epoch, position: 21)) == everything)
        #expect(LogWindowTests.resolve(.after(epoch: LogWindowTests.epoch, position: -1)) == everything)
    }

    @Test("the newest few begin there, or with the first stored where there are fewer")
    func newest() {
        #expect(LogWindowTests.resolve(.newest(3)).resumeAfter == 17)
        #expect(LogWindowTests.resolve(.newest(100)).resumeAfter == 10)
        #expect(LogWindowTests.resolve(.newest(0)).resumeAfter == 20)
    }

    @Test("live begins after the head")
    func live() {
        #expect(LogWindowTests.resolve(.live) == LogWindow.Resume(resumeAfter: 20, epochLost: false))
    }

    @Test("an empty log resumes at its head")
    func empty() {
        let window = LogWindow(epoch: LogWindowTests.epoch, first: 21, head: 20)
        #expect(LogWindowTests.resolve(.live, window).resumeAfter == 20)
        #expect(LogWindowTests.resolve(.newest(20), window).resumeAfter == 20)
        #expect(
            LogWindowTests.resolve(.after(epoch: [], position: 0), window)
                == LogWindow.Resume(resumeAfter: 20, epochLost: true))
    }

    @Test("what was pruned after a cursor is one gap")
    func pruned() {
        #expect(LogWindowTests.window.prunedGap(after: 4) == 5...10)
        #expect(LogWindowTests.window.prunedGap(after: 9) == 10...10)
        #expect(LogWindowTests.window.prunedGap(after: 10) == nil)
    }
}

@Suite("Retention")
struct RetentionTests {
    let retention = Retention(messages: 640, bytes: 6400)

    @Test("at the limit nothing goes, one beyond it does, with a 64th to spare")
    func afterAppend() {
        #expect(retention.excessAfterAppend(messages: 640, bytes: 6400) == nil)
        #expect(
            retention.excessAfterAppend(messages: 641, bytes: 0) == Retention.Excess(messages: 11, bytes: 0))
        #expect(
            retention.excessAfterAppend(messages: 1, bytes: 6401) == Retention.Excess(messages: 0, bytes: 101)
        )
    }

    @Test("a sweep drops exactly what is over the limit")
    func sweep() {
        #expect(retention.excess(messages: 640, bytes: 6400) == nil)
        #expect(retention.excess(messages: 650, bytes: 6500) == Retention.Excess(messages: 10, bytes: 100))
    }

    @Test("age counts back from now")
    func age() {
        #expect(retention.oldestKept(now: 1000) == nil)
        #expect(Retention(ageSeconds: 300).oldestKept(now: 1000) == 700)
    }
}
