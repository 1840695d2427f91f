import ClientCore
@testable import ClientStore
import SQLiteKit
import Testing

@Suite("Messages and the outbox in the store")
struct StoredMessageTests {
    @Test("an element is stored once, and the second time answers with the first one's digest")
    func once() throws {
        let home = try TemporaryHome()
        defer { home.remove() }
        let store = try home.open()
        let channel = try store.makeChannel()
        let id = try store.makeEvent(channel, 3)
        let again = try store.insertEvent(
            NewEvent(
                author: bytes(1, 16), messageID: bytes(3, 16), tag: "x.msg.new", time: 9,
                signature: "verified",
                own: false, digest: bytes(99), target: nil, element: [99]), channel: channel.id)
        #expect(again == .known(id, digest: bytes(3)))
    }

    @Test("pages go backwards by time and miss nothing where times are equal")
    func pages() throws {
        let home = try TemporaryHome()
        defer { home.remove() }
        let store = try home.open()
        let channel = try store.makeChannel()
        for n: UInt8 in 1...10 {
            let event = try store.makeEvent(channel, n)
            try store.insertMessage(
                event: event, channel: channel.id, author: bytes(1, 16), messageID: bytes(n, 16),
                authorName: "alice",
                asGroup: false, time: Int64(n / 4), contentType: "text", text: "\(n)", signature: "verified")
        }
        var pages: [[String]] = []
        var before: StoredMessage?
        while true {
            let page = try store.messages(in: channel.id, before: before, limit: 4)
            guard let first = page.first else { break }
            pages.append(page.map(\.text))
            before = first
        }
        #expect(pages == [["7", "8", "9", "10"], ["3", "4", "5", "6"], ["1", "2"]])
        // What is fetched as history later is older than what came live in the same second.
        for n: UInt8 in [11, 12] {
            let event = try store.makeEvent(channel, n)
            try store.insertMessage(
                event: event, channel: channel.id, author: bytes(1, 16), messageID: bytes(n, 16),
                authorName: "alice", asGroup: false, time: 1, contentType: "text", text: "\(n)",
                signature: "verified", historySequence: 1000 - Int64(n))
        }
        let all = try store.messages(in: channel.id, before: nil, limit: 20).map(\.text)
        #expect(all == ["1", "2", "3", "12", "11", "4", "5", "6", "7", "8", "9", "10"])
    }

    @Test("an erased message leaves no bytes, neither of itself nor of its edits")
    func erased() throws {
        let home = try TemporaryHome()
        defer { home.remove() }
        let store = try home.open()
        let channel = try store.makeChannel()
        let event = try store.makeEvent(channel, 3)
        try store.insertMessage(
            event: event, channel: channel.id, author: bytes(1, 16), messageID: bytes(3, 16),
            authorName: "alice",
            asGroup: false, time: 1, contentType: "text", text: "secret", signature: "verified")
        _ = try store.makeEvent(channel, 4, tag: "x.msg.update", target: bytes(3, 16))
        // Somebody else's message of the same id is not touched, nor what was made of it.
        let others = try store.insertEvent(
            NewEvent(
                author: bytes(2, 16), messageID: bytes(5, 16), tag: "x.msg.update", time: 1,
                signature: "verified", own: false, digest: bytes(5), target: bytes(3, 16), element: [5]),
            channel: channel.id)
        #expect(try store.editMessage(event: event, contentType: "text", text: "secrets"))
        #expect(try store.message(event: event)?.edited == true)
        #expect(try store.eraseMessage(event: event))
        #expect(try !store.eraseMessage(event: event))
        #expect(try store.message(event: event)?.text == "")
        #expect(try store.message(event: event)?.deleted == true)
        let elements = try store.database.query("SELECT id, element FROM event ORDER BY id") {
            ($0.int64(0), $0.blob(1))
        }
        #expect(elements.map(\.1) == [[], [], [5]] && elements.last?.0 == others.id)
        #expect(try !store.editMessage(event: event, contentType: "text", text: "back"))
    }

