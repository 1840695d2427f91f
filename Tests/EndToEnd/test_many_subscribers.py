"""A thousand subscribers on one channel."""

import resource
from concurrent.futures import ThreadPoolExecutor

import pytest

from antenna import links
from antenna.client import LIVE
from antenna.people import Owner, Subscriber

SUBSCRIBERS, MESSAGES, BYTES = 1000, 100, 1024


@pytest.fixture
def descriptors():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = SUBSCRIBERS * 2 + 200
    if hard != resource.RLIM_INFINITY and hard < wanted:
        pytest.skip(f"only {hard} descriptors are allowed here")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.timeout(240)
def test_everything_reaches_everybody_in_order_and_once(world, descriptors):
    relay = world.relay("home")
    address = links.parse(relay.address)
    owner = Owner([address], "news")
    owner.establish(address)
    link = str(owner.link)

    def subscribe(_):
        return Subscriber(link).subscribe(LIVE)

    with ThreadPoolExecutor(8) as pool:
        readers = list(pool.map(subscribe, range(SUBSCRIBERS)))
    writer = owner.attach(address, start=LIVE)
    texts = [f"{n} ".ljust(BYTES, "x") for n in range(MESSAGES)]
    requests = [writer.publish_request(owner.message(text)) for text in texts]
    results = [writer.answer(request, "ACK").results[0] for request in requests]
    assert [result["result"] for result in results] == [0] * MESSAGES
    first = results[0]["sequence"]
    for reader in readers:
        # The connection itself refuses holes, repeats and inversions.
        got = reader.deliveries(MESSAGES, seconds=60)
        assert [d.sequence for d in got] == list(range(first, first + MESSAGES))
        assert [d.text for d in got] == texts
        reader.close()
    writer.close()
    owner.close()
    status = relay.ctl("status", "--json").json
    assert status["state"] == "running"
