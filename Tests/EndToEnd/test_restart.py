"""kill -9: what was accepted is there, and readers go on where they were."""

from harness import until


def test_what_was_accepted_survives_and_the_reader_resumes(world):
    relay, alice, bob, carol = world.relay("home"), world.person("alice"), world.person("bob"), world.person("carol")
    alice.know(relay)
    link = alice.create("news", relay)["link"]
    bob("join", link)
    following = world.follow(bob, "#news").connected()
    sent = []
    for round in range(3):
        for n in range(3):
            text = f"round {round} number {n}"
            assert alice.post("#news", text)["complete"]
            sent.append(text)
        relay.kill()
        queued = alice.post("#news", f"while down {round}", "--timeout", "2", code=69)
        assert queued["relays"][0]["outcome"] == "queued"
        assert len(alice.json("outbox")["outbox"]) == 1
        relay.start()
        until(lambda: alice("sync", code=None).code == 0, what="the outbox to be delivered")
        sent.append(f"while down {round}")
        assert alice.json("outbox")["outbox"] == []
    following.wait_texts(*sent, seconds=40)
    assert following.stop() == 0
    # Who comes back later gets the rest, once.
    alice.post("#news", "while bob was away")
    again = world.follow(bob, "#news")
    again.wait_texts("while bob was away")
    carol("join", link)
    assert carol.texts("#news") == sent + ["while bob was away"]
    assert relay.integrity() == "ok"


def test_a_clean_stop_is_quick_and_ends_with_zero(world):
    relay, alice, bob = world.relay("home"), world.person("alice"), world.person("bob")
    alice.know(relay)
    bob("join", alice.create("news", relay)["link"])
    following = world.follow(bob, "#news").connected()
    assert relay.stop() == 0
    relay.start()
    alice.post("#news", "back again")
    following.wait_texts("back again", seconds=40)
