"""Jobs and runs as plugins see them: read-only, and storage that only their owner writes to.

Times and durations are float seconds on the workload's clock. The true run time of a job is
not reachable from here.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import repeat
from typing import Any, NamedTuple, overload

from slurm_sim_plugins.cluster import Association, Partition, Qos, ReadOnly, Request
from slurm_sim_plugins.job_fields import JobFacts, JobFields
from slurm_sim_plugins.kernels import why_plain
from slurm_sim_plugins.profile import RunEntry

FIRST_PRIORITY = 4294901759
"""Slurm's priority/basic counts down from here, one for each submission (observation Q8)."""


SITE_FACTOR = " site factor"
"""The column of facts in which numbers of a site are kept; no workload has a column of that name."""


class Job(JobFields, ReadOnly):
    """A job as a plugin may know it.

    Attributes:
        id: the trace's job id.
        index: position in the simulation's order of (submit, id), from 0.
        submit: when it was submitted first; a requeue does not change it.
        processors: how many it wants.
        time_limit: requested seconds; it is killed there if the run kills at the limit.
        planned: seconds for which schedulers plan its next run, as the walltime plugin
            answered; the limit if there is none. A planned time never kills. Of a job that
            kept progress when it was preempted it is what is left, and with checkpoints or
            suspension their overhead is in it; so it is with the next three.
        planned_queue: the same, for the order of the queue.
        planned_running: the same, for the planned end of its run.
        longest: seconds that its next run can last at most.
        requeues: how often it was sent back to the queue.
        backfilled: whether its last start went ahead of the head of the queue.
    """

    __slots__ = ()

    @property
    def job(self) -> Job:
        """Itself: where a machine has no partitions, the entries of the queue are the jobs."""
        return self

    @property
    def priority(self) -> float:
        """The number that the priority plugin gave last; higher goes first."""
        order = self._order
        return -order[0] if isinstance(order, tuple) else float(FIRST_PRIORITY - order)

    def fact(self, name: str) -> Any:
        """A further column of the workload, such as ``"user"``; None where it is unknown."""
        column = self._facts[name]
        return None if column is None else column[self.index]

    @property
    def user(self) -> Any:
        """Who submitted it, or None."""
        return self.fact("user")

    @property
    def group(self) -> Any:
        """The submitter's group, or None."""
        return self.fact("group")

    @property
    def account(self) -> Any:
        """The account on whose behalf, or the group where none is known."""
        column = self._facts.get("account")
        return self.group if column is None else column[self.index]

    @property
    def shortest(self) -> float:
        """Seconds that its run has at least: for as long as it is planned."""
        return self.planned

    @property
    def reserves(self) -> bool:
        """Whether resources may be kept for it."""
        return True

    @property
    def queue(self) -> Any:
        """The queue that the trace names, or None."""
        return self.fact("queue")

    @property
    def partition(self) -> Any:
        """The partition that the trace names, or None."""
        return self.fact("partition")

    @property
    def predicted(self) -> float | None:
        """A prediction of the run time, in seconds, that came with the workload, or None."""
        value: float | None = self.fact("predicted")
        return value

    @property
    def may_requeue(self) -> bool:
        """Whether it may be sent back to the queue: False where the workload's ``requeue`` is 0."""
        return bool(self.fact("requeue") != 0)

    # What a cluster with partitions and accounts knows further. On a flat machine: nothing, or what follows.

    @property
    def requests(self) -> Sequence[Request]:
        """What it asks for in each of its partitions, in their order; one without a partition where there are none."""
        return (_request(self.processors, self._stated("partition", Partition)),)

    def _stated(self, name: str, kind: type) -> Any:
        """A fact, if it is of a kind: a unit test may give a job a partition, a QOS and an association."""
        found = self._facts[name]
        return found[self.index] if found is not None and isinstance(found[self.index], kind) else None

    @property
    def qos(self) -> Qos | None:
        """Its quality of service, or None."""
        found: Qos | None = self._stated("qos", Qos)
        return found

    @property
    def association(self) -> Association | None:
        """On whose account it is, or None."""
        found: Association | None = self._stated("association", Association)
        return found

    @property
    def queued(self) -> float:
        """When it was submitted or requeued last, in seconds; the first submission where that is not followed."""
        return self.submit

    @property
    def eligible(self) -> float | None:
        """Since when it may be scheduled, in seconds; None while it is held or waits for another job or its time."""
        return self.submit

    @property
    def accrued(self) -> float | None:
        """Since when its age counts (AccrueTime), in seconds; None while it does not."""
        return self.submit

    @property
    def held(self) -> bool:
        """Whether it is on hold."""
        return False

    @property
    def nice(self) -> int:
        """Its nice value, which its priority is lowered by."""
        return 0

    @property
    def site(self) -> int:
        """What the plugin in PrioritySiteFactorPlugin, or an operator, adds to its priority (SiteFactor)."""
        column = self._facts.get(SITE_FACTOR)
        return 0 if column is None else column[self.index]

    @property
    def licenses(self) -> Sequence[tuple[str, int]]:
        """Names and counts of the licences that it asks for."""
        return ()

    @property
    def dependencies(self) -> Sequence[int]:
        """Ids of the jobs that it depends on."""
        return ()

    @property
    def array(self) -> int | None:
        """The id of the array that it is a task of, or None."""
        return None

    @property
    def het_job_id(self) -> int | None:
        """The id of the first component of the heterogeneous job that it is a component of, or None."""
        return None

    @property
    def drawn_by(self) -> str:
        """As the entry of a queue: the name of the reservation that draws it there; empty for none."""
        return ""

    @property
    def het_job_offset(self) -> int:
        """Its place among the components of a heterogeneous job, from 0 on."""
        return 0

    @property
    def het_job_id_set(self) -> Sequence[int]:
        """Ids of all components of its heterogeneous job, itself among them; empty if it is none."""
        return ()

    @property
    def answered(self) -> Sequence[Any]:
        """What the priority plugin answered for it last, one for each of ``requests``; empty where that is not kept."""
        return ()

    @property
    def row(self) -> int:
        """The row in which the plugin in the PriorityType slot keeps its facts; -1 for none.

        It is -1 again as soon as its requests, association, QOS, nice value or site factor, or the time from which on
        its age counts, change; and always where processors are only counted.
        """
        return -1

    def keep_row(self, row: int) -> None:
        """Note the row in which a priority plugin keeps its facts."""

    @property
    def runs_in(self) -> Partition | None:
        """The partition in which it runs, or None."""
        return self.requests[0].partition

    @property
    def nodes(self) -> int:
        """How many nodes it runs on; its processors where they are only counted."""
        return self.processors

    @property
    def record(self) -> int:
        """Where the controller's list has its record: a number that is below those of what stands behind it.

        Jobs come as they were submitted, an array as one. Of an array the first task that starts keeps that record,
        and what is left gets one at the end of the list.
        """
        return self.id if self.array is None else self.array

    def outranks(self, other: Job) -> bool:
        """Whether this job goes before ``other``: priority first, then (submit, id)."""
        return bool(self._order < other._order)

    def __repr__(self) -> str:
        return f"<Job {self.id}: {self.processors} processors, limit {self.time_limit:g} s, submitted {self.submit:g}>"


