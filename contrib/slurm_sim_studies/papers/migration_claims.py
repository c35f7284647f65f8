"""What the paper on KEASY, REASY and MEASY claims of its figures, and whether it holds here."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise

from slurm_sim_studies.papers.claims import Claim
from slurm_sim_studies.papers.migration import (
    BASE,
    JUDGED,
    MODELS,
    SETTINGS,
    Point,
    Points,
    gain,
    gains,
    values,
)

WORDS = {"response": "mean response time", "slowdown": "mean bounded slowdown"}
LEVEL = 5.0
"""Percent by which two policies may differ and be comparable."""
AGAINST = {"FWload": ("REASY", "EASY"), "JWload": ("EASY", "REASY")}
"""Which of these two is the better one: with the many serial jobs of JWload REASY is worse than EASY."""
COSTS = {20.0: BASE, **{float(name[4:]): name for name in SETTINGS if name.startswith("cost")}}
"""Settings by what a migration costs, in seconds, ascending."""


def claims(found: Points) -> list[Claim]:
    """The claims that the runs decide."""
    made = _averages(found)
    for setting in (BASE, "phi"):
        for index, workload in enumerate(MODELS):
            made += _main(found, workload, setting, f"figure {SETTINGS[setting].figures[index]}")
        made += _counts(found, setting)
    for setting in ("unknown", "assumed", "full"):
        for index, workload in enumerate(MODELS):
            source = f"figure {SETTINGS[setting].figures[index]}"
            for better, worse in (("KEASY", "EASY"), ("MEASY", "EASY"), ("MEASY", "KEASY")):
                made += _beats(found, workload, (setting, better), (setting, worse), source)
    for workload in MODELS:
        made += _costs(found, workload)
    return made


def _averages(found: Points) -> list[Claim]:
    """The abstract's numbers; of more than it promises they hold, too."""
    made = []
    for row in gains(found):
        if row.printed:
            printed = values()["gains"][row.metric]
            figures = f"{row.average:.1f} %, up to {row.most:.1f} %"
            text = f"MEASY's {WORDS[row.metric]} is {printed['average']} % or more below EASY's, averaged over loads"
            made.append(Claim("abstract", text, row.of, row.average >= printed["average"], figures))
            text = f"it is up to {printed['most']} % or more below"
            made.append(Claim("abstract", text, row.of, row.most >= printed["most"], figures))
    return made


def _main(found: Points, workload: str, setting: str, source: str) -> list[Claim]:
    """MEASY is best, REASY the worst of the three; KEASY is better than EASY, and REASY on one workload."""
    pairs = [("MEASY", other) for other in ("EASY", "KEASY", "REASY")] + [("KEASY", "REASY"), ("KEASY", "EASY")]
    made = []
    for better, worse in (*pairs, AGAINST[workload]):
        made += _beats(found, workload, (setting, better), (setting, worse), source)
    return made


def _beats(found: Points, workload: str, better: tuple[str, str], worse: tuple[str, str], source: str) -> list[Claim]:
    """One policy is better than another at every load; each is a setting and a policy."""
    ours, others = of_policy(found, workload, *better), of_policy(found, workload, *worse)
    loads = sorted(ours.keys() & others.keys())
    made = []
    for metric in JUDGED if loads else ():
        saved = {load: gain(ours[load], others[load], metric) for load in loads}
        figures = ", ".join(f"{load:g}: {each.value:+.1f} ± {each.half:.1f} %" for load, each in saved.items())
        text = f"{better[1]} is better than {worse[1]} in the {WORDS[metric]} at every load"
        holds = all(each.value > 0 for each in saved.values())
        if not holds and all(each.value + each.half > 0 for each in saved.values()):
            figures += "; nowhere worse by more than chance"
        made.append(Claim(source, text, column(workload, better, worse), holds, figures))
    return made


def column(workload: str, *compared: tuple[str, str]) -> str:
    """What a claim is about: the workload, and what differs from the main experiment."""
    named = [setting for setting, policy in compared if setting != BASE and policy != "EASY"]
    return f"{workload}, {SETTINGS[named[0]].words}" if named else workload


