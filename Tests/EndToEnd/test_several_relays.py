"""H12: one relay up, one refusing, one silent."""

import pytest

from harness import until


def outcomes(receipt):
    return {row["relay"]: row["outcome"] for row in receipt["relays"]}


def test_each_relay_has_its_own_outcome(world):
    up, refusing, silent = world.relay("up"), world.relay("refusing"), world.relay("silent")
    alice, bob = world.person("alice"), world.person("bob")
    alice.know(up, refusing, silent)
    link = alice.create("news", up, refusing, silent)["link"]
    bob("join", link)

    refusing.stop()
    silent.stop()
    hole = world.black_hole(silent.port)
    posted = alice("post", "#news", "to all", "--timeout", "6", "--json", code=2)
    assert posted.seconds < 12
    assert outcomes(posted.json) == {"up": "accepted", "refusing": "queued", "silent": "queued"}
    reasons = {row["relay"]: row.get("reason") for row in posted.json["relays"]}
    assert reasons["refusing"] != reasons["silent"]
    shown = alice("post", "#news", "in words", "--timeout", "6", code=2).out.splitlines()
    assert [line.split()[:2] for line in shown[1:]] == \
        [["up", "accepted"], ["refusing", "queued"], ["silent", "queued"]]
    waiting = alice.json("outbox")["outbox"]
    assert len(waiting) == 4
    assert all("refused" in row["lastError"] for row in waiting if row["relay"] == "refusing"), waiting
    assert alice("sync", "--timeout", "3", "--json", code=2).json["reached"] == 1
    enough = alice("post", "#news", "one is enough", "--min-relays", "1", "--timeout", "3", "--json", code=0)
    assert outcomes(enough.json)["up"] == "accepted"
    alice("post", "#news", "two are not there", "--min-relays", "2", "--timeout", "3", "--json", code=2)

    # The others come: the outbox delivers, once each.
    hole.close()
    refusing.start()
    silent.start()
    until(lambda: alice("sync", code=None).code == 0, seconds=40, what="the outbox to be delivered")
    assert alice.json("outbox")["outbox"] == []
    texts = ["to all", "in words", "one is enough", "two are not there"]
    for relay in (up, refusing, silent):
        assert relay.channel("news")["messages"] == up.channel("news")["messages"]
    assert bob.texts("#news") == texts
    following = world.follow(bob, "#news", "--since", "2020-01-01").connected(3)
    following.wait_texts(*texts)
    alice.post("#news", "the last")
    following.wait_texts(*texts, "the last")


def test_a_relay_that_left_refuses_and_none_is_69(world):
    only, alice = world.relay("only"), world.person("alice")
    alice.know(only)
    alice.create("news", only)
    only.stop()
    posted = alice.post("#news", "nobody is there", "--timeout", "3", code=69)
    assert outcomes(posted) == {"only": "queued"}
    assert alice("sync", "--timeout", "3", "--json", code=69).json["reached"] == 0
    assert "on no relay yet" in alice("history", "#news", "--local").out
    only.start()
    until(lambda: alice("sync", code=None).code == 0, what="the message to be delivered")
    assert "on no relay" not in alice("history", "#news").out


def test_creating_where_one_is_silent_and_one_refuses(world):
    up, full = world.relay("up"), world.relay("full", ANTENNA_ADMISSION__POLICY="closed")
    hole = world.black_hole()
    alice = world.person("alice")
    alice.know(up, full)
    alice("relay", "add", "silent", f"https://127.0.0.1/r#{'A' * 43}?p={hole.port}")
    made = alice("channel", "create", "news", "--relay", "up", "--relay", "full", "--relay", "silent",
                 "--timeout", "5", "--json", code=2)
    assert made.seconds < 12
    results = {row["relay"]: row["result"] for row in made.json["relays"]}
    assert results["up"] == "active" and results["full"] == "rejected"
    assert results["silent"] in ("noAnswer", "failed")
    assert alice.post("#news", "hello", "--min-relays", "1", "--timeout", "5")["accepted"] == 1


@pytest.mark.parametrize("command", [["relay", "test", "hole"], ["channel", "create", "x", "--relay", "hole"]])
def test_a_black_hole_costs_the_time_allowed_and_no_more(world, command):
    hole, alice = world.black_hole(), world.person("alice")
    alice("relay", "add", "hole", f"https://127.0.0.1/r#{'A' * 43}?p={hole.port}")
    tried = alice(*command, "--timeout", "2", "--json", code=69)
    assert tried.json
    assert tried.seconds < 6


def test_a_channel_is_deleted_though_an_invited_relay_never_came(world):
    up, alice = world.relay("up"), world.person("alice")
    alice.know(up)
    alice("relay", "add", "gone", f"https://127.0.0.1/r#{'A' * 43}?p=1")
    alice("channel", "create", "news", "--relay", "up", "--relay", "gone", "--timeout", "3", code=2)
    assert outcomes(alice.post("#news", "hello", "--timeout", "3", code=2))["gone"] == "queued"
    assert outcomes(alice.json("channel", "delete", "#news", "--yes")) == {"up": "accepted"}
    assert alice.json("outbox")["outbox"] == []
    assert alice("sync").code == 0
    assert alice.create("news", up)["channel"]["name"] == "news"
