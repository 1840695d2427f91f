"""Databases that are torn, foreign or somebody else's: refused with 65, and not a byte is changed."""

import hashlib
import os
import random
import shutil
import signal
import sqlite3
import subprocess

import pytest
from conftest import Channel, binary

PAGE = 4096


@pytest.fixture
def state(relays):
    """The state of a relay that was ended by kill -9 with something in its write-ahead log."""
    relay = relays()
    channel = Channel(relay)
    channel.write(*[f"{n} " + "x" * 8000 for n in range(40)])
    relay.stop(signal.SIGKILL)
    channel.close()
    return relay.state


def content(folder):
    """Every file with its digest, but for the lock, in which stands who tried last."""
    found = {}
    for name in sorted(os.listdir(folder)):
        path = os.path.join(folder, name)
        if os.path.isfile(path) and name != "relay.lock":
            with open(path, "rb") as file:
                found[name] = hashlib.sha256(file.read()).hexdigest()
    return found


def start(state, *words):
    return subprocess.run(
        [binary("antennad"), *(words or ("--listen", "127.0.0.1:0")), "--state", str(state)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=30,
    )


def refuses(state, untouched=True):
    before = content(state)
    done = start(state)
    assert done.returncode == 65, (done.returncode, done.stderr)
    assert "Fatal" not in done.stderr and "relay.db" in done.stderr, done.stderr
    assert content(state) == before
    return done.stderr


def edit(path, change):
    with open(path, "rb") as file:
        data = bytearray(file.read())
    data = change(data)
    with open(path, "wb") as file:
        file.write(data)


def settled(state):
    """Moves the write-ahead log into the database, as a clean stop does."""
    with sqlite3.connect(f"{state}/relay.db") as database:
        database.execute("pragma wal_checkpoint(truncate)")
    database.close()
    for extra in ("-wal", "-shm"):
        if os.path.exists(f"{state}/relay.db{extra}"):
            os.unlink(f"{state}/relay.db{extra}")


@pytest.mark.parametrize("kept", [0, 1, 15, 50, 99, 100, PAGE - 1, PAGE, PAGE + 1, -PAGE, -1])
def test_a_database_cut_short(state, kept):
    settled(state)
    edit(f"{state}/relay.db", lambda data: data[:kept])
    refuses(state)


def test_a_database_with_pages_of_rubbish(state):
    settled(state)
    size = os.path.getsize(f"{state}/relay.db")
    choice = random.Random(1)
    for page in (0, 1, 2, size // PAGE // 2):
        shutil.copytree(state, f"{state}-{page}", ignore=shutil.ignore_patterns("control.sock"))
        start_at = page * PAGE + (100 if page == 0 else 0)

        def spoil(data):
            data[start_at : (page + 1) * PAGE] = choice.randbytes((page + 1) * PAGE - start_at)
            return data

        edit(f"{state}-{page}/relay.db", spoil)
        refuses(f"{state}-{page}")


def test_another_programs_database(state):
    settled(state)
    os.unlink(f"{state}/relay.db")
    with sqlite3.connect(f"{state}/relay.db") as other:
        other.execute("create table diary (page text)")
        other.execute("pragma application_id = 7")
        other.execute("pragma journal_mode = wal")
        other.execute("insert into diary values ('mine')")
    other.close()
    assert "not a relay's database" in refuses(state)


def test_a_log_that_is_torn_is_what_a_crash_leaves(state):
    """Whatever was synced before the tear is there; the rest had not been acked."""
    edit(f"{state}/relay.db-wal", lambda data: data[: len(data) * 2 // 3])
    done = start(state, "--check-config")
    assert done.returncode == 0
    with sqlite3.connect(f"file:{state}/relay.db?mode=ro", uri=True) as database:
        assert database.execute("pragma integrity_check").fetchone()[0] == "ok"
        assert database.execute("select count(*) from log").fetchone()[0] > 0
