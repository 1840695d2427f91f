"""frames.md's table, and records and padding of link.md."""

import pytest

from antenna import wire
from antenna.bytesio import WireError

SAMPLES = {
    "u8": 7,
    "u16": 0x0102,
    "u32": 0x01020304,
    "i64": -2,
    "len8": b"eight",
    "len16": b"sixteen",
    "tail": b"tail",
    "bool": True,
}


def sample(spec):
    return {
        name: [sample(kind)] * 3
        if isinstance(kind, list)
        else bytes(range(kind))
        if isinstance(kind, int)
        else SAMPLES[kind]
        for name, kind in spec
    }


def filled(name):
    return wire.encode(name, **sample(wire.TABLE[name][1]))


@pytest.mark.parametrize("name", wire.TABLE)
def test_every_frame_reads_back_and_every_cut_is_a_bad_frame(name):
    data = filled(name)
    [(number, body)] = wire.split_record(data)
    frame = wire.decode(number, body)
    assert frame.name == name and frame.fields == sample(wire.TABLE[name][1])
    tail = wire.TABLE[name][1][-1][1] == "tail"
    for cut in range(len(body) - (len(SAMPLES["tail"]) if tail else 0)):
        with pytest.raises(WireError) as problem:
            wire.decode(number, body[:cut])
        assert problem.value.code == 3
    if not tail:
        assert wire.decode(number, body + b"of a later version") == frame


def test_some_frames_byte_for_byte():
    assert wire.encode("PING", data=b"12345678").hex() == "030008" + b"12345678".hex()
    assert (
        wire.encode("RECORD_STORED", request=1, version=2).hex() == "13000c" + "00000001" + "0000000000000002"
    )
    assert (
        wire.encode("GAP", start=1, end=2, reason=3).hex()
        == "250011" + "0000000000000001" + "0000000000000002" + "03"
    )
    assert (
        wire.encode("MEMBERS", request=1, more=False, total=0, members=[]).hex()
        == "1c000e" + "00000001" + "46" + "0000000000000000" + "00"
    )


def test_unknown_types_from_80_are_ignored_and_others_are_bad_frames():
    assert wire.decode(0x80, b"") is None and wire.decode(0xFF, b"x") is None
    for number in (0x05, 0x14, 0x7F):
        with pytest.raises(WireError):
            wire.decode(number, b"")


def test_a_record_holds_frames_and_then_zeros():
    ping = filled("PING")
    assert len(wire.split_record(ping * 3 + bytes(50))) == 3
    for bad in (b"", bytes(20), ping + b"\0\0\1", ping + b"\3", ping + b"\3\0", ping + b"\3\0\x08short"):
        with pytest.raises(WireError):
            wire.split_record(bad)


def test_a_frame_body_has_at_most_16384_bytes():
    assert wire.split_record(wire.raw_frame(0x28, bytes(16384)))
    with pytest.raises(WireError) as problem:
        wire.split_record(wire.raw_frame(0x28, bytes(16385)))
    assert problem.value.code == 4


@pytest.mark.parametrize(
    "length, padded",
    [
        (0, 0),
        (1, 1),
        (2, 2),
        (3, 3),
        (8, 8),
        (9, 10),
        (11, 12),
        (100, 104),
        (1000, 1024),
        (1023, 1024),
        (1025, 1088),
        (65000, 65519),
        (65519, 65519),
    ],
)
def test_padme(length, padded):
    assert wire.padme(length) == padded


def test_padme_never_shortens_and_costs_at_most_an_eighth():
    for length in range(2, wire.MAX_PLAINTEXT + 1):
        padded = wire.padme(length)
        assert length <= padded <= min(wire.MAX_PLAINTEXT, length + length // 8 + 1)
