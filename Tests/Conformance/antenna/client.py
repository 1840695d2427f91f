"""One connection to a relay: requests and answers, deliveries held to their order."""

import itertools

from . import elements, wire
from .bytesio import WireError
from .noise_link import AESGCM, CHACHAPOLY, Deadline, LinkClosed, connect

CONTROL_CONTEXT = b"antenna/1 control"
ATTACH_CONTEXT = b"antenna/1 attach"
AFTER, LAST, LIVE = 0, 1, 2
NO_EPOCH = bytes(8)
BEFORE_SEQUENCE, BEFORE_TIME, FROM_TIME = 0, 1, 2
STORED, REPEATED, REFUSED = 0, 1, 2
PRUNED, OTHER_EPOCH, ERASED = 1, 2, 3
WAIT = 10


class RemoteError(Exception):
    """An ERROR frame; `code` is its number."""

    def __init__(self, frame):
        super().__init__(f"error {frame.code}: {frame.text.decode(errors='replace')}")
        self.code = frame.code
        self.request = frame.request
        self.retry_after_ms = frame.retry_after_ms
        self.frame = frame


class OrderBroken(AssertionError):
    """A hole, a repeat or an inversion in what the relay delivered."""


class Cursor:
    """Holds the relay to "one strictly rising order without a hole"."""

    def __init__(self, attached):
        self.epoch = attached.epoch
        self.at = attached.resume_after
        self.moved = False

    def take(self, frame):
        if frame.name == "GAP" and frame.reason == OTHER_EPOCH:
            if self.moved or frame.start or frame.end:
                raise OrderBroken(f"an epoch gap out of place: {frame}")
            return
        first, last = (frame.sequence,) * 2 if frame.name == "DELIVER" else (frame.start, frame.end)
        if first != self.at + 1 or last < first:
            raise OrderBroken(f"{frame} after sequence {self.at}")
        self.at = last
        self.moved = True


class Delivery:
    """One DELIVER or HISTORY frame, taken apart down to its event."""

    def __init__(self, frame):
        self.sequence = frame.sequence
        if frame.batch[:1] != b"=":
            raise WireError("a delivery is a batch")
        self.forward = elements.only_element(frame.batch)
        if not isinstance(self.forward, elements.Forward):
            raise WireError("a delivery holds a forward element")
        self.member = self.forward.member
        self.time = self.forward.time
        self.element = self.forward.element
        self.bytes = self.element.encode()
        self.event = elements.parse_event(self.element.json)

    @property
    def text(self):
        return self.event.params.get("content", {}).get("text")


