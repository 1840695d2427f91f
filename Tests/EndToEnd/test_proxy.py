"""Everything goes through the proxy, as a user of its own for each membership, and nothing past it."""

import re

import pytest

from antenna.wire import padme
from harness import BIN, run
from proxy import Proxy


@pytest.fixture
def proxied(world):
    """A relay whose name only the proxy knows, and the proxy."""
    relay = world.relay(
        "home", ANTENNA_RELAY__ADVERTISE="relay.test", ANTENNA_LOG__LEVEL="debug", ANTENNA_LOG__ADDRESSES="yes")
    proxy = world.keep(Proxy({"relay.test": ("127.0.0.1", relay.port)}))
    return relay, proxy


def through(person, proxy):
    person.env["ANTENNA_PROXY"] = proxy.url
    return person


def peers(relay):
    """The addresses that the relay saw."""
    return set(re.findall(r"link\.accepted.*?address=\"?([0-9a-f.:]+)", relay.log_text))


def session(world, relay, proxy):
    """An owner with two channels and a reader of both, all through the proxy; the reader."""
    alice, bob = through(world.person("alice"), proxy), through(world.person("bob"), proxy)
    alice.know(relay)
    for channel in ("news", "chat"):
        bob("join", alice.create(channel, relay)["link"])
        alice.post(f"#{channel}", f"hello {channel}")
    return alice, bob


def test_every_command_works_through_the_proxy_and_the_relay_sees_nobody_else(world, proxied):
    relay, proxy = proxied
    alice, bob = session(world, relay, proxy)
    assert alice.json("relay", "test", "home")["ok"]
    following = world.follow(bob, "#news", "--since", "2020-01-01").connected()
    following.wait_texts("hello news")
    alice("sync")
    posted = alice.post("#news", "hello agane")["messageId"]
    alice("edit", "#news", posted, "hello again")
    following.wait_kind("edited")
    assert [m["name"] for m in alice.json("members", "#news")["members"]].count("bob") == 1
    assert bob.texts("#chat") == ["hello chat"]
    alice("delete", "#news", posted)
    alice("channel", "set", "#chat", "--description", "to talk")
    bob("leave", "#chat")
    alice("channel", "delete", "#chat", "--yes")
    assert peers(relay) == {Proxy.SOURCE}
    # The name went to the proxy as it is: nobody else could have resolved it.
    assert {c.target for c in proxy.connections} == {("relay.test", relay.port)}


def test_each_membership_is_a_user_of_its_own_and_stays_it(world, proxied):
    relay, proxy = proxied
    alice, bob = session(world, relay, proxy)

    def users(person, *words):
        before = len(proxy.connections)
        person(*words)
        found = [c.user for c in proxy.connections[before:]]
        assert found and all(c.password for c in proxy.connections)
        return found

    news, chat = set(users(bob, "history", "#news")), set(users(bob, "history", "#chat"))
    assert len(news) == len(chat) == 1 and not news & chat
    assert set(users(bob, "history", "#news")) == news, "another process is the same user"
    # An owner's posting and ruling are apart, too.
    member, control = set(users(alice, "history", "#news")), set(users(alice, "members", "#news"))
    assert not member & control and not (member | control) & (news | chat)
    # What belongs to no membership is a stranger each time.
    tests = users(alice, "relay", "test", "home") + users(alice, "relay", "test", "home")
    assert len(set(tests)) == 2 and not set(tests) & (news | chat | member | control)
    assert all(re.fullmatch("[0-9a-f]{32}", c.user) for c in proxy.connections), "a name that tells nothing"


def test_nothing_else_is_connected_to_and_no_resolver_is_asked(world, proxied, tmp_path):
    relay, proxy = proxied
    alice, bob = session(world, relay, proxy)
    for number, words in enumerate([
            ("relay", "test", "home"), ("post", "#news", "traced"), ("sync",), ("members", "#news"),
            ("history", "#news"), ("leave", "#news")]):
        person = bob if words[0] in ("history", "leave") else alice
        trace = tmp_path / f"trace-{number}"
        done = run(
            ["strace", "-f", "-qq", "-e", "trace=connect,sendto,sendmsg,sendmmsg", "-o", trace,
             *person.words, *words], env=person.env)
        assert done.code == 0, done
        calls = trace.read_text()
        reached = set(re.findall(r"connect\(\d+, (\{.*?\})", calls))
        assert reached, (words, calls)
        assert all(f"sin_port=htons({proxy.port})" in to and '"127.0.0.1"' in to for to in reached), reached
        # A datagram to a resolver would name its destination.
        assert not re.findall(r"send\w+\(.*(?:sa_family|sin_port)", calls)


