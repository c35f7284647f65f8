"""The cluster of a finished run at a time: its jobs and its nodes, from the folder of the run."""

from __future__ import annotations

import math
import os
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar, overload

import numpy as np

from emulator.accounting.cluster import KeptCluster, KeptNodes, read_cluster
from emulator.accounting.records import read_columns
from emulator.accounting.runfolder import FACTORS, NODES, RECORDS, RUNS, SHARES, WAITS, FinishedRun, read_run
from emulator.accounting.schema import SLURM_SCHEMAS, check
from emulator.config.slurm.hostlist import expand
from emulator.workload.sbatch import BatchOptions
from emulator.workload.sbatch_line import options_of
from slurm_sim_plugins.errors import InputError
from slurm_sim_plugins.processors import from_words, numbers

T = TypeVar("T")

NOT_ELIGIBLE = ("JobHeldUser", "JobHeldAdmin", "BeginTime", "Dependency", "DependencyNeverSatisfied", "Reservation")
"""What a job waits for while it is not eligible."""
PENDING, CONFIGURING, RUNNING, SUSPENDED = "PENDING", "CONFIGURING", "RUNNING", "SUSPENDED"
OVER = frozenset({"COMPLETED", "CANCELLED", "FAILED", "TIMEOUT", "PREEMPTED", "NODE_FAIL", "DEADLINE", "REQUEUED"})
WAIT_NAMES = ("time", "state", "reason", "priority", "planned_start")
FACTOR_NAMES = ("Age", "Assoc", "Fairshare", "JobSize", "Partition", "QOS")


@dataclass(frozen=True, slots=True)
class Stay:
    """A run of a job, as recorded; times in seconds, infinite for an end that it has not.

    Attributes:
        start, end: when.
        outcome: what it ended with.
        partition: where.
        nodes: a host list.
        cpus, memory: of each node, in its order.
        gres: counts of each kind on each node.
        limit: seconds; infinite for none.
        suspensions: from when to when.
        backfilled: whether backfill started it.
        configuring: seconds before its start in which its nodes were resumed.
    """

    start: float
    end: float
    outcome: str
    partition: str
    nodes: str
    cpus: tuple[int, ...]
    memory: tuple[int, ...]
    gres: Mapping[str, tuple[int, ...]]
    limit: float
    suspensions: tuple[tuple[float, float], ...]
    backfilled: bool
    configuring: float = 0.0

    @property
    def allocated(self) -> float:
        """When it got its nodes."""
        return self.start - self.configuring

    def suspended(self, now: float) -> float:
        """Seconds that it was suspended until then."""
        return sum(max(0.0, min(to, now) - begin) for begin, to in self.suspensions if begin < now)

    def elapsed(self, now: float) -> float:
        """Seconds that it has run until then, without suspensions."""
        end = min(self.end, now)
        return max(0.0, end - self.start - self.suspended(end))


@dataclass(frozen=True, slots=True)
class Wait:
    """What a job waited for, from a second on."""

    time: float
    state: str
    reason: str
    priority: int
    planned: float | None


@dataclass(frozen=True, slots=True)
class Priority:
    """What the priority of a job in a partition was worked out from.

    Attributes:
        time: when.
        partition: its name.
        total: the priority.
        factors: by name, such as ``Age``, without weights.
        tres: factors of resources, by upper-case name.
        site: the site factor.
    """

    time: float
    partition: str
    total: int
    factors: Mapping[str, float]
    tres: Mapping[str, float]
    site: int = 0


@dataclass(frozen=True, slots=True)
class KeptShare:
    """An association at a time; see :data:`emulator.accounting.journal.SHARE_COLUMNS`. NaN stands for null."""

    time: float
    account: str
    user: str
    partition: str
    place: int
    depth: int
    raw_shares: float
    norm_shares: float
    raw_usage: float
    norm_usage: float
    effective_usage: float
    fair_share: float
    level_fs: float
    grp_tres_mins: str
    tres_run_mins: str
    cluster: str = ""


