"""The encrypted link (link.md): preface, Noise NX handshake, certificate, records."""

import socket
import struct
import time
import warnings
from collections import deque

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from noise.connection import Keypair, NoiseConnection
from noise.exceptions import NoiseInvalidMessage

from . import wire
from .bytesio import Reader, WireError, len16
from .keys import verify

MAGIC = b"ANTN"
PROLOGUE = b"antenna-link/1"
CERTIFICATE_CONTEXT = b"antenna/1 static key"
CERTIFICATE_SIZE = 145
TOLERANCE = 300
VERSION = 1
CHACHAPOLY, AESGCM = 1, 2
NOISE_NAMES = {
    CHACHAPOLY: b"Noise_NX_25519_ChaChaPoly_BLAKE2b",
    AESGCM: b"Noise_NX_25519_AESGCM_BLAKE2b",
}


class LinkClosed(Exception):
    """The other side closed the connection."""


class Refused(Exception):
    """The relay refused in its preface; `code` is the error number."""

    def __init__(self, code):
        super().__init__(f"refused with error {code}")
        self.code = code


class Deadline:
    """A point in time after which every wait on it fails with TimeoutError."""

    def __init__(self, seconds):
        self.at = time.monotonic() + seconds

    def left(self):
        left = self.at - time.monotonic()
        if left <= 0:
            raise TimeoutError("the deadline passed")
        return left


def client_preface(suites, versions=(VERSION, VERSION)):
    return MAGIC + bytes([versions[0], versions[1], suites, 0])


def fresh_x25519():
    """(private 32 bytes, public 32 bytes)."""
    private = X25519PrivateKey.generate()
    public = private.public_key().public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
    secret = private.private_bytes(
        serialization.Encoding.Raw, serialization.PrivateFormat.Raw, serialization.NoEncryption()
    )
    return secret, public


def check_certificate(data, static, expected_identity=None, now=None):
    """The identity that certified `static`. Any failure is a WireError."""
    if len(data) != CERTIFICATE_SIZE or data[0] != 1:
        raise WireError("not a certificate of this version")
    reader = Reader(data[1:])
    identity, certified = reader.take(32), reader.take(32)
    not_before, not_after, signature = reader.i64(), reader.i64(), reader.take(64)
    if not verify(identity, signature, CERTIFICATE_CONTEXT + data[:81]):
        raise WireError("the certificate's signature does not verify")
    if certified != static:
        raise WireError("the certificate is for another static key")
    now = int(time.time()) if now is None else now
    if not not_before - TOLERANCE <= now <= not_after + TOLERANCE:
        raise WireError("the certificate is not valid now")
    if expected_identity is not None and identity != expected_identity:
        raise WireError("the relay is another one than the link names")
    return identity


