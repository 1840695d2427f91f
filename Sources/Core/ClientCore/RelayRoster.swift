/// The relays of one channel as its owner lists them.
///
/// A relay is known by its identity key, not by its name or address: a listed one cannot be added again,
/// whatever its status, until its row is removed.
package struct RelayRoster: Equatable, Sendable {
    package struct Row: Equatable, Sendable {
        /// The relay's member id in the channel.
        package let memberID: [UInt8]
        /// The relay's identity key, 32 bytes.
        package let identity: [UInt8]
        package var relay: OwnerRelay

        package init(memberID: [UInt8], identity: [UInt8], relay: OwnerRelay = .init()) {
            self.memberID = memberID
            self.identity = identity
            self.relay = relay
        }
    }

    package private(set) var rows: [Row]

    package init(rows: [Row] = []) {
        self.rows = rows
    }

    package enum AddAnswer: Equatable, Sendable {
        case added
        case alreadyListed(OwnerRelay.Status)
        case full, memberIDTaken
    }

    /// The owner wants to invite a relay. Refused where its identity is listed in whatever status.
    package mutating func add(memberID: [UInt8], identity: [UInt8]) -> AddAnswer {
        if let listed = rows.first(where: { $0.identity == identity }) {
            return .alreadyListed(listed.relay.status)
        }
        guard rows.count(where: { $0.relay.takesMessages }) < Self.relaysMax else { return .full }
        guard !rows.contains(where: { $0.memberID == memberID }) else { return .memberIDTaken }
        rows.append(Row(memberID: memberID, identity: identity))
        return .added
    }

    /// The owner takes a row away; nil where there is none.
    package mutating func remove(identity: [UInt8]) -> Row? {
        guard let index = rows.firstIndex(where: { $0.identity == identity }) else { return nil }
        return rows.remove(at: index)
    }

    /// The relays that a record published now should list, in the order in which they were added.
    package var publishable: [Row] { rows.filter(\.relay.isPublishable) }

    /// As many relays as a record can list.
    package static let relaysMax = 16
}
