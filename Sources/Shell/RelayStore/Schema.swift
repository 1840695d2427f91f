/// The numbered steps that make the relay's database, oldest first.
///
/// A step never changes once it has shipped: a test holds the digest of each. A new need is a new step.
package enum Schema {
    package struct Step: Sendable {
        /// The `user_version` after this step.
        package let version: Int32
        package let sql: String
    }

    /// "ANTN": the file belongs to an Antenna relay. Shape: the application id in the header of the file.
    package static let applicationID: Int32 = 0x414E_544E

    package static var latest: Int32 { steps[steps.count - 1].version }

    package static let steps: [Step] = [
        Step(version: 1, sql: founding), Step(version: 2, sql: countersApart),
    ]

    private static let founding = """
        CREATE TABLE meta (
            name TEXT PRIMARY KEY,
            value BLOB NOT NULL
        ) STRICT, WITHOUT ROWID;

        -- The operator's word on a channel. Keyed by the channel id alone and referring to nothing, so that
        -- it outlives whatever else is known of the channel.
        CREATE TABLE refusals (
            channel_id BLOB PRIMARY KEY CHECK (length(channel_id) = 32),
            name TEXT NOT NULL,
            reason TEXT NOT NULL,
            refused_at INTEGER NOT NULL,
            refused_by TEXT NOT NULL
        ) STRICT, WITHOUT ROWID;

        -- Invitations that an operator turned down: the same invitation again gets the same answer.
        CREATE TABLE turned_down (
            channel_id BLOB PRIMARY KEY CHECK (length(channel_id) = 32),
            relay_member_id BLOB NOT NULL,
            words TEXT,
            turned_down_at INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE channels (
            channel INTEGER PRIMARY KEY,
            channel_id BLOB NOT NULL UNIQUE CHECK (length(channel_id) = 32),
            name TEXT NOT NULL UNIQUE,
            title TEXT NOT NULL,
            status TEXT NOT NULL CHECK (status IN
                ('invited', 'accepted', 'acknowledged_roster', 'active', 'inactive', 'rejected')),
            status_at INTEGER NOT NULL,
            created_at INTEGER NOT NULL,
            log_nonce BLOB NOT NULL CHECK (length(log_nonce) = 8),
            deleted INTEGER NOT NULL DEFAULT 0,
            record_version INTEGER NOT NULL,
            record BLOB NOT NULL,
            profile BLOB NOT NULL,
            relay_member_id BLOB,
            relay_key_seed BLOB CHECK (length(relay_key_seed) = 32),
            roster_version INTEGER NOT NULL DEFAULT -1,
            member_count INTEGER NOT NULL DEFAULT 0,
            log_first INTEGER NOT NULL DEFAULT 1,
            log_head INTEGER NOT NULL DEFAULT 0,
            log_count INTEGER NOT NULL DEFAULT 0,
            log_bytes INTEGER NOT NULL DEFAULT 0,
            log_time INTEGER NOT NULL DEFAULT 0,
            CHECK ((relay_member_id IS NULL) = (relay_key_seed IS NULL))
        ) STRICT;
        CREATE INDEX channels_status ON channels (status);
        CREATE INDEX channels_title ON channels (title);

        -- The invitation that waits for the operator.
        CREATE TABLE invitations (
            channel INTEGER PRIMARY KEY REFERENCES channels ON DELETE CASCADE,
            owner_id BLOB NOT NULL,
            owner_name TEXT NOT NULL,
            relay_member_id BLOB NOT NULL,
            invited_at INTEGER NOT NULL
        ) STRICT;

        CREATE TABLE members (
            member INTEGER PRIMARY KEY,
            channel INTEGER NOT NULL REFERENCES channels ON DELETE CASCADE,
            member_id BLOB NOT NULL,
            public_key BLOB NOT NULL CHECK (length(public_key) = 32),
            role TEXT NOT NULL,
            status TEXT NOT NULL,
            name TEXT NOT NULL,
            joined_at INTEGER NOT NULL,
            UNIQUE (channel, member_id)
        ) STRICT;
        -- Every join names the owners; they are few among many.
        CREATE INDEX members_owners ON members (channel) WHERE role = 'owner';

        -- Keys and roles that an owner pinned, of members who have joined and of those who have not.
        CREATE TABLE roster (
            channel INTEGER NOT NULL REFERENCES channels ON DELETE CASCADE,
            member_id BLOB NOT NULL,
            public_key BLOB NOT NULL CHECK (length(public_key) = 32),
            role TEXT NOT NULL,
            PRIMARY KEY (channel, member_id)
        ) STRICT, WITHOUT ROWID;

        -- frame: the whole DELIVER frame, ready to send. A sequence between log_first and log_head that has
        -- no row was erased; one below log_first was pruned.
        CREATE TABLE log (
            entry INTEGER PRIMARY KEY,
            channel INTEGER NOT NULL REFERENCES channels ON DELETE CASCADE,
            sequence INTEGER NOT NULL,
            time INTEGER NOT NULL,
            author BLOB NOT NULL,
            message_id BLOB NOT NULL,
            tag TEXT NOT NULL,
            amends BLOB,
            digest BLOB NOT NULL CHECK (length(digest) = 32),
            frame BLOB NOT NULL,
            UNIQUE (channel, sequence),
            UNIQUE (channel, author, message_id)
        ) STRICT;
        CREATE INDEX log_amends ON log (channel, author, amends) WHERE amends IS NOT NULL;

        -- What was deleted stays deleted: these message ids are never taken again.
        CREATE TABLE tombstones (
            channel INTEGER NOT NULL REFERENCES channels ON DELETE CASCADE,
            author BLOB NOT NULL,
            message_id BLOB NOT NULL,
            erased_at INTEGER NOT NULL,
            PRIMARY KEY (channel, author, message_id)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX tombstones_age ON tombstones (channel, erased_at);

        CREATE TABLE audit (
            audit INTEGER PRIMARY KEY,
            time INTEGER NOT NULL,
            actor TEXT NOT NULL,
            action TEXT NOT NULL,
            channel_id BLOB,
            name TEXT NOT NULL,
            detail TEXT NOT NULL
        ) STRICT;
        """

    /// SQLite reads and makes a row as a whole, and a channel's has the record and the profile with its
    /// picture: what moves with each message stands in a short row of its own.
    private static let countersApart = """
        CREATE TABLE counters (
            channel INTEGER PRIMARY KEY REFERENCES channels ON DELETE CASCADE,
            member_count INTEGER NOT NULL DEFAULT 0,
            log_first INTEGER NOT NULL DEFAULT 1,
            log_head INTEGER NOT NULL DEFAULT 0,
            log_count INTEGER NOT NULL DEFAULT 0,
            log_bytes INTEGER NOT NULL DEFAULT 0,
            log_time INTEGER NOT NULL DEFAULT 0
        ) STRICT;
        INSERT INTO counters (channel, member_count, log_first, log_head, log_count, log_bytes, log_time)
        SELECT channel, member_count, log_first, log_head, log_count, log_bytes, log_time FROM channels;
        ALTER TABLE channels DROP COLUMN member_count;
        ALTER TABLE channels DROP COLUMN log_first;
        ALTER TABLE channels DROP COLUMN log_head;
        ALTER TABLE channels DROP COLUMN log_count;
        ALTER TABLE channels DROP COLUMN log_bytes;
        ALTER TABLE channels DROP COLUMN log_time;
        """
}
