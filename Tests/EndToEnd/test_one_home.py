"""Several programs at once in one home, and programs that are killed there."""

import concurrent.futures
import random
import sqlite3
import subprocess
import time

import pytest

from harness import until

RANDOM = random.Random(20261130)


@pytest.fixture
def people(world):
    one, two = world.relay("one"), world.relay("two")
    alice, bob = world.person("alice"), world.person("bob")
    alice.know(one, two)
    bob("join", alice.create("news", one, two)["link"])
    return alice, bob, [one, two]


def stored(relay):
    """How many messages a relay holds, and how many different ones."""
    with relay.database() as database:
        return database.execute(
            "select count(*), count(distinct message_id) from log where tag = 'x.msg.new'").fetchone()


def test_twenty_posts_at_once_beside_everything_else(world, people):
    alice, bob, relays = people
    following = world.follow(bob, "#news").connected(2)
    texts = [f"text {number}" for number in range(20)]
    with concurrent.futures.ThreadPoolExecutor(26) as pool:
        posts = [pool.submit(alice.post, "#news", text) for text in texts]
        others = [pool.submit(alice.json, *words) for words in (
            ("relays", "#news"), ("history", "#news"), ("members", "#news"), ("channels",))]
        assert all(post.result()["complete"] for post in posts)
        for other in others:
            other.result()
    following.wait(lambda f: len(f.texts) >= len(texts))
    assert sorted(following.texts) == sorted(texts)
    assert sorted(alice.texts("#news")) == sorted(texts)
    for relay in relays:
        assert stored(relay) == (20, 20)


def test_a_follower_shows_what_other_programs_of_its_home_fetched(world, people):
    alice, bob, _ = people
    following = world.follow(bob, "#news").connected(2)
    texts = [f"text {number}" for number in range(15)]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        posting = pool.submit(lambda: [alice.post("#news", text) for text in texts])
        while not posting.done():
            bob("sync")
        posting.result()
    following.wait_texts(*texts)


def test_posts_that_are_killed_are_there_once_or_not_at_all(world, people):
    alice, bob, relays = people
    texts = [f"text {number}" for number in range(20)]
    for text in texts:
        post = subprocess.Popen(
            [str(word) for word in [*alice.words, "post", "#news", text]], env=alice.env,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(RANDOM.uniform(0, 0.15))
        post.kill()
        post.wait()
    repaired = alice.json("sync")
    assert repaired["pending"] == repaired["refused"] == 0, repaired
    own = alice.texts("#news")
    assert len(own) == len(set(own)) and set(own) <= set(texts)
    for relay in relays:
        assert stored(relay) == (len(own), len(own))
    until(lambda: bob("sync", code=None).code == 0)
    assert sorted(bob.texts("#news")) == sorted(own)
    for person in (alice, bob):
        for file in person.home.glob("*.db"):
            with sqlite3.connect(file) as database:
                assert database.execute("pragma integrity_check").fetchone() == ("ok",)


def test_a_home_that_many_make_at_once_is_one_home(world):
    home = world.path / "home-shared"
    relay = world.relay("home")
    alice = world.person("alice")
    words = [*alice.words[:-1], home]
    started = [
        subprocess.Popen([str(w) for w in [*words, "relay", "add", f"relay{n}", relay.address]], env=alice.env,
                         stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        for n in range(12)]
    for process in started:
        _, problem = process.communicate(timeout=30)
        assert process.returncode == 0, problem
    alice.words = words
    assert len(alice.json("relay", "list")["relays"]) == 12
    assert sorted(f.name for f in home.iterdir() if "new" in f.name) == []


@pytest.mark.parametrize("how", ["removed", "replaced", "log removed"])
def test_a_home_that_goes_away_under_a_follower_is_told(world, how):
    relay, alice, bob = world.relay("home"), world.person("alice"), world.person("bob")
    alice.know(relay)
    bob("join", alice.create("news", relay)["link"])
    before = (bob.home / "client.db").read_bytes()
    following = world.follow(bob, "#news").connected()
    alice.post("#news", "kept")
    following.wait_texts("kept")
    database = bob.home / "client.db"
    if how == "log removed":
        (bob.home / "client.db-wal").unlink()
    else:
        database.unlink()
    if how == "replaced":
        database.write_bytes(before)
    alice.post("#news", "not kept")
    following.wait(lambda f: [note for note in f.notes if "was replaced or removed while" in note])
    # What is not in the home is not shown as if it were.
    assert following.texts == ["kept"]
    following.stop()
