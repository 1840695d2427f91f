"""The roster gives roles, x.grp.info and x.grp.prefs change the channel; reactions, moderation."""

import pytest

from antenna import record
from antenna.bytesio import b64
from antenna.client import ERASED, LIVE, STORED, Connection, RemoteError, ended
from antenna.keys import KeyPair, channel_id, new_id


def author(channel, role, version=1):
    """A subscriber whom the roster gives this role, attached anew."""
    subscriber, connection = channel.reader()
    connection.close()
    entries = [(subscriber.member_id, subscriber.key.public, role)]
    assert channel.owner.send_roster(channel.control, version, entries) == {"version": version}
    again = channel.keep(subscriber.attach(channel.relay.link, LIVE))
    assert again.attached.role == role.encode()
    return subscriber, again


def stored(connection, element):
    [result] = connection.publish(element)
    assert result["result"] == STORED, result
    return result["sequence"]


def code(connection, element):
    [result] = connection.publish(element)
    assert result["result"] == 2, result
    return result["code"]


@pytest.mark.parametrize("role", ["member", "moderator", "admin"])
def test_who_the_roster_gives_a_role_may_post(channel, role):
    _, reader = channel.reader()
    writer, connection = author(channel, role)
    message = writer.message("from a member")
    stored(connection, message)
    got = reader.next()
    assert got.bytes == message.encode() and got.member == writer.member_id
    assert got.forward.name == writer.name
    assert got.element.verifies(channel.id, writer.member_id, writer.key.public)
    assert code(connection, writer.message("as the channel", asGroup=True)) == 43


def test_a_roster_takes_roles_away_again_and_old_ones_are_not_taken(channel):
    writer, connection = author(channel, "member", 5)
    stored(connection, writer.message("while it lasts"))
    ack = channel.owner.send_roster(channel.control, 4)
    assert ack.get("error") or ack["version"] != 4
    stored(connection, writer.message("still"))
    assert channel.owner.send_roster(channel.control, 6) == {"version": 6}
    assert code(connection, writer.message("no more")) == 43


def test_a_roster_larger_than_a_frame_comes_in_several(channel):
    from antenna import elements

    entries = [(new_id(), KeyPair().public, "member") for _ in range(256)]
    blob = elements.roster_blob(entries)
    assert len(blob) > 16384
    owner, message_id = channel.owner, new_id()
    digest = elements.sha512(blob)
    params = {"version": 1, "fileInv": {"fileSize": len(blob), "fileDigest": b64(digest)}}
    first, *rest = elements.chunks(message_id, blob)
    channel.control.direct(owner.signed("x.grp.roster", params, message_id), first)
    for chunk in rest:
        channel.control.direct(chunk)
    assert channel.control.expect_direct("x.grp.roster.ack").params == {"version": 1}


def test_a_roster_that_does_not_fit_its_digest_is_answered_with_an_error(channel):
    from antenna import elements

    owner, message_id = channel.owner, new_id()
    params = {"version": 1, "fileInv": {"fileSize": 2, "fileDigest": b64(bytes(64))}}
    channel.control.direct(
        owner.signed("x.grp.roster", params, message_id), *elements.chunks(message_id, b"\0\0")
    )
    assert channel.control.expect_direct("x.grp.roster.ack").params.get("error")


def test_an_observer_may_react(channel):
    _, reader = channel.reader()
    subscriber, connection = channel.reader()
    target = new_id()
    stored(channel.writer(), channel.owner.message("like me", target))
    from antenna import elements

    params = {
        "msgId": b64(target),
        "memberId": b64(channel.owner.member_id),
        "add": True,
        "reaction": {"type": "emoji", "emoji": "👍"},
    }
    reaction = elements.Plain(elements.event("x.msg.react", params, new_id()))
    stored(connection, reaction)
    assert [d.event.tag for d in reader.deliveries(2)] == ["x.msg.new", "x.msg.react"]
    assert connection.deliveries(2)[1].member == subscriber.member_id


