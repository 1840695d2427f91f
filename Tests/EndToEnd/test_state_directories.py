"""State that is foreign, too new, unwritable or in use is refused untouched."""

import hashlib
import os
import sqlite3

import pytest

from harness import BIN, Person, Relay, environment, run


def digest(folder):
    """Every file of a folder with its content."""
    return {str(p.relative_to(folder)): hashlib.sha256(p.read_bytes()).hexdigest()
            for p in sorted(folder.rglob("*")) if p.is_file()}


def antennad(world, state, **kw):
    words = [BIN / "antennad", "--state", state, "--listen", "127.0.0.1:0"]
    return run(words, env=environment(world.path), timeout=30, **kw)


def database(state):
    return next(f for f in state.iterdir() if f.suffix == ".db")


def stopped_relay(world):
    relay = world.relay("home")
    assert relay.stop() == 0
    return relay


def test_a_database_of_another_program(world):
    relay = stopped_relay(world)
    file = database(relay.state)
    for extra in relay.state.glob(f"{file.name}-*"):
        extra.unlink()
    file.unlink()
    with sqlite3.connect(file) as other:
        other.execute("create table t (x)")
        other.execute("pragma application_id = 1234")
    other.close()
    before = digest(relay.state)
    refused = antennad(world, relay.state)
    assert refused.code == 65, refused
    assert digest(relay.state) == before


def test_a_database_that_is_none(world):
    relay = stopped_relay(world)
    file = database(relay.state)
    file.write_bytes(b"this is no database, but it is long enough to be looked at\n" * 100)
    before = file.read_bytes()
    refused = antennad(world, relay.state)
    assert refused.code == 65, refused
    assert file.read_bytes() == before


def test_a_database_from_the_future(world):
    relay = stopped_relay(world)
    with sqlite3.connect(database(relay.state)) as future:
        future.execute("pragma user_version = 9999")
    future.close()
    before = digest(relay.state)
    refused = antennad(world, relay.state)
    assert refused.code == 65, refused
    assert digest(relay.state) == before


def test_a_state_directory_in_use(world):
    relay = world.relay("home")
    refused = antennad(world, relay.state)
    assert refused.code == 75, refused
    assert relay.ctl("status", "--json").json["state"] == "running"


def as_nobody():
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)


def test_a_state_directory_that_cannot_be_made(world):
    file = world.path / "file"
    file.write_text("not a directory")
    refused = antennad(world, file / "state")
    assert refused.code == 73, refused
    assert file.read_text() == "not a directory"


@pytest.mark.skipif(os.geteuid() == 0 and not hasattr(os, "setuid"), reason="needs another user")
def test_a_state_directory_that_cannot_be_written(world):
    import subprocess
    relay = stopped_relay(world)
    for path in [*relay.state.rglob("*")]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    relay.state.chmod(0o555)
    world.path.chmod(0o755)
    before = digest(relay.state)
    # Root may write everything, so this is tried as nobody.
    done = subprocess.run(
        [str(BIN / "antennad"), "--state", str(relay.state), "--listen", "127.0.0.1:0"], stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=30, env=environment(world.path),
        preexec_fn=as_nobody if os.geteuid() == 0 else None)
    assert done.returncode in (73, 77), done
    assert digest(relay.state) == before


def test_the_home_of_a_person_is_as_picky(world):
    alice = world.person("alice")
    file = database(alice.home)
    with sqlite3.connect(file) as future:
        future.execute("pragma user_version = 9999")
    future.close()
    before = digest(alice.home)
    error = alice.json("channels", code=65)["error"]
    assert error["name"] == "home-too-new"
    assert digest(alice.home) == before
    for spoil in (b"this is no database\n" * 1000, b""):
        file.write_bytes(spoil)
        before = digest(alice.home)
        assert alice.json("channels", code=65)["error"]["name"] == "home-foreign"
        assert digest(alice.home) == before
    file.unlink()
    for id, version, name in ((1234, 1, "home-foreign"), (0, 0, "home-foreign"), (0x414E5443, -3, "home-corrupt")):
        with sqlite3.connect(file) as other:
            other.execute("create table t (x)")
            other.execute(f"pragma application_id = {id}")
            other.execute(f"pragma user_version = {version}")
        other.close()
        before = digest(alice.home)
        assert alice.json("channels", code=65)["error"]["name"] == name
        assert digest(alice.home) == before
        file.unlink()
    blocked = world.path / "file"
    blocked.write_text("")
    bad = run([BIN / "antenna", "--home", blocked / "home", "channels", "--json"], env=alice.env)
    assert bad.code == 73 and bad.error["name"] == "home-not-writable"


