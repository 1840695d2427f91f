import ClientCore
import Testing

@Suite("Back-off")
struct BackoffTests {
    @Test("pauses double, stay between half and whole, and end at the maximum")
    func doubling() {
        var random = SeededRandom(seed: 7)
        var backoff = Backoff(minimumMilliseconds: 1000, maximumMilliseconds: 10_000)
        for whole: Int64 in [1000, 2000, 4000, 8000, 10_000, 10_000] {
            let pause = backoff.failed(using: &random)
            #expect(pause >= whole / 2 && pause <= whole)
        }
        for _ in 0..<100 { #expect(backoff.failed(using: &random) <= 10_000) }
        backoff.succeeded()
        #expect(backoff.failed(using: &random) <= 1000)
    }

    @Test("a relay's advice is never undercut, and never more than a quarter over it")
    func advice() {
        var random = SeededRandom(seed: 8)
        let pauses = (0..<200).map { _ in
            var backoff = Backoff(minimumMilliseconds: 100, maximumMilliseconds: 1000)
            return backoff.failed(retryAfterMilliseconds: 8000, using: &random)
        }
        #expect(pauses.allSatisfy { $0 >= 8000 && $0 <= 10_000 })
        // A crowd that was told the same does not come back together.
        #expect(Set(pauses).count > 100)
    }

    @Test("an absurd advice counts as a day")
    func absurdAdvice() {
        var random = SeededRandom(seed: 9)
        var backoff = Backoff()
        #expect(backoff.failed(retryAfterMilliseconds: .max, using: &random) <= 86_400_000 * 5 / 4)
        #expect(backoff.drained(delayMilliseconds: .max, using: &random) <= 86_400_000 * 11 / 10)
    }

    @Test("a drain is not a failure and is spread a little")
    func drain() {
        var random = SeededRandom(seed: 10)
        let backoff = Backoff(minimumMilliseconds: 100, maximumMilliseconds: 1000)
        let pauses = (0..<50).map { _ in backoff.drained(delayMilliseconds: 5000, using: &random) }
        #expect(pauses.allSatisfy { $0 >= 5000 && $0 <= 5500 })
        #expect(Set(pauses).count > 10)
        #expect(backoff.failures == 0)
    }

    @Test("the same seed gives the same pauses, another seed others")
    func seeds() {
        func pauses(_ seed: UInt64) -> [Int64] {
            var random = SeededRandom(seed: seed)
            var backoff = Backoff()
            return (0..<10).map { _ in backoff.failed(using: &random) }
        }
        #expect(pauses(1) == pauses(1))
        #expect(pauses(1) != pauses(2))
    }
}

@Suite("An outbox row")
struct OutboxTests {
    @Test("waits, is sent, is accepted, and stays accepted")
    func accepted() {
        var entry = OutboxEntry()
        #expect(entry.isDue(nowMilliseconds: 0))
        entry.sent()
        entry.acknowledged(sequence: 9)
        #expect(entry.state == .accepted(sequence: 9))
        entry.refused(
            code: 42, name: "signature-required", retry: .no, backoffMilliseconds: 1, nowMilliseconds: 1)
        entry.interrupted(reason: "closed", backoffMilliseconds: 1, nowMilliseconds: 1)
        #expect(entry.state == .accepted(sequence: 9))
        #expect(entry.attempts == 1)
    }

    @Test("a lost answer sends it again after the pause, not before")
    func interrupted() {
        var entry = OutboxEntry()
        entry.sent()
        entry.interrupted(reason: "closed", backoffMilliseconds: 500, nowMilliseconds: 1000)
        #expect(!entry.isDue(nowMilliseconds: 1499))
        #expect(entry.isDue(nowMilliseconds: 1500))
        #expect(entry.lastError == "closed")
    }

