"""Runs of KEASY, REASY and MEASY that nothing else looks at: whether one is, and its columns (:mod:`~.stock`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from emulator.accounting.stays import StayTable
from emulator.engine.tier_loop import TierLoop
from emulator.execution.tiers import Came
from emulator.state.instants import MICROSECONDS, instant
from slurm_sim_plugins.decisions import FIRST_TIER
from slurm_sim_plugins.execution import two_tier as execution
from slurm_sim_plugins.sched import two_tier as sched
from slurm_sim_plugins.sched.two_tier import UNKNOWN

if TYPE_CHECKING:
    from emulator.config.options import Config
    from emulator.workload.workload import Floats, Workload

Ints = NDArray[np.int64]
DEPLOY = ("kill", "reserve", "migrate")
NAMES = ("", FIRST_TIER, "bg")
"""The tiers by their numbers."""
CAME: tuple[Came, ...] = ("start", "swap", "migration")
LATEST = 2**60
"""Microseconds, beyond which no run may end."""
DIGITS = 5
"""Columns of work, see :class:`~emulator.engine.tier_work.TierWork`."""
STAYS = 2
"""So many stays a job has at most: one in the background, one in the foreground, where nothing ends it but itself."""


@dataclass(frozen=True)
class TierPolicy:
    """What decides in two tiers: the two plugins."""

    sched: sched.TwoTier
    execution: execution.TwoTier

    def numbers(self) -> dict[str, Any]:
        """The options of the plugins by name, as the loop takes them."""
        plugin = self.sched
        return {
            "deploy": DEPLOY.index(plugin._deploy),
            "remaining": int(plugin._remaining),
            "cost": instant(plugin._cost),
            "counted": plugin._counted,
            "loss_always": int(self.execution._always),
            "cap_inside": int(self.execution._cap_inside),
            "by_process": int(self.execution._by_process),
        }

    def given(self, workload: Workload, order: Ints | None) -> dict[str, NDArray[Any]]:
        """Further columns of the jobs, in the order of the queue; and rates by time."""
        plugin, limit, steps = self.execution, self.sched._threshold, self.execution._steps
        use, known = uses(workload)
        group = np.where(known & self.sched._cpu_info, use, self.sched._unknown)
        low, width = plugin._loss
        requeue = workload.facts.get("requeue")
        columns: dict[str, NDArray[Any]] = {
            "use": use,
            "spare": 1.0 - use,
            "full": (use >= plugin._threshold).astype(np.int8),
            "group": group,
            "behind": ((group < limit) | (group == UNKNOWN)).astype(np.int8),
            "front_rate": 1.0 - low - width * plugin._losses.first(len(use)),
            "may_go": np.ones(len(use), np.int8) if requeue is None else (requeue != 0).astype(np.int8),
        }
        if order is not None:
            columns = {name: np.ascontiguousarray(column[order]) for name, column in columns.items()}
        changes = sorted({instant(time) for time in plugin.changes})
        return columns | {
            "step_time": np.array([time for time, _ in steps], dtype=np.float64),
            "step_rate": np.array([rate for _, rate in steps], dtype=np.float64),
            "changes": np.array(changes, dtype=np.int64),
        }


def tier_policy(scheduler: sched.TwoTier, rates: Any, config: Config, workload: Workload) -> TierPolicy | None:
    """What decides, if the loop of two tiers knows what the plugins do with the workload.

    Args:
        scheduler: the plugin in the SchedulerType slot.
        rates: the plugin in the ExecutionType slot.
        config: how to simulate.
        workload: the jobs.
    """
    if type(rates) is not execution.TwoTier or config.preemption.mode != "REQUEUE" or "cpu_use" not in workload.facts:
        return None
    low, width = rates._loss
    # Each job begins twice at most, and in the foreground it progresses at this rate or faster.
    longest = 2 * np.maximum(workload.run, workload.time_limit).sum() / (1.0 - low - width)
    latest = np.abs(workload.submit).max() + longest + 2 * len(workload) * (scheduler._cost + scheduler._counted)
    times = [abs(time) for time in rates.changes]
    return TierPolicy(scheduler, rates) if max([latest, *times]) * MICROSECONDS < LATEST else None


def uses(workload: Workload) -> tuple[Floats, NDArray[np.bool_]]:
    """What a process of each job uses of its processor, all of it where that is unknown; and where it is known."""
    column = workload.facts["cpu_use"]
    known = column != -1 if column.dtype.kind == "i" else column == column
    return np.where(known, column, 1.0).astype(np.float64), known


def tier_made(jobs: int, plain: bool) -> dict[str, Any]:
    """Columns of stays, which are filled in."""
    wholes = dict.fromkeys(("stay_job", "stay_run", "stay_start", "stay_end"), STAYS * jobs)
    made: dict[str, Any] = {name: np.zeros(count, dtype=np.int64) for name, count in wholes.items()}
    made |= {name: np.zeros(STAYS * jobs, dtype=np.int8) for name in ("stay_tier", "stay_came")}
    made |= {"stay_work": np.zeros(STAYS * jobs), "where_of": np.full(STAYS * jobs, -1, dtype=np.int64)}
    return {name: column.tolist() for name, column in made.items()} if plain else made


def tier_room(jobs: int, processors: int, limit: Floats, plain: bool) -> dict[str, Any]:
    """Columns to work in: for each job, for each run and for each processor."""
    runs = min(jobs, 2 * processors) + 1
    room: dict[str, Any] = {}
    for name in ("heap_time", "heap_number", "heap_job", "due", "due_number"):
        # Ends that do not hold any more are left out when there is no more room.
        room[name] = np.zeros(4 * runs, dtype=np.int64)
    for name in ("run_number", "since", "chain", "stay", "ends", "settled", "stalled", "unsettled_jobs", "tried"):
        room[name] = np.zeros(jobs, dtype=np.int64)
    for name in ("tier", "timed", "drawn", "unsettled"):
        room[name] = np.zeros(jobs, dtype=np.int8)
    for name in ("front_next", "back_next", "open_list", "fronts"):
        room[name] = np.zeros(processors, dtype=np.int64)
    room |= {name: np.full(processors, -1, dtype=np.int64) for name in ("front", "back")}
    room |= {name: np.zeros(runs, dtype=np.int64) for name in ("backs", "others")}
    room |= {"rate": np.zeros(jobs), "phi": np.zeros(processors), "running": limit.copy()}
    room |= {"expected_end": np.full(jobs, np.inf)}
    if plain:
        room = {name: column.tolist() for name, column in room.items()}
    for name in ("done", "before"):
        columns = [np.zeros(jobs, dtype=np.int64) for _ in range(DIGITS)]
        room[name] = [column.tolist() for column in columns] if plain else columns
    return room


def stays_of(loop: TierLoop, made: dict[str, Any], order: Ints | None) -> StayTable:
    """The stays that are over."""
    where_of = np.asarray(made["where_of"], dtype=np.int64)[: loop.stays]
    over = np.flatnonzero(where_of >= 0)
    column = {name: np.asarray(values)[: loop.stays][over] for name, values in made.items() if name in COLUMNS}
    where = np.empty(len(loop.where), dtype=object)
    where[:] = loop.where
    job = column["stay_job"]
    return StayTable(
        job if order is None else order[job],
        column["stay_run"],
        column["stay_start"],
        column["stay_end"],
        np.array(NAMES, dtype=object)[column["stay_tier"]],
        where[where_of[over]],
        column["stay_work"],
        np.array(CAME, dtype=object)[column["stay_came"]],
    )


COLUMNS = ("stay_job", "stay_run", "stay_start", "stay_end", "stay_tier", "stay_work", "stay_came")
