"""Admission by the operator, and the limits that a relay sets itself (relay-lifecycle.md, limits.md)."""

import pytest

from antenna.client import AFTER, LIVE, PRUNED, STORED, Connection, RemoteError, ended
from antenna.keys import new_id
from antenna.noise_link import Refused
from antenna.people import Owner, Rejected
from conftest import Channel


def invite(owner, control, relay_member_id=None):
    """Sends an invitation and waits until it is dealt with: what is asked later is answered later."""
    control.direct(owner.invitation(relay_member_id or new_id()))
    with pytest.raises(RemoteError):
        control.get_record(owner.channel)


def test_an_invitation_that_the_operator_accepts(relays):
    relay = relays(admission__policy="manual")
    owner = Owner([relay.link])
    with owner.control(relay.link, inviting=True) as control:
        invite(owner, control)
        with owner.control(relay.link) as second:
            assert second.controlled.status == b"invited"
        relay.operator("accept", "#news")
        assert control.expect_direct("x.grp.relay.acpt").params["relayLink"]
        assert owner.send_roster(control, 0) == {"version": 0}


@pytest.mark.parametrize(
    "words, reason", [((), "not_accepted"), (("--reason", "no news please"), "no news please")]
)
def test_an_invitation_that_the_operator_rejects(relays, words, reason):
    relay = relays(admission__policy="manual")
    owner = Owner([relay.link])
    with owner.control(relay.link, inviting=True) as control:
        invite(owner, control)
        relay.operator("reject", "#news", *words)
        assert control.expect_direct("x.grp.relay.reject").params == {"reason": reason}
        ended(control)
    with owner.control(relay.link, inviting=True) as again:
        assert again.controlled.status == b""
        invite(owner, again)


def test_an_acceptance_while_the_owner_is_away_is_told_on_the_next_invitation(relays):
    relay = relays(admission__policy="manual")
    owner, relay_id = Owner([relay.link]), new_id()
    with owner.control(relay.link, inviting=True) as control:
        invite(owner, control, relay_id)
    relay.operator("accept", "#news")
    with owner.control(relay.link, inviting=True) as again:
        assert again.controlled.status == b"accepted"
        assert owner.invite(again, relay_id).kind == "g"


def test_leaving_a_channel_whose_invitation_waits_rejects_it_for_good(relays):
    relay = relays(admission__policy="manual")
    owner = Owner([relay.link])
    with owner.control(relay.link, inviting=True) as control:
        invite(owner, control)
        relay.operator("leave", "#news")
        assert control.expect_direct("x.grp.relay.reject").params == {"reason": "rejoin_rejected"}
        ended(control, 21)
    with owner.control(relay.link, inviting=True) as again, pytest.raises(Rejected):
        owner.invite(again, new_id())


def test_a_relay_that_is_closed_takes_nothing(relays):
    relay = relays(admission__policy="closed")
    owner = Owner([relay.link])
    with owner.control(relay.link, inviting=True) as control:
        with pytest.raises(Rejected) as problem:
            owner.invite(control, new_id())
        assert problem.value.reason == "not_accepting"
        ended(control, 62)


def test_the_channel_limit(relays):
    relay = relays(limits__channels=1)
    first, owner = Channel(relay), Owner([relay.link])
    with owner.control(relay.link, inviting=True) as control:
        with pytest.raises(Rejected) as problem:
            owner.invite(control, new_id())
        assert problem.value.reason == "channel_limit"
        ended(control, 60)
    first.write("goes on")
    first.close()


def test_the_subscriber_limit(relays, refused):
    channel = Channel(relays(limits__subscribers_per_channel=3))
    taken = 0
    with pytest.raises(RemoteError) as problem:
        for _ in range(4):
            channel.reader()
            taken += 1
    assert problem.value.code == 35 and taken in (2, 3)
    channel.close()


def test_the_message_limit(relays):
    channel = Channel(relays(limits__message_bytes=500))
    writer = channel.writer()
    room = 500 - len(channel.owner.message("").encode())
    for count, code in ((room, 0), (room + 1, 46)):
        assert writer.publish(channel.owner.message("x" * count))[0]["code"] == code
    channel.close()


def test_what_retention_dropped_is_a_gap_and_the_rest_follows(relays):
    channel = Channel(relays(limits__log_messages=10))
    subscriber, first = channel.reader()
    epoch = first.attached.epoch
    first.close()
    sequences = channel.write(*[f"m{i}" for i in range(40)])
    channel.relay.operator("prune")
    for position in (sequences[0], 0, sequences[20]):
        with subscriber.attach(channel.relay.link, AFTER, epoch, position) as reader:
            gap, *rest = reader.until(sequences[-1])
            assert (gap.name, gap.reason, gap.start) == ("GAP", PRUNED, position + 1)
            assert gap.end == reader.attached.first - 1
            assert [d.text for d in rest] == [f"m{i}" for i in range(30, 40)]
    with subscriber.attach(channel.relay.link, AFTER, epoch, sequences[-3]) as reader:
        assert [d.text for d in reader.deliveries(2)] == ["m38", "m39"]
    with subscriber.attach(channel.relay.link, LIVE) as reader:
        page, end = reader.history(0, 2**62, 500)
        assert len(page) == 10 and not end.more
    channel.close()


def test_a_reader_over_whom_retention_runs_gets_a_gap_while_attached(relays):
    """A slow reader never sees a hole: what went before it read is a GAP in its place."""
    channel = Channel(relays(limits__log_messages=20, limits__tail_bytes=65536))
    _, slow = channel.reader(receive_buffer=4096)
    last = channel.write(*["x" * 15000 for _ in range(400)])[-1]
    channel.relay.operator("prune")
    got = slow.until(last, seconds=60)
    assert all(frame.reason == PRUNED for frame in got if not hasattr(frame, "event"))
    channel.close()


def test_connections_beyond_the_limit_are_refused_in_the_preface(relays):
    relay = relays(limits__connections_per_address=3)
    kept = [Connection.open(relay.link) for _ in range(3)]
    with pytest.raises(Refused) as problem:
        Connection.open(relay.link)
    assert problem.value.code == 6
    kept.pop().close()
    for _ in range(100):
        try:
            kept.append(Connection.open(relay.link))
            break
        except Refused:
            continue
    assert len(kept) == 3
    [connection.close() for connection in kept]


def test_a_full_store_refuses_and_goes_on_serving(relays):
    channel = Channel(relays(limits__database_bytes=2 << 20))
    subscriber, reader = channel.reader()
    writer, stored, code = channel.writer(), 0, 0
    for i in range(400):
        [result] = writer.publish(channel.owner.message("x" * 15000))
        if result["result"] != STORED:
            code = result["code"]
            break
        stored += 1
    assert code == 9 and stored > 10
    got = reader.deliveries(stored, seconds=30)
    assert len(got) == stored
    with subscriber.attach(channel.relay.link, 1, position=5) as again:
        assert len(again.deliveries(5)) == 5
    channel.close()
