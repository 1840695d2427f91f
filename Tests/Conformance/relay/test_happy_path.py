"""The whole way of a channel, as relay-lifecycle.md and frames.md tell it."""

import os
import time

import pytest

from antenna import elements, links, people, record
from antenna.bytesio import b64, unb64
from antenna.client import LIVE, REPEATED, STORED, Connection, RemoteError
from antenna.keys import new_id
from antenna.noise_link import AESGCM, CHACHAPOLY
from antenna.people import Owner, Subscriber


def test_the_address_is_an_r_link_and_the_handshake_shows_its_key(relay):
    assert relay.link.kind == "r"
    with Connection.open(relay.link) as connection:
        assert connection.link.identity == relay.link.key


def test_the_relay_proves_its_identity_on_a_challenge(relay):
    with Connection.open(relay.link) as connection:
        assert people.relay_test(connection, os.urandom(32))


def test_invite_roster_record(relay):
    owner = Owner([relay.link])
    with owner.control(relay.link, inviting=True) as control:
        assert control.controlled.status == b""
        relay_id = new_id()
        g = owner.invite(control, relay_id)
        assert g.kind == "g" and g.identities == [relay.link.key] and g.endpoints()[0][1] == relay.port
        assert owner.invite(control, relay_id) == g, "a repeated invitation gets the same answer"
        assert owner.send_roster(control, 0) == {"version": 0}
        owner.entries = [record.RelayEntry(relay_id, g.key, relay.link.key, str(g))]
        encoded = owner.new_record()
        assert owner.put_record(control, encoded) == owner.put_record(control, encoded) == owner.version
    with owner.control(relay.link) as again:
        assert again.controlled.status == b"active" and again.controlled.record_version == owner.version
        assert again.get_record(owner.channel) == encoded
    with Connection.open(relay.link) as stranger:
        assert record.read(stranger.get_record(owner.channel), owner.channel).version == owner.version


def test_control_shows_the_status_of_each_step(relay):
    owner = Owner([relay.link])
    with owner.control(relay.link, inviting=True) as control:
        g = owner.invite(control, new_id())
        with owner.control(relay.link) as second:
            assert second.controlled.status == b"accepted"
        owner.send_roster(control, 0)
    with owner.control(relay.link, with_record=False) as third:
        assert third.controlled.status == b"acknowledged_roster"
    assert g.kind == "g"


def test_another_relay_member_id_is_taken_while_serving(relay):
    owner = Owner([relay.link])
    with owner.control(relay.link, inviting=True) as control:
        assert owner.invite(control, new_id()).kind == owner.invite(control, new_id()).kind == "g"


def test_join_tells_the_channel_and_its_owners(channel):
    subscriber, connection = channel.reader()
    first, intro = subscriber.joined
    assert first.tag == "x.grp.link.inv"
    invitation = first.params["groupLinkInvitation"]
    assert unb64(invitation["fromMember"]["memberId"]) == channel.entry.member_id
    assert invitation["fromMember"]["memberRole"] == "relay"
    assert unb64(invitation["invitedMember"]["memberId"]) == subscriber.member_id
    assert invitation["invitedMember"]["memberRole"] == "observer"
    assert invitation["groupProfile"]["publicGroup"]["publicGroupId"] == b64(channel.id)
    assert intro.tag == "x.grp.mem.intro"
    assert unb64(intro.params["memberInfo"]["memberId"]) == channel.owner.member_id
    assert intro.params["memberInfo"]["memberRole"] == "owner"
    assert connection.attached.role == b"observer"


def test_the_same_join_again_is_answered_the_same_way(channel):
    subscriber, _ = channel.reader()
    application = subscriber.application(channel.entry.member_id).encode()
    answers = []
    for _ in range(2):
        with Connection.open(channel.relay.link) as connection:
            answers.append(connection.join(channel.id, application))
    assert answers[0] == answers[1] == subscriber.joined


def test_the_owner_hears_of_a_new_member_and_can_list_them(channel):
    subscriber, _ = channel.reader()
    told = channel.control.expect_direct("x.grp.mem.new").params["memberInfo"]
    assert unb64(told["memberId"]) == subscriber.member_id
    listed = channel.owner.members(channel.control)
    row = next(m for m in listed.members if m["member"] == subscriber.member_id)
    assert (row["role"], row["name"].decode()) == (b"observer", subscriber.name)
    assert abs(row["joined_at"] - time.time()) < 300


def test_members_are_listed_in_pages_without_repeat(channel):
    for _ in range(5):
        channel.reader()
    seen, after = [], b""
    while True:
        page = channel.owner.members(channel.control, after, 2)
        assert len(page.members) <= 2
        seen += [m["member"] for m in page.members]
        if not page.more:
            break
        after = seen[-1]
    assert len(seen) == len(set(seen)) == page.total >= 5


@pytest.mark.parametrize("suites", [CHACHAPOLY, AESGCM, CHACHAPOLY | AESGCM])
@pytest.mark.parametrize("padded", [True, False])
def test_a_message_arrives_verbatim_and_verifies(channel, suites, padded):
    try:
        subscriber, reader = channel.reader(suites=suites, padded=padded)
    except Exception as problem:
        if suites == AESGCM and getattr(problem, "code", None) == 2:
            pytest.skip("this relay has no hardware for AESGCM")
        raise
    message = channel.owner.message("hello", image="ü" * 100)
    with channel.owner.attach(channel.relay.link, LIVE, suites=suites, padded=padded) as writer:
        [result] = writer.publish(message)
        assert result["result"] == STORED and result["code"] == 0
        own = writer.next()
    got = reader.next()
    assert got.bytes == own.bytes == message.encode()
    assert got.sequence == own.sequence == result["sequence"]
    assert got.member == channel.owner.member_id and abs(got.time - time.time()) < 300
    assert subscriber.verified(got)


