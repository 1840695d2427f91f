"""A frame that its state does not list is error 1 and ends the link (frames.md, "Opening a link")."""

import pytest

from antenna import elements, wire
from antenna.bytesio import len16
from antenna.client import LIVE, Connection, RemoteError
from antenna.noise_link import MAGIC, Deadline, LinkClosed, Stream, fresh_x25519
from antenna.people import Subscriber, relay_test

ALWAYS = {"ERROR", "PING", "PONG"}
LISTED = {
    "open": {"CONTROL", "JOIN", "ATTACH", "RECORD_GET", "DIRECT"},
    "control": {"DIRECT", "RECORD_PUT", "MEMBERS_GET", "RECORD_GET"},
    "joined": {"ATTACH"},
    "member": {"PUBLISH", "HISTORY_GET", "RECORD_GET"},
}
WRONG = [
    (state, name) for state, listed in LISTED.items() for name in wire.TABLE if name not in listed | ALWAYS
]
KINDS = {"u8": 1, "u16": 1, "u32": 1, "i64": 1, "len8": b"x", "len16": b"x", "tail": b"{}", "bool": True}


def filled(name):
    def sample(spec):
        return {
            f: [sample(k)]
            if isinstance(k, list)
            else bytes(k)
            if isinstance(k, int)
            else bytes(64)
            if f == "signature"
            else KINDS[k]
            for f, k in spec
        }

    return wire.encode(name, **sample(wire.TABLE[name][1]))


def link_in(state, channel):
    if state == "open":
        return channel.keep(Connection.open(channel.relay.link))
    if state == "control":
        return channel.keep(channel.owner.control(channel.relay.link))
    if state == "member":
        return channel.writer()
    subscriber = Subscriber(str(channel.owner.link))
    connection = channel.keep(Connection.open(channel.relay.link))
    connection.join(channel.id, subscriber.application(channel.entry.member_id))
    return connection


def ends(connection, *codes):
    error = connection.error()
    assert error.code in codes, error
    with pytest.raises(LinkClosed):
        connection.link.receive(Deadline(10))


@pytest.mark.parametrize("state, name", WRONG)
def test_a_frame_out_of_its_state_ends_the_link(channel, state, name):
    connection = link_in(state, channel)
    connection.link.send(filled(name))
    ends(connection, 1)


@pytest.mark.parametrize("state", LISTED)
def test_frames_from_80_are_ignored_and_other_unknown_ones_end_the_link(channel, state):
    connection = link_in(state, channel)
    connection.link.send(wire.raw_frame(0x80, b"later"), wire.raw_frame(0xFF, b""))
    assert connection.ping() == b"conform!"
    connection.link.send(wire.raw_frame(0x05, b""))
    ends(connection, 3)


@pytest.mark.parametrize("state", LISTED)
def test_a_frame_that_is_cut_is_a_bad_frame(channel, state):
    for name in sorted(LISTED[state] - {"DIRECT"}):  # which has no fields that could be cut
        connection = link_in(state, channel)
        data = filled(name)
        connection.link.send(wire.raw_frame(data[0], data[3:6]))
        ends(connection, 3)


@pytest.mark.parametrize("state", LISTED)
def test_a_body_over_16384_bytes_is_too_large(channel, state):
    connection = link_in(state, channel)
    connection.link.send_plaintext(b"\x28" + len16(bytes(16385)))
    ends(connection, 3, 4)


def test_trailing_bytes_after_the_fields_are_ignored(channel):
    connection = channel.keep(Connection.open(channel.relay.link))
    data = wire.encode("RECORD_GET", request=7, channel=channel.id)
    connection.link.send(wire.raw_frame(data[0], data[3:] + b"later"))
    assert connection.answer(7, "RECORD").record == channel.owner.encoded


def test_request_0_is_not_a_request(channel):
    connection = channel.keep(Connection.open(channel.relay.link))
    connection.send("RECORD_GET", request=0, channel=channel.id)
    ends(connection, 3)


def test_a_ninth_anonymous_question_ends_the_link(channel):
    connection = channel.keep(Connection.open(channel.relay.link))
    for _ in range(7):
        connection.get_record(channel.id)
    assert relay_test(connection, bytes(32))
    connection.send("RECORD_GET", request=9, channel=channel.id)
    ends(connection, 1)


