"""H1: an operator who left stays out until they allow it."""

import signal
from concurrent.futures import ThreadPoolExecutor

from antenna import links
from antenna.keys import new_id
from antenna.people import Owner, Rejected


def invite_again(owner, channel, relay, code):
    removed = owner.json("relays", channel, "--remove", relay.name)["outcomes"]
    assert all(row["result"] != "active" for row in removed), removed
    return owner.json("relays", channel, "--add", relay.name, code=code)["outcomes"][0]


def rows(relay):
    """How many rows there are about anything that an invitation could leave behind."""
    return {table: count for table, count in relay.row_counts().items() if table != "meta"}


def test_no_means_no(world):
    first, second = world.relay("first"), world.relay("second")
    alice, anna, bob = world.person("alice"), world.person("anna"), world.person("bob")
    alice.know(first, second)
    anna.know(first)
    link = alice.create("a", first, second)["link"]
    anna.create("b", first)
    bob("join", link)
    following = world.follow(bob, "#a").connected(2)

    left = first.ctl("leave", "#a", "--reason", "too loud")
    assert first.channel("a")["status"] == "rejected"
    assert "a" in left.out
    # The owner learns it, and readers go on with the other relay.
    alice("sync", code=None)
    assert alice.relays("#a") == {"first": "rejected", "second": "active"}
    row = next(r for r in alice.json("relays", "#a")["relays"] if r["name"] == "first")
    assert row["memberStatus"] == "left"
    # A person reads it in words.
    shown = next(line for line in alice("relays", "#a").out.splitlines() if line.startswith("first "))
    assert "its operator left the channel and refuses it until antennactl allow" in shown
    assert "rejoin_rejected" not in shown and "channel-rejected" not in shown
    assert [r["relay"] for r in alice.post("#a", "without the first")["relays"]] == ["second"]
    following.wait_texts("without the first")

    # A listed relay cannot be added, whatever its status.
    refused = alice.json("relays", "#a", "--add", "first", code=64)
    assert refused["error"]["name"] == "relay-already-listed"

    before = rows(first)
    for attempt in range(5):
        outcome = invite_again(alice, "#a", first, code=69)
        assert outcome == {"relay": "first", "result": "rejected", "reason": "rejoin_rejected"}
        assert alice.relays("#a")["first"] == "rejected"
        if attempt == 2:
            first.kill()
            first.start()
    assert rows(first) == before
    assert first.channel("a")["status"] == "rejected"

    # The other channel never noticed.
    assert anna.post("#b", "all is well")["complete"]
    assert first.channel("b")["status"] == "active"

    for spelling in (("group", "allow"), ("relay", "allow"), ("allow",)):
        first.ctl(*spelling, "#a")
        assert first.channel("a")["status"] == "inactive"
        assert alice.relays("#a")["first"] == "rejected"
        again = first.ctl(*spelling, "#a", "--json", code=None)
        assert again.code != 0 and "not" in again.error["message"]
        assert invite_again(alice, "#a", first, code=0)["result"] == "active"
        assert alice.post("#a", f"allowed by {' '.join(spelling)}")["complete"]
        first.ctl("leave", "#a")
        alice("sync", code=None)
        assert invite_again(alice, "#a", first, code=69)["reason"] == "rejoin_rejected"
    following.wait_texts(
        "without the first", "allowed by group allow", "allowed by relay allow", "allowed by allow")
    actions = [row["action"] for row in first.ctl("audit", "--json").json["actions"]]
    assert actions.count("leave") == 4 and actions.count("allow") == 3


