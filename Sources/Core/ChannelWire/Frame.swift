/// One frame of the link. **Source**: docs/protocol/frames.md, one case for each row.
package enum Frame: Hashable, Sendable {
    case error(LinkError)
    case drain(delayMs: UInt32)
    case ping([UInt8])
    case pong([UInt8])
    case recordGet(request: UInt32, channel: ChannelID)
    /// Request 0: pushed, because the record changed.
    case record(request: UInt32, record: [UInt8])
    case recordPut(request: UInt32, record: [UInt8])
    case recordStored(request: UInt32, version: Int64)
    case control(Control)
    case controlled(status: String, recordVersion: Int64)
    case direct(body: [UInt8])
    case membersGet(request: UInt32, after: MemberID?, limit: UInt16)
    case members(MembersPage)
    case join(channel: ChannelID, element: [UInt8])
    case joined(batch: [UInt8])
    case attach(Attach)
    case attached(Attached)
    case deliver(sequence: Int64, batch: [UInt8])
    case gap(from: Int64, to: Int64, reason: GapReason)
    case publish(request: UInt32, body: [UInt8])
    case ack(request: UInt32, results: [AckResult])
    case historyGet(request: UInt32, mode: HistoryMode, value: Int64, limit: UInt16)
    case history(request: UInt32, sequence: Int64, batch: [UInt8])
    case historyEnd(request: UInt32, first: Int64, more: Bool)
    /// A type from 80 to FF: a later version's, to be ignored.
    case ignored(type: UInt8)

    package struct Control: Hashable, Sendable {
        package let channel: ChannelID
        package let owner: MemberID
        package let signature: Signature
        /// An invitation follows, and a refusal is its answer.
        package let invitationFollows: Bool
        /// Empty where the relay has it.
        package let record: [UInt8]
        package init(
            channel: ChannelID, owner: MemberID, signature: Signature, invitationFollows: Bool,
            record: [UInt8]
        ) {
            self.channel = channel
            self.owner = owner
            self.signature = signature
            self.invitationFollows = invitationFollows
            self.record = record
        }
    }
    package struct MembersPage: Hashable, Sendable {
        package struct Row: Hashable, Sendable {
            package let member: MemberID
            package let role: String
            package let status: String
            package let name: String
            /// **Units**: seconds since 1970.
            package let joinedAt: Int64
            package init(member: MemberID, role: String, status: String, name: String, joinedAt: Int64) {
                self.member = member
                self.role = role
                self.status = status
                self.name = name
                self.joinedAt = joinedAt
            }
        }
        package let request: UInt32
        package let more: Bool
        package let total: Int64
        package let rows: [Row]
        package init(request: UInt32, more: Bool, total: Int64, rows: [Row]) {
            self.request = request
            self.more = more
            self.total = total
            self.rows = rows
        }
    }
    /// Where an attach begins.
    package enum Start: Hashable, Sendable {
        /// After this position of the log with this epoch (8 bytes).
        case cursor(epoch: [UInt8], position: Int64)
        /// The last so many messages.
        case last(Int64)
        case live
    }
    package struct Attach: Hashable, Sendable {
        package let channel: ChannelID
        package let member: MemberID
        package let signature: Signature
        package let start: Start
        package init(channel: ChannelID, member: MemberID, signature: Signature, start: Start) {
            self.channel = channel
            self.member = member
            self.signature = signature
            self.start = start
        }
    }
    package struct Attached: Hashable, Sendable {
        /// **Shape**: 8 bytes.
        package let epoch: [UInt8]
        package let first: Int64
        package let head: Int64
        package let resumeAfter: Int64
        package let role: String
        package let recordVersion: Int64
        package init(
            epoch: [UInt8], first: Int64, head: Int64, resumeAfter: Int64, role: String, recordVersion: Int64
        ) {
            precondition(epoch.count == 8, "an epoch has 8 bytes")
            self.epoch = epoch
            self.first = first
            self.head = head
            self.resumeAfter = resumeAfter
            self.role = role
            self.recordVersion = recordVersion
        }
    }
    package enum GapReason: UInt8, Sendable { case pruned = 1, epoch = 2, erased = 3 }
    package enum HistoryMode: UInt8, Sendable { case beforeSequence = 0, beforeTime = 1, fromTime = 2 }

    /// What became of one element of a PUBLISH.
    package struct AckResult: Hashable, Sendable {
        package enum Outcome: UInt8, Sendable { case stored = 0, repeated = 1, refused = 2 }
        package let outcome: Outcome
        package let sequence: Int64
        /// 0 unless refused.
        package let code: UInt16
        package init(outcome: Outcome, sequence: Int64, code: UInt16) {
            self.outcome = outcome
            self.sequence = sequence
            self.code = code
        }
        package static func stored(_ sequence: Int64) -> AckResult {
            .init(outcome: .stored, sequence: sequence, code: 0)
        }
        package static func repeated(_ sequence: Int64) -> AckResult {
            .init(outcome: .repeated, sequence: sequence, code: 0)
        }
        package static func refused(_ code: LinkErrorCode) -> AckResult {
            .init(outcome: .refused, sequence: 0, code: code.rawValue)
        }
    }
}

/// The type byte of a frame. **Source**: docs/protocol/frames.md.
package enum FrameType: UInt8, CaseIterable, Sendable {
    case error = 0x01
    case drain = 0x02
    case ping = 0x03
    case pong = 0x04
    case recordGet = 0x10
    case record = 0x11
    case recordPut = 0x12
    case recordStored = 0x13
    case control = 0x18
    case controlled = 0x19
    case direct = 0x1A
    case membersGet = 0x1B
    case members = 0x1C
    case join = 0x20
    case joined = 0x21
    case attach = 0x22
    case attached = 0x23
    case deliver = 0x24
    case gap = 0x25
    case publish = 0x28
    case ack = 0x29
    case historyGet = 0x2A
    case history = 0x2B
    case historyEnd = 0x2C
}
