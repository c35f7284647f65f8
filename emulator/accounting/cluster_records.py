"""The records of a run on a cluster with nodes: those of any run, and what only such a cluster knows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from heapq import merge
from operator import itemgetter

import numpy as np

from emulator.accounting.records import JOB_COLUMNS, RUN_COLUMNS, Columns, Records
from emulator.accounting.row_buffer import RowBuffer
from emulator.config.slurm.hostlist import compress
from emulator.engine.controller import Controller
from emulator.state.job import Job
from emulator.state.run import Run, State
from emulator.workload.request import JobRequest
from emulator.workload.sbatch_line import submit_line

Row = dict[str, int | float | str]
CUT_SHORT = (State.TIMEOUT, State.CANCELLED, State.NODE_FAIL, State.DEADLINE, State.PREEMPTED)
"""States of jobs that did not end by themselves."""
RECORDED = {
    State.SUSPENDED: "RUNNING",
    State.COMPLETING: "RUNNING",
}
"""States that a record shows by another word."""
_WORDS = {state: RECORDED.get(state, state.value) for state in State}
_NUMBERS = (
    *("job_id", "processors", "requeues", "array", "task", "het_job_id", "het_job_offset"),
    *("exit_code", "checkpoints"),
)
_FLAGS = ("backfilled", "blocked", "ignores_term")
_ALWAYS = ("partition", "qos", "account", "user", "reason", "nodes")
"""Those of :data:`SLURM_JOB_COLUMNS` that are not only for views."""
_TEXTS = (*_ALWAYS, "state", "name", "submit_line", "outcome", "cpus", "memory", "gres", "suspended")


SLURM_JOB_COLUMNS: dict[str, str] = {
    "partition": "where its last run was, or would have been",
    "qos": "its quality of service",
    "account": "its account",
    "user": "its user",
    "reason": "why it did not run, or ended as it did, in Slurm's words",
    "nodes": "nodes of its last run",
    "name": "its name",
    "array": "the array that it is a task of; -1 for none",
    "task": "its index there; -1 for none",
    "het_job_id": "the first component of the heterogeneous job that it is a component of; -1 for none",
    "het_job_offset": "its place among the components, from 0 on; -1 for none",
    "requeued": "when it was requeued last; null if it was not",
    "work": "seconds of work as it was submitted, whatever its limit",
    "exit_code": "with which its work ends",
    "ignores_term": "whether only SIGKILL ends it",
    "dies_in": "seconds from SIGTERM to its end; null for the usual",
    "submit_line": "all that it asked for, as a command",
}
"""What a job record has besides, in Slurm's timing."""
SLURM_RUN_COLUMNS: dict[str, str] = {
    "partition": "where it was",
    "nodes": "a host list",
    "cpus": "CPUs on each of the nodes, such as 8,4",
    "memory": "mebibytes on each of the nodes",
    "gres": "generic resources on each of the nodes, such as gpu:a100=2,2; several with blanks between",
    "limit": "its limit in seconds; null for none",
    "checkpoints": "only with `PreemptMode=CHECKPOINT`: how many it completed",
    "configuring": "only with power saving: seconds before its start in which its nodes were resumed",
    "suspended": "when it was suspended, such as 100-160,200-; the last has no end if the run has none",
}
"""What a run record has besides, in Slurm's timing."""


def collect_cluster(controller: Controller, epoch: int | None = None, whole: bool = True) -> Records:
    """The records of a run: one row a job in the order of (submit, id), one row a run.

    Besides the usual columns a job has those of :data:`SLURM_JOB_COLUMNS`, a run those of
    :data:`SLURM_RUN_COLUMNS`.

    Args:
        controller: after its run.
        epoch: Unix time of second 0, or None.
        whole: with what only views need: names, what was asked for, where runs were.
    """
    saves = controller.checkpoints.preemption is not None
    of_jobs = [*JOB_COLUMNS, *(SLURM_JOB_COLUMNS if whole else _ALWAYS)]
    of_runs = [*RUN_COLUMNS, *(SLURM_RUN_COLUMNS if whole else ("checkpoints",))]
    left_out = {"block": True, "checkpoints": not saves, "configuring": controller.power is None}
    of_runs = [name for name in of_runs if not left_out.get(name)]
    jobs = _columns(_rows(controller, whole), of_jobs, _NUMBERS)
    runs = _columns(_run_rows(controller, whole), of_runs, (*_NUMBERS, "run"))
    return Records(jobs, runs, int(controller.cluster.machine.cpus.sum()), epoch)