    @Test("an outbox row goes from pending to accepted once, and others wait in order")
    func outbox() throws {
        let home = try TemporaryHome()
        defer { home.remove() }
        let store = try home.open()
        let channel = try store.makeChannel()
        let relay = try store.makeRelay(channel, 2)
        let events = try (1...3).map { try store.makeEvent(channel, UInt8($0)) }
        for event in events {
            try store.enqueue(event: event, relay: relay.id, now: 5)
            try store.enqueue(event: event, relay: relay.id, now: 6)
        }
        #expect(try store.pendingRows(relay: relay.id, limit: 10).map(\.event) == events)
        try store.changeOutbox(event: events[0], relay: relay.id) {
            $0.sent()
            $0.acknowledged(sequence: 40)
        }
        try store.changeOutbox(event: events[1], relay: relay.id) {
            $0.refused(
                code: 43, name: "not-permitted", retry: .no, backoffMilliseconds: 0, nowMilliseconds: 0)
        }
        #expect(try store.pendingRows(relay: relay.id, limit: 10).map(\.event) == [events[2]])
        #expect(try store.openOutboxRows().map(\.event) == [events[1], events[2]])
        #expect(try store.outboxRows(event: events[0]).map(\.entry.state) == [.accepted(sequence: 40)])
        #expect(try store.isPending(messageID: bytes(3, 16), relay: relay.id))
        #expect(try !store.isPending(messageID: bytes(1, 16), relay: relay.id))
        #expect(try store.discardOutbox(event: events[1], pendingToo: false) == 1)
        #expect(try store.discardOutbox(event: events[2], pendingToo: false) == 0)
        // What a relay has taken stays so, whatever is done to what waits.
        try store.enqueue(event: events[0], relay: relay.id, now: 9)
        #expect(try store.discardOutbox(event: events[0], pendingToo: true) == 0)
        try store.discardPending(relay: relay.id)
        #expect(try store.pendingRows(relay: relay.id, limit: 10).isEmpty)
        #expect(try store.outboxRows(event: events[0]).map(\.entry.state) == [.accepted(sequence: 40)])
        #expect(try store.outboxRows(event: events[2]).isEmpty)
    }

    @Test("a receipt is for what was published here, not for what others wrote under the same id")
    func ownEvents() throws {
        let home = try TemporaryHome()
        defer { home.remove() }
        let store = try home.open()
        let channel = try store.makeChannel()
        func event(_ author: UInt8, own: Bool) throws -> Int64 {
            try store.insertEvent(
                NewEvent(
                    author: bytes(author, 16), messageID: bytes(7, 16), tag: "x.msg.new", time: 1,
                    signature: "verified", own: own, digest: bytes(author), target: nil, element: [author]),
                channel: channel.id
            ).id
        }
        _ = try event(8, own: false)
        #expect(try store.ownEvent(messageID: bytes(7, 16), in: channel.id) == nil)
        let own = try event(1, own: true)
        _ = try event(9, own: false)
        #expect(try store.ownEvent(messageID: bytes(7, 16), in: channel.id) == own)
        #expect(try store.digest(author: bytes(1, 16), messageID: bytes(7, 16), in: channel.id) == bytes(1))
        #expect(try store.digest(author: bytes(3, 16), messageID: bytes(7, 16), in: channel.id) == nil)
    }

