"""antenna-bench measures a relay, and says so when something did not arrive."""

import json

import pytest

from harness import BIN, environment, run


@pytest.fixture
def bench(tmp_path):
    def measure(*words, code=0):
        result = run([BIN / "antenna-bench", *words], env=environment(tmp_path), timeout=60)
        assert result.code == code, result
        return result
    return measure


def relay(*words):
    return ["--antennad", BIN / "antennad", "--subscribers", "50", "--messages", "40", "--runs", "1", "--seconds", "20",
            "--warm-up", "0.05", "--settle", "0", "--json", *words]


@pytest.mark.timeout(60)
def test_every_delivery_is_counted(bench):
    report = bench(*relay("--window", "8", "--sample", "10")).json
    assert report["ok"] and report["problems"] == []
    assert (report["lost"], report["disordered"], report["wrong"]) == (0, 0, 0)
    assert (report["subscribers"], report["size"], report["window"]) == (50, 256, 8)
    once, = report["runs"]
    assert (once["messages"], once["deliveries"], once["unacknowledged"]) == (40, 2000, 0)
    assert once["ack"]["messages"] == 40
    # Ten links compare everything; the others open what they are not certain of, and each closing message.
    checked = report["checked"]
    assert checked["sampledLinks"] == 10 and checked["unopened"] > 0
    assert checked["compared"] * 5 <= checked["deliveries"] < checked["compared"] * 5 + 600
    assert report["join"]["perSecond"] > 0 and report["memory"]["bytesPerSubscriber"] is not None
    for figure in ("deliveriesPerSecond", "relayCpuUs", "p50Us", "p99Us", "ackP50Us", "ackP99Us"):
        assert report["median"][figure] > 0, figure


@pytest.mark.timeout(60)
def test_paced_and_while_joining(bench):
    report = bench(*relay("--rate", "200", "--publish-while-joining", "50", "--concurrent", "4", "--sources", "2")).json
    assert report["ok"] and report["rate"] == 200 and report["whileJoining"]["messages"] > 0
    once, = report["runs"]
    # Paced: forty messages at 200 a second take as long as they should.
    assert once["deliveries"] == 2000 and once["seconds"] > 39 / 200
    assert report["checked"]["unopened"] == 0


@pytest.mark.timeout(60)
def test_what_does_not_arrive_is_noticed(bench):
    result = bench(*relay("--window", "40", "--forget", "300", "--patience", "0.5"), code=1)
    report = json.loads(result.out)
    assert not report["ok"] and report["lost"] > 0


def test_help_and_usage(bench):
    text = bench("--help").out
    assert "examples:" in text and "--antennad" in text and "--sample" in text
    assert bench("-n", "5", "--json", code=64).error["name"] == "usage"
    assert "--window and --rate" in bench("--antennad", "x", "--window", "2", "--rate", "2", code=64).err
    assert bench("--antennad", "/nowhere/antennad", "--json", code=69).error["name"] == "unreachable"
