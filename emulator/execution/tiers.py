"""Where runs are, and how far: what the engine keeps of each where there are tiers.

A run is so much work to do and a rate at which it does it. When the rate changes, what
was done until then is settled, and the end is found again; between two changes nothing
ticks. Ends are rounded to the nearest microsecond, half of one up; what is done is not
rounded (see :data:`slurm_sim_plugins.tiers.PARTS`), so that no end depends on how often
it was worked out.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from emulator.config.preemption import Preemption
from emulator.state.instants import MICROSECONDS, nearest
from emulator.workload.workload import Workload
from slurm_sim_plugins.decisions import FIRST_TIER
from slurm_sim_plugins.errors import ConfigurationError, InputError, PluginError
from slurm_sim_plugins.manager import Selection
from slurm_sim_plugins.processors import Processors
from slurm_sim_plugins.profile import RunEntry
from slurm_sim_plugins.tiers import PARTS, Stay, work_at

Came = Literal["start", "swap", "migration"]
"""How a run came to where it is: a swap is to another tier of the same processors."""
TIERS = (FIRST_TIER, "bg")
"""The tiers of a plugin that does not say."""
FURTHEST = 2**62
"""Microseconds; what would end later does not end by itself."""

_set = object.__setattr__


class PastStay(NamedTuple):
    """A stay that is over; instants in microseconds."""

    job: int
    """Its index."""
    run: int
    """Number of the run of this job, from 1."""
    start: int
    end: int
    tier: str
    where: Processors
    work: float
    """Microseconds of work that the run did in it."""
    came: Came


class Seat:
    """What the engine keeps of a run beside its stay.

    Args:
        stay: where it is.
        entry: what stands for it in lists of runs.
        came: how it came there.
        before: parts of work that the run did in earlier stays.

    Attributes:
        end: the instant for which its end stands in the event heap, or None.
        timed: whether its rate is known.
    """

    __slots__ = ("before", "came", "end", "entry", "stay", "timed")

    def __init__(self, stay: Stay, entry: RunEntry, came: Came, before: int) -> None:
        self.stay = stay
        self.entry = entry
        self.came = came
        self.before = before
        self.end: int | None = None
        self.timed = False

    def past(self, run: int, now: int) -> PastStay:
        """The stay, which is over now."""
        stay = self.stay
        start = round(stay.since * MICROSECONDS)
        work = (stay._done - self.before) / (1 << PARTS)
        return PastStay(stay.job.index, run, start, now, stay.tier, stay.where, work, self.came)


def settle(stay: Stay, now: int) -> None:
    """Note what was done until now."""
    begun = max(stay._settled, stay._stalled)
    if now > begun:
        _set(stay, "_done", stay._done + work_at(stay.rate, now - begun))
    _set(stay, "_settled", now)


def end_of(stay: Stay, work: int, now: int) -> int | None:
    """When a settled run will have done its work, if its rate stays; None for never.

    Args:
        stay: the run.
        work: microseconds of work that it has to do in all.
        now: the current instant.
    """
    begun, left = max(now, stay._stalled), (work << PARTS) - stay._done
    if left <= 0:
        return begun
    rate = work_at(stay.rate, 1)
    if left > FURTHEST * rate:
        return None
    return begun + nearest(left, rate)


def tier_names(selection: Selection) -> tuple[str, ...]:
    """The tiers of the plugin in the ExecutionType slot.

    Raises:
        PluginError: they make no sense.
    """
    name = selection.slots["ExecutionType"]
    names = getattr(selection.plugins[name], "tiers", TIERS)
    words = isinstance(names, tuple | list) and all(isinstance(tier, str) and tier for tier in names)
    if not words or len(set(names)) < len(names) or tuple(names[:1]) != (FIRST_TIER,):
        raise PluginError(
            f"its tiers are {names!r}; give a tuple of different names, of which the first is {FIRST_TIER}", plugin=name
        )
    return tuple(names)


def check_handover(preemption: Preemption) -> None:
    """Check that processors are not handed over while checkpoints are written on them: it is not known which.

    Raises:
        ConfigurationError: they would be.
    """
    if preemption.mode == "CHECKPOINT" and preemption.checkpoint == "jit":
        raise ConfigurationError(
            "preemption.checkpoint=jit hands processors over while a checkpoint is written on them, which is not "
            "possible where the ExecutionType has tiers; take checkpoint=interval or share, or mode=SUSPEND"
        )


def check_columns(selection: Selection, workload: Workload) -> None:
    """Check that the workload has the columns that the plugin in the ExecutionType slot needs.

    Raises:
        InputError: it has not.
    """
    name = selection.slots["ExecutionType"]
    for column in getattr(selection.plugins[name], "needs", ()):
        if column not in workload.facts:
            raise InputError(
                f"{workload.name}: {name} needs the column {column}, which the workload does not have; "
                "slurm-sim trace generate --cpu-use makes one"
            )