class Stream:
    """A blocking socket that reads exact counts before a deadline."""

    def __init__(self, sock):
        self.sock = sock
        self.buffer = bytearray()

    def read(self, count, deadline):
        while len(self.buffer) < count:
            self.sock.settimeout(deadline.left())
            try:
                piece = self.sock.recv(65536)
            except ConnectionError as problem:
                raise LinkClosed(str(problem)) from None
            if not piece:
                raise LinkClosed("end of stream")
            self.buffer += piece
        taken = bytes(self.buffer[:count])
        del self.buffer[:count]
        return taken

    def write(self, data, deadline):
        self.sock.settimeout(deadline.left())
        try:
            self.sock.sendall(data)
        except ConnectionError as problem:
            raise LinkClosed(str(problem)) from None

    def close(self):
        self.sock.close()

    def reset(self):
        """Closes with a TCP reset, so that nothing unsent or unread lingers."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.sock.close()


class Link:
    """An open link. Frames go in and out; PING is answered with PONG while reading."""

    def __init__(self, stream, noise, h, identity=None, padded=True, suite=None):
        self.stream = stream
        self.noise = noise
        self.handshake_hash = h
        self.identity = identity
        self.padded = padded
        self.suite = suite
        self.answer_pings = True
        self.waiting = deque()

    def send_plaintext(self, plaintext, deadline=None):
        """Seals any bytes as one record; nothing about them is checked."""
        self.stream.write(self.seal(plaintext), deadline or Deadline(10))

    def seal(self, plaintext):
        return len16(self.noise.encrypt(plaintext))

    def send(self, *frames, deadline=None):
        """Sends ready frame bytes, as many a record as fit."""
        held = b""
        for frame in frames:
            if held and len(held) + len(frame) > wire.MAX_PLAINTEXT:
                self.send_plaintext(self.pad(held), deadline)
                held = b""
            held += frame
        if held:
            self.send_plaintext(self.pad(held), deadline)

    def pad(self, plaintext):
        wanted = wire.padme(len(plaintext)) if self.padded else len(plaintext)
        return plaintext + bytes(wanted - len(plaintext))

    def receive_record(self, deadline):
        length = Reader(self.stream.read(2, deadline)).u16()
        if length < 17:
            raise WireError(f"a record of {length} bytes")
        ciphertext = self.stream.read(length, deadline)
        try:
            return bytes(self.noise.decrypt(ciphertext))
        except NoiseInvalidMessage:
            raise WireError("a record that does not open") from None

    def receive(self, deadline):
        """The next frame that is not PING, PONG or of an ignored type."""
        while True:
            while self.waiting:
                frame = wire.decode(*self.waiting.popleft())
                if frame is None or frame.name == "PONG" and self.answer_pings:
                    continue
                if frame.name == "PING" and self.answer_pings:
                    self.send(wire.encode("PONG", data=frame.data), deadline=deadline)
                    continue
                return frame
            self.waiting.extend(wire.split_record(self.receive_record(deadline)))

    def close(self):
        self.stream.close()


def noise_for(suite, prologue, initiator):
    noise = NoiseConnection.from_name(NOISE_NAMES[suite])
    noise.set_as_initiator() if initiator else noise.set_as_responder()
    noise.set_prologue(prologue)
    return noise


def connect(
    host,
    port,
    identity=None,
    suites=CHACHAPOLY | AESGCM,
    seconds=10,
    padded=True,
    receive_buffer=None,
    source=None,
):
    """An open Link to the relay at `host`, or LinkClosed, Refused, WireError, TimeoutError, OSError.

    `source`: the address to come from.
    """
    deadline = Deadline(seconds)
    sock = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    if receive_buffer is not None:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    sock.settimeout(deadline.left())
    try:
        if source is not None:
            sock.bind((source, 0))
        sock.connect((host, port))
        return handshake(Stream(sock), identity, suites, deadline, padded)
    except BaseException:
        sock.close()
        raise


def handshake(stream, identity, suites, deadline, padded=True):
    preface = client_preface(suites)
    secret, public = fresh_x25519()
    stream.write(preface + public, deadline)
    answer = stream.read(8, deadline)
    if answer[:4] != MAGIC:
        raise WireError("not an Antenna relay")
    version, suite, refusal = answer[4], answer[5], Reader(answer[6:]).u16()
    if refusal:
        raise Refused(refusal)
    if version != VERSION or suite not in NOISE_NAMES or not suites & suite:
        raise WireError("the relay chose what was not offered")
    noise = noise_for(suite, PROLOGUE + preface + answer, initiator=True)
    noise.set_keypair_from_private_bytes(Keypair.EPHEMERAL, secret)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the library remarks on the ephemeral key being set beforehand
        noise.start_handshake()
    if bytes(noise.write_message()) != public:
        raise WireError("message 1 is not the ephemeral key alone")
    message2 = stream.read(Reader(stream.read(2, deadline)).u16(), deadline)
    state = noise.noise_protocol.handshake_state  # the library lets go of it when the handshake is over
    try:
        certificate = bytes(noise.read_message(message2))
    except (InvalidTag, ValueError) as problem:
        raise WireError(f"message 2 does not open: {problem!r}") from None
    found = check_certificate(certificate, state.rs.public_bytes, identity)
    return Link(stream, noise, bytes(noise.get_handshake_hash()), found, padded, suite)
