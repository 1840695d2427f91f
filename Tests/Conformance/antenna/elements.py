"""Elements, batches and signatures (channel.md, "Elements")."""

import hashlib
import json
from dataclasses import dataclass

from .bytesio import Reader, WireError, b64, i64, len8, len16, u8, u16, unb64
from .keys import der, verify

MAX_ELEMENT = 15602
MAX_BATCHED = 15598
MAX_DECOMPRESSED = 65536
CHUNK = 15000
VERSIONS = "9-19"

MUST_BE_SIGNED = {
    "x.grp.del",
    "x.grp.info",
    "x.grp.prefs",
    "x.grp.mem.del",
    "x.grp.mem.role",
    "x.grp.mem.restrict",
    "x.grp.leave",
    "x.grp.relay.new",
    "x.grp.roster",
    "x.info",
    "x.grp.relay.inv",
    "x.member",
}


@dataclass
class Plain:
    json: bytes

    def encode(self):
        return self.json


@dataclass
class Signed:
    """A signed element. `signatures` is a list of 64-byte strings."""

    binding: bytes
    signatures: list
    json: bytes

    def encode(self):
        sigs = b"".join(b"M" + len8(signature) for signature in self.signatures)
        return b"/" + self.binding + u8(len(self.signatures)) + sigs + self.json

    def verifies(self, channel, member, public):
        if self.binding != b"G":
            return False
        message = signature_input(channel, member, self.json)
        return all(verify(public, signature, message) for signature in self.signatures)


@dataclass
class Forward:
    """`member` is None where the channel itself is the sender; `element` is a Plain or a Signed."""

    member: bytes
    name: str
    time: int
    element: object

    def encode(self):
        sender = b"C" if self.member is None else b"M" + len8(self.member) + len8(self.name.encode())
        return b">" + sender + i64(self.time) + self.element.encode()


@dataclass
class Chunk:
    message_id: bytes
    number: int
    data: bytes
    app_id: bytes = b""

    def encode(self):
        return b"F" + len8(self.app_id) + len8(self.message_id) + u8(self.number) + self.data


def signature_input(channel, member, json_bytes):
    return b"G" + len8(channel) + len8(member) + json_bytes


def sign(json_bytes, channel, member, key):
    return Signed(b"G", [key.sign(signature_input(channel, member, json_bytes))], json_bytes)


def event(tag, params, message_id=None):
    """The JSON bytes of one event, as short as JSON goes."""
    container = {"v": VERSIONS}
    if message_id is not None:
        container["msgId"] = b64(message_id)
    container["event"] = tag
    container["params"] = params
    return json.dumps(container, separators=(",", ":"), ensure_ascii=False).encode()


@dataclass
class Event:
    tag: str
    params: dict
    message_id: bytes = None
    versions: str = "9"


def parse_event(json_bytes):
    try:
        container = json.loads(json_bytes)
    except ValueError as problem:
        raise WireError(f"not JSON: {problem}", 47) from None
    if not isinstance(container, dict):
        raise WireError("not an object", 47)
    tag, params = container.get("event"), container.get("params")
    if not isinstance(tag, str) or not tag.startswith("x") or not isinstance(params, dict):
        raise WireError("no event or no params", 47)
    message_id = container.get("msgId")
    if message_id is not None:
        message_id = unb64(message_id)
        if not 1 <= len(message_id) <= 255:
            raise WireError("a message id of that length", 47)
    return Event(tag, params, message_id, container.get("v") or "9")


