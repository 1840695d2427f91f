/// A relay as one would explain it: a list of messages, who is refused, and what was promised to whom.
///
/// It is slow and obvious, knows nothing of batches, links, disks or SQL, and is told what the real relay
/// answered. It replies with sentences about what that relay may not have done; none, where all is well.
package struct ReferenceRelay {
    /// Names a message: who wrote it, and its id.
    package struct Key: Hashable, Sendable {
        package let author: [UInt8]
        package let message: [UInt8]

        package init(author: [UInt8], message: [UInt8]) {
            self.author = author
            self.message = message
        }
    }

    package struct Entry: Equatable, Sendable {
        package let sequence: Int64
        package let key: Key
        /// The element as its author signed it.
        package let element: [UInt8]

        package init(sequence: Int64, key: Key, element: [UInt8]) {
            self.sequence = sequence
            self.key = key
            self.element = element
        }
    }

    /// One channel's log, as far as this relay has told of it.
    private struct Log {
        var entries: [Entry] = []
        var head: Int64 = 0
        /// What authors were told is on the disk.
        var promises: [Key: Int64] = [:]
    }

    private var logs: [[UInt8]: Log] = [:]
    private var refusals: Set<[UInt8]> = []
    /// How many of the newest messages are certainly kept, and recognised when they come again.
    private let keeps: Int64

    package init(keeps: Int64 = .max) { self.keeps = keeps }

    /// Whether a message at `sequence` is one of those that are kept when the next one becomes `next`.
    private func isKept(_ sequence: Int64, before next: Int64) -> Bool { next - sequence <= keeps }

    // MARK: Promises 1 to 4

    /// The relay told its links of new entries.
    package mutating func appended(_ entries: [Entry], to channel: [UInt8]) -> [String] {
        var problems: [String] = []
        var log = logs[channel] ?? Log()
        for entry in entries {
            if entry.sequence != log.head + 1 {
                problems.append("sequence \(entry.sequence) follows \(log.head)")
            }
            if let known = log.entries.last(where: { $0.key == entry.key }),
                isKept(known.sequence, before: entry.sequence)
            {
                problems.append("a message of \(known.sequence) was stored again as \(entry.sequence)")
            }
            log.head = entry.sequence
            log.entries.append(entry)
        }
        logs[channel] = log
        return problems
    }

    /// The relay told an author that it has a message durably.
    package mutating func promised(_ key: Key, as sequence: Int64, in channel: [UInt8]) -> [String] {
        var log = logs[channel] ?? Log()
        defer { logs[channel] = log }
        if let earlier = log.promises[key], earlier != sequence, isKept(earlier, before: sequence) {
            return ["a message promised as \(earlier) was promised as \(sequence)"]
        }
        log.promises[key] = sequence
        return []
    }

    /// What the relay's disk holds after a crash: everything that was told must be on it.
    ///
    /// `dropped`: below it the relay's retention has taken what was there. `erased`: what was deleted on
    /// purpose.
    package mutating func recovered(
        _ stored: [Entry], head: Int64, dropped: Int64, erased: Set<Key>, in channel: [UInt8]
    ) -> [String] {
        var log = logs[channel] ?? Log()
        var problems: [String] = []
        for (key, sequence) in log.promises.sorted(by: { $0.value < $1.value }) {
            guard sequence >= dropped, !erased.contains(key) else { continue }
            if !stored.contains(where: { $0.key == key && $0.sequence == sequence }) {
                problems.append("the message promised as \(sequence) is not on the disk after a crash")
            }
        }
        for entry in log.entries where entry.sequence >= dropped && !erased.contains(entry.key) {
            if !stored.contains(entry) {
                problems.append("entry \(entry.sequence) was told of and is not on the disk after a crash")
            }
        }
        if head < log.head {
            problems.append("the log ended at \(log.head) and ends at \(head) after a crash")
        }
        // What reached the disk and was not told of before the crash counts from now on.
        log.entries = stored
        log.head = max(head, log.head)
        logs[channel] = log
        return problems
    }

    /// An older copy was put in its place on purpose: what is on the disk now is what there is.
    package mutating func restored(_ stored: [Entry], head: Int64, in channel: [UInt8]) {
        logs[channel] = Log(
            entries: stored, head: head,
            promises: Dictionary(uniqueKeysWithValues: stored.map { ($0.key, $0.sequence) }))
    }

    /// Whether this relay has told anybody that it has a message.
    package func holds(_ key: Key, in channel: [UInt8]) -> Bool {
        guard let log = logs[channel] else { return false }
        return log.promises[key] != nil || log.entries.contains { $0.key == key }
    }

    package func head(of channel: [UInt8]) -> Int64 { logs[channel]?.head ?? 0 }
    package var channels: [[UInt8]] { logs.keys.sorted { $0.lexicographicallyPrecedes($1) } }

    // MARK: Promise 6

    /// The operator's word against a channel, and back.
    package mutating func operatorLeft(_ channel: [UInt8]) { refusals.insert(channel) }
    package mutating func operatorAllowed(_ channel: [UInt8]) { refusals.remove(channel) }
    package func refuses(_ channel: [UInt8]) -> Bool { refusals.contains(channel) }

    /// The relay answered an invitation.
    package func invited(_ channel: [UInt8], wasRefused: Bool) -> [String] {
        refuses(channel) && !wasRefused
            ? ["an invitation to a channel that the operator left was not refused"] : []
    }
}
