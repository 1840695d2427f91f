"""Scenario H5: the same signed message many times, half of the answers cut off."""

import threading

from antenna.client import LIVE, REPEATED, STORED


def test_a_hundred_copies_are_one_message(channel):
    subscriber, reader = channel.reader()
    message = channel.owner.message("once")
    answers = []
    for _ in range(5):
        writer = channel.owner.attach(channel.relay.link, LIVE)
        for _ in range(10):
            answers += writer.publish(message)
        for _ in range(10):
            writer.publish_request(message)
        writer.cut()
    (marker,) = channel.write("after")
    got = reader.deliveries(2)
    assert [d.text for d in got] == ["once", "after"] and marker == got[0].sequence + 1
    assert got[0].bytes == message.encode() and subscriber.verified(got[0])
    assert [a["result"] for a in answers] == [STORED] + [REPEATED] * 49
    assert {(a["sequence"], a["code"]) for a in answers} == {(got[0].sequence, 0)}


def test_copies_sent_at_once_over_several_links_are_one_message(channel):
    _, reader = channel.reader()
    message = channel.owner.message("once")
    writers = [channel.writer() for _ in range(4)]
    barrier, answers, problems = threading.Barrier(4), [], []

    def send(writer):
        try:
            barrier.wait(10)
            for _ in range(25):
                answers.extend(writer.publish(message))
        except Exception as problem:
            problems.append(problem)

    threads = [threading.Thread(target=send, args=(writer,)) for writer in writers]
    [thread.start() for thread in threads]
    [thread.join(60) for thread in threads]
    assert not problems and len(answers) == 100
    assert sorted(a["result"] for a in answers) == [STORED] + [REPEATED] * 99
    assert len({a["sequence"] for a in answers}) == 1
    channel.write("after")
    assert [d.text for d in reader.deliveries(2)] == ["once", "after"]


def test_a_batch_with_the_same_element_twice_stores_it_once(channel):
    message = channel.owner.message("twice")
    first, second = channel.writer().publish(message, message)
    assert (first["result"], second["result"]) == (STORED, REPEATED)
    assert first["sequence"] == second["sequence"]


def test_the_same_id_with_other_bytes_is_a_conflict(channel):
    from antenna.keys import new_id

    writer, message_id = channel.writer(), new_id()
    assert writer.publish(channel.owner.message("one", message_id))[0]["result"] == STORED
    [result] = writer.publish(channel.owner.message("two", message_id))
    assert (result["result"], result["code"]) == (2, 45)
