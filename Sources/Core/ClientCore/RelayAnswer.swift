package import ChannelWire

/// Whether what a relay answers fits what it was asked.
///
/// A relay may be wrong or lie: an answer that says too much or too little is none, and nothing of it is
/// used. Each check gives what is wrong, for people, or nil. **Source**: docs/protocol/frames.md.
package enum RelayAnswer {
    /// ACK, to a PUBLISH with so many elements.
    package static func misfit(ack results: [Frame.AckResult], elements: Int) -> String? {
        guard results.count == elements else {
            return "it acknowledges \(results.count) elements of \(elements)"
        }
        for result in results {
            switch result.outcome {
            case .stored, .repeated:
                guard result.sequence >= 1, result.code == 0 else { return "it stored without a place" }
            case .refused:
                guard result.sequence == 0, result.code != 0 else { return "it refused without a reason" }
            }
        }
        return nil
    }

    /// ATTACHED: where the log begins and ends, and where deliveries go on.
    package static func misfit(attached: Frame.Attached) -> String? {
        guard attached.first >= 1, attached.head >= attached.first - 1,
            (0...attached.head).contains(attached.resumeAfter)
        else {
            return "its log goes from \(attached.first) to \(attached.head), after \(attached.resumeAfter)"
        }
        return nil
    }

    /// MEMBERS, to a MEMBERS_GET that began after a member.
    package static func misfit(members page: Frame.MembersPage, after: MemberID?, limit: Int) -> String? {
        let wanted = min(max(limit, 1), Limits.membersPageMax)
        guard page.rows.count <= wanted else { return "it lists \(page.rows.count) members of \(wanted)" }
        guard !page.more || !page.rows.isEmpty else { return "there are more members, but none is listed" }
        var last = after?.bytes ?? []
        for row in page.rows {
            // Rising, so that a page never leads back to where it began.
            guard last.lexicographicallyPrecedes(row.member.bytes) else {
                return "its members do not come in order"
            }
            last = row.member.bytes
        }
        return nil
    }

    /// RECORD_STORED, to a RECORD_PUT of a version.
    package static func misfit(stored version: Int64, put: Int64) -> String? {
        version == put ? nil : "it stored version \(version) of the record where \(put) was put"
    }

    /// The answer to one HISTORY_GET, as it comes in.
    package struct History: Sendable {
        /// In rising sequence, no more than asked for.
        package private(set) var elements: [(sequence: Int64, batch: [UInt8])] = []
        /// Messages come before this sequence; nil where a time was asked for.
        private let before: Int64?
        private let limit: Int

        package init(mode: Frame.HistoryMode, value: Int64, limit: Int) {
            before = mode == .beforeSequence ? value : nil
            self.limit = min(max(limit, 1), Limits.historyPageMax)
        }

        /// One HISTORY.
        package mutating func take(sequence: Int64, batch: [UInt8]) -> String? {
            guard elements.count < limit else { return "it tells more than \(limit) messages of the past" }
            guard sequence > elements.last?.sequence ?? 0, before.map({ sequence < $0 }) ?? true else {
                return "its messages of the past do not come in order"
            }
            elements.append((sequence, batch))
            return nil
        }

        /// HISTORY_END.
        package func misfit(first: Int64, more: Bool) -> String? {
            guard first == elements.first?.sequence ?? 0 else { return "it left out some of what it told" }
            guard !more || !elements.isEmpty else { return "there are more messages, but none came" }
            return nil
        }
    }
}
