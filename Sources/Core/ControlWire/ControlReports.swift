// What each command answers. Field names are the JSON keys: add, never rename.

/// How the relay is doing.
package struct StatusReport: Codable, Sendable, Equatable {
    package var name: String
    package var version: String
    /// `running` or `draining`.
    package var state: String
    /// The address and port that the relay listens on.
    package var listen: String
    package var startedAt: Int64
    /// `open`, `manual` or `closed`.
    package var admission: String
    package var loops: Int
    package var links: Links
    package var channels: Channels
    package var storage: Storage
    package var counters: Counters
    /// The last time that the settings were read anew; none since the start: left out.
    package var reload: Reload?

    /// How reading the settings anew went.
    package struct Reload: Codable, Sendable, Equatable {
        package var reloadedAt: Int64
        package var ok: Bool
        /// What is wrong, with file and line; the settings of before stay in force.
        package var problem: String?

        package init(reloadedAt: Int64, ok: Bool, problem: String?) {
            self.reloadedAt = reloadedAt
            self.ok = ok
            self.problem = problem
        }
    }

    /// Links by what they are.
    package struct Links: Codable, Sendable, Equatable {
        package var total: Int
        package var owners: Int
        package var members: Int
        package var limit: Int

        package init(total: Int, owners: Int, members: Int, limit: Int) {
            self.total = total
            self.owners = owners
            self.members = members
            self.limit = limit
        }
    }

    /// Channels by own status.
    package struct Channels: Codable, Sendable, Equatable {
        package var serving: Int
        package var inactive: Int
        package var rejected: Int
        package var invitations: Int

        package init(serving: Int, inactive: Int, rejected: Int, invitations: Int) {
            self.serving = serving
            self.inactive = inactive
            self.rejected = rejected
            self.invitations = invitations
        }
    }

    /// What lies on disk.
    package struct Storage: Codable, Sendable, Equatable {
        package var subscribers: Int64
        package var messages: Int64
        package var messageBytes: Int64
        package var databaseBytes: Int64
        /// Publishes are refused with `storage-full`.
        package var full: Bool
        /// In words; absent where it is not full.
        package var fullBecause: String?

        package init(
            subscribers: Int64, messages: Int64, messageBytes: Int64, databaseBytes: Int64, full: Bool,
            fullBecause: String? = nil
        ) {
            self.subscribers = subscribers
            self.messages = messages
            self.messageBytes = messageBytes
            self.databaseBytes = databaseBytes
            self.full = full
            self.fullBecause = fullBecause
        }
    }

    /// Counted since the start.
    package struct Counters: Codable, Sendable, Equatable {
        package var accepted: Int64
        package var refused: Int64
        package var published: Int64
        package var delivered: Int64
        package var errors: Int64

        package init(accepted: Int64, refused: Int64, published: Int64, delivered: Int64, errors: Int64) {
            self.accepted = accepted
            self.refused = refused
            self.published = published
            self.delivered = delivered
            self.errors = errors
        }
    }

    package init(
        name: String, version: String, state: String, listen: String, startedAt: Int64, admission: String,
        loops: Int, links: Links, channels: Channels, storage: Storage, counters: Counters,
        reload: Reload? = nil
    ) {
        self.name = name
        self.version = version
        self.state = state
        self.listen = listen
        self.startedAt = startedAt
        self.admission = admission
        self.loops = loops
        self.links = links
        self.channels = channels
        self.storage = storage
        self.counters = counters
        self.reload = reload
    }
}

/// The link that owners add this relay with.
package struct AddressReport: Codable, Sendable, Equatable {
    package var link: String

    package init(link: String) { self.link = link }
}

/// One channel that the relay carries, carried, or refuses.
package struct ChannelRow: Codable, Sendable, Equatable {
    package var id: String
    /// The name as the operator types it: `#news`, `#'my news'`, `#news_1`.
    package var name: String
    package var displayName: String
    /// The relay's own status for it: `accepted`, `acknowledged_roster`, `active`, `inactive`, `rejected`.
    package var status: String
    package var subscribers: Int64
    package var messages: Int64
    package var messageBytes: Int64
    package var head: Int64
    package var recordVersion: Int64
    /// The links attached now.
    package var attached: Int
    package var rejection: Rejection?

    /// Why, when and by whom a channel was left.
    package struct Rejection: Codable, Sendable, Equatable {
        package var reason: String
        package var rejectedAt: Int64
        package var by: String

        package init(reason: String, rejectedAt: Int64, by: String) {
            self.reason = reason
            self.rejectedAt = rejectedAt
            self.by = by
        }
    }

    package init(
        id: String, name: String, displayName: String, status: String, subscribers: Int64, messages: Int64,
        messageBytes: Int64, head: Int64, recordVersion: Int64, attached: Int, rejection: Rejection?
    ) {
        self.id = id
        self.name = name
        self.displayName = displayName
        self.status = status
        self.subscribers = subscribers
        self.messages = messages
        self.messageBytes = messageBytes
        self.head = head
        self.recordVersion = recordVersion
        self.attached = attached
        self.rejection = rejection
    }
}

