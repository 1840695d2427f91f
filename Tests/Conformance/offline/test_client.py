"""The client's own layer, run against antenna/small_relay.py: the whole way of a channel."""

import os

import pytest

from antenna.client import AFTER, BEFORE_SEQUENCE, LAST, LIVE, Connection, Cursor, OrderBroken, RemoteError
from antenna.keys import new_id
from antenna.people import Owner, Rejected, Subscriber, relay_test
from antenna.small_relay import SmallRelay
from antenna.wire import Frame


@pytest.fixture(scope="module")
def relay():
    relay = SmallRelay()
    yield relay
    relay.close()


@pytest.fixture
def owner(relay):
    owner = Owner([relay.link])
    owner.establish(relay.link)
    yield owner
    owner.close()


def test_the_challenge(relay):
    with Connection.open(relay.link) as connection:
        assert relay_test(connection, os.urandom(32))


def test_publish_read_resume_and_page(relay, owner):
    subscriber = Subscriber(str(owner.link))
    with subscriber.subscribe(LIVE) as reader, owner.attach(relay.link, LIVE) as writer:
        messages = [owner.message(f"m{i}") for i in range(6)]
        results = [writer.publish(message)[0] for message in messages]
        assert [r["sequence"] for r in results] == [1, 2, 3, 4, 5, 6]
        assert writer.publish(messages[2], messages[3]) == [
            dict(result=1, sequence=3, code=0),
            dict(result=1, sequence=4, code=0),
        ]
        got = reader.deliveries(6)
        assert [d.bytes for d in got] == [m.encode() for m in messages] and all(map(subscriber.verified, got))
        assert reader.ping() == b"conform!"
        page, end = reader.history(BEFORE_SEQUENCE, 6, 2)
        assert ([d.text for d in page], end.first, end.more) == (["m3", "m4"], 4, True)
        epoch = reader.attached.epoch
    with subscriber.attach(relay.link, AFTER, epoch, 4) as reader:
        assert [d.text for d in reader.until(6)] == ["m4", "m5"]
    with subscriber.attach(relay.link, LAST, position=1) as reader:
        assert reader.next().text == "m5"
    with subscriber.attach(relay.link) as reader:
        assert reader.next().name == "GAP" and len(reader.deliveries(6)) == 6
    assert [m["member"] for m in owner.members(owner.controls[0]).members] == [subscriber.member_id]


def test_an_error_on_a_request_leaves_the_link_and_one_without_ends_it(relay, owner):
    with Connection.open(relay.link) as connection:
        with pytest.raises(RemoteError) as problem:
            connection.get_record(bytes(32))
        assert problem.value.code == 20
        connection.get_record(owner.channel)
        connection.send("PUBLISH", request=1, body=b"{}")
        assert connection.error().code == 1


def test_a_reject_is_raised(relay):
    owner, other = Owner([relay.link]), Owner([relay.link])
    with owner.control(relay.link, inviting=True) as control, pytest.raises(Rejected):
        owner.invite(control, new_id(), group_link=other.link)


def attached(resume_after):
    return Frame("ATTACHED", dict(epoch=bytes(8), resume_after=resume_after))


def deliver(sequence):
    return Frame("DELIVER", dict(sequence=sequence, batch=b""))


def gap(start, end, reason=1):
    return Frame("GAP", dict(start=start, end=end, reason=reason))


@pytest.mark.parametrize(
    "frames",
    [
        [deliver(6)],
        [deliver(4)],
        [deliver(5), deliver(5)],
        [deliver(5), deliver(7)],
        [gap(6, 7)],
        [gap(5, 4)],
        [gap(4, 6)],
        [gap(5, 8), deliver(8)],
        [deliver(5), gap(0, 0, 2)],
        [gap(1, 4, 2)],
    ],
)
def test_a_hole_a_repeat_or_an_inversion_is_noticed(frames):
    cursor = Cursor(attached(4))
    with pytest.raises(OrderBroken):
        [cursor.take(frame) for frame in frames]


def test_gaps_and_deliveries_that_join_are_fine():
    cursor = Cursor(attached(4))
    for frame in [gap(0, 0, 2), gap(5, 8), deliver(9), gap(10, 10, 3), deliver(11)]:
        cursor.take(frame)
    assert cursor.at == 11
