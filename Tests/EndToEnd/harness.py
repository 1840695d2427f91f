"""Programs of Antenna as a person would run them, and what they are run against."""

import json
import os
import pathlib
import shutil
import signal
import socket
import sqlite3
import subprocess
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("ANTENNA_BIN") or ROOT / ".build" / "debug").resolve()
WAIT = 20


def environment(home, **more):
    """What a program sees: nothing of the machine that runs the tests but PATH."""
    kept = {k: v for k, v in os.environ.items() if k in ("PATH", "LD_LIBRARY_PATH")}
    return {**kept, "HOME": str(home), "LC_ALL": "C.UTF-8", **more}


def until(condition, seconds=WAIT, what="it"):
    """The first true value of `condition`, looked at again and again."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"{what} did not happen within {seconds} s")
        time.sleep(0.03)


class Result:
    """What a program that has ended left: code, standard output, standard error."""

    def __init__(self, words, code, out, err, seconds):
        self.words, self.code, self.out, self.err, self.seconds = words, code, out, err, seconds

    def __repr__(self):
        return f"{' '.join(map(str, self.words))}\n  exit {self.code} after {self.seconds:.1f} s" \
               f"\n  stdout: {self.out}\n  stderr: {self.err}"

    @property
    def json(self):
        """Standard output as the one JSON document it must be."""
        try:
            return json.loads(self.out)
        except ValueError:
            raise AssertionError(f"not one JSON document: {self}") from None

    @property
    def error(self):
        return self.json["error"]


def run(words, *, env, input=None, timeout=60, cwd=None):
    """Runs a program to its end, without a terminal and, unless `input` is given, without input."""
    words = [str(word) for word in words]
    started = time.monotonic()
    stdin = {"stdin": subprocess.DEVNULL} if input is None else {"input": input}
    done = subprocess.run(words, env=env, capture_output=True, text=True, timeout=timeout, cwd=cwd, **stdin)
    result = Result(words, done.returncode, done.stdout, done.stderr, time.monotonic() - started)
    assert done.returncode >= 0, f"ended by a signal: {result}"
    assert "Fatal error" not in done.stderr and "Stack dump" not in done.stderr, result
    return result


class Scratch:
    """A short-named directory: a control socket's path must fit into 107 bytes."""

    def __init__(self):
        self.path = pathlib.Path(tempfile.mkdtemp(prefix="antenna-", dir="/tmp"))

    def remove(self):
        shutil.rmtree(self.path, ignore_errors=True)


