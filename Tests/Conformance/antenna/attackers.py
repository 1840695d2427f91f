"""Hostile peers, each a process of its own: `python -m antenna.attackers NAME SECONDS COUNT RELAY-LINK CHANNEL-LINK [ADDRESS]`.

It attacks until its time is over or its count is reached, says `attacking` once it has begun, and last how often it did it.
It is polite to the machine (nice 19): what it takes from others is what it takes from the relay.
"""

import os
import random
import socket
import struct
import sys
import time

from . import elements, links, wire
from .bytesio import b64, len16
from .client import LIVE, Connection, RemoteError
from .keys import new_id
from .noise_link import Deadline, LinkClosed, Refused, client_preface, fresh_x25519
from .people import Owner, Rejected, Subscriber

RANDOM = random.Random(20261130)
ENDS = (RemoteError, LinkClosed, Refused, TimeoutError, OSError)
FULL = bool(os.environ.get("ANTENNA_ATTACKS_FULL"))
GIANT = b"\xff\xff\xff\xff"


class Attack:
    """Where it goes, and when it is over. Yielding is one count."""

    def __init__(self, relay, channel, source=None):
        # The address that invitations come from.
        self.source = source
        self.relay, self.channel = links.parse(relay), channel
        self.host, self.port, _ = self.relay.endpoints()[0]
        self.held = []

    def dial(self):
        return socket.create_connection((self.host, self.port), 10)

    def throw(self, data, hold=False):
        """Sends bytes over a connection of their own, and hangs up without a word."""
        sock = self.dial()
        try:
            sock.sendall(data)
        except OSError:
            pass
        if hold:
            self.held.append(sock)
        else:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            sock.close()

    def reader(self, **options):
        subscriber = Subscriber(self.channel)
        return subscriber, subscriber.subscribe(LIVE, **options)

    def drained(self, connection):
        """Sends a PING and reads up to its PONG, or to the end of the link."""
        try:
            connection.ping()
            connection.inbox.clear()
            return True
        except ENDS:
            connection.close()
            return False


def garbage(attack):
    hello = client_preface(3) + fresh_x25519()[1]
    while True:
        size = RANDOM.choice([1, 8, 40, 41, 1000, 70_000])
        attack.throw(RANDOM.randbytes(size))
        yield
        attack.throw(hello + RANDOM.randbytes(size))
        yield


def lengths(attack):
    """Lengths of 4 GiB, or the most that their field can say, wherever there is one."""
    zstd = b"\x28\xb5\x2f\xfd\xe0" + b"\xff" * 8 + b"\x01\x00\x00"
    bodies = [
        b"X\xff1\xff\xff" + zstd,
        b"X\x011" + len16(zstd),
        b"=\xff\xff\xff",
        b"/G\xff" + b"M@" * 100,
        b">M\xff",
    ]
    hello = client_preface(3) + fresh_x25519()[1]
    subscriber, connection = attack.reader()
    while True:
        attack.throw(hello + b"\xff\xff" + RANDOM.randbytes(3000), hold=len(attack.held) < 200)
        yield
        for body in bodies:
            connection.publish_request(body)
            connection.send("HISTORY_GET", request=9, mode=0, value=2**63 - 1, limit=65535)
            yield
        if not attack.drained(connection):
            connection = subscriber.attach(attack.relay, LIVE)
        for number in (0x28, 0x1A, 0x12, 0x18, 0x20):
            other = Connection.open(attack.relay)
            other.link.send_plaintext(bytes([number]) + b"\xff\xff" + GIANT)
            attack.drained(other)
            other.close()
            yield
        big = elements.event(
            "x.grp.roster", {"version": 0, "fileInv": {"fileSize": 2**32, "fileDigest": b64(bytes(64))}}
        )
        other = Connection.open(attack.relay)
        other.direct(big)
        attack.drained(other)
        other.close()
        yield


