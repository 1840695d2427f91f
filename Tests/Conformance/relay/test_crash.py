"""Scenario H4: publishing with kill -9 at random moments. What was acked is there, once, in its order, at its place.

ANTENNA_CRASH_ROUNDS says how many rounds (20), SEED which moments.
"""

import os
import random
import signal
import sqlite3
import threading
import time

from conftest import Channel

from antenna.client import AFTER, LIVE, OTHER_EPOCH, REFUSED, REPEATED, STORED, Delivery, RemoteError
from antenna.noise_link import LinkClosed
from antenna.people import Subscriber

SEED = int(os.environ.get("SEED") or random.randrange(1 << 30))
ROUNDS = int(os.environ.get("ANTENNA_CRASH_ROUNDS") or 20)
WRITERS, WINDOW = 2, 8
ENDS = (LinkClosed, RemoteError, TimeoutError, OSError)


class Writer(threading.Thread):
    """Publishes as fast as answers come, until the link ends; `acked` is what the relay said of each."""

    def __init__(self, channel, connection, name):
        super().__init__(daemon=True)
        self.channel, self.connection, self.name = channel, connection, name
        self.sent, self.acked, self.refused = [], {}, []

    def run(self):
        waiting = {}
        try:
            while True:
                while len(waiting) < WINDOW:
                    message = self.channel.owner.message(f"{self.name} {len(self.sent)}")
                    self.sent.append(message)
                    waiting[self.connection.publish_request(message)] = message
                frame = self.connection.expect("ACK", seconds=20)
                message = waiting.pop(frame.request)
                (result,) = frame.results
                if result["result"] == REFUSED:
                    self.refused.append(result)
                self.acked[message.encode()] = result["sequence"]
                self.connection.inbox.clear()
        except ENDS:
            self.connection.close()


class Log:
    """All that readers were ever shown: bytes by sequence."""

    def __init__(self):
        self.bytes, self.places = {}, {}

    def take(self, deliveries):
        for delivery in deliveries:
            if not isinstance(delivery, Delivery):
                # Who comes without an epoch is told that the log is a new one; nothing is ever missing.
                assert delivery.reason == OTHER_EPOCH, delivery
                continue
            known = self.bytes.setdefault(delivery.sequence, delivery.bytes)
            assert known == delivery.bytes, f"sequence {delivery.sequence} is something else now"
            place = self.places.setdefault(delivery.bytes, delivery.sequence)
            assert place == delivery.sequence, f"a message is at {place} and at {delivery.sequence}"


def drained(reader):
    """What a reader whose relay is gone had been given."""
    got = []
    try:
        while True:
            got.append(reader.next(5))
    except ENDS:
        reader.close()
    return got


def test_what_was_acked_survives_every_crash(relays):
    print(f"SEED={SEED} ANTENNA_CRASH_ROUNDS={ROUNDS}")
    moments, relay = random.Random(SEED), relays()
    channel = Channel(relay)
    subscriber, live = channel.reader(AFTER)
    epoch, log, acked = live.attached.epoch, Log(), {}
    for round in range(ROUNDS):
        writers = [
            Writer(channel, channel.owner.attach(relay.link, LIVE), f"round {round} writer {n}")
            for n in range(WRITERS)
        ]
        for writer in writers:
            writer.start()
        time.sleep(moments.uniform(0, 0.15))
        relay.stop(signal.SIGKILL)
        for writer in writers:
            writer.join(30)
            assert not writer.is_alive() and not writer.refused, writer.refused
            acked.update(writer.acked)
        log.take(drained(live))

        relay.start(f"127.0.0.1:{relay.port}")
        # The reader goes on where it was: the connection itself refuses a hole, a repeat or an inversion.
        live = subscriber.attach(relay.link, AFTER, epoch, live.cursor.at)
        assert live.attached.epoch == epoch, "a crash is no reason for another log"
        head = live.attached.head
        if live.cursor.at < head:
            log.take(live.until(head, 30))
        for message, sequence in acked.items():
            assert log.places.get(message) == sequence, f"acked as {sequence}: {message!r:.300}"
        for writer in writers:
            # Of what one link sent, a beginning is stored, in its order.
            places = [log.places.get(message.encode()) for message in writer.sent]
            stored = [place for place in places if place is not None]
            assert stored == sorted(stored) and places[: len(stored)] == stored

        # Sent again, as an owner would: what is there is there, what is not comes after it.
        with channel.owner.attach(relay.link, LIVE) as again:
            for writer in writers:
                for message in writer.sent[-WINDOW:]:
                    (result,) = again.publish(message)
                    again.inbox.clear()
                    place = log.places.get(message.encode())
                    expected = (REPEATED, place) if place else (STORED, head + 1)
                    assert (result["result"], result["sequence"]) == expected
                    head = result["sequence"] if not place else head
                    acked[message.encode()] = result["sequence"]
        if live.cursor.at < head:
            log.take(live.until(head, 30))
    live.close()
    assert len(acked) > ROUNDS, "hardly anything was acked: the moments are wrong"

    # Somebody who comes only now is given the same.
    late = Subscriber(str(channel.owner.link)).subscribe(AFTER)
    fresh = Log()
    fresh.take(late.until(head, 60))
    assert fresh.bytes == log.bytes
    assert sorted(log.bytes) == list(range(1, head + 1))
    late.close()
    channel.close()
    assert relay.stop() == 0
    with sqlite3.connect(f"file:{relay.state}/relay.db?mode=ro", uri=True) as database:
        assert database.execute("pragma integrity_check").fetchone()[0] == "ok"
    print(f"{len(acked)} acked messages over {ROUNDS} crashes")
