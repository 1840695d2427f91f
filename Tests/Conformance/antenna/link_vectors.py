"""The byte vectors of link-vectors.md from fixed keys; `python -m antenna.link_vectors` prints them."""

import warnings

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from noise.connection import Keypair

from . import elements, links, record, wire
from .bytesio import b64, len16, u16
from .client import ATTACH_CONTEXT, CONTROL_CONTEXT
from .keys import KeyPair, channel_id, new_id
from .noise_link import AESGCM, CHACHAPOLY, MAGIC, PROLOGUE, client_preface, noise_for
from .responder import certificate

NOT_BEFORE, NOT_AFTER = 1_780_000_000, 1_790_000_000
IDENTITY, ROOT, OWNER = (KeyPair(bytes([i]) * 32) for i in (0x10, 1, 2))
STATIC, CLIENT_EPHEMERAL, RELAY_EPHEMERAL = (bytes([i]) * 32 for i in (0x11, 0x12, 0x13))
OWNER_ID = new_id(bytes(range(12)))
PING = wire.encode("PING", data=b"12345678")
GET = wire.encode("RECORD_GET", request=1, channel=channel_id(ROOT.public))


def x25519_public(secret):
    return (
        X25519PrivateKey.from_private_bytes(secret)
        .public_key()
        .public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
    )


def started(suite, prologue, initiator, ephemeral):
    noise = noise_for(suite, prologue, initiator)
    noise.set_keypair_from_private_bytes(Keypair.EPHEMERAL, ephemeral)
    if not initiator:
        noise.set_keypair_from_private_bytes(Keypair.STATIC, STATIC)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        noise.start_handshake()
    return noise


def of_suite(suite, name):
    """(name, bytes) of everything that depends on the suite; both ends are computed and compared."""
    client_hello, relay_hello = client_preface(CHACHAPOLY | AESGCM), MAGIC + bytes([1, suite]) + u16(0)
    prologue = PROLOGUE + client_hello + relay_hello
    client = started(suite, prologue, True, CLIENT_EPHEMERAL)
    relay = started(suite, prologue, False, RELAY_EPHEMERAL)
    message1 = bytes(client.write_message())
    relay.read_message(message1)
    proof_of_static = certificate(IDENTITY, x25519_public(STATIC), NOT_BEFORE, NOT_AFTER)
    message2 = bytes(relay.write_message(proof_of_static))
    assert bytes(client.read_message(message2)) == proof_of_static
    h = bytes(client.get_handshake_hash())
    assert h == relay.get_handshake_hash()
    channel, who = channel_id(ROOT.public), bytes([len(OWNER_ID)]) + OWNER_ID
    records = []
    for sender, receiver, plaintext in (
        (client, relay, PING + bytes(wire.padme(len(PING)) - len(PING))),
        (client, relay, GET + bytes(wire.padme(len(GET)) - len(GET))),
        (relay, client, PING),
    ):
        sealed = bytes(sender.encrypt(plaintext))
        assert receiver.decrypt(sealed) == plaintext
        records.append(len16(sealed))
    return [
        (f"{name}.client-flight", client_hello + message1),
        (f"{name}.relay-flight", relay_hello + len16(message2)),
        (f"{name}.h", h),
        (f"{name}.client-record-0", records[0]),
        (f"{name}.client-record-1", records[1]),
        (f"{name}.relay-record-0", records[2]),
        (f"{name}.control-proof", OWNER.sign(CONTROL_CONTEXT + h + channel + who)),
        (f"{name}.attach-proof", OWNER.sign(ATTACH_CONTEXT + h + channel + who)),
    ]


def channel_record():
    channel = channel_id(ROOT.public)
    g = links.Link("g", KeyPair(b"\x03" * 32).public, ["relay.example"], [5281], [IDENTITY.public])
    entry = record.RelayEntry(new_id(bytes(range(12, 24))), g.key, IDENTITY.public, str(g))
    made = record.Record(
        ROOT.public,
        7,
        [record.OwnerAuth.make(OWNER_ID, OWNER.public, ROOT)],
        [entry],
        0,
        elements.sha512(b"\0\0"),
        1,
        {
            "displayName": "news",
            "fullName": "",
            "publicGroup": {
                "groupType": "channel",
                "publicGroupId": b64(channel),
                "groupLink": str(links.channel(channel, [("relay.example", 5281, IDENTITY.public)])),
            },
        },
    )
    return [("record-by-root", made.sign(ROOT)), ("record-by-owner", made.sign(OWNER, OWNER_ID))]


def everything():
    return [
        ("identity-public", IDENTITY.public),
        ("static-public", x25519_public(STATIC)),
        ("certificate", certificate(IDENTITY, x25519_public(STATIC), NOT_BEFORE, NOT_AFTER)),
        ("frame-ping", PING),
        ("frame-record-get", GET),
        *of_suite(CHACHAPOLY, "chachapoly"),
        *of_suite(AESGCM, "aesgcm"),
        *channel_record(),
    ]


def wrapped(name, data, width=112):
    text = f"{name} = {data.hex()}"
    lines = [text[:width]]
    rest = text[width:]
    while rest:
        lines.append("  " + rest[: width - 2])
        rest = rest[width - 2 :]
    return "\n".join(lines)


if __name__ == "__main__":
    for item in everything():
        print(wrapped(*item))
