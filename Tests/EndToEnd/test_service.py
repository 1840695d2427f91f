"""The relay under a service manager: the notify socket, a socket that is handed over, and the unit itself."""

import os
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import threading
import time

import pytest

from harness import BIN, ROOT, Relay, environment, run, until

DEPLOY = ROOT / "deploy"


class Manager:
    """The manager's end of the notify socket."""

    def __init__(self, name):
        self.name = name
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind("\0" + name[1:] if name.startswith("@") else name)
        self.messages = []
        self.changed = threading.Condition()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        while True:
            try:
                data = self.socket.recv(4096)
            except OSError:
                return
            with self.changed:
                self.messages.append((time.monotonic(), dict(
                    line.split("=", 1) for line in data.decode().split("\n"))))
                self.changed.notify_all()

    def wait(self, key, after=0, seconds=20):
        """The place and the content of the first message with `key` from place `after` on."""
        def find():
            return next(((i, m) for i, (_, m) in enumerate(self.messages) if i >= after and key in m), None)
        with self.changed:
            assert self.changed.wait_for(find, seconds), f"no {key} in {self.messages[after:]}"
            return find()

    def times(self, key):
        with self.changed:
            return [at for at, message in self.messages if key in message]


@pytest.fixture
def manager(world):
    manager = Manager(str(world.path / "notify"))
    yield manager
    manager.socket.close()


def test_the_manager_hears_ready_reloading_and_stopping(world, manager):
    relay = world.relay("home", start=False, NOTIFY_SOCKET=manager.name)
    with open(relay.log, "ab") as log:
        relay.process = subprocess.Popen(
            [BIN / "antennad", "--state", relay.state, "--listen", relay.listen], stdin=subprocess.DEVNULL,
            stdout=log, stderr=log, env=relay.env)
    ready, message = manager.wait("READY")
    assert ready == 0 and message["READY"] == "1"
    # At once, without another try: the port listens, the database is open and the operator is answered.
    port = int(re.fullmatch(r"listening on 127.0.0.1:(\d+)", message["STATUS"])[1])
    socket.create_connection(("127.0.0.1", port), 5).close()
    assert relay.ctl("status").code == 0

    before = time.monotonic_ns() // 1000
    relay.ctl("reload")
    reloading, message = manager.wait("RELOADING", ready + 1)
    assert message["RELOADING"] == "1" and before <= int(message["MONOTONIC_USEC"]) <= time.monotonic_ns() // 1000
    ready, _ = manager.wait("READY", reloading + 1)
    relay.process.send_signal(signal.SIGTERM)
    _, message = manager.wait("STOPPING", ready + 1)
    assert message["STOPPING"] == "1" and int(message["EXTEND_TIMEOUT_USEC"]) > 1_000_000
    assert relay.process.wait(20) == 0
    assert not manager.times("WATCHDOG")


def test_an_abstract_socket_and_a_manager_that_is_gone_are_fine(world):
    manager = Manager(f"@antenna-test-{world.path.name}")
    relay = world.relay("home", NOTIFY_SOCKET=manager.name)
    manager.wait("READY")
    manager.socket.close()
    relay.ctl("reload")
    assert relay.stop() == 0


def test_the_sign_of_life_stops_while_the_writer_hangs(world, manager):
    relay = world.relay("home", NOTIFY_SOCKET=manager.name, WATCHDOG_USEC="1000000")
    until(lambda: len(manager.times("WATCHDOG")) >= 4, what="a sign of life")
    seen = manager.times("WATCHDOG")
    assert all(b - a < 0.9 for a, b in zip(seen, seen[1:])), seen

    other = sqlite3.connect(next(relay.state.glob("*.db")), isolation_level=None)
    other.execute("begin immediate")
    asked = subprocess.Popen([BIN / "antennactl", "--state", relay.state, "prune"], env=relay.env,
                             stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until(lambda: time.monotonic() - manager.times("WATCHDOG")[-1] > 1.5, what="silence")
    assert socket.create_connection(("127.0.0.1", relay.port), 5)
    other.execute("rollback")
    count = len(manager.times("WATCHDOG"))
    until(lambda: len(manager.times("WATCHDOG")) > count, what="another sign of life")
    asked.wait(20)


def test_a_watchdog_that_is_meant_for_another_process_is_left_alone(world, manager):
    relay = world.relay("home", NOTIFY_SOCKET=manager.name, WATCHDOG_USEC="40000", WATCHDOG_PID="1")
    manager.wait("READY")
    for _ in range(3):
        relay.ctl("status")
    assert not manager.times("WATCHDOG")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.mark.skipif(not shutil.which("systemd-socket-activate"), reason="needs systemd-socket-activate")
def test_a_socket_that_the_manager_opened_is_taken(world):
    port = free_port()
    relay = Relay(world.path, "home", start=False)
    with open(relay.log, "ab") as log:
        relay.process = subprocess.Popen(
            ["systemd-socket-activate", f"--listen=127.0.0.1:{port}", "-E", f"HOME={world.path}",
             "-E", "ANTENNA_RELAY__DRAIN_SECONDS=0", BIN / "antennad", "--state", relay.state],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=relay.env)
    world.keep(relay)
    # The first connection starts it, and is served.
    first = until(lambda: try_connect(port), what="the activator")
    until(lambda: relay.ctl("status", code=None).code == 0, what="the relay")
    assert relay.ctl("status", "--json").json["listen"] == f"127.0.0.1:{port}"
    until(lambda: relay.ctl("status", "--json").json["counters"]["accepted"] >= 1, what="the connection")
    first.close()
    assert relay.stop() == 0


def try_connect(port):
    try:
        return socket.create_connection(("127.0.0.1", port), 5)
    except OSError:
        return None


@pytest.mark.parametrize("count", ["1", "2"])
def test_what_is_no_listening_socket_is_refused(world, count):
    # The shell keeps its number when it becomes the relay; descriptor 3 is a file, or there is none.
    found = run(["sh", "-c", f'LISTEN_FDS={count} LISTEN_PID=$$ exec "$0" --state "$1" 3</dev/null',
                 BIN / "antennad", world.path / "state"], env=environment(world.path))
    assert found.code == 78 and "ListenStream" in found.err


# The unit


def unit_here(world):
    """The unit with the programs of this build in it."""
    path = world.path / "antennad.service"
    path.write_text((DEPLOY / "antennad.service").read_text().replace("/usr/bin/", f"{BIN}/"))
    return path


needs_analyze = pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="needs systemd-analyze")


