"""What repetitions say: means with confidence intervals, paired differences, Pareto fronts.

All take the frame of :func:`emulator.campaign.results.frame` and give frames. A confidence
interval is Student's, over the repetitions (seeds) of one policy on one workload: it says
how well the mean is known, given that seeds are drawn at random. Of one repetition there
is none.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from emulator.campaign.measure import OF
from emulator.metrics.catalogue import METRICS, Metric
from slurm_sim_plugins.errors import ConfigurationError

if TYPE_CHECKING:
    import pandas as pd

CONFIDENCE = 0.95
CASE = ["workload", "policy"]


def means(frame: pd.DataFrame, metrics: Sequence[str], confidence: float = CONFIDENCE) -> pd.DataFrame:
    """The mean of each metric over the repetitions.

    Args:
        frame: one row a run.
        metrics: which ones.
        confidence: of the interval, above 0 and below 1.

    Returns:
        One row a workload, policy and metric: ``repetitions`` (those with a number),
        ``mean``, ``half`` (half the interval's width; NaN of one repetition), ``sd``, and
        ``alike``, whether several repetitions gave one number.

    Raises:
        ConfigurationError: an unknown metric, or a confidence that cannot be.
    """
    import pandas as pd

    _check(frame, metrics, confidence)
    rows = []
    for (workload, policy), group in frame.groupby(CASE, sort=False):
        for metric in metrics:
            values = group[metric].dropna().to_numpy(float)
            rows.append({"workload": workload, "policy": policy, "metric": metric, **_interval(values, confidence)})
    return pd.DataFrame(rows)


def paired(frame: pd.DataFrame, metrics: Sequence[str], baseline: str, confidence: float = CONFIDENCE) -> pd.DataFrame:
    """Each policy less the baseline, on the same workload with the same seed.

    What the seeds do to both is no part of the difference, so that it is known better than
    either mean.

    Args:
        frame: one row a run.
        metrics: which ones.
        baseline: label of the policy that is subtracted; the name of a policy stands for the
            first of its variants.
        confidence: of the interval.

    Returns:
        One row a workload, other policy and metric: ``repetitions`` (pairs), ``mean`` and
        ``half`` of the differences, ``relative`` (their mean over the baseline's),
        ``better`` (pairs in which the policy is better), ``differs`` (whether 0 is outside
        the interval).

    Raises:
        ConfigurationError: no run has the baseline, or as :func:`means`.
    """
    import pandas as pd

    _check(frame, metrics, confidence)
    rows = []
    columns = ["seed", *dict.fromkeys(metrics)]
    name = _baseline(frame, baseline)
    for workload, group in frame.groupby("workload", sort=False):
        base = group.loc[group["policy"] == name, columns]
        for policy, other in group.groupby("policy", sort=False):
            if policy == name or base.empty:
                continue
            both = other[columns].merge(base, on="seed", suffixes=("", " of the baseline"))
            for metric in metrics:
                pair = both[[metric, f"{metric} of the baseline"]].dropna().to_numpy(float)
                rows.append(
                    {"workload": workload, "policy": policy, "metric": metric, **_difference(pair, metric, confidence)}
                )
    return pd.DataFrame(rows)


def pareto(frame: pd.DataFrame, metrics: Sequence[str], confidence: float = CONFIDENCE) -> pd.DataFrame:
    """Which policies no other one beats: as good in all metrics by their means, and better in one.

    Args:
        frame: one row a run.
        metrics: two or more of which less, or more, is better.
        confidence: of the intervals that come with the means.

    Returns:
        One row a workload and policy: the mean of each metric, ``METRIC half``, and
        ``front``, whether it is on the front. A policy without a number is not.

    Raises:
        ConfigurationError: fewer than two metrics, or one of which neither is better.
    """
    _check(frame, metrics, confidence)
    if len(set(metrics)) < 2:
        raise ConfigurationError("a Pareto front is between two or more metrics; name them as mean_wait,max_wait")
    signs = [_sign(metric) for metric in metrics]
    long = means(frame, metrics, confidence)
    order = long[CASE].drop_duplicates()
    wide = long.pivot(index=CASE, columns="metric", values=["mean", "half"])
    wide = wide.reindex(list(order.itertuples(index=False, name=None)))
    table = wide["mean"][list(metrics)].copy()
    for metric in metrics:
        table[f"{metric} half"] = wide["half"][metric]
    table["front"] = False
    for _, group in table.groupby(level="workload", sort=False):
        table.loc[group.index, "front"] = front(group[list(metrics)].to_numpy(float) * signs)
    return table.reset_index()


def front(points: np.ndarray[tuple[int, int], np.dtype[np.float64]]) -> list[bool]:
    """Of points of which less is better in each coordinate: which ones no other one beats."""
    known = [bool(np.all(np.isfinite(point))) for point in points]
    return [
        known[index]
        and not any(bool(np.all(other <= point) and np.any(other < point)) for other in points[np.array(known)])
        for index, point in enumerate(points)
    ]


def metric_of(key: str) -> Metric:
    """What is known of a metric; of what else a program measured, only its name."""
    known = METRICS.get(key.partition(OF)[0])
    if known is None:
        return Metric(key, "", key, "ratio", "", "")
    return replace(known, key=key, title=known.title + "".join(key.partition(OF)[1:]))


def _check(frame: pd.DataFrame, metrics: Sequence[str], confidence: float) -> None:
    numbers = [str(name) for name in frame.select_dtypes("number").columns]
    for metric in metrics:
        if metric not in numbers:
            known = [name for name in numbers if metric_of(name).group] or numbers
            raise ConfigurationError(f"these runs have no metric {metric!r}; they have {', '.join(known)}")
    if not 0 < confidence < 1:
        raise ConfigurationError(f"a confidence of {confidence} cannot be; give one such as 0.95")


def _sign(metric: str) -> int:
    """1 where less is better, -1 where more is."""
    lower = metric_of(metric).lower_is_better
    if lower is None:
        raise ConfigurationError(f"of {metric} neither more nor less is better; name another metric")
    return 1 if lower else -1


def _interval(values: np.ndarray[tuple[int], np.dtype[np.float64]], confidence: float) -> dict[str, float | int | bool]:
    """Mean, and half the width of Student's confidence interval."""
    from scipy.special import stdtrit

    count = len(values)
    mean = float(values.mean()) if count else math.nan
    sd = float(values.std(ddof=1)) if count > 1 else math.nan
    half = float(stdtrit(count - 1, 0.5 + confidence / 2)) * sd / math.sqrt(count) if count > 1 else math.nan
    alike = count > 1 and bool(np.all(values == values[0]))
    return {"repetitions": count, "mean": mean, "half": half, "sd": sd, "alike": alike}


def _difference(
    pair: np.ndarray[tuple[int, int], np.dtype[np.float64]], metric: str, confidence: float
) -> dict[str, float | int | bool]:
    differences = pair[:, 0] - pair[:, 1]
    found = _interval(differences, confidence)
    base = float(pair[:, 1].mean()) if len(pair) else math.nan
    lower = metric_of(metric).lower_is_better
    better = 0 if lower is None else int(np.sum(differences < 0 if lower else differences > 0))
    return {
        "repetitions": found["repetitions"],
        "mean": found["mean"],
        "half": found["half"],
        "relative": found["mean"] / base if base else math.nan,
        "better": better,
        "differs": bool(abs(found["mean"]) > found["half"]),
    }


def _baseline(frame: pd.DataFrame, wanted: str) -> str:
    """The label of the baseline: as it was given, or the first variant of that policy."""
    labels = list(dict.fromkeys(map(str, frame["policy"])))
    found = next((label for label in labels if label == wanted), None)
    found = found or next((label for label in labels if label.startswith(f"{wanted} ")), None)
    if found is None:
        raise ConfigurationError(f"there is no policy {wanted!r}; policies are {', '.join(labels)}")
    return found