class Waits(Sequence[Wait]):
    """What a job waited for, in the order of time; made of columns only when it is looked at.

    Args:
        columns: of all jobs.
        indices: rows of this job.
    """

    def __init__(self, columns: Mapping[str, Any], indices: Any) -> None:
        self._columns = columns
        self._indices = indices
        self._times = columns["time"][indices]

    def __len__(self) -> int:
        return len(self._indices)

    @overload
    def __getitem__(self, index: int) -> Wait: ...
    @overload
    def __getitem__(self, index: slice) -> list[Wait]: ...
    def __getitem__(self, index: int | slice) -> Wait | list[Wait]:
        if isinstance(index, slice):
            return [self[index] for index in range(*index.indices(len(self)))]
        row = self._indices[index]
        time, state, reason, priority, planned = (self._columns[name][row] for name in WAIT_NAMES)
        known = None if math.isnan(planned) else float(planned)
        return Wait(float(time), str(state), str(reason), int(priority), known)

    def at(self, time: float) -> Wait | None:
        """The last by then, or None."""
        index = int(np.searchsorted(self._times, time, side="right"))
        return self[index - 1] if index else None


NOTHING = Waits(dict.fromkeys(("time",), np.zeros(0)), np.zeros(0, dtype=np.intp))


@dataclass
class KeptJob:
    """A job of a run, at all times.

    Attributes:
        fields: its record.
        path: the file of the record.
        stays: its runs, in order.
        waits: what it waited for, in order.
        unasked: mebibytes for each CPU, and on each node, if it asks for none; None for none.
    """

    fields: Mapping[str, Any]
    path: Path
    stays: list[Stay] = field(default_factory=list)
    waits: Waits = NOTHING
    unasked: tuple[int | None, int | None] = (None, None)

    @cached_property
    def options(self) -> BatchOptions:
        """What it asked for."""
        try:
            return options_of(self.fields["submit_line"])
        except ValueError as error:
            raise InputError(f"{self.path}: job {self.id}: its submit_line cannot be read: {error}") from error

    def eligible(self, submitted: float) -> float:
        """When it became eligible after it was submitted or requeued; infinite if it did not."""
        begun = [stay.start for stay in self.stays if stay.start >= submitted]
        until = begun[0] if begun else math.inf
        waits = (wait for wait in self.waits if submitted <= wait.time < until)
        first = next(waits, None)
        if first is not None and first.reason == "None":
            # Of a requeued job a pass has to find out that it waits for its begin.
            then = next(waits, first)
            first = then if then.reason == "BeginTime" else first
        if first is None or first.reason not in NOT_ELIGIBLE:
            return submitted
        return next((wait.time for wait in waits if wait.reason not in NOT_ELIGIBLE), until)

    @property
    def id(self) -> int:
        """Its own number."""
        return int(self.fields["job_id"])

    @property
    def label(self) -> str:
        """Its id as Slurm shows it."""
        if self.het_job_id >= 0:
            return f"{self.het_job_id}+{self.fields['het_job_offset']}"
        return str(self.id) if self.fields["array"] < 0 else f"{self.fields['array']}_{self.fields['task']}"

    @property
    def het_job_id(self) -> int:
        """The first component of its heterogeneous job; -1 for none, as in all folders of earlier versions."""
        return int(self.fields.get("het_job_id", -1))


