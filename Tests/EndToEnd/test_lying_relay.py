"""Scenario H6 at the reader: a relay that delivers a thousand mutations. None is shown, and the relay is named for each.

The relay is the small one of Tests/Conformance, which stores what it is told to; what an honest relay makes of the same
mutations is in Tests/Conformance/relay/test_mutations.py.
"""

import collections
import os
import time

import pytest

from antenna.client import LIVE
from antenna.keys import new_id
from antenna.mutations import DELIVERY_FIELDS, ELEMENT_FIELDS, Mutator
from antenna.people import Owner
from antenna.small_relay import SmallRelay

SEED = int(os.environ.get("SEED") or 1)
MUTATIONS = 1000
# An event of a later version, as far as a reader knows: passed over, and nobody's fault.
LATER = b'"x.msg.deleted"'


@pytest.fixture
def relay():
    relay = SmallRelay()
    yield relay
    relay.close()


@pytest.fixture
def owner(relay):
    owner = Owner([relay.link], "news")
    owner.establish(relay.link)
    yield owner
    owner.close()


def lie(relay, owner, bodies):
    """Puts bodies into the log as if somebody had published them."""
    relay.channels[owner.channel].append([(owner.member_id, b"", body, int(time.time())) for body in bodies])


def disagreements(following):
    return [item["disagreement"] for item in following.items if item["kind"] == "disagreement"]


def test_a_thousand_mutations_reach_nobody_and_the_relay_is_named_for_each(world, relay, owner):
    print(f"SEED={SEED}")
    bob, target = world.person("bob"), new_id()
    bob("join", str(owner.link))
    following = world.follow(bob, "#news").connected()
    writer = owner.attach(relay.link, LIVE)
    assert writer.publish(owner.message("as it was", target))[0]["result"] == 0
    following.wait_texts("as it was")

    mutator = Mutator(SEED, owner, owner.profile, target)
    made = [mutator.delivery() for _ in range(MUTATIONS)]
    assert {mutation.field for mutation in made} == {*ELEMENT_FIELDS, *DELIVERY_FIELDS}
    lie(relay, owner, [mutation.bytes for mutation in made])
    assert writer.publish(owner.message("the end"))[0]["sequence"] == MUTATIONS + 2
    following.wait_texts("as it was", "the end", seconds=60)

    expected = {
        n + 2: 1
        for n, mutation in enumerate(made)
        if not (mutation.field == "well_signed_nonsense" and LATER in mutation.bytes)
    }
    # What is wrong with messages is told after the messages that came together with them.
    following.wait(lambda f: len(disagreements(f)) >= len(expected), 60)
    named = collections.Counter()
    for report in disagreements(following):
        assert report["kind"] == "unverifiable" and report["relay"].endswith(str(relay.port)), report
        named[next(int(word) for word in report["detail"].split() if word.isdigit())] += 1
    for n, mutation in enumerate(made):
        assert named.pop(n + 2, 0) == expected.get(n + 2, 0), mutation
    assert not named
    assert {item["kind"] for item in following.items} == {"message", "disagreement"}
    assert following.stop() == 0
    for words in ([], ["--local"]):
        assert bob.texts("#news", *words) == ["as it was", "the end"]
    row = bob.json("channels")["channels"][0]
    assert (row["displayName"], row["signMessages"]) == ("news", True)
    writer.close()
