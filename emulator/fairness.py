"""The fairness auditor: which jobs were delayed by jobs of lower priority, and by how much.

In two senses. *At the head of the queue*: the job was head, idle processors and those of
lower-priority jobs would have sufficed, and it was left waiting; the records say so. *In
the whole*: without the jobs of lower priority it would have started earlier. For that the
run is forked at the job's submission and continued without them until the job starts:
that is its fair start time (Sabin, Kochhar and Sadayappan 2004). Jobs of lower priority
that already run when it is submitted stay.

On the cluster of a ``slurm.conf`` the first sense is not looked at, and jobs on which the audited
one depends stay.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from emulator.accounting.records import collect
from emulator.accounting.replay import cluster_config_of, config_of, same_starts, workload_of
from emulator.engine.simulation import Simulation
from emulator.fork import Forks
from emulator.metrics.fairness import unfair_delay
from emulator.operator.jobs import cancel
from emulator.runs import ClusterRun
from emulator.state.instants import MICROSECONDS
from slurm_sim_plugins.errors import InputError
from slurm_sim_plugins.manager import Catalogue, discover, select

if TYPE_CHECKING:
    from emulator.accounting.runfolder import FinishedRun
    from emulator.config.sacctmgr.database import Accounts
    from emulator.config.slurm.model import SlurmConf
    from emulator.engine.controller import Controller
    from emulator.workload.submissions import Submissions

Floats = NDArray[np.float64]
FOUND = ("delayed", "share", "mean_delay", "median_delay", "max_delay")
"""What is said of each sense."""
DECIMALS = 6
"""Instants are whole microseconds; digits beyond are the noise of subtraction."""


@dataclass(frozen=True)
class Audit:
    """What was found, one value for each audited job; times in seconds.

    Attributes:
        job_id: the trace's job ids, in the order of (submit, id).
        submit: first submission.
        start: start of the last run.
        head_delay: how long the job waited at the head of the queue although it could have
            started; 0 if it did not.
        fair_start: when it would have started without jobs of lower priority.
        jobs: how many jobs the run had that started.
    """

    job_id: NDArray[np.int64]
    submit: Floats
    start: Floats
    head_delay: Floats
    fair_start: Floats
    jobs: int

    @property
    def delay(self) -> Floats:
        """Start, less fair start: above 0 for a job that others delayed, below for one that gained."""
        return np.round(self.start - self.fair_start, DECIMALS) + 0.0

    def columns(self) -> dict[str, NDArray[Any]]:
        """One row a job."""
        return {
            "job_id": self.job_id,
            "submit": self.submit,
            "start": self.start,
            "head_delay": self.head_delay,
            "fair_start": self.fair_start,
            "delay": self.delay,
        }

    def summary(self) -> dict[str, float | int]:
        """How many jobs were delayed, and by how much; seconds. Of no jobs a mean is 0; NaN: not looked at."""
        return {
            "jobs": self.jobs,
            "audited": len(self.job_id),
            **_of("head", self.head_delay),
            **_of("whole", self.delay),
            "gained": int(np.sum(self.delay < 0)),
        }


def _of(sense: str, delays: Floats) -> dict[str, float | int]:
    late = delays[delays > 0]
    if len(delays) and np.isnan(delays).all():
        return {f"{sense}_{name}": float("nan") for name in FOUND}
    return {
        f"{sense}_delayed": len(late),
        f"{sense}_share": len(late) / len(delays) if len(delays) else 0.0,
        f"{sense}_mean_delay": float(np.mean(late)) if len(late) else 0.0,
        f"{sense}_median_delay": float(np.median(late)) if len(late) else 0.0,
        f"{sense}_max_delay": float(np.max(late)) if len(late) else 0.0,
    }


def audit(
    run: FinishedRun,
    *,
    sample: int = 0,
    seed: int = 0,
    processes: int = 1,
    catalogue: Catalogue | None = None,
    report: Callable[[int], None] | None = None,
    site: Site | None = None,
) -> Audit:
    """Audit a finished run.

    Args:
        run: the run folder; the run is made again from it, and must come out the same.
        sample: audit so many jobs, drawn at random; 0 for all.
        seed: of the draw.
        processes: how many forks run at once.
        catalogue: where to look for plugins; by default the bundled and the installed ones.
        report: is told how many jobs have been audited.
        site: of a run on the cluster of a ``slurm.conf``: what its folder does not hold.

    Raises:
        InputError: the run cannot be made again from its folder.
        PluginError: a plugin failed.
    """
    if run.on_cluster and site is None:
        raise InputError(
            f"{run.folder}: was made on the cluster of a slurm.conf, and its folder does not hold all that makes it "
            "again; name what it was made of with --trace and --slurm-conf, and with --accounts and --commands"
        )
    started = np.flatnonzero(~np.isnan(np.asarray(run.records.jobs["start"], dtype=np.float64)))
    chosen = _draw(started, sample, seed)
    if run.on_cluster and site is not None:
        fair_start = _fair_starts_on_cluster(run, chosen, site, processes, catalogue, report)
        head = np.full(len(chosen), np.nan)
    else:
        fair_start = _fair_starts(run, chosen, processes, catalogue, report)
        head = np.nan_to_num(unfair_delay(run.records)[chosen], nan=0.0)
    jobs = {name: np.asarray(run.records.jobs[name]) for name in ("job_id", "submit", "start")}
    return Audit(
        jobs["job_id"][chosen],
        jobs["submit"][chosen].astype(np.float64),
        jobs["start"][chosen].astype(np.float64),
        head,
        fair_start,
        len(started),
    )


def _draw(started: NDArray[np.intp], sample: int, seed: int) -> NDArray[np.intp]:
    if not 0 < sample < len(started):
        return started
    return np.sort(np.random.default_rng(seed).choice(started, sample, replace=False))


def _fair_starts(
    run: FinishedRun,
    chosen: NDArray[np.intp],
    processes: int,
    catalogue: Catalogue | None,
    report: Callable[[int], None] | None,
) -> Floats:
    """Make the run again, and fork it before the submission of each chosen job."""
    workload, config = workload_of(run), config_of(run)
    selection = select(catalogue or discover(), config.slots, config.plugin_options, config.seed)
    _check_sources(run, selection.infos)
    simulation = Simulation(workload, run.records.processors, config, selection)
    with Forks(processes) as forks:
        for count, index in enumerate(chosen.tolist()):
            simulation.advance(simulation.table.submit_at[index])
            forks.start(partial(_fair_start, simulation, index))
            if report is not None:
                report(count)
        answers = forks.finish()
    simulation.run()
    if not same_starts(run.records, collect(simulation.table, workload, run.records.processors)):
        raise InputError(
            f"{run.folder}: made again from its folder, the run does not come out the same; a plugin depends on what "
            "the folder does not hold, such as true run times beyond the limit"
        )
    return np.array(answers, dtype=np.float64)


def _fair_start(simulation: Simulation, index: int) -> float:
    simulation.advance_without_those_below(index)
    return simulation.table.start[index] / MICROSECONDS


@dataclass(frozen=True)
class Site:
    """What a run on the cluster of a ``slurm.conf`` was made of.

    Attributes:
        conf: the configuration.
        submissions: what was submitted.
        accounts: associations and qualities of service, as they were in the beginning; None for none.
        actions: operators' commands.
    """

    conf: SlurmConf
    submissions: Submissions
    accounts: Accounts | None = None
    actions: Sequence[tuple[float, Callable[[Controller], None]]] = ()


class _Begun(Exception):  # noqa: N818 - it is what was waited for
    """The audited job has started."""


def _fair_starts_on_cluster(
    run: FinishedRun,
    chosen: NDArray[np.intp],
    site: Site,
    processes: int,
    catalogue: Catalogue | None,
    report: Callable[[int], None] | None,
) -> Floats:
    """As :func:`_fair_starts`, on the cluster of a ``slurm.conf``."""
    config = cluster_config_of(run, site.conf)
    again = ClusterRun(
        site.submissions, site.conf, config, catalogue or discover(), site.accounts, site.actions, timing=None
    )
    _check_sources(run, {name: info for name, info in again.selection.infos.items() if name in run.about["plugins"]})
    again.begin(None, None, whole=False)
    numbers, submits = (np.asarray(run.records.jobs[name]) for name in ("job_id", "submit"))
    with Forks(processes) as forks:
        for count, index in enumerate(chosen.tolist()):
            again.controller.run(until=math.nextafter(float(submits[index]), -math.inf))
            forks.start(partial(_fair_start_on_cluster, again.controller, int(numbers[index])))
            if report is not None:
                report(count)
        answers = forks.finish()
    again.controller.run()
    if not same_starts(run.records, again.ended("finished", "")[0]):
        raise InputError(
            f"{run.folder}: the run does not come out the same from what was named; name the trace, the accounts and "
            "the commands that it was made of"
        )
    return np.array(answers, dtype=np.float64)


def _fair_start_on_cluster(controller: Controller, number: int) -> float:
    """When a job starts for good without the waiting jobs that it outranks; NaN if it never does."""
    cluster, policies = controller.cluster, controller.policies

    def withdraw() -> None:
        job = cluster.waiting.get(number)
        if job is None:
            return
        own, needed = policies.seen_as(job)._order, _needed(number, controller)
        for other in list(cluster.waiting.values()):
            if other.id not in needed and own < policies.seen_as(other)._order:
                cancel(other, controller)

    def look() -> None:
        job = cluster.jobs.get(number)
        if job is not None and (job.over or (number in cluster.running and not policies.names_victims)):
            raise _Begun

    controller.passes.before_pass = withdraw
    with suppress(_Begun):
        controller.run(observe=look)
    runs = cluster.jobs[number].runs
    return runs[-1].start if runs else math.nan


def _needed(number: int, controller: Controller) -> set[int]:
    """The job, and all on which it depends."""
    needed, todo = set[int](), [number]
    while todo:
        job = controller.cluster.jobs.get(todo.pop())
        if job is not None and job.id not in needed:
            needed.add(job.id)
            todo += [dependency.job for dependency in job.options.dependencies]
    return needed


def _check_sources(run: FinishedRun, infos: Mapping[str, Any]) -> None:
    """The plugins must be those of the run."""
    from emulator.accounting.describe import source_hash

    for name, info in infos.items():
        then = run.about["plugins"].get(name, {}).get("sha256", "")
        if then != source_hash(info):
            raise InputError(f"{run.folder}: {name} has changed since the run was made; make it again")