@dataclass(frozen=True)
class JobAt:
    """A job at a time.

    Attributes:
        job: at all times.
        now: the time.
        state: in Slurm's words.
        reason: why it waits, or ended as it did.
        priority: its priority.
        planned: when it is planned to start, or None.
        stay: its current run, or its last one if it is over; None if there was none.
        restarts: how often it was requeued so far.
    """

    job: KeptJob
    now: float
    state: str
    reason: str
    priority: int
    planned: float | None
    stay: Stay | None
    restarts: int

    @property
    def id(self) -> int:
        """Its number."""
        return self.job.id

    @property
    def options(self) -> BatchOptions:
        """What it asked for."""
        return self.job.options

    @property
    def memory(self) -> tuple[int | None, int | None]:
        """Mebibytes for each CPU, and on each node: one of them, as it asked, or else by default."""
        options = self.options
        asked = options.memory_per_cpu, options.memory_per_node
        return self.job.unasked if asked == (None, None) and not options.memory_per_gpu else asked

    def text(self, name: str) -> str:
        """A field of its record."""
        return str(self.job.fields[name])

    @property
    def submit(self) -> float:
        """When it was submitted, or requeued last."""
        requeued = self.job.fields["requeued"]
        if self.restarts and math.isfinite(requeued):
            return self.job.stays[self.restarts - 1].end
        return float(self.job.fields["submit"])

    @property
    def eligible(self) -> float:
        """When it became eligible since then; infinite if it did not."""
        return self.job.eligible(self.submit)

    @property
    def partition(self) -> str:
        """Where it is, or may go."""
        if self.stay is not None:
            return self.stay.partition
        return ",".join(self.options.partitions) or self.text("partition")

    @property
    def hosts(self) -> list[str]:
        """Names of the nodes of its run; none where there was none.

        Raises:
            InputError: the record of the run has no host list.
        """
        try:
            return expand(self.stay.nodes) if self.stay is not None else []
        except ValueError as error:
            raise InputError(f"{self.job.path.with_name(RUNS)}: a run of job {self.id}: {error}") from error

    @property
    def limit(self) -> float:
        """Its limit in seconds; infinite for none."""
        if self.stay is not None:
            return self.stay.limit
        stated = self.job.fields["time_limit"]
        return float(stated) if math.isfinite(stated) else math.inf

    @property
    def waits(self) -> bool:
        """Whether it is pending."""
        return self.state == PENDING

    @property
    def over(self) -> bool:
        """Whether it has ended."""
        return self.state in OVER

    @property
    def cpus(self) -> int:
        """CPUs that it has, or asks for."""
        return sum(self.stay.cpus) if self.stay is not None else self.asked_cpus

    @property
    def asked_cpus(self) -> int:
        """CPUs that it asked for."""
        return self.options.cpus

    @property
    def end(self) -> float | None:
        """When it ended; None if it has not."""
        if not self.over:
            return None
        return self.stay.end if self.stay is not None else self.job.waits[-1].time if self.job.waits else self.submit


@dataclass(frozen=True, slots=True)
class NodeAt:
    """A node at a time.

    Attributes:
        name: its name.
        about: what it has.
        cpus, memory: how much of it jobs have.
        gres: the same for each kind.
        flags: what holds of it beside: ``PLANNED``, ``RESERVED``, ``MAINT``, ``DOWN``, ``DRAIN``, ``UP``, and with
            power saving ``POWERING_DOWN``, ``POWERED_DOWN``, ``POWERING_UP``.
    """

    name: str
    about: KeptNodes
    cpus: int
    memory: int
    gres: Mapping[str, int]
    flags: frozenset[str] = frozenset()

    @property
    def state(self) -> str:
        """As ``sinfo -o %T`` shows it; of what holds beside, Slurm shows one (sinfo, "NODE STATE CODES")."""
        base = self.base
        powered = next((mark for flag, mark in POWER_MARKS.items() if flag in self.flags), "")
        if powered:
            return f"{base}{powered}"
        if base == "idle":
            return next((shown for flag, shown in IDLE_BUT if flag in self.flags), base)
        if base in ("mixed", "allocated") and "MAINT" in self.flags:
            return f"{base}$"
        return f"{base}-" if base == "mixed" and "PLANNED" in self.flags else base

    @property
    def base(self) -> str:
        """Its state by what is on it, and whether it takes jobs at all."""
        told = self.flags & {"DOWN", "DRAIN", "UP"}
        stated = next(iter(told)) if told else self.about.state.upper()
        if "DRAIN" in stated:
            return "draining" if self.cpus else "drained"
        if "DOWN" in stated or "FAIL" in stated:
            return "down"
        if "FUTURE" in stated:
            return "future"
        if not self.cpus:
            return "idle"
        return "allocated" if self.cpus >= self.about.cpus else "mixed"


