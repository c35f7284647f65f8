"""Policies by workloads: each metric with its confidence, the best of each workload, differences in pairs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from emulator.campaign.analysis import CONFIDENCE, means, metric_of, paired
from emulator.metrics.catalogue import METRICS
from emulator.report.campaign import as_data, with_interval
from emulator.report.numbers import UNKNOWN, duration_text, value_text
from emulator.report.page.sources import Source
from emulator.report.table import best

if TYPE_CHECKING:
    import pandas as pd

MOST_BASELINES = 8
"""Policies up to which each can be the baseline; beyond, only the one that is named."""
UNITS = {"s": "seconds", "share": "percent", "jobs": "jobs", "times": "times", "ratio": "no unit"}


def matrix_of(sources: Sequence[Source], baseline: str = "") -> dict[str, Any]:
    """The matrix as plain data, its numbers as texts.

    Args:
        sources: the runs.
        baseline: policy that differences are taken to first; by default the first.
    """
    workloads = list(dict.fromkeys(each.workload for each in sources))
    policies = list(dict.fromkeys(each.policy for each in sources))
    keys = list(dict.fromkeys(key for each in sources for key in each.metrics))
    frame = _frame(sources, keys)
    first = baseline if baseline in policies else policies[0]
    return {
        "workloads": workloads,
        "policies": policies,
        "metrics": [_described(key) for key in keys],
        "cells": _cells(sources, frame, keys, workloads, policies),
        "baseline": policies.index(first),
        "differences": _differences(frame, keys, workloads, policies, first),
        "confidence": f"{CONFIDENCE:.0%}",
    }


def shown(key: str, value: float) -> list[str]:
    """A metric's value with its unit, and a long time as on a clock."""
    metric = metric_of(key)
    unit = " s" if metric.unit == "s" and math.isfinite(value) else ""
    return [value_text(metric, value) + unit, _clock(key, value)]


def _clock(key: str, value: float) -> str:
    return duration_text(value) if metric_of(key).unit == "s" and value >= 60 else ""


def _frame(sources: Sequence[Source], keys: Sequence[str]) -> pd.DataFrame:
    import pandas as pd

    rows = [
        {"workload": each.workload, "policy": each.policy, "seed": str(each.seed)}
        | {key: float(each.metrics.get(key, math.nan)) for key in keys}
        for each in sources
    ]
    return pd.DataFrame(rows)


def _described(key: str) -> dict[str, Any]:
    metric = metric_of(key)
    lower = metric.lower_is_better
    return {
        "key": key,
        "title": metric.title,
        "unit": UNITS[metric.unit],
        "group": metric.group if key in METRICS else "Of groups of jobs",
        "definition": metric.definition,
        "source": metric.source,
        "better": "" if lower is None else "lower is better" if lower else "higher is better",
    }


def _cells(
    sources: Sequence[Source],
    frame: pd.DataFrame,
    keys: Sequence[str],
    workloads: Sequence[str],
    policies: Sequence[str],
) -> list[dict[str, Any]]:
    """A cell for each policy that ran on a workload: its runs, and each metric as texts."""
    found = {(row["workload"], row["policy"], row["metric"]): row for row in as_data(means(frame, keys))}
    winners = {(workload, key): _best(key, workload, policies, found) for workload in workloads for key in keys}
    runs: dict[tuple[str, str], list[int]] = {}
    for index, each in enumerate(sources):
        runs.setdefault((each.workload, each.policy), []).append(index)
    return [
        {
            "workload": workloads.index(workload),
            "policy": policies.index(policy),
            "runs": indices,
            "numbers": {
                key: _number(key, found[workload, policy, key], policy in winners[workload, key]) for key in keys
            },
        }
        for (workload, policy), indices in runs.items()
    ]


def _number(key: str, row: Mapping[str, Any], is_best: bool) -> list[Any]:
    """The mean with its interval, on the clock, and whether it is the best."""
    return [with_interval(key, row["mean"], row["half"]), _clock(key, row["mean"]), int(is_best)]


def _best(key: str, workload: str, policies: Sequence[str], found: Mapping[tuple[str, str, str], Any]) -> set[str]:
    """Policies whose mean is the best on a workload."""
    here = [policy for policy in policies if (workload, policy, key) in found]
    winners = best(metric_of(key), [found[workload, policy, key]["mean"] for policy in here])
    return {here[index] for index in winners}


def _differences(
    frame: pd.DataFrame, keys: Sequence[str], workloads: Sequence[str], policies: Sequence[str], first: str
) -> dict[str, list[dict[str, Any]]]:
    """By baseline: each other policy less it, on the same workload with the same seed."""
    if len(policies) < 2:
        return {}
    baselines = policies if len(policies) <= MOST_BASELINES else [first]
    found: dict[str, list[dict[str, Any]]] = {}
    for baseline in baselines:
        cells: dict[tuple[int, int], dict[str, Any]] = {}
        for row in as_data(paired(frame, keys, baseline)):
            at = workloads.index(row["workload"]), policies.index(row["policy"])
            cells.setdefault(at, {})[row["metric"]] = _difference(row)
        found[str(policies.index(baseline))] = [
            {"workload": workload, "policy": policy, "numbers": numbers}
            for (workload, policy), numbers in cells.items()
        ]
    return found


def _difference(row: Mapping[str, Any]) -> list[Any]:
    """The mean difference with its interval, in percent, whether better (1) or worse (-1), pairs, and if it is sure."""
    key, mean = row["metric"], row["mean"]
    metric = metric_of(key)
    sign = "+" if math.isfinite(mean) and mean > 0 else ""
    relative = f"{100 * row['relative']:+.1f} %" if math.isfinite(row["relative"]) else UNKNOWN
    lower = metric.lower_is_better
    judged = 0 if lower is None or not math.isfinite(mean) or not mean else 1 if (mean < 0) == lower else -1
    text = sign + with_interval(key, mean, row["half"])
    return [text, relative, judged, row["repetitions"], int(bool(row["differs"]))]