    @Test("a clock that was put back keeps nothing waiting")
    func clockPutBack() {
        var entry = OutboxEntry()
        let day: Int64 = 86_400_000
        // No pause is none by any clock.
        entry.interrupted(reason: "closed", backoffMilliseconds: 0, nowMilliseconds: 400 * day)
        #expect(entry.isDue(nowMilliseconds: 1))
        entry.interrupted(reason: "closed", backoffMilliseconds: 500, nowMilliseconds: 400 * day)
        #expect(!entry.isDue(nowMilliseconds: 399 * day))
        // Longer than any pause, or before it was written.
        #expect(entry.isDue(nowMilliseconds: 398 * day))
        #expect(entry.isDue(queuedAtSeconds: 400 * 86_400, nowMilliseconds: 399 * day + 86_000_000))
        for wrong in [Int64.min, .max] {
            #expect(OutboxEntry(nextTryMilliseconds: wrong).isDue(nowMilliseconds: 400 * day))
        }
    }

    @Test("a refusal for good is final")
    func refused() {
        var entry = OutboxEntry()
        entry.refused(
            code: 43, name: "not-permitted", retry: .no, backoffMilliseconds: 500, nowMilliseconds: 0)
        #expect(entry.state == .refused(code: 43))
        entry.acknowledged(sequence: 1)
        #expect(entry.state == .refused(code: 43))
        #expect(!entry.isDue(nowMilliseconds: .max))
    }

    @Test(
        "retriable refusals wait, others end",
        arguments: [
            (UInt16(9), RetryAdvice.yes), (8, .yes), (10, .yes), (5, .yes), (6, .yes), (7, .yes), (11, .yes),
            (25, .whenChanged), (26, .whenChanged), (20, .no), (22, .no), (43, .no), (42, .no), (45, .no),
            (46, .no),
            (49, .no),
            (31, .whenChanged), (21, .no), (23, .no),
        ])
    func adviceByCode(code: UInt16, advice: RetryAdvice) {
        #expect(PublishRefusal.advice(code: code, originalPending: false, relayUnderWay: false) == advice)
    }

    @Test("an edit waits for its message where that one is still pending, and ends where it is not")
    func editBeforeOriginal() {
        #expect(PublishRefusal.advice(code: 50, originalPending: true, relayUnderWay: false) == .whenChanged)
        #expect(PublishRefusal.advice(code: 50, originalPending: false, relayUnderWay: false) == .no)
    }

    @Test("a relay that is still being taken in may not know the channel yet")
    func underWay() {
        #expect(PublishRefusal.advice(code: 20, originalPending: false, relayUnderWay: true) == .whenChanged)
        #expect(PublishRefusal.advice(code: 20, originalPending: false, relayUnderWay: false) == .no)
    }
}

@Suite("The position in a relay's log")
struct DeliveryCursorTests {
    @Test("a contiguous sequence is taken once")
    func contiguous() {
        var cursor = DeliveryCursor()
        #expect(cursor.attached(epoch: [1], resumeAfter: 4) == .started)
        #expect(cursor.delivered(sequence: 5) == .take)
        #expect(cursor.delivered(sequence: 6) == .take)
        #expect(cursor.delivered(sequence: 6) == .repeated)
        #expect(cursor.delivered(sequence: 5) == .repeated)
        #expect(cursor.position == 6)
    }

    @Test("a hole without a notice is named, and the delivery is used")
    func silentHole() {
        var cursor = DeliveryCursor(epoch: [1], position: 4)
        #expect(cursor.delivered(sequence: 7) == .silentHole(from: 5, to: 6))
        #expect(cursor.position == 7)
    }

    @Test("a gap notice closes the hole that it covers and no more")
    func gap() {
        var cursor = DeliveryCursor(epoch: [1], position: 4)
        #expect(cursor.gap(from: 5, to: 9) == .take)
        #expect(cursor.delivered(sequence: 10) == .take)
        #expect(cursor.gap(from: 13, to: 14) == .silentHole(from: 11, to: 12))
        #expect(cursor.gap(from: 3, to: 14) == .repeated)
        #expect(cursor.gap(from: 20, to: 15) == .repeated)
    }

    @Test("another epoch is noticed, and the new one is followed")
    func epoch() {
        var cursor = DeliveryCursor(epoch: [1], position: 40)
        #expect(cursor.attached(epoch: [2], resumeAfter: 0) == .newEpoch)
        #expect(cursor.delivered(sequence: 1) == .take)
    }

