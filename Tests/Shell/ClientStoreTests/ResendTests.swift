import ClientCore
import ClientStore
import SQLiteKit
import Testing

@Suite("What is sent again to a relay whose log is another one")
struct ResendTests {
    @Test("what a relay may have lost waits for it again: from a place on, the newest, nothing deleted")
    func resent() throws {
        let home = try TemporaryHome()
        defer { home.remove() }
        let store = try home.open()
        let channel = try store.makeChannel()
        let relay = try store.makeRelay(channel, 2)
        let events = try (1...5).map { try store.makeEvent(channel, UInt8($0)) }
        for (index, event) in events.enumerated() {
            try store.insertMessage(
                event: event, channel: channel.id, author: bytes(1, 16),
                messageID: bytes(UInt8(index + 1), 16), authorName: "alice", asGroup: false, time: 1,
                contentType: "text", text: "hello", signature: "verified")
            try store.enqueue(event: event, relay: relay.id, now: 5)
            try store.changeOutbox(event: event, relay: relay.id) {
                $0.sent()
                $0.acknowledged(sequence: Int64(index + 1))
            }
        }
        #expect(try store.eraseMessage(event: events[2]))
        // A pause from before the first answer counts no more.
        let database = try Database(path: home.path + "/client.db", mode: .readWrite)
        try database.run("UPDATE outbox SET next_try_ms = 99, attempts = 5")
        database.close()
        #expect(try store.resendAccepted(relay: relay.id, from: 2) == 3)
        let waiting = try store.pendingRows(relay: relay.id, limit: 10).map(\.event)
        #expect(waiting == [1, 3, 4].map { events[$0] })
        #expect(try store.outboxRows(event: events[0]).map(\.entry.state) == [.accepted(sequence: 1)])
        #expect(try store.outboxRows(event: events[1]).map(\.entry) == [OutboxEntry()])
        #expect(try store.resendAccepted(relay: relay.id, from: 2) == 0)
    }

    @Test("so many messages are sent again at most")
    func resentMax() throws {
        let home = try TemporaryHome()
        defer { home.remove() }
        let store = try home.open()
        let channel = try store.makeChannel()
        let relay = try store.makeRelay(channel, 2)
        let count = Int(ClientStore.resentMax) + 1
        try store.write { () throws(ClientStoreError) in
            for n in 1...count {
                let id = (0..<16).map { UInt8(truncatingIfNeeded: $0 < 8 ? n >> (8 * $0) : 1) }
                let event = try store.insertEvent(
                    NewEvent(
                        author: bytes(1, 16), messageID: id, tag: "x.msg.new", time: 1, signature: "verified",
                        own: true, digest: bytes(1, 32), target: nil, element: [1]), channel: channel.id
                ).id
                try store.enqueue(event: event, relay: relay.id, now: 5)
                try store.changeOutbox(event: event, relay: relay.id) { $0.acknowledged(sequence: Int64(n)) }
            }
        }
        #expect(try store.resendAccepted(relay: relay.id, from: 1) == count - 1)
    }
}