def test_others_messages_are_changed_by_nobody_and_deleted_by_moderators(channel):
    writer, own = author(channel, "member", 1)
    target = new_id()
    sequence = stored(own, writer.message("to be moderated", target))
    stranger, connection = channel.reader()
    by = {"memberId": b64(writer.member_id)}
    assert code(connection, stranger.delete(target, **by)) == 43
    assert code(channel.writer(), channel.owner.update(target, "put into the mouth")) in (43, 50)
    stored(channel.writer(), channel.owner.delete(target, **by))
    reader = channel.keep(stranger.attach(channel.relay.link, 0, connection.attached.epoch, sequence - 1))
    gap = reader.next()
    assert (gap.name, gap.reason, gap.start) == ("GAP", ERASED, sequence)
    assert code(own, writer.message("to be moderated", target)) in (45, 49)


def test_a_new_profile_is_kept_and_given_to_who_joins_later(channel):
    _, reader = channel.reader()
    profile = {**channel.owner.profile, "displayName": "renamed", "shortDescr": "a new name"}
    element = channel.owner.signed("x.grp.info", {"groupProfile": profile}, new_id())
    stored(channel.writer(), element)
    assert reader.next().bytes == element.encode()
    later, _ = channel.reader()
    assert later.joined[0].params["groupLinkInvitation"]["groupProfile"]["displayName"] == "renamed"


def test_a_profile_may_not_name_another_channel(channel):
    other = record.group_profile("x", channel_id(KeyPair().public), channel.owner.link)
    element = channel.owner.signed("x.grp.info", {"groupProfile": other}, new_id())
    assert code(channel.writer(), element) in (43, 47)


def test_the_preference_for_signatures_can_be_switched_off_and_on(channel):
    writer = channel.writer()
    unsigned = channel.owner.message("unsigned", signed=False)
    assert code(writer, unsigned) == 42
    for enable, answer in (("off", None), ("on", 42)):
        prefs = {"groupPreferences": {"signMessages": {"enable": enable}}}
        stored(writer, channel.owner.signed("x.grp.prefs", prefs, new_id()))
        element = channel.owner.message(enable, signed=False)
        if answer:
            assert code(writer, element) == answer
        else:
            stored(writer, element)


def test_a_record_without_the_relay_makes_it_inactive(channel, refused):
    subscriber, reader = channel.reader()
    channel.owner.entries = []
    channel.owner.put_record(channel.control, channel.owner.new_record())
    ended(channel.control, 22)
    ended(reader, 22)
    refused(22, subscriber.attach, channel.relay.link)


def test_who_was_removed_may_come_back_only_as_somebody_else(channel):
    subscriber, connection = channel.reader()
    removal = channel.owner.signed("x.grp.mem.del", {"memberId": b64(subscriber.member_id)}, new_id())
    stored(channel.writer(), removal)
    connection.close()
    with Connection.open(channel.relay.link) as again:
        with pytest.raises(RemoteError) as problem:
            again.join(channel.id, subscriber.application(channel.entry.member_id))
        assert problem.value.code == 33
    channel.reader()


def test_removal_with_messages_erases_them(channel):
    writer, own = author(channel, "member", 1)
    sequences = [stored(own, writer.message(f"m{i}")) for i in range(3)]
    reader, connection = channel.reader()
    removal = {"memberId": b64(writer.member_id), "messages": True}
    stored(channel.writer(), channel.owner.signed("x.grp.mem.del", removal, new_id()))
    again = channel.keep(reader.attach(channel.relay.link, 0, connection.attached.epoch, sequences[0] - 1))
    got = again.until(sequences[-1] + 1)
    assert (
        all(g.name == "GAP" and g.reason == ERASED for g in got[:-1]) and got[-1].event.tag == "x.grp.mem.del"
    )
