"""The control socket and the descriptors behind it: scripts, too many clients, nothing left to open."""

import json
import os
import signal
import socket
import threading
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


def test_a_last_line_without_its_newline_is_answered(world):
    relay = world.relay("home")
    for text, ids in ((b'{"id":1,"command":"status"}', [1]), (b'{"id":1,"command":"version"}\n{"id":2,"command":"status"}', [1, 2]),
                      (b'{"id":3,"command":"version"}', [3]), (b'{"id":4', [0]), (b"", []), (b"\n", [])):
        with dial(relay) as connection:
            connection.sendall(text)
            connection.shutdown(socket.SHUT_WR)
            assert sorted(answer["id"] for answer in lines(connection)) == ids, text


def test_numbers_that_make_no_sense_change_nothing(world):
    relay = world.relay("home")
    alice = world.person("alice")
    alice.know(relay)
    alice("channel", "create", "news", "--relay", "home")
    for text in ("one", "two", "three"):
        alice("post", "#news", text)
    stored = lambda: relay.ctl("status", "--json").json["storage"]["messages"]
    before = stored()
    wrong = ["-1", "0", "1.5", '"1"', "true", "2147483648", "-9223372036854775808", "9223372036854775808", "1e400"]
    requests = [("prune", f'"keep":{number}') for number in wrong] + [("prune", '"channel":""'), ("prune", '"channel":"#"')]
    requests += [(command, f'"limit":{number}') for command in ("audit", "members") for number in [*wrong[:5], "1001"]]
    with dial(relay) as connection:
        for id, (command, argument) in enumerate(requests, 1):
            arguments = argument if "channel" in argument else '"channel":"#news",' + argument
            connection.sendall(b'{"id":%d,"command":"%s","arguments":{%s}}\n' % (id, command.encode(), arguments.encode()))
        connection.shutdown(socket.SHUT_WR)
        answers = lines(connection)
    assert [(a["id"], a["error"]["name"]) for a in answers] == \
        [(id, "bad-request") for id in range(1, len(requests) + 1)], answers
    assert stored() == before
    assert not [a for a in relay.ctl("audit", "--json").json["actions"] if a["action"] == "prune"]


def test_a_full_queue_is_waited_for(world):
    """The relay stands still, its queue is full: who asks then is served when it goes on, or told what is the matter."""
    relay = world.relay("home")
    os.kill(relay.process.pid, signal.SIGSTOP)
    held = []
    try:
        for _ in range(1000):
            connection = socket.socket(socket.AF_UNIX)
            connection.setblocking(False)
            held.append(connection)
            connection.connect(str(relay.state / "control.sock"))
        raise AssertionError("the queue never fills")
    except BlockingIOError:
        pass
    try:
        refused = relay.ctl("status", "--json", "--timeout", "1", code=75)
        assert "too many programs wait" in refused.error["message"], refused
        waiting = threading.Thread(target=lambda: answers.append(relay.ctl("status", "--json", code=None)))
        answers = []
        waiting.start()
        for connection in held:
            connection.close()
    finally:
        os.kill(relay.process.pid, signal.SIGCONT)
    waiting.join(30)
    assert answers and answers[0].code == 0, answers


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
