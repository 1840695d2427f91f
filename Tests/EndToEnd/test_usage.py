"""Wrong usage, --json, time limits."""

import json
import os
import subprocess

import pytest

from harness import BIN, environment, run

COMMANDS = [
    ["profile"], ["passphrase"], ["relay", "add"], ["relay", "test"], ["relay", "list"], ["relay", "remove"], ["channel", "create"],
    ["channel", "list"], ["channel", "set"], ["channel", "delete"], ["channel", "forget"], ["channels"], ["relays"], ["link"], ["join"],
    ["leave"], ["members"], ["remove"], ["post"], ["edit"], ["delete"], ["follow"], ["history"], ["outbox"],
    ["outbox", "discard"], ["sync"],
]


@pytest.fixture(scope="module")
def place(shared_world):
    """A relay, an owner with a channel and one message, and a subscriber."""
    class Place:
        relay = shared_world.relay("home")
        alice, bob = shared_world.person("alice"), shared_world.person("bob")
    Place.alice.know(Place.relay)
    Place.link = Place.alice.create("news", Place.relay)["link"]
    Place.bob("join", Place.link)
    Place.message = Place.alice.post("#news", "hello")["messageId"]
    return Place


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_command_explains_itself(shared_world, command):
    shown = run([BIN / "antenna", *command, "--help"], env=environment(shared_world.path))
    assert shown.code == 0 and shown.err == ""
    assert "usage: antenna " in shown.out and "examples:" in shown.out and "--timeout SECONDS" in shown.out


@pytest.mark.parametrize("program", ["antenna", "antennactl", "antennad"])
def test_every_program_has_help_and_version(shared_world, program):
    env = environment(shared_world.path)
    shown = run([BIN / program, "--help"], env=env)
    assert shown.code == 0 and shown.err == "" and f"usage: {program}" in shown.out
    shown = run([BIN / program, "--version"], env=env)
    assert shown.code == 0 and shown.out.startswith(program) and "0.1.0" in shown.out


@pytest.mark.parametrize("program, words, code, names", [
    ("antenna", ["pots", "#news", "x"], 64, "post"),
    ("antenna", ["channel", "crate", "x"], 64, "channel create"),
    ("antenna", ["post", "#news", "x", "--min-relay", "1"], 64, "--min-relays"),
    ("antenna", ["post"], 64, "CHANNEL"),
    ("antenna", ["post", "#news", "a", "b"], 64, "quote"),
    ("antenna", [], 64, "--help"),
    ("antenna", ["channels", "--timeout", "soon"], 64, "seconds"),
    ("antenna", ["channel", "create", "x"], 64, "--relay"),
    ("antenna", ["follow", "#nowhere"], 64, "antenna channels"),
    ("antenna", ["relay", "add", "x", "https://example.org/"], 64, "address"),
    ("antenna", ["join", "nonsense"], 64, "link"),
    ("antenna", ["join", "https://relay.example/c#short"], 64, "no channel link: a link's key is 43 characters"),
    ("antenna", ["relay", "add", "x", "https://relay.example/r#short"], 64, "no relay address: a link's key is 43"),
    ("antennactl", ["stauts"], 64, "status"),
    ("antennactl", ["status", "--sate", "x"], 64, "--state"),
    ("antennactl", ["leave"], 64, "CHANNEL"),
    ("antennad", ["--lisen", "127.0.0.1:0"], 64, "--listen"),
    ("antennad", ["--config", "nowhere.conf"], 78, "nowhere.conf"),
])
def test_wrong_usage_is_one_line_that_says_what_would_be_right(shared_world, program, words, code, names):
    env = environment(shared_world.path)
    result = run([BIN / program, *words], env=env)
    assert result.code == code, result
    assert result.out == "" and result.err.count("\n") == 1 and names in result.err, result
    if program != "antennad":
        result = run([BIN / program, *words, "--json"], env=env)
        assert result.code == code and result.error["exitCode"] == code and result.error["message"], result


