# cython: boundscheck=True, wraparound=True, nonecheck=True
"""Entries of the queue that ask for the same, one behind the other; a :mod:`kernel <slurm_sim_plugins.kernels>`.

Each cycle of backfill goes over the whole queue: thousands of entries, of which nearly all ask for the same as the one
before.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any

from emulator.scheduling.run_rows import Reals
from emulator.state.job import NOT_YET_TRIED, Job
from emulator.state.order import Pair
from emulator.state.partition import Partition
from emulator.state.run import YEAR, State
from slurm_sim_plugins.entry import Entry

PENDING = State.PENDING


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
    entry, until, many = entries[first], first + 1, len(entries)
    job, kind = entry._pair[0], entry._kind
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
    entry, first = entries[last], last
    job, kind = entry._pair[0], entry._kind
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


def is_unbound(job: Job, partition: Partition) -> bool:
    """Whether a partition has no bound that a job could exceed, and takes it: at first sight, most do."""
    return not job.barred and job.limit <= partition.max_time and _takes_alike(job, partition)


def _takes_alike(job: Job, partition: Partition) -> bool:
    """Whether a partition takes jobs that want the same, but for those that are too long, or barred."""
    if partition.max_nodes is not None or partition.min_nodes > 1:
        return False
    return partition.state != "DOWN" and partition.state != "INACTIVE" and not job.wants[partition.name].never


def is_plainly_taken(entry: Entry) -> bool:
    """Whether a job waits still, and its partition takes it, as far as that is seen at first sight.

    It is tried in no reservation then: an entry that has a kind is of no array, and no reservation draws its job.
    """
    if not waits_plainly(entry):
        return False
    job = entry._pair[0]
    job.drawn = ""
    return True


def waits_plainly(entry: Entry) -> bool:
    """As :func:`is_plainly_taken`, for a job that is not tried yet."""
    job, partition = entry._pair
    if entry._kind is None or job.time_min is not None or job.state is not PENDING:
        return False
    return is_unbound(job, partition)


def pass_over(pairs: list[Pair], place: int, looks: int, failed: set[tuple[str, str]]) -> int:
    """The place of the first pair that the main loop has to look at itself.

    Jobs before it stand behind one for which their partition is kept, and show that.

    Args:
        pairs: of the queue.
        place: where to begin.
        looks: how many the main loop looks at yet.
        failed: partitions and reservations that are kept for a job before.
    """
    until = min(len(pairs), place + looks)
    last: Any = None
    wants: Any = None
    longest: Any = 0.0
    behind = False
    while place < until:
        _, job, partition = pairs[place]
        entries = job.entries
        if len(entries) != 1 or entries[0]._kind is None or job.state is not PENDING or job.drawn:
            break
        if partition is not last or job.wants is not wants:
            last, wants, longest = partition, job.wants, partition.max_time
            behind = (partition.name, "") in failed and _takes_alike(job, partition)
        if not behind or job.limit > longest or job.barred:
            break
        if job._reason in NOT_YET_TRIED:
            job.reason = "Priority"
        place += 1
    return place


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
        known: Entry = entry
        job, partition = known._pair
        if job.state is not PENDING or known not in job.entries:
            break
        job.planned_start = float(time)
        if cpus_planned is not None:
            if last is None or last[0] != job.request_class or last[1] is not partition:
                last, cpus = (job.request_class, partition), cpus_planned(job, partition)
            job.planned_cpus = cpus or job.planned_cpus
        done += 1
    return done


def count_alike(entries: list[Any], cpus: float) -> None:
    """Jobs alike count with so many CPUs from now on; 0 for as many as before."""
    if not cpus:
        return
    for entry in entries:
        known: Entry = entry
        job = known._pair[0]
        job.planned_cpus = cpus


def count_planned(entries: list[Any], first: int, cpus: Reals, many: int) -> None:
    """So many jobs, from one on, count with the CPUs of their plans from now on."""
    for index in range(many):
        known: Entry = entries[first + index]
        job = known._pair[0]
        job.planned_cpus = cpus[index]


def length_of(job: Job) -> Any:
    """For how long a job is planned at least, in seconds."""
    if job.time_min is not None or (job.account is not None and job.tries_a_minute):
        return job.shortest
    return job.limit if job.plan is None and job.limit < YEAR else job.plan_limit
