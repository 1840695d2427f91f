"""A real antennad for the tests of this folder: one for all, or one of its own for a test that ends it."""

import itertools
import os
import pathlib
import select
import signal
import subprocess
import time

import pytest

from antenna import links
from antenna.client import LIVE, RemoteError
from antenna.people import Owner, Subscriber

ROOT = pathlib.Path(__file__).resolve().parents[3]
START_SECONDS = STOP_SECONDS = 20


def binary(name):
    given = pathlib.Path(os.environ.get("ANTENNA_BIN") or ROOT / ".build" / "debug")
    folder = given if given.is_dir() else given.parent
    path = folder / name
    if not os.access(path, os.X_OK):
        pytest.skip(f"no {name} in {folder}")
    return str(path)


class Relay:
    """One antennad process and the operator's tool for it."""

    # What stands before the program: it runs inside of something.
    prefix = ()

    def __init__(self, state, listen="127.0.0.1:0", **settings):
        """`settings` are those of `antennad config default`, as section__key."""
        self.state = str(state)
        self.environment = {**os.environ, **{f"ANTENNA_{k.upper()}": str(v) for k, v in settings.items()}}
        self.log = open(os.path.join(self.state, "..", f"{os.path.basename(self.state)}.log"), "ab")
        self.start(listen)

    def start(self, listen):
        self.process = subprocess.Popen(
            [*self.prefix, binary("antennad"), "--listen", listen, "--state", self.state, "--print-address"],
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=self.log,
        )
        self.link = links.parse(self._address_line())

    def _address_line(self):
        until, seen = time.monotonic() + START_SECONDS, b""
        out = self.process.stdout.fileno()
        while b"\n" not in seen:
            ready, _, _ = select.select([out], [], [], max(0, until - time.monotonic()))
            piece = os.read(out, 4096) if ready else b""
            if not piece:
                self.process.kill()
                raise RuntimeError(f"antennad printed no address: {seen!r}; see {self.log.name}")
            seen += piece
        return seen.split(b"\n")[0].decode().strip()

    @property
    def seen_state(self):
        """Where the state directory lies for us."""
        return self.state

    @property
    def port(self):
        return self.link.endpoints()[0][1]

    def operator(self, *words, check=True):
        done = subprocess.run(
            [binary("antennactl"), "--state", self.seen_state, *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=20,
        )
        assert not check or done.returncode == 0, (
            f"antennactl {words}: {done.returncode} {done.stdout}{done.stderr}"
        )
        return done

    def stop(self, with_signal=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(with_signal)
        code = self.process.wait(STOP_SECONDS)
        self.process.stdout.close()
        return code

    def restart(self, with_signal=signal.SIGTERM):
        port = self.port
        self.stop(with_signal)
        self.start(f"127.0.0.1:{port}")


@pytest.fixture(scope="session")
def shared(tmp_path_factory):
    state = tmp_path_factory.mktemp("relay") / "state"
    state.mkdir()
    # All channels of all tests come from one address.
    relay = Relay(state, limits__invitations_per_address=0)
    yield relay
    assert relay.stop() == 0


@pytest.fixture
def relay(shared):
    yield shared
    assert shared.process.poll() is None, "the relay ended during this test"


@pytest.fixture
def relays(tmp_path):
    """`relays(section__key=value, …)`: a relay of the test's own."""
    made = []

    def make(**settings):
        state = tmp_path / f"state{len(made)}"
        state.mkdir()
        made.append(Relay(state, **settings))
        return made[-1]

    yield make
    for relay in made:
        relay.stop()


@pytest.fixture
def own_relay(relays):
    return relays()


class Channel:
    """A channel established at a relay, with helpers that read like the tests."""

    serial = itertools.count(1)

    def __init__(self, relay, **options):
        self.relay = relay
        self.name = f"news{next(self.serial)}"
        self.owner = Owner([relay.link], self.name, **options)
        self.open = []
        self.control = self.owner.establish(relay.link)
        self.open.append(self.control)

    @property
    def id(self):
        return self.owner.channel

    @property
    def entry(self):
        return self.owner.entries[0]

    def keep(self, connection):
        self.open.append(connection)
        return connection

    def writer(self, **options):
        return self.keep(self.owner.attach(self.relay.link, start=LIVE, **options))

    def reader(self, start=LIVE, position=0, **options):
        subscriber = Subscriber(str(self.owner.link))
        connection = self.keep(subscriber.subscribe(start, position, **options))
        return subscriber, connection

    def write(self, *texts):
        """Publishes texts over a link of its own; the sequences."""
        with self.owner.attach(self.relay.link, start=LIVE) as writer:
            results = [writer.publish(self.owner.message(text))[0] for text in texts]
        assert all(result["result"] == 0 for result in results), results
        return [result["sequence"] for result in results]

    def close(self):
        for connection in self.open:
            connection.close()


@pytest.fixture
def channels(relay):
    made = []

    def make(**options):
        made.append(Channel(relay, **options))
        return made[-1]

    yield make
    for channel in made:
        channel.close()


@pytest.fixture
def channel(channels):
    return channels()


@pytest.fixture
def refused():
    """`refused(code, call, …)`: the call must end in this error, on the link or the request."""

    def check(code, call, *arguments, **options):
        with pytest.raises(RemoteError) as problem:
            call(*arguments, **options)
        assert problem.value.code == code, problem.value
        return problem.value

    return check
