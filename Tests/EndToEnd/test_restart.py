"""kill -9: what was accepted is there, and readers go on where they were."""

import os
import random
import threading
import time

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


def test_what_a_program_shows_as_accepted_while_relays_die_is_there_once(world):
    """H4 as an owner sees it: kill -9 while `antenna post` works. What was not accepted is queued, and comes later."""
    seed = int(os.environ.get("SEED") or random.randrange(1 << 30))
    print(f"SEED={seed}")
    moments, rounds = random.Random(seed), 8
    relay, alice, bob = world.relay("home"), world.person("alice"), world.person("bob")
    alice.know(relay)
    link = alice.create("news", relay)["link"]
    outcomes, fault = {}, []

    def write(round):
        try:
            for n in range(50):
                text = f"round {round} number {n}"
                receipt = alice.post("#news", text, "--timeout", "2", code=None)
                outcomes[text] = receipt["relays"][0]["outcome"]
                if outcomes[text] != "accepted":
                    return
        except Exception as problem:
            fault.append(problem)

    for round in range(rounds):
        writer = threading.Thread(target=write, args=(round,))
        writer.start()
        time.sleep(moments.uniform(0.05, 0.8))
        relay.kill()
        writer.join()
        assert not fault, fault
        relay.start()
        accepted = [text for text, outcome in outcomes.items() if outcome == "accepted"]
        with relay.database() as database:
            # The frames hold the authors' bytes, texts in them.
            log = b"".join(row[0] for row in database.execute("select frame from log"))
        for text in accepted:
            assert log.count(f'"{text}"'.encode()) == 1, text
    assert set(outcomes.values()) == {"accepted", "queued"}
    until(lambda: alice("sync", code=None).code == 0, seconds=40, what="the outbox to be delivered")
    bob("join", link)
    texts = bob.texts("#news")
    assert sorted(texts) == sorted(outcomes)
    assert relay.integrity() == "ok"
