# cython: boundscheck=True, wraparound=True, nonecheck=True
"""Processors, runs and the queue at one instant, as numbers; a :mod:`kernel <slurm_sim_plugins.kernels>`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import floor
from operator import attrgetter
from typing import TYPE_CHECKING, Protocol

from slurm_sim_plugins.jobs import Job, Jobs, Runs
from slurm_sim_plugins.profile import HALF_A_MICROSECOND, RunEntry
from slurm_sim_plugins.renamed import OldName
from slurm_sim_plugins.run_list import first_fit, fitting, free_by

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FOREVER = float("inf")
_ORDER = attrgetter("_order")


class Follower(Protocol):
    """A plan that has to follow the starts of its pass."""

    def started(self, job: Job) -> None:
        """A job has started."""


class Counts:
    """What is free, what runs and what waits at one instant.

    Attributes:
        now: simulated time in seconds.
        total: processors of the machine.
        free: processors that are idle now.
        head: the waiting job of the highest priority, or None.
        queue: waiting jobs, highest priority first.
        running: runs of now, ascending by (planned end, sequence).
        changed: False if, since the last pass, jobs were only submitted, behind the head,
            and every run that started in it is planned for as long as its job was while it
            waited. Then every reservation stands where it stood, and a job that was refused
            for want of processors or time would be refused again.
        new_jobs: the jobs queued since the last pass, in the order of their arrival.

    What begins with an underscore is for the owner of the cluster_state: the lists behind
    the three sequences; the last question to :meth:`earliest_start` and its answer, None as
    soon as ``running`` or ``free`` has changed; the plan that has to follow starts, or None; the
    answers of the plugin in the BackfillType slot, or None for the order of the queue.
    """

    __slots__ = (
        "_arrived",
        "_backfill_order",
        "_plan",
        "_reservation",
        "_runs",
        "_total",
        "_waiting",
        "changed",
        "free",
        "head",
        "now",
    )

    def __init__(self, total: int, now: float = 0.0) -> None:
        self.now = now
        self.free = total
        self.head: Job | None = None
        self.changed = True
        self._total = total
        self._waiting: list[Job] = []
        self._runs: list[RunEntry] = []
        self._arrived: list[Job] = []
        self._reservation: tuple[Job, tuple[float, int]] | None = None
        self._plan: Follower | None = None
        self._backfill_order: Callable[[list[Job]], list[Job]] | None = None

    @property
    def total(self) -> int:
        """Processors of the machine."""
        return self._total

    @property
    def nodes(self) -> int:
        """Nodes of the machine; its processors where they are only counted."""
        return self.total

    def whole(self, time: float) -> float:
        """A time in whole seconds of the cluster's clock."""
        return float(floor(time))

    def whole_seconds(self, times: NDArray[np.float64]) -> NDArray[np.float64]:
        """Times in whole seconds of the cluster's clock."""
        return times // 1.0

    @property
    def queue(self) -> Jobs:
        """Waiting jobs, highest priority first."""
        return Jobs(self._waiting)

    @property
    def running(self) -> Runs:
        """Runs of now, ascending by (planned end, sequence)."""
        return Runs(self._runs)

    @property
    def new_jobs(self) -> Jobs:
        """The jobs queued since the last pass, in the order of their arrival."""
        return Jobs(self._arrived)

    newcomers = OldName("new_jobs")

    def earliest_start(self, job: Job) -> tuple[float, int]:
        """When ``job`` fits if nothing else starts, and the extra processors then.

        Returns:
            ``(time, extra)``: the first planned time at which enough processors are
            free, and how many of them the job leaves over. It is now for a job that
            waits for nothing but runs which have outlived their planned ends.
        """
        kept = self._reservation
        if kept is not None and kept[0] is job and kept[1][0] > self.now:
            return kept[1]
        answer = first_fit(job.processors, self.free, self._runs, self.now)
        self._reservation = (job, answer)
        return answer

    def candidates(self, retry: bool = True) -> list[Job]:
        """The waiting jobs, but for the head, that fit into what is free now.

        They come in the order of the plugin in the BackfillType slot. What is free
        shrinks with each start; ask again before the next one, or go through :meth:`fitting`.

        Args:
            retry: False leaves out what was a candidate in an earlier pass; right for a
                scheduler that would refuse it again (see ``changed``).
        """
        return self._candidates(retry, FOREVER, 0)

    def overtaking(self, in_time: float, extra: int, retry: bool = True) -> Iterator[Job]:
        """The :meth:`candidates` that delay no reservation, each looked at when its turn comes.

        Args:
            in_time: what is planned for no more seconds is over when the reservation begins.
            extra: what wants no more processors than these does not delay it either. The caller counts
                down those that are taken.
            retry: as for :meth:`candidates`.
        """
        # What is let through by no bound now is let through by none later; a plugin is asked about all that fit.
        every = self._backfill_order is not None
        jobs = self._candidates(retry, FOREVER if every else in_time, extra)
        return self.fitting(jobs, in_time, extra)

    def _candidates(self, retry: bool, in_time: float, extra: int) -> list[Job]:
        """The candidates, within bounds as those of :meth:`overtaking`."""
        free = self.free
        if not free:
            return []
        jobs = fitting(self._waiting if retry else self._arrived, free, in_time, extra)
        if not retry and len(jobs) > 1:
            jobs.sort(key=_ORDER)
        if jobs and jobs[0] is self.head:
            del jobs[0]
        if self._backfill_order is not None and jobs:
            return self._backfill_order(jobs)
        return jobs

    def fitting(self, jobs: list[Job], in_time: float = FOREVER, extra: int = 0) -> Iterator[Job]:
        """Those of some jobs that fit and delay no reservation, each looked at when its turn comes.

        Args:
            jobs: the jobs, such as :meth:`candidates`.
            in_time: what is planned for no more seconds is over when the reservation begins.
            extra: what wants no more processors than these does not delay it either. The caller counts
                down those that are taken.
        """
        if not jobs:
            return iter(jobs)
        found = Fitting.__new__(Fitting)
        found._counts, found._jobs, found._next = self, jobs, 0
        found._in_time, found._extra = in_time, extra
        return found

    def until(self, time: float) -> float:
        """Seconds from now to ``time`` and half a microsecond: a job that is planned for no more ends by then.

        Simulated time has whole microseconds, which few floats hold exactly: a sum such as
        ``now + job.planned`` can come out later than the time that it is equal to.
        """
        return time - self.now + HALF_A_MICROSECOND

    def free_at(self, time: float) -> int:
        """Processors that are free at ``time`` if nothing else starts, as planned."""
        return free_by(time, self.free, self._runs)


class Fitting:
    """Goes through jobs as :meth:`Counts.fitting` says."""

    __slots__ = ("_counts", "_extra", "_in_time", "_jobs", "_next")

    _counts: Counts
    _jobs: list[Job]
    _next: int
    _in_time: float
    _extra: int

    def __iter__(self) -> Iterator[Job]:
        return self

    def __next__(self) -> Job:
        job = self._following()
        if job is None:
            raise StopIteration
        return job

    def _following(self) -> Job | None:
        jobs, place, free = self._jobs, self._next, self._counts.free
        while place < len(jobs):
            job = jobs[place]
            place += 1
            if job.processors <= free and (job.planned <= self._in_time or job.processors <= self._extra):
                self._next = place
                return job
        self._next = place
        return None
