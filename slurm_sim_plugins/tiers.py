"""Tiers: several jobs on one processor, each in a tier of its own.

Where the plugin in the ExecutionType slot has tiers, every processor has one slot in
each of them. A run is in one tier, with as many slots as its job wants processors. How
fast it progresses is the plugin's answer to ``progress_rate``. Processors are particular
ones there, and what is called free is free in the first tier.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence, Set
from math import ldexp

from slurm_sim_plugins.cluster import ReadOnly
from slurm_sim_plugins.counts import Counts
from slurm_sim_plugins.jobs import Job
from slurm_sim_plugins.processors import Processors, all_processors

_MICROSECONDS = 1_000_000
PARTS = 114
"""Work is counted in 2**-114 of a microsecond: a whole number of them at each rate of 2**-62 and more."""


def work_at(rate: float, microseconds: int) -> int:
    """The work that is done at a rate in a time, in parts; exact, with the value that the float has."""
    return int(ldexp(rate, PARTS)) * microseconds


def whole(work: int) -> int:
    """Parts of work in microseconds; half a microsecond is rounded up."""
    return (work + (1 << PARTS - 1)) >> PARTS


class StayFields:
    """Storage of :class:`Stay`; only the owner of the tiers writes to it.

    ``_done`` are parts of work (see :data:`PARTS`) done until the instant ``_settled``;
    there is no progress before ``_stalled``. Instants are whole microseconds.
    """

    __slots__ = ("_done", "_settled", "_stalled", "job", "number", "rate", "since", "start", "tier", "where")

    def __init__(self, job: Job, number: int, tier: str, where: Processors, start: float, since: float) -> None:
        self.job = job
        self.number = number
        self.tier = tier
        self.where = where
        self.start = start
        self.since = since
        self.rate = 1.0
        self._done = 0
        self._settled = self._stalled = round(since * _MICROSECONDS)


class Stay(StayFields, ReadOnly):
    """A run's stay in one tier on certain processors; a move ends it and begins another.

    Attributes:
        job: whose run it is.
        number: stays are numbered through a simulation, from 1.
        tier: name of the tier.
        where: its processors.
        start: when the run began, in seconds.
        since: when this stay began, in seconds.
        rate: seconds of work that it does in a second; 1 on a dedicated machine.
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<Stay of job {self.job.id} in {self.tier} since {self.since:g}>"


class Tiers:
    """Which run is where; follows the cluster state and cannot be changed.

    Args:
        cluster_state: the cluster state to which they belong.
        names: of the tiers, the first one first.

    Attributes:
        names: of the tiers, the first one first.

    What begins with an underscore is for the owner of the cluster_state: idle processors and
    stays by tier, the stays of all jobs, and of those that are not in the first tier.
    """

    __slots__ = ("_behind", "_cluster_state", "_idle", "_left", "_of", "_stays", "names")

    def __init__(self, cluster_state: Counts, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self._left: set[str] = set()
        self._cluster_state = cluster_state
        self._idle: dict[str, Processors] = dict.fromkeys(names, all_processors(cluster_state.total))
        self._stays: dict[str, dict[Job, Stay]] = {name: {} for name in names}
        self._of: dict[Job, Stay] = {}
        self._behind: dict[Job, Stay] = {}

    @property
    def left(self) -> Set[str]:
        """The tiers in which runs have ended since the last pass."""
        return self._left

    def idle(self, tier: str) -> Processors:
        """Processors whose slot in a tier is empty."""
        return self._idle[tier]

    def stay(self, job: Job) -> Stay | None:
        """Where a job runs; None if it does not run."""
        return self._of.get(job)

    def stays(self, tier: str) -> Collection[Stay]:
        """All runs in a tier, in the order in which they came to it."""
        return self._stays[tier].values()

    def on(self, where: Processors, tier: str) -> list[Stay]:
        """The runs that have at least one of these processors in a tier."""
        return [stay for stay in self._stays[tier].values() if stay.where & where]

    def beside(self, stay: Stay) -> list[Stay]:
        """The runs in other tiers that have at least one processor of this one."""
        return [other for tier in self.names if tier != stay.tier for other in self.on(stay.where, tier)]

    def progress(self, stay: Stay) -> float:
        """Seconds of work, to the microsecond, that a run has done; without what earlier runs of its job did."""
        now = round(self._cluster_state.now * _MICROSECONDS)
        since = max(0, now - max(stay._settled, stay._stalled))
        return whole(stay._done + work_at(stay.rate, since)) / _MICROSECONDS

    def _enter(self, stay: Stay) -> None:
        """A stay begins."""
        job, tier = stay.job, stay.tier
        self._idle[tier] &= ~stay.where
        self._stays[tier][job] = self._of[job] = stay
        if tier != self.names[0]:
            self._behind[job] = stay

    def _leave(self, stay: Stay) -> None:
        """A stay ends."""
        job, tier = stay.job, stay.tier
        self._idle[tier] |= stay.where
        del self._stays[tier][job], self._of[job]
        self._behind.pop(job, None)


def seal(stay: StayFields) -> Stay:
    """Make a stay of its storage."""
    stay.__class__ = Stay
    return stay  # type: ignore[return-value]