def test_a_wrong_configuration_is_named_with_its_line(shared_world):
    file = shared_world.path / "relay.conf"
    file.write_text("; mine\n[relay]\nlisen = 127.0.0.1:0\n")
    result = run([BIN / "antennad", "--config", file], env=environment(shared_world.path))
    assert result.code == 78
    assert f"{file}:3" in result.err and "listen" in result.err and result.err.count("\n") == 1


def test_json_in_success(place):
    alice, bob = place.alice, place.bob
    for words in (["profile"], ["profile", "alice"], ["relay", "list"], ["relay", "test", "home"], ["channel", "list"],
                  ["channels"], ["relays", "#news"], ["link", "#news"], ["members", "#news"], ["history", "#news"],
                  ["history", "#news", "--local"], ["outbox"], ["sync"],
                  ["channel", "set", "#news", "--description", "new"], ["post", "#news", "again"],
                  ["edit", "#news", place.message, "hello you"], ["relay", "add", "twin", place.relay.address],
                  ["relay", "remove", "twin"]):
        answer = alice(*words, "--json")
        assert isinstance(answer.json, dict) and "error" not in answer.json and answer.err == "", answer
    assert isinstance(bob.json("members", "#news"), dict)
    lines = bob("follow", "#news", "--since", "2020-01-01", "--count", "1", "--json", "--timeout", "20").out.splitlines()
    assert [json.loads(line)["kind"] for line in lines if "message" in line][0] == "message"
    for words in (["status"], ["address"], ["channels"], ["members", "#news"], ["invitations"], ["audit"], ["version"],
                  ["prune"]):
        assert isinstance(place.relay.ctl(*words, "--json").json, dict)


@pytest.mark.parametrize("words, code, name", [
    (["relay", "test", "nobody"], 64, "unknown-relay"), (["relay", "remove", "nobody"], 64, "unknown-relay"),
    (["relay", "add", "home", "{address}"], 64, "relay-name-taken"),
    (["relay", "add", "x", "{link}"], 64, "invalid-address"),
    (["channel", "create", "x", "--relay", "nobody"], 64, "unknown-relay"),
    (["channel", "set", "#nowhere", "--name", "x"], 64, "unknown-channel"),
    (["channel", "set", "#news"], 64, "missing-argument"),
    (["channel", "delete", "#news"], 64, "confirmation-needed"),
    (["channel", "delete", "#nowhere", "--yes"], 64, "unknown-channel"),
    (["relays", "#nowhere"], 64, "unknown-channel"),
    (["relays", "#news", "--add", "home"], 64, "relay-already-listed"),
    (["relays", "#news", "--remove", "nobody"], 64, "relay-not-listed"),
    (["link", "#nowhere"], 64, "unknown-channel"), (["join", "nonsense"], 64, "invalid-link"),
    (["leave", "#nowhere"], 64, "unknown-channel"), (["leave", "#news"], 64, "sole-owner"),
    (["members", "#nowhere"], 64, "unknown-channel"), (["remove", "#news", "nobody"], 64, "not-found"),
    (["post", "#nowhere", "x"], 64, "unknown-channel"), (["post", "#news"], 64, "missing-argument"),
    (["post", "#news", ""], 64, "missing-argument"), (["post", "#news", "x", "--min-relays", "2"], 64, "too-few-relays"),
    (["post", "#news", "x", "--min-relays", "0"], 64, "bad-value"), (["edit", "#news", "{message}", ""], 64, "missing-argument"),
    (["delete", "#news", "{message:.3}"], 64, "bad-value"), (["outbox", "discard", "#news", "{message}"], 64, "wrong-state"),
    (["channel", "forget", "#news"], 77, "not-permitted"),
    (["post", "#news", "{long}"], 64, "message-too-large"),
    (["edit", "#news", "zzzz", "x"], 64, "not-found"), (["delete", "#news", "zz"], 64, "not-found"),
    (["follow", "#nowhere"], 64, "unknown-channel"), (["follow", "#news", "--since", "lately"], 64, "bad-value"),
    (["history", "#nowhere"], 64, "unknown-channel"), (["history", "#news", "--limit", "501"], 64, "bad-value"),
    (["outbox", "discard", "#news", "zzzz"], 64, "not-found"), (["profile", "two\nlines"], 64, "invalid-name"),
])
def test_json_in_failure(place, words, code, name):
    fill = {"{address}": place.relay.address, "{link}": place.link, "{long}": "x" * 16000,
            "{message}": place.message, "{message:.3}": place.message[:3]}
    failed = place.alice(*[fill.get(word, word) for word in words], "--json", code=code)
    assert failed.error["name"] == name and failed.error["exitCode"] == code, failed
    assert isinstance(failed.error["number"], int) and failed.error["message"]
    assert failed.err.count("\n") == 1, failed


