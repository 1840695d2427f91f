"""Frames sent before earlier ones are answered, and answers larger than one record."""

from antenna import wire
from antenna.client import (
    ATTACH_CONTEXT,
    BEFORE_SEQUENCE,
    CONTROL_CONTEXT,
    FROM_TIME,
    LIVE,
    Connection,
    RemoteError,
)
from antenna.people import Subscriber


def attach_frame(connection, channel, who, start=LIVE):
    message = (
        ATTACH_CONTEXT
        + connection.link.handshake_hash
        + channel.id
        + bytes([len(who.member_id)])
        + who.member_id
    )
    return wire.encode(
        "ATTACH",
        channel=channel.id,
        member=who.member_id,
        signature=who.key.sign(message),
        start=start,
        epoch=bytes(8),
        position=0,
    )


def publish_frame(request, element):
    return wire.encode("PUBLISH", request=request, body=element.encode())


def test_join_attach_and_a_question_in_one_record(channel):
    subscriber = Subscriber(str(channel.owner.link))
    with Connection.open(channel.relay.link) as connection:
        application = subscriber.application(channel.entry.member_id).encode()
        connection.link.send(
            wire.encode("RECORD_GET", request=1, channel=channel.id),
            wire.encode("JOIN", channel=channel.id, element=application),
            attach_frame(connection, channel, subscriber),
            wire.encode("RECORD_GET", request=2, channel=channel.id),
            wire.encode("HISTORY_GET", request=3, mode=BEFORE_SEQUENCE, value=100, limit=10),
        )
        connection.answer(1, "RECORD")
        connection.expect("JOINED")
        connection.expect("ATTACHED")
        connection.answer(2, "RECORD")
        connection.answer(3, "HISTORY_END")


def test_publishes_that_do_not_wait_for_attached_or_for_each_other(channel):
    _, reader = channel.reader()
    count, texts = 600, []
    with Connection.open(channel.relay.link) as connection:
        connection.link.send(
            attach_frame(connection, channel, channel.owner),
            *[publish_frame(i, channel.owner.message(str(i))) for i in range(1, 21)],
        )
        connection.expect("ATTACHED")
        connection.link.send(*[publish_frame(i, channel.owner.message(str(i))) for i in range(21, count + 1)])
        sequences = [
            connection.answer(i, "ACK", seconds=30).results[0]["sequence"] for i in range(1, count + 1)
        ]
    assert sequences == list(range(sequences[0], sequences[0] + count)), (
        "stored in the order in which they were sent"
    )
    texts = [d.text for d in reader.deliveries(count, seconds=30)]
    assert texts == [str(i) for i in range(1, count + 1)]


def test_control_record_and_members_in_one_record(channel):
    owner = channel.owner
    with Connection.open(channel.relay.link) as connection:
        message = (
            CONTROL_CONTEXT + connection.link.handshake_hash + channel.id + bytes([16]) + owner.member_id
        )
        connection.link.send(
            wire.encode(
                "CONTROL",
                channel=channel.id,
                owner=owner.member_id,
                signature=owner.key.sign(message),
                flags=0,
                record=b"",
            ),
            wire.encode("RECORD_PUT", request=1, record=owner.new_record()),
            wire.encode("MEMBERS_GET", request=2, after=b"", limit=10),
        )
        connection.expect("CONTROLLED")
        assert connection.answer(1, "RECORD_STORED").version == owner.version
        connection.answer(2, "MEMBERS")


def test_thousands_of_frames_before_the_answer_end_the_link(channel):
    with Connection.open(channel.relay.link) as connection:
        question = wire.encode("RECORD_GET", request=1, channel=channel.id)
        connection.link.send(attach_frame(connection, channel, channel.owner), *[question] * 3000)
        problem = None
        try:
            connection.expect("ATTACHED")
            connection.ping()
        except RemoteError as error:
            problem = error
        assert problem is None or problem.code == 10


def test_a_second_history_request_before_the_first_is_answered_is_served_or_told_to_wait(channel):
    channel.write("one", "two")
    with channel.owner.attach(channel.relay.link, LIVE) as connection:
        connection.link.send(
            *[
                wire.encode("HISTORY_GET", request=i, mode=BEFORE_SEQUENCE, value=100, limit=10)
                for i in (1, 2, 3)
            ]
        )
        ends = 0
        for request in (1, 2, 3):
            try:
                while connection.answer(request, "HISTORY", "HISTORY_END").name == "HISTORY":
                    pass
                ends += 1
            except RemoteError as error:
                assert (error.code, error.request) == (10, request)
        assert ends >= 1
        connection.history(BEFORE_SEQUENCE, 100, 10)


def test_large_history_comes_whole_in_pages_of_any_size(channel):
    count = 120
    with channel.owner.attach(channel.relay.link, LIVE) as writer:
        for i in range(count):
            writer.publish(channel.owner.message(f"{i} " + "x" * 15000))
            while writer.inbox:
                writer.next()
        value, got, pages = 2**62, [], 0
        while True:
            page, end = writer.history(BEFORE_SEQUENCE, value, 500, seconds=30)
            got, value, pages = [d.sequence for d in page] + got, end.first, pages + 1
            assert page, "a page that is not the last holds something"
            if not end.more:
                break
        assert got == list(range(1, count + 1)) and pages > 1
        page, end = writer.history(FROM_TIME, 0, 500, seconds=30)
        assert [d.sequence for d in page] == list(range(1, len(page) + 1)) and end.more


def test_a_late_reader_catches_up_with_all_of_it(channel):
    subscriber, first = channel.reader()
    with channel.owner.attach(channel.relay.link, LIVE) as writer:
        for i in range(200):
            sequence = writer.publish(channel.owner.message(f"{i} " + "x" * 15000))[0]["sequence"]
            while writer.inbox:
                writer.next()
    with subscriber.attach(channel.relay.link, 0, first.attached.epoch, first.attached.head) as late:
        assert [d.text.split()[0] for d in late.until(sequence, seconds=60)] == [str(i) for i in range(200)]