POWER_MARKS = {"POWERING_DOWN": "%", "POWERED_DOWN": "~", "POWERING_UP": "#"}
"""What is shown behind the state of a node that is not on."""
IDLE_BUT = (("MAINT", "maint"), ("RESERVED", "reserved"), ("PLANNED", "planned"))
"""What is shown of idle nodes of which more is known."""


class RecordedCluster:
    """A finished run, to be looked at.

    Args:
        run: the run.
        cluster: its cluster.
        waits: columns of what jobs waited for.

    Attributes:
        jobs: all jobs that were taken in, by (submit, id).
        cluster: the cluster.
        epoch: Unix time of second 0, or None.
        end: the last second at which anything happened.
    """

    def __init__(self, run: FinishedRun, cluster: KeptCluster, waits: Mapping[str, Any]) -> None:
        self.cluster = cluster
        self.epoch = run.records.epoch
        path = run.folder / RECORDS
        jobs = {row["job_id"]: KeptJob(row, path) for row in _rows(run.records.jobs) if row["state"] != "REJECTED"}
        for job, stay in made(run.folder / RUNS, run.records.runs, lambda row: (jobs[row["job_id"]], _stay(row))):
            job.stays.append(stay)
        _give_waits(jobs, waits, run.folder / WAITS)
        self.jobs = list(jobs.values())
        self._give_defaults()
        self._folder = run.folder
        self.end = max(filter(math.isfinite, _instants(self.jobs)), default=0.0)

    @classmethod
    def read(cls, folder: Path) -> RecordedCluster:
        """Read the folder of a run.

        Raises:
            InputError: it is none of a run in Slurm's timing, or damaged.
        """
        cluster = read_cluster(folder)
        run = read_run(folder)
        for file, columns in ((RECORDS, run.records.jobs), (RUNS, run.records.runs)):
            if len(columns["job_id"]):
                check(folder / file, columns, SLURM_SCHEMAS[file])
        return cls(run, cluster, read_columns(folder / WAITS))

    def _give_defaults(self) -> None:
        """Say what memory jobs have that ask for none: that of the first of their partitions."""
        known = {
            one.name: (int(one.memory_per_cpu or 0) or None, int(one.memory_per_node or 0) or None)
            for one in self.cluster.partitions
        }
        by_gpus = {one.name for one in self.cluster.partitions if one.memory_per_gpu}
        if any(any(memory) for memory in known.values()):
            for job in self.jobs:
                first = job.options.partitions[0] if job.options.partitions else job.fields["partition"]
                if first not in by_gpus or not job.options.gpus_on(1):
                    job.unasked = known.get(first, job.unasked)

    @cached_property
    def largest(self) -> Mapping[str, int]:
        """CPUs of the largest node of each partition."""
        cpus = {name: about.cpus for name, about in self.cluster.each_node()}
        return {one.name: max(map(cpus.__getitem__, expand(one.nodes)), default=1) for one in self.cluster.partitions}

    def largest_for(self, job: JobAt) -> int:
        """CPUs of the largest node to which a job may go."""
        return max((self.largest.get(name, 1) for name in job.partition.split(",")), default=1)

    def at(self, time: float) -> list[JobAt]:
        """The jobs that had been submitted by then, in the order of (submit, id)."""
        return [_job_at(job, time) for job in self.jobs if job.fields["submit"] <= time]

    def shares_at(self, time: float) -> list[KeptShare]:
        """The associations as they were by then, as the tree has them; none in a run without accounts."""

        def share(row: Mapping[str, Any]) -> KeptShare:
            return KeptShare(**row, cluster=self.cluster.name)

        shares = self._last_noted(SHARES, time, ("account", "user", "partition"), share)
        return sorted(shares, key=lambda share: share.place)

    def priorities_at(self, time: float) -> dict[int, list[Priority]]:
        """What priorities were worked out from last by then, by job: one for each of its partitions."""
        found: dict[int, list[Priority]] = {}
        for job, priority in self._last_noted(FACTORS, time, ("job_id", "partition"), _priority):
            found.setdefault(job, []).append(priority)
        return found

    def _last_noted(
        self, file: str, time: float, key: Sequence[str], make: Callable[[Mapping[str, Any]], T]
    ) -> Iterator[T]:
        """What is made of the last row by then of each key, in the order of first notes."""
        path = self._folder / file
        if not os.path.lexists(path):
            return iter(())
        columns = read_columns(path)
        count = int(np.searchsorted(columns["time"], time, side="right"))
        keys = zip(*(columns[name][:count].tolist() for name in key), strict=True)
        last = {one: index for index, one in enumerate(keys)}
        indices = np.fromiter(last.values(), dtype=np.intp, count=len(last))
        return made(path, {name: column[indices] for name, column in columns.items()}, make)

    def nodes(self, time: float) -> list[NodeAt]:
        """The nodes, in the order of the machine."""
        cpus: defaultdict[str, int] = defaultdict(int)
        memory: defaultdict[str, int] = defaultdict(int)
        gres: defaultdict[str, defaultdict[str, int]] = defaultdict(lambda: defaultdict(int))
        for job in self.at(time):
            if job.stay is None or job.state not in (RUNNING, CONFIGURING):
                continue
            names, counted = job.hosts, (job.stay.cpus, job.stay.memory, *job.stay.gres.values())
            if any(len(counts) != len(names) for counts in counted):
                raise InputError(
                    f"{self._folder / RUNS}: a run of job {job.id} is on {len(names)} nodes, and its cpus, memory or "
                    "gres are those of another number; run it again with --out"
                )
            for index, name in enumerate(names):
                cpus[name] += job.stay.cpus[index]
                memory[name] += job.stay.memory[index]
                for kind, counts in job.stay.gres.items():
                    gres[name][kind] += counts[index]
        flags = self._flags(time)
        return [
            NodeAt(name, about, cpus[name], memory[name], dict(gres[name]), frozenset(flags[index]))
            for index, (name, about) in enumerate(self.cluster.each_node())
        ]

    def _flags(self, time: float) -> defaultdict[int, set[str]]:
        """What was noted of nodes by then, by their indices in the machine."""
        found: defaultdict[int, set[str]] = defaultdict(set)
        for state, indices in self._last_noted(NODES, time, ("state",), _indices):
            for index in indices:
                found[index].add(state)
        return found


