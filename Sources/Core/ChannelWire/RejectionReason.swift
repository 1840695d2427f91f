/// Why a relay does not take an invitation; the operator's own words are a reason too.
package struct RejectionReason: Hashable, Sendable, CustomStringConvertible {
    package let text: String
    package init(text: String) { self.text = text }

    /// The operator left this channel and has not allowed it since.
    package static let rejoinRejected = RejectionReason(text: "rejoin_rejected")
    /// The operator declined this invitation.
    package static let notAccepted = RejectionReason(text: "not_accepted")
    package static let channelLimit = RejectionReason(text: "channel_limit")
    package static let invalidRecord = RejectionReason(text: "invalid_record")
    package static let notOwner = RejectionReason(text: "not_owner")
    package static let notAccepting = RejectionReason(text: "not_accepting")

    package var description: String { text }

    package static func == (left: RejectionReason, right: RejectionReason) -> Bool {
        left.text.hasSameBytes(as: right.text)
    }
    package func hash(into hasher: inout Hasher) { text.hashBytes(into: &hasher) }
}
