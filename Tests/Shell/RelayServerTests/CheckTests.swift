import ChannelWire
import LinkRuntime
import PosixKit
import Testing

@testable import RelayServer

@Suite("Checks that wait")
struct CheckTests {
    private let sessions: [LinkSession]
    private let loop: RelayLoop

    init() throws {
        let loop = try RelayLoopTests.loop(RelayIdentity.create(nowSeconds: Clock.nowSeconds()))
        self.loop = loop
        sessions = (0..<3).map { LinkSession(number: UInt64($0), loop: loop) }
    }

    private func publish(_ request: UInt32, bytes: Int = 10) -> Frame {
        .publish(request: request, body: [UInt8](repeating: 0, count: bytes))
    }

    private func requests(_ backlog: CheckBacklog) -> [UInt32] {
        var found: [UInt32] = []
        while let frame = backlog.next() {
            if case .publish(let request, _) = frame { found.append(request) }
        }
        return found
    }

    @Test("frames keep their order, and those that were held back before come first")
    func order() {
        let backlog = CheckBacklog()
        backlog.add([publish(3), publish(4)], first: false)
        backlog.add([publish(1), publish(2)], first: true)
        backlog.add([publish(5)], first: false)
        #expect(requests(backlog) == [1, 2, 3, 4, 5])
    }

    @Test("what has been taken no longer counts, so that the link is read again")
    func bytes() {
        let backlog = CheckBacklog()
        backlog.add([publish(1, bytes: 1000), publish(2, bytes: 500)], first: false)
        #expect(backlog.bytes == 1000 + 500 + 2 * 64)
        _ = backlog.next()
        #expect(backlog.bytes == 500 + 64 && !backlog.isEmpty)
        _ = backlog.next()
        #expect(backlog.bytes == 0 && backlog.isEmpty && backlog.next() == nil)
    }

    @Test("who has cost least goes first, whoever came first")
    func fairness() {
        var turns = CheckTurns()
        for (index, cost) in [(0, 900_000), (1, 100_000), (2, 500_000)] as [(Int, UInt64)] {
            turns.spent(by: sessions[index], from: 0, to: cost)
            let mustWake = turns.wait(sessions[index])
            #expect(mustWake == (index == 0), "the loop is woken once")
        }
        let again = turns.wait(sessions[0])
        #expect(!again, "it waits already")
        let order = (0..<3).map { _ in turns.next(now: 1_000_000)?.number }
        #expect(order == [1, 2, 0])
        let none = turns.next(now: 1_000_000)
        #expect(none == nil && turns.isEmpty)
    }

    @Test("a link that has gone waits no more, and one that waits does not go at once")
    func forgotten() {
        var turns = CheckTurns()
        for session in sessions { _ = turns.wait(session) }
        #expect(!turns.mayGoAtOnce(sessions[1], now: 0))
        turns.forget(sessions[1])
        #expect(turns.mayGoAtOnce(sessions[1], now: 0))
        let order = (0..<3).map { _ in turns.next(now: 0)?.number }
        #expect(Set(order) == [0, 2, nil])
    }

    @Test("who has cost much waits until that is forgotten, and all together have so much in a turn")
    func free() {
        var turns = CheckTurns()
        turns.spent(by: sessions[0], from: 0, to: CheckTurns.freeOfLink)
        turns.beginTurn()
        #expect(!turns.mayGoAtOnce(sessions[0], now: CheckTurns.freeOfLink))
        #expect(turns.mayGoAtOnce(sessions[1], now: CheckTurns.freeOfLink))
        #expect(turns.mayGoAtOnce(sessions[0], now: 3 * CheckTurns.halfLife))
        turns.spent(by: sessions[2], from: 0, to: CheckTurns.freeOfTurn)
        #expect(!turns.mayGoAtOnce(sessions[1], now: CheckTurns.freeOfLink))
        turns.beginTurn()
        #expect(turns.mayGoAtOnce(sessions[1], now: CheckTurns.freeOfLink))
    }
}