class Relay:
    """One antennad process with its state, and antennactl for it."""

    def __init__(self, scratch, name, *, listen="127.0.0.1:0", start=True, prefix=(), **settings):
        self.name = name
        self.state = scratch / name
        self.log = scratch / f"{name}.log"
        self.env = environment(scratch, ANTENNA_RELAY__DRAIN_SECONDS="1", **settings)
        self.process = None
        self.listen = listen
        self.prefix = list(prefix)
        self.address = None
        if start:
            self.start()

    def start(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [*self.prefix, BIN / "antennad", "--state", self.state, "--listen", self.listen],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=self.env)
        self.address = until(self._ask_address, what=f"the start of relay {self.name}")
        self.port = int(self.address.split("?")[1].split("p=")[1].split("&")[0])
        # From now on at the same place, as the links say.
        self.listen = f"127.0.0.1:{self.port}"
        return self

    def _ask_address(self):
        if self.process.poll() is not None:
            raise AssertionError(f"relay {self.name} ended with {self.process.returncode}:\n{self.log_text}")
        answer = self.ctl("address", "--json", code=None)
        return answer.json["link"] if answer.code == 0 else None

    @property
    def log_text(self):
        return self.log.read_text(errors="replace")

    def ctl(self, *words, code=0, input=None, timeout=30):
        result = run([BIN / "antennactl", "--state", self.state, *words], env=self.env, input=input, timeout=timeout)
        assert code is None or result.code == code, result
        return result

    def channel(self, name):
        """The row of a channel as the operator sees it; None when there is none."""
        rows = self.ctl("channels", "--json").json["channels"]
        return next((row for row in rows if row["name"].lstrip("#") == name), None)

    def kill(self):
        """As the power cut would, but for what the kernel has."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(WAIT)

    def stop(self):
        """A clean stop; its exit code."""
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(WAIT)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
                raise AssertionError(f"relay {self.name} did not stop:\n{self.log_text}") from None
        return self.process.returncode if self.process else 0

    def restart(self):
        self.stop()
        return self.start()

    def database(self):
        """Read-only, beside the running relay."""
        files = [f for f in self.state.iterdir() if f.suffix == ".db"]
        assert len(files) == 1, files
        return sqlite3.connect(f"file:{files[0]}?mode=ro", uri=True)

    def row_counts(self):
        """How many rows each table has."""
        with self.database() as database:
            tables = [row[0] for row in database.execute(
                "select name from sqlite_master where type = 'table' and name not like 'sqlite_%'")]
            return {table: database.execute(f'select count(*) from "{table}"').fetchone()[0] for table in tables}

    def integrity(self):
        with self.database() as database:
            return database.execute("pragma integrity_check").fetchone()[0]


class Person:
    """Somebody with a home directory."""

    def __init__(self, scratch, name):
        self.name = name
        self.home = scratch / f"home-{name}"
        self.env = environment(scratch)
        self.words = [BIN / "antenna", "--home", self.home]
        self("profile", name)

    def __call__(self, *words, code=0, input=None, timeout=90):
        result = run([*self.words, *words], env=self.env, input=input, timeout=timeout)
        assert code is None or result.code == code, result
        return result

    def json(self, *words, code=0, input=None, timeout=90):
        return self(*words, "--json", code=code, input=input, timeout=timeout).json

    def know(self, *relays):
        for relay in relays:
            self("relay", "add", relay.name, relay.address)

    def create(self, channel, *relays, code=0):
        words = [word for relay in relays for word in ("--relay", relay.name)]
        return self.json("channel", "create", channel, *words, code=code)

    def relays(self, channel):
        """Status by relay name."""
        return {row["name"]: row["status"] for row in self.json("relays", channel)["relays"]}

    def post(self, channel, text, *words, code=0):
        return self.json("post", channel, text, *words, code=code)

    def texts(self, channel, *words):
        return [m["text"] for m in self.json("history", channel, "--limit", "500", *words)["messages"]]

    def follow(self, channel, *words):
        return Follow(self, channel, *words)


class Follow:
    """`antenna follow --json`, running: what it printed so far."""

    def __init__(self, person, channel, *words):
        self.items = []
        self.changed = threading.Condition()
        self.process = subprocess.Popen(
            [str(w) for w in [*person.words, "follow", channel, "--json", *words]], env=person.env,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.notes = []
        self.threads = [threading.Thread(target=self._read, daemon=True),
                        threading.Thread(target=self._read_notes, daemon=True)]
        for thread in self.threads:
            thread.start()

    def _read(self):
        for line in self.process.stdout:
            with self.changed:
                self.items.append(json.loads(line))
                self.changed.notify_all()
        with self.changed:
            self.changed.notify_all()

    def _read_notes(self):
        for line in self.process.stderr:
            with self.changed:
                self.notes.append(line.rstrip("\n"))
                self.changed.notify_all()

    def wait(self, condition, seconds=WAIT):
        """Waits until `condition(self)` is true, and returns it."""
        with self.changed:
            found = self.changed.wait_for(lambda: condition(self), seconds)
            assert found, f"not within {seconds} s; so far: {self.items}\n{self.notes}"
            return condition(self)

    def connected(self, count=1):
        self.wait(lambda f: len({n for n in f.notes if n.startswith("connected to ")}) >= count)
        return self

    @property
    def texts(self):
        return [item["message"]["text"] for item in self.items if item["kind"] == "message"]

    def wait_texts(self, *texts, seconds=WAIT):
        """Waits until exactly these messages came, in this order."""
        self.wait(lambda f: len(f.texts) >= len(texts), seconds)
        assert self.texts == list(texts)

    def wait_kind(self, kind, seconds=WAIT):
        return self.wait(lambda f: [item for item in f.items if item["kind"] == kind], seconds)[0]

    def stop(self):
        """Ctrl-C; the exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        code = self.process.wait(WAIT)
        for thread in self.threads:
            thread.join(WAIT)
        return code


class BlackHole:
    """Takes every connection and never says a word."""

    def __init__(self, port=0):
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(("127.0.0.1", port))
        self.socket.listen(64)
        self.port = self.socket.getsockname()[1]
        self.taken = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        try:
            while True:
                self.taken.append(self.socket.accept()[0])
        except OSError:
            pass

    def close(self):
        # A shutdown wakes the thread in accept; a close alone does not.
        try:
            self.socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.socket.close()
        for connection in self.taken:
            connection.close()