def test_of_nine_questions_in_one_record_eight_are_answered_before_the_end(channel):
    connection = channel.keep(Connection.open(channel.relay.link))
    connection.link.send(*[wire.encode("RECORD_GET", request=i, channel=channel.id) for i in range(1, 10)])
    for request in range(1, 9):
        assert connection.answer(request, "RECORD").record == channel.owner.encoded
    ends(connection, 1)


def test_an_anonymous_link_may_still_become_something(channel):
    subscriber, _ = channel.reader()
    with Connection.open(channel.relay.link) as connection:
        connection.get_record(channel.id)
        connection.attach(channel.id, subscriber.member_id, subscriber.key, LIVE)
        connection.get_record(channel.id)
    other = Subscriber(str(channel.owner.link))
    with Connection.open(channel.relay.link) as connection:
        assert relay_test(connection, bytes(range(32)))
        connection.join(channel.id, other.application(channel.entry.member_id))
        connection.attach(channel.id, other.member_id, other.key, LIVE)
        channel.write("for the new one")
        assert connection.next().text == "for the new one"


@pytest.mark.parametrize("start, position", [(3, 0), (255, 0), (0, -1)])
def test_an_unknown_kind_of_start_is_refused(channel, start, position):
    subscriber, first = channel.reader()
    with Connection.open(channel.relay.link) as connection:
        with pytest.raises(RemoteError) as problem:
            connection.attach(
                channel.id, subscriber.member_id, subscriber.key, start, first.attached.epoch, position
            )
    assert problem.value.code == 3


def test_an_unknown_history_mode_fails_the_request_or_the_link(channel):
    connection = channel.writer()
    with pytest.raises(RemoteError) as problem:
        connection.history(9, 1, 1)
    assert problem.value.code == 3


def test_padding_must_be_zero(channel):
    connection = channel.writer()
    connection.link.send_plaintext(wire.encode("PING", data=bytes(8)) + bytes(5) + b"\1")
    ends_somehow(connection)


@pytest.mark.parametrize("plaintext", [b"", bytes(10)])
def test_a_record_without_a_frame_ends_the_link(channel, plaintext):
    connection = channel.writer()
    connection.link.stream.write(connection.link.seal(plaintext), Deadline(5))
    ends_somehow(connection)


def ends_somehow(connection):
    """Ends with or without an ERROR before it."""
    try:
        error = connection.error()
    except LinkClosed:
        return
    assert error.code == 3


def test_a_record_that_does_not_open_ends_the_link_without_an_answer(channel):
    connection = channel.writer()
    sealed = bytearray(connection.link.seal(wire.encode("PING", data=bytes(8))))
    sealed[-1] ^= 1
    connection.link.stream.write(bytes(sealed), Deadline(5))
    with pytest.raises(LinkClosed):
        connection.link.receive(Deadline(10))


def raw_preface(channel, first):
    import socket

    host, port, _ = channel.relay.link.endpoints()[0]
    stream = Stream(socket.create_connection((host, port), 10))
    stream.write(first, Deadline(10))
    return stream


@pytest.mark.parametrize("versions", [(2, 9), (0, 0), (255, 255)])
def test_no_common_version_is_refusal_2(channel, versions):
    stream = raw_preface(channel, MAGIC + bytes([*versions, 3, 0]) + fresh_x25519()[1])
    assert stream.read(8, Deadline(10)) == MAGIC + b"\0\0\0\2"
    with pytest.raises(LinkClosed):
        stream.read(1, Deadline(10))
    stream.close()


def test_a_range_that_holds_version_1_is_taken_and_later_suite_bits_are_ignored(channel):
    stream = raw_preface(channel, MAGIC + bytes([1, 200, 0xFD, 0]) + fresh_x25519()[1])
    assert stream.read(8, Deadline(10)) == MAGIC + b"\1\1\0\0"
    stream.close()


@pytest.mark.parametrize(
    "first", [b"GET / HTTP/1.1\r\nHost: x\r\n\r\n" + bytes(40), b"\x16\x03\x01" + bytes(60), bytes(40)]
)
def test_what_does_not_begin_with_the_magic_is_closed(channel, first):
    stream = raw_preface(channel, first)
    with pytest.raises(LinkClosed):
        stream.read(64, Deadline(10))
    stream.close()


def test_another_event_than_the_test_on_an_open_link_is_no_question(channel):
    connection = channel.keep(Connection.open(channel.relay.link))
    connection.direct(elements.Plain(elements.event("x.ok", {})))
    ends(connection, 1, 48)
