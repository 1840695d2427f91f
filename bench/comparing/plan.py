"""What is measured, and what it is measured against."""

import dataclasses

MIB = 1 << 20


@dataclasses.dataclass(frozen=True)
class Group:
    """One number of subscribers: every variant is attached once a round, and then publishes each of its series."""

    name: str
    subscribers: int
    #: What each variant publishes: w64 is a window of 64 messages, r30 are 30 messages a second, /1024 is the size.
    series: dict
    #: Rounds that are enough where nothing is compared; none: all.
    rounds: int | None = None
    #: How long each of the series publishes, where that is not the same as everywhere.
    seconds: float | None = None
    #: More words for antenna-bench.
    more: tuple = ()


MANY = 50_000


def groups(peers, descriptors):
    """The plan for these peers; the floor and our relay are always in it. A process has so many descriptors."""
    thousand = ["w1", "w64", "w64/1024", "r30"]
    five = ["w1", "w16"]
    return [
        Group("n1000", 1000, {
            "antenna": [*thousand, "r1000"], "antenna-2-loops": ["w64"], "floor": thousand,
            "floor-bare": ["w1", "w64"], **{peer: thousand for peer in peers}}),
        Group("n5000", 5000, {
            "antenna": [*five, "w64"], "floor": [*five, "w64"], **{peer: five for peer in peers}}),
        Group("n100", 100, {"antenna": five}),
        Group("n10000", 10_000, {"antenna": five}),
        Group("many", min(MANY, descriptors - 300), {"antenna": ["r1"]}, rounds=1, seconds=20,
              more=("--publish-while-joining", "1", "--patience", "30", "--concurrent", "128")),
    ]


@dataclasses.dataclass(frozen=True)
class Target:
    """A figure of ours, by itself or beside somebody else's, and where it should be."""

    group: str
    series: str
    #: cpu, perSecond, p50, p99, ackP99, idleBytes, residentBytes.
    figure: str
    limit: float
    #: With whom it is divided; none: as it is.
    against: str | None = None
    #: Where the other figure is taken from, if not from the same place.
    other_group: str | None = None
    ours: str = "antenna"
    at_least: bool = False

    @property
    def text(self):
        what = {"cpu": "CPU per delivery", "perSecond": "deliveries/s", "p50": "latency p50", "p99": "latency p99",
                "ackP99": "ack p99, µs", "idleBytes": "bytes per idle subscriber", "residentBytes": "resident bytes"}
        words = what[self.figure]
        if self.ours != "antenna":
            words += f", {self.ours}"
        if self.other_group:
            words += f" / that of {self.other_group}"
        elif self.against:
            words += f" / {self.against}"
        return words


def _against(group, series, **limits):
    return [Target(group, series, "cpu", limit, name.replace("_", "-")) for name, limit in limits.items()]


TARGETS = [
    *_against("n1000", "w1", mosquitto_tls=0.38, mosquitto=0.55, nats_tls=0.42, redis=1.0, nchan=1.0),
    *_against("n5000", "w1", mosquitto_tls=0.27, mosquitto=0.35),
    *_against("n1000", "w64", mosquitto_tls=0.05, nats_tls=0.30, redis=0.85),
    Target("n1000", "w64", "perSecond", 2_000_000, at_least=True),
    *_against("n5000", "w16", mosquitto_tls=0.04, nats_tls=0.12, redis=1.0),
    *_against("n1000", "w64/1024", mosquitto_tls=0.10, redis=1.0),
    *[Target(group, series, "cpu", 1.25, "floor") for group in ("n1000", "n5000") for series in ("w1", "w64")],
    *[Target("n1000", "r30", figure, limit, peer) for figure in ("p50", "p99")
      for peer, limit in (("mosquitto-tls", 0.55), ("mosquitto", 0.72))],
    Target("n1000", "r1000", "ackP99", 2000),
    Target("n5000", "w1", "idleBytes", 1024),
    Target("many", "r1", "residentBytes", 256 * MIB),
    Target("n1000", "w64", "cpu", 1.15, "antenna", ours="antenna-2-loops"),
    *[Target("n10000", series, "cpu", 1.5, "antenna", other_group="n100") for series in ("w1", "w16")],
]

#: The geometric mean of these is a target of its own.
POOLED = [target for target in TARGETS if target.against == "floor"]
POOLED_LIMIT = 1.10
