"""Every adjusted time of real logs, worked out again with pandas from all earlier ends."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from emulator import Result, Workload, read_swf, simulate
from emulator.walltime.log import read_log
from emulator.walltime.sweep import shares
from emulator.workload.read import read_trace
from slurm_sim_plugins.manager import Catalogue

KTH = "KTH-SP2-1996-2.1-cln.swf.gz"
MIRA = "mira_2018-08_2018-12.csv.gz"
DAYS = {"1m": 30, "2m": 60, "3m": 90, "6m": 180, "12m": 360, "all": 10**6}
COLUMNS = {
    "user": ["user"],
    "project": ["project"],
    "double": ["user", "project"],
    "triple": ["user", "project", "requested"],
}


def recomputed(
    jobs: pd.DataFrame, key: str, window: str, percentile: float, definition: str, least: int = 10
) -> pd.Series:
    """A of each job: for each of them all jobs of its group are looked through."""

    def of_group(group: pd.DataFrame) -> pd.Series:
        ends, used = group["end"].to_numpy(), group["used"].to_numpy()
        answers = []
        for now in group["submit"]:
            history = np.sort(used[(ends >= now - DAYS[window] * 86400) & (ends < now)])
            answers.append(quantile(history, percentile, definition) if len(history) >= least else np.nan)
        return pd.Series(answers, index=group.index)

    parts = [of_group(group) for _, group in jobs.groupby(COLUMNS[key])]
    return pd.concat(parts).reindex(jobs.index)


def quantile(ranked: np.ndarray, percentile: float, definition: str) -> float:
    count, ranks = len(ranked), np.arange(len(ranked))
    if definition == "linear":
        return float(np.interp(percentile * (count - 1) / 100, ranks, ranked))
    if definition == "nearest":
        return float(ranked[np.count_nonzero((ranks + 1) * 100 < percentile * count)])
    # The last rank, counted from 0, that is not beyond p n / 100.
    return float(ranked[np.count_nonzero(ranks * 100 <= percentile * count) - 1])


def frame(workload: Workload) -> pd.DataFrame:
    """The columns of a log, without those of this project that are to be checked."""
    jobs = pd.DataFrame({name: workload.facts[name] for name in workload.facts})
    if "project" not in jobs:
        jobs["project"] = jobs["group"]
    jobs["submit"], jobs["requested"] = workload.submit, workload.logged.get("time_limit", workload.time_limit)
    ran = workload.logged.get("run", workload.run)
    jobs["end"] = workload.submit + workload.logged["wait"] + ran
    jobs["used"] = np.minimum(ran / jobs["requested"], 1.0)
    return jobs[jobs["requested"].notna()]


@pytest.mark.parametrize(
    ("trace", "key", "window", "percentile", "definition"),
    [
        (f"swf/{KTH}", "triple", "1m", 85, "cobalt"),
        (f"swf/{KTH}", "user", "all", 50, "cobalt"),
        (f"swf/{KTH}", "double", "6m", 70, "linear"),
        (f"alcf/{MIRA}", "project", "2m", 70, "nearest"),
    ],
)
def test_the_evaluation_agrees(
    traces: Path, trace: str, key: str, window: str, percentile: float, definition: str
) -> None:
    workload = read_trace(traces / trace)
    log = read_log(workload)
    found = shares(log, key, window, [percentile], definition, 10)[:, 0]
    expected = recomputed(frame(workload), key, window, percentile, definition).to_numpy()
    assert np.count_nonzero(~np.isnan(expected)) > len(log) / 3
    if definition == "linear":
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    else:
        np.testing.assert_array_equal(found, expected)


def simulated(workload: Workload, options: dict[str, Any], **others: Any) -> tuple[Result, pd.DataFrame]:
    """A simulation with walltime/history, and what was known of its jobs."""
    result = simulate(
        workload,
        walltime="walltime/history",
        plugin_options={"walltime/history": options},
        catalogue=Catalogue(),
        **others,
    )
    records = result.jobs
    jobs = pd.DataFrame({"user": records["user"], "project": records["group"], "submit": records["submit"]})
    jobs["requested"], jobs["end"] = records["time_limit"], records["end"]
    jobs["used"] = np.minimum((records["end"] - records["start"]) / records["time_limit"], 1.0)
    return result, jobs


@pytest.mark.parametrize(
    ("options", "others"),
    [
        ({"key": "triple", "project": "group"}, {}),
        ({"key": "user", "window": "3m", "percentile": 70, "adjust": "regular"}, {"priority": "priority/wfp"}),
    ],
)
def test_every_adjusted_time_of_a_simulation_agrees(
    traces: Path, options: dict[str, Any], others: dict[str, Any]
) -> None:
    result, jobs = simulated(read_swf(traces / "swf" / KTH), options, **others)
    scheme = (options["key"], options.get("window", "1m"), options.get("percentile", 85))
    share = recomputed(jobs, *scheme, options.get("definition", "cobalt")).clip(lower=0.5)
    expected = (jobs["requested"] * share).clip(lower=1.0).fillna(jobs["requested"])
    adjusted = share.notna() & (share < 1)
    assert adjusted.sum() > len(jobs) / 4
    np.testing.assert_array_equal(result.jobs["planned"], np.minimum(expected, jobs["requested"]))
