"""What only a person at a terminal sees: progress, questions, Ctrl-C."""

from harness import BIN, ROOT, environment
from terminal import Terminal


def test_a_long_wait_shows_progress_there_and_nowhere_else(world):
    hole, alice = world.black_hole(), world.person("alice")
    alice("relay", "add", "hole", f"https://127.0.0.1/r#{'A' * 43}?p={hole.port}")
    words = [*alice.words, "relay", "test", "hole", "--timeout", "1"]
    watched = Terminal(words, alice.env)
    assert watched.end() == 69
    assert "testing hole" in watched.shown
    # The line is gone before the answer comes.
    assert "\x1b[K" in watched.shown.split("testing hole")[-1]
    piped = alice("relay", "test", "hole", "--timeout", "1", code=69)
    assert "testing hole" not in piped.out + piped.err and "\x1b" not in piped.out + piped.err


def test_deleting_a_channel_asks(world):
    relay, alice = world.relay("home"), world.person("alice")
    alice.know(relay)
    alice.create("news", relay)
    words = [*alice.words, "channel", "delete", "#news"]
    for answer in ("n\n", "\n", "\x04"):
        asked = Terminal(words, alice.env)
        asked.wait_for("[y/N]")
        asked.type(answer)
        assert asked.end() == 64
        assert "not deleted" in asked.shown
        assert alice.json("channels")["channels"][0]["current"]
    asked = Terminal(words, alice.env)
    asked.wait_for("[y/N]")
    asked.type("y\n")
    assert asked.end() == 0
    assert not [c for c in alice.json("channels")["channels"] if c["current"]]


def test_a_passphrase_is_asked_for_and_not_shown(world):
    relay, alice = world.relay("home"), world.person("alice")
    alice.know(relay)
    alice.create("news", relay)
    asked = Terminal([*alice.words, "passphrase"], alice.env)
    for prompt in ("new passphrase:", "the same again:"):
        asked.wait_for(prompt)
        asked.type("correct horse\n")
    assert asked.end() == 0
    assert "correct" not in asked.shown
    asked = Terminal([*alice.words, "post", "#news", "hello"], alice.env)
    asked.wait_for("passphrase of")
    asked.type("correct horse\n")
    assert asked.end() == 0
    assert "correct" not in asked.shown and "accepted" in asked.shown


def test_following_ends_with_ctrl_c(world):
    relay, alice, bob = world.relay("home"), world.person("alice"), world.person("bob")
    alice.know(relay)
    bob("join", alice.create("news", relay)["link"])
    watched = Terminal([*bob.words, "follow", "#news"], bob.env)
    watched.wait_for("connected to")
    alice.post("#news", "hello")
    watched.wait_for("alice: hello")
    watched.type("\x03")
    assert watched.end() == 0


def test_an_operator_at_a_terminal_sees_the_address_as_a_picture_too(world):
    relay = world.relay("home")
    shown = Terminal([BIN / "antennactl", "--state", relay.state, "address"], relay.env)
    assert shown.end() == 0
    assert relay.address in shown.shown and "█" in shown.shown
    assert "█" not in relay.ctl("address").out


def test_an_operator_who_types_no_command_is_told_what_to_type(world):
    relay = world.relay("home")
    asked = Terminal([BIN / "antennactl", "--state", relay.state], relay.env)
    asked.wait_for("help lists the commands, quit ends")
    asked.type("/channels\n")
    asked.wait_for("no channels")
    asked.type("quit\n")
    assert asked.end() == 0
    assert "help lists" not in relay.ctl(input="channels\n").err


def test_the_demonstration_typed_by_hand():
    shown = Terminal([ROOT / "scripts/run"], {**environment("/tmp"), "ANTENNA_CONFIGURATION": "debug"}, cwd=ROOT)
    shown.wait_for("Type a line", 100)
    for text in ("one", "two"):
        shown.type(text + "\n")
        shown.wait_for(f"reader-2 received ‘{text}’")
    shown.type("\x03")
    assert shown.end() == 0
    assert "2 published, 2 received by both subscribers" in shown.shown
