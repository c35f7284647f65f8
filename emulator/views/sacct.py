"""``sacct``: the jobs that were accounted for until a time.

``Extra``, a column for any text, has what Slurm does not know of a job or rounds: how long
its work is, and the fraction of the second of its submission. With it and ``SubmitLine`` a
dump that is read again gives the same submissions (:mod:`emulator.workload.sacct`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from emulator.views.clock import Clock, full, size
from emulator.views.columns import Field, Fields
from emulator.views.jobs import asked_tres, given_tres, node_count, state_of, total_memory
from emulator.views.recorded import PENDING, RUNNING, JobAt, KeptJob, RecordedCluster
from emulator.views.squeue import Wanted
from emulator.workload.sacct.asked import MARK

DEFAULT = "JobID,JobName,Partition,Account,AllocCPUS,State,ExitCode"
BRIEF = "JobID,State,ExitCode"
WORKLOAD = (
    "JobID,JobIDRaw,JobName,Cluster,Partition,Account,User,QOS,Submit,Eligible,Start,End,Elapsed,ElapsedRaw,"
    "State,ExitCode,NNodes,NCPUS,ReqCPUS,ReqNodes,ReqMem,ReqTRES,AllocTRES,Timelimit,TimelimitRaw,Priority,Flags,"
    "Reason,Constraints,NodeList,Extra,SubmitLine"
)
"""All that a dump needs to be read again."""


@dataclass(frozen=True)
class Shown:
    """A line: a run of a job, or a job without one.

    Attributes:
        job: at the time.
        clock: prints times.
        largest: CPUs of the largest node to which it may go.
        cluster: name of the cluster.
    """

    job: JobAt
    clock: Clock
    largest: int
    cluster: str

    @property
    def elapsed(self) -> float:
        """Whole seconds that it ran."""
        stay = self.job.stay
        if stay is None:
            return 0.0
        end = min(stay.end, self.job.now)
        # Slurm's clock has whole seconds.
        return math.floor(end) - math.floor(stay.start) - math.floor(stay.suspended(end))

    @property
    def nodes(self) -> int:
        """Nodes that it asked for at least."""
        return node_count(replace(self.job, stay=None), self.largest)

    @property
    def start(self) -> float | None:
        """When it started; of one that was cancelled while it waited, when that was."""
        return self.job.stay.start if self.job.stay is not None else self.job.end

    @property
    def planned(self) -> float:
        """Seconds that it waited from being eligible."""
        until = self.job.now if self.start is None else self.start
        return max(0.0, math.floor(until) - math.floor(min(self.job.eligible, until)))

    def within(self, since: float | None, until: float | None) -> bool:
        """Whether it was there at any time between two seconds; None for no bound."""
        ended = self.job.end is not None and since is not None and self.job.end < since
        return not ended and (until is None or self.job.submit <= until)


def _minutes(row: Shown) -> str:
    limit = row.job.limit
    return "UNLIMITED" if math.isinf(limit) else str(math.ceil(limit / 60))


def _limit(row: Shown) -> str:
    limit = row.job.limit
    return "UNLIMITED" if math.isinf(limit) else full(math.ceil(limit / 60) * 60)


def _exit(row: Shown) -> str:
    if row.job.state == "FAILED":
        return f"{row.job.job.fields['exit_code']}:0"
    return "0:15" if row.job.state in ("PREEMPTED", "CANCELLED") and row.job.stay is not None else "0:0"


def _flags(row: Shown) -> str:
    if row.job.stay is None:
        return ""
    return "SchedBackfill" if row.job.stay.backfilled else "SchedMain"


def _memory(row: Shown) -> str:
    total = total_memory(row.job, row.nodes)
    return size(total) if total else "0"


def _extra(row: Shown) -> str:
    fields = row.job.job.fields
    stated = {"epoch": row.clock.epoch, "submit": fields["submit"], "run": _work(row.job.job)}
    if fields["exit_code"]:
        stated["exit_code"] = fields["exit_code"]
    if fields["ignores_term"]:
        stated["ignores_term"] = 1
    if math.isfinite(fields["dies_in"]):
        stated["dies_in"] = fields["dies_in"]
    return " ".join((MARK, *(f"{name}={float(value)!r}" for name, value in stated.items())))


def _work(job: KeptJob) -> float:
    return float(job.fields["work"])


def _asked(name: str) -> Callable[[Shown], str]:
    return lambda row: str(getattr(row.job.options, name))


def _record(name: str) -> Callable[[Shown], str]:
    return lambda row: row.job.text(name)


def _none(_: Shown) -> str:
    return ""


FIELDS: Fields[Shown] = Fields(
    "sacct",
    tuple(
        Field(name, value, names=(name, *others), width=width)
        for width, value, name, *others in (
            (10, _record("account"), "Account"),
            (19, _none, "AdminComment"),
            (10, lambda row: str(sum(row.job.stay.cpus) if row.job.stay else 0), "AllocCPUS"),
            (10, lambda row: str(len(row.job.stay.cpus) if row.job.stay else 0), "AllocNodes"),
            (10, lambda row: given_tres(row.job), "AllocTRES"),
            (10, lambda row: row.cluster, "Cluster"),
            (14, _none, "Comment"),
            (19, _asked("constraint"), "Constraints"),
            (10, lambda row: full(row.elapsed * row.job.cpus), "CPUTime"),
            (10, lambda row: f"{row.elapsed * row.job.cpus:.0f}", "CPUTimeRAW"),
            (15, lambda _: "0:0", "DerivedExitCode"),
            (10, lambda row: full(row.elapsed), "Elapsed"),
            (10, lambda row: f"{row.elapsed:.0f}", "ElapsedRaw"),
            (19, lambda row: row.clock.text(row.job.eligible), "Eligible"),
            (19, lambda row: row.clock.text(row.job.end), "End"),
            (8, _exit, "ExitCode"),
            (19, _extra, "Extra"),
            (20, _flags, "Flags"),
            (6, _none, "GID"),
            (9, _none, "Group"),
            (-12, lambda row: row.job.job.label, "JobID"),
            (-12, lambda row: str(row.job.id), "JobIDRaw"),
            (10, _record("name"), "JobName"),
            (20, lambda row: ",".join(f"{name}:{count}" for name, count in row.job.options.licenses), "Licenses"),
            (10, lambda row: str(row.job.cpus), "NCPUS"),
            (8, lambda row: str(len(row.job.stay.cpus) if row.job.stay else row.nodes), "NNodes"),
            (15, lambda row: row.job.stay.nodes if row.job.stay else "None assigned", "NodeList"),
            (8, _none, "NTasks"),
            (10, lambda row: row.job.partition, "Partition"),
            (10, lambda row: full(row.planned), "Planned", "Reserved"),
            (10, lambda row: full(row.planned * row.job.asked_cpus), "PlannedCPU", "ResvCPU"),
            (13, lambda row: f"{row.planned * row.job.asked_cpus:.0f}", "PlannedCPURAW", "ResvCPURAW"),
            (10, lambda row: str(row.job.priority), "Priority"),
            (10, _record("qos"), "QOS"),
            (22, lambda row: row.job.reason, "Reason"),
            (8, lambda row: str(row.job.asked_cpus), "ReqCPUS"),
            (10, _memory, "ReqMem"),
            (8, lambda row: str(row.nodes), "ReqNodes"),
            (10, lambda row: asked_tres(row.job, row.nodes), "ReqTRES"),
            (20, _asked("reservation"), "Reservation"),
            (8, lambda row: str(row.job.restarts), "Restarts"),
            (19, lambda row: row.clock.text(row.start), "Start"),
            (10, lambda row: "CANCELLED by 0" if row.job.state == "CANCELLED" else row.job.state, "State"),
            (19, lambda row: row.clock.text(row.job.submit), "Submit"),
            (20, _record("submit_line"), "SubmitLine"),
            (10, lambda row: full(row.job.stay.suspended(row.job.now) if row.job.stay else 0), "Suspended"),
            (10, _limit, "Timelimit"),
            (12, _minutes, "TimelimitRaw"),
            (6, _none, "UID"),
            (9, _record("user"), "User"),
            (20, _none, "WorkDir"),
        )
    ),
)
"""The columns, with Slurm's widths. What the emulator has not is empty."""


