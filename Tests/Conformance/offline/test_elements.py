"""channel.md, "Elements" and "JSON container": borders, refusals, tolerance."""

import json

import pytest

from antenna import elements
from antenna.bytesio import WireError, b64, unb64

SIG = b"M\x40" + b"s" * 64
JSON = b'{"event":"x.ok","params":{}}'


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"?",
        b"/",
        b"/G",
        b"/G\0" + JSON,
        b"/Q\x01" + SIG + JSON,
        b"/G\x02" + SIG,
        b"/G\x01M\x3f" + b"s" * 64,
        b"/G\x01X\x40" + b"s" * 64,
        b">",
        b">X",
        b">M\0\x01a" + bytes(8) + JSON,
        b">M\x01a\x02\xff\xfe" + bytes(8) + JSON,
        b">C" + bytes(8) + b">C" + bytes(8) + JSON,
        b">C" + bytes(8) + b"F\0\x01a\x01x",
        b">C" + bytes(8),
        b"F\0",
        b"F\0\x01a",
    ],
)
def test_an_element_that_does_not_decode_is_refused(data):
    with pytest.raises(WireError):
        elements.parse_element(data)


@pytest.mark.parametrize(
    "element",
    [
        elements.Plain(JSON),
        elements.Signed(b"D", [b"a" * 64, b"b" * 64], JSON),
        elements.Forward(b"m", "name …", -1, elements.Signed(b"G", [b"a" * 64], JSON)),
        elements.Forward(None, None, 2**62, elements.Plain(JSON)),
        elements.Chunk(b"m", 255, b"", b"app"),
    ],
)
def test_an_element_reads_back_byte_for_byte(element):
    assert elements.parse_element(element.encode()) == element


def test_all_signatures_must_verify_and_only_the_group_binding_can():
    from antenna.keys import KeyPair

    key, channel = KeyPair(), b"c" * 32
    good = elements.sign(JSON, channel, b"me", key)
    two = elements.Signed(b"G", good.signatures * 2, JSON)
    assert two.verifies(channel, b"me", key.public)
    two.signatures[1] = bytes(64)
    assert not two.verifies(channel, b"me", key.public)
    assert not elements.Signed(b"C", good.signatures, JSON).verifies(channel, b"me", key.public)


def test_a_batch_holds_1_to_255_elements():
    assert len(elements.parse_body(elements.batch([JSON] * 255))) == 255
    for count in (0, 256):
        with pytest.raises(WireError):
            elements.batch([JSON] * count)
    with pytest.raises(WireError):
        elements.parse_body(b"=\0")


def test_a_batched_element_has_at_most_15598_bytes():
    elements.batch([b"{" * 15598])
    with pytest.raises(WireError):
        elements.batch([b"{" * 15599])


def test_a_batch_that_is_cut_or_goes_on_is_refused():
    data = elements.batch([JSON, JSON])
    for cut in range(1, len(data)):
        with pytest.raises(WireError):
            elements.parse_body(data[:cut])
    with pytest.raises(WireError):
        elements.parse_body(data + b"x")


def test_a_json_array_is_a_body_of_several_elements():
    assert elements.parse_body(b"[" + JSON + b"," + JSON + b"]") == [elements.Plain(JSON)] * 2


@pytest.mark.parametrize(
    "data", [b"X", b"X\0", b"X\x010\x05abc", b"X\x012abc", b"X\x011\0\x04abcd", b"X\x010\x01X"]
)
def test_a_compressed_body_that_does_not_decode_is_refused(data):
    import zstandard

    with pytest.raises((WireError, zstandard.ZstdError)):
        elements.split_body(data)


def test_a_body_may_not_decompress_beyond_65536_bytes():
    import zstandard

    bomb = zstandard.ZstdCompressor().compress(b"{" * 65537)
    with pytest.raises(WireError) as problem:
        elements.split_body(b"X\x011" + len(bomb).to_bytes(2, "big") + bomb)
    assert problem.value.code == 4


def test_unknown_keys_are_ignored_unknown_events_are_kept_and_null_is_absent():
    event = elements.parse_event(
        b'{"v":null,"msgId":null,"event":"x.new.thing","more":1,"params":{"a":null}}'
    )
    assert (event.tag, event.message_id, event.versions) == ("x.new.thing", None, "9")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"[]",
        b"1",
        b'{"params":{}}',
        b'{"event":"y.z","params":{}}',
        b'{"event":"x.ok"}',
        b'{"event":"x.ok","params":[]}',
        b'{"event":1,"params":{}}',
        b'{"event":"x.ok","params":{},"msgId":"!"}',
        json.dumps({"event": "x.ok", "params": {}, "msgId": b64(b"m" * 256)}).encode(),
    ],
)
def test_json_of_another_shape_is_malformed(data):
    with pytest.raises(WireError):
        elements.parse_event(data)


def test_base64url_is_read_with_and_without_padding():
    assert unb64("AQIDBA==") == unb64("AQIDBA") == b"\1\2\3\4"
    for bad in ("", "=", "A", "AQ+/", "AQ ID"):
        with pytest.raises(WireError):
            unb64(bad)
