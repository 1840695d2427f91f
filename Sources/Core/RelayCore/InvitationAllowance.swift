/// How many invitations from each address the relay takes up: so many at once, and as many again in the
/// course of each day.
///
/// Each source has a bucket that is full at first. An invitation that is taken up takes one token out, and
/// they come back at an even rate. Kept of a source is one number, the moment at which its bucket will be
/// full again; after that nothing is kept. Who has no token left is told when the next one comes, and is
/// served if it comes back then.
///
/// Nothing here lasts: a relay that starts again has forgotten all of it.
package struct InvitationAllowance: Equatable, Sendable {
    /// Who invites, as far as the relay can tell: an address, or the network that it stands for.
    package struct Source: Hashable, Sendable {
        /// Shape: 4 bytes, or 16.
        package let address: [UInt8]

        package init(address: [UInt8]) { self.address = address }
    }

    /// Source → the moment at which its bucket is full again. Units: microseconds since 1970.
    private var fullAt: [Source: Int64] = [:]

    package init() {}

    /// How long a source has to wait before one more of its invitations is taken up: 0, not at all.
    ///
    /// Units: `now` in seconds since 1970, the answer in milliseconds. `perDay`: the size of a bucket; 0 is
    /// no limit.
    package func wait(of source: Source, perDay: Int64, now: Int64) -> Int64 {
        guard perDay > 0, let full = full(source, Self.microseconds(now)) else { return 0 }
        let over = full + Self.day / perDay - Self.microseconds(now) - Self.day
        // In whole seconds: who asks again is judged by a clock that has no smaller step.
        return over > 0 ? (over + 999_999) / 1_000_000 * 1000 : 0
    }

    /// One of a source's invitations was taken up.
    package mutating func spend(_ source: Source, perDay: Int64, now: Int64) {
        guard perDay > 0 else { return }
        let now = Self.microseconds(now)
        if fullAt[source] == nil, fullAt.count >= Self.sourcesMax { makeRoom(now) }
        fullAt[source] = (full(source, now) ?? now) + Self.day / perDay
    }

    /// Forgets sources whose buckets are full again.
    package mutating func forgetFull(now: Int64) {
        let now = Self.microseconds(now)
        if fullAt.values.contains(where: { $0 <= now }) { fullAt = fullAt.filter { $0.value > now } }
    }

    /// Of how many sources something is kept.
    package var count: Int { fullAt.count }

    /// Where so many sources have invited lately, the one that has taken least is forgotten for the next.
    package static let sourcesMax = 10_000

    private static let day: Int64 = 86_400_000_000

    private static func microseconds(_ seconds: Int64) -> Int64 {
        min(max(0, seconds), Int64.max / 4_000_000) * 1_000_000
    }

    /// When a bucket is full again, nil where it is full now. No bucket takes more than a day for that: one
    /// that seems to has been looked at before the clock was put back.
    private func full(_ source: Source, _ now: Int64) -> Int64? {
        guard let full = fullAt[source], full > now else { return nil }
        return min(full, now + Self.day)
    }

    private mutating func makeRoom(_ now: Int64) {
        fullAt = fullAt.filter { $0.value > now }
        guard fullAt.count >= Self.sourcesMax, let least = fullAt.min(by: { $0.value < $1.value }) else {
            return
        }
        fullAt[least.key] = nil
    }
}
