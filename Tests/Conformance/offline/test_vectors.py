"""What docs/protocol/vectors.md says is what this client computes, and reads."""

import hashlib

import pytest

from antenna import elements, links, record, wire
from antenna.bytesio import b64, len8
from antenna.client import ATTACH_CONTEXT, CONTROL_CONTEXT
from antenna.keys import KeyPair, channel_id, der, key_text, new_id
from vectors_page import written

WRITTEN = written("vectors.md")
TIME = 1_781_000_000
PEOPLE = {
    name: KeyPair(bytes([i]) * 32)
    for i, name in enumerate(("root", "owner", "member", "relay", "identity"), 1)
}
OWNER_ID, MEMBER_ID, RELAY_ID = (new_id(bytes(range(at, at + 12))) for at in (0, 12, 24))
CHANNEL, IDENTITY = channel_id(PEOPLE["root"].public), PEOPLE["identity"].public
HOST, SIX, BATCH = "relay.example.com", "[2001:db8::1]", b"\xaa\xbb"


def link_texts():
    def text(kind, key, hosts, ports=(), identities=(), scheme="https:"):
        return str(links.Link(kind, key, list(hosts), list(ports), list(identities), scheme)).encode()

    relay = PEOPLE["relay"].public
    return {
        "link.channel.https": text("c", CHANNEL, [HOST], [], [IDENTITY]),
        "link.channel.antenna": text("c", CHANNEL, [HOST], [], [IDENTITY], "antenna:"),
        "link.channel.two.https": text("c", CHANNEL, [HOST, SIX], [5280, 443], [IDENTITY]),
        "link.channel.two.antenna": text("c", CHANNEL, [HOST, SIX], [5280, 443], [IDENTITY], "antenna:"),
        "link.relay-in-channel": text("g", relay, [HOST], [], [IDENTITY]),
        "link.relay-address.https": text("r", IDENTITY, [SIX], [443]),
        "link.relay-address.antenna": text("r", IDENTITY, [SIX], [443], (), "antenna:"),
    }


def channel_layer():
    owner = PEOPLE["owner"]
    found = {}
    for name, key in PEOPLE.items():
        found[f"{name}.public"] = key.public
    found |= {
        "owner.der": der(owner.public),
        "owner.text": key_text(owner.public).encode(),
        "channel.id": CHANNEL,
        "channel.text": b64(CHANNEL).encode(),
    }
    for name, value in (
        ("owner", OWNER_ID),
        ("member", MEMBER_ID),
        ("relay", RELAY_ID),
        ("message", OWNER_ID),
    ):
        found |= {f"{name}.id": value, f"{name}.id.text": b64(value).encode()}
    auth = record.OwnerAuth.make(OWNER_ID, owner.public, PEOPLE["root"])
    found |= {
        "owner-auth.signed": OWNER_ID + der(owner.public),
        "owner-auth.signature": auth.signature,
        "owner-auth": len8(auth.encode()),
    }
    signed = elements.sign(WRITTEN["signed.json"], CHANNEL, OWNER_ID, owner)
    found |= {
        "signed.prefix": elements.signature_input(CHANNEL, OWNER_ID, b""),
        "signed.signature": signed.signatures[0],
        "signed.element": signed.encode(),
    }
    by_member = elements.Forward(OWNER_ID, "alice", TIME, signed)
    by_channel = elements.Forward(None, None, TIME, elements.Plain(WRITTEN["forward.channel.json"]))
    found |= {
        "forward.member.header": by_member.encode()[: -len(signed.encode())],
        "forward.channel.header": by_channel.encode()[: -len(WRITTEN["forward.channel.json"])],
        "batch": elements.batch([by_member, by_channel]),
    }
    blob = elements.roster_blob([(MEMBER_ID, PEOPLE["member"].public, "moderator")])
    header = elements.sign(WRITTEN["roster.header.json"], CHANNEL, OWNER_ID, owner)
    [chunk] = elements.chunks(OWNER_ID, blob)
    empty = elements.roster_blob([])
    found |= {
        "roster.blob": blob,
        "roster.digest": elements.sha512(blob),
        "roster.empty.blob": empty,
        "roster.empty.digest": elements.sha512(empty),
        "roster.header.element": header.encode(),
        "roster.chunk": chunk.encode(),
        "roster.body": elements.batch([header, chunk]),
    }
    h = WRITTEN["handshake.hash"]
    control, attach = (
        CONTROL_CONTEXT + h + CHANNEL + len8(OWNER_ID),
        ATTACH_CONTEXT + h + CHANNEL + len8(MEMBER_ID),
    )
    return found | {
        "control.signed": control,
        "control.signature": owner.sign(control),
        "attach.signed": attach,
        "attach.signature": PEOPLE["member"].sign(attach),
    }


