"""Attacks on a running relay: readers elsewhere notice nothing, the relay stays within its bounds, nothing is kept.

Each attack is a process of its own (antenna/attackers.py). 10,000 invitations come from 500 channels, and as many of the
100,000 bad signatures as 15 seconds take; with ANTENNA_ATTACKS_FULL=1 there are as many channels, and all signatures.
`pytest -s` shows the figures. Seconds in which other programs kept relay and meter from running say nothing about the relay
and do not count; where hardly any are left, there is no verdict about delays.
"""

import os
import pathlib
import sqlite3
import subprocess
import sys
import time

import pytest
from conftest import Channel
from measuring import FLOOR, FirstRelay, Vitals, first, put_first  # noqa: F401

from antenna.attackers import ATTACKS
from antenna.meter import Meter, undisturbed, usual_p99

HERE = pathlib.Path(__file__).resolve().parents[1]
FULL = bool(os.environ.get("ANTENNA_ATTACKS_FULL"))
CHANNELS, SUBSCRIBERS = 40, 400
# limits.md, "Under attack".
MEMORY_MAX = 64 << 20
LOG_MAX = 64 << 10
WHOLE = {"invitations": 10_000, "signatures": 100_000}
SECONDS = {"invitations": 15, "signatures": 15}


@pytest.fixture(scope="module")
def relay(tmp_path_factory, first):
    state = tmp_path_factory.mktemp("attacked") / "state"
    state.mkdir()
    relay = FirstRelay(
        state,
        limits__channels=CHANNELS,
        limits__subscribers_per_channel=SUBSCRIBERS,
        timeouts__handshake_seconds=3,
        timeouts__slow_reader_seconds=3,
    )
    put_first(relay.process.pid)
    yield relay
    assert relay.stop() == 0


@pytest.fixture(scope="module")
def channel(relay):
    channel = Channel(relay)
    yield channel
    channel.close()


@pytest.fixture(scope="module")
def meter(channel):
    meter = Meter(channel.owner, channel.relay.link, channel.relay.process.pid)
    meter.run(2)
    yield meter
    meter.close()


def rows(relay):
    with sqlite3.connect(f"file:{relay.state}/relay.db?mode=ro", uri=True) as database:
        tables = [name for (name,) in database.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        return {name: database.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in tables}


def expected(before, after, meter, published):
    """What each attack may leave: memberships and channels up to the limits, which are for anybody."""
    for table in before.keys() - {"members", "channels", "counters", "log"}:
        assert after[table] == before[table], (table, before, after)
    assert after["counters"] == after["channels"] <= CHANNELS
    # Of each channel its relay and its owner, of this one the subscribers.
    assert after["members"] <= SUBSCRIBERS + 2 * CHANNELS + 2
    assert after["log"] - before["log"] == meter.number - published


@pytest.mark.parametrize("name", ATTACKS)
def test_nobody_notices(relay, channel, meter, name):
    before, vitals, published = rows(relay), Vitals(relay), meter.number
    quiet = meter.run(3)
    seconds = 1800 if FULL and name in WHOLE else SECONDS.get(name, 6)
    attacker = subprocess.Popen(
        [sys.executable, "-m", "antenna.attackers", name, str(seconds), str(WHOLE.get(name, 10**9)),
         str(relay.link), str(channel.owner.link)],
        cwd=HERE, stdout=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    try:
        assert attacker.stdout.readline() == "attacking\n"
        attacked = meter.run(seconds + 60, until=lambda: attacker.poll() is not None)
        worst = Vitals(relay)
        count = int(attacker.stdout.read())
    finally:
        attacker.kill()
        attacker.wait()
        attacker.stdout.close()
    quiet += meter.run(2)
    print(f"\n{name}: {count} times in {len(attacked)} s; {vitals} before, {worst} after;", end=" ")
    assert count >= (WHOLE.get(name, 1) if FULL else 1)
    quiet, attacked = undisturbed(quiet), undisturbed(attacked)
    if len(quiet) < 3 or len(attacked) < 3:
        print("the machine is too busy for a verdict about delays")
    else:
        usual, under = usual_p99(quiet), usual_p99(attacked)
        print(f"p99 {usual * 1000:.1f} ms quiet, {under * 1000:.1f} ms attacked")
        assert under <= max(2 * usual, FLOOR), (usual, under)
    assert worst.memory - vitals.memory < MEMORY_MAX, (vitals, worst)
    assert worst.log - vitals.log < LOG_MAX, (vitals, worst)
    until = time.monotonic() + 20
    while Vitals(relay).descriptors > vitals.descriptors + 2 and time.monotonic() < until:
        time.sleep(0.1)
    assert Vitals(relay).descriptors <= vitals.descriptors + 2, (vitals, Vitals(relay))
    expected(before, rows(relay), meter, published)
