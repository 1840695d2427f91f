CREATE TABLE audit (
    audit INTEGER PRIMARY KEY,
    time INTEGER NOT NULL,
    actor TEXT NOT NULL,
    action TEXT NOT NULL,
    channel_id BLOB,
    name TEXT NOT NULL,
    detail TEXT NOT NULL
) STRICT;
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
    CHECK ((relay_member_id IS NULL) = (relay_key_seed IS NULL))
) STRICT;
CREATE TABLE counters (
    channel INTEGER PRIMARY KEY REFERENCES channels ON DELETE CASCADE,
    member_count INTEGER NOT NULL DEFAULT 0,
    log_first INTEGER NOT NULL DEFAULT 1,
    log_head INTEGER NOT NULL DEFAULT 0,
    log_count INTEGER NOT NULL DEFAULT 0,
    log_bytes INTEGER NOT NULL DEFAULT 0,
    log_time INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE TABLE invitations (
    channel INTEGER PRIMARY KEY REFERENCES channels ON DELETE CASCADE,
    owner_id BLOB NOT NULL,
    owner_name TEXT NOT NULL,
    relay_member_id BLOB NOT NULL,
    invited_at INTEGER NOT NULL
) STRICT;
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
CREATE TABLE meta (
    name TEXT PRIMARY KEY,
    value BLOB NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE refusals (
    channel_id BLOB PRIMARY KEY CHECK (length(channel_id) = 32),
    name TEXT NOT NULL,
    reason TEXT NOT NULL,
    refused_at INTEGER NOT NULL,
    refused_by TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE roster (
    channel INTEGER NOT NULL REFERENCES channels ON DELETE CASCADE,
    member_id BLOB NOT NULL,
    public_key BLOB NOT NULL CHECK (length(public_key) = 32),
    role TEXT NOT NULL,
    PRIMARY KEY (channel, member_id)
) STRICT, WITHOUT ROWID;
CREATE TABLE tombstones (
    channel INTEGER NOT NULL REFERENCES channels ON DELETE CASCADE,
    author BLOB NOT NULL,
    message_id BLOB NOT NULL,
    erased_at INTEGER NOT NULL,
    PRIMARY KEY (channel, author, message_id)
) STRICT, WITHOUT ROWID;
CREATE TABLE turned_down (
    channel_id BLOB PRIMARY KEY CHECK (length(channel_id) = 32),
    relay_member_id BLOB NOT NULL,
    words TEXT,
    turned_down_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX channels_status ON channels (status);
CREATE INDEX channels_title ON channels (title);
CREATE INDEX log_amends ON log (channel, author, amends) WHERE amends IS NOT NULL;
CREATE INDEX members_owners ON members (channel) WHERE role = 'owner';
CREATE INDEX tombstones_age ON tombstones (channel, erased_at);
