"""How long a message takes from its PUBLISH to its readers, while something else happens."""

import glob
import os
import select
import statistics
import time

from . import wire
from .client import LIVE, Delivery
from .noise_link import Deadline
from .people import Subscriber


def waited(pid):
    """How long the threads of a process have been ready to run and did not, in seconds."""
    total = 0
    for task in glob.glob(f"/proc/{pid}/task/*/schedstat"):
        try:
            with open(task) as stat:
                total += int(stat.read().split()[1])
        except OSError:
            pass
    return total / 1e9


class Window(list):
    """Latencies of about a second, in seconds; `waited` is what the machine kept relay and meter waiting meanwhile."""

    waited = 0.0


class Meter:
    """One writer at a steady rate and a few readers, all in this thread.

    `rate` is in messages a second, `text_bytes` how long the text of each is at least.
    """

    def __init__(self, owner, relay_link, relay_pid, readers=3, rate=40, text_bytes=0):
        self.owner = owner
        self.rate = rate
        self.text_bytes = text_bytes
        self.pids = (relay_pid, os.getpid())
        self.writer = owner.attach(relay_link, start=LIVE)
        self.readers = [Subscriber(str(owner.link)).subscribe(LIVE) for _ in range(readers)]
        self.sent = {}
        self.number = 0
        self.delivered = [0] * readers

    def run(self, seconds, until=lambda: False):
        """Windows of a second, each a list of latencies in seconds."""
        windows, window = [], Window()
        waited_before = self._waited()
        started = time.perf_counter()
        next_send, window_end = started, started + 1
        while True:
            now = time.perf_counter()
            if now >= window_end:
                waited_now = self._waited()
                window.waited = waited_now - waited_before
                windows.append(window)
                window, window_end, waited_before = Window(), now + 1, waited_now
                if now - started >= seconds or until():
                    break
            if now >= next_send:
                next_send = max(next_send + 1 / self.rate, now)
                self._publish()
            self._take(min(next_send, window_end) - time.perf_counter(), window)
        deadline = time.perf_counter() + 20
        while min(self.delivered) < self.number:
            assert time.perf_counter() < deadline, f"{self.delivered} of {self.number} messages came"
            self._take(1, windows[-1])
        return windows

    def _waited(self):
        return sum(waited(pid) for pid in self.pids)

    def _publish(self):
        self.number += 1
        message = self.owner.message(str(self.number).ljust(self.text_bytes))
        self.sent[self.number] = time.perf_counter()
        self.writer.publish_request(message)

    def _take(self, wait, window):
        connections = [self.writer, *self.readers]
        ready, _, _ = select.select([c.link.stream.sock for c in connections], [], [], max(0, wait))
        came = time.perf_counter()
        for connection in connections:
            stream = connection.link.stream
            if stream.sock not in ready:
                continue
            piece = stream.sock.recv(1 << 16)
            assert piece, "a link of the meter was closed"
            stream.buffer += piece
            while len(stream.buffer) >= 2 and len(stream.buffer) >= 2 + int.from_bytes(stream.buffer[:2]):
                for number, body in wire.split_record(connection.link.receive_record(Deadline(5))):
                    self._frame(connection, wire.decode(number, body), came, window)

    def _frame(self, connection, frame, came, window):
        if frame.name == "PING":
            connection.send("PONG", data=frame.data)
        assert frame.name != "ERROR", frame
        if frame.name != "DELIVER":
            return
        connection.cursor.take(frame)
        if connection is self.writer:
            return
        index = self.readers.index(connection)
        number = int(Delivery(frame).text)
        assert number == self.delivered[index] + 1
        self.delivered[index] = number
        window.append(came - self.sent[number])

    def close(self):
        for connection in [self.writer, *self.readers]:
            connection.close()


def p99(window):
    ordered = sorted(window)
    return ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))]


def undisturbed(windows):
    """The windows in which the machine had time for relay and meter."""
    return [window for window in windows if window and window.waited < 0.35]


def usual_p99(windows):
    """The 99th percentile of each second, and of these the middle one."""
    return statistics.median(p99(window) for window in windows)