def test_a_subscriber_may_not_do_what_owners_do(place):
    for words in (["post", "#news", "x"], ["channel", "set", "#news", "--name", "mine"],
                  ["channel", "delete", "#news", "--yes"], ["relays", "#news", "--add", "home"],
                  ["delete", "#news", place.message]):
        failed = place.bob(*words, "--json", code=77)
        assert failed.error["name"] in ("not-owner", "not-permitted"), failed


def test_a_text_that_no_relay_takes_is_not_published(place):
    refused = place.alice.json("post", "#news", input="half\0 a line", code=64)
    assert refused["error"]["name"] == "invalid-text"
    assert place.alice.json("outbox")["outbox"] == [] and "half" not in "".join(place.alice.texts("#news"))


@pytest.mark.parametrize("program", ["antenna", "antennactl", "antennad"])
def test_the_version_is_told_to_programs_too(shared_world, program):
    shown = run([BIN / program, "--version", "--json"], env=environment(shared_world.path))
    assert shown.code == 0 and shown.json["program"] == program and shown.json["version"]


def test_nobody_there(place, shared_world):
    for words in (["status"], ["leave", "#news"]):
        failed = run([BIN / "antennactl", "--state", shared_world.path / "nowhere", *words, "--json"],
                     env=environment(shared_world.path))
        assert failed.code == 69 and failed.error["message"], failed


@pytest.mark.parametrize("words", [["antenna", "--help"], ["antennactl", "--help"], ["antennad", "config", "default"]])
def test_an_answer_that_cannot_be_written_is_no_success(world, words):
    for target, code in (("/dev/full", 74), ("/dev/null", 0)):
        with open(target, "w") as out:
            done = subprocess.run([BIN / words[0], *words[1:]], stdin=subprocess.DEVNULL, stdout=out,
                                  stderr=subprocess.PIPE, text=True, timeout=30, env=environment(world.path))
        assert done.returncode == code, done
        assert ("No space left" in done.stderr) == (code == 74), done


def test_who_has_read_enough_of_an_answer_does_not_make_it_fail(world):
    alice = world.person("alice")
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run([*map(str, alice.words), "--help"], stdin=subprocess.DEVNULL, stdout=writing,
                          stderr=subprocess.PIPE, text=True, timeout=30, env=alice.env)
    os.close(writing)
    assert done.returncode == 0 and done.stderr == "", done


def test_the_versions_of_both_programs_are_told(place):
    told = place.relay.ctl("version", "--json").json
    assert told["antennactl"] == told["antenna"] and told["libevent"] and told["sqlite"]


def test_a_command_may_be_written_as_the_hints_write_it(place):
    left = place.relay.ctl("/group", "allow", "#news", "--json", code=1)
    assert "is not rejected" in left.error["message"]


def test_a_home_that_is_locked_says_what_unlocks_it(place, shared_world):
    carol = shared_world.person("carol")
    carol("passphrase", input="correct horse\n")
    assert "--passphrase-file" in carol("channels", code=77).err


def test_a_file_of_commands_may_have_comments(place):
    told = place.relay.ctl(input="# what it is\nversion\n   # and no more\n#\n")
    assert told.err == "" and "relay: antenna" in told.out
