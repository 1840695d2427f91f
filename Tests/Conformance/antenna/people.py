"""The two kinds of people: an owner who rules a channel, a subscriber who reads it."""

import itertools

from . import elements, links, record
from .bytesio import b64, unb64
from .client import CONTROL_CONTEXT, AFTER, NO_EPOCH, Connection
from .keys import KeyPair, channel_id, key_from_text, key_text, new_id, verify


class Rejected(Exception):
    """The relay answered x.grp.relay.reject."""

    def __init__(self, reason):
        super().__init__(reason)
        self.reason = reason


class Author:
    """Somebody with a member id and a key in one channel, who can make elements."""

    def __init__(self, channel, member_id, key, name):
        self.channel = channel
        self.member_id = member_id
        self.key = key
        self.name = name

    def signed(self, tag, params, message_id=None):
        json = elements.event(tag, params, message_id)
        return elements.sign(json, self.channel, self.member_id, self.key)

    def message(self, text, message_id=None, signed=True, **params):
        params = {"content": {"type": "text", "text": text}, **params}
        message_id = message_id or new_id()
        if signed:
            return self.signed("x.msg.new", params, message_id)
        return elements.Plain(elements.event("x.msg.new", params, message_id))

    def update(self, target, text, **params):
        params = {"msgId": b64(target), "content": {"type": "text", "text": text}, **params}
        return self.signed("x.msg.update", params, new_id())

    def delete(self, target, **params):
        return self.signed("x.msg.del", {"msgId": b64(target), **params}, new_id())

    def leave(self):
        return self.signed("x.grp.leave", {}, new_id())

    def attach(self, relay_link, start=AFTER, epoch=NO_EPOCH, position=0, **options):
        """A fresh connection, attached as this member."""
        connection = Connection.open(relay_link, **options)
        try:
            connection.attach(self.channel, self.member_id, self.key, start, epoch, position)
        except BaseException:
            connection.close()
            raise
        return connection


class Owner(Author):
    """The creator of one channel: root key, owner key, the record and the relays in it."""

    def __init__(self, relay_links, name="news", signs=True):
        self.root = KeyPair()
        super().__init__(channel_id(self.root.public), new_id(), KeyPair(), "owner")
        self.relay_links = [links.parse(text) if isinstance(text, str) else text for text in relay_links]
        spots = [link.endpoints()[0] for link in self.relay_links]
        self.link = links.channel(self.channel, spots)
        preferences = {"signMessages": {"enable": "on" if signs else "off"}}
        self.profile = record.group_profile(name, self.channel, self.link, preferences)
        self.chain = [record.OwnerAuth.make(self.member_id, self.key.public, self.root)]
        self.entries = []
        self.version = 0
        self.roster_version, self.roster_digest = -1, b""
        self.controls = []
        self.encoded = self.new_record()

    def new_record(self, **changes):
        """The next version of the record, signed by the root key; `changes` are fields of record.Record."""
        self.version = changes.pop("version", self.version + 1)
        fields = dict(
            root=self.root.public,
            version=self.version,
            owners=self.chain,
            relays=self.entries,
            roster_version=self.roster_version,
            roster_digest=self.roster_digest,
            profile=self.profile,
        )
        self.encoded = record.Record(**{**fields, **changes}).sign(self.root)
        return self.encoded

    def proof(self, h, channel=None, owner_id=None):
        owner_id = owner_id or self.member_id
        return self.key.sign(
            CONTROL_CONTEXT + h + (channel or self.channel) + bytes([len(owner_id)]) + owner_id
        )

    def control(self, relay_link, inviting=False, with_record=True, proof=None, **options):
        """A control link. Its CONTROLLED frame is `connection.controlled`."""
        connection = Connection.open(relay_link, **options)
        try:
            connection.send(
                "CONTROL",
                channel=self.channel,
                owner=self.member_id,
                signature=proof or self.proof(connection.link.handshake_hash),
                flags=1 if inviting else 0,
                record=self.encoded if with_record else b"",
            )
            frame = connection.wait(lambda f: f.name in ("CONTROLLED", "DIRECT"))
            if frame.name == "DIRECT":
                connection.inbox.insert(0, frame)
                raise Rejected(connection.expect_direct("x.grp.relay.reject").params["reason"])
        except BaseException:
            connection.close()
            raise
        connection.controlled = frame
        return connection

    def invitation(self, relay_member_id, group_link=None, member_id=None):
        member_id = member_id or self.member_id
        return self.signed(
            "x.grp.relay.inv",
            {
                "groupRelayInvitation": {
                    "fromMember": {"memberId": b64(member_id), "memberRole": "owner"},
                    "fromMemberProfile": {"displayName": self.name, "fullName": ""},
                    "relayMemberId": b64(relay_member_id),
                    "groupLink": str(group_link or self.link),
                }
            },
        )

    def invite(self, connection, relay_member_id, **changes):
        """The g link the relay answers with, or Rejected."""
        connection.direct(self.invitation(relay_member_id, **changes))
        answer = connection.expect_direct("x.grp.relay.acpt", "x.grp.relay.reject")
        if answer.tag == "x.grp.relay.reject":
            raise Rejected(answer.params["reason"])
        return links.parse(answer.params["relayLink"])

    def send_roster(self, connection, version, entries=()):
        """Sends roster header and chunks; the relay's x.grp.roster.ack parameters."""
        blob, message_id = elements.roster_blob(entries), new_id()
        digest = elements.sha512(blob)
        header = self.signed(
            "x.grp.roster",
            {"version": version, "fileInv": {"fileSize": len(blob), "fileDigest": b64(digest)}},
            message_id,
        )
        connection.direct(header, *elements.chunks(message_id, blob))
        ack = connection.expect_direct("x.grp.roster.ack").params
        if ack.get("version") == version and not ack.get("error"):
            self.roster_version, self.roster_digest = version, digest
        return ack

    def put_record(self, connection, encoded=None):
        request = next(connection.requests)
        connection.send("RECORD_PUT", request=request, record=encoded or self.encoded)
        return connection.answer(request, "RECORD_STORED").version

    def members(self, connection, after=b"", limit=50):
        request = next(connection.requests)
        connection.send("MEMBERS_GET", request=request, after=after, limit=limit)
        return connection.answer(request, "MEMBERS")

    def establish(self, relay_link):
        """Invite, roster, record: the whole way to an active relay. Keeps and returns the control link."""
        connection = self.control(relay_link, inviting=True)
        relay_member_id = new_id()
        g = self.invite(connection, relay_member_id)
        self.send_roster(connection, 0)
        self.entries = [e for e in self.entries if e.identity != relay_link.key]
        self.entries.append(record.RelayEntry(relay_member_id, g.key, relay_link.key, str(g)))
        self.put_record(connection, self.new_record())
        self.controls.append(connection)
        return connection

    def close(self):
        for connection in self.controls:
            connection.close()


