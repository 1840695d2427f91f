"""The relay's end of a link, in a few lines: lets the client's handshake be tested without a relay."""

import socket
import threading
import time

from noise.connection import Keypair

from .bytesio import i64, len16, u16
from .keys import KeyPair
from .noise_link import (
    AESGCM,
    CERTIFICATE_CONTEXT,
    CHACHAPOLY,
    MAGIC,
    PROLOGUE,
    Deadline,
    Link,
    Stream,
    fresh_x25519,
    handshake,
    noise_for,
)


def certificate(identity, static, not_before=None, not_after=None):
    now = int(time.time())
    body = (
        b"\x01"
        + identity.public
        + static
        + i64(not_before if not_before is not None else now - 60)
        + i64(not_after if not_after is not None else now + 86400)
    )
    return body + identity.sign(CERTIFICATE_CONTEXT + body)


class Responder:
    """One handshake over a socket pair. `link` is the relay's end afterwards."""

    def __init__(self, suites=CHACHAPOLY | AESGCM, refusal=0, change=None, certify=None, choose=None):
        self.identity = KeyPair()
        self.suites, self.refusal, self.change, self.choose = suites, refusal, change, choose
        self.certify = certify or certificate
        self.secret, self.static = fresh_x25519()
        self.link = self.problem = None
        ours, theirs = socket.socketpair()
        self.stream, self.client = Stream(ours), Stream(theirs)
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def connect(self, identity=None, suites=CHACHAPOLY | AESGCM):
        """The client's end, after its handshake."""
        link = handshake(self.client, identity, suites, Deadline(5))
        self.thread.join(5)
        return link

    def _run(self):
        try:
            self.link = self.answer_on(self.stream, Deadline(5))
        except Exception as problem:  # kept for the test to look at
            self.problem = problem
        if self.link is None:
            self.stream.close()

    @staticmethod
    def answer(sock, identity):
        """The relay's end of a link on a socket that was accepted."""
        responder = Responder.__new__(Responder)
        responder.identity, responder.suites, responder.refusal = identity, CHACHAPOLY | AESGCM, 0
        responder.change, responder.choose, responder.certify = None, None, certificate
        responder.secret, responder.static = fresh_x25519()
        return responder.answer_on(Stream(sock), Deadline(5))

    def answer_on(self, stream, deadline):
        preface = stream.read(8, deadline)
        message1 = stream.read(32, deadline)
        if self.refusal:
            stream.write(MAGIC + b"\0\0" + u16(self.refusal), deadline)
            return None
        common = preface[6] & self.suites
        suite = self.choose or (AESGCM if common & AESGCM else CHACHAPOLY)
        answer = MAGIC + bytes([1, suite]) + u16(0)
        noise = noise_for(suite, PROLOGUE + preface + answer, initiator=False)
        noise.set_keypair_from_private_bytes(Keypair.STATIC, self.secret)
        noise.start_handshake()
        noise.read_message(message1)
        message2 = bytes(noise.write_message(self.certify(self.identity, self.static)))
        sent = answer + len16(message2)
        stream.write(self.change(sent) if self.change else sent, deadline)
        return Link(stream, noise, bytes(noise.get_handshake_hash()), suite=suite)