def shown(
    recorded: RecordedCluster, time: float, wanted: Wanted, clock: Clock, duplicates: bool = False
) -> list[Shown]:
    """The lines, by id; with ``duplicates`` also the earlier runs of jobs that were requeued."""
    found = [
        Shown(one, clock, recorded.largest_for(one), recorded.cluster.name)
        for job in recorded.at(time)
        for one in (*(_earlier(job) if duplicates else ()), job)
        if wanted.takes(one) and (not wanted.states or one.state in wanted.states)
    ]
    return sorted(found, key=lambda row: (*_place(row.job), row.start or math.inf))


def _place(job: JobAt) -> tuple[int, int]:
    array, task = int(job.job.fields["array"]), int(job.job.fields["task"])
    return (job.id, 0) if array < 0 else (array, task)


def _earlier(job: JobAt) -> list[JobAt]:
    """The job at the ends of its earlier runs."""
    return [
        replace(job, state=stay.outcome, reason="None", stay=stay, restarts=index)
        for index, stay in enumerate(job.job.stays[: job.restarts])
    ]


def names(form: str) -> str:
    """A format, in which ``ALL`` and ``WORKLOAD`` stand for what they are short for."""
    short = {"ALL": FIELDS.everything(), "WORKLOAD": WORKLOAD}
    return ",".join(short.get(word.strip().upper(), word) for word in form.split(","))


