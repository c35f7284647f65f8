"""Simulate a few jobs in a line or two, with every invariant checked."""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from emulator.accounting.runfolder import EVENTS
from emulator.api import simulate
from emulator.result import Result
from emulator.testing.capacity import check_nodes
from emulator.testing.invariants import check_invariants
from emulator.workload.workload import Workload
from slurm_sim_plugins.errors import ConfigurationError
from slurm_sim_plugins.manager import Catalogue
from slurm_sim_plugins.testing import Cluster, JobSpec, draw
from slurm_sim_plugins.testing.scene import numbered

if TYPE_CHECKING:
    from emulator.accounting.records import Records

SUBMIT = 0.0
"""When a job is submitted that says nothing of it."""


@dataclass(frozen=True)
class Simulated:
    """What became of the jobs; times in seconds.

    Attributes:
        result: as :func:`emulator.simulate` gives it.
        events: the event log: what happened, in order.
    """

    result: Result
    events: list[dict[str, Any]]

    @property
    def records(self) -> Records:
        """Job and run records, as columns."""
        return self.result.records

    @property
    def starts(self) -> dict[int, float]:
        """Start of each job's last run, by id; without jobs that never ran."""
        return self._times("start")

    @property
    def ends(self) -> dict[int, float]:
        """End of each job's last run, by id."""
        return self._times("end")

    @property
    def runs(self) -> list[tuple[int, float, float, str]]:
        """(job, start, end, outcome) of each run, in the order of (start, job)."""
        columns = (self.records.runs[name].tolist() for name in ("job_id", "start", "end", "outcome"))
        return list(zip(*columns, strict=True))

    @property
    def plugins(self) -> Mapping[str, Any]:
        """The plugins' instances by name, with whatever they gathered."""
        return self.result.plugins

    def __repr__(self) -> str:
        return draw(self.result)

    def _times(self, column: str) -> dict[int, float]:
        jobs = self.records.jobs
        pairs = zip(jobs["job_id"].tolist(), jobs[column].tolist(), strict=True)
        return {job: time for job, time in pairs if not math.isnan(time)}


def simulate_jobs(
    jobs: Iterable[JobSpec] | Workload, machine: int | Cluster = 10, *, plugins: Iterable[type] = (), **options: Any
) -> Simulated:
    """Simulate a few jobs, and check what is true of every simulation.

    Plugins that happen to be installed are not looked for: what is not bundled and not
    given here is not there.

    Args:
        jobs: as :func:`slurm_sim_plugins.testing.job` makes them: ``submit`` (0 if not
            said) and ``run`` (the limit) are as they are meant; or a workload.
        machine: how many processors; or a cluster with nodes, as :func:`slurm_sim_plugins.testing.cluster` makes it.
        plugins: plugin classes of your own.
        options: as for :func:`emulator.simulate`: ``scheduler="sched/mine"`` and others. The clock is the ideal one
            if ``clock="slurm"`` is not said.

    Raises:
        AssertionError: an invariant does not hold.
        PluginError: a plugin failed.
    """
    options.setdefault("catalogue", Catalogue())
    if isinstance(machine, Cluster) and machine.conf is not None:
        return _on_nodes(jobs, machine, {"clock": "ideal", "plugins": plugins, **options})
    processors = machine.processors if isinstance(machine, Cluster) else machine
    workload = jobs if isinstance(jobs, Workload) else workload_of(jobs)
    with tempfile.TemporaryDirectory() as folder:
        events = Path(folder) / "events.jsonl"
        result = simulate(workload, processors=processors, plugins=plugins, events=events, **options)
        lines = [json.loads(line) for line in events.read_text(encoding="utf-8").splitlines()]
    check_invariants(result, workload)
    return Simulated(result, lines)


def _on_nodes(jobs: Iterable[JobSpec] | Workload, here: Cluster, options: dict[str, Any]) -> Simulated:
    """A simulation on a cluster with nodes."""
    from emulator.testing.on_nodes import accounts_of, conf_of, request_of, user_of

    if here.runs or here.queued or here.arrived:
        raise ConfigurationError("a simulation begins on the empty cluster; give all jobs as jobs, with submit=")
    specs, conf = [] if isinstance(jobs, Workload) else list(jobs), conf_of(here)
    asked = [(spec, number, spec.submit or SUBMIT) for spec, number in zip(specs, numbered(specs), strict=True)]
    work = jobs if isinstance(jobs, Workload) else [request_of(*each) for each in asked]
    with tempfile.TemporaryDirectory() as folder:
        # Where a run was is in the records of a folder.
        out = Path(folder) / "run"
        result = simulate(work, conf, accounts=accounts_of(here, list(map(user_of, specs))), out=out, **options)
        lines = [json.loads(line) for line in (out / EVENTS).read_text(encoding="utf-8").splitlines()]
    check_nodes(result, {node.name: node.cpus for node in conf.nodes})
    return Simulated(result, lines)


def workload_of(jobs: Iterable[JobSpec], name: str = "jobs of a test") -> Workload:
    """A workload of described jobs; ids as stated, else from 1 on in their order."""
    specs = list(jobs)
    columns: dict[str, Any] = {
        "id": numbered(specs),
        "submit": [SUBMIT if spec.submit is None else spec.submit for spec in specs],
        "processors": [spec.processors for spec in specs],
        "run": [spec.limit if spec.run is None else spec.run for spec in specs],
        "time_limit": [spec.limit for spec in specs],
    }
    for fact in sorted({fact for spec in specs for fact in spec.facts}):
        columns[fact] = _column([spec.facts.get(fact) for spec in specs])
    return Workload.from_columns(columns, name=name)


def _column(values: list[Any]) -> list[Any]:
    """Numbers with NaN for what is unknown; anything else as it is."""
    numbers = all(value is None or isinstance(value, int | float) for value in values)
    return [math.nan if value is None else value for value in values] if numbers else values
