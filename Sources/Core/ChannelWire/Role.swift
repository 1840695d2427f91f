/// What a member may do. Texts that we do not know are kept, and are below every role that we know.
///
/// **Source**: docs/protocol/channel.md, the end.
package struct Role: Hashable, Sendable, Comparable, CustomStringConvertible {
    package let text: String
    package init(text: String) { self.text = text }

    package static let relay = Role(text: "relay")
    package static let observer = Role(text: "observer")
    package static let author = Role(text: "author")
    package static let member = Role(text: "member")
    package static let moderator = Role(text: "moderator")
    package static let admin = Role(text: "admin")
    package static let owner = Role(text: "owner")

    private static let ascending: [Role] = [.relay, .observer, .author, .member, .moderator, .admin, .owner]

    /// 0 for unknown texts, then 1 (relay) to 7 (owner).
    package var rank: Int { (Self.ascending.firstIndex(of: self) ?? -1) + 1 }
    package var isKnown: Bool { rank > 0 }
    /// May write to everybody.
    package var mayPost: Bool { self > .observer }
    /// Authenticated by the roster rather than by the owners chain or the join.
    package var isRosterRole: Bool { self == .member || self == .moderator || self == .admin }

    package static func < (left: Role, right: Role) -> Bool {
        let (leftRank, rightRank) = (left.rank, right.rank)
        // Among unknown texts the order means nothing but must agree with ==.
        return leftRank == rightRank ? left.text.precedesInBytes(right.text) : leftRank < rightRank
    }
    package static func == (left: Role, right: Role) -> Bool { left.text.hasSameBytes(as: right.text) }
    package func hash(into hasher: inout Hasher) { text.hashBytes(into: &hasher) }
    package var description: String { text }
}
