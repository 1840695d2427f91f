/// Compares the copies of a channel's messages that several relays deliver, and names the relay that stands
/// apart.
///
/// Two findings. *Altered*: other bytes for the same author and message id than another relay delivered.
/// *Withheld*: a relay delivered what comes before and what comes after a message in another relay's log,
/// without explaining the hole, and has not delivered the message itself within the grace time.
///
/// Bounded: the newest `windowMax` messages of a channel are compared.
package struct CopyComparison: Sendable {
    package struct Key: Hashable, Sendable {
        /// The author's member id; empty for the channel.
        package let author: [UInt8]
        package let message: [UInt8]

        package init(author: [UInt8], message: [UInt8]) {
            self.author = author
            self.message = message
        }
    }

    package enum Finding: Equatable, Sendable {
        /// `relay` delivered other bytes than each of `others`.
        case altered(Key, relay: String, others: [String])
        /// `others` delivered it and `relay` went past it.
        case withheld(Key, relay: String, others: [String])
    }

    private struct Entry: Sendable {
        let key: Key
        let arrived: Int64
        var copies: [String: Copy]
        var reported: Set<String> = []
        /// Relays that explained a hole (gap, attach elsewhere) while this entry was open.
        var excused: Set<String> = []
    }

    private struct Copy: Sendable {
        let digest: [UInt8]
        let sequence: Int64
    }

    private var entries: [Entry] = []
    private var indexes: [Key: Int] = [:]
    private var removed = 0
    private let graceMilliseconds: Int64

    package init(graceMilliseconds: Int64) {
        self.graceMilliseconds = graceMilliseconds
    }

    /// A relay delivered a message under a sequence of its log; `digest` is over the author's exact bytes.
    package mutating func delivered(
        _ key: Key, relay: String, sequence: Int64, digest: [UInt8], nowMilliseconds: Int64
    ) -> Finding? {
        let copy = Copy(digest: digest, sequence: sequence)
        guard let index = indexes[key] else {
            append(Entry(key: key, arrived: nowMilliseconds, copies: [relay: copy]))
            return nil
        }
        let at = index - removed
        guard entries[at].copies[relay] == nil else { return nil }
        entries[at].copies[relay] = copy
        let others = entries[at].copies.filter { $0.key != relay }.mapValues(\.digest)
        guard let apart = Self.standsApart(newcomer: relay, digest: digest, others: others) else {
            return nil
        }
        guard entries[at].reported.insert("altered " + apart.relay).inserted else { return nil }
        return .altered(key, relay: apart.relay, others: apart.others.sorted())
    }

    /// A relay explained why it does not deliver some of what it has (a gap, or an attach elsewhere).
    ///
    /// Nobody can tell which messages were in it, so the open ones are not held against this relay.
    package mutating func excused(relay: String) {
        for at in entries.indices where entries[at].copies[relay] == nil {
            entries[at].excused.insert(relay)
        }
    }

    /// A relay is no longer one of the channel's.
    package mutating func dropped(relay: String) {
        for at in entries.indices {
            entries[at].excused.insert(relay)
        }
    }

    /// What has been withheld for longer than the grace time and was not reported before.
    ///
    /// Cost: the window for each pair of relays.
    package mutating func overdue(nowMilliseconds: Int64) -> [Finding] {
        var relays: Set<String> = []
        for entry in entries { relays.formUnion(entry.copies.keys) }
        var findings: [Finding] = []
        for relay in relays.sorted() {
            var missing: Set<Int> = []
            for witness in relays where witness != relay {
                missing.formUnion(passed(by: relay, witness: witness, nowMilliseconds: nowMilliseconds))
            }
            for at in missing.sorted() where entries[at].reported.insert("withheld " + relay).inserted {
                findings.append(
                    .withheld(entries[at].key, relay: relay, others: entries[at].copies.keys.sorted()))
            }
        }
        return findings
    }

    /// What `witness` delivered between two messages that both delivered, and `relay` did not.
    private func passed(by relay: String, witness: String, nowMilliseconds: Int64) -> [Int] {
        var log: [(at: Int, sequence: Int64)] = []
        for (at, entry) in entries.enumerated() {
            if let copy = entry.copies[witness] { log.append((at, copy.sequence)) }
        }
        log.sort { $0.sequence < $1.sequence }
        guard let first = log.firstIndex(where: { entries[$0.at].copies[relay] != nil }),
            let last = log.lastIndex(where: { entries[$0.at].copies[relay] != nil })
        else { return [] }
        return log[first...last].map(\.at).filter { at in
            let entry = entries[at]
            return entry.copies[relay] == nil && !entry.excused.contains(relay)
                && nowMilliseconds - entry.arrived >= graceMilliseconds
        }
    }

    /// How many messages are being compared.
    package var count: Int { entries.count }

    private mutating func append(_ entry: Entry) {
        if entries.count == Self.windowMax {
            indexes[entries[0].key] = nil
            entries.removeFirst()
            removed += 1
        }
        indexes[entry.key] = entries.count + removed
        entries.append(entry)
    }

    /// Who differs: the smaller party where there is one, else the one that came last.
    private static func standsApart(newcomer: String, digest: [UInt8], others: [String: [UInt8]])
        -> (relay: String, others: [String])?
    {
        let same = others.filter { $0.value == digest }.map(\.key)
        let different = others.filter { $0.value != digest }.map(\.key)
        guard !different.isEmpty else { return nil }
        if different.count == 1, same.count >= 1 {
            return (different[0], same + [newcomer])
        }
        return (newcomer, different)
    }

    package static let windowMax = 512
}
