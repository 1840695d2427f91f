"""H10: settings that are read anew while the relay works."""

import os
import signal

import pytest

from harness import BIN, environment, run, until

GOOD = "; a relay\n[relay]\nname = home\n\n[admission]\npolicy = open\n[limits]\nchannels = 1\n"


@pytest.fixture
def place(world):
    """A relay with a file of settings, and somebody who owns channels on it."""
    class Place:
        file = world.path / "antennad.conf"
        file.write_text(GOOD)
        relay = world.relay("home", ANTENNA_CONFIG=str(file))
        alice = world.person("alice")

        def reload_status(self):
            return self.relay.ctl("status", "--json").json.get("reload")

        def hang_up(self):
            """HUP, and what came of it."""
            before = self.relay.log_text.count(" reload.")
            self.relay.process.send_signal(signal.SIGHUP)
            until(lambda: self.relay.log_text.count(" reload.") > before, what="the reload")
            return self.reload_status()
    Place.alice.know(Place.relay)
    return Place()


def test_a_broken_file_changes_nothing_and_a_mended_one_is_in_force(place):
    place.alice.create("first", place.relay)
    assert place.reload_status() is None

    place.file.write_text(GOOD.replace("channels = 1", "chanels = 2"))
    failed = place.hang_up()
    assert failed["ok"] is False and failed["problem"].startswith(f"{place.file}:8: ")
    assert f"{place.file}:8: " in place.relay.log_text
    shown = place.relay.ctl("status").out
    assert f"last reload failed: {place.file}:8: " in shown and " UTC)" in shown
    # Still serving, with the limit of before.
    place.alice.post("#first", "still here")
    place.alice.create("second", place.relay, code=69)

    place.file.write_text(GOOD.replace("channels = 1", "channels = 3"))
    done = place.hang_up()
    assert done["ok"] is True and done.get("problem") is None
    place.alice.create("third", place.relay)
    assert place.relay.process.poll() is None


def test_the_operator_is_told_what_changed_and_what_needs_a_restart(place):
    place.file.write_text(
        "[relay]\nname = elsewhere\nlisten = 127.0.0.1:1\nloops = 3\n[admission]\npolicy = manual\n"
        "[timeouts]\nidle_seconds = 2 min\n[log]\nlevel = debug\n[limits]\nchannels = 1\n")
    answer = place.relay.ctl("reload", "--json").json
    assert answer["changed"] == ["[relay] name", "[admission] policy", "[timeouts] idle_seconds", "[log] level"]
    # The address was given as a flag, which still wins.
    assert answer["needRestart"] == ["[relay] loops"]
    status = place.relay.ctl("status", "--json").json
    assert (status["name"], status["admission"], status["loops"]) == ("elsewhere", "manual", len(os.sched_getaffinity(0)))
    place.alice("channel", "create", "waits", "--relay", "home", "--timeout", "2", code=None)
    assert [row["channel"] for row in place.relay.ctl("invitations", "--json").json["invitations"]] == ["#waits"]

    place.file.write_text("[relay\n")
    refused = place.relay.ctl("reload", "--json", code=78)
    assert refused.error["message"].startswith(f"{place.file}:1: ")
    assert place.relay.ctl("status", "--json").json["admission"] == "manual"


def test_a_pipe_in_its_place_is_not_waited_for(world):
    file = world.path / "antennad.conf"
    file.write_text("[limits]\nchannels = 5\n")
    relay = world.relay("home", ANTENNA_CONFIG=str(file))
    file.unlink()
    os.mkfifo(file)
    assert "is a pipe" in relay.ctl("reload", code=78).err
    assert relay.ctl("status", "--json").json["state"] == "running"


def test_a_file_that_is_gone_changes_nothing(place):
    place.file.unlink()
    assert place.hang_up()["ok"] is False
    assert place.relay.ctl("status", "--json").json["name"] == "home"


def test_a_file_that_was_not_there_at_the_start_is_found(world):
    relay = world.relay("home")
    assert relay.ctl("reload").out == "nothing has changed; no settings file was found\n"
    place = world.path / ".config" / "antenna"
    place.mkdir(parents=True)
    file = place / "antennad.conf"
    file.write_text(GOOD)
    answer = relay.ctl("reload", "--json").json
    assert answer == {"changed": ["[relay] name", "[limits] channels"], "needRestart": [], "file": str(file)}
    assert relay.ctl("reload").out == f"nothing has changed; read {file}\n"
    # From now on it is the relay's file: that it is gone is a mistake.
    file.unlink()
    assert str(file) in relay.ctl("reload", "--json", code=78).error["message"]
    assert relay.ctl("status", "--json").json["name"] == "home"


