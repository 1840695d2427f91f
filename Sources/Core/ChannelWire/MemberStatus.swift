/// How far somebody has come in a channel, in ascending order.
package enum MemberStatus: String, Hashable, Sendable, CaseIterable, Comparable {
    case rejected, removed, left, deleted, unknown, invited
    case pendingApproval = "pending_approval"
    case pendingReview = "pending_review"
    case introduced
    case introInvited = "intro-inv"
    case accepted, announced, connected, complete, creator

    /// The text in frames, in JSON and in databases.
    package var text: String { rawValue }
    package init?(text: String) { self.init(rawValue: text) }

    /// Takes part in the channel.
    package var isCurrent: Bool { self >= .introduced }
    package var isActive: Bool { self >= .connected }

    private var order: Int { Self.allCases.firstIndex(of: self) ?? 0 }
    package static func < (left: MemberStatus, right: MemberStatus) -> Bool { left.order < right.order }
}
