"""Programs that are started with closed standard streams, or that may open few files."""

import os
import pathlib
import shutil
import subprocess

import pytest

from harness import BIN, environment, run, until


def closing(words, closed):
    """The words of a shell that closes descriptors and becomes the program."""
    return ["sh", "-c", 'exec "$@" ' + " ".join(f"{fd}>&-" for fd in closed), "sh", *map(str, words)]


def descriptors(pid):
    """What the descriptors of a process are, by number."""
    found = {}
    for fd in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        try:
            found[int(fd.name)] = os.readlink(fd)
        except FileNotFoundError:
            pass
    return found


def standard(pid):
    """What 0, 1 and 2 of a process are."""
    return [descriptors(pid).get(fd) for fd in range(3)]


@pytest.mark.parametrize("closed", [[0], [1], [2], [0, 1, 2], [1, 2]])
def test_a_relay_never_logs_into_files_of_its_own(world, closed):
    state = world.path / "state"
    words = [BIN / "antennad", "--state", state, "--listen", "127.0.0.1:0", "--print-address"]
    process = subprocess.Popen(
        closing(words, closed), env=environment(world.path, ANTENNA_LOG__LEVEL="debug"),
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        def ctl(*words):
            return run([BIN / "antennactl", "--state", state, *words], env=environment(world.path))
        until(lambda: process.poll() is not None or ctl("status").code == 0, what="the start")
        assert process.poll() is None
        assert standard(process.pid) == ["/dev/null"] * 3
        assert ctl("rotate-key").code == 0
        assert (state / "relay.lock").read_text().strip() == str(process.pid)
    finally:
        process.terminate()
        # An answer that nobody got is no success.
        assert process.wait(20) == (74 if 1 in closed else 0)
    for file in state.iterdir():
        content = file.read_bytes()
        assert b"relay.ready" not in content and b"https://" not in content, file


@pytest.mark.parametrize("closed", [[0], [1], [2], [0, 1, 2]])
def test_a_post_never_prints_into_a_link_or_the_home(world, closed):
    relay, alice = world.relay("home"), world.person("alice")
    alice.know(relay)
    alice.create("news", relay)
    done = subprocess.run(
        closing([*alice.words, "post", "#news", "hello"], closed), env=alice.env, capture_output=True, timeout=60)
    assert done.returncode == (74 if 1 in closed else 0), done
    assert alice.texts("#news") == ["hello"]
    assert relay.channel("news")["messages"] == 1
    follow = subprocess.Popen(
        closing([*alice.words, "follow", "#news", "--last", "1"], closed), env=alice.env,
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until(lambda: follow.poll() is not None
              or any(what.startswith("socket:") for what in descriptors(follow.pid).values()), what="a link")
        if follow.poll() is None:
            assert standard(follow.pid) == ["/dev/null"] * 3
    finally:
        follow.terminate()
        follow.wait(20)


@pytest.mark.parametrize("limit", [9, 10, 12, 16, 18, 24])
def test_too_few_descriptors_are_told_in_a_sentence(world, limit):
    few = ["prlimit", f"--nofile={limit}:{limit}"]
    state = world.path / "state"
    refused = run([*few, BIN / "antennad", "--state", state, "--listen", "127.0.0.1:0"], env=environment(world.path))
    assert refused.code == 74 and f"only {limit} files may be open" in refused.err, refused
    assert not state.exists()
    home = world.path / "home"
    refused = run([*few, BIN / "antenna", "--home", home, "channel", "list"], env=environment(world.path))
    assert refused.code == 74 and f"only {limit} files may be open" in refused.err, refused
    assert not home.exists()


def test_just_enough_descriptors_are_enough(world):
    relay = world.relay("home", prefix=["prlimit", "--nofile=64:64"])
    alice = world.person("alice")
    alice.know(relay)
    alice.create("news", relay)
    few = ["prlimit", "--nofile=32:32"]
    assert run([*few, *alice.words, "post", "#news", "hello"], env=alice.env).code == 0
    assert alice.texts("#news") == ["hello"]


def test_the_words_arrive_whatever_was_loaded_before(world):
    """The Swift runtime finds no arguments once a library that was loaded first has set a variable."""
    compiler = next((c for c in map(shutil.which, ("cc", "clang", "gcc")) if c), None)
    if not compiler:
        pytest.skip("needs a C compiler")
    source, library = world.path / "early.c", world.path / "early.so"
    source.write_text("#include <stdlib.h>\n"
                      "__attribute__((constructor)) static void early(void) { setenv(\"EARLY\", \"1\", 1); }\n")
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, source], check=True)
    env = environment(world.path, LD_PRELOAD=str(library))
    for program in ("antenna", "antennad", "antennactl"):
        assert run([BIN / program, "--version"], env=env).out.startswith(f"{program} ")
    assert run([BIN / "antenna", "--home", world.path / "home", "profile", "alice b", "--json"], env=env).code == 0
    shown = run([BIN / "antenna", "--home", world.path / "home", "profile"], env=environment(world.path))
    assert shown.out == "alice b\n"
    unknown = run([BIN / "antenna", "channel", "list", "", "x"], env=env)
    assert unknown.code == 64 and "‘’" in unknown.err
