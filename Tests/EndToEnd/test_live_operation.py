"""H11: everything an operator does, by script and without a terminal, while a hundred readers stay connected."""

import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from harness import BIN, ROOT, run

sys.path.insert(0, str(ROOT / "Tests" / "Conformance"))

from antenna import links  # noqa: E402
from antenna.client import LIVE  # noqa: E402
from antenna.people import Owner, Rejected, Subscriber  # noqa: E402

READERS = 100


class Scene:
    """A relay with a file of settings, a channel with a hundred readers, and others to be busy with."""

    def __init__(self, world):
        self.file = world.path / "antennad.conf"
        self.file.write_text("[relay]\nname = home\n")
        self.relay = world.relay("home", ANTENNA_CONFIG=str(self.file))
        self.link = links.parse(self.relay.address)
        self.owners = {name: self.owner(name) for name in ("news", "noise")}
        text = str(self.owners["news"].link)
        with ThreadPoolExecutor(8) as pool:
            self.readers = list(pool.map(lambda _: Subscriber(text).subscribe(LIVE), range(READERS)))
        self.writer = self.owners["news"].attach(self.link, start=LIVE)

    def owner(self, name, establish=True):
        owner = Owner([self.link], name)
        if establish:
            owner.establish(self.link)
        return owner

    def everybody_hears(self, text):
        """A message reaches every reader over the link it has had all along."""
        result = self.writer.publish(self.owners["news"].message(text))[0]
        assert result["result"] == 0, result
        for reader in self.readers:
            assert reader.next().text == text

    def close(self):
        for thing in [*self.readers, self.writer, *self.owners.values()]:
            thing.close()


@pytest.fixture
def scene(world):
    scene = Scene(world)
    yield scene
    scene.close()


def test_every_command_works_while_a_hundred_readers_stay(scene, world):
    def ctl(*words, code=0):
        """One command with standard input closed; its one JSON document."""
        words = [str(word) for word in [BIN / "antennactl", "--state", scene.relay.state, "--json", *words]]
        done = subprocess.run(["sh", "-c", 'exec "$@" <&-', "sh", *words], capture_output=True, text=True,
                              timeout=30, env=scene.relay.env)
        assert done.returncode == code, (words, done)
        return json.loads(done.stdout)

    scene.everybody_hears("before")
    assert ctl("status")["links"]["members"] == READERS + 1
    assert ctl("address")["link"] == scene.relay.address
    assert {row["name"]: row["attached"] for row in ctl("channels")["channels"]} == {
        "#news": READERS + 1, "#noise": 0}
    assert ctl("members", "#news")["total"] >= READERS
    assert len(ctl("members", "#news", "--limit", "5")["members"]) == 5
    assert ctl("leave", "#noise", "--reason", "too loud")["already"] is False
    assert ctl("leave", "#noise")["already"] is True
    with pytest.raises(Rejected):
        scene.owners["noise"].establish(scene.link)
    assert ctl("allow", "#noise")["channel"] == "#noise"
    assert ctl("group", "allow", "#noise", code=1)["error"]["name"] == "wrong-state"
    assert ctl("forget", "#noise")["channel"] == "#noise"
    assert ctl("forget", "#news", code=1)["error"]["name"] == "wrong-state"
    scene.everybody_hears("after a channel was left")

    scene.file.write_text("[relay]\nname = home\n[admission]\npolicy = manual\n")
    assert ctl("reload")["changed"] == ["[admission] policy"]
    for name in ("third", "fourth"):
        owner = scene.owners[name] = scene.owner(name, establish=False)
        control = owner.control(scene.link, inviting=True)
        owner.controls.append(control)
        control.direct(owner.invitation(b"0123456789ab" + name[:4].encode()))
    seen = set()
    for _ in range(200):
        seen = {row["channel"] for row in ctl("invitations")["invitations"]}
        if len(seen) == 2:
            break
    assert seen == {"#third", "#fourth"}
    assert ctl("accept", "#third")["channel"] == "#third"
    assert ctl("reject", "#fourth", "--reason", "no room")["channel"] == "#fourth"
    assert ctl("accept", "#fourth", code=64)["error"]["name"] == "not-found"
    scene.file.write_text("[relay\n")
    assert ctl("reload", code=78)["error"]["name"] == "bad-configuration"
    scene.everybody_hears("after the settings were read anew")

    assert ctl("prune")["messages"] == 0
    assert ctl("prune", "#news")["messages"] == 0
    assert ctl("rotate-key")["notAfterAt"] > 0
    backup = world.path / "backup.db"
    assert ctl("backup", backup)["fileBytes"] == backup.stat().st_size
    assert ctl("audit")["actions"][0]["action"]
    assert ctl("version")["antenna"] == "0.1.0"
    assert ctl("leave", "#nothing", code=64)["error"]["name"] == "not-found"
    assert ctl("leaf", "#news", code=64)["error"]["name"] == "unknown-command"
    assert ctl("status", "--timeout", "0", code=64)["error"]["name"] == "bad-value"

    # Many commands from one script.
    lines = scene.relay.ctl(input="/channels\n/status\naudit --limit 1\n").out
    assert "#news" in lines and "links: " in lines

    scene.everybody_hears("at the end")
    for reader in scene.readers:
        assert reader.ping() == b"conform!"
    status = ctl("status")
    assert status["links"]["members"] == READERS + 1
    assert scene.relay.integrity() == "ok"


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("setpriv"), reason="needs two users")
def test_other_users_of_the_machine_get_nowhere(world):
    relay = world.relay("home")
    programs = world.path / "bin"
    programs.mkdir()
    shutil.copy(BIN / "antennactl", programs)
    world.path.chmod(0o755)
    asked = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", programs / "antennactl",
             "--state", relay.state, "status", "--json"]
    assert relay.state.stat().st_mode & 0o777 == 0o700
    assert (relay.state / "control.sock").stat().st_mode & 0o777 == 0o600
    refused = run(asked, env=relay.env)
    assert refused.code == 77 and refused.error["name"] == "not-permitted"
    # Somebody opened the doors: the relay still looks at who asks.
    relay.state.chmod(0o755)
    (relay.state / "control.sock").chmod(0o666)
    refused = run(asked, env=relay.env)
    assert refused.code == 69, refused
    assert "control.refused" in relay.log_text
    assert relay.ctl("status").code == 0