def parse_element(data):
    """One element; JSON is kept as bytes and not looked into."""
    first = data[:1]
    if first == b"{":
        return Plain(bytes(data))
    reader = Reader(data)
    reader.take(1)
    if first == b"/":
        binding = reader.take(1)
        count = reader.u8()
        if binding not in (b"G", b"D", b"C") or count == 0:
            raise WireError("a binding or signature count that is none")
        signatures = []
        for _ in range(count):
            if reader.take(2) != b"M\x40":
                raise WireError("a key reference or signature length that is unknown")
            signatures.append(reader.take(64))
        return Signed(binding, signatures, reader.tail())
    if first == b">":
        letter = reader.take(1)
        if letter not in (b"M", b"C"):
            raise WireError("a sender that is neither M nor C")
        member = name = None
        if letter == b"M":
            member = reader.len8()
            if not member:
                raise WireError("an empty member id", 47)
            try:
                name = reader.len8().decode()
            except UnicodeDecodeError:
                raise WireError("a name that is not UTF-8") from None
        time = reader.i64()
        inner = reader.tail()
        if inner[:1] not in (b"{", b"/"):
            raise WireError("a forward holds JSON or a signed element")
        return Forward(member, name, time, parse_element(inner))
    if first == b"F":
        return Chunk(app_id=reader.len8(), message_id=reader.len8(), number=reader.u8(), data=reader.tail())
    raise WireError(f"no element begins with {first!r}")


def batch(elements):
    if not 1 <= len(elements) <= 255:
        raise WireError(f"a batch of {len(elements)} elements")
    pieces = [element if isinstance(element, bytes) else element.encode() for element in elements]
    if any(len(piece) > MAX_BATCHED for piece in pieces):
        raise WireError("an element too long for a batch", 4)
    return b"=" + u8(len(pieces)) + b"".join(len16(piece) for piece in pieces)


def _decompress(data):
    reader = Reader(data)
    total = b""
    count = reader.u8()
    if count == 0:
        raise WireError("no compressed block")
    for _ in range(count):
        kind = reader.take(1)
        if kind == b"0":
            total += reader.len8()
        elif kind == b"1":
            import zstandard

            frame = reader.len16()
            size = zstandard.frame_content_size(frame)
            if size < 0 or len(total) + size > MAX_DECOMPRESSED:
                raise WireError("a zstd frame without a size, or too large", 4)
            total += zstandard.ZstdDecompressor().decompress(frame)
        else:
            raise WireError("an unknown block")
        if len(total) > MAX_DECOMPRESSED:
            raise WireError("too large when decompressed", 4)
    if reader.left:
        raise WireError("bytes after the last block")
    return total


def decompress(body):
    if body[:1] != b"X":
        raise WireError("not compressed")
    plain = _decompress(body[1:])
    if plain[:1] == b"X":
        raise WireError("compressed twice")
    return plain


def split_body(body):
    """The element byte strings of a body; only their borders are checked."""
    first = body[:1]
    if first == b"X":
        return split_body(decompress(body))
    if first == b"=":
        reader = Reader(body[1:])
        count = reader.u8()
        if count == 0:
            raise WireError("an empty batch")
        pieces = [reader.len16() for _ in range(count)]
        if reader.left:
            raise WireError("bytes after the last element")
        return pieces
    if first == b"[":
        items = json.loads(body)
        if not 1 <= len(items) <= 255:
            raise WireError("too many messages in batch")
        return [json.dumps(item, separators=(",", ":"), ensure_ascii=False).encode() for item in items]
    return [bytes(body)]


def parse_body(body):
    return [parse_element(piece) for piece in split_body(body)]


def only_element(body):
    found = parse_body(body)
    if len(found) != 1:
        raise WireError(f"{len(found)} elements where one is meant")
    return found[0]


def roster_blob(entries):
    """`entries` are (member id, raw public key, role text)."""
    return u16(len(entries)) + b"".join(
        len8(member) + len8(der(key)) + len8(role.encode()) + u16(0) for member, key, role in entries
    )


def sha512(data):
    return hashlib.sha512(data).digest()


def chunks(message_id, data):
    return [
        Chunk(message_id, i + 1, data[at : at + CHUNK]) for i, at in enumerate(range(0, len(data), CHUNK))
    ]
