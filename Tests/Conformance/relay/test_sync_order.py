"""An ack leaves after the sync: the order of the relay's system calls, seen from outside."""

import re
import shutil
import subprocess

import pytest
from conftest import Channel, Relay

from antenna.client import LIVE

MESSAGES = 25
CALLS = "fsync,fdatasync,write,pwrite64,pwritev,pwritev2,writev,send,sendto,sendmsg,sendmmsg,msync"
SENDS = ("write", "writev", "sendto", "sendmsg", "sendmmsg")
WRITES = ("write", "pwrite64", "pwritev", "pwritev2", "writev")
SYNCS = ("fsync", "fdatasync")


@pytest.fixture
def strace():
    """strace that runs beside the program, so that signals go to the program itself."""
    assert shutil.which("strace"), "strace is missing: scripts/setup --tests installs it"
    tried = subprocess.run(["strace", "-o", "/dev/null", "true"], capture_output=True, text=True, timeout=20)
    if tried.returncode != 0 and "not permitted" in tried.stderr:
        pytest.skip(f"this environment forbids tracing: {tried.stderr.strip()}")
    assert tried.returncode == 0, tried.stderr
    return ["strace", "-D", "-f", "-qq", "-yy", "-s", "0", "-e", "signal=none"]


class TracedRelay(Relay):
    def __init__(self, strace, trace, state):
        self.prefix = [*strace, "-o", str(trace), "-e", f"trace={CALLS}"]
        super().__init__(state)


def calls(trace):
    """(name, what the descriptor is, "begun" or "done") in the order in which they happened."""
    open_calls = {}
    for line in trace.read_text(errors="replace").splitlines():
        found = re.match(r"(\d+) +(?:<\.\.\. )?(\w+)(\(| resumed>)(.*)", line)
        if not found:
            continue
        thread, name, form, rest = found.groups()
        if form == "(":
            descriptor = re.match(r"\d+<(.*?)>(?=[,)])", rest)
            what = descriptor.group(1) if descriptor else ""
            yield name, what, "begun"
            if rest.endswith("<unfinished ...>"):
                open_calls[thread] = what
                continue
        else:
            what = open_calls.pop(thread, "")
        # What failed is not done.
        if re.search(r"= \d+( |$)", rest):
            yield name, what, "done"


def test_every_ack_leaves_after_the_sync_of_its_commit(strace, tmp_path):
    state, trace = tmp_path / "state", tmp_path / "trace"
    state.mkdir()
    relay = TracedRelay(strace, trace, state)
    try:
        channel = Channel(relay)
        writer = channel.owner.attach(relay.link, LIVE)
        port = writer.link.stream.sock.getsockname()[1]
        for n in range(MESSAGES):
            # One after the other: the first bytes that come back are the ack or come with it.
            assert writer.publish(channel.owner.message(f"number {n}"))[0]["result"] == 0
        writer.close()
        channel.close()
    finally:
        relay.stop()

    answers = f":{port}]"
    log = [call for call in calls(trace) if call[1].endswith((answers, "/relay.db-wal"))]
    sends = [call for call in log if call[0] in SENDS and call[1].endswith(answers) and call[2] == "begun"]
    # The handshake and ATTACHED come before the first ack.
    assert len(sends) >= MESSAGES, f"{len(sends)} sends seen; is the trace cut?"

    commits, written, synced = 0, False, False
    for name, what, stage in log:
        if what.endswith("-wal"):
            if name in WRITES and stage == "begun":
                written, synced = True, False
            elif name in SYNCS and stage == "done" and written:
                synced = True
        elif name in SENDS and stage == "begun" and written:
            assert synced, f"something left for the author before the sync: commit {commits}"
            commits, written, synced = commits + 1, False, False
    assert commits >= MESSAGES, f"{commits} commits were followed by a send, {MESSAGES} messages were acked"
