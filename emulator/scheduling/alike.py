# cython: boundscheck=True, wraparound=True, nonecheck=True
"""Entries of the queue that ask for the same, one behind the other; a :mod:`kernel <slurm_sim_plugins.kernels>`.

Each cycle of backfill goes over the whole queue: thousands of entries, of which nearly all ask for the same as the one
before.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any

from emulator.scheduling.outlook_kernel import Outlook
from emulator.scheduling.select_kernel import Code
from emulator.scheduling.windows_kernel import Columns, may_start
from emulator.state.job import Job
from emulator.state.order import Pair
from emulator.state.partition import Partition
from emulator.state.run import YEAR, State
from slurm_sim_plugins.nodes import Ints
from slurm_sim_plugins.plan import Entry

PENDING = State.PENDING
Alike = tuple[Any, Any, float, Any]
"""What jobs have in common of which one can start if another can: the kind, for how long, CPUs when planned, user."""


def entries_of(pairs: list[Pair], make: Callable[[Job], tuple[Entry, ...]]) -> list[Entry]:
    """The entries of pairs of job and partition, in their order.

    Args:
        pairs: of the queue.
        make: makes the entries of a job that has none yet, one for each of its partitions.
    """
    found: list[Entry] = []
    for index, job, _ in pairs:
        entries = job.entries or make(job)
        found.append(entries[index])
    return found


def alike_until(entries: list[Any], first: int, joins: Callable[[Any], bool] | None, by_user: bool = False) -> int:
    """The place behind those that ask for the same as an entry, for as long, and follow it.

    Args:
        entries: of the queue.
        first: the place of the entry.
        joins: says of each that follows whether it may be taken together with it; None: all may.
        by_user: whether they are to be of one user.
    """
    job, kind, until, many = entries[first]._pair[0], entries[first]._kind, first + 1, len(entries)
    limit, length = job.limit, length_of(job)
    stated = job.plan is None and job.time_min is None
    while until < many:
        entry = entries[until]
        other = entry._pair[0]
        if entry._kind is not kind or other.limit != limit:
            break
        if by_user and other.request.user != job.request.user:
            break
        if not (stated if other.plan is None and other.time_min is None else length_of(other) == length):
            break
        if joins is not None and not joins(entry):
            break
        until += 1
    return until


def alike_from(entries: list[Any], last: int, by_user: bool = False) -> int:
    """The place of the first of those that ask for the same as the one at ``last``, and lie before it without a gap.

    They are to have been planned with as many CPUs, too, and with ``by_user`` to be of one user.
    """
    job, kind, first = entries[last]._pair[0], entries[last]._kind, last
    length, cpus = length_of(job), job.planned_cpus
    while first > 0:
        entry = entries[first - 1]
        other = entry._pair[0]
        if entry._kind is not kind or length_of(other) != length or other.planned_cpus != cpus:
            break
        if by_user and other.request.user != job.request.user:
            break
        first -= 1
    return first


class Question:
    """What is asked of jobs alike: whether one could start now.

    Args:
        code: what one asks for.
        outlook: what it finds on the nodes.
        end: when it would end, in seconds.
    """

    __slots__ = ("code", "end", "outlook")

    def __init__(self, code: Code, outlook: Outlook, end: float) -> None:
        self.code, self.outlook, self.end = code, outlook, end


class Hopes:
    """Up to which place of a queue jobs could start now beside what is kept, until another run starts.

    Args:
        ask: from an entry and for how long it runs to what is asked of those alike; None: it is not for the kernel to
            say, and so they could.
        decides: whether nothing but nodes and time decides on an entry; None: of those alike on all or none.
        capacity: room for a number of each node.
        sets: room for sets of neighbours.
        taken: room for nodes, and the units of each.

    Attributes:
        by_user: whether some nodes are for jobs of one user alone, so that it matters whose jobs are.
    """

    __slots__ = ("_ask", "_cannot", "_capacity", "_decides", "_questions", "_sets", "_taken", "by_user")

    def __init__(
        self,
        ask: Callable[[Any, float], Question | None],
        decides: Callable[[Any], bool] | None,
        capacity: Ints,
        sets: Ints,
        taken: Ints,
    ) -> None:
        self._ask, self._decides = ask, decides
        self._capacity, self._sets, self._taken = capacity, sets, taken
        self._questions: dict[Alike, Question | None] = {}
        self._cannot: set[Alike] = set()
        self.by_user = False

    def other_runs(self) -> None:
        """A run has started: less is free."""
        self._questions.clear()

    def more_may_start(self) -> None:
        """Runs end at other times: those may start that could not."""
        self._questions.clear()
        self._cannot.clear()

    def last(self, entries: list[Any], last: int, slots: Columns) -> int:
        """How many of the first of so many entries there are up to the last that could start."""
        while last and not self._could_start(entries[last - 1], slots):
            last = last - 1 if self._decides is not None else alike_from(entries, last - 1, self.by_user)
        return last

    def _could_start(self, entry: Any, slots: Columns) -> bool:
        """Whether a job could start; or its reason or number may change."""
        if self._decides is not None and not self._decides(entry):
            return True
        job: Job = entry._pair[0]
        length = length_of(job)
        alike = entry._kind, length, job.planned_cpus, job.request.user if self.by_user else ""
        if alike in self._cannot:
            return False
        if alike not in self._questions:
            self._questions[alike] = self._ask(entry, length)
        question = self._questions[alike]
        if question is None:
            return True
        code, outlook = question.code, question.outlook
        if may_start(code, outlook, question.end, slots, self._capacity, self._sets, self._taken):
            return True
        self._cannot.add(alike)
        return False


def plan_alike(
    entries: list[Any],
    times: list[float],
    now: float,
    kind: Any,
    cpus_planned: Callable[[Job, Partition], float] | None,
) -> int:
    """Note when jobs are to start, up to the first that does not wait or has no time to come; how many they are.

    Args:
        entries: of the queue, most of which ask for the same as the one before.
        times: when each is to start, in seconds.
        now: the time.
        kind: the class of entries of a queue.
        cpus_planned: with how many CPUs a job is planned in a partition, 0 for as many as before; None if that
            does not matter.
    """
    last: tuple[int, Partition] | None = None
    done, cpus = 0, 0.0
    for entry in entries:
        time = times[done]
        if entry.__class__ is not kind or not now <= time < inf:
            break
        job, partition = entry._pair
        if job.state is not PENDING or entry not in job.entries:
            break
        job.planned_start = float(time)
        if cpus_planned is not None:
            if last is None or last[0] != job.request_class or last[1] is not partition:
                last, cpus = (job.request_class, partition), cpus_planned(job, partition)
            job.planned_cpus = cpus or job.planned_cpus
        done += 1
    return done


def length_of(job: Job) -> Any:
    """For how long a job is planned at least, in seconds."""
    if job.time_min is not None:
        return job.time_min
    return job.limit if job.plan is None and job.limit < YEAR else job.plan_limit
