"""Readers that take little or nothing: who takes something is kept, who takes nothing is cut."""

import threading
import time

import pytest
from conftest import Channel

from antenna.client import AFTER, RemoteError
from antenna.noise_link import LinkClosed

SLOW_SECONDS = 3
MESSAGES, TEXT = 300, "x" * 8000


@pytest.fixture
def channel(relays):
    channel = Channel(relays(timeouts__slow_reader_seconds=SLOW_SECONDS))
    yield channel
    channel.close()


def queued_for(connection):
    """Bytes that the kernel holds on the relay's side of a connection."""
    theirs, ours = connection.link.stream.sock.getpeername()[1], connection.link.stream.sock.getsockname()[1]
    with open("/proc/net/tcp") as table:
        for line in list(table)[1:]:
            fields = line.split()
            ports = [int(fields[side].split(":")[1], 16) for side in (1, 2)]
            if ports == [theirs, ours]:
                return int(fields[4].split(":")[0], 16)
    return 0


def cuts(channel):
    with open(channel.relay.log.name) as log:
        return log.read().count("slow-reader-cut")


def publish(channel):
    writer = channel.writer()
    for _ in range(MESSAGES):
        writer.publish(channel.owner.message(TEXT))
        writer.inbox.clear()


def resumes(channel, subscriber, connection):
    """Reads what is left of a link that was cut, then goes on at the cursor to the end."""
    try:
        while True:
            connection.next(20)
    except RemoteError as problem:
        assert problem.code == 11
    except LinkClosed:
        pass
    with subscriber.attach(
        channel.relay.link, AFTER, connection.attached.epoch, connection.cursor.at
    ) as again:
        again.until(again.attached.head, seconds=60)
        assert again.cursor.at == MESSAGES


def test_a_slow_reader_is_kept_and_a_frozen_one_is_cut(channel):
    slow_subscriber, slow = channel.reader(receive_buffer=4096)
    frozen_subscriber, frozen = channel.reader(receive_buffer=4096)
    taken, ended, enough = [0], [], threading.Event()

    def trickle():
        # 16 KiB a second; much less than comes.
        sock = slow.link.stream.sock
        while not enough.wait(0.05):
            piece = sock.recv(820)
            if not piece:
                return ended.append(True)
            slow.link.stream.buffer += piece
            taken[0] += len(piece)

    thread = threading.Thread(target=trickle)
    thread.start()
    publish(channel)
    for connection in (slow, frozen):
        # What is not on its way to a client yet; without a bound these are megabytes.
        assert queued_for(connection) < 200 << 10
    # The kernel of the frozen one may take a few bytes more, at the pace of the other kernel's probes.
    until = time.monotonic() + 20 * SLOW_SECONDS
    while cuts(channel) == 0 and time.monotonic() < until and not ended:
        time.sleep(0.1)
    # The other one is not cut in twice that time.
    before, until = taken[0], time.monotonic() + 2 * SLOW_SECONDS
    while time.monotonic() < until and not ended:
        time.sleep(0.1)
    enough.set()
    thread.join()
    assert not ended and taken[0] - before > SLOW_SECONDS * 5_000
    assert cuts(channel) == 1
    slow.until(MESSAGES, seconds=60)
    resumes(channel, frozen_subscriber, frozen)
