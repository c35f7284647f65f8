"""Problems from files and from workloads, and workloads from problems.

A problem in TOML::

    bound = 1.2                  # of the real-time jobs' mean slowdown; the default
    least_part = 0.1             # of its work, each part of a preempted job; the default

    [machine]
    processors = 16              # any of them will do; or blocks:
    # midplanes = 16             # blocks of 1, 2, 4, 8, 16 of them, aligned
    # nodes_per_midplane = 512   # the default; sizes of jobs are nodes then

    [[job]]
    id = 1
    submit = 0                   # whole seconds, as all times
    run = 1000
    size = 4                     # processors or nodes
    realtime = false             # the default
    checkpoint = 512             # seconds to write or to read one; "mira": as on Mira
                                 # for so many nodes; without it never preempted
    limit = 2000                 # what policies are told; by default the run time
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from emulator.config.tables import check_keys, read_toml
from emulator.workload.variations import REALTIME
from emulator.workload.workload import Workload
from slurm_sim_plugins.blocks import MIDPLANE, Blocks, aligned, doubling_sizes
from slurm_sim_plugins.errors import ConfigurationError, InputError
from slurm_sim_studies.optimum.problem import BOUND, LEAST_PART, Job, Problem, mira_checkpoint
from slurm_sim_studies.optimum.weights import LARGEST_SUM

if TYPE_CHECKING:
    from numpy.typing import NDArray

KEYS = {
    "file": ("bound", "least_part", "machine", "job"),
    "machine": ("processors", "midplanes", "nodes_per_midplane"),
    "job": ("id", "submit", "run", "size", "realtime", "checkpoint", "limit"),
}
NEEDED = ("id", "submit", "run", "size")
MIRA = "mira"


@dataclass(frozen=True)
class Case:
    """A problem, and what policies are told besides.

    Attributes:
        problem: it.
        limits: requested seconds, by job id.
    """

    problem: Problem
    limits: Mapping[int, float]


def read_case(path: Path) -> Case:
    """Read a problem in TOML.

    Raises:
        InputError: a file that cannot be read, or a job that cannot be part of a schedule.
        ConfigurationError: an unknown key, a value of another kind, a machine that is none.
    """
    data = read_toml(path)
    check_keys(path, "", data, KEYS["file"])
    rows = data.get("job", [])
    if not isinstance(rows, list) or not rows or not all(isinstance(row, Mapping) for row in rows):
        raise InputError(f"{path}: there is no job; give each a table [[job]]")
    jobs = tuple(_job(f"{path}: job {number}", row) for number, row in enumerate(rows, 1))
    limits = {job.id: _limit(f"{path}: job {job.id}", row, job) for job, row in zip(jobs, rows, strict=True)}
    machine = _machine(f"{path}: machine", data.get("machine"))
    bound, least = _share(path, data, "bound", BOUND), _share(path, data, "least_part", LEAST_PART)
    return Case(Problem(jobs, machine, bound, least, path.stem), limits)


def _machine(where: str, data: Any) -> int | Blocks:
    if not isinstance(data, Mapping) or ("processors" in data) == ("midplanes" in data):
        raise ConfigurationError(f"{where}: give a table [machine] with either processors or midplanes")
    check_keys(where, "", data, KEYS["machine"])
    if "processors" in data:
        if "nodes_per_midplane" in data:
            raise ConfigurationError(f"{where}: nodes_per_midplane is for a machine of midplanes")
        return _whole(where, data, "processors")
    midplanes = _whole(where, data, "midplanes")
    nodes = _whole(where, data, "nodes_per_midplane") if "nodes_per_midplane" in data else MIDPLANE
    return blocks_of(midplanes, nodes)


def blocks_of(midplanes: int, nodes: int = MIDPLANE) -> Blocks:
    """Aligned blocks of 1, 2, 4, ... midplanes, and the whole machine."""
    return aligned(midplanes, doubling_sizes(midplanes, nodes=nodes) if midplanes > 0 else (), nodes=nodes)


def _job(where: str, row: Mapping[str, Any]) -> Job:
    check_keys(where, "", row, KEYS["job"])
    missing = [key for key in NEEDED if key not in row]
    if missing:
        raise InputError(f"{where}: {missing[0]} is missing; a job needs {', '.join(NEEDED)}")
    number, submit, run, size = (_whole(where, row, key) for key in NEEDED)
    realtime = row.get("realtime", False)
    if not isinstance(realtime, bool):
        raise InputError(f"{where}: realtime takes true or false, not {realtime!r}")
    return Job(number, submit, run, size, realtime, _checkpoint(where, row, size))


def _checkpoint(where: str, row: Mapping[str, Any], size: int) -> int | None:
    if "checkpoint" not in row:
        return None
    if row["checkpoint"] == MIRA:
        return mira_checkpoint(size)
    return _whole(where, row, "checkpoint")


def _limit(where: str, row: Mapping[str, Any], job: Job) -> float:
    limit = _whole(where, row, "limit") if "limit" in row else job.run
    if limit < job.run:
        raise InputError(f"{where}: its limit of {limit} s is below its run time of {job.run} s; give at least that")
    return float(limit)


def _whole(where: str, row: Mapping[str, Any], key: str) -> int:
    value = row[key]
    if not isinstance(value, int) or isinstance(value, bool):
        raise InputError(f"{where}: {key} takes a whole number, not {value!r}; times are whole seconds")
    if abs(value) > LARGEST_SUM:
        raise InputError(f"{where}: {key} is {value}; solvers take numbers up to {LARGEST_SUM}")
    return value


def _share(path: Path, data: Mapping[str, Any], key: str, default: Fraction) -> Fraction:
    value = data.get(key, default)
    if isinstance(value, Fraction):
        return value
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise ConfigurationError(f"{path}: {key} takes a number, not {value!r}")
    return exact(value, f"{path}: {key}")


def exact(value: float, where: str) -> Fraction:
    """A number as it is written: 1.2 is six fifths.

    Raises:
        ConfigurationError: it is not finite.
    """
    try:
        return Fraction(repr(value))
    except ValueError as error:
        raise ConfigurationError(f"{where} takes a finite number, not {value}") from error


# Workloads ----------------------------------------------------------------------------


def case_of(
    workload: Workload,
    machine: int | Blocks,
    *,
    bound: Fraction = BOUND,
    realtime: Collection[int] = (),
    checkpoint: int | str | None = None,
    kill_at_limit: bool = True,
) -> Case:
    """The problem of a workload.

    Args:
        workload: the jobs; those whose fact ``realtime`` is 1 are real-time jobs.
        machine: processors, or blocks: then sizes are nodes.
        bound: of the real-time jobs' mean slowdown.
        realtime: ids of further real-time jobs.
        checkpoint: seconds that each job takes to write or to read one, ``mira`` for as many
            as on Mira, None if none can be preempted.
        kill_at_limit: a job that reaches its limit ends there.

    Raises:
        InputError: a time that is no whole second, or a job that fits in no schedule.
        ConfigurationError: a real-time job that is not there.
    """
    ids = set(workload.id.tolist())
    unknown = sorted(set(realtime) - ids)
    if unknown:
        raise ConfigurationError(f"{workload.name}: real-time job {unknown[0]} is not among the jobs of the problem")
    marked = workload.facts.get(REALTIME)
    flags = marked.tolist() if marked is not None else [0] * len(workload)
    columns = (workload.id, workload.submit, workload.run, workload.time_limit, workload.processors)
    jobs = []
    for (number, submit, run, limit, size), flag in zip(
        zip(*(column.tolist() for column in columns), strict=True), flags, strict=True
    ):
        where = f"{workload.name}: job {number}"
        work = min(run, limit) if kill_at_limit else run
        times = [_second(where, what, value) for what, value in (("submitted", submit), ("runs", work))]
        cost = mira_checkpoint(size) if checkpoint == MIRA else checkpoint
        assert not isinstance(cost, str)
        jobs.append(Job(number, times[0], times[1], size, flag == 1 or number in realtime, cost))
    limits = dict(zip(workload.id.tolist(), workload.time_limit.tolist(), strict=True))
    return Case(Problem(tuple(jobs), machine, bound, name=workload.name), limits)


def _second(where: str, what: str, value: float) -> int:
    if value != int(value):
        raise InputError(f"{where} is {what} at {value} s; the optimum is looked for on whole seconds only: round it")
    return int(value)


def workload_of(case: Case) -> Workload:
    """The jobs as a workload, for policies to be simulated on."""
    jobs = case.problem.jobs
    return Workload.from_columns(
        {
            "id": [job.id for job in jobs],
            "submit": [float(job.submit) for job in jobs],
            "processors": [job.size for job in jobs],
            "run": [float(job.run) for job in jobs],
            "time_limit": [case.limits[job.id] for job in jobs],
            REALTIME: [int(job.realtime) for job in jobs],
        },
        name=case.problem.name,
        machine=case.problem.capacity,
    )


def part_of(workload: Workload, first: int, count: int | None) -> Workload:
    """Some jobs of a workload, in its order of submission.

    Args:
        workload: all of them.
        first: how many to leave out at the beginning.
        count: how many to take then; None takes all.

    Raises:
        ConfigurationError: there are not so many.
    """
    end = len(workload) if count is None else first + count
    if first >= len(workload) or end > len(workload):
        raise ConfigurationError(
            f"{workload.name} has {len(workload):,} jobs; leaving out {first:,} and taking "
            f"{'the others' if count is None else f'{count:,}'} leads past its end"
        )
    return _kept(workload, range(first, end))


def marked(workload: Workload, problem: Problem) -> Workload:
    """A workload that says which of its jobs are the real-time jobs of a problem, for policies that care."""
    realtime = {job.id for job in problem.realtime}
    flags = np.array([number in realtime for number in workload.id.tolist()], dtype=np.float64)
    return _kept(workload, range(len(workload)), {REALTIME: flags}) if realtime else workload


def _kept(workload: Workload, rows: Iterable[int], facts: Mapping[str, NDArray[np.float64]] | None = None) -> Workload:
    at = list(rows)
    columns = {
        "id": workload.id,
        "submit": workload.submit,
        "processors": workload.processors,
        "run": workload.run,
        "time_limit": workload.time_limit,
        **workload.facts,
        **(facts or {}),
    }
    return Workload.from_columns(
        {name: values[at] for name, values in columns.items()},
        logged={name: values[at] for name, values in workload.logged.items()},
        name=workload.name,
        machine=workload.machine,
        epoch=workload.epoch,
        read=workload.read,
        dropped=workload.dropped,
        changed=workload.changed,
        source_hash=workload.source_hash,
    )