def frames():
    epoch, plain = bytes(range(1, 9)), WRITTEN["forward.channel.json"]
    forward = elements.batch([elements.Forward(None, None, TIME, elements.Plain(plain))])
    member = dict(member=MEMBER_ID, role=b"observer", status=b"connected", name=b"bob", joined_at=TIME)
    fields = {
        "ERROR": dict(request=7, code=20, retry_after_ms=1000, text=b"gone"),
        "DRAIN": dict(delay_ms=30000),
        "PING": dict(data=epoch),
        "PONG": dict(data=epoch),
        "RECORD_GET": dict(request=1, channel=CHANNEL),
        "RECORD": dict(request=0, record=BATCH),
        "RECORD_PUT": dict(request=2, record=BATCH),
        "RECORD_STORED": dict(request=2, version=3),
        "CONTROL": dict(
            channel=CHANNEL, owner=OWNER_ID, signature=WRITTEN["control.signature"], flags=1, record=BATCH
        ),
        "CONTROLLED": dict(status=b"active", record_version=3),
        "DIRECT": dict(body=plain),
        "MEMBERS_GET": dict(request=3, after=b"", limit=50),
        "MEMBERS": dict(request=3, more=False, total=1, members=[member]),
        "JOIN": dict(channel=CHANNEL, element=BATCH),
        "JOINED": dict(batch=BATCH),
        "ATTACH": dict(
            channel=CHANNEL,
            member=MEMBER_ID,
            signature=WRITTEN["attach.signature"],
            start=0,
            epoch=epoch,
            position=12,
        ),
        "ATTACHED": dict(epoch=epoch, first=1, head=14, resume_after=12, role=b"observer", record_version=3),
        "DELIVER": dict(sequence=13, batch=forward),
        "GAP": dict(start=1, end=9, reason=1),
        "PUBLISH": dict(request=4, body=plain),
        "ACK": dict(
            request=4,
            results=[
                dict(result=0, sequence=13, code=0),
                dict(result=1, sequence=12, code=0),
                dict(result=2, sequence=0, code=42),
            ],
        ),
        "HISTORY_GET": dict(request=5, mode=1, value=TIME, limit=20),
        "HISTORY": dict(request=5, sequence=13, batch=BATCH),
        "HISTORY_END": dict(request=5, first=13, more=True),
    }
    return {f"frame.{name}": wire.encode(name, **values) for name, values in fields.items()}


COMPUTED = link_texts() | channel_layer() | frames()
GIVEN = {f"{name}.seed" for name in PEOPLE} | {
    "signed.json",
    "forward.channel.json",
    "roster.header.json",
    "handshake.hash",
}
READ = {
    "record",
    "record.profile",
    "record.signature",
    "record.sha256",
    "compressed.small",
    "compressed.small.data",
    "compressed.zstd",
}


def test_every_vector_of_the_page_is_checked_here():
    assert WRITTEN.keys() == COMPUTED.keys() | GIVEN | READ


@pytest.mark.parametrize("name", COMPUTED)
def test_a_vector_is_what_the_client_computes(name):
    assert WRITTEN[name] == COMPUTED[name]


@pytest.mark.parametrize("name", link_texts())
def test_a_link_reads_back(name):
    assert str(links.parse(WRITTEN[name].decode())).encode() == WRITTEN[name]


@pytest.mark.parametrize("name", frames())
def test_a_frame_reads_back(name):
    [(number, body)] = wire.split_record(WRITTEN[name])
    frame = wire.decode(number, body)
    assert wire.encode(frame.name, **frame.fields) == WRITTEN[name]


def test_the_record_verifies_and_holds_what_the_page_says():
    data = WRITTEN["record"]
    read = record.read(data, CHANNEL)
    assert hashlib.sha256(data).digest() == WRITTEN["record.sha256"]
    assert data[2:66] == WRITTEN["record.signature"] and data.endswith(WRITTEN["record.profile"])
    assert (read.version, read.signer, read.roster_version, read.member_count) == (3, OWNER_ID, 0, 2)
    assert read.roster_digest == WRITTEN["roster.digest"] and len(read.owners) == 1
    [entry] = read.relays
    assert (entry.member_id, entry.key, entry.identity) == (RELAY_ID, PEOPLE["relay"].public, IDENTITY)
    assert entry.link.encode() == WRITTEN["link.relay-in-channel"]


def test_compressed_bodies_read():
    assert elements.decompress(WRITTEN["compressed.small"]) == WRITTEN["compressed.small.data"]
    assert elements.decompress(WRITTEN["compressed.zstd"]) == b"a" * 400
