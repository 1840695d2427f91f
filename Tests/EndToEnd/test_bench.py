"""antenna-bench measures a relay, and says so when something did not arrive."""

import json
import resource
import sys

import pytest

from harness import BIN, ROOT, environment, run

sys.path.insert(0, str(ROOT / "bench"))
from comparing import plan, report, servers  # noqa: E402
from gating import callgrind, verdicts  # noqa: E402


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
    assert report["subscribers"] == 50
    series, = report["series"]
    assert (series["size"], series["window"]) == (256, 8)
    once, = series["runs"]
    assert (once["messages"], once["deliveries"], once["unacknowledged"]) == (40, 2000, 0)
    assert once["ack"]["messages"] == 40
    # Ten links compare everything; the others open what they are not certain of, and each closing message.
    checked = report["checked"]
    assert checked["sampledLinks"] == 10 and checked["unopened"] > 0
    assert checked["compared"] * 5 <= checked["deliveries"] < checked["compared"] * 5 + 600
    assert report["join"]["perSecond"] > 0 and report["memory"]["bytesPerSubscriber"] is not None
    for figure in ("deliveriesPerSecond", "relayCpuUs", "p50Us", "p99Us", "ackP50Us", "ackP99Us"):
        assert series["median"][figure] > 0, figure


@pytest.mark.timeout(60)
def test_paced_and_while_joining(bench):
    report = bench(*relay("--series", "r200,w2/700", "--publish-while-joining", "50", "--concurrent", "4",
                          "--sources", "2")).json
    assert report["ok"] and report["whileJoining"]["messages"] > 0
    paced, windowed = report["series"]
    assert (paced["rate"], windowed["window"], windowed["size"]) == (200, 2, 700)
    # Paced: forty messages at 200 a second take as long as they should.
    assert paced["runs"][0]["deliveries"] == 2000 and paced["runs"][0]["seconds"] > 39 / 200
    assert windowed["runs"][0]["deliveries"] == 2000 and windowed["frameBytes"] == paced["frameBytes"] + 444
    assert report["checked"]["unopened"] == 0


@pytest.mark.timeout(120)
def test_more_readers_than_a_processor_has_near_at_hand(bench):
    """Beyond 2,048 readers of a loop, a relay looks at them before it serves them."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if hard != resource.RLIM_INFINITY and hard < 2600:
        pytest.skip(f"only {hard} descriptors are allowed here")
    words = relay("--series", "w1,w16", "--loops", "1", "--sample", "50")
    words[words.index("--subscribers") + 1] = "2200"
    words[words.index("--messages") + 1] = "30"
    report = bench(*words).json
    assert report["ok"] and (report["lost"], report["disordered"], report["wrong"]) == (0, 0, 0)
    assert [series["runs"][0]["deliveries"] for series in report["series"]] == [66_000, 66_000]


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
    for wrong in ("x3", "w0", "w1.5", "r", "w64/", "w64/x", "w1//2"):
        assert "is no series" in bench("--antennad", "x", "--series", wrong, code=64).err, wrong
    assert bench("--antennad", "/nowhere/antennad", "--json", code=69).error["name"] == "unreachable"


def test_no_place_of_the_comparison_says_an_option_twice():
    for group in plan.groups(["redis"], 20_000):
        words = [*servers.options(group.subscribers, ["w1"], 1, 1), *group.more]
        names = [word for word in words if str(word).startswith("--")]
        assert len(set(names)) == len(names), (group.name, names)


def test_help_of_the_comparison(tmp_path):
    result = run([ROOT / "bench" / "compare", "--help"], env=environment(tmp_path))
    assert result.code == 0 and "--rounds" in result.out and "examples:" in result.out


def test_ratios_are_made_within_a_round():
    """A round on a slow machine is slow for both: the median of the ratios, not the ratio of the medians."""
    def row(number, variant, cpu, p50=100.0):
        return {**dict.fromkeys(report.FIELDS), "round": number, "group": "n1000", "series": "w1", "variant": variant,
                "cpu": cpu, "p50": p50}
    ours, redis = [1.0, 4.0, 9.0], [2.0, 4.0, 3.0]
    found = [row(n, name, cpu) for name, all_of in (("antenna", ours), ("redis", redis)) for n, cpu in enumerate(all_of)]
    table = {line[2]: line for line in report.targets(report.Figures(found))}
    assert list(table) == ["CPU per delivery / redis"]
    assert table["CPU per delivery / redis"][3:] == ["1.000", "0.500–3.000", "", "≤ 1.000", "PASS"]
    # What the floor has in the same rounds stands beside it.
    with_floor = found + [row(n, "floor", cpu / 2) for n, cpu in enumerate(redis)]
    table = {line[2]: line for line in report.targets(report.Figures(with_floor))}
    assert table["CPU per delivery / redis"][5] == "0.500" and table["CPU per delivery / floor"][5] == ""
    # A round that only one of them has is no ratio.
    found = [r for r in found if (r["round"], r["variant"]) != (0, "redis")]
    line, = report.targets(report.Figures(found))
    assert line[3] == "2.000" and line[-1] == "miss"


CALLGRIND = """\
events: Ir
ob=(1) /usr/lib/libsodium.so.23
fn=(1) seal
10 700
+2 300
ob=(2) /usr/bin/antennad
fn=(2) send
5 40
cob=(3) /usr/lib/libc.so.6
cfn=(3) malloc
calls=3 20
5 60
cob=(1)
cfn=(1)
calls=2 20
* 1000
ob=(3)
fn=(3)
7 60
ob=(4) /usr/lib/libsqlite3.so.0
fn=(4) step
9 8
cob=(3)
cfn=(3)
calls=1 20
9 20
fn=(5) malloc'2
totals: 1108
"""


def test_a_profile_is_read():
    profile = callgrind.Profile(CALLGRIND.splitlines(keepends=True))
    assert sum(profile.instructions.values()) == 700 + 300 + 40 + 60 + 8
    assert profile.outside("libsodium") == 108 and profile.outside("libsodium", "libsqlite3") == 100
    assert profile.allocations() == 4 and profile.allocations("libsqlite3") == 3


def test_the_cost_of_a_delivery_is_told_from_that_of_a_message():
    # A start of a million, joins of a thousand each, 500 for a message and 7 for each of its deliveries.
    def run(subscribers, messages):
        return 1_000_000 + 1000 * subscribers + messages * (500 + 7 * subscribers)
    assert callgrind.slopes(run, (20, 20), (520, 220)) == (7, 500)


def test_what_has_become_worse_does_not_pass():
    targets, slack = {"a": 150, "b": 1.05, "none": 0}, {"none": 0.01}

    def judge(recorded, **found):
        (_, before, now, _, verdict), = (rows := verdicts.judge(found, targets, recorded, slack))[0]
        return rows[1], verdict, before, now
    assert judge({"a": 100}, a=105)[0] and not judge({"a": 100}, a=106)[0]
    assert judge({"a": 100}, a=106)[1] == "WORSE: was 100.0, is 106.0"
    assert judge({"a": 100}, a=80)[:2] == (True, "better: bench/gates --record keeps it")
    # A target that is met must be; one that never was is only told.
    assert not judge({"b": 1.04}, b=1.06)[0] and not judge({}, b=1.06)[0]
    assert judge({"b": 1.10}, b=1.11)[:2] == (True, "over the target, as it was")
    assert judge({}, none=0.005)[0] and not judge({}, none=0.02)[0]
    # Without a record and without a target there is nothing to hold.
    assert judge({}, other=7)[:2] == (True, "not recorded")
