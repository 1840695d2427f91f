"""What a person types, against two relays."""

import re


def test_the_whole_transcript(world):
    home, other = world.relay("home"), world.relay("other")
    alice, bob, carol = world.person("alice"), world.person("bob"), world.person("carol")

    assert re.match(r"https://127\.0\.0\.1/r#[\w-]{43}\?p=\d+$", home.address)
    alice.know(home, other)
    tested = alice.json("relay", "test", "home")
    assert tested["ok"] and [step["step"] for step in tested["steps"]] == \
        ["parse", "resolve", "connect", "handshake", "verify"]
    assert [row["name"] for row in alice.json("relay", "list")["relays"]] == ["home", "other"]

    made = alice.create("news", home, other)
    assert [(r["relay"], r["result"]) for r in made["relays"]] == [("home", "active"), ("other", "active")]
    assert alice.relays("#news") == {"home": "active", "other": "active"}
    link = alice("link", "#news").out.strip()
    assert link == made["link"] and link.startswith("https://127.0.0.1/c#")
    drawn = alice("link", "#news", "--qr").out
    assert drawn.startswith(link) and "█" in drawn and drawn.endswith("\n")

    joined = bob.json("join", link)
    assert joined["channel"]["name"] == "news" and all(r["result"] == "active" for r in joined["relays"])
    following = world.follow(bob, "#news").connected()

    posted = alice.post("#news", "hello")
    assert posted["complete"] and [r["relay"] for r in posted["relays"]] == ["home", "other"]
    following.wait_texts("hello")
    assert following.items[0]["message"]["id"] == posted["messageId"]
    assert following.items[0]["message"]["signature"] == "verified"
    piped = alice.json("post", "#news", input="from a pipe\nwith two lines\n")
    following.wait_texts("hello", "from a pipe\nwith two lines")

    message = posted["messageId"]
    edited = alice("edit", "#news", message[:10], "hello again")
    assert edited.out.startswith(f"message {message} is changed\n")
    assert following.wait_kind("edited")["message"]["text"] == "hello again"
    assert alice("delete", "#news", message).out.startswith(f"message {message} is deleted\n")
    assert following.wait_kind("deleted")["message"]["id"] == message
    alice("delete", "#news", message, code=64)

    # A late reader sees what is there now, and a reader in text sees it as a person would.
    carol("join", link)
    texts = [m["text"] for m in carol.json("history", "#news")["messages"] if not m["deleted"]]
    assert texts == ["from a pipe\nwith two lines"]
    assert f"alice: from a pipe\n    with two lines  ({piped['messageId'][:10]})" in carol("history", "#news").out

    members = {m["name"]: m for m in alice.json("members", "#news")["members"]}
    assert members["bob"]["role"] == "observer" and members["alice"]["role"] == "owner"
    alice("remove", "#news", "bob")
    following.wait(lambda f: f.process.poll() is not None)
    assert bob.json("channels")["channels"][0]["current"] is False

    alice("channel", "set", "#news", "--description", "All that is new")
    assert alice.json("channel", "list")["channels"][0]["description"] == "All that is new"
    carol("sync")
    assert carol.json("channels")["channels"][0]["description"] == "All that is new"

    for relay in (home, other):
        assert relay.channel("news")["status"] == "active"
        assert "news" in relay.ctl("channels").out
        assert "running" in relay.ctl("status").out
        assert {m["name"] for m in relay.ctl("members", "#news", "--json").json["members"]} >= {"carol"}
        relay.ctl("audit")

    carol("leave", "#news")
    refused = alice.json("leave", "#news", code=64)
    assert refused["error"]["name"] == "sole-owner"
    refused = alice.json("channel", "delete", "#news", code=64)
    assert refused["error"]["name"] == "confirmation-needed"
    alice("channel", "delete", "#news", "--yes")
    for relay in (home, other):
        row = relay.channel("news")
        assert row is None or row["status"] == "inactive"


def test_a_relay_address_is_not_a_channel(world):
    relay, bob = world.relay("home"), world.person("bob")
    tried = bob("join", relay.address, code=64)
    assert tried.err == "Relay address\nThis is a chat relay address, it cannot be used to connect.\n"
    assert tried.out == ""
    error = bob.json("join", relay.address, code=64)["error"]
    assert (error["title"], error["message"]) == \
        ("Relay address", "This is a chat relay address, it cannot be used to connect.")
    assert bob.json("channels")["channels"] == []


