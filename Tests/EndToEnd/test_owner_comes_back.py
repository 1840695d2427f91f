"""What an owner finds who was away while an operator left, or left and allowed again."""

import shutil


def listed(owner, channel, name, *words):
    return next(row for row in owner.json("relays", channel, *words)["relays"] if row["name"] == name)


def test_relays_asks_the_relays(world):
    first, second = world.relay("first"), world.relay("second")
    alice = world.person("alice")
    alice.know(first, second)
    alice.create("news", first, second)
    first.ctl("leave", "#news")

    assert listed(alice, "#news", "first", "--offline")["status"] == "active"
    row = listed(alice, "#news", "first")
    assert (row["status"], row["memberStatus"], row["reason"]) == ("rejected", "left", "rejoin_rejected")
    assert listed(alice, "#news", "first", "--offline")["status"] == "rejected"


def test_relays_shows_the_last_state_of_a_relay_that_is_away(world):
    first = world.relay("first")
    alice = world.person("alice")
    alice.know(first)
    alice.create("news", first)
    first.kill()
    row = listed(alice, "#news", "first")
    assert row["status"] == "active" and row["lastError"]


def test_a_relay_that_left_is_removed_at_once(world):
    first, second = world.relay("first"), world.relay("second")
    alice = world.person("alice")
    alice.know(first, second)
    alice.create("news", first, second)
    first.ctl("leave", "#news")
    # The owner has not heard of it yet.
    removed = alice("relays", "#news", "--remove", "first")
    assert removed.seconds < 10
    assert alice.relays("#news") == {"second": "active"}


def test_a_relay_that_no_longer_carries_the_channel_becomes_inactive(world):
    first, second = world.relay("first"), world.relay("second")
    alice, bob = world.person("alice"), world.person("bob")
    alice.know(first, second)
    bob("join", alice.create("news", first, second)["link"])
    first.ctl("leave", "#news")
    first.ctl("group", "allow", "#news")

    # The message cannot go there any more; it does not wait for ever.
    receipt = alice.post("#news", "one", code=2)
    assert {row["relay"]: row["outcome"] for row in receipt["relays"]} == {
        "first": "refused", "second": "accepted"}
    assert alice.relays("#news") == {"first": "inactive", "second": "active"}
    assert alice.json("outbox")["outbox"] == [] or all(
        row["state"] != "pending" for row in alice.json("outbox")["outbox"])
    assert alice.post("#news", "two")["complete"]
    # A reader who leaves has nothing to say to it either.
    left = bob("leave", "#news", code=None)
    assert left.code in (0, 2) and "queued" not in left.out


def test_a_reader_survives_a_relay_that_is_removed_and_added_again(world):
    first, second = world.relay("first"), world.relay("second")
    alice, bob = world.person("alice"), world.person("bob")
    alice.know(first, second)
    bob("join", alice.create("news", first, second)["link"])
    alice.post("#news", "before")
    # The reader was away while the relay changed its place in the channel, and finds both at once.
    alice("relays", "#news", "--remove", "first")
    alice("relays", "#news", "--add", "first")
    texts = ["before"]
    for number in range(3):
        alice.post("#news", f"after {number}")
        texts.append(f"after {number}")
    following = world.follow(bob, "#news").connected(2)
    following.wait_texts(*texts)
    alice("relays", "#news", "--remove", "first")
    alice("relays", "#news", "--add", "first")
    alice.post("#news", "last")
    following.wait_texts(*texts, "last")
    assert not [note for note in following.notes if "SQLite" in note]


def test_a_channel_that_the_relays_deleted_already_is_deleted(world):
    """As after a loss of the relays' answers: the home is that of before the deletion."""
    relays = [world.relay("first"), world.relay("second")]
    alice = world.person("alice")
    alice.know(*relays)
    alice.create("news", *relays)
    before = world.path / "before"
    shutil.copytree(alice.home, before)
    alice("channel", "delete", "#news", "--yes")
    for _ in range(3):
        shutil.rmtree(alice.home)
        shutil.copytree(before, alice.home)
        again = alice("channel", "delete", "#news", "--yes")
        assert again.out == "#news is deleted\n" and again.err == ""
        assert alice.json("channels")["channels"] == [] and alice.json("outbox")["outbox"] == []


def test_a_deletion_is_accepted_however_busy_the_links_are(world):
    """What a relay says of itself on the control link is no answer to the deletion on the other one."""
    relays = [world.relay("first"), world.relay("second")]
    alice = world.person("alice")
    alice.know(*relays)
    for number in range(8):
        alice.create(f"news {number}", *relays)
        deleted = alice.json("channel", "delete", f"news {number}", "--yes")
        assert [row["outcome"] for row in deleted["relays"]] == ["accepted", "accepted"], deleted