def _rows(controller: Controller, whole: bool) -> Iterator[Row]:
    # In columns, for a log of years has no room for a tuple a job.
    jobs = list(controller.cluster.jobs.values())
    ids = np.fromiter((job.id for job in jobs), np.int64, len(jobs))
    submits = np.fromiter((job.request.submit for job in jobs), np.float64, len(jobs))
    taken = (jobs[index] for index in np.lexsort((ids, submits)))
    refused = sorted(controller.rejected, key=lambda one: (one[0].submit, one[0].id))
    rows = merge(
        ((job.request.submit, job.id, _row(job, controller, whole)) for job in taken),
        ((request.submit, request.id, _refused(request, words, whole)) for request, words in refused),
        key=itemgetter(0, 1),
    )
    yield from map(itemgetter(2), rows)


def _run_rows(controller: Controller, whole: bool) -> Iterator[Row]:
    jobs = controller.cluster.jobs.values()
    runs = [run for job in jobs for run in job.runs]
    ids = np.fromiter((job.id for job in jobs for _ in job.runs), np.int64, len(runs))
    numbers = np.fromiter((number for job in jobs for number in range(1, len(job.runs) + 1)), np.int64, len(runs))
    starts = np.fromiter((run.start for run in runs), np.float64, len(runs))
    for index in np.lexsort((numbers, ids, starts)):
        yield _run_row(int(ids[index]), int(numbers[index]), runs[index], controller, whole)


def _row(job: Job, controller: Controller, whole: bool) -> Row:
    last = job.runs[-1] if job.runs else None
    # A job that waits again has not ended, whatever became of its last run.
    over = last if job.state is not State.PENDING else None
    cpus = controller.cluster.machine.cpus_of(last.allocation) if last is not None else job.options.cpus
    occupied = sum((run.end if run.end is not None else controller.cluster.now) - run.start for run in job.runs)
    limit = job.limit if job.limit != float("inf") else np.nan
    return {
        "job_id": job.id,
        "submit": job.request.submit,
        "start": over.start if over is not None else np.nan,
        "end": over.end if over is not None and over.end is not None else np.nan,
        "processors": cpus,
        "state": _WORDS[job.state],
        "run": _work(job, limit),
        "time_limit": limit,
        "planned": limit if job.plan is None else job.plan_limit,
        "first_start": job.runs[0].start if job.runs else np.nan,
        "requeues": job.restarts,
        "occupied": occupied,
        "backfilled": last is not None and last.backfilled,
        "blocked": job.blocked,
        "reserved": np.nan,
        "first_reserved": np.nan,
        "could_start": np.nan,
        "priority_at_start": float(job.number_in(job.partitions[0].name) if last is None else last.priority),
        "partition": last.partition if last is not None else job.partitions[0].name,
        "qos": job.options.qos,
        "account": job.options.account,
        "user": job.request.user,
        "reason": job.reason,
        "nodes": ",".join([controller.cluster.machine.names[node] for node in last.allocation.nodes]) if last else "",
        **_further(job.request, job.submitted if job.restarts else np.nan, whole),
    }


def _work(job: Job, limit: float) -> float:
    """What a job had to do; if it was ended before that, what it did of it in the end."""
    if job.state not in CUT_SHORT or not job.runs:
        return job.request.run
    last = job.runs[-1]
    if last.work is not None:
        return job.worked
    did = limit if job.state is State.TIMEOUT else _worked(last)
    return min(job.request.run, did)