def test_an_unknown_or_ambiguous_name_changes_nothing(world):
    relay = world.relay("home")
    alice, anna = world.person("alice"), world.person("anna")
    for owner in (alice, anna):
        owner.know(relay)
        owner.create("news", relay)
    rows = relay.ctl("channels", "--json").json["channels"]
    for words in (("leave", "#nws"), ("group", "allow", "#nws"), ("members", "#nws")):
        failed = relay.ctl(*words, "--json", code=None)
        assert failed.code != 0 and failed.error["message"]
    assert relay.ctl("channels", "--json").json["channels"] == rows
    relay.ctl("leave", rows[0]["id"])
    statuses = {row["id"]: row["status"] for row in relay.ctl("channels", "--json").json["channels"]}
    assert statuses == {rows[0]["id"]: "rejected", rows[1]["id"]: "active"}


def test_the_operator_types_slashes(world):
    relay, alice = world.relay("home"), world.person("alice")
    alice.know(relay)
    alice.create("news", relay)
    typed = relay.ctl(input="/leave #news\n/group allow #news\n/relay allow #news\nstatus\n", code=None)
    assert relay.channel("news")["status"] == "inactive"
    actions = [row["action"] for row in relay.ctl("audit", "--json").json["actions"]]
    assert actions.count("leave") == 1 and actions.count("allow") == 1
    assert "running" in typed.out


def test_an_operator_decides_about_invitations(world):
    relay = world.relay("home", ANTENNA_ADMISSION__POLICY="manual")
    alice = world.person("alice")
    alice.know(relay)
    made = alice.create("news", relay, code=2)
    assert made["relays"][0]["result"] == "pending"
    waiting = relay.ctl("invitations", "--json").json["invitations"]
    assert [row["displayName"] for row in waiting] == ["news"]
    assert waiting[0]["ownerName"] == "alice"
    relay.ctl("accept", waiting[0]["channel"])
    alice("sync", code=None)
    assert alice.relays("#news") == {"home": "active"}
    assert alice.post("#news", "accepted")["complete"]

    alice.create("more", relay, code=2)
    waiting = relay.ctl("invitations", "--json").json["invitations"]
    relay.ctl("reject", waiting[0]["channel"], "--reason", "no room for podcasts")
    alice("sync", code=None)
    row = alice.json("relays", "#more")["relays"][0]
    assert (row["status"], row["reason"]) == ("rejected", "no room for podcasts")


def refusal(owner, address, n):
    """What an invitation with a link and a member id of its own comes to."""
    another = links.channel(owner.channel, [("127.0.0.1", 10000 + n, address.key)])
    try:
        connection = owner.control(address, inviting=True)
        owner.invite(connection, new_id(), group_link=another)
    except Rejected as rejected:
        return rejected.reason
    return "accepted"


def test_fifty_invitations_at_once_with_new_links_are_all_refused(world):
    relay = world.relay("home")
    address = links.parse(relay.address)
    owner = Owner([address], "news")
    owner.establish(address)
    relay.ctl("leave", "#news")
    before = rows(relay)
    with ThreadPoolExecutor(50) as pool:
        reasons = list(pool.map(lambda n: refusal(owner, address, n), range(50)))
    assert reasons == ["rejoin_rejected"] * 50
    assert rows(relay) == before
    # A newer record, and a relay that was killed, change nothing.
    relay.kill()
    relay.start()
    owner.entries = []
    owner.new_record()
    assert refusal(owner, address, 50) == "rejoin_rejected"
    assert rows(relay) == before
    relay.ctl("allow", "#news")
    assert refusal(owner, address, 51) == "accepted"
    owner.close()


def test_a_refusal_is_heard_while_the_relay_is_stopping(world):
    relay = world.relay("home")
    address = links.parse(relay.address)
    owner = Owner([address], "news")
    owner.establish(address)
    relay.ctl("leave", "#news")
    waiting = [owner.control(address, inviting=True) for _ in range(20)]
    for connection in waiting:
        connection.direct(owner.invitation(new_id()))
    relay.process.send_signal(signal.SIGTERM)
    for connection in waiting:
        assert connection.expect_direct("x.grp.relay.reject").params["reason"] == "rejoin_rejected"
        connection.close()
    assert relay.process.wait(20) == 0
    owner.close()
