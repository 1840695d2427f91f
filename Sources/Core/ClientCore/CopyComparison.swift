/// Compares the copies of a channel's messages that several relays deliver, and names the relay that stands
/// apart.
///
/// Two findings. *Altered*: other bytes for the same author and message id than another relay delivered.
/// *Withheld*: a relay delivered what an author wrote before and after a message, as another relay's log has
/// them, without explaining the hole, and has not delivered the message itself within the grace time.
///
/// An author's client sends to each relay in order, so a relay that has what came after was given what came
/// before. Messages of two authors prove nothing of each other: one of them may not reach that relay. Nor do
/// messages from before and after a break in what the relay delivers (`excused`).
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
        /// It was written by its author without doubt, so that a relay can be asked where it is.
        let isProof: Bool
        /// The message that it changes; a relay that has not got that refuses the change.
        let amends: [UInt8]?
        var copies: [String: Copy]
        var reported: Set<String> = []
        /// Relays that explained a hole (gap, attach elsewhere) while this entry was open.
        var excused: Set<String> = []
    }

    private struct Copy: Sendable {
        let digest: [UInt8]
        let sequence: Int64
        /// Which stretch without a break it belongs to.
        var stretch: Int
    }

    private var entries: [Entry] = []
    private var indexes: [Key: Int] = [:]
    private var removed = 0
    /// How many breaks each relay has had.
    private var breaks: [String: Int] = [:]
    /// Up to which place of its log a relay's order proves nothing: somewhere before it is a break.
    private var unordered: [String: Int64] = [:]
    private let graceMilliseconds: Int64

    package init(graceMilliseconds: Int64) {
        self.graceMilliseconds = graceMilliseconds
    }

    /// A relay delivered a message under a sequence of its log; `digest` is over the author's exact bytes.
    ///
    /// `isProof`: nobody but the author can have made it. What a relay may have made up is compared where
    /// several deliver it, but its absence proves nothing. `amends`: the id of the message that it changes.
    package mutating func delivered(
        _ key: Key, relay: String, sequence: Int64, digest: [UInt8], isProof: Bool = true,
        amends: [UInt8]? = nil, nowMilliseconds: Int64
    ) -> Finding? {
        let isOrdered = sequence > unordered[relay, default: 0]
        let copy = Copy(
            digest: digest, sequence: sequence,
            stretch: isOrdered ? breaks[relay, default: 0] : Self.unknownStretch)
        guard let index = indexes[key] else {
            append(
                Entry(
                    key: key, arrived: nowMilliseconds, isProof: isProof, amends: amends,
                    copies: [relay: copy]))
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

    /// A relay's deliveries begin, as when it has only now come into the channel: what it delivers does not
    /// follow what a relay of that name delivered before.
    package mutating func started(relay: String) {
        breaks[relay, default: 0] += 1
        unordered[relay] = nil
    }

    /// What a relay delivers from now on does not follow what it delivered before: it explained a gap, or was
    /// attached elsewhere.
    ///
    /// Nobody can tell which messages lie in the break, so those are not held against this relay.
    package mutating func excused(relay: String) {
        breaks[relay, default: 0] += 1
        for at in entries.indices where entries[at].copies[relay] == nil {
            entries[at].excused.insert(relay)
        }
    }

    /// A relay's log is another one than before, as after a restore, and reached to `head` when it said so.
    ///
    /// It had lost what came after the state that was put back, and nobody can tell where in the log that
    /// is: what was written since may stand before `head`, too. So the order of what it delivers up to there
    /// proves nothing.
    package mutating func changedLog(relay: String, head: Int64) {
        excused(relay: relay)
        unordered[relay] = head
    }

    /// What a relay delivered so far had breaks, and nobody knows any more where they were: its order proves
    /// nothing.
    package mutating func lostOrder(relay: String) {
        excused(relay: relay)
        for at in entries.indices { entries[at].copies[relay]?.stretch = Self.unknownStretch }
    }

    private static let unknownStretch = -1

    /// A relay is no longer one of the channel's.
    package mutating func dropped(relay: String) {
        breaks[relay, default: 0] += 1
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

    private struct Stretch: Hashable {
        let author: [UInt8]
        let number: Int
    }

    /// What `witness` delivered between two messages of one author that both delivered, and `relay` did not.
    private func passed(by relay: String, witness: String, nowMilliseconds: Int64) -> [Int] {
        // Places in a log that was another one before a break cannot be compared with later ones.
        var logs: [Stretch: [(at: Int, sequence: Int64)]] = [:]
        for (at, entry) in entries.enumerated() where entry.isProof {
            guard let copy = entry.copies[witness], copy.stretch != Self.unknownStretch else { continue }
            logs[Stretch(author: entry.key.author, number: copy.stretch), default: []]
                .append((at, copy.sequence))
        }
        var missing: [Int] = []
        for log in logs.values {
            let ordered = log.sorted { $0.sequence < $1.sequence }
            guard let first = ordered.firstIndex(where: { isNow($0.at, relay) }),
                let last = ordered.lastIndex(where: { isNow($0.at, relay) })
            else { continue }
            missing += ordered[first...last].map(\.at).filter { at in
                let entry = entries[at]
                return entry.copies[relay] == nil && !entry.excused.contains(relay)
                    && nowMilliseconds - entry.arrived >= graceMilliseconds
                    && (entry.amends.map { hasDelivered($0, relay) } ?? true)
            }
        }
        return missing
    }

    private func hasDelivered(_ message: [UInt8], _ relay: String) -> Bool {
        entries.contains { $0.key.message == message && $0.copies[relay] != nil }
    }

    /// Whether a relay delivered a message since its last break.
    private func isNow(_ at: Int, _ relay: String) -> Bool {
        guard let copy = entries[at].copies[relay] else { return false }
        return copy.stretch == breaks[relay, default: 0]
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
