/// The numbered steps that make the database. A step that has shipped never changes.
enum ClientSchema {
    /// “ANTC”: the database of an Antenna client.
    static let applicationID: Int32 = 0x414E_5443
    static var version: Int32 { Int32(migrations.count) }

    static let migrations: [String] = [first]

    private static let first = """
        CREATE TABLE profile (
            one INTEGER PRIMARY KEY CHECK (one = 1),
            display_name TEXT NOT NULL
        ) STRICT;

        -- Where the home has a passphrase: the key that seals the secrets, locked with it.
        CREATE TABLE home_key (
            one INTEGER PRIMARY KEY CHECK (one = 1),
            box BLOB NOT NULL
        ) STRICT;

        CREATE TABLE relay (
            name TEXT PRIMARY KEY,
            address TEXT NOT NULL,
            identity BLOB NOT NULL CHECK (length(identity) = 32),
            added_at INTEGER NOT NULL
        ) STRICT;

        CREATE TABLE channel (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            channel_id BLOB NOT NULL UNIQUE CHECK (length(channel_id) = 32),
            local_name TEXT NOT NULL UNIQUE,
            role TEXT NOT NULL,
            state TEXT NOT NULL CHECK (state IN ('current', 'left', 'removed', 'deleted')),
            root_secret BLOB,
            member_id BLOB NOT NULL,
            member_name TEXT NOT NULL,
            member_secret BLOB NOT NULL,
            record BLOB NOT NULL,
            record_version INTEGER NOT NULL,
            created_at INTEGER NOT NULL
        ) STRICT;

        CREATE TABLE channel_relay (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            channel INTEGER NOT NULL REFERENCES channel (id) ON DELETE CASCADE,
            name TEXT NOT NULL,
            member_id BLOB NOT NULL,
            identity BLOB NOT NULL CHECK (length(identity) = 32),
            address TEXT NOT NULL,
            relay_key BLOB CHECK (relay_key IS NULL OR length(relay_key) = 32),
            relay_link TEXT,
            status TEXT NOT NULL,
            member_status TEXT NOT NULL,
            reason TEXT,
            since INTEGER NOT NULL,
            joined INTEGER NOT NULL DEFAULT 0 CHECK (joined IN (0, 1)),
            stored_version INTEGER NOT NULL DEFAULT 0,
            last_error TEXT,
            UNIQUE (channel, identity),
            UNIQUE (channel, member_id)
        ) STRICT;

        CREATE TABLE channel_relay_history (
            id INTEGER PRIMARY KEY,
            channel_relay INTEGER NOT NULL REFERENCES channel_relay (id) ON DELETE CASCADE,
            status TEXT NOT NULL,
            member_status TEXT NOT NULL,
            reason TEXT,
            at INTEGER NOT NULL
        ) STRICT;
        CREATE INDEX channel_relay_history_by_relay ON channel_relay_history (channel_relay);

        CREATE TABLE member (
            channel INTEGER NOT NULL REFERENCES channel (id) ON DELETE CASCADE,
            member_id BLOB NOT NULL,
            name TEXT NOT NULL,
            role TEXT NOT NULL,
            status TEXT NOT NULL,
            public_key BLOB CHECK (public_key IS NULL OR length(public_key) = 32),
            joined_at INTEGER,
            PRIMARY KEY (channel, member_id)
        ) STRICT, WITHOUT ROWID;

        -- Every published element once, however many relays deliver it. author is empty for the channel
        -- itself.
        CREATE TABLE event (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            channel INTEGER NOT NULL REFERENCES channel (id) ON DELETE CASCADE,
            author BLOB NOT NULL,
            message_id BLOB NOT NULL,
            tag TEXT NOT NULL,
            time INTEGER NOT NULL,
            signature TEXT NOT NULL,
            own INTEGER NOT NULL CHECK (own IN (0, 1)),
            digest BLOB NOT NULL,
            target BLOB,
            element BLOB NOT NULL,
            UNIQUE (channel, author, message_id)
        ) STRICT;
        CREATE INDEX event_by_target ON event (channel, target) WHERE target IS NOT NULL;

        CREATE TABLE message (
            event INTEGER PRIMARY KEY REFERENCES event (id) ON DELETE CASCADE,
            channel INTEGER NOT NULL REFERENCES channel (id) ON DELETE CASCADE,
            author BLOB NOT NULL,
            message_id BLOB NOT NULL,
            author_name TEXT NOT NULL,
            as_group INTEGER NOT NULL CHECK (as_group IN (0, 1)),
            time INTEGER NOT NULL,
            rank INTEGER NOT NULL,
            content_type TEXT NOT NULL,
            text TEXT NOT NULL,
            signature TEXT NOT NULL,
            edited INTEGER NOT NULL DEFAULT 0 CHECK (edited IN (0, 1)),
            deleted INTEGER NOT NULL DEFAULT 0 CHECK (deleted IN (0, 1))
        ) STRICT;
        -- Within one second: what was fetched as history by its sequence, then what came live in the order of
        -- coming.
        CREATE INDEX message_by_time ON message (channel, time, rank, event);
        CREATE INDEX message_by_id ON message (channel, message_id);

        CREATE TABLE copy (
            event INTEGER NOT NULL REFERENCES event (id) ON DELETE CASCADE,
            relay INTEGER NOT NULL REFERENCES channel_relay (id) ON DELETE CASCADE,
            digest BLOB NOT NULL,
            sequence INTEGER NOT NULL,
            arrived_at INTEGER NOT NULL,
            PRIMARY KEY (event, relay)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX copy_by_relay ON copy (relay, sequence);

        CREATE TABLE log_cursor (
            relay INTEGER PRIMARY KEY REFERENCES channel_relay (id) ON DELETE CASCADE,
            epoch BLOB NOT NULL,
            position INTEGER NOT NULL
        ) STRICT;

        CREATE TABLE outbox (
            event INTEGER NOT NULL REFERENCES event (id) ON DELETE CASCADE,
            relay INTEGER NOT NULL REFERENCES channel_relay (id) ON DELETE CASCADE,
            state TEXT NOT NULL CHECK (state IN ('pending', 'accepted', 'refused')),
            sequence INTEGER,
            code INTEGER,
            attempts INTEGER NOT NULL DEFAULT 0,
            last_error TEXT,
            next_try_ms INTEGER NOT NULL DEFAULT 0,
            queued_at INTEGER NOT NULL,
            PRIMARY KEY (event, relay)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX outbox_pending ON outbox (relay, event) WHERE state = 'pending';

        -- What happened in a channel, in the order in which this home learnt of it.
        CREATE TABLE journal (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            channel INTEGER NOT NULL REFERENCES channel (id) ON DELETE CASCADE,
            kind TEXT NOT NULL,
            event INTEGER REFERENCES event (id) ON DELETE CASCADE,
            detail TEXT,
            at INTEGER NOT NULL
        ) STRICT;
        CREATE INDEX journal_by_channel ON journal (channel, id);
        """
}
