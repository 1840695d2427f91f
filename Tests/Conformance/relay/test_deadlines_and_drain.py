"""link.md's deadlines (those that a test can wait for) and DRAIN."""

import signal
import socket
import time

import pytest

from antenna.client import LIVE, Connection, ended
from antenna.noise_link import Deadline, LinkClosed, Stream, client_preface
from antenna.people import Owner, Subscriber


def test_who_says_nothing_is_closed_and_who_opens_nothing_is_told(relay):
    host, port, _ = relay.link.endpoints()[0]
    silent = Stream(socket.create_connection((host, port), 10))
    half = Stream(socket.create_connection((host, port), 10))
    half.write(client_preface(3), Deadline(5))
    begun = time.monotonic()
    shaken = Connection.open(relay.link)
    chatty = Connection.open(relay.link)
    chatty.ping()
    assert shaken.error(20).code == 5
    assert chatty.error(5).code == 5, "a PING opens nothing"
    assert 8 < time.monotonic() - begun < 16
    for stream in (silent, half):
        with pytest.raises(LinkClosed):
            stream.read(1, Deadline(5))
        stream.close()
    shaken.close()
    chatty.close()


def test_a_relay_that_stops_says_so_to_everybody(own_relay):
    owner = Owner([own_relay.link])
    control = owner.establish(own_relay.link)
    readers = [Subscriber(str(owner.link)).subscribe(LIVE) for _ in range(20)]
    with owner.attach(own_relay.link, LIVE) as writer:
        assert writer.publish(owner.message("the last"))[0]["result"] == 0
    own_relay.process.send_signal(signal.SIGTERM)
    delays = []
    for reader in [*readers, control]:
        delays.append(reader.expect("DRAIN").delay_ms)
        ended(reader, 7)
    for reader in readers:
        assert any(frame.name == "DELIVER" for frame in reader.inbox), (
            "what was acked is delivered before the end"
        )
    assert len(set(delays)) > len(delays) // 2, "each link has its own delay"
    assert own_relay.stop() == 0