    @Test("a relay that goes on from elsewhere is noticed")
    func moved() {
        var cursor = DeliveryCursor(epoch: [1], position: 40)
        #expect(cursor.attached(epoch: [1], resumeAfter: 40) == .resumed)
        #expect(cursor.attached(epoch: [1], resumeAfter: 30) == .moved(from: 40))
    }
}

@Suite("Copies from several relays")
struct CopyComparisonTests {
    static func key(_ n: UInt8) -> CopyComparison.Key { .init(author: [1], message: [n]) }

    @Test("equal copies say nothing")
    func equal() {
        var comparison = CopyComparison(graceMilliseconds: 0)
        #expect(
            comparison.delivered(Self.key(1), relay: "a", sequence: Int64(1), digest: [1], nowMilliseconds: 0)
                == nil)
        #expect(
            comparison.delivered(Self.key(1), relay: "b", sequence: Int64(1), digest: [1], nowMilliseconds: 0)
                == nil)
        #expect(comparison.overdue(nowMilliseconds: 1000).isEmpty)
    }

    @Test("of two different copies the later is named, of three the one alone", arguments: [false, true])
    func altered(first: Bool) {
        var comparison = CopyComparison(graceMilliseconds: 0)
        _ = comparison.delivered(
            Self.key(1), relay: "a", sequence: Int64(1), digest: [first ? 2 : 1], nowMilliseconds: 0)
        let second = comparison.delivered(
            Self.key(1), relay: "b", sequence: Int64(1), digest: [first ? 1 : 2], nowMilliseconds: 0)
        #expect(second == .altered(Self.key(1), relay: "b", others: ["a"]))
        let third = comparison.delivered(
            Self.key(1), relay: "c", sequence: Int64(1), digest: [1], nowMilliseconds: 0)
        #expect(third == (first ? .altered(Self.key(1), relay: "a", others: ["b", "c"]) : nil))
    }

    @Test("a relay that went past a message is named after the grace time, once")
    func withheld() {
        var comparison = CopyComparison(graceMilliseconds: 100)
        for n: UInt8 in 1...3 {
            _ = comparison.delivered(
                Self.key(n), relay: "a", sequence: Int64(n), digest: [n], nowMilliseconds: 0)
        }
        _ = comparison.delivered(Self.key(1), relay: "b", sequence: Int64(1), digest: [1], nowMilliseconds: 0)
        _ = comparison.delivered(Self.key(3), relay: "b", sequence: Int64(3), digest: [3], nowMilliseconds: 0)
        #expect(comparison.overdue(nowMilliseconds: 99).isEmpty)
        #expect(
            comparison.overdue(nowMilliseconds: 100) == [.withheld(Self.key(2), relay: "b", others: ["a"])])
        #expect(comparison.overdue(nowMilliseconds: 200).isEmpty)
    }

    @Test("it is the order of the logs that counts, not that of coming")
    func withheldWhoeverComesFirst() {
        var comparison = CopyComparison(graceMilliseconds: 0)
        for n: UInt8 in [1, 3] {
            _ = comparison.delivered(
                Self.key(n), relay: "b", sequence: Int64(n), digest: [n], nowMilliseconds: 0)
        }
        for n: UInt8 in 1...4 {
            _ = comparison.delivered(
                Self.key(n), relay: "a", sequence: Int64(n), digest: [n], nowMilliseconds: 0)
        }
        #expect(comparison.overdue(nowMilliseconds: 1) == [.withheld(Self.key(2), relay: "b", others: ["a"])])
    }

    @Test("a relay that is only behind, or began later, is not named")
    func behind() {
        var comparison = CopyComparison(graceMilliseconds: 0)
        for n: UInt8 in 1...3 {
            _ = comparison.delivered(
                Self.key(n), relay: "a", sequence: Int64(n), digest: [n], nowMilliseconds: 0)
        }
        _ = comparison.delivered(Self.key(2), relay: "b", sequence: Int64(2), digest: [2], nowMilliseconds: 0)
        #expect(comparison.overdue(nowMilliseconds: 1000).isEmpty)
    }

    @Test("a relay that explained a gap is not named for what was open then")
    func excused() {
        var comparison = CopyComparison(graceMilliseconds: 0)
        for n: UInt8 in 1...3 {
            _ = comparison.delivered(
                Self.key(n), relay: "a", sequence: Int64(n), digest: [n], nowMilliseconds: 0)
        }
        _ = comparison.delivered(Self.key(1), relay: "b", sequence: Int64(1), digest: [1], nowMilliseconds: 0)
        comparison.excused(relay: "b")
        _ = comparison.delivered(Self.key(3), relay: "b", sequence: Int64(3), digest: [3], nowMilliseconds: 0)
        #expect(comparison.overdue(nowMilliseconds: 1000).isEmpty)
    }

    private func log(
        _ messages: [UInt8], author: UInt8 = 1, of relay: String, into comparison: inout CopyComparison
    ) {
        for n in messages {
            _ = comparison.delivered(
                .init(author: [author], message: [n]), relay: relay, sequence: Int64(n), digest: [n],
                nowMilliseconds: 0)
        }
    }

    @Test("what lies on the two sides of a break is not between anything")
    func breaks() {
        var comparison = CopyComparison(graceMilliseconds: 0)
        log([1, 2, 3], of: "a", into: &comparison)
        log([1], of: "b", into: &comparison)
        comparison.started(relay: "b")
        log([4], of: "a", into: &comparison)
        log([3, 4], of: "b", into: &comparison)
        #expect(comparison.overdue(nowMilliseconds: 1000).isEmpty)
        log([5, 6], of: "a", into: &comparison)
        log([6], of: "b", into: &comparison)
        #expect(
            comparison.overdue(nowMilliseconds: 1000) == [.withheld(Self.key(5), relay: "b", others: ["a"])])
    }

    @Test("a relay that another author could not reach is not named for their messages")
    func authors() {
        var comparison = CopyComparison(graceMilliseconds: 0)
        log([1], of: "a", into: &comparison)
        log([2], author: 2, of: "a", into: &comparison)
        log([3], of: "a", into: &comparison)
        log([1, 3], of: "b", into: &comparison)
        #expect(comparison.overdue(nowMilliseconds: 1000).isEmpty)
    }

    @Test("what a relay may have made up is not asked for at the others")
    func inventions() {
        var comparison = CopyComparison(graceMilliseconds: 0)
        log([1], of: "a", into: &comparison)
        _ = comparison.delivered(
            Self.key(2), relay: "a", sequence: 2, digest: [2], isProof: false, nowMilliseconds: 0)
        log([3], of: "a", into: &comparison)
        log([1, 3], of: "b", into: &comparison)
        #expect(comparison.overdue(nowMilliseconds: 1000).isEmpty)
    }

    @Test("a change of a message is asked for only where the message is", arguments: [false, true])
    func amendments(hasMessage: Bool) {
        var comparison = CopyComparison(graceMilliseconds: 0)
        log([1, 2], of: "a", into: &comparison)
        _ = comparison.delivered(
            Self.key(3), relay: "a", sequence: 3, digest: [3], amends: [1], nowMilliseconds: 0)
        log([4], of: "a", into: &comparison)
        log(hasMessage ? [1, 2, 4] : [2, 4], of: "b", into: &comparison)
        #expect(comparison.overdue(nowMilliseconds: 1000).isEmpty == !hasMessage)
    }

    @Test("a witness whose log was another one before proves nothing with it")
    func witnessWithABreak() {
        var comparison = CopyComparison(graceMilliseconds: 0)
        log([1, 2, 3], of: "a", into: &comparison)
        comparison.lostOrder(relay: "a")
        log([1, 3], of: "b", into: &comparison)
        #expect(comparison.overdue(nowMilliseconds: 1000).isEmpty)
    }

    @Test("what a relay that was put back has lost may lie anywhere before the end of its new log")
    func changedLog() {
        var comparison = CopyComparison(graceMilliseconds: 0)
        log([1, 2, 3, 4], of: "a", into: &comparison)
        log([1], of: "b", into: &comparison)
        // It was put back with 1 and 2, and given 5 before the reader came.
        comparison.changedLog(relay: "b", head: 3)
        log([5], of: "a", into: &comparison)
        log([2], of: "b", into: &comparison)
        _ = comparison.delivered(Self.key(5), relay: "b", sequence: 3, digest: [5], nowMilliseconds: 0)
        #expect(comparison.overdue(nowMilliseconds: 1000).isEmpty)
        // What comes after that is as good as before.
        log([6, 7, 8], of: "a", into: &comparison)
        log([6, 8], of: "b", into: &comparison)
        #expect(
            comparison.overdue(nowMilliseconds: 1000) == [.withheld(Self.key(7), relay: "b", others: ["a"])])
    }

    @Test("what others deliver only after a relay was put back is not asked of it before the end of its log")
    func changedLogFirst() {
        var comparison = CopyComparison(graceMilliseconds: 0)
        log([1, 2], of: "a", into: &comparison)
        log([1], of: "b", into: &comparison)
        comparison.changedLog(relay: "b", head: 3)
        log([3, 4, 5], of: "a", into: &comparison)
        log([2], of: "b", into: &comparison)
        _ = comparison.delivered(Self.key(5), relay: "b", sequence: 3, digest: [5], nowMilliseconds: 0)
        #expect(comparison.overdue(nowMilliseconds: 1000).isEmpty)
    }

    @Test("the window is bounded, and old keys are forgotten with their index")
    func bounded() {
        var comparison = CopyComparison(graceMilliseconds: 0)
        for n in 0..<(CopyComparison.windowMax + 10) {
            _ = comparison.delivered(
                .init(author: [1], message: [UInt8(n >> 8), UInt8(n & 255)]), relay: "a", sequence: Int64(n),
                digest: [1],
                nowMilliseconds: 0)
        }
        #expect(comparison.count == CopyComparison.windowMax)
        let last = CopyComparison.windowMax + 9
        let finding = comparison.delivered(
            .init(author: [1], message: [UInt8(last >> 8), UInt8(last & 255)]), relay: "b",
            sequence: Int64(last), digest: [2],
            nowMilliseconds: 0)
        #expect(finding != nil)
    }
}