def states(words: Sequence[str]) -> tuple[str, ...]:
    """States by names or letters.

    Raises:
        ConfigurationError: there is no such state.
    """
    from slurm_sim_plugins.errors import ConfigurationError

    found = tuple(state_of(word) for word in words)
    if "" in found:
        raise ConfigurationError(f"there is no state {words[found.index('')]!r}; take one such as PD, R, CD or RUNNING")
    return found


def as_json(rows: Sequence[Shown]) -> list[dict[str, Any]]:
    """The jobs with the names that ``sacct --json`` gives their properties."""
    return [_properties(row) for row in rows]


def _properties(row: Shown) -> dict[str, Any]:
    job, clock = row.job, row.clock
    array = int(job.job.fields["array"])
    return {
        "account": job.text("account"),
        "allocation_nodes": len(job.stay.cpus) if job.stay else 0,
        "array": {"job_id": max(array, 0), "task_id": int(job.job.fields["task"]) if array >= 0 else None},
        "cluster": row.cluster,
        "constraints": job.options.constraint,
        "het": {
            "job_id": max(job.job.het_job_id, 0),
            "job_offset": int(job.job.fields["het_job_offset"]) if job.job.het_job_id >= 0 else None,
        },
        "exit_code": {
            "status": "SUCCESS" if job.state == "COMPLETED" else "ERROR",
            "return_code": int(_exit(row).partition(":")[0]),
        },
        "flags": [_flags(row)] if _flags(row) else [],
        "job_id": job.id,
        "name": job.text("name"),
        "nodes": job.stay.nodes if job.stay else "None assigned",
        "partition": job.partition,
        "priority": job.priority,
        "qos": job.text("qos"),
        "required": {"CPUs": job.asked_cpus, "memory": total_memory(job, row.nodes)},
        "state": {"current": job.state, "reason": job.reason},
        "submit_line": job.text("submit_line"),
        "time": {
            "elapsed": int(row.elapsed),
            "eligible": clock.unix(job.eligible),
            "end": clock.unix(job.end) if job.state not in (PENDING, RUNNING) else 0,
            "limit": None if math.isinf(job.limit) else math.ceil(job.limit / 60),
            "start": clock.unix(job.stay.start if job.stay else None),
            "submission": clock.unix(job.submit),
            "suspended": int(job.stay.suspended(job.now)) if job.stay else 0,
        },
        "tres": {"allocated": given_tres(job), "requested": asked_tres(job, row.nodes)},
        "user": job.text("user"),
    }
