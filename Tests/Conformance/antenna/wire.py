"""Every frame of frames.md as one table of fields."""

from . import bytesio
from .bytesio import Reader, WireError

MAX_FRAME_BODY = 16384
MAX_PLAINTEXT = 65519
PADDING = 0x00

# name: (type, fields). A field is (name, kind); a list is (name, [fields of an item]) behind a count byte.
TABLE = {
    "ERROR": (0x01, [("request", "u32"), ("code", "u16"), ("retry_after_ms", "u32"), ("text", "len16")]),
    "DRAIN": (0x02, [("delay_ms", "u32")]),
    "PING": (0x03, [("data", 8)]),
    "PONG": (0x04, [("data", 8)]),
    "RECORD_GET": (0x10, [("request", "u32"), ("channel", 32)]),
    "RECORD": (0x11, [("request", "u32"), ("record", "tail")]),
    "RECORD_PUT": (0x12, [("request", "u32"), ("record", "tail")]),
    "RECORD_STORED": (0x13, [("request", "u32"), ("version", "i64")]),
    "CONTROL": (
        0x18,
        [("channel", 32), ("owner", "len8"), ("signature", "len8"), ("flags", "u8"), ("record", "len16")],
    ),
    "CONTROLLED": (0x19, [("status", "len8"), ("record_version", "i64")]),
    "DIRECT": (0x1A, [("body", "tail")]),
    "MEMBERS_GET": (0x1B, [("request", "u32"), ("after", "len8"), ("limit", "u16")]),
    "MEMBERS": (
        0x1C,
        [
            ("request", "u32"),
            ("more", "bool"),
            ("total", "i64"),
            (
                "members",
                [
                    ("member", "len8"),
                    ("role", "len8"),
                    ("status", "len8"),
                    ("name", "len8"),
                    ("joined_at", "i64"),
                ],
            ),
        ],
    ),
    "JOIN": (0x20, [("channel", 32), ("element", "tail")]),
    "JOINED": (0x21, [("batch", "tail")]),
    "ATTACH": (
        0x22,
        [
            ("channel", 32),
            ("member", "len8"),
            ("signature", "len8"),
            ("start", "u8"),
            ("epoch", 8),
            ("position", "i64"),
        ],
    ),
    "ATTACHED": (
        0x23,
        [
            ("epoch", 8),
            ("first", "i64"),
            ("head", "i64"),
            ("resume_after", "i64"),
            ("role", "len8"),
            ("record_version", "i64"),
        ],
    ),
    "DELIVER": (0x24, [("sequence", "i64"), ("batch", "tail")]),
    "GAP": (0x25, [("start", "i64"), ("end", "i64"), ("reason", "u8")]),
    "PUBLISH": (0x28, [("request", "u32"), ("body", "tail")]),
    "ACK": (
        0x29,
        [("request", "u32"), ("results", [("result", "u8"), ("sequence", "i64"), ("code", "u16")])],
    ),
    "HISTORY_GET": (0x2A, [("request", "u32"), ("mode", "u8"), ("value", "i64"), ("limit", "u16")]),
    "HISTORY": (0x2B, [("request", "u32"), ("sequence", "i64"), ("batch", "tail")]),
    "HISTORY_END": (0x2C, [("request", "u32"), ("first", "i64"), ("more", "bool")]),
}
NAMES = {number: name for name, (number, _) in TABLE.items()}


class Frame:
    """One decoded frame: `name`, and its fields as attributes. Fields that are lists hold dictionaries."""

    def __init__(self, name, fields):
        self.name = name
        self.fields = fields

    def __getattr__(self, field):
        try:
            return self.__dict__["fields"][field]
        except KeyError:
            raise AttributeError(field) from None

    def __eq__(self, other):
        return isinstance(other, Frame) and (self.name, self.fields) == (other.name, other.fields)

    def __repr__(self):
        shown = ", ".join(f"{k}={v!r:.80}" for k, v in self.fields.items())
        return f"{self.name}({shown})"


def _write(kind, value):
    if isinstance(kind, list):
        if len(value) > 255:
            raise WireError("more than 255 items in a list")
        return bytesio.u8(len(value)) + b"".join(_write_fields(kind, item) for item in value)
    if isinstance(kind, int):
        if len(value) != kind:
            raise WireError(f"{len(value)} bytes where {kind} are meant")
        return bytes(value)
    if kind == "tail":
        return bytes(value)
    if kind == "bool":
        return bytesio.boolean(value)
    return getattr(bytesio, kind)(value)


def _write_fields(spec, fields):
    return b"".join(_write(kind, fields[name]) for name, kind in spec)


def _read(kind, reader):
    if isinstance(kind, list):
        return [{name: _read(inner, reader) for name, inner in kind} for _ in range(reader.u8())]
    if isinstance(kind, int):
        return reader.take(kind)
    return getattr(reader, kind)()


def raw_frame(number, body):
    """A frame of any type; nothing is checked but that the length can be said."""
    return bytesio.u8(number) + bytesio.len16(body)


def encode(name, **fields):
    """The frame's bytes, type and length included."""
    number, spec = TABLE[name]
    if set(fields) != {field for field, _ in spec}:
        raise WireError(f"{name} has the fields {[field for field, _ in spec]}")
    body = _write_fields(spec, fields)
    if len(body) > MAX_FRAME_BODY:
        raise WireError(f"a body of {len(body)} bytes", 4)
    return raw_frame(number, body)


def decode(number, body):
    """The Frame, or None for a type that must be ignored (80 to FF). Trailing bytes are ignored."""
    name = NAMES.get(number)
    if name is None:
        if number >= 0x80:
            return None
        raise WireError(f"frame type {number:02X}")
    reader = Reader(body)
    return Frame(name, {field: _read(kind, reader) for field, kind in TABLE[name][1]})


def split_record(plaintext):
    """The (type, body) pairs of one record's plaintext, its padding checked."""
    reader = Reader(plaintext)
    frames = []
    while reader.left:
        number = reader.u8()
        if number == PADDING:
            if any(reader.tail()):
                raise WireError("padding that is not zero")
            break
        body = reader.len16()
        if len(body) > MAX_FRAME_BODY:
            raise WireError(f"a frame body of {len(body)} bytes", 4)
        frames.append((number, body))
    if not frames:
        raise WireError("a record without a frame")
    return frames


def padme(length):
    """The Padmé length of `length`, never beyond what a record can hold."""
    if length < 2:
        return length
    e = length.bit_length() - 1
    s = e.bit_length()
    mask = (1 << (e - s)) - 1
    return max(length, min((length + mask) & ~mask, MAX_PLAINTEXT))
