"""What a relay writes down about people where its operator asked for nothing: nothing."""

import re
import socket

from harness import until
from proxy import Proxy

PEER = Proxy.SOURCE


def garbage(port, data):
    """Somebody from the readers' address who does not speak the protocol."""
    with socket.create_connection(("127.0.0.1", port), 10, source_address=(PEER, 0)) as sock:
        sock.sendall(data)
        sock.shutdown(socket.SHUT_WR)
        while sock.recv(4096):
            pass


def lively(world, relay):
    """A session with everything that goes right and wrong; what must not be written down, by what it is."""
    proxy = world.keep(Proxy())
    alice, bob, mallory = (world.person(name) for name in ("alice-the-owner", "bob-the-reader", "mallory-the-third"))
    for person in (alice, bob, mallory):
        person.env["ANTENNA_PROXY"] = proxy.url
    alice.know(relay)
    link = alice.create("secret-garden", relay)["link"]
    for person in (bob, mallory):
        person("join", link)
    ids = [alice.post("secret-garden", text)["messageId"] for text in ("roses are red", "violets are blue")]
    following = world.follow(bob, "secret-garden", "--since", "2020-01-01").connected()
    following.wait_texts("roses are red", "violets are blue")
    members = alice.json("members", "secret-garden")["members"]
    alice("edit", "secret-garden", ids[0], "roses are white")
    alice("delete", "secret-garden", ids[1])
    bob("post", "secret-garden", "not allowed", code=None)
    alice("remove", "secret-garden", "mallory-the-third", "--messages")
    mallory("history", "secret-garden", code=None)
    mallory("sync", code=None)
    for data in (b"", b"GET / HTTP/1.1\r\n\r\n", b"ANTN\x01\x01\x03\x00" + b"\x01" * 32 + b"\xff" * 200, b"\x00" * 4096):
        garbage(relay.port, data)
    relay.restart()
    following.wait(lambda f: [n for n in f.notes if n.startswith("connected to ")][1:], 40)
    alice.post("secret-garden", "tulips after all")
    following.wait_texts("roses are red", "violets are blue", "tulips after all")
    following.stop()
    bob("leave", "secret-garden")
    relay.ctl("leave", "secret-garden")
    alice("sync", code=None)
    relay.stop()
    return {
        "an address of a peer": [PEER],
        "a name": ["alice-the-owner", "bob-the-reader", "mallory-the-third"],
        "a channel's name": ["secret-garden"],
        "content": ["roses", "violets", "tulips", "not allowed"],
        "a message id": ids,
        "a member id": [row["id"] for row in members],
    }


def found(log, forbidden):
    return {what: [text for text in texts if text in log] for what, texts in forbidden.items()
            if any(text in log for text in texts)}


def test_by_default_the_log_says_nothing_about_people(world):
    relay = world.relay("home")
    forbidden = lively(world, relay)
    assert relay.log_text.strip(), "a log without a line proves nothing"
    assert found(relay.log_text, forbidden) == {}
    # No address but the ones that the relay itself listens on.
    assert set(re.findall(r"\b\d+\.\d+\.\d+\.\d+\b", relay.log_text)) <= {"127.0.0.1"}


def test_even_at_debug_there_are_no_names_ids_or_content_and_addresses_only_when_asked_for(world):
    relay = world.relay("home", ANTENNA_LOG__LEVEL="debug")
    forbidden = lively(world, relay)
    assert "debug link.handshake-failed" in relay.log_text, relay.log_text
    assert found(relay.log_text, forbidden) == {}


def test_an_operator_who_asks_for_addresses_gets_them(world):
    relay = world.relay("home", ANTENNA_LOG__LEVEL="debug", ANTENNA_LOG__ADDRESSES="yes")
    garbage(relay.port, b"nothing of ours")
    until(lambda: PEER in relay.log_text, what="the address in the log")


def test_nothing_on_the_disk_of_a_relay_holds_an_address(world):
    relay = world.relay("home")
    forbidden = lively(world, relay)
    files = {path.name: path.read_bytes() for path in relay.state.rglob("*") if path.is_file()}
    database = b"".join(files.values())
    assert b"roses are white" in database, "what was published is there, so the search finds things"
    packed = socket.inet_aton(PEER)
    assert [name for name, data in files.items() if PEER.encode() in data or packed in data] == []
    assert forbidden["a message id"]
