"""The channel record and its owners chain (channel.md, "Channel record")."""

import json
from dataclasses import dataclass, field

from .bytesio import Reader, WireError, b64, i64, len8, len16, u8, unb64
from .keys import channel_id, der, from_der, verify

CONTEXT = b"antenna/1 channel record"
MAX_RECORD = 13784
MAX_OWNERS = MAX_RELAYS = 16


@dataclass
class OwnerAuth:
    owner_id: bytes
    key: bytes
    signature: bytes

    def encode(self):
        return len8(self.owner_id) + len8(der(self.key)) + len8(self.signature)

    @staticmethod
    def make(owner_id, key, authority):
        return OwnerAuth(owner_id, key, authority.sign(owner_id + der(key)))

    @staticmethod
    def decode(data):
        reader = Reader(data)
        return OwnerAuth(reader.len8(), from_der(reader.len8()), reader.len8())


@dataclass
class RelayEntry:
    member_id: bytes
    key: bytes
    identity: bytes
    link: str

    def encode(self):
        return (
            len8(self.member_id) + len8(der(self.key)) + len8(der(self.identity)) + len16(self.link.encode())
        )

    @staticmethod
    def decode(data):
        reader = Reader(data)
        member_id, key, identity = reader.len8(), from_der(reader.len8()), from_der(reader.len8())
        return RelayEntry(member_id, key, identity, reader.len16().decode())


@dataclass
class Record:
    root: bytes
    version: int
    owners: list
    relays: list = field(default_factory=list)
    roster_version: int = -1
    roster_digest: bytes = b""
    member_count: int = 1
    profile: dict = field(default_factory=dict)
    tail: bytes = b""
    signer: bytes = b""
    encoded: bytes = b""

    @property
    def channel(self):
        return channel_id(self.root)

    def body(self):
        profile = json.dumps(self.profile, separators=(",", ":"), ensure_ascii=False).encode()
        return b"".join(
            [
                len8(der(self.root)),
                i64(self.version),
                u8(len(self.owners)),
                *[len8(owner.encode()) for owner in self.owners],
                u8(len(self.relays)),
                *[len16(relay.encode()) for relay in self.relays],
                i64(self.roster_version),
                len8(self.roster_digest),
                i64(self.member_count),
                len16(profile),
                self.tail,
            ]
        )

    def sign(self, key, signer=b""):
        """The record's bytes; `signer` is empty for the root key, else the owner id that `key` belongs to."""
        body = self.body()
        self.signer = signer
        self.encoded = b"\x01" + len8(key.sign(CONTEXT + body)) + len8(signer) + body
        return self.encoded

    def owner_key(self, owner_id):
        return next((owner.key for owner in self.owners if owner.owner_id == owner_id), None)

    def relay(self, identity):
        return next((relay for relay in self.relays if relay.identity == identity), None)


def _decode_body(body):
    reader = Reader(body)
    root, version = from_der(reader.len8()), reader.i64()
    owners = [OwnerAuth.decode(reader.len8()) for _ in range(_count(reader, 1, MAX_OWNERS))]
    relays = [RelayEntry.decode(reader.len16()) for _ in range(_count(reader, 0, MAX_RELAYS))]
    roster_version, digest, members = reader.i64(), reader.len8(), reader.i64()
    profile = json.loads(reader.len16())
    if version < 1 or len(digest) not in (0, 64) or not isinstance(profile, dict):
        raise WireError("a version, digest or profile out of range", 24)
    return Record(root, version, owners, relays, roster_version, digest, members, profile, reader.tail())


def _count(reader, least, most):
    count = reader.u8()
    if not least <= count <= most:
        raise WireError(f"a count of {count}", 24)
    return count


def check_chain(record):
    """Every owner entry is authorised by the root key or by the key of an earlier entry."""
    authorities, ids, keys = [record.root], set(), {record.root}
    for owner in record.owners:
        if owner.owner_id in ids or owner.key in keys or not owner.owner_id:
            raise WireError("a repeated or empty owner id, or a repeated key", 24)
        message = owner.owner_id + der(owner.key)
        if not any(verify(authority, owner.signature, message) for authority in authorities):
            raise WireError("an owner nobody authorised", 24)
        authorities.append(owner.key)
        ids.add(owner.owner_id)
        keys.add(owner.key)


def read(data, channel):
    """The verified Record, checked in the order of channel.md."""
    if len(data) > MAX_RECORD:
        raise WireError(f"a record of {len(data)} bytes", 24)
    try:
        reader = Reader(data)
        if reader.u8() != 1:
            raise WireError("an unknown record form", 24)
        signature, signer, body = reader.len8(), reader.len8(), reader.tail()
        record = _decode_body(body)
    except (ValueError, WireError) as problem:
        raise WireError(f"the record does not decode: {problem}", 24) from None
    record.signer, record.encoded = signer, bytes(data)
    if record.channel != channel:
        raise WireError("the root key is not this channel's", 24)
    check_chain(record)
    key = record.owner_key(signer) if signer else record.root
    if key is None or not verify(key, signature, CONTEXT + body):
        raise WireError("the record's signature does not verify", 24)
    if _named_channel(record.profile) != channel:
        raise WireError("the profile names another channel", 24)
    return record


def _named_channel(profile):
    group = profile.get("publicGroup")
    try:
        return unb64(str(group.get("publicGroupId"))) if isinstance(group, dict) else None
    except WireError:
        return None


def group_profile(name, channel, link, preferences=None, **more):
    return {
        "displayName": name,
        "fullName": "",
        **more,
        "publicGroup": {"groupType": "channel", "groupLink": str(link), "publicGroupId": b64(channel)},
        "groupPreferences": preferences if preferences is not None else {"signMessages": {"enable": "on"}},
    }