def test_records_on_the_wire_have_padded_sizes(world, proxied):
    relay, proxy = proxied
    alice, _ = session(world, relay, proxy)
    alice("history", "#news")
    member = proxy.connections[-1].user
    sizes = {}
    around = range(700, 730, 3)
    for length in (1, 2, *around, 9000):
        before = len(proxy.connections)
        alice.post("#news", "x" * length)
        for connection in proxy.connections[before:]:
            out, records = bytes(connection.outward[40:]), []  # after preface and e
            while out:
                size = int.from_bytes(out[:2], "big")
                records.append(size - 16)
                out = out[2 + size:]
            assert records and all(padme(size) == size for size in records), records
            if connection.user == member:
                sizes[length] = max(records)
    # The size tells the magnitude: ten lengths around 700 are one or two sizes.
    assert len({sizes[length] for length in around}) <= 2 and len(set(sizes.values())) <= 5, sizes
    assert sizes[1] < sizes[700] < sizes[9000], sizes


def test_a_proxy_that_is_down_is_69_and_one_clear_line_and_nobody_goes_past_it(world, proxied):
    relay, proxy = proxied
    alice, _ = session(world, relay, proxy)
    link = alice("link", "#news").out.strip()
    carol = through(world.person("carol"), proxy)
    proxy.stop()
    accepted = relay.log_text.count("link.accepted")
    for person, words in [(carol, ("join", link)), (alice, ("members", "#news"))]:
        done = person(*words, "--timeout", "5", code=69)
        lines = done.err.strip().splitlines()
        assert len(lines) == 1 and "the proxy cannot be reached" in lines[0], done
        assert done.seconds < 6
    posted = alice("post", "#news", "not lost", "--timeout", "2", code=69)
    assert "the proxy cannot be reached" in posted.out, posted
    assert relay.log_text.count("link.accepted") == accepted


@pytest.mark.parametrize("settings, said", [
    (dict(method=0x55), "it wants another kind of authentication"),
    (dict(password="secret"), "it does not take the user name and password"),
    (dict(reply=4), "it cannot reach the relay's host"),
    (dict(reply=2), "its rules do not allow this connection"),
])
def test_what_the_proxy_refuses_is_said_in_words(world, settings, said):
    proxy = world.keep(Proxy(**settings))
    alice = through(world.person("alice"), proxy)
    address = "https://relay.test/r#" + "A" * 42 + "E?p=5280"
    alice("relay", "add", "far", address)
    done = alice("relay", "test", "far", "--timeout", "10", code=69)
    assert said in done.out, done


def test_a_proxy_without_users_and_one_with_its_own_will_do(world):
    relay = world.relay("home")
    for settings, user in [(dict(method=0), ""), (dict(password="p@ss"), "me:p%40ss@")]:
        proxy = world.keep(Proxy(**settings))
        alice = world.person("alice")
        alice("relay", "test", relay.address, "--proxy", proxy.url.replace("//", f"//{user}"))
        assert len(proxy.connections) == 1


def test_a_proxy_that_cannot_be_read_is_wrong_usage_and_not_left_out(world):
    relay, alice = world.relay("home"), world.person("alice")
    for url in ("", "127.0.0.1:9050", "http://127.0.0.1:9050", "socks5://tor.example:9050", "socks5://127.0.0.1:0",
                "socks5://127.0.0.1:99999", "socks5://me@127.0.0.1:9050"):
        done = alice("relay", "test", relay.address, "--proxy", url, code=64)
        assert "--proxy does not name a proxy" in done.err, done
    alice.env["ANTENNA_PROXY"] = "nonsense"
    assert "ANTENNA_PROXY does not name a proxy" in alice("relay", "test", relay.address, code=64).err
    alice("relay", "test", relay.address, "--proxy", "none")


def test_channels_that_catch_up_at_once_do_not_begin_at_once(world, proxied):
    relay, proxy = proxied
    alice, bob = world.person("alice"), through(world.person("bob"), proxy)
    alice.env["ANTENNA_PROXY"] = proxy.url
    alice.know(relay)
    for number in range(6):
        bob("join", alice.create(f"c{number}", relay)["link"])
    before = len(proxy.connections)
    bob("sync")
    began = sorted(c.began for c in proxy.connections[before:])
    assert len(began) == 6
    # Six moments drawn from five seconds are within half a second of each other once in 16,000 runs.
    assert began[-1] - began[0] > 0.5, [b - began[0] for b in began]