def test_a_batch_is_decided_one_by_one(channel):
    _, reader = channel.reader()
    good, twin, unsigned = (
        channel.owner.message("good"),
        channel.owner.message("twin"),
        channel.owner.message("unsigned", signed=False),
    )
    results = channel.writer().publish(good, twin, unsigned, good)
    assert [(r["result"], r["code"]) for r in results] == [(0, 0), (0, 0), (2, 42), (1, 0)]
    assert (
        results[1]["sequence"] == results[0]["sequence"] + 1
        and results[3]["sequence"] == results[0]["sequence"]
    )
    assert results[2]["sequence"] == 0
    assert [d.text for d in reader.deliveries(2)] == ["good", "twin"]


def test_the_largest_element_passes(channel):
    _, reader = channel.reader()
    message = channel.owner.message("x")
    room = elements.MAX_BATCHED - len(message.encode())
    message = channel.owner.message("x" * (room - 50))
    [result] = channel.writer().publish(message)
    assert result["result"] == STORED
    assert reader.next().bytes == message.encode()


def test_update_and_delete_are_forwarded_and_the_deleted_stays_deleted(channel):
    _, reader = channel.reader()
    writer = channel.writer()
    target = new_id()
    message = channel.owner.message("first", target)
    for element in (message, channel.owner.update(target, "second"), channel.owner.delete(target)):
        assert writer.publish(element)[0]["result"] == STORED
    assert [d.event.tag for d in reader.deliveries(3)] == ["x.msg.new", "x.msg.update", "x.msg.del"]
    assert [writer.publish(e)[0]["code"] for e in (message, channel.owner.update(target, "third"))] == [
        49,
        49,
    ]
    assert writer.publish(channel.owner.update(new_id(), "of nothing"))[0]["code"] == 50


def test_unsigned_posts_of_the_channel_itself_have_sender_c(channels):
    channel = channels(signs=False)
    _, reader = channel.reader()
    writer = channel.writer()
    for element in (
        channel.owner.message("as channel", signed=False, asGroup=True),
        channel.owner.message("as me", signed=False),
        channel.owner.message("signed", asGroup=True),
    ):
        assert writer.publish(element)[0]["result"] == STORED
    me = channel.owner.member_id
    assert [d.member for d in reader.deliveries(3)] == [None, me, me]


def test_a_subscriber_leaves(channel):
    subscriber, reader = channel.reader()
    assert reader.publish(subscriber.leave())[0]["result"] == STORED
    with pytest.raises(RemoteError) as problem:
        subscriber.attach(channel.relay.link).close()
    assert problem.value.code == 33


def test_a_new_record_is_pushed_to_readers(channel):
    _, reader = channel.reader()
    encoded = channel.owner.new_record(member_count=2)
    channel.owner.put_record(channel.control, encoded)
    frame = reader.expect("RECORD")
    assert frame.request == 0 and frame.record == encoded


def test_an_owner_signed_record_and_a_second_owner(channel):
    from antenna.keys import KeyPair

    second_id, second = new_id(), KeyPair()
    owner = channel.owner
    owner.chain.append(record.OwnerAuth.make(second_id, second.public, owner.key))
    owner.new_record()
    fields = record.read(owner.encoded, owner.channel)
    fields.version += 1
    owner.version += 1
    owner.encoded = fields.sign(second, second_id)
    owner.put_record(channel.control)
    _, reader = channel.reader()
    other = people.Author(channel.id, second_id, second, "second")
    with other.attach(channel.relay.link, LIVE) as writer:
        assert writer.attached.role == b"owner"
        assert writer.publish(other.message("from the second"))[0]["result"] == STORED
    assert reader.next().member == second_id


def test_a_channel_ends_with_x_grp_del(channel, refused):
    subscriber, reader = channel.reader()
    assert channel.writer().publish(channel.owner.signed("x.grp.del", {}, new_id()))[0]["result"] == STORED
    assert reader.next().event.tag == "x.grp.del"
    refused(23, subscriber.attach, channel.relay.link)
    with Connection.open(channel.relay.link) as stranger:
        refused(23, stranger.get_record, channel.id)


def test_everything_survives_a_restart(own_relay):
    owner = Owner([own_relay.link])
    owner.establish(own_relay.link).close()
    subscriber = Subscriber(str(owner.link))
    message = owner.message("before")
    with subscriber.subscribe(LIVE) as reader, owner.attach(own_relay.link, LIVE) as writer:
        [result] = writer.publish(message)
        epoch = reader.attached.epoch
    own_relay.restart()
    assert own_relay.link.key == links.parse(str(own_relay.link)).key
    with subscriber.attach(own_relay.link, epoch=epoch, position=result["sequence"] - 1) as reader:
        assert reader.next().bytes == message.encode()
    with owner.attach(own_relay.link, LIVE) as writer:
        assert writer.publish(message)[0] == {"result": REPEATED, "sequence": result["sequence"], "code": 0}
