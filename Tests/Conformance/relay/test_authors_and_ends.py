"""What may be published by whom, how memberships end, and the operator's leave and allow."""

import os

import pytest

from antenna import elements, links
from antenna.bytesio import b64
from antenna.client import LIVE, STORED, Connection, RemoteError, ended
from antenna.keys import KeyPair, new_id
from antenna.people import Author, Rejected, Subscriber


# Authors


def result_of(connection, element):
    [result] = connection.publish(element)
    assert result["result"] == 2 and result["sequence"] == 0
    return result["code"]


def test_an_observer_may_not_post(channel):
    subscriber, reader = channel.reader()
    assert result_of(reader, subscriber.message("let me")) == 43
    assert result_of(reader, subscriber.signed("x.grp.del", {}, new_id())) == 43
    assert (
        result_of(reader, subscriber.signed("x.grp.info", {"groupProfile": channel.owner.profile}, new_id()))
        == 43
    )
    removal = {"memberId": b64(channel.owner.member_id)}
    assert result_of(reader, subscriber.signed("x.grp.mem.del", removal, new_id())) == 43


def test_what_an_author_signs_must_verify_for_that_author_and_channel(channel):
    owner, writer = channel.owner, channel.writer()
    _, reader = channel.reader()
    good = owner.message("good")
    other_key = Author(channel.id, owner.member_id, KeyPair(), "x").message("other key")
    other_channel = Author(os.urandom(32), owner.member_id, owner.key, "x").message("other channel")
    other_member = Author(channel.id, new_id(), owner.key, "x").message("other member")
    flipped = elements.Signed(b"G", good.signatures, good.json.replace(b"good", b"evil"))
    extra = elements.Signed(b"G", good.signatures + [bytes(64)], good.json)
    for element in (other_key, other_channel, other_member, flipped, extra):
        assert result_of(writer, element) == 40, element.json
    for binding in (b"D", b"C"):
        assert result_of(writer, elements.Signed(binding, good.signatures, good.json)) == 41
    assert writer.publish(good)[0]["result"] == STORED
    assert reader.next().bytes == good.encode()


def test_events_are_refused_by_their_shape(channel):
    owner, writer = channel.owner, channel.writer()

    def signed(json):
        return elements.sign(json, owner.channel, owner.member_id, owner.key)

    content = {"content": {"type": "text", "text": "x"}}
    cases = [
        (owner.message("x", signed=False), 42),
        (elements.Plain(elements.event("x.grp.del", {}, new_id())), 42),
        (signed(elements.event("x.msg.new", content)), 44),
        (signed(elements.event("x.msg.new", {}, new_id())), 47),
        (signed(b"{not json"), 47),
        (signed(b'{"event":"x.msg.new","msgId":"!","params":{}}'), 47),
        (signed(b'{"event":"x.msg.new","msgId":"AQIDBA==","params":[]}'), 47),
        (signed(elements.event("x.grp.mem.con", {"memberId": "AQIDBA=="}, new_id())), 48),
        (elements.Chunk(new_id(), 1, b"data"), (47, 48)),
        (elements.Forward(None, None, 0, owner.message("x")), (47, 48)),
        (b"?", 47),
        (b"/G\x01", 47),
    ]
    for element, code in cases:
        got = result_of(writer, element)
        assert got in (code if isinstance(code, tuple) else (code,)), (element, got)


def test_nothing_refused_reaches_readers(channel):
    _, reader = channel.reader()
    writer = channel.writer()
    good = channel.owner.message("victim").encode()
    for at in range(0, len(good), 3):
        spoilt = good[:at] + bytes([good[at] ^ 0x01]) + good[at + 1 :]
        try:
            [result] = writer.publish(spoilt)
            assert result["result"] == 2, (at, result)
        except RemoteError as problem:
            assert problem.request != 0, "one bad body must not end the link"
    channel.write("marker")
    assert reader.next().text == "marker"
    page, _ = reader.history(0, 2**62, 500)
    assert [d.text for d in page] == ["marker"]


