"""One link of small_relay.py, from open to its end, and the channel it is about."""

import threading
import time

from . import elements, links, record, wire
from .bytesio import WireError, b64, unb64
from .client import ATTACH_CONTEXT, CONTROL_CONTEXT, OTHER_EPOCH
from .keys import KeyPair, key_from_text, verify
from .noise_link import Deadline, LinkClosed

SECONDS = 20


class Fault(Exception):
    def __init__(self, code, request=0):
        super().__init__(code)
        self.code, self.request = code, request


class HostedChannel:
    def __init__(self, read):
        self.record = read
        self.status, self.relay_id, self.key = b"", None, KeyPair()
        self.members = {}  # id: (key, role, name, joined at)
        self.log = []  # (author, element bytes, body of the delivery, time)
        self.seen = {}  # (author, message id): index into the log
        self.changed = threading.Condition()

    def append(self, entries):
        with self.changed:
            self.log += entries
            self.changed.notify_all()

    def person(self, member_id):
        """(key, role) of an owner or a member."""
        owner = self.record.owner_key(member_id)
        return (owner, "owner") if owner else self.members.get(member_id, (None, None))[:2]


class Session:
    """One link, from open to its end."""

    def __init__(self, relay, link):
        self.relay, self.link = relay, link
        self.state, self.channel, self.me = "open", None, None
        self.sending = threading.Lock()

    def send(self, name, **fields):
        with self.sending:
            self.link.send(wire.encode(name, **fields))

    def run(self):
        try:
            while True:
                frame = self.link.receive(Deadline(SECONDS))
                try:
                    handler = getattr(self, f"{self.state}_{frame.name}", None)
                    if handler is None:
                        raise Fault(1)
                    with self.relay.lock:
                        handler(frame)
                except Fault as fault:
                    self.error(fault)
                    if fault.request == 0:
                        return
        except WireError as problem:
            self.error(Fault(problem.code))

    def error(self, fault):
        self.send("ERROR", request=fault.request, code=fault.code, retry_after_ms=0, text=b"")

    def hosted(self, channel_id, request=0):
        if channel_id not in self.relay.channels:
            raise Fault(20, request)
        return self.relay.channels[channel_id]

    # open

    def open_RECORD_GET(self, frame):
        self.send(
            "RECORD", request=frame.request, record=self.hosted(frame.channel, frame.request).record.encoded
        )

    control_RECORD_GET = member_RECORD_GET = open_RECORD_GET

    def open_DIRECT(self, frame):
        challenge = elements.parse_event(frame.body).params["challenge"]
        signature = self.relay.identity.sign(unb64(challenge))
        self.direct("x.grp.relay.test", {"challenge": challenge, "signature": b64(signature)})

    def open_CONTROL(self, frame):
        if frame.record:
            read = record.read(frame.record, frame.channel)
            self.relay.channels.setdefault(frame.channel, HostedChannel(read))
        self.channel = self.hosted(frame.channel)
        self.prove(CONTROL_CONTEXT, frame, frame.owner, self.channel.record.owner_key(frame.owner))
        self.state, self.me = "control", frame.owner
        self.send("CONTROLLED", status=self.channel.status, record_version=self.channel.record.version)

    def prove(self, context, frame, who, key):
        message = context + self.link.handshake_hash + frame.channel + bytes([len(who)]) + who
        if key is None or not verify(key, frame.signature, message):
            raise Fault(30 if key else 31)

    def open_JOIN(self, frame):
        channel = self.hosted(frame.channel)
        element = elements.only_element(frame.element)
        params = elements.parse_event(element.json).params
        member_id, key = unb64(params["newMemberId"]), key_from_text(params["newMemberKey"])
        if not element.verifies(frame.channel, member_id, key):
            raise Fault(40)
        if unb64(params["viaRelay"]) != channel.relay_id:
            raise Fault(34)
        known = channel.members.setdefault(
            member_id, (key, "observer", params["profile"]["displayName"], int(time.time()))
        )
        if known[0] != key:
            raise Fault(36)
        self.state = "joined"
        member = {"memberId": params["newMemberId"], "memberRole": "observer"}
        invitation = {
            "fromMember": {"memberId": b64(channel.relay_id), "memberRole": "relay"},
            "fromMemberName": "r",
            "invitedMember": member,
            "groupProfile": channel.record.profile,
        }
        told = [elements.event("x.grp.link.inv", {"groupLinkInvitation": invitation})]
        for owner in channel.record.owners:
            info = {"memberId": b64(owner.owner_id), "memberRole": "owner", "profile": {"displayName": "o"}}
            told.append(elements.event("x.grp.mem.intro", {"memberInfo": info}))
        self.send("JOINED", batch=elements.batch(told))

    def open_ATTACH(self, frame):
        channel = self.channel = self.hosted(frame.channel)
        key, role = channel.person(frame.member)
        self.prove(ATTACH_CONTEXT, frame, frame.member, key)
        self.state, self.me = "member", frame.member
        head, foreign = len(channel.log), frame.start == 0 and frame.epoch != self.relay.epoch
        at = {0: 0 if foreign else frame.position, 1: max(0, head - min(frame.position, 100)), 2: head}[
            frame.start
        ]
        self.send(
            "ATTACHED",
            epoch=self.relay.epoch,
            first=1,
            head=head,
            resume_after=at,
            role=role.encode(),
            record_version=channel.record.version,
        )
        if foreign:
            self.send("GAP", start=0, end=0, reason=OTHER_EPOCH)
        threading.Thread(target=self._deliver, args=(at,), daemon=True).start()

    joined_ATTACH = open_ATTACH

    def _deliver(self, at):
        try:
            while True:
                with self.channel.changed:
                    self.channel.changed.wait_for(lambda: len(self.channel.log) > at, SECONDS)
                    fresh = self.channel.log[at:]
                for entry in fresh:
                    at += 1
                    self.send("DELIVER", sequence=at, batch=entry[2])
        except (OSError, LinkClosed, TimeoutError):
            pass

    # control

    def direct(self, tag, params):
        self.send("DIRECT", body=elements.event(tag, params))

    def control_DIRECT(self, frame):
        head, *chunks = elements.parse_body(frame.body)
        channel_id = self.channel.record.channel
        if not isinstance(head, elements.Signed):
            raise Fault(42)
        if not head.verifies(channel_id, self.me, self.channel.record.owner_key(self.me)):
            raise Fault(40)
        event = elements.parse_event(head.json)
        if event.tag == "x.grp.relay.inv":
            invitation = event.params["groupRelayInvitation"]
            if links.parse(invitation["groupLink"]).key != channel_id:
                return self.direct("x.grp.relay.reject", {"reason": "invalid_record"})
            self.channel.relay_id, self.channel.status = unb64(invitation["relayMemberId"]), b"accepted"
            g = links.Link(
                "g", self.channel.key.public, ["127.0.0.1"], [self.relay.port], [self.relay.identity.public]
            )
            self.direct("x.grp.relay.acpt", {"relayLink": str(g)})
        elif event.tag == "x.grp.roster":
            blob = b"".join(chunk.data for chunk in chunks)
            fits = b64(elements.sha512(blob)) == event.params["fileInv"]["fileDigest"]
            self.channel.status = b"acknowledged_roster"
            self.direct(
                "x.grp.roster.ack",
                {"version": event.params["version"], **({} if fits else {"error": "digest"})},
            )

    def control_RECORD_PUT(self, frame):
        try:
            read = record.read(frame.record, self.channel.record.channel)
        except WireError as problem:
            raise Fault(problem.code, frame.request) from None
        if read.version < self.channel.record.version:
            raise Fault(25, frame.request)
        if read.version == self.channel.record.version and read.encoded != self.channel.record.encoded:
            raise Fault(26, frame.request)
        self.channel.record = read
        if read.relay(self.relay.identity.public):
            self.channel.status = b"active"
        self.send("RECORD_STORED", request=frame.request, version=read.version)

    def control_MEMBERS_GET(self, frame):
        rows = sorted(m for m in self.channel.members if m > frame.after)
        page = [
            dict(
                member=m,
                role=b"observer",
                status=b"connected",
                name=self.channel.members[m][2].encode(),
                joined_at=self.channel.members[m][3],
            )
            for m in rows[: min(frame.limit, 50)]
        ]
        self.send(
            "MEMBERS",
            request=frame.request,
            more=len(rows) > len(page),
            total=len(self.channel.members),
            members=page,
        )

    # member

    def member_PUBLISH(self, frame):
        try:
            pieces = elements.split_body(frame.body)
        except WireError as problem:
            raise Fault(problem.code, frame.request) from None
        self.send("ACK", request=frame.request, results=[self.decide(piece) for piece in pieces])

    def decide(self, piece):
        try:
            return self.store(piece)
        except WireError:
            return dict(result=2, sequence=0, code=47)
        except Fault as fault:
            return dict(result=2, sequence=0, code=fault.code)

    def store(self, piece):
        element = elements.parse_element(piece)
        key, role = self.channel.person(self.me)
        if not isinstance(element, elements.Signed):
            raise Fault(42)
        if element.binding != b"G":
            raise Fault(41)
        if not element.verifies(self.channel.record.channel, self.me, key):
            raise Fault(40)
        event = elements.parse_event(element.json)
        if event.message_id is None:
            raise Fault(44)
        if role != "owner":
            raise Fault(43)
        before = self.channel.seen.get((self.me, event.message_id))
        if before is not None:
            if self.channel.log[before][1] != piece:
                raise Fault(45)
            return dict(result=1, sequence=before + 1, code=0)
        now = int(time.time())
        forward = elements.Forward(self.me, "owner", now, element).encode()
        self.channel.seen[self.me, event.message_id] = len(self.channel.log)
        self.channel.append([(self.me, piece, elements.batch([forward]), now)])
        return dict(result=0, sequence=len(self.channel.log), code=0)

    def member_HISTORY_GET(self, frame):
        rows = [(i + 1, entry[2]) for i, entry in enumerate(self.channel.log)]
        time_of = {i + 1: entry[3] for i, entry in enumerate(self.channel.log)}
        fits = {
            0: lambda i: i < frame.value,
            1: lambda i: time_of[i] < frame.value,
            2: lambda i: time_of[i] >= frame.value,
        }[frame.mode]
        found = [row for row in rows if fits(row[0])]
        page = found[: frame.limit] if frame.mode == 2 else found[-frame.limit :]
        for sequence, batch in page:
            self.send("HISTORY", request=frame.request, sequence=sequence, batch=batch)
        self.send(
            "HISTORY_END", request=frame.request, first=page[0][0] if page else 0, more=len(found) > len(page)
        )
