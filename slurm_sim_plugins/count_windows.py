"""The plan of Slurm's backfill where processors are only counted: holes are kept as numbers of processors."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from slurm_sim_plugins.counts import Counts
from slurm_sim_plugins.jobs import Job
from slurm_sim_plugins.plan import ANYWHERE, Hole, Place, WindowPlan
from slurm_sim_plugins.profile import Profile


class CountWindows(WindowPlan):
    """Free processors over time, less what is kept, in whole steps of the resolution.

    Args:
        view: the cluster.
        resolution: of the steps, in seconds.
        window: seconds; holes later than so many from now are not kept.
        size: times at which a kept hole begins or ends, at most.
    """

    __slots__ = ("_bounds", "_profile", "_resolution", "_size", "_sought", "_view", "_window")

    def __init__(self, view: Counts, resolution: float, window: float, size: int) -> None:
        self._view = view
        self._resolution = resolution
        self._window = window
        self._size = size
        self._profile = Profile(view.now, view.free, view._runs)
        self._bounds: set[float] = set()
        self._sought: Job | None = None
        view._plan = self

    @property
    def full(self) -> bool:
        """Whether there is no room for two more bounds; as :attr:`WindowPlan.full`; none behind the window counts."""
        return len(self._bounds) + 1 >= self._size

    def takes(self, entry: Job) -> bool:
        """Always: processors that are counted know no bounds of partitions."""
        return True

    def alike(self, entries: Sequence[Job]) -> Iterator[list[Job]]:
        """Each by itself, and all of them."""
        for entry in entries:
            yield [entry]

    def place(self, entries: Sequence[Job], keep: bool, now_only: bool = False) -> tuple[list[float], Hole | None]:
        """The hole of the first; none is kept."""
        self._sought = job = entries[0]
        now, free = self._view.now, self._view.free
        start = self._profile.earliest(job.processors, job.shortest, now)
        return [], Hole(start, ANYWHERE, start <= now and job.processors <= free)

    def beside(self, entry: Job) -> Place | None:
        """Nowhere: counted processors are not shared."""
        return None

    def keep(self, hole: Hole) -> None:
        """Keep a hole, which must be the last that was found; of one that is now, to the second."""
        job, grain, start = self._sought, self._resolution, hole.start
        assert job is not None, "no hole was sought"
        begin, end = start, start + job.shortest
        if start > self._view.now:
            begin, end = math.floor(begin / grain) * grain, math.floor(end / grain) * grain
            end = max(end, begin + grain)
        self._bounds |= {bound for bound in (begin, end) if bound <= self._view.now + self._window}
        self._profile.take(job.processors, begin, end)

    def started(self, job: Job) -> None:
        """A job has started, and has its processors for as long as it is planned."""
        self._profile.take(job.processors, self._view.now, self._view.now + job.planned_running)
