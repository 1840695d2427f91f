"""ATTACH with each kind of start, gaps, and HISTORY_GET in each mode (frames.md)."""

import threading

import pytest

from antenna.client import AFTER, BEFORE_SEQUENCE, BEFORE_TIME, ERASED, FROM_TIME, LAST, LIVE, OTHER_EPOCH
from antenna.keys import new_id

TEXTS = [f"message {i}" for i in range(12)]


@pytest.fixture
def told(channel):
    """A channel with twelve messages, and a subscriber who joined before them but is not attached."""
    channel.subscriber, connection = channel.reader()
    channel.epoch = connection.attached.epoch
    connection.close()
    channel.sequences = channel.write(*TEXTS)
    return channel


def attach(channel, *where, **options):
    return channel.keep(channel.subscriber.attach(channel.relay.link, *where, **options))


def test_sequences_follow_each_other(told):
    first = told.sequences[0]
    assert told.sequences == list(range(first, first + len(TEXTS)))


@pytest.mark.parametrize("seen", [0, 1, 5, 11, 12])
def test_resume_after_a_position_delivers_the_rest_and_then_live(told, seen):
    position = told.sequences[0] - 1 + seen
    reader = attach(told, AFTER, told.epoch, position)
    assert reader.attached.resume_after == position
    assert reader.attached.head == told.sequences[-1] and reader.attached.epoch == told.epoch
    told.write("live")
    assert [d.text for d in reader.deliveries(13 - seen)] == TEXTS[seen:] + ["live"]


def test_the_last_messages_and_then_live(told):
    reader = attach(told, LAST, position=3)
    told.write("live")
    assert [d.text for d in reader.deliveries(4)] == TEXTS[-3:] + ["live"]


def test_live_only(told):
    reader = attach(told, LIVE)
    assert reader.attached.resume_after == reader.attached.head
    told.write("live")
    assert reader.next().text == "live"


@pytest.mark.parametrize("epoch", [bytes(8), b"\xff" * 8])
def test_another_epoch_begins_with_a_gap_and_then_all(told, epoch):
    reader = attach(told, AFTER, epoch, told.sequences[3])
    gap = reader.next()
    assert (gap.name, gap.reason, gap.start, gap.end) == ("GAP", OTHER_EPOCH, 0, 0)
    assert reader.attached.resume_after == reader.attached.first - 1
    got = reader.until(told.sequences[-1])
    assert [d.text for d in got if d.event.tag == "x.msg.new"] == TEXTS


def test_what_was_deleted_is_a_gap(told):
    target = new_id()
    with told.owner.attach(told.relay.link, LIVE) as writer:
        [first] = writer.publish(told.owner.message("to be deleted", target))
        [second] = writer.publish(told.owner.delete(target))
    reader = attach(told, AFTER, told.epoch, told.sequences[-1])
    gap, deletion = reader.next(), reader.next()
    assert (gap.name, gap.reason, gap.start, gap.end) == ("GAP", ERASED, first["sequence"], first["sequence"])
    assert deletion.event.tag == "x.msg.del" and deletion.sequence == second["sequence"]


def test_several_deleted_in_a_row_are_covered_without_a_hole(told):
    targets = [new_id() for _ in range(5)]
    with told.owner.attach(told.relay.link, LIVE) as writer:
        for target in targets:
            writer.publish(told.owner.message("x", target))
        for target in targets:
            last = writer.publish(told.owner.delete(target))[0]["sequence"]
    reader = attach(told, AFTER, told.epoch, told.sequences[-1])
    got = reader.until(last)
    assert all(g.reason == ERASED for g in got[:-5]) and [g.event.tag for g in got[-5:]] == ["x.msg.del"] * 5


def test_history_pages_backwards_by_sequence(told):
    reader = attach(told, LIVE)
    value, pages = told.sequences[-1] + 1, []
    while True:
        page, end = reader.history(BEFORE_SEQUENCE, value, 5)
        pages = page + pages
        if not end.more:
            break
        value = end.first
    assert [d.text for d in pages if d.event.tag == "x.msg.new"] == TEXTS
    assert told.subscriber.verified(pages[-1])


def test_a_page_holds_the_nearest_before_the_value(told):
    page, end = attach(told, LIVE).history(BEFORE_SEQUENCE, told.sequences[7], 3)
    assert [d.sequence for d in page] == told.sequences[4:7] and end.first == told.sequences[4] and end.more


def test_history_by_time(told):
    reader = attach(told, LIVE)
    page, _ = reader.history(BEFORE_SEQUENCE, told.sequences[-1] + 1, 500)
    times = {d.time for d in page}
    before, end = reader.history(BEFORE_TIME, max(times) + 1, 500)
    assert [d.sequence for d in before] == [d.sequence for d in page] and not end.more
    assert reader.history(BEFORE_TIME, min(times), 500)[0] == []
    since, end = reader.history(FROM_TIME, min(times), 4)
    assert [d.sequence for d in since] == [d.sequence for d in page][:4] and end.more
    assert reader.history(FROM_TIME, max(times) + 1, 5)[0] == []


def test_an_empty_page_ends_with_zero(told):
    page, end = attach(told, LIVE).history(BEFORE_SEQUENCE, 1, 10)
    assert (page, end.first, end.more) == ([], 0, False)


def test_history_and_live_do_not_disturb_each_other(told):
    reader = attach(told, LIVE)
    told.write("live one")
    page, _ = reader.history(BEFORE_SEQUENCE, told.sequences[2], 2)
    told.write("live two")
    assert len(page) == 2 and [d.text for d in reader.deliveries(2)] == ["live one", "live two"]


def test_more_than_a_hundred_last_are_a_hundred(told):
    with told.owner.attach(told.relay.link, LIVE) as writer:
        for part in range(4):
            writer.publish(*[told.owner.message(f"{part}.{i}") for i in range(25)])
    reader = attach(told, LAST, position=1000)
    assert reader.attached.resume_after == reader.attached.head - 100
    assert reader.deliveries(100)[0].text == "0.0"


def test_there_is_no_seam_between_catching_up_and_live(told):
    """Readers attach at random cursors while somebody publishes; Cursor raises on any hole or repeat."""
    total, problems = 200, []
    ready = threading.Event()

    def publish():
        try:
            with told.owner.attach(told.relay.link, LIVE) as writer:
                for i in range(total):
                    writer.publish(told.owner.message(f"seam {i}"))
                    if i == 10:
                        ready.set()
        except Exception as problem:
            problems.append(problem)
            ready.set()

    publisher = threading.Thread(target=publish)
    publisher.start()
    assert ready.wait(20)
    last = told.sequences[-1] + total
    for start in range(0, 12, 2):
        with told.subscriber.attach(told.relay.link, AFTER, told.epoch, told.sequences[start]) as reader:
            got = reader.until(last, seconds=60)
            assert [d.sequence for d in got] == list(range(told.sequences[start] + 1, last + 1))
    publisher.join(30)
    assert not problems
