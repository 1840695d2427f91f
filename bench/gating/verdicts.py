"""What is worse than it was, and what is not where it should be."""

TOLERANCE = 0.05


def judge(figures, targets, recorded, slack):
    """Rows of name, recorded, found, target, verdict; and whether all of it may pass.

    A figure that is recorded may be at most 5 % worse, and the slack that a figure's noise needs. One that meets its
    target must go on meeting it; one that never did is told, not held.
    """
    rows, passes = [], True
    for name, found in figures.items():
        before, target = recorded.get(name), targets.get(name)
        allowed = None if before is None else before * (1 + TOLERANCE) + slack.get(name, 0)
        # A target of nothing at all is met by what is no more than noise.
        misses = target is not None and found > (target or slack.get(name, 0))
        known = before is not None and target is not None and before > target
        if allowed is not None and found > allowed:
            verdict, passes = f"WORSE: was {text(before)}, is {text(found)}", False
        elif misses and not known:
            verdict, passes = f"OVER THE TARGET: is {text(found)}, target {text(target)}", False
        elif misses:
            verdict = "over the target, as it was"
        elif before is None:
            verdict = "not recorded"
        elif found < before * (1 - TOLERANCE) - slack.get(name, 0):
            verdict = "better: bench/gates --record keeps it"
        else:
            verdict = "as it was"
        rows.append([name, text(before), text(found), text(target), verdict])
    return rows, passes


def text(value):
    if value is None:
        return ""
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.4f}"