def of_policy(found: Points, workload: str, setting: str, policy: str) -> Mapping[float, Point]:
    """The points of a policy by load; EASY's are those of the main experiment."""
    setting = BASE if policy == "EASY" else setting
    keys = [key for key in found if (key[0], *key[2:]) == (workload, setting, policy)]
    return {key[1]: found[key] for key in keys}


def _counts(found: Points, setting: str) -> list[Claim]:
    """Figure 8: where migrations are more."""
    few, many = (of_policy(found, workload, setting, "MEASY") for workload in MODELS)
    loads = sorted(few.keys() & many.keys())
    if len(loads) < 2:
        return []
    counts = {load: tuple(each[load].mean("migrations").value for each in (few, many)) for load in loads}
    figures = ", ".join(f"{load:g}: {one:.3f} and {other:.3f}" for load, (one, other) in counts.items())
    words = column("both workloads", (setting, "MEASY"))
    low, high = counts[loads[0]], counts[loads[-1]]
    return [
        Claim("figure 8", "FWload has more migrations at the lowest load", words, low[0] > low[1], figures),
        Claim("figure 8", "JWload has more migrations at the highest load", words, high[1] > high[0], figures),
    ]


def _costs(found: Points, workload: str) -> list[Claim]:
    """Figures 13 and 14: what a migration may cost."""
    keasy = of_policy(found, workload, BASE, "KEASY")
    measy = {cost: of_policy(found, workload, name, "MEASY") for cost, name in COSTS.items()}
    measy = {cost: each for cost, each in measy.items() if each}
    loads = sorted(set(keasy).intersection(*measy.values()))
    if not loads or len(measy) < 2:
        return []
    printed = values()["cost"][workload]
    source = f"figure {SETTINGS[COSTS[max(measy)]].figures[list(MODELS).index(workload)]}"
    made = []
    for metric in JUDGED:
        saved = {cost: [gain(each[load], keasy[load], metric).value for load in loads] for cost, each in measy.items()}
        figures = ", ".join(f"{cost:g} s: {min(each):+.1f} to {max(each):+.1f} %" for cost, each in saved.items())
        ends = [break_even(found, workload, metric, load) for load in loads]
        figures += f"; no better from {_seconds(min(ends))} on, at the load where that is least"
        for holds, text in (
            (
                all(each > 0 for cost, row in saved.items() if cost < printed["better"] for each in row),
                f"MEASY is better than KEASY in the {WORDS[metric]} at every load, if a migration costs less than "
                f"{printed['better']} s",
            ),
            (
                all(each <= LEVEL for cost, row in saved.items() if cost >= printed["comparable"] for each in row),
                f"MEASY is at most level with KEASY in the {WORDS[metric]}, if it costs {printed['comparable']} s or "
                "more",
            ),
        ):
            made.append(Claim(source, text, workload, holds, figures))
    return made


def break_even(found: Points, workload: str, metric: str, load: float) -> float:
    """Seconds that a migration may cost before MEASY is no better than KEASY; infinite if that is beyond all tried.

    Between two costs that were tried, the gain is taken to fall in a straight line. NaN if there are no such runs.
    """
    keasy = found.get((workload, load, BASE, "KEASY"))
    if keasy is None:
        return math.nan
    saved = [
        (cost, gain(found[workload, load, name, "MEASY"], keasy, metric).value)
        for cost, name in COSTS.items()
        if (workload, load, name, "MEASY") in found
    ]
    if len(saved) < 2 or saved[0][1] <= 0:
        return saved[0][0] if len(saved) > 1 else math.nan
    for (cost, above), (next_cost, below) in pairwise(saved):
        if below <= 0:
            return cost + (next_cost - cost) * above / (above - below)
    return math.inf


def _seconds(cost: float) -> str:
    return f"{cost:.0f} s" if math.isfinite(cost) else f"more than {max(COSTS):g} s"
