"""How a membership ends, and how somebody comes back."""

import pytest


def test_who_was_removed_while_away_learns_it_and_may_come_back(world):
    first, second = world.relay("first"), world.relay("second")
    alice, bob = world.person("alice"), world.person("bob")
    alice.know(first, second)
    link = alice.create("news", first, second)["link"]
    alice.post("#news", "before")
    bob("join", link)
    alice("remove", "#news", "bob")

    bob("sync", code=None)
    assert [row["ending"] for row in bob.json("channels")["channels"]] == ["removed"]
    assert "removed" in bob("channels").out
    # A reader of the stream is told, and the stream ends by itself.
    assert bob("follow", "#news", "--last", "1", "--timeout", "20").out.endswith(
        "-- An owner removed this membership.\n")
    assert bob("leave", "#news", code=77).out == ""

    assert bob("follow", "#news", "--timeout", "20").err == (
        "antenna: the membership in #news has ended (removed); nothing new comes\n")

    assert bob("join", link).out.startswith("joined #news as bob\n")
    alice.post("#news", "after")
    bob("sync")
    assert bob.texts("#news") == ["before", "after"]
    # The name is that of one member who is in the channel and of one who is not.
    alice("remove", "#news", "bob")
    again = alice("remove", "#news", "bob", code=64)
    assert again.err.count("\n") == 1 and "removed" in again.err


def test_a_channel_that_ended_can_be_forgotten(world):
    relay = world.relay("home")
    alice, bob = world.person("alice"), world.person("bob")
    alice.know(relay)
    bob("join", alice.create("news", relay)["link"])
    assert "#news" in bob("channel", "forget", "#news", code=77).err
    bob("leave", "#news")
    bob("channel", "forget", "#news")
    assert bob.json("channels")["channels"] == []


def test_a_channel_that_was_deleted_while_away_is_found_deleted(world):
    relay = world.relay("home")
    alice, bob = world.person("alice"), world.person("bob")
    alice.know(relay)
    bob("join", alice.create("news", relay)["link"])
    alice("channel", "delete", "#news", "--yes")
    bob("sync", code=None)
    assert [row["ending"] for row in bob.json("channels")["channels"]] == ["deleted"]


@pytest.mark.parametrize("stays", [0, 1])
def test_two_programs_follow_on_one_home(world, stays):
    first, second = world.relay("first"), world.relay("second")
    alice, bob = world.person("alice"), world.person("bob")
    alice.know(first, second)
    bob("join", alice.create("news", first, second)["link"])
    both = [world.follow(bob, "#news").connected(2), world.follow(bob, "#news").connected(2)]
    alice.post("#news", "one")
    for number in range(2):
        alice("relays", "#news", "--remove", "first")
        alice("relays", "#news", "--add", "first")
        alice.post("#news", f"two {number}")
    for following in both:
        following.wait_texts("one", "two 0", "two 1")
    # Each of them still hears the relay that came back, alone and where no other relay delivers.
    assert both.pop(1 - stays).stop() == 0
    second.kill()
    alice.post("#news", "three", code=2)
    both[0].wait_texts("one", "two 0", "two 1", "three")
    assert not [note for note in both[0].notes if "SQLite" in note]


def test_who_joins_is_told_under_which_name(world):
    relay, alice, bob = world.relay("home"), world.person("alice"), world.person("bob")
    alice.know(relay)
    link = alice.create("news", relay)["link"]
    joined = bob.json("join", link, "--anonymous")
    names = {row["name"] for row in alice.json("members", "#news")["members"]}
    assert names == {"alice", joined["memberName"]}


def test_relays_that_are_removed_are_said_to_be(world):
    first, second, alice = world.relay("first"), world.relay("second"), world.person("alice")
    alice.know(first, second)
    alice.create("news", first, second)
    assert alice.json("relays", "#news", "--remove", "first")["outcomes"] == [{"relay": "first", "result": "removed"}]
    assert alice.json("relays", "#news", "--add", "first")["outcomes"] == [{"relay": "first", "result": "active"}]


def test_a_relay_that_was_never_told_is_not_said_to_know(world):
    relay, alice, hole = world.relay("home"), world.person("alice"), world.black_hole()
    alice.know(relay)
    alice("relay", "add", "silent", f"https://127.0.0.1/r#{'A' * 43}?p={hole.port}")
    alice("channel", "create", "news", "--relay", "home", "--relay", "silent", "--timeout", "2", code=2)
    assert alice("relays", "#news", "--remove", "silent", "--timeout", "5").out == "relay silent removed\n"
    # One that carries it and cannot be told is named with the reason.
    alice.create("more", relay)
    relay.stop()
    shown = alice("relays", "#more", "--remove", "home", "--timeout", "2", code=69).out.splitlines()
    assert shown[0] == "relay home removed" and shown[1].split()[:3] == ["home", "no", "answer"], shown


def test_relays_of_a_link_are_called_as_the_home_calls_them(world):
    relay, alice, bob = world.relay("home"), world.person("alice"), world.person("bob")
    alice.know(relay)
    bob("relay", "add", "mine", relay.address)
    link = alice.create("news", relay)["link"]
    relay.stop()
    assert [row["relay"] for row in bob.json("join", link, "--timeout", "3", code=69)["relays"]] == ["mine"]
    relay.start()
    assert [row["relay"] for row in bob.json("join", link)["relays"]] == ["mine"]


def test_a_link_that_leads_nowhere_yet_is_not_handed_out_without_a_word(world):
    asks, opens = world.relay("asks", ANTENNA_ADMISSION__POLICY="manual"), world.relay("opens")
    alice = world.person("alice")
    alice.know(asks, opens)
    word = "the link leads nowhere until a relay carries the channel"
    assert word in alice("channel", "create", "one", "--relay", "asks", "--timeout", "2", code=2).out
    assert word not in alice("channel", "create", "two", "--relay", "opens", code=0).out


def test_following_ends_without_a_word_about_its_own_links(world):
    relays = [world.relay(name) for name in ("first", "second", "third")]
    alice = world.person("alice")
    alice.know(*relays)
    alice.create("news", *relays)
    # Whether it is said without the order that FollowCommand keeps is a matter of moments: once in some forty ends.
    for _ in range(4):
        ended = alice("follow", "#news", "--count", "1", "--timeout", "1", code=69)
        assert "connected to first" in ended.err and "not connected" not in ended.err, ended


def test_who_asks_which_relays_answer_is_told_the_same_each_time(world):
    first, second = world.relay("first"), world.relay("second")
    alice, bob = world.person("alice"), world.person("bob")
    alice.know(first, second)
    bob.know(first, second)
    bob("join", alice.create("news", first, second)["link"])

    def connected(person, *words):
        return {row["name"]: row["connected"] for row in person.json("relays", "#news", *words)["relays"]}

    for person in (alice, bob, alice, bob):
        assert connected(person) == {"first": True, "second": True}
        assert connected(person, "--offline") == {"first": False, "second": False}
    second.stop()
    for person in (alice, bob):
        assert connected(person) == {"first": True, "second": False}