package struct ChannelsReport: Codable, Sendable, Equatable {
    package var channels: [ChannelRow]

    package init(channels: [ChannelRow]) { self.channels = channels }
}

/// One member of a channel.
package struct MemberRow: Codable, Sendable, Equatable {
    package var id: String
    package var role: String
    package var status: String
    package var name: String
    package var joinedAt: Int64

    package init(id: String, role: String, status: String, name: String, joinedAt: Int64) {
        self.id = id
        self.role = role
        self.status = status
        self.name = name
        self.joinedAt = joinedAt
    }
}

package struct MembersReport: Codable, Sendable, Equatable {
    package var members: [MemberRow]
    package var total: Int64
    /// There is another page after the last id.
    package var more: Bool

    package init(members: [MemberRow], total: Int64, more: Bool) {
        self.members = members
        self.total = total
        self.more = more
    }
}

/// The channel was left; invitations will be rejected.
package struct LeaveReport: Codable, Sendable, Equatable {
    package var id: String
    package var channel: String
    /// It had been left before: nothing changed.
    package var already: Bool

    package init(id: String, channel: String, already: Bool) {
        self.id = id
        self.channel = channel
        self.already = already
    }
}

/// What was done to one channel.
package struct ChannelReport: Codable, Sendable, Equatable {
    package var id: String
    package var channel: String

    package init(id: String, channel: String) {
        self.id = id
        self.channel = channel
    }
}

/// An invitation that waits for the operator.
package struct InvitationRow: Codable, Sendable, Equatable {
    /// The channel's name as the operator types it.
    package var channel: String
    package var channelID: String
    package var displayName: String
    package var owner: String
    package var ownerName: String
    package var receivedAt: Int64

    package init(
        channel: String, channelID: String, displayName: String, owner: String, ownerName: String,
        receivedAt: Int64
    ) {
        self.channel = channel
        self.channelID = channelID
        self.displayName = displayName
        self.owner = owner
        self.ownerName = ownerName
        self.receivedAt = receivedAt
    }
}

package struct InvitationsReport: Codable, Sendable, Equatable {
    package var invitations: [InvitationRow]

    package init(invitations: [InvitationRow]) { self.invitations = invitations }
}

/// One thing that an operator did.
package struct AuditRow: Codable, Sendable, Equatable {
    package var id: Int64
    package var doneAt: Int64
    package var actor: String
    package var action: String
    package var channel: String?
    package var detail: String?

    package init(id: Int64, doneAt: Int64, actor: String, action: String, channel: String?, detail: String?) {
        self.id = id
        self.doneAt = doneAt
        self.actor = actor
        self.action = action
        self.channel = channel
        self.detail = detail
    }
}

package struct AuditReport: Codable, Sendable, Equatable {
    package var actions: [AuditRow]

    package init(actions: [AuditRow]) { self.actions = actions }
}

/// The link key that is used from now on.
package struct KeyReport: Codable, Sendable, Equatable {
    package var notBeforeAt: Int64
    package var notAfterAt: Int64

    package init(notBeforeAt: Int64, notAfterAt: Int64) {
        self.notBeforeAt = notBeforeAt
        self.notAfterAt = notAfterAt
    }
}

package struct PruneReport: Codable, Sendable, Equatable {
    package var messages: Int64
    package var messageBytes: Int64

    package init(messages: Int64, messageBytes: Int64) {
        self.messages = messages
        self.messageBytes = messageBytes
    }
}

package struct VersionReport: Codable, Sendable, Equatable {
    package var antenna: String
    package var libevent: String
    package var sqlite: String

    package init(antenna: String, libevent: String, sqlite: String) {
        self.antenna = antenna
        self.libevent = libevent
        self.sqlite = sqlite
    }
}

/// What reading the settings anew changed.
package struct ReloadReport: Codable, Sendable, Equatable {
    /// The settings with a new value in force: `[limits] channels`.
    package var changed: [String]
    /// The settings whose new value waits for a restart.
    package var needRestart: [String]
    /// The file that was read; nil: there is none, or the relay is older than this.
    package var file: String?

    package init(changed: [String], needRestart: [String], file: String?) {
        self.changed = changed
        self.needRestart = needRestart
        self.file = file
    }
}

/// A backup that is whole, checked and on disk.
package struct BackupReport: Codable, Sendable, Equatable {
    package var file: String
    package var fileBytes: Int64

    package init(file: String, fileBytes: Int64) {
        self.file = file
        self.fileBytes = fileBytes
    }
}