def _give_waits(jobs: Mapping[int, KeptJob], columns: Mapping[str, Any], path: Path) -> None:
    """Give each job what it waited for."""
    ids = columns["job_id"]
    order = np.argsort(ids, kind="stable")
    numbers, begins = np.unique(ids[order], return_index=True)
    for number, indices in zip(numbers.tolist(), np.split(order, begins)[1:], strict=True):
        if number not in jobs:
            raise InputError(f"{path}: there is no job {number} in {RECORDS}; run it again with --out")
        jobs[number].waits = Waits(columns, indices)


def _job_at(job: KeptJob, now: float) -> JobAt:
    begun = [stay for stay in job.stays if stay.allocated <= now]
    stay = begun[-1] if begun else None
    wait = job.waits.at(now)
    reason, priority = (wait.reason, wait.priority) if wait is not None else ("None", _first_priority(job))
    planned = wait.planned if wait is not None else None
    if stay is not None and now < stay.end:
        asleep = any(begin <= now < to for begin, to in stay.suspensions)
        state = SUSPENDED if asleep else CONFIGURING if now < stay.start else RUNNING
        return JobAt(job, now, state, "None", priority, None, stay, len(begun) - 1)
    if stay is not None and stay is job.stays[-1] and job.fields["state"] in OVER:
        return JobAt(job, now, stay.outcome, str(job.fields["reason"]), priority, None, stay, len(begun) - 1)
    if wait is not None and wait.state in OVER:
        return JobAt(job, now, wait.state, wait.reason, priority, None, None, len(begun))
    reason = "BeginTime" if stay is not None and (wait is None or wait.time < stay.end) else reason
    return JobAt(job, now, PENDING, reason, priority, planned, None, len(begun))


