"""Two memberships of one home have nothing in common, at the relay, that strangers do not have as well.

The relay is the small one in Python; it keeps every byte that a client tells it. What two memberships share is
compared with what memberships of other homes share: what is left would link the two.
"""

import re
import shutil
import socket

import pytest

from antenna import links, wire
from antenna.bytesio import WireError
from antenna.noise_link import LinkClosed
from antenna.responder import Responder
from antenna.small_relay import SmallRelay
from antenna.small_session import Session
from harness import until
from proxy import Proxy

# A run of so many bytes counts as something in common; up to EDGE of them at one end may be chance.
WINDOW, EDGE = 10, 3


class Note:
    """All that one link tells the relay: the handshake in the clear, and the frames of its records."""

    def __init__(self, clear):
        self.clear, self.bodies, self.frames = clear, [], []

    @property
    def said(self):
        return b"\n".join(self.bodies)


class WatchingRelay(SmallRelay):
    name = "watching"

    def __init__(self):
        self.notes = []
        super().__init__()
        self.address = str(self.link)

    stop = SmallRelay.close

    def _serve(self, sock):
        try:
            note = Note(sock.recv(40, socket.MSG_PEEK | socket.MSG_WAITALL))
            link = Responder.answer(sock, self.identity)
            receive = link.receive_record

            def record(deadline):
                plaintext = receive(deadline)
                for kind, body in wire.split_record(plaintext):
                    note.bodies.append(body)
                    note.frames.append(wire.decode(kind, body).name)
                return plaintext

            link.receive_record = record
            self.notes.append(note)
            Session(self, link).run()
        except (LinkClosed, TimeoutError, WireError, OSError):
            pass
        finally:
            sock.close()


class Stage:
    """The relay, the proxy that everybody uses, and what each membership was seen to say."""

    def __init__(self, world):
        self.world = world
        self.relay, self.proxy = world.keep(WatchingRelay()), world.keep(Proxy())

    def person(self, name, home=None, profile=True):
        person = self.world.person(home or name)
        person.env["ANTENNA_PROXY"] = self.proxy.url
        if home:
            person("profile", name)
        if not profile:
            shutil.rmtree(person.home)
        return person

    def seen(self, action):
        """What the relay and the proxy's user names tell of an action."""
        notes, asked = len(self.relay.notes), len(self.proxy.connections)
        action()
        until(lambda: len(self.relay.notes) - notes == len(self.proxy.connections) - asked, what="every link")
        told = [part for note in self.relay.notes[notes:] for part in (note.clear, *note.bodies)]
        told += [f"{c.user} {c.password}".encode() for c in self.proxy.connections[asked:]]
        return told

    def read(self, person, link, *words):
        """One whole membership of a reader: joins, comes back twice, leaves."""
        def live():
            name = person.json("join", link, *words)["channel"]["id"]
            person("history", name)
            person("sync")
            person("leave", name, "--timeout", "3", code=None)
        return self.seen(live)


def windows(told, size=WINDOW):
    return {part[at:at + size] for part in told for at in range(len(part) - size + 1)}


def shared(one, other, strangers):
    """What two memberships have in common and no stranger has, but for bytes at an edge."""
    common = windows(one) & windows(other)
    assert len(common) > 50, "the same protocol is spoken"
    known = set().union(*(windows(stranger, WINDOW - EDGE) for stranger in strangers))
    return {run for run in common if run[EDGE:] not in known and run[:-EDGE] not in known}


@pytest.fixture
def stage(world):
    return Stage(world)


def two_channels(stage):
    alice = stage.person("alice")
    alice.know(stage.relay)
    return [alice.create(channel, stage.relay)["link"] for channel in ("news", "chat")]


@pytest.mark.parametrize("words, profile", [(("--anonymous",), True), ((), False)])
def test_a_reader_without_a_name_cannot_be_linked(stage, words, profile):
    news, chat = two_channels(stage)
    bob, carol = stage.person("bob", profile=profile), stage.person("carol", profile=profile)
    seen = [stage.read(person, link, *words) for person in (bob, carol) for link in (news, chat)]
    assert shared(seen[0], seen[1], seen[2:]) == set()
    names = re.findall(rb'"displayName":"(reader-[a-z0-9]{8})"', b"".join(b"".join(told) for told in seen))
    assert len(set(names)) == 4, "another name for each membership"


def test_a_name_that_was_given_is_all_that_links_a_reader(stage):
    news, chat = two_channels(stage)
    bob, carol = stage.person("bob-with-a-long-name"), stage.person("carol")
    seen = [stage.read(person, link) for person in (bob, carol) for link in (news, chat)]
    found = shared(seen[0], seen[1], seen[2:])
    assert found and all(run in b'"displayName":"bob-with-a-long-name","fullName":' for run in found), found
    # Another home that gives the same name looks the same.
    namesake = stage.person("bob-with-a-long-name", home="somebody")
    assert shared(seen[0], seen[1], [*seen[2:], stage.read(namesake, news)]) == set()


def test_a_name_for_one_channel_stays_in_it(stage):
    news, chat = two_channels(stage)
    bob = stage.person("bob")
    seen = [stage.read(bob, news, "--as", "robert the reader"), stage.read(bob, chat, "--anonymous")]
    assert b"robert the reader" in b"".join(seen[0])
    for told in seen:
        assert b'"bob"' not in b"".join(told)
    assert b"robert" not in b"".join(seen[1])


def test_an_owner_of_two_channels_cannot_be_linked_but_by_the_name_given(stage):
    alice, other = stage.person("alice"), stage.person("alice", home="namesake")
    seen = []
    for person in (alice, other):
        person.know(stage.relay)
        for channel in ("news", "chat"):
            def rule():
                person.create(channel, stage.relay)
                person("post", channel, "the same words")
                person("members", channel)
            seen.append(stage.seen(rule))
    assert shared(seen[0], seen[1], seen[2:]) == set()


def test_each_membership_has_links_of_its_own(stage):
    news, chat = two_channels(stage)
    bob = stage.person("bob")
    notes = len(stage.relay.notes)
    for link in (news, chat):
        bob("join", link)
    bob("sync")
    ids = [links.parse(link).key for link in (news, chat)]
    for note in stage.relay.notes[notes:]:
        assert sum(key in note.said for key in ids) == 1, note.frames
        assert not {"JOIN", "ATTACH"} & set(note.frames) or "RECORD_GET" not in note.frames[:1], note.frames
