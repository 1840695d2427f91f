"""Whoever does not read what a program says holds nobody up."""

import fcntl
import os
import pathlib
import signal
import subprocess

import pytest

from harness import BIN, environment, run, until

F_SETPIPE_SZ = 1031


def full_pipe():
    """A pipe that takes nothing more: its two ends."""
    read, write = os.pipe()
    fcntl.fcntl(write, F_SETPIPE_SZ, 4096)
    os.write(write, b"." * 4096)
    return read, write


def threads(pid):
    return [(task / "comm").read_text().strip() for task in pathlib.Path(f"/proc/{pid}/task").iterdir()]


def test_a_relay_whose_log_is_not_read_works(world):
    state = world.path / "state"
    read, write = full_pipe()
    process = subprocess.Popen(
        [BIN / "antennad", "--state", state, "--listen", "127.0.0.1:0"], stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=write, env=environment(world.path, ANTENNA_LOG__LEVEL="debug"))
    os.close(write)
    try:
        def ctl(*words):
            return run([BIN / "antennactl", "--state", state, *words], env=environment(world.path))
        until(lambda: process.poll() is not None or ctl("status").code == 0, what="the start")
        assert process.poll() is None
        assert ctl("reload").code == 0 and ctl("rotate-key").code == 0
        os.set_blocking(read, False)
        os.read(read, 1 << 16)
        assert ctl("reload").code == 0
        assert b"log-left-out" in os.read(read, 1 << 16)
    finally:
        process.terminate()
        assert process.wait(20) == 0
        os.close(read)


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_a_stream_that_is_not_read_ends_when_asked(world, stop):
    relay, alice = world.relay("home"), world.person("alice")
    alice.know(relay)
    alice.create("news", relay)
    for _ in range(3):
        alice.post("#news", "x" * 9000)
    read, write = os.pipe()
    fcntl.fcntl(write, F_SETPIPE_SZ, 4096)
    follow = subprocess.Popen(
        [*map(str, alice.words), "follow", "#news", "--since", "2020-01-01"], stdin=subprocess.DEVNULL, stdout=write,
        stderr=subprocess.DEVNULL, env=alice.env)
    os.close(write)
    try:
        # It waits with the rest of a message once the first part of it is there.
        assert os.read(read, 1)
        # What it does when it is asked to end is settled after the first item only.
        until(lambda: "signals" in threads(follow.pid), what="the watch for signals")
        follow.send_signal(stop)
        assert follow.wait(20) == 0
    finally:
        follow.kill()
        follow.wait()
        os.close(read)


def test_whoever_reads_slowly_gets_everything(world):
    relay, alice = world.relay("home"), world.person("alice")
    alice.know(relay)
    alice.create("news", relay)
    for number in range(4):
        alice.post("#news", f"{number}" * 9000)
    read, write = os.pipe()
    fcntl.fcntl(write, F_SETPIPE_SZ, 4096)
    follow = subprocess.Popen(
        [*map(str, alice.words), "follow", "#news", "--since", "2020-01-01", "--count", "4"], stdin=subprocess.DEVNULL,
        stdout=write, stderr=subprocess.DEVNULL, env=alice.env)
    os.close(write)
    got = b""
    while piece := os.read(read, 700):
        got += piece
    assert follow.wait(20) == 0
    os.close(read)
    assert [got.count(f"{number}".encode() * 9000) for number in range(4)] == [1] * 4
