/// How far one relay's log has been read: one rising sequence without a silent hole.
package struct DeliveryCursor: Equatable, Sendable {
    /// The relay's log; another one after a restore. Empty before the first attach.
    package private(set) var epoch: [UInt8]
    /// The last sequence dealt with.
    package private(set) var position: Int64

    package init(epoch: [UInt8] = [], position: Int64 = 0) {
        self.epoch = epoch
        self.position = position
    }

    package enum AttachAnswer: Equatable, Sendable {
        case resumed
        /// The first attach, or a start that skips on purpose: deliveries begin after `resumeAfter`.
        case started
        /// The relay's log is another one than before.
        case newEpoch
        /// The relay wants to go on after another position of the same log than asked for.
        case moved(from: Int64)
    }

    /// ATTACHED came for a start at this cursor.
    package mutating func attached(epoch newEpoch: [UInt8], resumeAfter: Int64) -> AttachAnswer {
        defer {
            epoch = newEpoch
            position = resumeAfter
        }
        if epoch.isEmpty { return .started }
        if epoch != newEpoch { return .newEpoch }
        return position == resumeAfter ? .resumed : .moved(from: position)
    }

    package enum DeliveryAnswer: Equatable, Sendable {
        case take
        /// At or below the position: dealt with already.
        case repeated
        /// The relay skipped something without a gap notice: a defect or a lie.
        case silentHole(from: Int64, to: Int64)
    }

    /// DELIVER came. A hole is taken note of and the delivery is used all the same: it may be the only copy.
    package mutating func delivered(sequence: Int64) -> DeliveryAnswer {
        if sequence <= position { return .repeated }
        let expected = position + 1
        position = sequence
        return sequence == expected ? .take : .silentHole(from: expected, to: sequence - 1)
    }

    package enum GapAnswer: Equatable, Sendable {
        case take
        case repeated
        case silentHole(from: Int64, to: Int64)
    }

    /// GAP came for a range of this log.
    package mutating func gap(from: Int64, to: Int64) -> GapAnswer {
        guard to >= from, to > position else { return .repeated }
        let expected = position + 1
        position = to
        return from <= expected ? .take : .silentHole(from: expected, to: from - 1)
    }
}