class Subscriber(Author):
    """A reader with one membership; verifies all that a relay tells."""

    names = itertools.count(1)

    def __init__(self, channel_link, name=None):
        self.link = links.channel_to_open(channel_link) if isinstance(channel_link, str) else channel_link
        super().__init__(self.link.key, new_id(), KeyPair(), name or f"reader {next(self.names)}")
        self.record = None

    def read_record(self, connection):
        """Fetches and verifies the record; keeps the highest version."""
        found = record.read(connection.get_record(self.channel), self.channel)
        if self.record is None or found.version >= self.record.version:
            self.record = found
        return found

    def application(self, relay_member_id, **params):
        params = {
            "profile": {"displayName": self.name, "fullName": ""},
            "newMemberId": b64(self.member_id),
            "newMemberKey": key_text(self.key.public),
            "viaRelay": b64(relay_member_id),
            **params,
        }
        return self.signed("x.member", params)

    def subscribe(self, start=AFTER, position=0, epoch=NO_EPOCH, **options):
        """Record, join and attach over one connection."""
        connection = Connection.open(self.link, **options)
        try:
            self.read_record(connection)
            entry = self.record.relay(connection.link.identity)
            self.joined = connection.join(self.channel, self.application(entry.member_id))
            connection.attach(self.channel, self.member_id, self.key, start, epoch, position)
        except BaseException:
            connection.close()
            raise
        return connection

    def author_key(self, member_id):
        owner = self.record.owner_key(member_id)
        relay = next((entry.key for entry in self.record.relays if entry.member_id == member_id), None)
        return owner or relay

    def verified(self, delivery):
        """True where a signed delivery verifies with the key that the record gives its author."""
        key = delivery.member and self.author_key(delivery.member)
        return (
            bool(key)
            and isinstance(delivery.element, elements.Signed)
            and delivery.element.verifies(self.channel, delivery.member, key)
        )


def relay_test(connection, challenge):
    """Sends x.grp.relay.test; True where the answer is signed by the identity the handshake showed."""
    connection.direct(elements.Plain(elements.event("x.grp.relay.test", {"challenge": b64(challenge)})))
    answer = connection.expect_direct("x.grp.relay.test").params
    return answer.get("challenge", b64(challenge)) == b64(challenge) and verify(
        connection.link.identity, unb64(answer["signature"]), challenge
    )


def member_key(params):
    return key_from_text(params["newMemberKey"])
