"""Who reads the database for long, from outside or through the relay, cannot make its write-ahead log grow without end."""

import contextlib
import json
import os
import sqlite3

import pytest
from conftest import Channel

from antenna import wire
from antenna.client import AFTER, BEFORE_SEQUENCE, REFUSED

MIB = 1 << 20
LIMIT = 8 * MIB
TEXT = "x" * 15000
STORAGE_FULL = 9


@pytest.fixture
def channel(relays):
    channel = Channel(relays(limits__wal_bytes=LIMIT, limits__log_bytes="1 GiB"))
    yield channel
    channel.close()


@contextlib.contextmanager
def pinned(relay):
    """Another program in the middle of a read transaction."""
    database = sqlite3.connect(f"file:{relay.state}/relay.db?mode=ro", uri=True, isolation_level=None)
    database.execute("begin")
    database.execute("select count(*) from log").fetchone()
    try:
        yield
    finally:
        database.close()


def log_bytes(relay):
    return os.path.getsize(os.path.join(relay.state, "relay.db-wal"))


def storage(relay):
    return json.loads(relay.operator("status", "--json").stdout)["storage"]


def write_until(channel, writer, enough):
    """Publishes until `enough(answer)`; how many were stored, and the largest the log was meanwhile."""
    stored, largest = 0, 0
    while True:
        (answer,) = writer.publish(channel.owner.message(f"{stored} {TEXT}"))
        writer.inbox.clear()
        largest = max(largest, log_bytes(channel.relay))
        if enough(stored, answer):
            return stored, largest
        assert answer["result"] != REFUSED, answer
        assert stored < 2000, f"the log has {largest} bytes by now"
        stored += 1


def test_a_program_that_reads_for_long_stops_publishing_not_the_relay(channel):
    relay, (subscriber, reader) = channel.relay, channel.reader(AFTER)
    writer = channel.writer()
    with pinned(relay):
        stored, largest = write_until(channel, writer, lambda n, a: a["code"] == STORAGE_FULL)
        # One transaction more, here of one message.
        assert LIMIT < largest < LIMIT + MIB
        assert stored > 100
        told = storage(relay)
        assert told["full"] and "write-ahead log" in told["fullBecause"]
        assert "write-ahead log" in relay.operator("status").stdout
        with open(relay.log.name) as log:
            assert "storage.full" in log.read()
        # Readers are served, also the ones that come back, and nothing that was acked is missing.
        assert len([d for d in reader.until(stored, 60) if hasattr(d, "text")]) == stored
        with subscriber.attach(relay.link, AFTER, reader.attached.epoch, stored - 20) as again:
            assert len(again.until(stored)) == 20
        assert len(reader.history(BEFORE_SEQUENCE, stored, 5)[0]) == 5
        # The operator's commands go on.
        assert json.loads(relay.operator("audit", "--json").stdout)["actions"] == []
        assert writer.publish(channel.owner.message("still held"))[0]["code"] == STORAGE_FULL
    # The read is over: everything goes on by itself, and the log is small again.
    (answer,) = writer.publish(channel.owner.message("room again"))
    assert answer["result"] == 0 and answer["sequence"] == stored + 1
    assert log_bytes(relay) < MIB
    assert not storage(relay)["full"]
    write_until(channel, writer, lambda n, a: n == 100)


def test_the_relays_own_readers_do_not_hold_the_log(channel):
    """A frozen one that lags behind, and one that asks for page after page, while much is written."""
    relay = channel.relay
    subscriber, first = channel.reader(AFTER)
    writer = channel.writer()
    write_until(channel, writer, lambda n, a: n == 200)
    first.close()
    frozen = channel.keep(subscriber.attach(relay.link, AFTER, first.attached.epoch, 0, receive_buffer=4096))
    asking = channel.keep(subscriber.attach(relay.link, AFTER, first.attached.epoch, 0, receive_buffer=4096))
    for request in range(1, 4):
        asking.link.send(
            wire.encode("HISTORY_GET", request=request, mode=BEFORE_SEQUENCE, value=200, limit=500)
        )
    stored, largest = write_until(channel, writer, lambda n, a: n == 1500)
    assert stored == 1500 and largest <= LIMIT + MIB
    assert frozen.cursor.at < 1500 and not storage(relay)["full"]
