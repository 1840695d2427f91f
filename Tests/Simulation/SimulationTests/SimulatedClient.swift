@testable import ChannelClient
@testable import ClientStore
@testable import LibeventLoop

import ChannelWire
import PosixKit
import SQLiteKit
import TestKit

/// A whole client without its thread: the engine of the library on a home of its own.
final class SimulatedClient {
    enum Part { case owner, reader }

    let index: Int
    let part: Part
    let home: String
    let party: Int32
    private let options: ChannelClient.Options
    private(set) var engine: Engine?
    /// The last line of each channel's journal that was looked at.
    var journalSeen: Int64 = 0
    /// The messages that were shown, over all runs.
    var shown: Set<ReferenceRelay.Key> = []
    /// What its people were told of relays.
    var accusations: [(kind: RelayDisagreement.Kind, relay: Int, message: String?)] = []
    var gaps: [DeliveryGap] = []
    /// The highest version of the record that it has had.
    var recordVersion: Int64 = 0
    /// Calls that have not been answered.
    var openCalls = 0

    init(index: Int, part: Part, home: String, party: Int32, seed: UInt64) {
        self.index = index
        self.part = part
        self.home = home
        self.party = party
        var options = ChannelClient.Options()
        // Some owners stay connected, and some come only when they have something to say.
        options.background = part == .owner && seed % 3 == 0 ? .whenNeeded : .always
        options.connectTimeout = .seconds(4)
        options.retryMinimum = .milliseconds(200)
        options.retryMaximum = .seconds(4)
        options.withholdingGrace = .seconds(Self.graceSeconds)
        options.randomSeed = seed
        self.options = options
    }

    static let graceSeconds = 4
    var name: String { "\(part == .owner ? "owner" : "reader") \(index)" }
    var isUp: Bool { engine != nil }

    func start() throws {
        precondition(engine == nil, "a client starts once")
        let engine = try Engine(home: home, options: options)
        self.engine = engine
        engine.begin()
    }

    func end() {
        engine?.end()
        engine = nil
        openCalls = 0
    }

    // MARK: Calls

    /// Calls the engine; `done` hears of the outcome.
    func call<Value: Sendable>(
        _ body: (Engine, Reply<Value>) -> Void,
        _ done: @escaping (Result<Value, ChannelClientError>) -> Void = { _ in }
    ) {
        guard let engine else { return }
        openCalls += 1
        let box = AnswerBox(done, self)
        body(engine, Reply<Value> { box.answered($0) })
    }

    // MARK: What its people see

    struct JournalLine {
        let id: Int64
        let kind: String
        let detail: String?
        /// Of a message: who wrote it, its id and its bytes.
        let key: ReferenceRelay.Key?
        let element: [UInt8]
        let signature: String
    }

    /// What the journal holds after the lines that were looked at.
    func newJournal() -> [JournalLine] {
        guard let database = engine?.store.database else { return [] }
        let lines =
            (try? database.query(
                """
                SELECT journal.id, journal.kind, journal.detail, event.author, event.message_id, event.element,
                    event.signature, event.id
                FROM journal LEFT JOIN event ON event.id = journal.event WHERE journal.id > ? ORDER BY journal.id
                """, [.integer(journalSeen)]
            ) { row in
                JournalLine(
                    id: row.int64(0), kind: row.text(1), detail: row.textOrNil(2),
                    key: row.isNull(7) ? nil : .init(author: row.blob(3), message: row.blob(4)),
                    element: row.blob(5), signature: row.text(6))
            }) ?? []
        journalSeen = lines.last?.id ?? journalSeen
        return lines
    }

    /// A message as it reads now.
    struct Shown {
        let key: ReferenceRelay.Key
        let text: String
        let isDeleted: Bool
    }

    func messages() -> [Shown] {
        guard let database = engine?.store.database else { return [] }
        return
            (try? database.query("SELECT author, message_id, text, deleted FROM message ORDER BY event") {
                Shown(
                    key: .init(author: $0.blob(0), message: $0.blob(1)), text: $0.text(2),
                    isDeleted: $0.bool(3))
            }) ?? []
    }

    /// Rows of the outbox: the message, the relay's identity, and what became of it.
    func outbox() -> [(key: ReferenceRelay.Key, relay: [UInt8], state: String, sequence: Int64)] {
        guard let database = engine?.store.database else { return [] }
        return
            (try? database.query(
                """
                SELECT event.author, event.message_id, channel_relay.identity, outbox.state, outbox.sequence
                FROM outbox JOIN event ON event.id = outbox.event
                JOIN channel_relay ON channel_relay.id = outbox.relay ORDER BY event.id
                """
            ) {
                (
                    .init(author: $0.blob(0), message: $0.blob(1)), $0.blob(2), $0.text(3),
                    $0.int64OrNil(4) ?? 0
                )
            }) ?? []
    }

    struct RelayRow {
        let identity: [UInt8]
        let name: String
        let status: String
        let storedVersion: Int64
        let lastError: String?
    }

    func relayRows() -> [RelayRow] {
        guard let database = engine?.store.database else { return [] }
        return
            (try? database.query(
                "SELECT identity, name, status, stored_version, last_error FROM channel_relay ORDER BY id"
            ) {
                RelayRow(
                    identity: $0.blob(0), name: $0.text(1), status: $0.text(2), storedVersion: $0.int64(3),
                    lastError: $0.textOrNil(4))
            }) ?? []
    }

    /// The channel's id, state and record version; nil where it has none (yet).
    func channel() -> (id: [UInt8], state: String, version: Int64)? {
        guard let database = engine?.store.database else { return nil }
        return
            (try? database.first("SELECT channel_id, state, record_version FROM channel LIMIT 1") {
                ($0.blob(0), $0.text(1), $0.int64(2))
            }) ?? nil
    }

    /// Events that were written here: key, tag and bytes.
    func ownEvents(after row: Int64) -> [(row: Int64, key: ReferenceRelay.Key, tag: String, element: [UInt8])]
    {
        guard let database = engine?.store.database else { return [] }
        return
            (try? database.query(
                "SELECT id, author, message_id, tag, element FROM event WHERE own = 1 AND id > ? ORDER BY id",
                [.integer(row)]
            ) { ($0.int64(0), .init(author: $0.blob(1), message: $0.blob(2)), $0.text(3), $0.blob(4)) }) ?? []
    }
}

/// Takes the answer of one call to the simulation, which has one thread.
private final class AnswerBox<Value: Sendable>: @unchecked Sendable {
    // SAFETY: a simulated engine answers on the thread of the simulation.
    private let done: (Result<Value, ChannelClientError>) -> Void
    private weak var client: SimulatedClient?

    init(_ done: @escaping (Result<Value, ChannelClientError>) -> Void, _ client: SimulatedClient) {
        self.done = done
        self.client = client
    }

    func answered(_ result: Result<Value, ChannelClientError>) {
        if let client, client.isUp { client.openCalls -= 1 }
        done(result)
    }
}
