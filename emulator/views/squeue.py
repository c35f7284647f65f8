"""``squeue``: the jobs that wait or run at a time.

Tasks of an array that wait for the same are one line, as in Slurm. What the emulator has not
(groups, numbers of users, commands) is shown as Slurm shows what is not set.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from emulator.config.slurm.hostlist import compress
from emulator.views.clock import Clock, limit, short
from emulator.views.columns import Column, Field, Fields, constant, ordered, table
from emulator.views.jobs import (
    COMPACT,
    NUMBERS,
    array_label,
    asked_tres,
    batch_host,
    dependency,
    given_tres,
    memory_asked,
    node_count,
)
from emulator.views.recorded import JobAt, RecordedCluster

DEFAULT = "%.18i %.9P %.8j %.8u %.2t %.10M %.6D %R"
LONG = "%.18i %.9P %.8j %.8u %.8T %.10M %.9l %.6D %R"
SORT = "P,t,-p"
LIVING = ("PENDING", "CONFIGURING", "RUNNING", "SUSPENDED")
MIN_JOB_AGE = 300.0
"""Seconds for which a job that has ended is still known, unless ``MinJobAge`` says otherwise."""
HIGHEST = 4294967295.0


@dataclass(frozen=True)
class Shown:
    """A line: a job, or tasks of an array that wait for the same.

    Attributes:
        jobs: which.
        clock: prints times.
        largest: CPUs of the largest node to which it may go.
        cluster: name of the cluster.
        together: whether tasks of an array share lines.
    """

    jobs: tuple[JobAt, ...]
    clock: Clock
    largest: int
    cluster: str = ""
    together: bool = True

    @property
    def job(self) -> JobAt:
        """The first of them."""
        return self.jobs[0]

    @property
    def why(self) -> str:
        """Its reason, with blanks as ``squeue`` has them."""
        return self.job.reason.replace("_", " ")

    @property
    def label(self) -> str:
        """Its id, or that of all its tasks."""
        return array_label(self.jobs, self.together)

    @property
    def start(self) -> float | None:
        """When it started, or is planned to."""
        return self.job.stay.start if self.job.stay is not None else self.job.planned

    @property
    def end(self) -> float | None:
        """When it ended, or will at its limit."""
        if self.job.over:
            return self.job.end
        return None if self.start is None else self.start + self.job.limit

    @property
    def used(self) -> float:
        """Seconds that it has run."""
        return self.job.stay.elapsed(self.job.now) if self.job.stay is not None else 0.0

    @property
    def nodes(self) -> int:
        """How many nodes it has or needs."""
        return node_count(self.job, self.largest)


def _asked(name: str) -> Callable[[Shown], str]:
    return lambda row: str(getattr(row.job.options, name) or "(null)")


def _record(name: str, none: str = "(null)") -> Callable[[Shown], str]:
    return lambda row: row.job.text(name) or none


def _array_job_id(row: Shown) -> str:
    array, underscore, _ = row.label.partition("_")
    return array if underscore else str(row.job.id)


def _task(row: Shown) -> str:
    label = row.label
    return label.partition("_")[2].strip("[]") or "N/A"


def _where_or_why(row: Shown) -> str:
    if row.job.waits or (row.job.over and row.job.reason != "None"):
        return f"({row.why})"
    return row.job.stay.nodes if row.job.stay is not None else ""


def _sharing(row: Shown) -> str:
    options = row.job.options
    return "NO" if options.exclusive else "USER" if options.exclusive_to == "user" else "YES" if options.share else "OK"


def _hosts(name: str) -> Callable[[Shown], str]:
    return lambda row: compress(getattr(row.job.options, name))


def _state_number(row: Shown) -> object:
    return NUMBERS.get(row.job.state, len(NUMBERS))


FIELDS: Fields[Shown] = Fields(
    "squeue",
    (
        Field("ACCOUNT", _record("account"), "a", ("Account",)),
        Field("JOBID", lambda row: str(row.job.id), "A", ("JobID",), sort=lambda row: row.job.id),
        Field("EXEC_HOST", lambda row: batch_host(row.job) or "n/a", "B", ("BatchHost",)),
        Field("MIN_CPUS", lambda row: str(row.job.options.cpus_per_task or 1), "c", ("MinCpus", "cpus-per-task")),
        Field("CPUS", lambda row: str(row.job.cpus), "C", ("NumCPUs",), sort=lambda row: row.job.cpus),
        Field("MIN_TMP_DISK", lambda row: str(row.job.options.tmp_disk or 0), "d", ("MinTmpDisk",)),
        Field("NODES", lambda row: str(row.nodes), "D", ("NumNodes",), sort=lambda row: row.nodes),
        Field(
            "END_TIME",
            lambda row: row.clock.text(row.end, "N/A"),
            "e",
            ("EndTime",),
            sort=lambda row: row.end or math.inf,
        ),
        Field("DEPENDENCY", lambda row: dependency(row.job), "E", ("Dependency",)),
        Field("FEATURES", _asked("constraint"), "f", ("Feature",)),
        Field("ARRAY_JOB_ID", _array_job_id, "F", ("ArrayJobID", "JobArrayID")),
        Field("GROUP", constant("(null)"), "g", ("GroupName",)),
        Field("GROUP", constant("0"), "G", ("GroupID",)),
        Field("OVER_SUBSCRIBE", _sharing, "h", ("OverSubscribe",)),
        Field("SOCKETS_PER_NODE", constant("*"), "H", ("Sockets",)),
        Field("JOBID", lambda row: row.label, "i", (), sort=lambda row: row.job.id),
        Field("CORES_PER_SOCKET", constant("*"), "I", ("Cores",)),
        Field("NAME", _record("name", ""), "j", ("Name",)),
        Field("THREADS_PER_CORE", constant("*"), "J", ("Threads",)),
        Field("COMMENT", constant("(null)"), "k", ("Comment",)),
        Field("ARRAY_TASK_ID", _task, "K", ("ArrayTaskID",)),
        Field("TIME_LIMIT", lambda row: limit(row.job.limit), "l", ("TimeLimit",), sort=lambda row: row.job.limit),
        Field("TIME_LEFT", lambda row: limit(max(row.job.limit - row.used, 0.0)), "L", ("TimeLeft",)),
        Field("MIN_MEMORY", lambda row: memory_asked(row.job), "m", ("MinMemory",)),
        Field("TIME", lambda row: short(row.used), "M", ("TimeUsed",), sort=lambda row: row.used),
        Field("REQ_NODES", _hosts("node_list"), "n", ("ReqNodes",)),
        Field("NODELIST", lambda row: row.job.stay.nodes if row.job.stay is not None else "", "N", ("NodeList",)),
        Field("COMMAND", constant("(null)"), "o", ("Command",)),
        Field("CONTIGUOUS", constant("0"), "O", ("Contiguous",)),
        Field(
            "PRIORITY",
            lambda row: f"{row.job.priority / HIGHEST:.14f}",
            "p",
            ("Priority",),
            sort=lambda row: row.job.priority,
        ),
        Field("PARTITION", lambda row: row.job.partition, "P", ("Partition",)),
        Field("QOS", _record("qos"), "q", ("QOS",)),
        Field("PRIORITY", lambda row: str(row.job.priority), "Q", ("PriorityLong",), sort=lambda row: row.job.priority),
        Field("REASON", lambda row: row.why, "r", ("Reason",)),
        Field("NODELIST(REASON)", _where_or_why, "R", ("ReasonList",)),
        Field("SELECT_JOBINFO", constant(""), "s", ("SelectJobInfo",)),
        Field(
            "START_TIME",
            lambda row: row.clock.text(row.start, "N/A"),
            "S",
            ("StartTime",),
            sort=lambda row: row.start or math.inf,
        ),
        Field("ST", lambda row: COMPACT.get(row.job.state, row.job.state), "t", ("StateCompact",), sort=_state_number),
        Field("STATE", lambda row: row.job.state, "T", ("State",), sort=_state_number),
        Field("USER", _record("user", ""), "u", ("UserName",)),
        Field("UID", constant("0"), "U", ("UserID",)),
        Field("RESERVATION", _asked("reservation"), "v", ("Reservation",)),
        Field(
            "SUBMIT_TIME",
            lambda row: row.clock.text(row.job.submit),
            "V",
            ("SubmitTime",),
            sort=lambda row: row.job.submit,
        ),
        Field("WCKEY", constant("(null)"), "w", ("WCKey",)),
        Field(
            "LICENSES",
            lambda row: ",".join(f"{name}:{count}" for name, count in row.job.options.licenses) or "(null)",
            "W",
            ("Licenses",),
        ),
        Field("EXC_NODES", _hosts("exclude"), "x", ("ExcNodes",)),
        Field("CORE_SPEC", constant("N/A"), "X", ("CoreSpec",)),
        Field("NICE", lambda row: str(row.job.options.nice), "y", ("Nice",), sort=lambda row: row.job.options.nice),
        Field("SCHEDNODES", constant("(null)"), "Y", ("SchedNodes",)),
        Field("S:C:T", constant("*:*:*"), "z", ("SCT",)),
        Field("WORK_DIR", constant("(null)"), "Z", ("WorkDir",)),
        Field("ELIGIBLE_TIME", lambda row: row.clock.text(row.job.eligible, "N/A"), "", ("EligibleTime",)),
        Field(
            "PENDING_TIME",
            lambda row: str(math.floor(max(0.0, min(row.start or row.job.now, row.job.now) - row.job.submit))),
            "",
            ("PendingTime",),
        ),
        Field("RESTARTCNT", lambda row: str(row.job.restarts), "", ("RestartCnt",)),
        Field("REQUEUE", lambda row: str(int(row.job.options.requeue is not False)), "", ("Requeue",)),
        Field("CLUSTER", lambda row: row.cluster, "", ("Cluster",)),
        Field(
            "TRES_ALLOC", lambda row: given_tres(row.job) or asked_tres(row.job, row.nodes), "", ("tres-alloc", "tres")
        ),
        Field("MAX_NODES", lambda row: str(row.job.options.max_nodes or 0), "", ("MaxNodes",)),
    ),
)
"""The columns, by letter and by name."""


@dataclass(frozen=True)
class Wanted:
    """Which jobs are shown.

    Attributes:
        jobs: ids, those of arrays too; none for all.
        users, accounts, partitions, names, qos: none for all.
        states: in full words; none for those that wait, run or are suspended.
        nodes: jobs that have one of these; none for all.
        each_task: a line for each task of an array.
    """

    jobs: tuple[str, ...] = ()
    users: tuple[str, ...] = ()
    accounts: tuple[str, ...] = ()
    partitions: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    qos: tuple[str, ...] = ()
    states: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()
    each_task: bool = False

    def takes(self, job: JobAt) -> bool:
        """Whether a job is shown, as far as its record says."""
        fields = (("user", self.users), ("account", self.accounts), ("name", self.names), ("qos", self.qos))
        if any(wanted and job.text(name) not in wanted for name, wanted in fields):
            return False
        ids = {job.job.label, str(job.id), re.split("[_+]", job.job.label)[0]}
        if self.jobs and not ids & set(self.jobs):
            return False
        return not self.partitions or bool(set(job.partition.split(",")) & set(self.partitions))


def shown(recorded: RecordedCluster, time: float, wanted: Wanted, clock: Clock) -> list[Shown]:
    """The lines, in no particular order."""
    age = float(recorded.cluster.parameters.get("MinJobAge") or MIN_JOB_AGE)
    groups: dict[object, list[JobAt]] = {}
    for job in recorded.at(time):
        if not wanted.takes(job) or job.state not in (wanted.states or LIVING):
            continue
        if job.over and time - (job.end or 0.0) > age:
            continue
        if wanted.nodes and not set(wanted.nodes) & set(job.hosts):
            continue
        array = int(job.job.fields["array"])
        alone = wanted.each_task or array < 0 or not job.waits
        key = job.id if alone else (array, job.reason, job.priority, job.planned, job.restarts)
        groups.setdefault(key, []).append(job)
    return [
        Shown(tuple(jobs), clock, recorded.largest_for(jobs[0]), recorded.cluster.name, not wanted.each_task)
        for jobs in groups.values()
    ]


def squeue(rows: Sequence[Shown], columns: Sequence[Column[Shown]], sort: str = SORT, header: bool = True) -> str:
    """The table."""
    # Slurm's order of jobs of equal rank follows no rule that recordings show; here it is that of ids.
    rows = sorted(rows, key=lambda row: row.job.id)
    return table(columns, ordered(FIELDS, rows, sort, {}), header)


def as_json(rows: Sequence[Shown]) -> list[dict[str, Any]]:
    """The jobs with the names that ``squeue --json`` gives their properties."""
    return [_properties(row) for row in sorted(rows, key=lambda row: row.job.id)]


def _properties(row: Shown) -> dict[str, Any]:
    job, clock = row.job, row.clock
    array = int(job.job.fields["array"])
    label = row.label
    return {
        "account": job.text("account"),
        "array_job_id": max(array, 0),
        "array_task_id": int(job.job.fields["task"]) if array >= 0 and "[" not in label else None,
        "array_task_string": label.partition("[")[2].rstrip("]"),
        "batch_host": batch_host(job),
        "cluster": row.cluster,
        "cpus": job.cpus,
        "dependency": "" if dependency(job) == "(null)" else dependency(job),
        "eligible_time": clock.unix(job.eligible),
        "end_time": clock.unix(row.end),
        "excluded_nodes": compress(job.options.exclude),
        "exit_code": int(job.job.fields["exit_code"]) if job.over else 0,
        "features": job.options.constraint,
        "het_job_id": max(job.job.het_job_id, 0),
        "het_job_offset": int(job.job.fields["het_job_offset"]) if job.job.het_job_id >= 0 else None,
        "job_id": job.id,
        "job_state": job.state,
        "licenses": ",".join(f"{name}:{count}" for name, count in job.options.licenses),
        "memory_per_cpu": job.memory[0],
        "memory_per_node": job.memory[1],
        "name": job.text("name"),
        "nice": job.options.nice,
        "node_count": row.nodes,
        "nodes": job.stay.nodes if job.stay is not None else "",
        "partition": job.partition,
        "priority": job.priority,
        "qos": job.text("qos"),
        "required_nodes": compress(job.options.node_list),
        "requeue": job.options.requeue is not False,
        "restart_cnt": job.restarts,
        "start_time": clock.unix(row.start),
        "state_reason": job.reason,
        "submit_time": clock.unix(job.submit),
        "tasks": job.options.tasks_on(row.nodes),
        "time_limit": None if math.isinf(job.limit) else math.ceil(job.limit / 60),
        "tres_alloc_str": given_tres(job),
        "tres_req_str": asked_tres(job, row.nodes),
        "user_name": job.text("user"),
    }