@Suite("The record kept")
struct RecordKeeperTests {
    @Test("the highest version is kept, whoever serves it; lower and conflicting ones are reported")
    func versions() {
        var keeper = RecordKeeper()
        #expect(keeper.offered(version: 3, bytes: [3]) == .take)
        #expect(keeper.offered(version: 2, bytes: [2]) == .stale(kept: 3))
        #expect(keeper.offered(version: 3, bytes: [3]) == .same)
        #expect(keeper.offered(version: 3, bytes: [9]) == .conflict)
        #expect(keeper.offered(version: 4, bytes: [4]) == .take)
        #expect(keeper.version == 4 && keeper.bytes == [4])
    }
}

@Suite("Leaving")
struct LeavePolicyTests {
    typealias Member = LeavePolicy.Member

    @Test("a sole owner stays; the own row is never counted")
    func soleOwner() {
        #expect(!LeavePolicy.mayLeave(own: [1], isOwner: true, members: []))
        #expect(
            !LeavePolicy.mayLeave(
                own: [1], isOwner: true, members: [Member(id: [1], isOwner: true, isCurrent: true)]))
        #expect(
            !LeavePolicy.mayLeave(
                own: [1], isOwner: true, members: [Member(id: [2], isOwner: true, isCurrent: false)]))
        #expect(
            !LeavePolicy.mayLeave(
                own: [1], isOwner: true, members: [Member(id: [2], isOwner: false, isCurrent: true)]))
    }

    @Test("with another current owner, or without being one, leaving is allowed")
    func others() {
        #expect(
            LeavePolicy.mayLeave(
                own: [1], isOwner: true, members: [Member(id: [2], isOwner: true, isCurrent: true)]))
        #expect(LeavePolicy.mayLeave(own: [1], isOwner: false, members: []))
    }
}
