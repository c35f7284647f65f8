"""All that a scheduler can ask for.

A scheduler yields decisions one at a time. Each is validated and applied before
the generator resumes, so the view is always current. ``reason`` is free text for
the event log.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, overload

from slurm_sim_plugins.jobs import Job
from slurm_sim_plugins.plan import Entry, Place
from slurm_sim_plugins.processors import Processors
from slurm_sim_plugins.start import FIRST_TIER as FIRST_TIER
from slurm_sim_plugins.start import Start as Start

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Plan(NamedTuple):
    """What a walltime plugin may answer where one number will not do; seconds of a job's own work."""

    queue: float
    """For the order of the queue: what priority plugins read as ``job.planned_queue``."""
    waiting: float
    """While it waits: whether it can be backfilled is judged by ``job.planned``."""
    running: float
    """Once it runs: its planned end is its start and this."""


class Priority(Protocol):
    """What a priority plugin may answer beside a number: what that was worked out from, for ``sprio`` and the records.

    The plugin's class names the factors: ``factors = ("Age", "JobSize")``.
    """

    @property
    def number(self) -> float:
        """The priority."""

    @property
    def total(self) -> float:
        """The sum of factors times weights, without nice value and site factor."""

    @property
    def factors(self) -> Mapping[str, float]:
        """Factors without weights, by name."""

    @property
    def resources(self) -> Mapping[str, float]:
        """Factors of resources, by upper-case name."""


class Priorities(Sequence[Any]):
    """What a priority plugin may answer for many jobs at once: their numbers as a column.

    Args:
        numbers: the priority of each job, int64 or float64.
        one: from a place in the column to the number, or the :class:`Priority`, of that job, which is asked for when
            somebody looks; None: the number.
    """

    __slots__ = ("_one", "numbers")

    def __init__(self, numbers: NDArray[Any], one: Callable[[int], Any] | None = None) -> None:
        self.numbers = numbers
        self._one = one

    @property
    def one(self) -> Callable[[int], Any] | None:
        """From a place to the number, or the :class:`Priority`, of that job; None: the number alone is known."""
        return self._one

    def __len__(self) -> int:
        return len(self.numbers)

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> list[Any]: ...
    def __getitem__(self, index: int | slice) -> Any:
        # A method that is kept would be what no snapshot can hold.
        one, places = self._one or self.numbers.item, range(len(self))[index]
        return [one(place) for place in places] if isinstance(places, range) else one(places)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and [*self] == [*other]

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr([*self])


@dataclass(slots=True)
class Move:
    """Move a running job to another tier, to other processors, or both; it keeps its progress.

    A swap of tiers is a move without ``where``. For simulations whose ExecutionType has
    tiers.
    """

    job: Job
    where: Processors | None = None
    """The processors to take, idle in the tier; None: those that it has."""
    tier: str = FIRST_TIER
    """The tier to run in."""
    cost: float = 0.0
    """Seconds on its new processors before it makes progress again."""
    planned: float | None = None
    """Seconds until its planned end; None: the cost, and what is planned for a run from its beginning."""
    reason: str = ""


@dataclass(slots=True)
class Preempt:
    """End the run of a job by preemption: it waits again, with what progress the mode leaves it.

    To have the plugin in the PreemptType slot choose the victims, yield :class:`MakeRoom`.
    """

    job: Job
    by: Job | None = None
    """The job that gains by it; None: the job itself, which is to start over elsewhere."""
    reason: str = ""


@dataclass(slots=True)
class Reserve:
    """Note that a waiting job is planned to start at ``time`` (seconds, now or later).

    A reservation binds no decision: the scheduler itself honours it. The
    latest one computed before it ran out is kept in the job's record. One decision may be for
    many: a sequence of jobs, and a sequence of as many times.
    """

    job: Any
    time: Any
    reason: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.job, Job) and isinstance(self.job, Sequence) and len(self.job) != len(self.time):
            raise ValueError(f"Reserve: {len(self.job)} jobs and {len(self.time)} times; give each job its time")

    def parts(self) -> list[Reserve]:
        """One decision for each job."""
        if isinstance(self.job, Job) or not isinstance(self.job, Sequence):
            return [self]
        return [Reserve(job, time, self.reason) for job, time in zip(self.job, self.time, strict=True)]


@dataclass(slots=True)
class MakeRoom:
    """Free processors for a waiting job by preemption: all that it needs, or none.

    The plugin in the PreemptType slot names the victims. The answer is what
    ``yield`` returns: True when the job now fits, False when no run was touched.
    The job is not started; yield :class:`Start` for that.
    """

    job: Job | Entry
    reason: str = ""
    where: Place | None = None
    """On a cluster with nodes, where: that of a hole which is not vacant, whose runs then have to leave."""


@dataclass(slots=True)
class Wake:
    """Ask for a pass at ``time`` (seconds, later than now), whatever else happens."""

    time: float
    reason: str = ""


@dataclass(slots=True)
class Pause:
    """On a cluster with nodes: let time pass in a cycle of backfill, under Slurm's clock; all others go on meanwhile.

    The answer is what ``yield`` returns: whether anything has happened since. Where looks take no time, none passes.
    """

    seconds: float
    reason: str = ""


Decision = Start | Move | Preempt | Reserve | MakeRoom | Wake | Pause
