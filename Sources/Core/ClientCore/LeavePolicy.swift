/// Who may leave a channel: everybody but a sole owner, who can only delete it.
package enum LeavePolicy {
    /// A member as the rule sees it.
    package struct Member: Equatable, Sendable {
        package let id: [UInt8]
        package let isOwner: Bool
        /// Not left, not removed.
        package let isCurrent: Bool

        package init(id: [UInt8], isOwner: Bool, isCurrent: Bool) {
            self.id = id
            self.isOwner = isOwner
            self.isCurrent = isCurrent
        }
    }

    /// Whether the member `own` may leave; its own row is never counted, whatever it says.
    package static func mayLeave(own: [UInt8], isOwner: Bool, members: [Member]) -> Bool {
        guard isOwner else { return true }
        return members.contains { $0.id != own && $0.isOwner && $0.isCurrent }
    }
}
