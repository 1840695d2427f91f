"""An operator who left stays out: whatever is sent, each attempt gets one reject and an end, and leaves nothing."""

import itertools
import os
import signal
import sqlite3
import threading
from collections import Counter

import pytest
from conftest import Channel

from antenna import links
from antenna.client import LIVE, Connection, direct_events
from antenna.keys import new_id
from antenna.noise_link import Deadline, LinkClosed

REJECTED = (("rejoin_rejected",), (21,))
ATTEMPTS = 50
# How an owner tries: what follows CONTROL, the invitation bit, whether the record comes along.
WAYS = {
    "one": (lambda o: [o.invitation(new_id())], True, True),
    "five in a batch": (lambda o: [o.invitation(new_id()) for _ in range(5)], True, True),
    "another link text": (
        lambda o: [o.invitation(new_id(), links.channel(o.channel, [("x.example", 77, bytes(32))]))],
        True,
        True,
    ),
    "a link to elsewhere": (lambda o: [o.invitation(new_id(), "https://x.example/c#AAAA")], True, True),
    "no record": (lambda o: [o.invitation(new_id())], True, False),
    "no invitation": (lambda o: [], False, True),
}


def rows(relay):
    with sqlite3.connect(f"file:{os.path.join(relay.state, 'relay.db')}?mode=ro", uri=True) as database:
        names = [row[0] for row in database.execute("select name from sqlite_master where type = 'table'")]
        names.remove("meta")
        return {n: database.execute(f'select count(*) from "{n}"').fetchone()[0] for n in names}


def attempt(relay, owner, way, ready):
    """The reasons that were told, and the errors, until the relay closed the link."""
    make, invites, with_record = WAYS[way]
    with Connection.open(relay.link) as connection:
        # What follows leaves at the same moment as that of the others.
        ready.wait(20)
        connection.send(
            "CONTROL",
            channel=owner.channel,
            owner=owner.member_id,
            signature=owner.proof(connection.link.handshake_hash),
            flags=1 if invites else 0,
            record=owner.encoded if with_record else b"",
        )
        if invites:
            connection.direct(*make(owner))
        reasons, codes = [], []
        try:
            while True:
                frame = connection.link.receive(Deadline(20))
                if frame.name == "ERROR":
                    codes.append(frame.code)
                elif frame.name == "DIRECT":
                    reasons += [
                        event.params.get("reason", event.tag)
                        for event in direct_events(frame)
                        if event.tag in ("x.grp.relay.reject", "x.grp.relay.acpt")
                    ]
        except LinkClosed:
            return tuple(reasons), tuple(codes)


def attempts(relay, owner, count=ATTEMPTS, meanwhile=lambda: None, ways=tuple(WAYS)):
    ready, heard, problems = threading.Barrier(count + 1), [], []

    def work(way):
        try:
            heard.append(attempt(relay, owner, way, ready))
        except Exception as problem:
            problems.append(problem)
            ready.abort()

    chosen = itertools.islice(itertools.cycle(ways), count)
    threads = [threading.Thread(target=work, args=(way,)) for way in chosen]
    [thread.start() for thread in threads]
    ready.wait(20)
    meanwhile()
    [thread.join(40) for thread in threads]
    assert not problems, problems
    return Counter(heard)


@pytest.fixture
def refused(relays):
    """A relay with a channel that it refuses and one that it carries."""
    relay = relays(relay__drain_seconds=5)
    gone, other = Channel(relay), Channel(relay)
    relay.operator("leave", f"#{gone.name}")
    yield relay, gone.owner, other
    gone.close()
    other.close()


def test_fifty_at_once_also_after_a_crash_a_new_record_and_cleaning_up(refused):
    relay, owner, other = refused
    before = rows(relay)
    assert attempts(relay, owner) == {REJECTED: ATTEMPTS}
    relay.restart(signal.SIGKILL)
    assert attempts(relay, owner) == {REJECTED: ATTEMPTS}
    # The owner takes the relay out of the record, and so might add it again.
    owner.new_record(relays=[])
    assert attempts(relay, owner) == {REJECTED: ATTEMPTS}
    assert rows(relay) == before
    relay.operator("forget", "#" + owner.profile["displayName"])
    before = rows(relay)
    assert attempts(relay, owner) == {REJECTED: ATTEMPTS}
    assert rows(relay) == before
    subscriber, reader = other.reader()
    other.write("the other channel goes on")
    assert reader.next().text == "the other channel goes on"


def test_who_asks_before_a_relay_stops_is_still_told(refused):
    relay, owner, _ = refused
    before = rows(relay)

    def stop():
        relay.process.send_signal(signal.SIGTERM)

    told = attempts(relay, owner, 20, meanwhile=stop)
    # A link that was closed by the stop before its question came has been told that, and nothing else.
    assert set(told) <= {REJECTED, ((), (7,))} and told[REJECTED] > 0, told
    assert relay.process.wait(20) == 0
    assert rows(relay) == before


def test_leaving_while_fifty_are_invited_leaves_nobody_without_a_word(relays):
    relay = relays()
    channel = Channel(relay)
    told = attempts(
        relay,
        channel.owner,
        meanwhile=lambda: relay.operator("leave", f"#{channel.name}"),
        ways=["one", "five in a batch", "another link text", "no record", "no invitation"],
    )
    for reasons, codes in told:
        assert reasons[-1] == "rejoin_rejected" and reasons.count("rejoin_rejected") == 1, told
        assert codes == (21,), told
    assert sqlite_status(relay) == ["rejected"]
    with pytest.raises(Exception):
        channel.owner.attach(relay.link, LIVE)
    channel.close()


def sqlite_status(relay):
    with sqlite3.connect(f"file:{os.path.join(relay.state, 'relay.db')}?mode=ro", uri=True) as database:
        return [row[0] for row in database.execute("select status from channels")]
