"""Scenario H14: 20,000 messages into a channel that keeps 1,000: rows, file and memory stay within their limits."""

import os
import sqlite3

from conftest import Channel

from antenna.client import AFTER, LIVE, PRUNED, REFUSED

MESSAGES, AT_ONCE, KEPT, BYTES = 20_000, 40, 1000, 20 << 20


def resident(relay):
    with open(f"/proc/{relay.process.pid}/status") as status:
        return next(int(line.split()[1]) << 10 for line in status if line.startswith("VmRSS"))


def on_disk(relay):
    return sum(os.path.getsize(os.path.join(relay.state, f"relay.db{end}")) for end in ("", "-wal"))


def test_a_channel_stays_within_its_limits_whatever_is_written(relays):
    relay = relays(limits__log_messages=KEPT, limits__log_bytes=BYTES)
    channel = Channel(relay)
    subscriber, early = channel.reader(AFTER)
    early.close()
    writer, waiting, largest, memory = channel.writer(), [], 0, []
    for begin in range(0, MESSAGES, AT_ONCE):
        texts = [f"{n} " + "x" * 200 for n in range(begin, begin + AT_ONCE)]
        waiting.append(writer.publish_request(*[channel.owner.message(text) for text in texts]))
        if len(waiting) > 4 or begin + AT_ONCE == MESSAGES:
            while waiting:
                assert REFUSED not in [r["result"] for r in writer.answer(waiting.pop(0), "ACK").results]
            writer.inbox.clear()
        largest = max(largest, on_disk(relay))
        if begin % 2000 == 0:
            memory.append(resident(relay))
    with sqlite3.connect(f"file:{relay.state}/relay.db?mode=ro", uri=True) as database:
        assert database.execute("select count(*) from log").fetchone()[0] <= KEPT
        assert database.execute("pragma integrity_check").fetchone()[0] == "ok"
    assert largest < BYTES, f"{largest} bytes on disk"
    # What the first messages have taken is enough for all.
    assert memory[-1] < memory[1] + (16 << 20), memory

    # Who was away is told what is gone, and gets the rest.
    with subscriber.attach(relay.link, AFTER, early.attached.epoch, 10) as late:
        gap, *rest = late.until(MESSAGES, 30)
        assert (gap.start, gap.reason) == (11, PRUNED) and gap.end + len(rest) == MESSAGES
        assert len(rest) <= KEPT and rest[-1].text.startswith(f"{MESSAGES - 1} ")
    with channel.owner.attach(relay.link, LIVE) as again:
        assert again.attached.first == gap.end + 1
    channel.close()