@needs_analyze
def test_the_unit_is_clean(world):
    found = run(["systemd-analyze", "verify", "--man=no", unit_here(world)], env=environment(world.path))
    assert (found.code, found.out, found.err) == (0, "", "")
    (world.path / "antennad.service").write_text("[Service]\nExecStart=/bin/true\nWatchdogSek=1\n")
    found = run(["systemd-analyze", "verify", "--man=no", world.path / "antennad.service"],
                env=environment(world.path))
    assert "WatchdogSek" in found.err


@needs_analyze
def test_the_unit_exposes_little(world):
    found = run(["systemd-analyze", "security", "--offline=yes", "--no-pager", DEPLOY / "antennad.service"],
                env=environment(world.path))
    assert float(re.search(r"Overall exposure level for antennad.service: ([0-9.]+)", found.out)[1]) <= 2.0


def test_the_unit_says_what_an_operator_relies_on():
    text = (DEPLOY / "antennad.service").read_text()
    settings = [line for line in text.splitlines() if line and not line.startswith("#")]
    for line in ["Type=notify", "NotifyAccess=main", "ExecStartPre=/usr/bin/antennad --check-config",
                 "RestartPreventExitStatus=64 65 77 78", "Restart=on-failure", "LimitNOFILE=65536", "UMask=0077",
                 "StateDirectory=antenna", "ConfigurationDirectory=antenna", "CapabilityBoundingSet=",
                 "RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX"]:
        assert line in settings, line


def filtered_calls(world):
    """The system calls that the unit's filter lets through, by name."""
    def members(group):
        if not group.startswith("@"):
            return {group}
        found = run(["systemd-analyze", "syscall-filter", group], env=environment(world.path))
        assert found.code == 0, found
        names = set()
        for line in found.out.splitlines()[1:]:
            word = line.strip()
            if word.startswith("@"):
                names |= members(word)
            elif word and not word.startswith("#"):
                names.add(word)
        return names

    allowed = set()
    for line in (DEPLOY / "antennad.service").read_text().splitlines():
        if line.startswith("SystemCallFilter="):
            words = line.split("=", 1)[1].split()
            for word in words:
                if words[0].startswith("~"):
                    allowed -= members(word.lstrip("~"))
                else:
                    allowed |= members(word)
    return allowed | members("@default")


@needs_analyze
@pytest.mark.skipif(not shutil.which("strace"), reason="needs strace")
def test_the_relay_makes_no_system_call_that_the_unit_forbids(world):
    relay = world.relay("home", start=False, NOTIFY_SOCKET="@nobody", ANTENNA_LIMITS__CONNECTIONS="100")
    trace = world.path / "trace"
    with open(relay.log, "ab") as log:
        tracer = subprocess.Popen(
            ["strace", "-f", "-qq", "-o", trace, BIN / "antennad", "--state", relay.state, "--listen", relay.listen],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=relay.env)
    relay.process = tracer
    try:
        relay.address = until(relay._ask_address, what="the start")
        alice, bob = world.person("alice"), world.person("bob")
        alice.know(relay)
        bob("join", alice.create("news", relay)["link"])
        alice.post("#news", "hello")
        assert bob.texts("#news") == ["hello"]
        for words in (["reload"], ["backup", relay.state / "b.db"], ["rotate-key"], ["leave", "#news"]):
            relay.ctl(*words)
    finally:
        first = int(trace.read_text().split(None, 1)[0])
        run(["kill", "-TERM", first], env=relay.env)
        assert tracer.wait(20) == 0
    called = set(re.findall(r"^\d+ +(?:<\.\.\. )?([a-z0-9_]+)", trace.read_text(), re.MULTILINE))
    assert {"sendto", "accept4", "fdatasync", "sched_setattr", "sched_yield"} <= called
    # SQLite gives its files their owner where it runs as root, which the unit does not.
    assert called - filtered_calls(world) - ({"fchown"} if os.geteuid() == 0 else set()) == set()


@pytest.mark.skipif(not shutil.which("systemd-sysusers"), reason="needs systemd-sysusers")
def test_the_user_and_the_directories_are_made(world):
    root = world.path / "root"
    (root / "etc").mkdir(parents=True)
    for folder in ("sysusers.d", "tmpfiles.d"):
        (root / "usr/lib" / folder).mkdir(parents=True)
        shutil.copy(DEPLOY / folder / "antenna.conf", root / "usr/lib" / folder)
    found = run(["systemd-sysusers", f"--root={root}"], env=environment(world.path))
    assert found.code == 0, found
    user = next(line for line in (root / "etc/passwd").read_text().splitlines() if line.startswith("antenna:"))
    assert "/var/lib/antenna" in user and user.endswith("/nologin")
    parsed = run(["systemd-tmpfiles", "--create", f"--root={root}"], env=environment(world.path))
    assert "antenna.conf" not in parsed.err, parsed
