"""link.md: preface, handshake and records, against a responder in this process."""

import threading

import pytest

from antenna import wire
from antenna.bytesio import WireError
from antenna.keys import KeyPair
from antenna.noise_link import AESGCM, CHACHAPOLY, Deadline, LinkClosed, Refused, fresh_x25519
from antenna.responder import Responder, certificate

BOTH = CHACHAPOLY | AESGCM


@pytest.mark.parametrize(
    "offered, known, chosen",
    [
        (BOTH, BOTH, AESGCM),
        (BOTH, CHACHAPOLY, CHACHAPOLY),
        (CHACHAPOLY, BOTH, CHACHAPOLY),
        (BOTH, AESGCM, AESGCM),
    ],
)
def test_both_ends_agree_and_records_travel_both_ways(offered, known, chosen):
    relay = Responder(known)
    link = relay.connect(relay.identity.public, offered)
    assert link.suite == chosen and link.identity == relay.identity.public
    assert link.handshake_hash == relay.link.handshake_hash and len(link.handshake_hash) == 64
    frame = wire.encode("RECORD_GET", request=1, channel=bytes(32))
    for sender, receiver in ((link, relay.link), (relay.link, link)):
        sender.send(*[frame] * 5)
        sender.send_plaintext(frame + bytes(7))
        assert [receiver.receive(Deadline(5)).request for _ in range(6)] == [1] * 6


def test_many_large_frames_fill_as_few_records_as_they_fit():
    relay = Responder()
    link = relay.connect()
    frames = [wire.encode("DIRECT", body=bytes(16384))] * 7
    sender = threading.Thread(target=link.send, args=frames)
    sender.start()
    sizes = [len(wire.split_record(relay.link.receive_record(Deadline(5)))) for _ in range(3)]
    sender.join(5)
    assert sizes == [3, 3, 1]


def test_a_ping_is_answered_with_the_same_bytes_while_reading():
    relay = Responder()
    link = relay.connect()
    relay.link.answer_pings = False
    relay.link.send(wire.encode("PING", data=b"12345678"), wire.encode("DRAIN", delay_ms=1))
    assert link.receive(Deadline(5)).name == "DRAIN"
    assert relay.link.receive(Deadline(5)).data == b"12345678"


def test_frames_of_a_later_version_are_passed_over():
    relay = Responder()
    link = relay.connect()
    relay.link.send(wire.raw_frame(0x80, b"?"), wire.encode("DRAIN", delay_ms=1))
    assert link.receive(Deadline(5)).name == "DRAIN"


def fails(relay, expected=WireError, **options):
    with pytest.raises(expected):
        relay.connect(**options)


def test_a_changed_preface_breaks_the_handshake():
    fails(Responder(change=lambda sent: sent[:6] + b"\0\1" + sent[8:]), expected=Refused)
    fails(Responder(change=lambda sent: sent[:5] + bytes([CHACHAPOLY]) + sent[6:]))


def flip(data, at):
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


@pytest.mark.parametrize("at", [0, 4, 5, 10, 42, 90, 200])
def test_a_flipped_bit_anywhere_in_the_relays_flight_breaks_it(at):
    fails(Responder(change=lambda sent: flip(sent, at)))


def test_a_suite_that_was_not_offered_is_not_taken():
    fails(Responder(choose=AESGCM), suites=CHACHAPOLY)


def test_another_identity_than_the_links_is_refused():
    fails(Responder(), identity=KeyPair().public)


@pytest.mark.parametrize(
    "certify",
    [
        lambda identity, static: certificate(identity, fresh_x25519()[1]),
        lambda identity, static: certificate(identity, static, not_after=1000),
        lambda identity, static: certificate(identity, static, not_before=2**40),
        lambda identity, static: flip(certificate(identity, static), 100),
        lambda identity, static: flip(certificate(identity, static), 0),
        lambda identity, static: certificate(identity, static)[:-1],
        lambda identity, static: b"",
    ],
    ids=["other static", "expired", "not yet", "bad signature", "other form", "cut", "none"],
)
def test_a_certificate_that_fails_a_check_is_refused(certify):
    fails(Responder(certify=certify))


def test_validity_has_five_minutes_of_tolerance_each_way():
    import time

    now = int(time.time())
    relay = Responder(certify=lambda i, s: certificate(i, s, not_before=now + 200, not_after=now + 300))
    relay.connect()
    relay = Responder(certify=lambda i, s: certificate(i, s, not_before=now - 900, not_after=now - 200))
    relay.connect()


def test_a_refusal_is_a_number():
    with pytest.raises(Refused) as refused:
        Responder(refusal=6).connect()
    assert refused.value.code == 6


def test_a_record_that_was_changed_or_repeated_does_not_open():
    for spoil in (lambda record: flip(record, len(record) - 1), lambda record: flip(record, 5)):
        relay = Responder()
        link = relay.connect()
        link.stream.write(spoil(link.seal(wire.encode("PING", data=bytes(8)))), Deadline(5))
        with pytest.raises(WireError):
            relay.link.receive(Deadline(5))
    relay = Responder()
    link = relay.connect()
    record = link.seal(wire.encode("DRAIN", delay_ms=1))
    link.stream.write(record * 2, Deadline(5))
    assert relay.link.receive(Deadline(5)).name == "DRAIN"
    with pytest.raises(WireError):
        relay.link.receive(Deadline(5))


def test_the_end_of_the_stream_is_told():
    relay = Responder()
    link = relay.connect()
    relay.link.close()
    with pytest.raises(LinkClosed):
        link.receive(Deadline(5))
