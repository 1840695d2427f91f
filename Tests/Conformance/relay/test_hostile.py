"""Garbage, cut-off and frozen peers cost themselves only."""

import random
import socket
import threading

import pytest

from antenna import wire
from antenna.bytesio import len16
from antenna.client import AFTER, LIVE, Connection, RemoteError
from antenna.noise_link import MAGIC, Deadline, LinkClosed, client_preface, fresh_x25519

RANDOM = random.Random(20261130)


def dial(relay):
    host, port, _ = relay.link.endpoints()[0]
    return socket.create_connection((host, port), 10)


@pytest.fixture
def witness(channel):
    """Another reader: after each test it must get what is published, at once and in order."""
    _, reader = channel.reader()
    yield reader
    channel.write("one", "two")
    assert [d.text for d in reader.deliveries(2)] == ["one", "two"]


def test_random_first_bytes(relay, witness):
    for count in [0, 1, 3, 7, 8, 39, 40, 41, 1000, 70000]:
        with dial(relay) as sock:
            try:
                sock.sendall(RANDOM.randbytes(count))
            except ConnectionError:
                pass


def test_a_handshake_cut_at_every_byte(relay, witness):
    hello = client_preface(3) + fresh_x25519()[1]
    for cut in range(len(hello)):
        with dial(relay) as sock:
            sock.sendall(hello[:cut])


def test_an_ephemeral_key_of_low_order_is_closed(relay, witness):
    for point in (bytes(32), b"\1" + bytes(31)):
        with dial(relay) as sock:
            sock.sendall(client_preface(1) + point)
            sock.settimeout(10)
            rest = b""
            try:
                while piece := sock.recv(4096):
                    rest += piece
            except ConnectionError:
                pass
            assert rest in (b"", rest[:8]) and rest[:4] in (b"", MAGIC)


def test_garbage_after_the_handshake(relay, witness):
    for garbage in (
        b"\0\0",
        b"\0\x10" + bytes(16),
        b"\xff\xff" + RANDOM.randbytes(65535),
        RANDOM.randbytes(300),
    ):
        connection = Connection.open(relay.link)
        try:
            connection.link.stream.write(garbage, Deadline(10))
        except LinkClosed:
            pass
        connection.cut()


def test_a_record_cut_at_every_byte(relay, witness):
    connection = Connection.open(relay.link)
    size = len(connection.link.seal(wire.encode("PING", data=bytes(8))))
    connection.close()
    for cut in range(size):
        connection = Connection.open(relay.link)
        connection.link.stream.write(
            connection.link.seal(wire.encode("PING", data=bytes(8)))[:cut], Deadline(10)
        )
        connection.close()


@pytest.mark.parametrize("number", [n for n in range(1, 0x30) if n not in (1, 3, 4)])
def test_random_bodies_of_every_type(channel, witness, number):
    """On an open, a control and a member link; whatever is answered, it is a frame of the protocol."""
    for opened in (
        lambda: Connection.open(channel.relay.link),
        lambda: channel.owner.control(channel.relay.link),
        lambda: channel.owner.attach(channel.relay.link, LIVE),
    ):
        connection = opened()
        try:
            for size in (0, 1, 40, 300):
                connection.link.send(wire.raw_frame(number, RANDOM.randbytes(size)))
            connection.ping()
        except (RemoteError, LinkClosed):
            pass
        finally:
            connection.close()


def test_mutated_frames_of_a_real_session(channel, witness):
    for _ in range(60):
        connection = channel.owner.attach(channel.relay.link, LIVE)
        data = bytearray(
            wire.encode("PUBLISH", request=1, body=channel.owner.message("mutant", signed=False).encode())
        )
        for _ in range(RANDOM.randint(1, 4)):
            data[RANDOM.randrange(len(data))] = RANDOM.randrange(256)
        try:
            connection.link.send_plaintext(bytes(data))
            connection.ping()
        except (RemoteError, LinkClosed):
            pass
        finally:
            connection.cut()


def test_deep_json_and_endless_numbers_are_only_malformed(channel, witness):
    writer = channel.writer()
    deep = b"[" * 7000 + b"]" * 7000
    for params in (
        b'{"content":' + deep + b"}",
        b'{"content":' + b'{"a":' * 2000 + b"1" + b"}" * 2000 + b"}",
        b'{"content":{"type":"text","text":"x","n":' + b"9" * 5000 + b"}}",
        b'{"content":{"type":"text","text":"\\ud800"}}',
        b'{"content":{"type":"text","text":"\xff"}}',
    ):
        from antenna import elements

        json = b'{"v":"9-19","msgId":"' + b"AQID" * 4 + b'","event":"x.unheard","params":' + params + b"}"
        element = elements.sign(json, channel.id, channel.owner.member_id, channel.owner.key)
        assert writer.publish(element)[0]["result"] == 2


