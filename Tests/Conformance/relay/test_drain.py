"""Scenario H9: SIGTERM under load with 500 readers; each is told when to come back, and comes back without a loss."""

import select
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from conftest import Channel

from antenna.client import AFTER, LIVE, RemoteError
from antenna.noise_link import Deadline, LinkClosed
from antenna.people import Subscriber

READERS, DRAIN_SECONDS, DRAINING = 500, 4, 7


def publish_until_told(channel, acked):
    """Publishes until the relay says that it goes; what was acked, by its sequence."""
    writer = channel.owner.attach(channel.relay.link, LIVE)
    try:
        while True:
            text = f"number {len(acked)}"
            (result,) = writer.publish(channel.owner.message(text))
            writer.inbox.clear()
            assert result["result"] == 0
            acked[result["sequence"]] = text
            time.sleep(0.01)
    except (RemoteError, LinkClosed, OSError):
        writer.close()


def watch(readers):
    """Reads from all until each has ended; when, in seconds from now, and with which delay."""
    begun, ends, delays = time.monotonic(), {}, {}
    sockets = {reader.link.stream.sock.fileno(): reader for reader in readers}
    poll = select.poll()
    for number in sockets:
        poll.register(number, select.POLLIN)
    while len(ends) < len(readers) and time.monotonic() - begun < 3 * DRAIN_SECONDS + 20:
        for number, _ in poll.poll(1000):
            reader = sockets[number]
            try:
                reader.pump_all()
            except RemoteError as problem:
                assert problem.code == DRAINING, problem
                ends[number] = time.monotonic() - begun
                poll.unregister(number)
            for frame in reader.inbox:
                if frame.name == "DRAIN":
                    delays.setdefault(number, frame.delay_ms)
    return list(ends.values()), list(delays.values())


def test_a_relay_that_stops_under_load_sends_everybody_away_one_by_one(relays):
    relay = relays(relay__drain_seconds=DRAIN_SECONDS)
    channel = Channel(relay)
    link = str(channel.owner.link)

    def subscribe(_):
        subscriber = Subscriber(link)
        return subscriber, subscriber.subscribe(LIVE)

    with ThreadPoolExecutor(8) as pool:
        pairs = list(pool.map(subscribe, range(READERS)))
    acked = {}
    writer = threading.Thread(target=publish_until_told, args=(channel, acked))
    writer.start()
    pairs[0][1].pump(Deadline(20))

    stopped = time.monotonic()
    relay.process.send_signal(signal.SIGTERM)
    ends, delays = watch([connection for _, connection in pairs])
    assert len(delays) == READERS and len(set(delays)) > READERS // 2, "each has a delay of its own"
    assert max(delays) - min(delays) >= DRAIN_SECONDS * 500
    assert len(ends) == READERS and max(ends) - min(ends) >= DRAIN_SECONDS / 4, "the ends are spread"
    assert relay.stop() == 0
    assert time.monotonic() - stopped < DRAIN_SECONDS + 15
    writer.join(20)
    for _, connection in pairs:
        connection.close()

    relay.start(f"127.0.0.1:{relay.port}")
    assert acked

    def resume(pair):
        """What a reader has seen before and after, whole."""
        subscriber, before = pair
        with subscriber.attach(relay.link, AFTER, before.attached.epoch, before.cursor.at) as after:
            assert after.attached.epoch == before.attached.epoch
            fresh = after.until(after.attached.head, 30) if before.cursor.at < after.attached.head else []
            seen = {frame.sequence for frame in before.inbox if frame.name == "DELIVER"}
            return seen | {delivery.sequence for delivery in fresh}

    with ThreadPoolExecutor(8) as pool:
        for seen in pool.map(resume, pairs):
            assert seen >= set(acked)
    channel.close()
