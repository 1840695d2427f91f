/// One message for one relay, until that relay has it durably or refuses it for good.
///
/// ```
/// pending ──acknowledged──▶ accepted
///    │  ▲────retriable─────┘
///    └──refused for good──▶ refused
/// ```
package struct OutboxEntry: Equatable, Sendable {
    package enum State: Equatable, Sendable {
        case pending
        case accepted(sequence: Int64)
        case refused(code: UInt16)
    }

    package private(set) var state: State
    package private(set) var attempts: Int
    package private(set) var lastError: String?
    /// Wall time in milliseconds before which it is not tried again.
    package private(set) var nextTryMilliseconds: Int64

    package init(
        state: State = .pending, attempts: Int = 0, lastError: String? = nil, nextTryMilliseconds: Int64 = 0
    ) {
        self.state = state
        self.attempts = attempts
        self.lastError = lastError
        self.nextTryMilliseconds = nextTryMilliseconds
    }

    /// Whether it may be sent now.
    ///
    /// Units: `queuedAtSeconds` since 1970, when it was written. A clock that was put back would keep it, and
    /// all that waits behind it, for as long as that: who was written in the future, or shall wait for longer
    /// than any pause lasts, waits no more.
    package func isDue(queuedAtSeconds: Int64 = 0, nowMilliseconds: Int64) -> Bool {
        guard state == .pending else { return false }
        return nextTryMilliseconds <= nowMilliseconds || queuedAtSeconds > nowMilliseconds / 1000
            || nextTryMilliseconds - Backoff.pauseMaximumMilliseconds > nowMilliseconds
    }

    /// It left on a link.
    package mutating func sent() {
        guard state == .pending else { return }
        attempts += 1
    }

    /// The relay has it durably, now or since an earlier attempt whose answer was lost. Final.
    package mutating func acknowledged(sequence: Int64) {
        guard state == .pending else { return }
        state = .accepted(sequence: sequence)
        lastError = nil
    }

    /// The relay said no to it.
    package mutating func refused(
        code: UInt16, name: String, retry: RetryAdvice, backoffMilliseconds: Int64, nowMilliseconds: Int64
    ) {
        guard state == .pending else { return }
        lastError = name
        switch retry {
        case .yes, .whenChanged: nextTryMilliseconds = nowMilliseconds + backoffMilliseconds
        case .no: state = .refused(code: code)
        }
    }

    /// The link went away, or never opened, before the relay answered: nobody knows, so it is sent again.
    package mutating func interrupted(reason: String, backoffMilliseconds: Int64, nowMilliseconds: Int64) {
        guard state == .pending else { return }
        lastError = reason
        // No pause is none by any clock.
        nextTryMilliseconds = backoffMilliseconds > 0 ? nowMilliseconds + backoffMilliseconds : 0
    }
}

/// What to do by oneself after a refusal (docs/protocol/errors.md, column *retry*).
package enum RetryAdvice: Equatable, Sendable {
    case yes
    /// Only after something else has changed: a join, a newer record, the message that this one changes.
    case whenChanged
    case no
}

/// Decides what a refusal of one published message means for its outbox row.
package enum PublishRefusal {
    /// `originalPending`: the message that this one edits or deletes still waits in this relay's outbox.
    /// `relayUnderWay`: the relay is still being taken into the channel.
    package static func advice(code: UInt16, originalPending: Bool, relayUnderWay: Bool) -> RetryAdvice {
        switch code {
        case 5, 6, 7, 8, 9, 10, 11: .yes
        // The relay does not carry the channel (yet), or does not know this member (yet).
        case 20, 22: relayUnderWay ? .whenChanged : .no
        case 31: .whenChanged
        case 25, 26: .whenChanged
        case 50: originalPending ? .whenChanged : .no
        default: .no
        }
    }
}
