"""What docs/protocol/vectors.md says, read by this client and written again to the same bytes."""

import json
import pathlib

import pytest

from antenna import elements, links, record, wire
from antenna.keys import KeyPair, channel_id

PAGE = pathlib.Path(__file__).resolve().parents[3] / "docs" / "protocol" / "vectors.md"


def written(path):
    """{name: bytes, or str for values in quotes} of all lines in the page's code blocks."""
    found, name, inside = {}, None, False
    for line in path.read_text().splitlines():
        if line.startswith("```"):
            inside, name = not inside, None
        elif inside and name and line.startswith("  "):
            found[name] += line[2:]
        elif inside and not line.startswith("#"):
            name, _, value = line.partition(" = ")
            found[name] = value
    return {name: value[1:-1] if value.startswith('"') else bytes.fromhex(value) for name, value in found.items()}


V = written(PAGE)
CHANNEL = V["channel.id"]
OWNER = KeyPair(V["owner.seed"])
FRAMES = [name for name in V if name.startswith("frame.")]


@pytest.mark.parametrize("who", ["root", "owner", "member", "relay", "identity"])
def test_a_public_key_belongs_to_its_seed(who):
    assert KeyPair(V[f"{who}.seed"]).public == V[f"{who}.public"]


def test_the_channel_id_is_the_hash_of_the_root_key():
    assert channel_id(V["root.public"]) == CHANNEL


def test_every_frame_is_there():
    assert {V[name][0] for name in FRAMES} == {number for number, _ in wire.TABLE.values() if number}


@pytest.mark.parametrize("name", FRAMES)
def test_a_frame_is_read_and_written_again(name):
    (number, body), = wire.split_record(V[name])
    frame = wire.decode(number, body)
    assert frame.name == name.removeprefix("frame.")
    assert wire.encode(frame.name, **frame.fields) == V[name]


def test_the_record_verifies():
    found = record.read(V["record"], CHANNEL)
    assert found.version == 3
    assert found.profile == json.loads(V["record.profile"])


def test_the_signed_element_is_what_this_client_signs():
    json_bytes = V["signed.json"].encode()
    made = elements.sign(json_bytes, CHANNEL, V["owner.id"].encode(), OWNER)
    assert made.encode() == V["signed.element"]
    assert elements.signature_input(CHANNEL, V["owner.id"].encode(), b"") == V["signed.prefix"]


def test_the_batch_is_what_this_client_writes():
    signed = elements.parse_element(V["signed.element"])
    by_member = elements.Forward(V["owner.id"].encode(), "alice", 1_781_000_000, signed)
    by_channel = elements.Forward(None, None, 1_781_000_000, elements.Plain(V["forward.channel.json"].encode()))
    assert elements.batch([by_member, by_channel]) == V["batch"]
    assert elements.parse_body(V["batch"]) == [by_member, by_channel]


def test_the_roster_travels_as_this_client_sends_it():
    blob = elements.roster_blob([(V["member.id"].encode(), V["member.public"], "moderator")])
    assert blob == V["roster.blob"] and elements.sha512(blob) == V["roster.digest"]
    header = elements.sign(V["roster.header.json"].encode(), CHANNEL, V["owner.id"].encode(), OWNER)
    chunk, = elements.chunks(V["message.id"].encode(), blob)
    assert elements.batch([header, chunk]) == V["roster.body"]


def test_the_compressed_bodies_are_read():
    assert elements.decompress(V["compressed.small"]) == V["compressed.small.data"].encode()
    assert elements.decompress(V["compressed.zstd"]) == b"a" * 400


@pytest.mark.parametrize("name", [name for name in V if name.startswith("link.")])
def test_a_link_is_read(name):
    link = links.parse(V[name])
    key = {"c": CHANNEL, "g": V["relay.public"], "r": V["identity.public"]}[link.kind]
    assert link.key == key
    assert {identity for _, _, identity in link.endpoints()} == {V["identity.public"]}
