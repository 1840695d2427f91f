"""What several links ask at once may be decided in one transaction; each hears of it in the order of deciding.

The database is locked from outside for a moment, so that what is asked meanwhile is decided together.
"""

import contextlib
import json
import os
import socket
import sqlite3

import pytest
from conftest import Channel

from antenna.client import ATTACH_CONTEXT, LIVE, Connection


@pytest.fixture
def channel(relays):
    channel = Channel(relays(relay__loops=2))
    yield channel
    channel.close()


@contextlib.contextmanager
def together(channel):
    """What is asked inside is decided in one transaction when the block ends."""
    database = sqlite3.connect(os.path.join(channel.relay.state, "relay.db"), isolation_level=None)
    asking = Connection.open(channel.relay.link)
    try:
        database.execute("begin exclusive")
        # This one the relay is busy with while the others come.
        asking.send("RECORD_GET", request=1, channel=channel.id)
        asking.ping()
        yield
    finally:
        database.rollback()
        database.close()
        asking.close()


def ask_to_attach(channel, subscriber, connection):
    message = (
        ATTACH_CONTEXT
        + connection.link.handshake_hash
        + channel.id
        + bytes([len(subscriber.member_id)])
        + subscriber.member_id
    )
    connection.send(
        "ATTACH",
        channel=channel.id,
        member=subscriber.member_id,
        signature=subscriber.key.sign(message),
        start=LIVE,
        epoch=bytes(8),
        position=0,
    )
    connection.ping()


def ask_to_leave(relay, name):
    """The operator's word, which the relay has when this returns. Returns what its answers are read from."""
    with socket.socket(socket.AF_UNIX) as operator:
        operator.settimeout(10)
        operator.connect(os.path.join(relay.state, "control.sock"))
        operator.sendall(b'{"id":1,"command":"leave","arguments":{"channel":"#%s"}}\n' % name)
        operator.sendall(b'{"id":2,"command":"version"}\n')
        answers = operator.makefile()
        assert json.loads(answers.readline())["id"] == 2
        return answers


def relay_channel(relay):
    return json.loads(relay.operator("channels", "--json").stdout)["channels"][0]["name"].lstrip("#").encode()


@pytest.fixture
def newcomer(channel):
    subscriber, connection = channel.reader()
    connection.close()
    return subscriber


@pytest.mark.parametrize("spare", [0, 1])
def test_who_attaches_gets_what_is_published_right_after(channel, newcomer, spare):
    writer = channel.writer()
    # Links go to the loops in turn: with one more or less the two are on one loop, or on two.
    others = [channel.keep(Connection.open(channel.relay.link)) for _ in range(spare)]
    reader = channel.keep(Connection.open(channel.relay.link))
    with together(channel):
        ask_to_attach(channel, newcomer, reader)
        request = writer.publish_request(channel.owner.message("right after"))
        writer.ping()
    assert writer.answer(request, "ACK").results[0]["result"] == 0
    reader.expect("ATTACHED")
    assert reader.next().text == "right after"
    assert len(others) == spare


def test_who_attaches_hears_that_the_channel_ends_right_after(channel, newcomer):
    reader = channel.keep(Connection.open(channel.relay.link))
    name = relay_channel(channel.relay)
    with together(channel):
        ask_to_attach(channel, newcomer, reader)
        answers = ask_to_leave(channel.relay, name)
    assert json.loads(answers.readline())["ok"]
    reader.expect("ATTACHED")
    assert reader.next().event.tag == "x.grp.leave"
    assert reader.error().code == 21


def test_an_owner_who_comes_hears_that_the_operator_leaves_right_after(channel):
    owner = channel.owner
    control = channel.keep(Connection.open(channel.relay.link))
    name = relay_channel(channel.relay)
    with together(channel):
        proof = owner.proof(control.link.handshake_hash)
        control.send(
            "CONTROL", channel=owner.channel, owner=owner.member_id, signature=proof, flags=0, record=b""
        )
        control.ping()
        answers = ask_to_leave(channel.relay, name)
    assert json.loads(answers.readline())["ok"]
    assert control.expect_direct("x.grp.relay.reject").params["reason"] == "rejoin_rejected"
    assert control.error().code == 21