def _refused(request: JobRequest, words: str, whole: bool) -> Row:
    options = request.options
    return {
        "job_id": request.id,
        "submit": request.submit,
        "start": np.nan,
        "end": np.nan,
        "processors": options.cpus,
        "state": "REJECTED",
        "run": request.run,
        "time_limit": options.time_limit if options.time_limit is not None else np.nan,
        "planned": np.nan,
        "first_start": np.nan,
        "requeues": 0,
        "occupied": 0.0,
        "backfilled": False,
        "blocked": False,
        "reserved": np.nan,
        "first_reserved": np.nan,
        "could_start": np.nan,
        "priority_at_start": np.nan,
        "partition": ",".join(options.partitions),
        "qos": options.qos,
        "account": options.account,
        "user": request.user,
        "reason": "; ".join(words.splitlines()),
        "nodes": "",
        **_further(request, np.nan, whole),
    }


def _further(request: JobRequest, requeued: float, whole: bool) -> Row:
    if not whole:
        return {}
    return {
        "name": request.name,
        "array": -1 if request.array is None else request.array,
        "task": -1 if request.array is None else request.task,
        "het_job_id": -1 if request.het_job_id is None else request.het_job_id,
        "het_job_offset": -1 if request.het_job_id is None else request.het_job_offset,
        "requeued": requeued,
        "work": request.run,
        "exit_code": request.exit_code,
        "ignores_term": request.ignores_term,
        "dies_in": np.nan if request.dies_in is None else request.dies_in,
        "submit_line": submit_line(request.named().options),
    }


def _run_row(job_id: int, number: int, run: Run, controller: Controller, whole: bool) -> Row:
    return {
        "job_id": job_id,
        "run": number,
        "start": run.start,
        "end": run.end if run.end is not None else np.nan,
        "processors": controller.cluster.machine.cpus_of(run.allocation),
        "work": _worked(run),
        "backfilled": run.backfilled,
        "outcome": run.outcome.value if run.outcome is not None else "RUNNING",
        **({"checkpoints": run.checkpoints} if controller.checkpoints.preemption is not None else {}),
        **(_place(run, controller) if whole else {}),
    }


def _worked(run: Run) -> float:
    if run.work is not None:
        return run.work
    return np.nan if run.end is None else run.end - run.start - run.suspended(run.end)


def _place(run: Run, controller: Controller) -> Row:
    """Where a run was, and with what."""
    allocation, machine = run.allocation, controller.cluster.machine
    cpus = (machine.threads[allocation.where] * allocation.units).tolist()
    kinds = sorted((kind, counts) for kind, counts in allocation.gres.items() if kind[0])
    gres = (f"{':'.join(filter(None, kind))}={_listed(counts)}" for kind, counts in kinds)
    ends = [(begin, run.end if to is None and run.end is not None else to) for begin, to in run.suspensions]
    return {
        "partition": run.partition,
        "nodes": compress([machine.names[node] for node in allocation.nodes]),
        "cpus": _listed(cpus),
        "memory": _listed(allocation.memory),
        "gres": " ".join(gres),
        "limit": run.limit if run.limit != float("inf") else np.nan,
        **({"configuring": run.start - run.given} if controller.power else {}),
        "suspended": ",".join(f"{begin:.15g}-{'' if to is None else f'{to:.15g}'}" for begin, to in ends),
    }


def _listed(numbers: Iterable[int]) -> str:
    return ",".join(map(str, numbers))


def _columns(rows: Iterator[Row], names: Sequence[str], numbers: Sequence[str]) -> Columns:
    """Columns of rows, which are made one after the other: all at once would need gigabytes for a log of years."""
    kinds = {name: "flag" if name in _FLAGS else "text" if name in _TEXTS else "value" for name in names}
    notes = RowBuffer(kinds | {name: "number" for name in numbers if name in kinds})
    values = itemgetter(*names)
    for row in rows:
        notes.add(*values(row))
    return notes.take_columns()