# Ends of membership


def test_a_removed_member_is_told_and_stays_out(channel, refused):
    subscriber, reader = channel.reader()
    removal = channel.owner.signed("x.grp.mem.del", {"memberId": b64(subscriber.member_id)}, new_id())
    assert channel.writer().publish(removal)[0]["result"] == STORED
    assert reader.next().bytes == removal.encode()
    assert reader.error().code == 33
    refused(33, subscriber.attach, channel.relay.link)


def test_an_owner_who_is_the_only_one_may_not_leave(channel):
    assert result_of(channel.writer(), channel.owner.leave()) == 43


def test_the_fifth_link_of_a_member_replaces_the_oldest(channel):
    subscriber, first = channel.reader()
    others = [channel.keep(subscriber.attach(channel.relay.link, LIVE)) for _ in range(4)]
    assert first.error().code == 12
    channel.write("to all four")
    assert [other.next().text for other in others] == ["to all four"] * 4


# The operator's no


def test_leave_reject_allow(channels, refused):
    channel, other = channels(), channels()
    subscriber, reader = channel.reader()
    _, unconcerned = other.reader()
    relay, owner = channel.relay, channel.owner
    relay.operator("leave", f"#{channel.name}")

    farewell = reader.next()
    assert farewell.event.tag == "x.grp.leave" and farewell.member == channel.entry.member_id
    assert subscriber.verified(farewell)
    assert reader.error().code == 21
    rejection = channel.control.expect_direct("x.grp.relay.reject")
    assert rejection.params["reason"] == "rejoin_rejected"
    assert channel.control.error().code == 21

    refused(21, subscriber.attach, relay.link)
    with Connection.open(relay.link) as stranger:
        refused(21, stranger.get_record, channel.id)
        refused(
            21, stranger.join, channel.id, Subscriber(str(owner.link)).application(channel.entry.member_id)
        )
    with pytest.raises(Rejected) as problem:
        owner.control(relay.link)
    assert problem.value.reason == "rejoin_rejected"
    for link in (owner.link, links.channel(owner.channel, [("other.example", 1, relay.link.key)])):
        with owner.control(relay.link, inviting=True) as control:
            with pytest.raises(Rejected) as problem:
                owner.invite(control, new_id(), group_link=link)
            assert problem.value.reason == "rejoin_rejected"
            ended(control, 21)

    other.write("still here")
    assert unconcerned.next().text == "still here"

    relay.operator("group", "allow", f"#{channel.name}")
    again = channel.keep(owner.control(relay.link, inviting=True))
    assert again.controlled.status == b"inactive"
    assert owner.invite(again, new_id()).kind == "g"
    assert relay.operator("allow", f"#{other.name}", check=False).returncode != 0


def test_a_refusal_survives_kill_and_restart(own_relay):
    from conftest import Channel

    channel = Channel(own_relay)
    own_relay.operator("leave", f"#{channel.name}")
    for with_signal in (9, 15):
        own_relay.restart(with_signal)
        with channel.owner.control(own_relay.link, inviting=True) as control:
            with pytest.raises(Rejected) as problem:
                channel.owner.invite(control, new_id())
            assert problem.value.reason == "rejoin_rejected"
    channel.close()


def test_a_relay_removed_by_the_owner_goes_inactive(channel, refused):
    removal = channel.owner.signed("x.grp.mem.del", {"memberId": b64(channel.entry.member_id)}, new_id())
    subscriber, reader = channel.reader()
    assert channel.writer().publish(removal)[0]["result"] == STORED
    assert reader.next().event.tag == "x.grp.mem.del"
    refused(22, subscriber.attach, channel.relay.link)
    with channel.owner.control(channel.relay.link, inviting=True) as control:
        assert control.controlled.status == b"inactive"
        assert channel.owner.invite(control, new_id()).kind == "g"