def test_a_compressed_bomb_is_refused(channel, witness):
    zstandard = pytest.importorskip("zstandard")
    writer = channel.writer()
    for size in (65537, 50_000_000):
        frame = zstandard.ZstdCompressor().compress(b"{" * size)
        request = writer.publish_request(b"X\x011" + len16(frame))
        with pytest.raises(RemoteError) as problem:
            writer.answer(request, "ACK")
        assert problem.value.code in (3, 4)


def test_many_requests_without_reading_the_answers(channel, witness):
    """At most 64 KiB of answers wait on a link; the link may end, nothing else may happen."""
    connection = Connection.open(channel.relay.link, receive_buffer=4096)
    connection.attach(channel.id, channel.owner.member_id, channel.owner.key, LIVE)
    try:
        for request in range(1, 400):
            connection.link.send(
                *[wire.encode("RECORD_GET", request=request, channel=channel.id)] * 20, deadline=Deadline(3)
            )
    except (LinkClosed, TimeoutError):
        pass
    connection.cut()


def test_a_frozen_reader_delays_nobody_and_resumes(channel):
    subscriber, frozen = channel.reader(receive_buffer=4096)
    readers = [channel.reader()[1] for _ in range(3)]
    count, text = 300, "x" * 8000
    got, problems = [], []

    def read(reader):
        try:
            got.append([d.sequence for d in reader.deliveries(count, seconds=60)])
        except Exception as problem:
            problems.append(problem)

    threads = [threading.Thread(target=read, args=(reader,)) for reader in readers]
    [thread.start() for thread in threads]
    writer, sequences = channel.writer(), []
    for _ in range(count):
        sequences.append(writer.publish(channel.owner.message(text))[0]["sequence"])
        while writer.inbox:
            writer.next()
    [thread.join(90) for thread in threads]
    assert not problems and got == [sequences] * 3

    seen = frozen.attached.resume_after
    try:
        frozen.until(sequences[-1], seconds=60)
        seen = frozen.cursor.at
    except (RemoteError, LinkClosed) as problem:
        assert isinstance(problem, LinkClosed) or problem.code == 11
        seen = frozen.cursor.at
    if seen < sequences[-1]:
        with subscriber.attach(channel.relay.link, AFTER, frozen.attached.epoch, seen) as again:
            again.until(sequences[-1], seconds=60)
            assert again.cursor.at == sequences[-1]


def test_thousands_of_elements_of_one_batch_are_not_said(channel, witness):
    writer = channel.writer()
    request = next(writer.requests)
    writer.send("PUBLISH", request=request, body=b"=\xff" + len16(b"{}") * 255)
    results = writer.answer(request, "ACK").results
    assert len(results) == 255 and all(result["result"] == 2 for result in results)
    request = next(writer.requests)
    writer.send("PUBLISH", request=request, body=b"=\0")
    with pytest.raises(RemoteError) as problem:
        writer.answer(request, "ACK")
    assert (problem.value.code, problem.value.request) == (3, request)


@pytest.mark.parametrize("count, code", [(8, None), (9, 10)])
def test_many_signatures_in_one_direct_end_the_link(channel, witness, refused, count, code):
    with channel.owner.control(channel.relay.link) as control:
        control.direct(*[channel.owner.signed("x.grp.unheard", {}) for _ in range(count)])
        if code:
            refused(code, control.ping)
        else:
            control.ping()


def test_a_full_batch_is_answered_in_order_with_what_follows(channel):
    """The relay checks a batch in parts; nothing that the same link says meanwhile overtakes it."""
    writer = channel.writer()
    messages = [channel.owner.message(f"m{i}") for i in range(60)]
    first = writer.publish_request(*messages)
    second = writer.publish_request(channel.owner.message("after"))
    results = writer.answer(first, "ACK", seconds=20).results
    sequences = [result["sequence"] for result in results]
    assert len(results) == 60 and sequences == sorted(sequences) and {r["result"] for r in results} == {0}
    assert writer.answer(second, "ACK").results[0]["sequence"] == sequences[-1] + 1
