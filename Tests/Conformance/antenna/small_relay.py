"""A relay small enough to read at once: in memory, one lock, a thread a link.

It keeps the offline tests of the client honest, and it is a second reading of the text from the relay's side.
Deletion, retention and refusals are left out.
"""

import os
import socket
import threading

from . import links
from .bytesio import WireError
from .keys import KeyPair
from .noise_link import LinkClosed
from .responder import Responder
from .small_session import Session


class SmallRelay:
    def __init__(self):
        self.identity, self.epoch = KeyPair(), os.urandom(8)
        self.channels, self.lock = {}, threading.Lock()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.link = links.relay("127.0.0.1", self.port, self.identity.public)
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        self.listener.close()

    def _accept(self):
        while True:
            try:
                sock, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(sock,), daemon=True).start()

    def _serve(self, sock):
        try:
            Session(self, Responder.answer(sock, self.identity)).run()
        except (LinkClosed, TimeoutError, WireError, OSError):
            pass
        finally:
            sock.close()