def handshakes(attack):
    """Cut, in the wrong order, said twice, from another link, and never finished."""
    flights = []
    for _ in range(3):
        flight = client_preface(3) + fresh_x25519()[1]
        flights.append(flight)
    while True:
        for cut in range(0, 41, 4):
            attack.throw(flights[0][:cut])
            yield
        attack.throw(flights[0][8:] + flights[0][:8])
        yield
        attack.throw(flights[0] * 2)
        yield
        for flight in flights:
            # A whole session of somebody else, said again.
            attack.throw(flight + b"\x00\x1c" + bytes(28), hold=False)
            yield
        batch = []
        for _ in range(100):
            batch.append(attack.dial())
        for sock in batch:
            sock.sendall(flights[1] if len(attack.held) % 2 else flights[1][:39])
            attack.held.append(sock)
            yield
        while len(attack.held) > 1200:
            attack.held.pop(0).close()


def states(attack):
    """Every frame where it does not belong."""
    channel = links.channel_to_open(attack.channel).key
    subscriber, connection = attack.reader()
    filled = {
        "u32": 1, "i64": 1, "u16": 1, "u8": 0, "bool": True, "tail": b"{}", "len8": b"x", "len16": b"", "i8": 0,
    }  # fmt: skip

    def frame(name):
        fields = {
            field: [] if isinstance(kind, list) else bytes(kind) if isinstance(kind, int) else filled[kind]
            for field, kind in wire.TABLE[name][1]
        }
        if "channel" in fields:
            fields["channel"] = channel
        return wire.encode(name, **fields)

    frames = [frame(name) for name in wire.TABLE if name not in ("PING", "PONG", "ERROR")]
    while True:
        for one in frames:
            other = Connection.open(attack.relay)
            other.link.send(one, *RANDOM.sample(frames, 4))
            attack.drained(other)
            other.close()
            yield
            connection.link.send(one)
            if not attack.drained(connection):
                connection = subscriber.attach(attack.relay, LIVE)
            yield


def invitations(attack):
    """Channels without end, and one channel's invitation again and again."""
    while True:
        owner = Owner([attack.relay], "flood")
        try:
            with owner.control(attack.relay, inviting=True, source=attack.source) as control:
                again = wire.encode("DIRECT", body=owner.invitation(new_id()).encode())
                for _ in range(1 if FULL else 20):
                    control.link.send(again)
                    yield
                attack.drained(control)
        except (Rejected, *ENDS):
            yield


def joins(attack):
    while True:
        try:
            _, connection = attack.reader()
            connection.close()
        except ENDS:
            pass
        yield


def signatures(attack):
    """Messages that nobody signed, as many to a frame as fit."""
    subscriber, connection = attack.reader()
    json = elements.event("x.msg.new", {"content": {"type": "text", "text": "x"}}, new_id())
    good = elements.sign(json, subscriber.channel, subscriber.member_id, subscriber.key).encode()
    bad = bytearray(good)
    bad[10] ^= 1
    count = 16_000 // (len(bad) + 2)
    body = elements.batch([bytes(bad)] * count)
    while True:
        for _ in range(8):
            connection.publish_request(body)
        for _ in range(8):
            # Only what has been refused counts.
            results = connection.expect("ACK", 60).results
            assert {result["code"] for result in results} == {40}, results[:2]
            for _ in range(count):
                yield
        connection.inbox.clear()


def frozen(attack):
    """Readers that never read, and ask for much."""
    while True:
        if len(attack.held) < 100:
            subscriber, connection = attack.reader(receive_buffer=4096)
            attack.held.append(connection)
        for connection in attack.held:
            try:
                connection.send("HISTORY_GET", request=1, mode=0, value=2**63 - 1, limit=500)
                connection.send("RECORD_GET", request=2, channel=subscriber.channel)
            except ENDS:
                attack.held.remove(connection)
                connection.close()
                break
            yield


ATTACKS = {f.__name__: f for f in (garbage, lengths, handshakes, states, invitations, signatures, frozen, joins)}


def main(name, seconds, most, relay, channel, source=None):
    os.setpriority(os.PRIO_PROCESS, 0, 19)
    attack = Attack(relay, channel, source)
    end, done, told = time.monotonic() + float(seconds), 0, False
    for _ in ATTACKS[name](attack):
        done += 1
        if not told:
            print("attacking", flush=True)
            told = True
        if done >= int(most) or time.monotonic() > end:
            break
    print(done, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