def test_keys_are_for_their_owner_alone(world):
    relay, alice = world.relay("home"), world.person("alice")
    for folder in (relay.state, alice.home):
        assert folder.stat().st_mode & 0o077 == 0
        for path in folder.iterdir():
            assert path.stat().st_mode & 0o077 == 0, path


def test_a_passphrase_locks_the_keys(world):
    relay, alice = world.relay("home"), world.person("alice")
    alice.know(relay)
    alice.create("news", relay)
    secret = world.path / "secret"
    secret.write_text("correct horse\n")
    unlock = ["--passphrase-file", secret]
    alice("passphrase", input="correct horse\n")
    assert alice.json("channels", code=77)["error"]["name"] == "wrong-passphrase"
    secret.write_text("wrong horse\n")
    assert alice.json("post", "#news", "hello", *unlock, code=77)["error"]["name"] == "wrong-passphrase"
    secret.write_text("correct horse\n")
    assert alice.json("post", "#news", "hello", *unlock)["complete"]
    alice("passphrase", "--remove", *unlock)
    assert alice.post("#news", "hello again")["complete"]
    assert alice.json("passphrase", code=64)["error"]["name"] == "missing-argument"


def without_a_value(file, table, column):
    """Writes NULL where the schema forbids it, as a hand can that changes the schema meanwhile."""
    def alter(change):
        database = sqlite3.connect(file)
        database.execute("pragma writable_schema = on")
        database.execute("pragma ignore_check_constraints = on")
        change(database)
        database.commit()
        database.close()

    with sqlite3.connect(file) as database:
        schema, = database.execute("select sql from sqlite_schema where name = ?", (table,)).fetchone()
    database.close()
    loose = schema.replace("NOT NULL", "").replace("STRICT", "").rstrip().rstrip(",")
    put = "update sqlite_schema set sql = ? where name = ?"
    alter(lambda database: database.execute(put, (loose, table)))
    alter(lambda database: database.execute(f"update {table} set {column} = null"))
    alter(lambda database: database.execute(put, (schema, table)))


@pytest.mark.parametrize("table, column", [
    ("relay", "identity"), ("channel", "member_id"), ("channel", "record_version"), ("channel_relay", "identity"),
    ("channel_relay", "member_id"), ("log_cursor", "position"), ("profile", "display_name"),
])
def test_a_home_that_lacks_a_value_is_damaged(world, table, column):
    relay, alice = world.relay("home"), world.person("alice")
    alice.know(relay)
    alice.create("news", relay)
    alice.post("#news", "hello")
    without_a_value(database(alice.home), table, column)
    refused = alice.json("history", "#news", code=65)["error"]
    assert refused["name"] == "home-corrupt", refused


@pytest.mark.parametrize("table, column", [
    ("counters", "log_head"), ("channels", "record"), ("members", "public_key"), ("log", "frame"), ("meta", "value"),
])
def test_a_state_that_lacks_a_value_is_damaged(world, table, column):
    relay, alice = world.relay("home"), world.person("alice")
    alice.know(relay)
    alice.create("news", relay)
    alice.post("#news", "hello")
    assert relay.stop() == 0
    without_a_value(database(relay.state), table, column)
    before = database(relay.state).read_bytes()
    refused = antennad(world, relay.state)
    assert refused.code == 65 and "is damaged" in refused.err, refused
    assert database(relay.state).read_bytes() == before