def _priority(row: Mapping[str, Any]) -> tuple[int, Priority]:
    tres = (word.partition("=") for word in row["tres"].split(",") if word)
    factors = {name: float(row[f"{name.lower()}_factor"]) for name in FACTOR_NAMES}
    return row["job_id"], Priority(
        float(row["time"]),
        row["partition"],
        int(row["priority"]),
        factors,
        {name: _finite(share) for name, _, share in tres},
        int(row.get("site", 0)),
    )


def _indices(row: Mapping[str, Any]) -> tuple[str, list[int]]:
    return row["state"], numbers(from_words(row["nodes"]))


def _first_priority(job: KeptJob) -> int:
    if job.waits:
        return job.waits[0].priority
    stated = job.fields["priority_at_start"]
    return int(stated) if math.isfinite(stated) else 0


def _instants(jobs: Sequence[KeptJob]) -> Iterator[float]:
    for job in jobs:
        yield float(job.fields["submit"])
        for stay in job.stays:
            yield from (stay.start, stay.end)
        if job.waits:
            yield job.waits[-1].time


def made(path: Path, columns: Mapping[str, Any], make: Callable[[Mapping[str, Any]], T]) -> Iterator[T]:
    """Something made of each row of a file.

    Args:
        path: the file, for messages.
        columns: what it holds.
        make: of a row; a ValueError or KeyError of it says that the row is damaged.

    Raises:
        InputError: a row is damaged (with file and row).
    """
    for number, row in enumerate(_rows(columns), 1):
        try:
            yield make(row)
        except (ValueError, KeyError) as error:
            raise InputError(f"{path}: row {number} cannot be read: {error}; run it again with --out") from error


def _rows(columns: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    lists = {name: column.tolist() for name, column in columns.items()}
    for values in zip(*lists.values(), strict=True):
        yield dict(zip(lists, values, strict=True))


def _stay(row: Mapping[str, Any]) -> Stay:
    end = float(row["end"])
    return Stay(
        start=float(row["start"]),
        end=end if end == end else math.inf,
        outcome=str(row["outcome"]),
        partition=str(row["partition"]),
        nodes=str(row["nodes"]),
        cpus=_numbers(row["cpus"]),
        memory=_numbers(row["memory"]),
        gres={kind: _numbers(counts) for kind, _, counts in (word.partition("=") for word in row["gres"].split())},
        limit=float(row["limit"]) if row["limit"] == row["limit"] else math.inf,
        suspensions=tuple(_span(word) for word in row["suspended"].split(",") if word),
        backfilled=bool(row["backfilled"]),
        configuring=_seconds(row.get("configuring", 0.0)),
    )


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(word) for word in text.split(",") if word)


def _span(word: str) -> tuple[float, float]:
    begin, _, end = word.partition("-")
    return _finite(begin), _finite(end) if end else math.inf


def _seconds(number: float) -> float:
    if not 0 <= number < math.inf:
        raise ValueError(f"{number!r} is no number of seconds")
    return float(number)


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text!r} is no finite number")
    return number
