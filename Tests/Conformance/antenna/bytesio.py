"""Integers, length-prefixed strings and base64url, as docs/protocol/README.md defines them."""

import base64
import struct


class WireError(Exception):
    """Bytes that do not decode. `code` is the number in errors.md a receiver would answer with."""

    def __init__(self, text, code=3):
        super().__init__(text)
        self.code = code


class Reader:
    """Takes fields from the front of some bytes; running out is a WireError, never an IndexError."""

    def __init__(self, data):
        self.data = bytes(data)
        self.at = 0

    def take(self, count):
        if count < 0 or self.at + count > len(self.data):
            raise WireError(f"{count} bytes wanted at {self.at} of {len(self.data)}")
        piece = self.data[self.at : self.at + count]
        self.at += count
        return piece

    def u8(self):
        return self.take(1)[0]

    def u16(self):
        return struct.unpack(">H", self.take(2))[0]

    def u32(self):
        return struct.unpack(">I", self.take(4))[0]

    def i64(self):
        return struct.unpack(">q", self.take(8))[0]

    def bool(self):
        letter = self.take(1)
        if letter not in (b"T", b"F"):
            raise WireError(f"neither T nor F: {letter!r}")
        return letter == b"T"

    def len8(self):
        return self.take(self.u8())

    def len16(self):
        return self.take(self.u16())

    def tail(self):
        return self.take(len(self.data) - self.at)

    @property
    def left(self):
        return len(self.data) - self.at


def u8(value):
    return struct.pack(">B", value)


def u16(value):
    return struct.pack(">H", value)


def u32(value):
    return struct.pack(">I", value)


def i64(value):
    return struct.pack(">q", value)


def boolean(value):
    return b"T" if value else b"F"


def len8(data):
    if len(data) > 255:
        raise WireError(f"{len(data)} bytes do not fit behind one length byte")
    return u8(len(data)) + data


def len16(data):
    if len(data) > 65535:
        raise WireError(f"{len(data)} bytes do not fit behind two length bytes")
    return u16(len(data)) + data


_ALPHABET = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")


def b64(data, padded=True):
    text = base64.urlsafe_b64encode(data).decode()
    return text if padded else text.rstrip("=")


def unb64(text):
    """Reads base64url with or without padding."""
    core = text.rstrip("=")
    if not core or not set(core) <= _ALPHABET or len(core) % 4 == 1:
        raise WireError(f"not base64url: {text[:60]!r}")
    return base64.urlsafe_b64decode(core + "=" * (-len(core) % 4))