def test_a_setting_that_is_misspelt_in_the_environment_is_no_setting(world):
    for words in (["--check-config"], ["--state", world.path / "state"]):
        found = run([BIN / "antennad", *words], env=environment(world.path, ANTENNA_LIMITS__LOG_MESAGES="7"))
        assert found.code == 78 and found.err == (
            "antennad: there is no setting $ANTENNA_LIMITS__LOG_MESAGES (did you mean $ANTENNA_LIMITS__LOG_MESSAGES?)\n")


def test_what_is_shown_to_be_in_force_includes_what_a_default_stands_for(world):
    shown = run([BIN / "antennad", "config", "show", "--json"], env=environment(world.path)).json
    state = next(row for row in shown if (row["section"], row["key"]) == ("relay", "state"))
    assert (state["value"], state["origin"]) == (f"{world.path}/.local/state/antenna/relay", "default")


@pytest.mark.parametrize("words", [["--check-config"], ["config", "check"]], ids=" ".join)
@pytest.mark.parametrize("text, line, names", [
    ("[relay]\n\nlisen = x\n", 3, "‘listen’"),
    ("[rely]\nlisten = x\n", 2, "[relay]"),
    ("[relay]\nnonsense\n", 2, "key = value"),
    ("[limits]\nchannels = many\n", 2, "whole number"),
    ("[relay]\nlisten = nowhere\n", 2, "127.0.0.1:5280"),
    ("[relay]\nadvertise = a b\n", 2, "HOST:PORT"),
    ("[relay]\nname = a\nname = b\n", 3, "line 2"),
])
def test_a_check_finds_what_a_start_would_and_touches_nothing(world, words, text, line, names):
    file, state = world.path / "c.conf", world.path / "state"
    file.write_text(text)
    found = run([BIN / "antennad", *words, "--config", file, "--state", state], env=environment(world.path))
    assert found.code == 78 and found.out == ""
    assert found.err.startswith(f"antennad: {file}:{line}: ") and names in found.err
    assert not state.exists()
    started = run([BIN / "antennad", "--config", file, "--state", state], env=environment(world.path))
    assert (started.code, started.err) == (found.code, found.err)
    assert not state.exists()


def test_a_check_says_where_it_looked(world):
    place = world.path / ".config" / "antenna"
    place.mkdir(parents=True)
    (place / "antennad.conf").write_text(GOOD)
    env = environment(world.path)
    found = run([BIN / "antennad", "--check-config", "--json"], env=env).json
    assert found["file"] == str(place / "antennad.conf")
    assert [row["path"] for row in found["searched"]] == [
        None, None, str(place / "antennad.conf"), "/etc/antenna/antennad.conf"]
    shown = [line.rstrip().split("  ") for line in run([BIN / "antennad", "--check-config"], env=env).out.splitlines()]
    assert [words[-1].strip() for words in shown[1:4]] == ["not given", "not given", "read"]
    assert shown[4][-1].strip() in ("not there", "not read: the one above counts")
    other = world.path / "other.conf"
    other.write_text("")
    found = run([BIN / "antennad", "--check-config", "--json"], env={**env, "ANTENNA_CONFIG": str(other)}).json
    assert found["file"] == str(other)
    missing = run([BIN / "antennad", "--check-config", "--config", world.path / "none"], env=env)
    assert missing.code == 78


def test_a_health_check_says_whether_the_relay_works(world):
    relay = world.relay("home")
    asked = [BIN / "antennad", "healthcheck", "--state", relay.state]
    assert run(asked, env=relay.env).code == 0
    relay.process.send_signal(signal.SIGSTOP)
    assert run([*asked, "--timeout", "1"], env=relay.env).code == 69
    relay.process.send_signal(signal.SIGCONT)
    assert run([*asked, "--json"], env=relay.env).json["ok"] is True
    relay.stop()
    assert run(asked, env=relay.env).code == 69


def test_an_owner_who_is_put_off_is_invited_later_without_another_word(place):
    place.file.write_text("[limits]\ninvitations_per_address = 1\n")
    place.hang_up()
    place.alice.create("first", place.relay)
    [row] = place.alice.create("second", place.relay, code=69)["relays"]
    assert row["result"] != "rejected"
    assert place.alice.relays("#second") == {"home": "invited"}
    assert place.relay.channel("second") is None
    # What is there goes on, and a put-off invitation is told to the operator, without anybody's name.
    place.alice.post("#first", "as ever")
    assert " invitation.put-off " in place.relay.log_text

    place.file.write_text("[limits]\ninvitations_per_address = 0\n")
    assert place.relay.ctl("reload", "--json").json["changed"] == ["[limits] invitations_per_address"]
    place.alice("sync")
    assert place.alice.relays("#second") == {"home": "active"}
