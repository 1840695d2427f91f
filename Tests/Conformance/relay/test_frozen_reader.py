"""Scenario H2: 20 readers and a frozen one, 50 MB in messages of 8 KiB. The 20 notice nothing; the one is cut, and resumes."""

from conftest import Channel
from measuring import FLOOR, FirstRelay, Vitals, first, put_first  # noqa: F401

from antenna.client import AFTER, RemoteError
from antenna.meter import Meter, undisturbed, usual_p99
from antenna.noise_link import LinkClosed

READERS, RATE, TEXT_BYTES, BYTES = 20, 150, 8000, 50_000_000
# Until then the relay's caches and heap still grow, with a frozen reader or without.
SETTLING_BYTES = 25_000_000
SLOW_READER_SECONDS = 3
# limits.md, "unsent bytes of one link in the relay": one record; the rest is what a heap does by itself.
MEMORY_MAX = 1 << 20


def test_twenty_readers_notice_nothing_of_a_frozen_one(tmp_path, first):  # noqa: F811
    (tmp_path / "state").mkdir()
    relay = FirstRelay(tmp_path / "state", timeouts__slow_reader_seconds=SLOW_READER_SECONDS)
    put_first(relay.process.pid)
    channel = Channel(relay)
    meter = Meter(
        channel.owner, relay.link, relay.process.pid, readers=READERS, rate=RATE, text_bytes=TEXT_BYTES
    )
    meter.run(600, until=lambda: meter.number * TEXT_BYTES >= SETTLING_BYTES)
    before, worst = Most(relay), Most(relay)
    quiet = meter.run(4, until=before.look)
    frozen_subscriber, frozen = channel.reader(receive_buffer=4096)
    begun = meter.number
    beside = meter.run(600, until=lambda: worst.look() or (meter.number - begun) * TEXT_BYTES >= BYTES)
    quiet += meter.run(3)

    # The meter itself holds that each reader got each message, once and in order.
    with open(relay.log.name) as log:
        assert log.read().count("slow-reader-cut") == 1
    assert worst.memory - before.memory < MEMORY_MAX, (before, worst)
    cursor = thaw(frozen)
    with frozen_subscriber.attach(relay.link, AFTER, frozen.attached.epoch, cursor) as again:
        again.until(again.attached.head, seconds=60)
        assert again.attached.resume_after == cursor and again.cursor.at == again.attached.head

    print(f"\nat most {before} before, {worst} with a frozen reader;", end=" ")
    quiet, beside = undisturbed(quiet), undisturbed(beside)
    if len(quiet) < 3 or len(beside) < 3:
        print("the machine is too busy for a verdict about delays")
    else:
        usual, under = usual_p99(quiet), usual_p99(beside)
        print(f"p99 {usual * 1000:.1f} ms without, {under * 1000:.1f} ms beside it")
        assert under <= max(2 * usual, FLOOR), (usual, under)
    meter.close()
    channel.close()
    assert relay.stop() == 0


class Most:
    """The most memory that was seen resident, in bytes. The tail of the channel alone grows and shrinks by half a MiB."""

    def __init__(self, relay):
        self.relay, self.memory = relay, 0

    def look(self):
        self.memory = max(self.memory, Vitals(self.relay).memory)

    def __repr__(self):
        return f"{self.memory >> 10} KiB"


def thaw(connection):
    """Reads what had got as far as the reader's own kernel before the relay cut it; the sequence it came to."""
    try:
        while True:
            connection.next(20)
    except RemoteError as problem:
        assert problem.code == 11
    except LinkClosed:
        pass
    return connection.cursor.at
