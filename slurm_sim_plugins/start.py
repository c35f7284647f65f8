"""The decision that is made most often; a :mod:`kernel <slurm_sim_plugins.kernels>`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurm_sim_plugins.plan import ANYWHERE

if TYPE_CHECKING:
    from slurm_sim_plugins.jobs import Job
    from slurm_sim_plugins.plan import Place
    from slurm_sim_plugins.processors import Processors

FIRST_TIER = "fg"
"""Name of the first tier, wherever there are tiers."""


class Start:
    """Start a waiting job now.

    Args:
        job: the job that is to start.
        reason: why.
        where: where the ExecutionType has tiers: the processors to take, as many as the job
            wants; None: the highest that are idle in the tier. Where the SelectType gives out
            blocks: the number of the block to take; None: the plugin there chooses. On a
            cluster with nodes: the place that ``plan.now(entry)`` answered; None: it is
            asked for. Where processors are only counted, that place is of no effect.
        tier: there, the tier to run in; ``"fg"``, the first.
        setup: there, seconds on its processors before it makes progress; 0.
    """

    __slots__ = ("_there", "job", "reason")
    __match_args__ = ("job", "reason")

    def __init__(
        self,
        job: Job,
        reason: str = "",
        where: Processors | Place | None = None,
        tier: str | None = None,
        setup: float | None = None,
    ) -> None:
        self.job = job
        self.reason = reason
        # Starts are the many, and few of them say where: the code that handles them need not look.
        self._there: tuple[Processors | Place | None, str, float] | None = None
        if where is ANYWHERE:
            where = None
        if where is not None or tier is not None or setup is not None:
            self._there = where, FIRST_TIER if tier is None else tier, 0.0 if setup is None else setup

    @property
    def where(self) -> Processors | Place | None:
        """The processors, the number of the block, or the nodes to take."""
        return None if self._there is None else self._there[0]

    @property
    def tier(self) -> str:
        """The tier to run in."""
        return FIRST_TIER if self._there is None else self._there[1]

    @property
    def setup(self) -> float:
        """Seconds on its processors before it makes progress."""
        return 0.0 if self._there is None else self._there[2]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Start) and self._values() == other._values()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        names = ("job", "reason", "where", "tier", "setup")
        said = (f"{name}={value!r}" for name, value in zip(names, self._values(), strict=True))
        return f"Start({', '.join(said)})"

    def _values(self) -> tuple[Job, str, Processors | Place | None, str, float]:
        return self.job, self.reason, self.where, self.tier, self.setup
