"""The control socket and the descriptors behind it: scripts, too many clients, nothing left to open."""

import json
import os
import socket
import time

import pytest

from harness import until


def dial(relay):
    """A connection to the control socket; where its queue is full, one when there is room."""
    def attempt():
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(10)
        try:
            connection.connect(str(relay.state / "control.sock"))
            return connection
        except BlockingIOError:
            connection.close()
    return until(attempt, what="room in the queue of the control socket")


def lines(connection):
    data = b""
    while piece := connection.recv(65536):
        data += piece
    return [json.loads(line) for line in data.splitlines()]


def cpu_seconds(process):
    fields = open(f"/proc/{process.pid}/stat").read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_a_script_that_ends_its_half_is_answered(world):
    relay = world.relay("home")
    for _ in range(5):
        with dial(relay) as connection:
            connection.sendall(b'{"id":1,"command":"status"}\n{"id":2,"command":"version"}\n'
                               b'{"id":3,"command":"channels"}\n')
            connection.shutdown(socket.SHUT_WR)
            answers = lines(connection)
        assert sorted(a["id"] for a in answers) == [1, 2, 3] and all(a["ok"] for a in answers), answers


def test_one_connection_too_many_is_told_so(world):
    relay = world.relay("home")
    held = [dial(relay) for _ in range(64)]
    with dial(relay) as connection:
        answers = lines(connection)
    assert [(a["id"], a["error"]["name"]) for a in answers] == [(0, "too-many-connections")]
    refused = relay.ctl("status", "--json", code=75)
    assert "connections" in refused.error["message"]
    for connection in held:
        connection.close()
    assert until(lambda: relay.ctl("status", code=None).code == 0)


@pytest.mark.parametrize("limit", [64, 300])
def test_few_descriptors_leave_the_operator_and_the_database_theirs(world, limit):
    relay = world.relay("home", prefix=["prlimit", f"--nofile={limit}:{limit}"])
    assert "descriptors.few" in relay.log_text
    links = relay.ctl("status", "--json").json["links"]
    assert links["limit"] == limit - min(256, limit // 2)
    peers = [socket.create_connection(("127.0.0.1", relay.port)) for _ in range(limit)]
    until(lambda: relay.ctl("status", "--json").json["links"]["total"] == links["limit"])
    # Of what is left, more is asked for than there is; the relay must not turn in circles over it.
    held = []
    try:
        for _ in range(200):
            connection = socket.socket(socket.AF_UNIX)
            held.append(connection)
            connection.settimeout(0.2)
            connection.connect(str(relay.state / "control.sock"))
    except (BlockingIOError, TimeoutError):
        pass
    before, log = cpu_seconds(relay.process), len(relay.log_text)
    started = time.monotonic()
    until(lambda: time.monotonic() - started > 1)
    assert cpu_seconds(relay.process) - before < 0.3
    assert len(relay.log_text) - log < 2000
    for thing in peers + held:
        thing.close()
    until(lambda: relay.ctl("status", code=None).code == 0)
    alice = world.person("alice")
    alice.know(relay)
    assert until(lambda: alice("channel", "create", "news", "--relay", "home", code=None).code == 0)
