"""What the paper on walltime adjustment claims, and whether it holds on other logs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from emulator.walltime.evaluate import Evaluation, Outcome
from slurm_sim_plugins.walltime.history import WINDOWS
from slurm_sim_studies.papers.claims import Claim
from slurm_sim_studies.papers.walltime import Gain, values

FALLING = (100.0, 95.0, 90.0, 85.0, 80.0, 70.0)
"""Percentiles along which accuracy is claimed to grow."""
LEVEL = 0.005
"""Mean accuracies are level when they differ by no more than this."""
NO_HELP = 5.0
"""A mean gain of less than this, in percent, counts as no help: the paper's largest is 2."""
KEYS = ("triple", "double", "user")


def trends(study: str, evaluation: Evaluation) -> list[Claim]:
    """The claims that need no simulation: figures 4 to 10.

    Args:
        study: what to call the log.
        evaluation: of the paper's grid.
    """
    key = evaluation.outcomes[0].scheme.key
    found = [*_keys(study, evaluation), *_percentiles(study, evaluation, key), *_window(study, evaluation, key)]
    return found + _threshold(study, evaluation, key)


def _longest(evaluation: Evaluation) -> str:
    return max({outcome.scheme.window for outcome in evaluation.outcomes}, key=lambda window: WINDOWS[window])


def _by_percentile(evaluation: Evaluation, key: str, window: str, threshold: float = 0.0) -> dict[float, Outcome]:
    chosen = evaluation.of(key=key, window=window, threshold=threshold)
    return {float(outcome.scheme.percentile): outcome for outcome in chosen}


def _keys(study: str, evaluation: Evaluation) -> list[Claim]:
    """More keys are more accurate, at every percentile."""
    window = _longest(evaluation)
    rows = {key: _by_percentile(evaluation, key, window) for key in KEYS if evaluation.of(key=key)}
    found = []
    for more, fewer in pairwise(rows):
        pairs = [(rows[more][p].average, rows[fewer][p].average) for p in rows[more]]
        figures = f"p70 {rows[more][70].average:.3f} to {rows[fewer][70].average:.3f}; "
        figures += f"smallest difference {min(more_ - fewer_ for more_, fewer_ in pairs):+.3f}"
        text = f"the {more} key is more accurate than the {fewer} key at every percentile"
        found.append(Claim("figure 4", text, study, all(more_ > fewer_ for more_, fewer_ in pairs), figures))
    return found


def _percentiles(study: str, evaluation: Evaluation, key: str) -> list[Claim]:
    """Lower percentiles are more accurate, down to about 70."""
    row = _by_percentile(evaluation, key, _longest(evaluation))
    falling = [row[percentile].average for percentile in FALLING]
    printed = values()["accuracy"]
    figures = f"{evaluation.average:.3f} requested, " + ", ".join(
        f"{'max' if percentile == 100 else f'p{percentile:g}'} {row[percentile].average:.3f}" for percentile in row
    )
    figures += f"; gain of p70 {100 * (row[70].average / evaluation.average - 1):.0f} %"
    figures += f", printed {printed['gain_pct']} % ({printed['requested']:.2f} to {printed['triple_p70']})"
    grows = all(lower > higher for higher, lower in pairwise(falling))
    median = row[50].average <= row[70].average + LEVEL
    return [
        Claim("figure 4", f"accuracy grows from the maximum down to p70 (key {key})", study, grows, figures),
        Claim(
            "figure 4",
            f"the median is no better than p70 (key {key})",
            study,
            median,
            f"{row[50].average:.3f} to {row[70].average:.3f}",
        ),
    ]


def _window(study: str, evaluation: Evaluation, key: str) -> list[Claim]:
    """One month suffices."""
    month, ever = (_by_percentile(evaluation, key, window) for window in ("1m", _longest(evaluation)))
    if not month:
        return []
    differences = {percentile: month[percentile].average - ever[percentile].average for percentile in month}
    figures = ", ".join(f"p{percentile:g} {difference:+.3f}" for percentile, difference in differences.items())
    text = f"a window of one month is as accurate as the longest, or more (key {key})"
    return [Claim("figure 8", text, study, min(differences.values()) >= -LEVEL, figures)]


def _threshold(study: str, evaluation: Evaluation, key: str) -> list[Claim]:
    """The threshold spares a part of the underestimates."""
    low, high = values()["threshold"]["drop_pct"]
    free, bound = (_by_percentile(evaluation, key, _longest(evaluation), threshold) for threshold in (0.0, 0.5))
    drops = {p: 100 * (1 - bound[p].under / free[p].under) for p in free if free[p].under}
    figures = ", ".join(f"p{percentile:g} {drop:.0f} %" for percentile, drop in drops.items())
    text = f"a threshold of 0.5 cuts underestimates by {low} to {high} % (key {key})"
    holds = bool(drops) and all(low <= round(drop) <= high for drop in drops.values())
    least = bool(drops) and all(drop >= low for drop in drops.values())
    return [
        Claim("figures 6, 7", text, study, holds, figures),
        Claim("figures 6, 7", f"it cuts them by {low} % or more", study, least, figures),
    ]


def gain_claims(gains: Sequence[Gain]) -> list[Claim]:
    """The claims of figures 14 to 17, on the mean gains over the months."""
    found = []
    for study in dict.fromkeys(gain.study for gain in gains):
        of = {(gain.policy, gain.use, gain.scheme, gain.metric): gain for gain in gains if gain.study == study}
        found += _helps(study, of, "WFP", "regular", "figure 14")
        found += _helps(study, of, "WFP", "selective", "figure 15")
        found += _no_help(study, of)
        found += _helps(study, of, "FCFS", "selective", "figure 17")
    return found


Gains = dict[tuple[str, str, str, str], Gain]
"""By policy, use, scheme and metric."""
JUDGED = ("wait", "slowdown", "weighted_wait")


def _helps(study: str, of: Gains, policy: str, use: str, source: str) -> list[Claim]:
    found = [gain for metric in JUDGED if (gain := of.get((policy, use, "p85", metric))) is not None]
    return [
        Claim(
            source, f"{use} adjustment with p85 helps the {words} under {policy}", study, gain.mean > 0, _figures(gain)
        )
        for gain in found
        if (words := gain.metric.replace("_", " "))
    ]


def _no_help(study: str, of: Gains) -> list[Claim]:
    found = [gain for gain in of.values() if (gain.policy, gain.use, gain.metric) == ("FCFS", "regular", "wait")]
    if not found:
        return []
    text = "regular adjustment does not help the wait under FCFS"
    figures = ", ".join(f"{gain.scheme} {_figures(gain)}" for gain in found)
    return [Claim("figure 16", text, study, max(gain.mean for gain in found) < NO_HELP, figures)]


def _figures(gain: Gain) -> str:
    better = sum(change > 0 for change in gain.by_month)
    words = f"{gain.mean:+.1f} %, better in {better} of {len(gain.months)} months"
    return words + (f", printed {gain.printed:+g} %" if gain.printed is not None else "")
