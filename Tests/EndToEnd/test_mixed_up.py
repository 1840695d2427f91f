"""State that belongs to another relay, or goes away while a relay works."""

import os
import shutil

import pytest

from harness import BIN, run, until


def antennad(relay):
    return run([BIN / "antennad", "--state", relay.state, "--listen", relay.listen], env=relay.env, timeout=30)


@pytest.fixture
def two(world):
    """Two relays with a channel each, stopped, and their owner."""
    alice, relays = world.person("alice"), [world.relay("one"), world.relay("two")]
    alice.know(*relays)
    for relay in relays:
        alice.create(f"on-{relay.name}", relay)
        alice.post(f"#on-{relay.name}", "hello")
        assert relay.stop() == 0
    return alice, *relays


@pytest.mark.parametrize("file", ["relay.db", "relay.identity"])
def test_what_belongs_to_another_relay_is_refused(two, file):
    alice, one, other = two
    shutil.copy(one.state / file, one.state / "own")
    shutil.copy(other.state / file, one.state / file)
    refused = antennad(one)
    assert refused.code == 65 and "belongs to the relay with the key" in refused.err, refused
    shutil.move(one.state / "own", one.state / file)
    one.start()
    assert alice.post("#on-one", "again")["complete"]


def test_a_backup_of_another_relay_is_refused(two):
    _, one, other = two
    one.start()
    one.ctl("backup", one.state / "backup.db")
    restored = run([BIN / "antennad", "restore", one.state / "backup.db", "--state", other.state], env=other.env)
    assert restored.code == 65 and "belongs to the relay with the key" in restored.err, restored
    other.start()
    assert other.channel("on-two")["messages"] == 1


def test_a_lost_identity_is_told_and_not_made_anew(two):
    alice, one, _ = two
    identity = (one.state / "relay.identity").read_bytes()
    (one.state / "relay.identity").unlink()
    refused = antennad(one)
    assert refused.code == 65 and "relay.identity is missing" in refused.err, refused
    assert not (one.state / "relay.identity").exists()
    (one.state / "relay.identity").write_bytes(identity)
    one.start()
    assert alice.post("#on-one", "again")["complete"]


@pytest.mark.parametrize("file", ["relay.identity", "relay.instance", "relay.db"])
def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(two, file):
    alice, one, _ = two
    (one.state / file).rename(one.state / "own")
    os.mkfifo(one.state / file)
    if file == "relay.instance":
        one.start()
    else:
        refused = antennad(one)
        assert refused.code == 65 and "is not a file" in refused.err, refused
        (one.state / "own").rename(one.state / file)
        one.start()
    assert alice.post("#on-one", "again")["complete"]


@pytest.mark.parametrize("file", ["relay.db", "relay.db-wal"])
def test_nothing_is_accepted_into_a_database_that_is_gone(world, file):
    relay, alice = world.relay("home"), world.person("alice")
    alice.know(relay)
    alice.create("news", relay)
    assert alice.post("#news", "one")["complete"]
    (relay.state / file).rename(relay.state / "away")
    # Offered again and again until the time is up: it stays in the outbox.
    assert alice.post("#news", "two", "--timeout", "2", code=69)["relays"][0]["outcome"] == "queued"
    assert "replaced or removed" in relay.ctl("status").out
    assert "replaced or removed" in relay.ctl("leave", "#news", code=1).err
    (relay.state / "away").rename(relay.state / file)
    until(lambda: alice.json("sync", "--timeout", "5", code=None)["pending"] == 0, what="the delivery")
    relay.restart()
    assert alice.texts("#news") == ["one", "two"]
    assert relay.channel("news")["messages"] == 2
