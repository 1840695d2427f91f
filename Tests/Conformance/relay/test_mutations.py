"""Scenario H6: a thousand mutations of valid messages, at the relay. Each is refused by its number; nothing stays.

What a reader makes of the same mutations is in Tests/EndToEnd/test_lying_relay.py.
"""

import collections
import os
import sqlite3

from antenna import elements
from antenna.client import LAST, LIVE, REFUSED, RemoteError
from antenna.keys import new_id
from antenna.mutations import BODY_FIELDS, ELEMENT_FIELDS, Mutator
from antenna.people import Subscriber

SEED = int(os.environ.get("SEED") or 1)
MUTATIONS = 1000
# How many elements go into one PUBLISH.
AT_ONCE = 20


def rows(relay):
    """What the relay holds, but for when it saw whom."""
    with sqlite3.connect(f"file:{relay.state}/relay.db?mode=ro", uri=True) as database:
        tables = [
            row[0]
            for row in database.execute(
                "select name from sqlite_master where type = 'table' and name not like 'sqlite_%'"
            )
        ]
        return {table: database.execute(f'select * from "{table}"').fetchall() for table in tables}


def answers(writer, body):
    """The codes with which a body is refused: one, or one an element. A link that ends counts as its error."""
    request = writer.publish_request(body)
    try:
        results = writer.answer(request, "ACK").results
    except RemoteError as problem:
        return [problem.code], problem.request == 0
    assert all(result["result"] == REFUSED and result["sequence"] == 0 for result in results), results
    return [result["code"] for result in results], False


def test_a_thousand_mutations_are_refused_by_their_numbers_and_nothing_is_stored(relay, channel):
    print(f"SEED={SEED}")
    _, reader = channel.reader()
    target = new_id()
    assert channel.writer().publish(channel.owner.message("as it was", target))[0]["result"] == 0
    assert reader.next().text == "as it was"
    mutator = Mutator(SEED, channel.owner, channel.owner.profile, target)
    before = rows(relay)
    writer, seen = channel.writer(), collections.Counter()
    made = [mutator.element() if mutator.random.random() < 0.75 else mutator.body() for _ in range(MUTATIONS)]
    single = [m for m in made if m.field in ELEMENT_FIELDS]
    for start in range(0, len(single), AT_ONCE):
        group = single[start : start + AT_ONCE]
        codes, _ = answers(writer, elements.batch([m.bytes for m in group]))
        assert len(codes) == len(group)
        for mutation, code in zip(group, codes):
            assert code in mutation.codes, (code, mutation)
            seen[mutation.field] += 1
    for mutation in made:
        if mutation.field not in BODY_FIELDS:
            continue
        codes, ended = answers(writer, mutation.bytes)
        assert codes and set(codes) <= mutation.codes, (codes, mutation)
        seen[mutation.field] += 1
        if ended:
            writer.close()
            writer = channel.writer()
    assert sum(seen.values()) == MUTATIONS and set(seen) == {*ELEMENT_FIELDS, *BODY_FIELDS}, seen
    assert rows(relay) == before

    # The first thing that anybody hears of is the next valid message.
    (sequence,) = channel.write("the next")
    assert sequence == 2
    assert reader.next().text == "the next"
    late = channel.keep(Subscriber(str(channel.owner.link)).subscribe(LAST, 100))
    assert [delivery.text for delivery in late.deliveries(2)] == ["as it was", "the next"]


def test_what_one_member_signed_is_refused_from_another(channel):
    """The sender is who proved the key of this link, not who an element says it is of."""
    subscriber, _ = channel.reader()
    with subscriber.attach(channel.relay.link, LIVE) as link:
        codes, _ = answers(link, elements.batch([channel.owner.message("stolen").encode() for _ in range(5)]))
        assert codes == [40] * 5
        codes, _ = answers(link, elements.batch([subscriber.message("not allowed to").encode()]))
        assert codes == [43]
    codes, _ = answers(channel.writer(), elements.batch([subscriber.message("by somebody else").encode()]))
    assert codes == [40]
