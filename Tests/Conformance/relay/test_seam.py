"""Scenario H3: 2,000 messages a second while 50 readers attach 500 times at random cursors. No hole, no repeat.

ANTENNA_SEAM_ATTACHES says how many times (500), SEED at which cursors. The rate is printed; half of it must be reached,
so that a busy machine does not fail the test.
"""

import multiprocessing
import os
import random
import threading
import time
import traceback

from conftest import Channel

from antenna import wire
from antenna.client import AFTER, LIVE, Delivery
from antenna.noise_link import Deadline
from antenna.people import Subscriber

SEED = int(os.environ.get("SEED") or random.randrange(1 << 30))
ATTACHES = int(os.environ.get("ANTENNA_SEAM_ATTACHES") or 500)
READERS, PROCESSES = 50, 2
RATE, FLOOR = 2000, 1000
AT_ONCE, AHEAD = 50, 10
# What is read beyond the head at the time of attaching: it came live.
BEYOND = 100
HELD = 2000
DELIVER, GAP, PING = 0x24, 0x25, 0x03
SECONDS = 120


def publish(channel, stop, outcome):
    """Publishes the numbers from 1, each as a message of its own, at RATE; tells how many in how many seconds."""
    try:
        writer = channel.owner.attach(channel.relay.link, LIVE)
        begun, number, waiting = time.monotonic(), 0, []
        while not stop.is_set():
            ahead = number / RATE - (time.monotonic() - begun)
            if ahead > 0:
                time.sleep(ahead)
            texts = [str(number + 1 + i) for i in range(AT_ONCE)]
            waiting.append(writer.publish_request(*[channel.owner.message(text) for text in texts]))
            number += AT_ONCE
            while len(waiting) > AHEAD or waiting and stop.is_set():
                results = writer.answer(waiting.pop(0), "ACK", seconds=60).results
                assert [result["result"] for result in results] == [0] * AT_ONCE
                writer.inbox = [frame for frame in writer.inbox if frame.name == "ACK"]
        outcome.put(("published", number, time.monotonic() - begun))
        writer.close()
    except BaseException:
        outcome.put(("failed", "the writer: " + traceback.format_exc(), 0))


def frames(plaintext):
    """(type, begin, end) of the bodies in a record; as wire.split_record, but without a copy of each."""
    at, end = 0, len(plaintext)
    while at < end and plaintext[at] != wire.PADDING:
        body = at + 3
        at = body + (plaintext[at + 1] << 8 | plaintext[at + 2])
        assert at <= end, "a frame that is longer than its record"
        yield plaintext[body - 3], body, at


def follow(connection, through):
    """Reads up to a sequence, and holds the relay to "each once, in order"; quicker than Connection does it.

    That each message is the one that was published there is looked at in the last of each record.
    """
    # What came before ATTACHED was read is none; what came with it is there already.
    assert not [frame for frame in connection.inbox if frame.name in ("DELIVER", "GAP")]
    first = b"".join(wire.raw_frame(number, body) for number, body in connection.link.waiting)
    connection.link.waiting.clear()
    at, deadline, begun = connection.cursor.at, Deadline(SECONDS), connection.cursor.at
    while at < through:
        plaintext, first = first or connection.link.receive_record(deadline), None
        last = None
        for number, begin, end in frames(plaintext):
            if number == DELIVER:
                sequence = int.from_bytes(plaintext[begin : begin + 8], "big")
                if sequence != at + 1:
                    raise AssertionError(f"sequence {sequence} after {at}")
                at, last = sequence, plaintext[begin:end]
            elif number == PING:
                connection.send("PONG", data=plaintext[begin:end])
            elif number == GAP:
                raise AssertionError(f"a gap after {at}: {plaintext[begin:end].hex()}")
        if last:
            delivery = Delivery(wire.decode(DELIVER, last))
            assert delivery.text == str(delivery.sequence)
    return at, at - begun


def attach_again_and_again(link, seed, times, outcome):
    """One reader: joins once, then attaches at cursors anywhere in the log, most of them near its end."""
    try:
        choice, subscriber, read = random.Random(seed), Subscriber(link), 0
        connection = subscriber.subscribe(LIVE)
        epoch = connection.attached.epoch
        head, n = connection.attached.head, read
        for turn in range(times):
            assert connection.attached.epoch == epoch
            head, n = follow(connection, connection.attached.head + BEYOND)
            read += n
            connection.close()
            if turn == times - 1:
                break
            back = choice.choice(
                [0, 1, choice.randrange(100), choice.randrange(HELD), choice.randrange(HELD)]
            )
            cursor = max(0, head - back)
            connection = subscriber.attach(subscriber.link, AFTER, epoch, cursor)
            assert connection.attached.resume_after == cursor
        outcome.put(("read", read, times))
    except BaseException:
        outcome.put(("failed", f"a reader with seed {seed}: " + traceback.format_exc(), 0))


def read_in_threads(link, seeds, times, outcome):
    threads = [
        threading.Thread(target=attach_again_and_again, args=(link, seed, times, outcome)) for seed in seeds
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_readers_who_attach_anywhere_see_every_message_once_and_in_order(own_relay):
    print(f"SEED={SEED} ANTENNA_SEAM_ATTACHES={ATTACHES}")
    channel = Channel(own_relay)
    context = multiprocessing.get_context("fork")
    outcome, stop = context.Queue(), context.Event()
    seeds, times = [SEED * 1000 + n for n in range(READERS)], max(2, ATTACHES // READERS)
    writer = context.Process(target=publish, args=(channel, stop, outcome))
    readers = [
        context.Process(
            target=read_in_threads, args=(str(channel.owner.link), seeds[n::PROCESSES], times, outcome)
        )
        for n in range(PROCESSES)
    ]
    begun = time.monotonic()
    everybody = [writer, *readers]
    try:
        for process in everybody:
            process.start()
        told = [outcome.get(timeout=SECONDS) for _ in range(READERS)]
        seconds = time.monotonic() - begun
        stop.set()
        told.append(outcome.get(timeout=SECONDS))
    finally:
        stop.set()
        for process in everybody:
            process.join(10)
            if process.is_alive():
                process.kill()
    assert not [what for what in told if what[0] == "failed"], [
        what[1] for what in told if what[0] == "failed"
    ]
    ((_, number, writing),) = [what for what in told if what[0] == "published"]
    rate, read = number / writing, sum(what[1] for what in told if what[0] == "read")
    print(
        f"{number} messages at {rate:.0f} a second; {READERS * times} attaches, {read} deliveries in {seconds:.1f} s"
    )
    assert rate >= FLOOR, f"only {rate:.0f} messages a second were published"
    late = Subscriber(str(channel.owner.link)).subscribe(AFTER, 0)
    assert late.attached.head == number
    late.close()
    channel.close()
