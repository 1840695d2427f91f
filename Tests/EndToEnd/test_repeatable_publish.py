"""H5: the same message a hundred times is one message."""

from antenna import links
from antenna.client import LIVE
from antenna.people import Owner, Subscriber


def test_the_same_message_a_hundred_times(world):
    relay = world.relay("home")
    address = links.parse(relay.address)
    owner = Owner([address], "news")
    owner.establish(address)
    reader = Subscriber(str(owner.link))
    received = reader.subscribe(LIVE)
    message = owner.message("once")

    connections = [owner.attach(address, start=LIVE) for _ in range(4)]
    answers, cut = [], 0
    for n in range(100):
        connection = connections[n % 4]
        request = connection.publish_request(message)
        if n % 2:
            # Gone before the answer can be read.
            connection.cut()
            connections[n % 4] = owner.attach(address, start=LIVE)
            cut += 1
        else:
            answers.append(connection.answer(request, "ACK").results[0])
    assert cut == 50
    assert {answer["sequence"] for answer in answers} == {answers[0]["sequence"]}
    assert {answer["result"] for answer in answers} <= {0, 1}
    assert [answer["result"] for answer in answers].count(0) <= 1

    connections[0].publish(owner.message("the end"))
    seen = [received.next(), received.next()]
    assert [delivery.text for delivery in seen] == ["once", "the end"]
    assert relay.channel("news")["messages"] == 2
    for connection in [*connections, received]:
        connection.close()
    owner.close()


def test_the_same_id_for_other_words_is_refused(world):
    relay = world.relay("home")
    address = links.parse(relay.address)
    owner = Owner([address], "news")
    owner.establish(address)
    connection = owner.attach(address, start=LIVE)
    assert connection.publish(owner.message("one", b"the-same-id"))[0]["result"] == 0
    refused = connection.publish(owner.message("two", b"the-same-id"))[0]
    assert (refused["result"], refused["code"]) == (2, 45)
    connection.close()
    owner.close()
