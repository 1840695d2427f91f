/// What is stored of a channel's log: the sequences `first`...`head`, in the log called `epoch`.
///
/// ```
///   1 … first-1     first … head         head+1 …
///   pruned (GAP 1)  stored, or erased     to come
///                   (GAP 3)
/// ```
///
/// An empty log has `head` = `first` - 1. Sequences never start again, not even when everything has gone.
package struct LogWindow: Equatable, Sendable {
    /// Shape: 8 bytes. Another value means another log: cursors into the old one mean nothing.
    package var epoch: [UInt8]
    package var first: Int64
    package var head: Int64

    package init(epoch: [UInt8], first: Int64, head: Int64) {
        precondition(first >= 1 && head >= first - 1, "a log window is empty or starts before it ends")
        self.epoch = epoch
        self.first = first
        self.head = head
    }

    /// Where a reader wants to begin.
    package enum Start: Equatable, Sendable {
        /// After a position in the log called `epoch`.
        case after(epoch: [UInt8], position: Int64)
        /// With the newest messages, at most this many.
        case newest(Int)
        /// With what comes from now on.
        case live
    }

    /// Where a reader does begin.
    package struct Resume: Equatable, Sendable {
        /// The next delivery or gap begins one further.
        package var resumeAfter: Int64
        /// The cursor belongs to another log: say GAP 2 before anything else.
        package var epochLost: Bool

        package init(resumeAfter: Int64, epochLost: Bool) {
            self.resumeAfter = resumeAfter
            self.epochLost = epochLost
        }
    }

    /// Resolves a reader's wish to a position in this log.
    ///
    /// `newest` looks up, for a count, the sequence of that many-th newest stored message (nil: there are
    /// fewer).
    package func resolve<E: Error>(
        _ start: Start, newest: (Int) throws(E) -> Int64?
    ) throws(E) -> Resume {
        switch start {
        case .after(let epoch, let position):
            // A position beyond the head can only come from another life of this log.
            guard epoch == self.epoch, position >= 0, position <= head else {
                return Resume(resumeAfter: first - 1, epochLost: true)
            }
            return Resume(resumeAfter: position, epochLost: false)
        case .newest(let count):
            guard count > 0 else { return Resume(resumeAfter: head, epochLost: false) }
            let oldest = try newest(count) ?? first
            return Resume(resumeAfter: max(oldest, first) - 1, epochLost: false)
        case .live:
            return Resume(resumeAfter: head, epochLost: false)
        }
    }

    /// The GAP that must come before anything stored, for a reader standing at `position`.
    package func prunedGap(after position: Int64) -> ClosedRange<Int64>? {
        position + 1 < first ? (position + 1)...(first - 1) : nil
    }
}

/// How much of each channel's log is kept.
package struct Retention: Equatable, Sendable {
    package var messages: Int64
    package var bytes: Int64
    /// Units: seconds. Nil: age does not matter.
    package var ageSeconds: Int64?

    package init(messages: Int64 = 100_000, bytes: Int64 = 256 << 20, ageSeconds: Int64? = nil) {
        precondition(messages >= 1 && bytes >= 1, "retention keeps at least something")
        self.messages = messages
        self.bytes = bytes
        self.ageSeconds = ageSeconds
    }

    /// What has to go: counted from the oldest stored entry.
    package struct Excess: Equatable, Sendable {
        package var messages: Int64
        package var bytes: Int64

        package init(messages: Int64, bytes: Int64) {
            self.messages = messages
            self.bytes = bytes
        }
    }

    /// Decides whether an append went over a limit, and how much to drop so that the next appends cost
    /// nothing.
    ///
    /// One part in 64 goes at once; the limit itself is never exceeded after the transaction.
    package func excessAfterAppend(messages count: Int64, bytes size: Int64) -> Excess? {
        guard count > messages || size > bytes else { return nil }
        return Excess(
            messages: count > messages ? count - messages + messages / 64 : 0,
            bytes: size > bytes ? size - bytes + bytes / 64 : 0)
    }

    /// Decides what is over the limits now, without slack.
    package func excess(messages count: Int64, bytes size: Int64) -> Excess? {
        guard count > messages || size > bytes else { return nil }
        return Excess(messages: max(0, count - messages), bytes: max(0, size - bytes))
    }

    /// Entries older than this go, whatever their number. Units: seconds since 1970.
    package func oldestKept(now: Int64) -> Int64? {
        ageSeconds.map { now - $0 }
    }
}