    @Test("what is compared again after a restart comes oldest first, the newest messages only")
    func recentCopies() throws {
        let home = try TemporaryHome()
        defer { home.remove() }
        let store = try home.open()
        let channel = try store.makeChannel()
        let relays = try [2, 3].map { try store.makeRelay(channel, $0) }
        for n: UInt8 in 1...4 {
            let event = try store.makeEvent(channel, n)
            for (index, relay) in relays.reversed().enumerated() {
                #expect(
                    try store.insertCopy(
                        event: event, relay: relay.id, digest: [n], sequence: Int64(n), now: Int64(index)))
            }
        }
        let found = try store.recentCopies(of: channel.id, limit: 3)
        #expect(found.map(\.sequence) == [2, 2, 3, 3, 4, 4])
        #expect(found.map(\.relay) == [1, 0, 1, 0, 1, 0].map { relays[$0].id })
    }

    @Test("what is erased is a message with its changes, and nothing else")
    func whatIsErased() throws {
        let home = try TemporaryHome()
        defer { home.remove() }
        let store = try home.open()
        let channel = try store.makeChannel()
        for n: UInt8 in [3, 4] {
            let event = try store.makeEvent(channel, n)
            try store.insertMessage(
                event: event, channel: channel.id, author: bytes(1, 16), messageID: bytes(n, 16),
                authorName: "alice", asGroup: false, time: 3, contentType: "text", text: "\(n)",
                signature: "verified")
            _ = try store.makeEvent(channel, n + 10, tag: "x.msg.update", target: bytes(n, 16))
        }
        let gone = try #require(try store.messages(id: bytes(3, 16), in: channel.id).first)
        #expect(try store.eraseMessage(event: gone.event))
        func isErased(_ n: UInt8) throws -> Bool {
            try store.isErased(author: bytes(1, 16), messageID: bytes(n, 16), in: channel.id)
        }
        #expect(try isErased(3) && isErased(13))
        #expect(try !isErased(4) && !isErased(14) && !isErased(99))
    }

    @Test("the bytes of an erased message wait for the relays that do not have it, and then go")
    func erasedWhilePending() throws {
        let home = try TemporaryHome()
        defer { home.remove() }
        let store = try home.open()
        let channel = try store.makeChannel()
        let relay = try store.makeRelay(channel, 2)
        let event = try store.makeEvent(channel, 3)
        try store.insertMessage(
            event: event, channel: channel.id, author: bytes(1, 16), messageID: bytes(3, 16),
            authorName: "alice",
            asGroup: false, time: 1, contentType: "text", text: "secret", signature: "verified")
        try store.enqueue(event: event, relay: relay.id, now: 5)
        #expect(try store.eraseMessage(event: event))
        #expect(try store.pendingRows(relay: relay.id, limit: 1).first?.element == [3])
        try store.changeOutbox(event: event, relay: relay.id) { $0.acknowledged(sequence: 1) }
        #expect(try store.outboxRows(event: event).first?.element == [])
    }

    @Test("the journal is read from a position, and from before the last messages")
    func journal() throws {
        let home = try TemporaryHome()
        defer { home.remove() }
        let store = try home.open()
        let channel = try store.makeChannel()
        var ids: [Int64] = []
        for kind in ["message", "gap", "message", "message"] {
            ids.append(try store.appendJournal(channel: channel.id, kind: kind, now: 1))
        }
        #expect(try store.journal(of: channel.id, after: ids[1], limit: 10).map(\.id) == [ids[2], ids[3]])
        #expect(try store.journalPosition(of: channel.id, beforeLastMessages: 2) == ids[2] - 1)
        #expect(try store.lastJournalID(of: channel.id) == ids[3])
        for detail in ["old", "new"] {
            try store.appendJournal(channel: channel.id, kind: "notice", detail: detail, now: 1)
        }
        #expect(try store.journal(of: channel.id, kind: "notice", limit: 1) == ["new"])
    }

    @Test("removing a relay takes its copies, position and outbox rows, and leaves the messages")
    func relayRemoved() throws {
        let home = try TemporaryHome()
        defer { home.remove() }
        let store = try home.open()
        let channel = try store.makeChannel()
        let relay = try store.makeRelay(channel, 2)
        let event = try store.makeEvent(channel, 3)
        #expect(try store.insertCopy(event: event, relay: relay.id, digest: [1], sequence: 4, now: 1))
        #expect(try !store.insertCopy(event: event, relay: relay.id, digest: [2], sequence: 4, now: 1))
        try store.enqueue(event: event, relay: relay.id, now: 1)
        try store.deleteChannelRelay(relay.id)
        #expect(try store.copies(of: event).isEmpty)
        #expect(try store.openOutboxRows().isEmpty)
        #expect(try store.makeEvent(channel, 3) == event)
    }
}