def test_two_people_with_the_same_channel_name(world):
    relay = world.relay("home")
    alice, anna, bob = world.person("alice"), world.person("anna"), world.person("bob")
    for owner in (alice, anna):
        owner.know(relay)
        bob("join", owner.create("news", relay)["link"])
    assert [c["name"] for c in bob.json("channels")["channels"]] == ["news", "news_1"]
    alice.post("#news", "from alice")
    anna.post("#news", "from anna")
    assert bob.texts("#news") == ["from alice"]
    assert bob.texts("#news_1") == ["from anna"]
    # The operator sees two channels and no name fits both.
    rows = relay.ctl("channels", "--json").json["channels"]
    assert len({row["name"] for row in rows}) == 2


def test_a_channel_name_with_spaces(world):
    relay, alice = world.relay("home"), world.person("alice")
    alice.know(relay)
    alice.create("my news", relay)
    alice.post("#'my news'", "hello")
    assert alice.texts("my news") == ["hello"]
    typed = relay.ctl(input="/members #'my news'\nleave #'my news'\n")
    assert "alice" in typed.out
    assert relay.channel("'my news'")["status"] == "rejected"


def test_text_that_would_command_a_terminal(world):
    relay, alice, bob = world.relay("home"), world.person("alice"), world.person("bob")
    alice.know(relay)
    bob("join", alice.create("news", relay)["link"])
    alice.post("#news", "\x1b[2J\x07 red \u202e drow")
    shown = bob("history", "#news").out
    assert not any(c in shown for c in "\x1b\x07\u202e")
    assert "\\u{1b}[2J" in shown


def test_following_from_somewhere(world):
    relay, alice, bob = world.relay("home"), world.person("alice"), world.person("bob")
    alice.know(relay)
    bob("join", alice.create("news", relay)["link"])
    ids = [alice.post("#news", f"number {n}")["messageId"] for n in range(5)]
    following = world.follow(bob, "#news", "--count", "5", "--timeout", "30")
    following.wait_texts(*[f"number {n}" for n in range(5)])
    assert following.process.wait(20) == 0
    after = world.follow(bob, "#news", "--since", ids[2], "--count", "2", "--timeout", "30")
    after.wait_texts("number 3", "number 4")
    assert after.process.wait(20) == 0
    position = following.items[3]["position"]
    rest = world.follow(bob, "#news", "--after", str(position), "--count", "1", "--timeout", "30")
    rest.wait_texts("number 4")
    for start in ("10m", "1h", "2d"):
        recent = world.follow(bob, "#news", "--since", start, "--count", "5", "--timeout", "30")
        recent.wait_texts(*[f"number {n}" for n in range(5)])
    everything = world.follow(bob, "#news", "--since", "2020-01-01")
    everything.wait_texts(*[f"number {n}" for n in range(5)])
    assert everything.stop() == 0
    late = bob("follow", "#news", "--count", "1", "--timeout", "1", "--json", code=69)
    assert late.error["name"] == "timeout"
    page = bob.json("history", "#news", "--limit", "2", "--before", ids[3])["messages"]
    assert [m["text"] for m in page] == ["number 1", "number 2"]


def test_a_person_reads_a_changed_message_once(world):
    relay, alice, bob = world.relay("home"), world.person("alice"), world.person("bob")
    alice.know(relay)
    bob("join", alice.create("news", relay)["link"])
    message = alice.post("#news", "helo")["messageId"]
    alice("edit", "#news", message, "hello")
    bob("sync")
    shown = bob("follow", "#news", "--last", "1", "--count", "1", "--timeout", "20").out
    assert shown.count("alice: hello") == 1 and "edited" in shown
    alice("edit", "#news", message, "hello!")
    alice.post("#news", "end")
    bob("sync")
    shown = bob("follow", "#news", "--last", "2", "--count", "2", "--timeout", "20").out.splitlines()
    assert [line.split(": ")[1].split("  (")[0] for line in shown] == ["hello!", "end"]


def test_a_renamed_channel_is_shown_with_both_names(world):
    relay, alice, bob = world.relay("home"), world.person("alice"), world.person("bob")
    alice.know(relay)
    bob("join", alice.create("news", relay)["link"])
    alice("channel", "set", "#news", "--name", "old news")
    bob("sync")
    for person in (alice, bob):
        assert "#news (now called old news)" in person("channels").out
        assert person("history", "#'old news'").code == 0


def test_former_members_are_counted_apart(world):
    relay, alice, bob = world.relay("home"), world.person("alice"), world.person("bob")
    alice.know(relay)
    bob("join", alice.create("news", relay)["link"])
    bob("leave", "#news")
    assert relay.ctl("members", "#news").out.endswith("1 member, 1 who is not any more\n")
    assert alice("members", "#news").out.endswith("1 member, 1 who is not any more\n")
