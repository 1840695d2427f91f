"""`scripts/run`: the first thing a newcomer sees."""

import os
import pathlib
import re
import signal
import subprocess

import pytest

from harness import ROOT, WAIT, until

ENVIRONMENT = {**os.environ, "ANTENNA_CONFIGURATION": "debug"}


def leftovers():
    """Processes and directories of demonstrations."""
    found = [str(path) for path in pathlib.Path("/tmp").glob("antenna-demo.*")]
    for folder in pathlib.Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                line = (folder / "cmdline").read_bytes()
            except OSError:
                continue
            if b"/tmp/antenna-demo." in line:
                found.append(line.replace(b"\0", b" ").decode())
    return found


@pytest.fixture(autouse=True)
def cleans_up():
    before = set(leftovers())
    yield
    assert set(leftovers()) - before == set()


def run(**stdin):
    return subprocess.run(
        [ROOT / "scripts/run"], capture_output=True, text=True, timeout=110, env=ENVIRONMENT, **stdin)


def test_every_piped_line_reaches_both_subscribers():
    done = run(input="hello\nwörld\n\nlast line without its end")
    assert done.returncode == 0, done
    for text in ("hello", "wörld", "last line without its end"):
        for reader in ("reader-1", "reader-2"):
            assert re.search(rf"{reader} received ‘{text}’ after \d+\.\d ms", done.stdout), done
    assert "address   https://127.0.0.1/r#" in done.stdout
    assert re.search(r"3 published, 3 received by both subscribers; .*median \d+\.\d ms", done.stdout), done


@pytest.mark.parametrize("stdin", [{"input": ""}, {"stdin": subprocess.DEVNULL}], ids=["empty", "null"])
def test_without_input_one_message_is_shown(stdin):
    done = run(**stdin)
    assert done.returncode == 0, done
    assert "1 published, 1 received by both subscribers" in done.stdout


def test_with_standard_input_closed():
    done = subprocess.run(
        ["bash", "-c", "exec scripts/run <&-"], capture_output=True, text=True, timeout=110, env=ENVIRONMENT, cwd=ROOT)
    assert done.returncode == 0, done
    assert "1 published, 1 received by both subscribers" in done.stdout


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_ends_it_cleanly(number):
    # A process group of its own, as a terminal would have it: Ctrl-C goes to all of it.
    process = subprocess.Popen(
        [ROOT / "scripts/run"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=ENVIRONMENT, start_new_session=True)
    process.stdin.write("hello\n")
    process.stdin.flush()
    seen = ""
    while "reader-2 received" not in seen:
        line = process.stdout.readline()
        assert line, seen + process.stderr.read()
        seen += line
    if number == signal.SIGINT:
        os.killpg(process.pid, number)
    else:
        process.send_signal(number)
    out, err = process.communicate(timeout=WAIT)
    assert process.returncode == 0, (out, err)
    assert "1 published" in out


def group(number):
    """The processes of a process group."""
    found = []
    for folder in pathlib.Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[2]) == number and fields[0] != "Z":
                found.append(int(folder.name))
    return found


def endless_build(world, stderr, **environment):
    """The script in a group of its own, with a compiler that does not come to an end."""
    (world.path / "swift").write_text("#!/bin/sh\necho '[7/9] Compiling'\nexec /bin/sleep 60\n")
    # A second of the script is a moment here.
    (world.path / "sleep").write_text("#!/bin/sh\nexec /bin/sleep 0.01\n")
    for name in ("swift", "sleep"):
        (world.path / name).chmod(0o755)
    return subprocess.Popen(
        [ROOT / "scripts/run"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=stderr,
        env={**ENVIRONMENT, "PATH": f"{world.path}:{ENVIRONMENT['PATH']}", **environment}, start_new_session=True,
        # Who runs the tests in the background may ignore it, and a script cannot undo that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))


@pytest.mark.parametrize("terminal", [True, False], ids=["terminal", "pipe"])
def test_a_long_build_is_seen_to_go_on_and_leaves_nothing_when_it_is_stopped(world, terminal):
    if terminal:
        reading, writing = os.openpty()
    else:
        reading, writing = os.pipe()
    process = endless_build(world, writing)
    os.close(writing)
    seen, wanted = "", "building, 0 s (a few" if terminal else " s: [7/9] Compiling"
    while wanted not in seen:
        seen += os.read(reading, 4096).decode()
    os.killpg(process.pid, signal.SIGINT)
    process.wait(WAIT)
    until(lambda: not group(process.pid), what="the end of all that was started")
    os.close(reading)


def test_a_signal_before_the_build_is_known_ends_it_too(world):
    # The script interrupts itself where it is about to note the number of the build's process.
    script = world.path / "interrupt"
    script.write_text("set -T\ntrap '[ \"$BASH_COMMAND\" != \"child=\\$!\" ] || [ -z \"${ticker:-}\" ] || kill -INT $$' DEBUG\n")
    process = endless_build(world, subprocess.DEVNULL, BASH_ENV=str(script))
    try:
        assert process.wait(WAIT) == 0
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    until(lambda: not group(process.pid), what="the end of all that was started")
