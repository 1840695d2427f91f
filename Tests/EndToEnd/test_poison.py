"""Work that cannot be done does not keep other work from being done."""

import sqlite3

import pytest


def spoil(home, element):
    """Changes what the newest message of a home is, in its database."""
    with sqlite3.connect(home / "client.db") as database:
        event, old = database.execute("select id, element from event order by id desc limit 1").fetchone()
        database.execute("update event set element = ? where id = ?", (element(old), event))
    database.close()


@pytest.mark.parametrize("element", [
    lambda old: b"", lambda old: b"\xff\x00", lambda old: old[:-3], lambda old: b"{" + b"x" * 40_000,
    lambda old: b"{}", lambda old: b"=\x05", lambda old: old[:40] + bytes([old[40] ^ 1]) + old[41:],
], ids=["empty", "garbage", "cut", "long", "nothing", "batch", "flipped"])
def test_a_damaged_line_of_the_outbox_ends_alone(world, element):
    relay, alice = world.relay("home"), world.person("alice")
    alice.know(relay)
    alice.create("news", relay)
    alice.create("other", relay)
    relay.stop()
    alice.post("#news", "to be spoiled", "--timeout", "1", code=69)
    spoil(alice.home, element)
    relay.start()
    assert alice.post("#news", "after it", "--timeout", "10")["complete"]
    assert alice.post("#other", "beside it", "--timeout", "10")["complete"]
    rows = alice.json("outbox")["outbox"]
    assert [(row["state"], row["lastError"]) for row in rows] == [("refused", "it is damaged in this home")]
    alice("outbox", "discard", "#news", rows[0]["messageId"])
    assert alice.json("outbox")["outbox"] == []
    assert relay.channel("news")["messages"] == 1
