package import ClientCore
package import SodiumCrypto

/// An entry of the address book.
package struct StoredRelay: Equatable, Sendable {
    package let name: String
    package let address: String
    package let identity: [UInt8]
    package let addedAt: Int64

    package init(name: String, address: String, identity: [UInt8], addedAt: Int64) {
        self.name = name
        self.address = address
        self.identity = identity
        self.addedAt = addedAt
    }
}

/// What the own membership in a channel is.
package enum ChannelState: String, Sendable {
    case current, left, removed, deleted
}

/// A channel of this home.
package struct StoredChannel: Sendable {
    /// The row; never used again after the channel is gone.
    package let id: Int64
    package let channelID: [UInt8]
    package let localName: String
    package let role: String
    package let state: ChannelState
    /// The seed of the root key; only where the channel was created.
    package let rootSecret: SecretBytes?
    package let memberID: [UInt8]
    package let memberName: String
    /// The seed of the member's key.
    package let memberSecret: SecretBytes
    /// The highest record seen, verbatim.
    package let record: [UInt8]
    package let recordVersion: Int64
    package let createdAt: Int64
}

/// A relay of a channel.
package struct StoredChannelRelay: Equatable, Sendable {
    package let id: Int64
    package let channel: Int64
    package let name: String
    package let memberID: [UInt8]
    package let identity: [UInt8]
    package let address: String
    package let relayKey: [UInt8]?
    package let relayLink: String?
    package let relay: OwnerRelay
    package let since: Int64
    /// Whether this member has joined at this relay.
    package let joined: Bool
    /// The highest version of the record that this relay is known to have.
    package let storedVersion: Int64
    package let lastError: String?
}

/// A change of a relay's status in the past.
package struct StoredStatusChange: Equatable, Sendable {
    package let status: OwnerRelay.Status
    package let memberStatus: OwnerRelay.MemberStatus
    package let reason: String?
    package let at: Int64
}

/// A member of a channel as far as it is known here.
package struct StoredMember: Equatable, Sendable {
    package let memberID: [UInt8]
    package let name: String
    package let role: String
    package let status: String
    package let publicKey: [UInt8]?
    package let joinedAt: Int64?

    package init(
        memberID: [UInt8], name: String, role: String, status: String, publicKey: [UInt8]?, joinedAt: Int64?
    ) {
        self.memberID = memberID
        self.name = name
        self.role = role
        self.status = status
        self.publicKey = publicKey
        self.joinedAt = joinedAt
    }
}

/// A published element as it is to be stored.
package struct NewEvent: Sendable {
    /// Empty for the channel itself.
    package let author: [UInt8]
    package let messageID: [UInt8]
    package let tag: String
    package let time: Int64
    package let signature: String
    package let own: Bool
    package let digest: [UInt8]
    /// The message that it changes.
    package let target: [UInt8]?
    /// The author's exact bytes.
    package let element: [UInt8]

    package init(
        author: [UInt8], messageID: [UInt8], tag: String, time: Int64, signature: String, own: Bool,
        digest: [UInt8],
        target: [UInt8]?, element: [UInt8]
    ) {
        self.author = author
        self.messageID = messageID
        self.tag = tag
        self.time = time
        self.signature = signature
        self.own = own
        self.digest = digest
        self.target = target
        self.element = element
    }
}

/// A message as it reads now.
package struct StoredMessage: Equatable, Sendable {
    package let event: Int64
    package let channel: Int64
    package let author: [UInt8]
    package let messageID: [UInt8]
    package let authorName: String
    package let asGroup: Bool
    package let time: Int64
    package let contentType: String
    package let text: String
    package let signature: String
    package let edited: Bool
    package let deleted: Bool
    package let own: Bool
    /// The order within one second.
    package let rank: Int64
}

/// A row of the outbox with what is needed to send it.
package struct StoredOutboxRow: Sendable {
    package let event: Int64
    package let channel: Int64
    package let relay: Int64
    package let messageID: [UInt8]
    package let tag: String
    package let target: [UInt8]?
    package let element: [UInt8]
    /// SHA-256 of the element as it was written.
    package let digest: [UInt8]
    package let entry: OutboxEntry
    package let queuedAt: Int64
}

/// An entry of a channel's journal.
package struct StoredJournalEntry: Equatable, Sendable {
    package let id: Int64
    package let channel: Int64
    package let kind: String
    package let event: Int64?
    package let detail: String?
    package let at: Int64
}
