"""H8: a backup of a working relay, and its way back."""

import shutil
import sqlite3
import threading

from harness import BIN, run


def backup_texts(path):
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as database:
        assert database.execute("pragma integrity_check").fetchone()[0] == "ok"


def test_a_backup_under_load_holds_what_was_accepted_and_can_be_put_back(world):
    relay, alice = world.relay("home"), world.person("alice")
    alice.know(relay)
    alice.create("news", relay)
    alice.create("noise", relay)
    relay.ctl("leave", "#noise")
    accepted, stop, fault = [], threading.Event(), []

    def write():
        try:
            while not stop.is_set():
                text = f"message {len(accepted)}"
                alice.post("#news", text)
                accepted.append(text)
        except Exception as problem:
            fault.append(problem)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        while len(accepted) < 10 and not fault:
            pass
        file = world.path / "backup.db"
        file.write_text("an older one")
        for _ in range(5):
            before = list(accepted)
            report = relay.ctl("backup", file, "--json").json
            assert report["file"] == str(file) and report["fileBytes"] == file.stat().st_size
            backup_texts(file)
    finally:
        stop.set()
        writer.join()
    assert not fault, fault
    assert sorted(p.name for p in world.path.iterdir() if p.name.startswith("backup")) == ["backup.db"]

    # Not while a relay works there, and then nothing has changed.
    restore = [BIN / "antennad", "restore", file, "--state", relay.state]
    refused = run(restore, env=relay.env)
    assert refused.code == 75 and relay.ctl("status").code == 0

    # On a new machine: the keys, and the backup.
    relay.stop()
    moved = world.path / "moved"
    moved.mkdir(mode=0o700)
    shutil.copy(relay.state / "relay.identity", moved)
    done = run([BIN / "antennad", "restore", file, "--state", moved, "--json"], env=relay.env).json
    assert done["channels"] == 2
    relay.state = moved
    address = relay.address
    relay.start()
    assert relay.address == address and relay.integrity() == "ok"
    assert relay.channel("noise")["status"] == "rejected"
    bob = world.person("bob")
    bob("join", alice("link", "#news").out.strip())
    assert [t for t in bob.texts("#news") if t in before] == before


def test_a_backup_that_cannot_be_written_leaves_nothing(world):
    relay = world.relay("home")
    failed = relay.ctl("backup", world.path / "none" / "backup.db", "--json", code=74)
    assert failed.error["name"] == "input-output"
    assert relay.ctl("status").code == 0


def test_a_backup_that_cannot_be_written_is_named_as_it_was_asked_for(world):
    relay = world.relay("home")
    failed = relay.ctl("backup", world.path / "nowhere" / "b.db", code=74)
    assert f"{world.path}/nowhere/b.db" in failed.err and ".new-" not in failed.err and "No such file" in failed.err
