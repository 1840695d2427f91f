"""From measurements to tables."""

import csv
import math
import statistics

from . import plan

FIELDS = ["round", "group", "variant", "subscribers", "series", "cpu", "perSecond", "busy", "generator", "p50", "p99", "max",
          "ackP50", "ackP99", "lost", "disordered", "deliveries", "seconds", "idleBytes", "residentBytes", "joinsPerSecond"]


def rows(number, group, variant, document):
    """One row for each of the series of one measurement, whoever made it."""
    ours = document["program"] == "antenna-bench"
    for series in document["series"]:
        run = series["runs"][0]
        latency = run["latency"] if ours else run
        join = document["join"]["seconds"]
        pace = f"w{series['window']}" if "window" in series else f"r{series['rate']:g}"
        yield {
            "round": number, "group": group, "variant": variant, "subscribers": document["subscribers"],
            "series": pace if series["size"] == 256 else f"{pace}/{series['size']}",
            "cpu": run["relayCpuUs" if ours else "serverCpuUs"], "perSecond": run["deliveriesPerSecond"],
            "busy": run["relayBusy" if ours else "serverBusy"], "generator": run["generatorCpuUs"],
            "p50": latency["p50Us"], "p99": latency["p99Us"], "max": latency["maxUs"],
            "ackP50": run["ack"]["p50Us"] if ours else None, "ackP99": run["ack"]["p99Us"] if ours else None,
            "lost": run["lost"], "disordered": run["disordered"] + (run["wrong"] if ours else 0),
            "deliveries": run["deliveries"], "seconds": run["seconds"],
            "idleBytes": document["memory"]["bytesPerSubscriber"],
            "residentBytes": document["memory"].get("endBytes") or document["memory"]["attachedBytes"],
            "joinsPerSecond": document["subscribers"] / join if join else None,
        }


def write_csv(path, found):
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        writer.writeheader()
        writer.writerows(found)


#: What the floor can be asked for: it has no acks, and keeps nothing.
FLOOR_FIGURES = ("cpu", "perSecond", "p50", "p99")


class Figures:
    """All rows, to ask for figures by round."""

    def __init__(self, found):
        self.rows = found
        self._by_place = {(r["group"], r["series"], r["variant"], r["round"]): r for r in found}
        self.rounds = sorted({r["round"] for r in found})

    def by_round(self, group, series, variant, figure):
        values = {}
        for number in self.rounds:
            row = self._by_place.get((group, series, variant, number))
            if row and row[figure] is not None:
                values[number] = row[figure]
        return values

    def median(self, group, series, variant, figure):
        values = self.by_round(group, series, variant, figure)
        return statistics.median(values.values()) if values else None

    def floor(self, target):
        """What the floor has in place of our relay: below that nobody can be here. None where it says nothing."""
        if target.ours != "antenna" or target.other_group or target.against == "floor":
            return None
        values = self.ratios(target, ours="floor") if target.figure in FLOOR_FIGURES else []
        return statistics.median(values) if values else None

    def ratios(self, target, ours=None):
        """Our figure of each round, divided by the other's where there is one."""
        ours = self.by_round(target.group, target.series, ours or target.ours, target.figure)
        if not target.against:
            return list(ours.values())
        others = self.by_round(target.other_group or target.group, target.series, target.against, target.figure)
        return [ours[number] / others[number] for number in ours if others.get(number)]


def targets(figures):
    """Rows of the table of targets: place, what, found, range, limit, verdict."""
    table = []
    for target in plan.TARGETS:
        values = figures.ratios(target)
        if not values:
            continue
        found = statistics.median(values)
        holds = found >= target.limit if target.at_least else found <= target.limit
        table.append([
            target.group, target.series, target.text, number(found), f"{number(min(values))}–{number(max(values))}",
            number(figures.floor(target)), ("≥ " if target.at_least else "≤ ") + number(target.limit),
            "PASS" if holds else "miss"])
    pooled = [statistics.median(values) for values in map(figures.ratios, plan.POOLED) if values]
    if pooled:
        mean = math.exp(sum(map(math.log, pooled)) / len(pooled))
        table.append(["pooled", "w1, w64", "CPU per delivery / floor, geometric mean", number(mean), "", "",
                      f"≤ {number(plan.POOLED_LIMIT)}", "PASS" if mean <= plan.POOLED_LIMIT else "miss"])
    return table


def everything(figures):
    """Rows of the table of medians, for each place."""
    table = []
    places = dict.fromkeys((r["group"], r["series"], r["variant"]) for r in figures.rows)
    order = list(dict.fromkeys((group, series) for group, series, _ in places))
    for group, series in order:
        for place in places:
            if place[:2] != (group, series):
                continue

            def median(figure):
                return figures.median(*place, figure)

            bad = sum(r["lost"] + r["disordered"] for r in figures.rows if (r["group"], r["series"], r["variant"]) == place)
            cpu = figures.by_round(*place, "cpu")
            table.append([
                group, series, place[2], number(median("cpu")), number(min(cpu.values())), number(median("perSecond")),
                f"{median('busy') * 100:.0f} %", number(median("generator")), number(median("p50")), number(median("p99")),
                number(median("ackP50")), number(median("ackP99")), number(median("idleBytes")), str(len(cpu)), str(bad)])
    return table


TARGET_HEAD = ["place", "series", "figure", "median", "range", "floor", "target", ""]
EVERYTHING_HEAD = ["place", "series", "variant", "CPU µs", "least", "deliveries/s", "busy", "generator µs", "p50 µs", "p99 µs",
                   "ack p50", "ack p99", "idle B", "rounds", "bad"]


def number(value):
    if value is None:
        return ""
    if abs(value) >= 1_000_000:
        return f"{value / 1_000_000:.2f} M"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.3f}"


def text_table(head, table):
    widths = [max(len(row[i]) for row in [head, *table]) for i in range(len(head))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in [head, *table])


def markdown_table(head, table):
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in table])


def markdown(figures, machine, variants):
    """The whole page."""
    described = [[name, variant.about, "yes" if variant.seals else "no"] for name, variant in variants.items()]
    facts = [[name, value] for name, value in machine.items()]
    return f"""# Results

Made by `bench/compare`; what the words mean: [README.md](README.md). Every round runs every variant once, one after the other,
the server on one core and the generator on another. Figures are medians over the rounds; ratios are made within each round,
and their median is compared with the target. CPU is that of the server alone, all its threads, for each delivery. *busy* is
the share of the time in which the server worked; *bad* are deliveries lost, out of order or changed. *floor* is what the C
program that only seals and sends has in place of our relay: where it misses a target, that is beyond this machine.

{markdown_table(["", ""], facts)}

## Targets

{markdown_table(TARGET_HEAD, targets(figures))}

## Everything

`w64` is a window of 64 messages, `w1` one message at a time, `r30` 30 messages a second; `/1024` is the size, else 256 bytes.

{markdown_table(EVERYTHING_HEAD, everything(figures))}

## Variants

{markdown_table(["variant", "what", "sealed"], described)}
"""
