"""A SOCKS5 proxy (RFC 1928, RFC 1929) that writes down what goes through it, and resolves names by a table.

It connects from 127.0.0.2, so that whoever is connected to can tell its connections from all others.
"""

import socket
import struct
import threading
import time


class Connection:
    """One connection through the proxy: who asked, for what, and the bytes of both directions."""

    def __init__(self):
        self.user = self.password = self.target = None
        self.began = time.monotonic()
        self.outward, self.inward = bytearray(), bytearray()


class Proxy:
    SOURCE = "127.0.0.2"

    def __init__(self, names=(), *, method=2, password=None, reply=0):
        """`names`: host names to (address, port); `method` it chooses where offered; `reply` other than 0 refuses."""
        self.names, self.method, self.password, self.reply = dict(names), method, password, reply
        self.connections, self.changed = [], threading.Condition()
        self.sockets = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.url = f"socks5://127.0.0.1:{self.port}"
        threading.Thread(target=self._accept, daemon=True).start()

    def stop(self):
        try:
            self.listener.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.listener.close()
        self.cut()

    def cut(self):
        """Ends every connection."""
        taken, self.sockets = self.sockets, []
        for sock in taken:
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            sock.close()

    def wait(self, condition, seconds=20):
        with self.changed:
            assert self.changed.wait_for(condition, seconds), [vars(c) for c in self.connections]

    def _accept(self):
        while True:
            try:
                sock = self.listener.accept()[0]
            except OSError:
                return
            self.sockets.append(sock)
            threading.Thread(target=self._serve, args=(sock,), daemon=True).start()

    def _serve(self, sock):
        try:
            connection = self._ask(sock)
            if connection:
                self._carry(sock, connection)
        except (OSError, EOFError):
            pass
        finally:
            sock.close()

    @staticmethod
    def _take(sock, count):
        data = b""
        while len(data) < count:
            piece = sock.recv(count - len(data))
            if not piece:
                raise EOFError
            data += piece
        return data

    def _ask(self, sock):
        connection = Connection()
        version, count = self._take(sock, 2)
        methods = self._take(sock, count)
        if version != 5 or self.method not in methods:
            sock.sendall(b"\x05\xff")
            return None
        sock.sendall(bytes([5, self.method]))
        if self.method == 2:
            assert self._take(sock, 1) == b"\x01"
            connection.user = self._take(sock, self._take(sock, 1)[0]).decode()
            connection.password = self._take(sock, self._take(sock, 1)[0]).decode()
            fits = self.password is None or connection.password == self.password
            sock.sendall(bytes([1, 0 if fits else 1]))
            if not fits:
                return None
        version, command, reserved, kind = self._take(sock, 4)
        assert (version, command, reserved) == (5, 1, 0)
        if kind == 3:
            host = self._take(sock, self._take(sock, 1)[0]).decode()
        else:
            host = socket.inet_ntop(*{1: (socket.AF_INET, self._take(sock, 4)) if kind == 1 else None,
                                      4: (socket.AF_INET6, self._take(sock, 16)) if kind == 4 else None}[kind])
        port = struct.unpack(">H", self._take(sock, 2))[0]
        connection.target = (host, port)
        with self.changed:
            self.connections.append(connection)
            self.changed.notify_all()
        if self.reply:
            sock.sendall(bytes([5, self.reply, 0, 1]) + bytes(6))
            return None
        return connection

    def _carry(self, sock, connection):
        place = self.names.get(connection.target[0], connection.target)
        try:
            out = socket.create_connection(place, 10, source_address=(self.SOURCE, 0))
        except OSError:
            sock.sendall(bytes([5, 5, 0, 1]) + bytes(6))
            return
        out.settimeout(None)
        self.sockets.append(out)
        sock.sendall(bytes([5, 0, 0, 1]) + bytes(6))
        back = threading.Thread(target=self._pump, args=(out, sock, connection.inward), daemon=True)
        back.start()
        self._pump(sock, out, connection.outward)
        back.join()
        out.close()

    @staticmethod
    def _pump(source, sink, log):
        try:
            while piece := source.recv(65536):
                log += piece
                sink.sendall(piece)
        except OSError:
            pass
        try:
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            pass