@lru_cache(maxsize=4096)
def _request(processors: int, partition: Partition | None) -> Request:
    """What is asked for where processors are only counted: so many nodes of one CPU."""
    return Request(partition, processors, float(processors), {"CPU": float(processors), "NODE": float(processors)})


def new_job(facts: JobFacts, index: int, id: int, submit: float, processors: int, time_limit: float) -> Job:
    """Make a job. As plain Python its storage is filled first and sealed afterwards, for a job refuses assignment."""
    if not why_plain():
        return Job(facts, index, id, submit, processors, time_limit)
    job: Any = JobFields(facts, index, id, submit, processors, time_limit)
    job.__class__ = Job
    return job  # type: ignore[no-any-return]


def new_jobs(
    facts: JobFacts,
    ids: Sequence[int],
    submit: Sequence[float],
    processors: Sequence[int],
    time_limit: Sequence[float],
) -> list[Job]:
    """Make jobs, in the order of (submit, id)."""
    make = new_job if why_plain() else Job
    return list(map(make, repeat(facts), range(len(ids)), ids, submit, processors, time_limit))


class Run(NamedTuple):
    """One run of a job on the machine."""

    planned_end: float
    """When it is planned to end, in seconds; may have passed."""
    sequence: int
    """Starts are numbered through a simulation."""
    processors: int
    start: float
    job: Job

    @property
    def partition(self) -> Partition | None:
        """Its partition, or None."""
        return self.job.runs_in

    @property
    def nodes(self) -> int:
        """How many nodes it has; its processors where they are only counted."""
        return self.job.nodes

    @property
    def record(self) -> tuple[int, int]:
        """What equal runs are sorted by: where the controller's list has the record of the job, then as they began."""
        return self.job.record, self.sequence


class Jobs(Sequence[Job]):
    """A sequence that follows the cluster state and cannot be changed."""

    __slots__ = ("_items",)

    def __init__(self, items: list[Job]) -> None:
        self._items = items

    @overload
    def __getitem__(self, index: int) -> Job: ...
    @overload
    def __getitem__(self, index: slice) -> list[Job]: ...
    def __getitem__(self, index: int | slice) -> Job | list[Job]:
        return self._items[index]

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[Job]:
        return iter(self._items)

    def __repr__(self) -> str:
        return repr(self._items)


class Runs(Sequence[Run]):
    """The runs of now, by planned end; follows the cluster state and cannot be changed."""

    __slots__ = ("_entries",)

    def __init__(self, entries: list[RunEntry]) -> None:
        self._entries = entries

    @overload
    def __getitem__(self, index: int) -> Run: ...
    @overload
    def __getitem__(self, index: slice) -> list[Run]: ...
    def __getitem__(self, index: int | slice) -> Run | list[Run]:
        if isinstance(index, slice):
            return [Run._make(entry) for entry in self._entries[index]]
        return Run._make(self._entries[index])

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[Run]:
        return map(Run._make, self._entries)

    def __contains__(self, run: object) -> bool:
        entries = self._entries
        index = bisect_left(entries, run[:2]) if isinstance(run, Run) else len(entries)
        return index < len(entries) and entries[index] == run

    def __repr__(self) -> str:
        return repr(list(self))