class Connection:
    """A link and what came over it and nobody has asked for yet."""

    def __init__(self, link):
        self.link = link
        self.inbox = []
        self.cursor = None
        self.channel = None
        self.attached = None
        self.requests = itertools.count(1)

    @staticmethod
    def open(link_text, suites=CHACHAPOLY | AESGCM, seconds=WAIT, **options):
        """Dials the first host of a link of any kind and holds the relay to the identity it names."""
        host, port, identity = link_text.endpoints()[0]
        return Connection(connect(host, port, identity, suites, seconds, **options))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.link.close()

    def cut(self):
        """Ends the connection with a reset."""
        self.link.stream.reset()

    def send(self, name, **fields):
        self.link.send(wire.encode(name, **fields))

    def pump(self, deadline):
        """Takes one frame in. An ERROR about the link itself is raised."""
        frame = self.link.receive(deadline)
        if frame.name in ("DELIVER", "GAP"):
            if self.cursor is None:
                raise OrderBroken(f"{frame} before ATTACHED")
            self.cursor.take(frame)
        if frame.name == "ATTACHED":
            self.cursor = Cursor(frame)
        if frame.name == "ERROR" and frame.request == 0:
            raise RemoteError(frame)
        self.inbox.append(frame)

    def pump_all(self, seconds=WAIT):
        """Takes in at least one frame, and all that came in the same record."""
        deadline = Deadline(seconds)
        self.pump(deadline)
        while self.link.waiting:
            self.pump(deadline)

    def wait(self, wanted, seconds=WAIT):
        """The first frame for which `wanted` is true, taken out of the inbox."""
        deadline = Deadline(seconds)
        seen = 0
        while True:
            for i in range(seen, len(self.inbox)):
                if wanted(self.inbox[i]):
                    return self.inbox.pop(i)
            seen = len(self.inbox)
            try:
                self.pump(deadline)
            except TimeoutError:
                raise TimeoutError(f"not within {seconds} s; the inbox holds {self.inbox[-5:]}") from None

    def expect(self, name, seconds=WAIT):
        return self.wait(lambda frame: frame.name == name, seconds)

    def error(self, seconds=WAIT):
        """Waits until the relay ends this link with an ERROR, and returns it as RemoteError."""
        try:
            self.wait(lambda frame: False, seconds)
        except RemoteError as problem:
            return problem

    def answer(self, request, *names, seconds=WAIT):
        frame = self.wait(
            lambda f: f.name in (*names, "ERROR") and f.fields.get("request") == request, seconds
        )
        if frame.name == "ERROR":
            raise RemoteError(frame)
        return frame

    def ping(self, data=b"conform!", seconds=WAIT):
        """Sends PING and waits for its PONG; what the relay sent before it is in the inbox then."""
        self.link.answer_pings = False
        self.send("PING", data=data)
        deadline = Deadline(seconds)
        while True:
            self.pump(deadline)
            frame = self.inbox[-1]
            if frame.name == "PING":
                self.inbox.pop()
                self.send("PONG", data=frame.data)
            elif frame.name == "PONG":
                self.inbox.pop()
                self.link.answer_pings = True
                return frame.data

    # Anonymous questions

    def get_record(self, channel, seconds=WAIT):
        request = next(self.requests)
        self.send("RECORD_GET", request=request, channel=channel)
        return self.answer(request, "RECORD", seconds=seconds).record

    def direct(self, *items):
        """Sends one element bare, several as a batch."""
        encoded = [item if isinstance(item, bytes) else item.encode() for item in items]
        self.send("DIRECT", body=encoded[0] if len(encoded) == 1 else elements.batch(encoded))

    def expect_direct(self, *tags, seconds=WAIT):
        """The next event with one of these tags that came by DIRECT; others stay in the inbox."""

        def fits(frame):
            return frame.name == "DIRECT" and any(e.tag in tags for e in direct_events(frame))

        frame = self.wait(fits, seconds)
        return next(e for e in direct_events(frame) if e.tag in tags)

    # A member's link

    def join(self, channel, element, seconds=WAIT):
        self.send(
            "JOIN", channel=channel, element=element if isinstance(element, bytes) else element.encode()
        )
        return [
            elements.parse_event(e.json) for e in elements.parse_body(self.expect("JOINED", seconds).batch)
        ]

    def attach(self, channel, member, key, start=AFTER, epoch=NO_EPOCH, position=0, proof=None, seconds=WAIT):
        message = ATTACH_CONTEXT + self.link.handshake_hash + channel + bytes([len(member)]) + member
        self.channel = channel
        self.send(
            "ATTACH",
            channel=channel,
            member=member,
            signature=key.sign(message) if proof is None else proof,
            start=start,
            epoch=epoch,
            position=position,
        )
        self.attached = self.expect("ATTACHED", seconds)
        return self.attached

    def publish_request(self, *items):
        request = next(self.requests)
        encoded = [item if isinstance(item, bytes) else item.encode() for item in items]
        self.send(
            "PUBLISH", request=request, body=encoded[0] if len(encoded) == 1 else elements.batch(encoded)
        )
        return request

    def publish(self, *items, seconds=WAIT):
        """The results of one PUBLISH, a dictionary for each element."""
        results = self.answer(self.publish_request(*items), "ACK", seconds=seconds).results
        if len(results) != len(items):
            raise WireError(f"{len(results)} results for {len(items)} elements")
        return results

    def next(self, seconds=WAIT):
        """The next Delivery, or the GAP frame."""
        frame = self.wait(lambda f: f.name in ("DELIVER", "GAP"), seconds)
        return Delivery(frame) if frame.name == "DELIVER" else frame

    def deliveries(self, count, seconds=WAIT):
        deadline = Deadline(seconds)
        return [self.next(deadline.left()) for _ in range(count)]

    def until(self, sequence, seconds=WAIT):
        """Everything up to `sequence`, gaps too."""
        deadline, got = Deadline(seconds), []
        while not got or (got[-1].end if hasattr(got[-1], "end") else got[-1].sequence) < sequence:
            got.append(self.next(deadline.left()))
        return got

    def history(self, mode, value, limit, seconds=WAIT):
        """(deliveries, HISTORY_END) of one page; they must rise and end as announced."""
        request = next(self.requests)
        self.send("HISTORY_GET", request=request, mode=mode, value=value, limit=limit)
        page = []
        while True:
            frame = self.answer(request, "HISTORY", "HISTORY_END", seconds=seconds)
            if frame.name == "HISTORY_END":
                break
            page.append(Delivery(frame))
        order = [delivery.sequence for delivery in page]
        if order != sorted(set(order)) or frame.first != (order[0] if order else 0):
            raise OrderBroken(f"a history page {order} that ends with {frame}")
        return page, frame


def direct_events(frame):
    found = []
    for element in elements.parse_body(frame.body):
        if isinstance(element, (elements.Plain, elements.Signed)):
            found.append(elements.parse_event(element.json))
    return found


def ended(connection, *codes):
    """Waits until the relay ends the link: with one of these errors (none given: any), or without a word."""
    try:
        error = connection.error(20)
        assert not codes or error.code in codes, error
    except LinkClosed:
        pass
    connection.close()
