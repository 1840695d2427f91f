"""A volume that is full: nothing acked is lost, readers and the operator are served, room is enough to go on."""

import json
import os
import signal
import subprocess

import pytest
from conftest import Channel, Relay

from antenna.client import AFTER, BEFORE_SEQUENCE, LAST, RemoteError

TEXT = "x" * 8000
STORAGE_FULL = 9


class TinyVolume:
    """A file system of 16 MiB, in a mount namespace that a sleeping process holds open."""

    def __init__(self, inside):
        self.inside = inside
        mount = f"mount -t tmpfs -o size=16m,mode=700 tiny '{inside}' && echo mounted && exec sleep 1000"
        self.holder = subprocess.Popen(
            ["unshare", "-rm", "sh", "-c", mount],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        if self.holder.stdout.readline() != b"mounted\n":
            self.close()
            pytest.skip("no mount namespaces here")
        self.enter = ["nsenter", "-t", str(self.holder.pid), "-U", "-m", "--preserve-credentials"]
        # The same directory, seen from outside.
        self.seen = f"/proc/{self.holder.pid}/root{inside}"

    def fill(self):
        """Somebody else's file takes all that is free."""
        with open(f"{self.seen}/filling", "wb", buffering=0) as file:
            try:
                while True:
                    file.write(bytes(4096))
            except OSError:
                pass

    def free(self):
        os.unlink(f"{self.seen}/filling")

    def resize(self, size):
        subprocess.run([*self.enter, "mount", "-o", f"remount,size={size}", self.inside], check=True)

    def close(self):
        self.holder.kill()
        self.holder.wait()
        self.holder.stdout.close()


class TinyRelay(Relay):
    """Its state lies on the tiny volume, its log does not."""

    def __init__(self, volume, log, **settings):
        self.volume, self.prefix = volume, volume.enter
        self.state = f"{volume.inside}/state"
        self.environment = {**os.environ, **{f"ANTENNA_{k.upper()}": str(v) for k, v in settings.items()}}
        self.log = open(log, "ab")
        self.start("127.0.0.1:0")

    @property
    def seen_state(self):
        return f"{self.volume.seen}/state"

    @property
    def storage(self):
        return json.loads(self.operator("status", "--json").stdout)["storage"]

    @property
    def is_full(self):
        return self.storage["full"]

    def is_sound(self):
        """Looked at as it lies, while the relay is stopped."""
        asked = ["sqlite3", f"file:{self.state}/relay.db?immutable=1", "pragma integrity_check"]
        done = subprocess.run([*self.volume.enter, *asked], capture_output=True, text=True, timeout=20)
        return done.stdout == "ok\n"


# The volume alone is the limit; or a limit of the relay's own lies below it.
QUOTA = {"limits__database_bytes": "2 MiB"}


@pytest.fixture(params=[{}, QUOTA], ids=["volume", "quota"])
def relay(tmp_path, request):
    inside = tmp_path / "tiny"
    inside.mkdir()
    volume = TinyVolume(inside)
    relay = TinyRelay(volume, tmp_path / "log", **request.param)
    relay.because = "limit" if request.param else "volume"
    yield relay
    assert relay.stop() == 0
    assert relay.is_sound()
    volume.close()


@pytest.fixture
def channel(relay):
    channel = Channel(relay)
    yield channel
    channel.close()


def publish(writer, owner, *texts):
    """The code of each text, 0 where it was stored."""
    results = writer.publish(*[owner.message(text) for text in texts])
    writer.inbox.clear()
    return [result["code"] for result in results]


def fill_by_publishing(channel):
    """What was stored until the relay refused."""
    stored = []
    writer = channel.writer()
    while True:
        text = f"{len(stored)} {TEXT}"
        (code,) = publish(writer, channel.owner, text)
        if code:
            assert code == STORAGE_FULL
            return writer, stored
        stored.append(text)
        assert len(stored) < 2000, "it never became full"


def read_all(subscriber, relay, epoch):
    with subscriber.attach(relay.link, AFTER, epoch, 0) as reader:
        return [d.text for d in reader.until(reader.attached.head) if hasattr(d, "text")]


def test_full_by_publishing_and_freed_by_the_operator(relay, channel):
    subscriber, reader = channel.reader()
    writer, stored = fill_by_publishing(channel)
    assert len(stored) > 100 and relay.is_full and relay.because in relay.storage["fullBecause"]
    # Readers are served, live ones and those who come back; who is new waits.
    assert [d.text for d in reader.until(len(stored))] == stored
    assert read_all(subscriber, relay, reader.attached.epoch) == stored
    assert len(reader.history(BEFORE_SEQUENCE, len(stored), 5)[0]) == 5
    with pytest.raises(RemoteError) as problem:
        channel.reader(LAST, 10)
    assert problem.value.code == STORAGE_FULL
    assert publish(writer, channel.owner, "still full") == [STORAGE_FULL]

    done = json.loads(relay.operator("prune", "#" + channel.name, "--keep", "50", "--json").stdout)
    assert done["messages"] == len(stored) - 50
    assert not relay.is_full
    assert publish(writer, channel.owner, "room again") == [0]
    assert read_all(subscriber, relay, reader.attached.epoch)[-51:] == [*stored[-50:], "room again"]
    actions = json.loads(relay.operator("audit", "--json").stdout)["actions"]
    assert [(a["action"], a["detail"]) for a in actions] == [("prune", "kept 50")]


def test_full_to_the_last_byte_by_somebody_else(relay, channel):
    subscriber, reader = channel.reader()
    writer, stored = fill_by_publishing(channel)
    relay.volume.fill()
    assert publish(writer, channel.owner, "nothing goes") == [STORAGE_FULL]
    assert read_all(subscriber, relay, reader.attached.epoch) == stored
    # What was acked is there also after a crash in this state. A start finds no room for a single byte; it serves
    # readers, in the same epoch.
    relay.restart(signal.SIGKILL)
    assert relay.is_full
    with subscriber.attach(relay.link, AFTER, reader.attached.epoch, 0) as again:
        assert again.attached.epoch == reader.attached.epoch
        assert [d.text for d in again.until(len(stored))] == stored
    writer = channel.writer()
    assert publish(writer, channel.owner, "nothing goes") == [STORAGE_FULL]
    # Room comes back, and nobody has to restart anything.
    relay.volume.free()
    relay.volume.resize("64m")
    if relay.because == "limit":
        assert publish(writer, channel.owner, "still at the limit") == [STORAGE_FULL]
        relay.operator("prune", "#" + channel.name, "--keep", "50")
    assert publish(writer, channel.owner, "room again") == [0]
    assert relay.stop() == 0
    relay.start(f"127.0.0.1:{relay.port}")
    with subscriber.attach(relay.link, AFTER, reader.attached.epoch, len(stored)) as again:
        assert again.attached.epoch == reader.attached.epoch
        assert again.next().text == "room again"
