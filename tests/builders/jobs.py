"""Simulating a few jobs, with every invariant checked each time."""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from emulator import Result, Workload, simulate
from emulator.testing.invariants import check_invariants
from slurm_sim_plugins import PluginError
from slurm_sim_plugins.manager import Catalogue

JobRow = tuple[int, float, int, float, float]
"""(id, submit, processors, true run time, limit)."""
Times = dict[int, tuple[float, float]]


TWO_TIERS = """
ClusterName=small
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=10
PriorityType=priority/basic
PreemptType=preempt/partition_prio
PreemptMode={mode}
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
NodeName=n[1-4] CPUs=2
PartitionName=lo Nodes=ALL Default=YES PriorityTier=1 MaxTime=2:00:00
PartitionName=hi Nodes=ALL PriorityTier=5
"""


def two_tiers(mode: str) -> str:
    """A ``slurm.conf`` of 4 nodes with 2 CPUs each, where jobs of partition ``hi`` preempt those of ``lo``."""
    return TWO_TIERS.format(mode=mode)


def workload(jobs: Iterable[JobRow], predicted: Mapping[int, float] | None = None, **about: Any) -> Workload:
    """A workload of rows; ``predicted`` gives planned seconds by id."""
    rows = list(jobs)
    names = ("id", "submit", "processors", "run", "time_limit")
    columns: dict[str, Any] = {name: [row[place] for row in rows] for place, name in enumerate(names)}
    if predicted is not None:
        columns["predicted"] = [float(predicted.get(row[0], math.nan)) for row in rows]
    return Workload.from_columns(columns, **about)


def run(
    jobs: Iterable[JobRow], processors: int, *, predicted: Mapping[int, float] | None = None, **options: Any
) -> Result:
    """Simulate; installed plugins are left out."""
    given = workload(jobs, predicted)
    options.setdefault("catalogue", Catalogue())
    result = simulate(given, processors=processors, **options)
    check_invariants(result, given)
    return result


def logged(jobs: Iterable[JobRow], processors: int, **options: Any) -> tuple[Result, bytes]:
    """As :func:`run`, with the bytes of the event log."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "events.jsonl"
        result = run(jobs, processors, events=file, **options)
        return result, file.read_bytes()


def events(jobs: Iterable[JobRow], processors: int, **options: Any) -> list[dict[str, Any]]:
    """What the event log of a simulation says."""
    return [json.loads(line) for line in logged(jobs, processors, **options)[1].splitlines()]


def happenings(jobs: Iterable[JobRow], processors: int, **options: Any) -> list[tuple[float, str, int]]:
    """(time, event, job) of an event log, without reservations."""
    log = events(jobs, processors, **options)
    return [(line["time"], line["event"], line["job"]) for line in log if line["event"] != "reserve"]


def times(result: Result) -> Times:
    """Start and end of each job's last run, by id; without jobs that never ran."""
    columns = (result.records.jobs[name].tolist() for name in ("job_id", "start", "end"))
    return {job: (start, end) for job, start, end in zip(*columns, strict=True) if not math.isnan(start)}


def starts(result: Result) -> dict[int, float]:
    """Start of each job's last run, by id; NaN for one that never ran."""
    return column(result, "start")


def column(result: Result, name: str) -> dict[int, Any]:
    """A column of the job records, by id."""
    return dict(zip(result.records.jobs["job_id"].tolist(), result.records.jobs[name].tolist(), strict=True))


def run_rows(result: Result) -> list[tuple[int, int, float, float, str]]:
    """(job, number of the run, start, end, outcome) of the run records."""
    names = ("job_id", "run", "start", "end", "outcome")
    return list(zip(*(result.records.runs[name].tolist() for name in names), strict=True))


def failing(jobs: Iterable[JobRow], processors: int, **options: Any) -> PluginError:
    """The error with which a plugin ends a simulation."""
    with pytest.raises(PluginError) as caught:
        run(jobs, processors, **options)
    return caught.value


def line_with(marker: str, of: Callable[..., Any] | type | ModuleType | Path) -> str:
    """``file:line`` of the one source line that holds a marker, of a module or of where something is defined."""
    import inspect

    file = of if isinstance(of, Path) else Path(inspect.getsourcefile(of) or "")
    found = [number for number, line in enumerate(file.read_text().splitlines(), 1) if f"# {marker}" in line]
    assert len(found) == 1, f"{marker} stands in {len(found)} lines of {file}"
    return f"{file}:{found[0]}"
