"""Runs of stock plugins that nothing else looks at, in one compiled loop over columns.

Under the ideal clock, on counted processors, :func:`stock_policy` says whether a run is one of these; then
:class:`StockRun` takes the place of :class:`emulator.engine.simulation.Simulation`, and its records are the same to the
last byte. A plugin counts as stock by its exact class: a copy or a subclass of one is asked through its hooks, by the
general loop, as every other plugin is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from emulator.engine import stock_loop
from emulator.engine.history_columns import has_key, share_history
from emulator.execution.overdue import OVERDUE, TOTALS
from emulator.state.instants import MICROSECONDS, NEVER, instants
from emulator.state.jobs import COMPLETED, FUTURE, PENDING, REJECTED, RUNNING, TIMEOUT, PastRun
from slurm_sim_plugins.backfill.queue_order import QueueOrder
from slurm_sim_plugins.backfill.sjf import Sjf as BackfillSjf
from slurm_sim_plugins.execution.plain import Plain
from slurm_sim_plugins.jobs import FIRST_PRIORITY
from slurm_sim_plugins.preempt.none import NoPreemption
from slurm_sim_plugins.preempt.shadow_load import ShadowLoad
from slurm_sim_plugins.priority.basic import Basic
from slurm_sim_plugins.priority.sjf import Sjf as PrioritySjf
from slurm_sim_plugins.sched.conservative import Conservative
from slurm_sim_plugins.sched.easy import Easy
from slurm_sim_plugins.sched.fcfs import Fcfs
from slurm_sim_plugins.sched.two_tier import TwoTier
from slurm_sim_plugins.sched.venture import Venture
from slurm_sim_plugins.select.count import Count
from slurm_sim_plugins.views import ClusterState
from slurm_sim_plugins.walltime.history import History
from slurm_sim_plugins.walltime.last_model import LastModel
from slurm_sim_plugins.walltime.none import NoAdjustment

if TYPE_CHECKING:
    from emulator.accounting.eventlog import EventLog
    from emulator.accounting.stays import StayTable
    from emulator.config.options import Config
    from emulator.engine.stock_tiers import TierPolicy
    from emulator.workload.workload import Floats, Workload
    from slurm_sim_plugins.manager import Selection

Report = Callable[[int], None]
Ints = NDArray[np.int64]
SCHEDULERS: dict[type, int] = {Fcfs: 0, Easy: 1, Conservative: 2, Venture: 3, TwoTier: 4}
"""The number by which the loop knows each."""
RESERVATIONS = ("recompute", "sticky", "ratchet")
PREDICTORS: dict[type, int] = {NoAdjustment: 0, LastModel: 1, History: 2}
OTHERS = frozenset({Basic, PrioritySjf, QueueOrder, BackfillSjf, NoPreemption, ShadowLoad, Count, *PREDICTORS})
"""What may stand in the other slots."""
LATEST = 2**60
"""Microseconds. Where all that could ever be added up is less, nothing overflows."""
END = 2**63 - 1
"""The instant after the last."""
PORTION = 1 << 15
"""Submissions between two looks whether somebody has pressed Ctrl-C, and two reports of progress."""


@dataclass(frozen=True)
class StockPolicy:
    """What decides in a run of stock plugins.

    Attributes:
        scheduler: its number.
        reservation: index in :data:`RESERVATIONS`.
        by_length: whether the shortest job is the head of the queue.
        shortest_first: whether the shortest job is tried first behind the head.
        learns: index in :data:`PREDICTORS` of what jobs are planned with.
        history: the plugin, if that is ``walltime/history``.
        gives_up: whether a job that outlived its prediction is planned with its limit.
        restart: whether jobs that made room start again in the same pass.
        single_head: whether room is made for one head in a pass.
        tiers: the plugins of KEASY, REASY and MEASY.
    """

    scheduler: int
    reservation: int = 0
    by_length: bool = False
    shortest_first: bool = False
    learns: int = 0
    history: History | None = None
    gives_up: bool = False
    restart: bool = False
    single_head: bool = False
    tiers: TierPolicy | None = None


def stock_policy(selection: Selection, config: Config, workload: Workload, log: EventLog | None) -> StockPolicy | None:
    """What decides, if the run is one for the compiled loop; None if the general one has to make it.

    That is so where a plugin is not stock or there is one more (an observer, a job_submit plugin), where somebody looks
    (an event log, an explanation), where the run is to be made in plain Python or through pluggy, where a run may take
    longer than its work, and where times are so large that sums of them are no 64-bit numbers.
    """
    plugins = {type(plugin): plugin for plugin in selection.plugins.values()}
    scheduler = selection.plugins[selection.slots["SchedulerType"]]
    rates = selection.plugins[selection.slots["ExecutionType"]]
    stock = type(scheduler) in SCHEDULERS and plugins.keys() <= {type(scheduler), type(rates), *OTHERS}
    registered = len(selection.manager.list_name_plugin()) == len(selection.plugins)
    if not (stock and registered) or log is not None:
        return None
    if config.explain or config.compiled is False or config.dispatch != "resolved" or config.preemption.overhead:
        return None
    if not (_options_fit(scheduler, plugins, workload) and _fits(workload)):
        return None
    tiers = None
    if type(scheduler) is TwoTier:
        from emulator.engine.stock_tiers import tier_policy

        tiers = tier_policy(scheduler, rates, config, workload)
    if tiers is None and (type(scheduler) is TwoTier or type(rates) is not Plain):
        return None
    model, history, venture = plugins.get(LastModel), plugins.get(History), plugins.get(Venture)
    return StockPolicy(
        SCHEDULERS[type(scheduler)],
        RESERVATIONS.index(scheduler._kept) if type(scheduler) is Easy else 0,
        PrioritySjf in plugins,
        BackfillSjf in plugins,
        learns=max(PREDICTORS.get(plugin, 0) for plugin in plugins),
        history=history,
        gives_up=model is not None and model._gives_up,
        restart=venture is not None and venture._restart,
        single_head=venture is not None and venture._single_head,
        tiers=tiers,
    )


def _options_fit(scheduler: Any, plugins: dict[type, Any], workload: Workload) -> bool:
    """Whether the loop knows what the plugins do with their options, and beside each other."""
    by_length = PrioritySjf in plugins or BackfillSjf in plugins
    model, history, shadow = plugins.get(LastModel), plugins.get(History), plugins.get(ShadowLoad)
    if history is not None and (by_length or not has_key(history, workload)):
        return False
    if model is not None:
        user = workload.facts.get("user")
        counted = user is None or user.dtype.kind == "i"
        if by_length or model.needs_oracle or model._refresh or not counted:
            return False
    if type(scheduler) is Conservative:
        return shadow is None and bool(scheduler.compress == "rebuild")
    if type(scheduler) is not Venture:
        return shadow is None
    usual = not (scheduler._extra or scheduler._pin_regular)
    all_go = shadow is not None and not (shadow._trim or shadow._pin_regular) and "requeue" not in workload.facts
    return usual and all_go and not by_length


def _fits(workload: Workload) -> bool:
    """Whether there are jobs, and every sum of times is a 64-bit number of microseconds."""
    if not len(workload):
        return False
    longest = np.maximum(workload.run, workload.time_limit)
    latest = float(np.abs(workload.submit).max()) + float(longest.sum()) + float(longest.max())
    return latest * MICROSECONDS < LATEST


class UndecidedError(Exception):
    """A job was preempted so often that it may get nowhere, or some are left; the general loop can tell why."""


class StockRun:
    """One run of a workload under stock plugins, from the empty machine on.

    Args:
        workload: the jobs.
        processors: size of the machine.
        config: how to simulate.
        policy: what decides.
        loop: the module of the loop: as it is imported, or the same as plain Python.
    """

    def __init__(
        self, workload: Workload, processors: int, config: Config, policy: StockPolicy, loop: Any = None
    ) -> None:
        if policy.tiers is not None:
            from emulator.engine import stock_tiers, tier_loop
        loop = loop or (stock_loop if policy.tiers is None else tier_loop)
        self.cluster_state = ClusterState(processors)
        self._plain = str(loop.__file__).endswith(".py")
        self._policy = policy
        self._order = _order(workload, policy)
        self._made = _made(workload, policy, self._order, self._plain)
        self.table = StockTable(workload, self._made, self._order, policy.by_length)
        given = _given(workload, config, policy, self._order)
        numbers = {
            "scheduler": policy.scheduler,
            "reservation": policy.reservation,
            "shortest_first": int(policy.shortest_first or policy.tiers is not None),
            "event": int(config.passes == "event"),
            "overruns": int(policy.learns > 0 or not config.kill_at_limit),
            "expired": list(OVERDUE).index(config.expired),
            "learns": policy.learns,
            "plans_waiting": int(policy.history is not None and policy.history._waiting),
            "plans_running": int(policy.history is not None and policy.history._running),
            "gives_up": int(policy.gives_up),
            "always": int(policy.learns > 0 or policy.scheduler in (SCHEDULERS[Conservative], SCHEDULERS[TwoTier])),
            "voids": int(policy.scheduler in (SCHEDULERS[Venture], SCHEDULERS[TwoTier])),
            "restart": int(policy.restart),
            "single_head": int(policy.single_head),
            "processors": processors,
            "jobs": len(workload),
        }
        self._submits = given["submit"]
        if policy.tiers is not None:
            numbers |= policy.tiers.numbers()
            given |= policy.tiers.given(workload, self._order)
        laid_out = {name: column.tolist() if self._plain else column for name, column in given.items()}
        room = _room(len(workload), processors, policy, int(given["user"].max()) + 1, self._plain)
        history = share_history(policy.history, workload, given["duration"]) if policy.history is not None else None
        if policy.tiers is None:
            self.loop = loop.StockLoop(numbers, laid_out, self._made, room, history)
            return
        self._made |= stock_tiers.tier_made(len(workload), self._plain)
        room |= stock_tiers.tier_room(len(workload), processors, given["limit"], self._plain)
        self.loop = loop.TierLoop(numbers, laid_out, self._made, room, policy.tiers.execution.phis, history)

    def run(self, report: Report | None = None) -> None:
        """Run to the end; ``report`` is called from time to time with how many jobs were submitted."""
        count = len(self._submits)
        while self.loop.arrived < count and not self.loop.often:
            self.advance(int(self._submits[min(self.loop.arrived + PORTION, count - 1)]) + 1)
            if report is not None:
                report(self.loop.arrived)
        self.advance(END)
        if self.loop.often or (self.table.state == PENDING).any() or (self.table.state == RUNNING).any():
            raise UndecidedError
        # The columns that it worked in are as many as those of the records.
        self.passes = self.loop.passes
        self._stays = self._past_stays()
        del self.loop

    def advance(self, until: int) -> None:
        """Run up to an instant (microseconds), but not what happens at it."""
        self.loop.advance(until)
        self.cluster_state.now = self.loop.now / MICROSECONDS
        self.table.past_runs = self.loop.past_runs
        if self._order is not None:
            self.table.past_runs = [(int(self._order[run[0]]), *run[1:]) for run in self.loop.past_runs]

    @property
    def stays(self) -> StayTable | None:
        """Where runs were, if there are tiers; None if there are none."""
        return self._past_stays() if hasattr(self, "loop") else self._stays

    def _past_stays(self) -> StayTable | None:
        if self._policy.tiers is None:
            return None
        from emulator.engine.stock_tiers import stays_of

        return stays_of(self.loop, self._made, self._order)

    def close(self) -> None:
        """There are no circles: all goes with the run itself."""


class StockTable:
    """What has happened to the jobs, as columns; what :func:`emulator.accounting.records.collect` asks for.

    The attributes are those of :class:`emulator.state.jobs.JobTable`, in the order of (submit, id).
    """

    past_blocks: tuple[()] = ()
    blocks = None
    block_names: tuple[()] = ()

    def __init__(self, workload: Workload, made: dict[str, Any], order: Ints | None, by_length: bool) -> None:
        self._workload, self._made, self._order, self._by_length = workload, made, order, by_length
        self.past_runs: list[PastRun] = []
        self.limits: dict[int, float] = {}
        self.refused: dict[int, str] = {}

    def __len__(self) -> int:
        return len(self._workload)

    def __getattr__(self, name: str) -> NDArray[Any]:
        if name not in MADE:
            raise AttributeError(name)
        column = np.asarray(self._made[name], dtype=MADE[name][0])
        if self._order is None:
            return column
        found = np.empty_like(column)
        found[self._order] = column
        return found

    @property
    def submit_at(self) -> list[int]:
        """Submissions, in microseconds."""
        submits: list[int] = instants(self._workload.submit).tolist()
        return submits

    def priorities(self) -> Floats:
        """The numbers that ordered the queue; those of jobs that were not queued are as without a plugin."""
        numbers = float(FIRST_PRIORITY) - np.arange(len(self), dtype=np.float64)
        if not self._by_length:
            return numbers
        state = self.state
        return np.where((state == FUTURE) | (state == REJECTED), numbers, -self._workload.time_limit)


MADE: dict[str, tuple[Any, float]] = {
    "state": (np.int8, FUTURE),
    "start": (np.int64, NEVER),
    "end": (np.int64, NEVER),
    "could_start": (np.int64, NEVER),
    "blocked": (np.int8, 0),
    "backfilled": (np.int8, 0),
    "reserved": (np.float64, float("nan")),
    "first_reserved": (np.float64, float("nan")),
    "requeues": (np.int64, 0),
    "planned": (np.float64, 0),
}
"""The columns that are filled in: their kind, and what is in them in the beginning."""


def _made(workload: Workload, policy: StockPolicy, order: Ints | None, plain: bool) -> dict[str, Any]:
    count = len(workload)
    limit = workload.time_limit if order is None else workload.time_limit[order]
    made: dict[str, Any] = {name: np.full(count, value, dtype=kind) for name, (kind, value) in MADE.items() if value}
    made |= {name: np.zeros(count, dtype=kind) for name, (kind, value) in MADE.items() if not value}
    # Only what is predicted is written there.
    made |= {"planned": limit.copy() if policy.learns else limit, "planned_instants": instants(limit)}
    return {name: column.tolist() for name, column in made.items()} if plain else made


def _room(jobs: int, processors: int, policy: StockPolicy, users: int, plain: bool) -> dict[str, Any]:
    """Columns to work in: for each job that may wait, for each that may run, for each size, and for steps of a plan."""
    runs = min(jobs, processors) + 1
    sizes, steps = (processors + 1, runs + 3 * jobs + 3) if policy.scheduler == SCHEDULERS[Conservative] else (0, 0)
    wholes = dict.fromkeys(("queue", "fresh_jobs"), jobs) | {
        "short_queue": jobs if policy.shortest_first or policy.tiers is not None else 0
    }
    wholes |= dict.fromkeys(("run_job", "heap_time", "heap_number", "heap_job", "due", "late"), runs)
    wholes |= {"known_in": sizes, "step_free": steps}
    preempts = policy.scheduler == SCHEDULERS[Venture]
    # Ends of runs that were preempted are left out when there is no more room.
    wholes |= dict.fromkeys(("heap_time", "heap_number", "heap_job", "due", "due_number"), runs * (1 + preempts))
    wholes |= dict.fromkeys(("run_number", "spared_jobs", "tried", "in_time"), jobs * preempts)
    reals = {"expected_end": jobs * preempts}
    reals |= {"planned_end": jobs, "run_end": runs, "known_length": sizes, "known_start": sizes, "step_time": steps}
    if plain:
        columns: dict[str, Any] = {name: [0] * length for name, length in {**wholes, **reals}.items()}
        flags = {name: [0] * jobs for name in ("fresh", "outlived", "spared", "differs")}
        return columns | flags | {"slot": [float("nan")] * jobs, "accuracy": [1.0] * users}
    return {
        # What is not touched takes no memory; what is read before it is written begins as 0.
        **{name: np.zeros(length, dtype=np.int64) for name, length in wholes.items()},
        **{name: np.zeros(length) for name, length in reals.items()},
        **{name: np.zeros(jobs, dtype=np.int8) for name in ("fresh", "outlived", "spared", "differs")},
        "accuracy": np.ones(users),
        "slot": np.full(jobs if sizes else 0, float("nan")),
    }


def _order(workload: Workload, policy: StockPolicy) -> Ints | None:
    """The jobs in the order of the queue, by their positions in (submit, id); None if it is the same."""
    return np.argsort(workload.time_limit, kind="stable") if policy.by_length else None


def _given(workload: Workload, config: Config, policy: StockPolicy, order: Ints | None) -> dict[str, NDArray[Any]]:
    """The jobs' columns, in the order of the queue."""
    work, limit = instants(workload.run), instants(workload.time_limit)
    killed = limit < work if config.kill_at_limit else np.zeros(len(work), dtype=bool)
    useful = np.where(killed, limit, work)
    columns: dict[str, NDArray[Any]] = {
        "processors": workload.processors,
        "duration": useful,
        "ends_as": np.where(killed, np.int8(TIMEOUT), np.int8(COMPLETED)),
        "at_limit": (killed | (useful == limit)).astype(np.int8),
        "limit": workload.time_limit,
        "limit_instants": limit,
    }
    identity = np.arange(len(work), dtype=np.int64)
    if order is not None:
        columns = {name: np.ascontiguousarray(column[order]) for name, column in columns.items()}
    return {
        **columns,
        "submit": instants(workload.submit),
        "user": _users(workload) if policy.learns == PREDICTORS[LastModel] else np.zeros(1, dtype=np.int64),
        "corrections": np.array(TOTALS, dtype=np.int64),
        "arrivals": identity if order is None else _inverse(order),
    }


def _inverse(order: Ints) -> Ints:
    inverse = np.empty_like(order)
    inverse[order] = np.arange(len(order), dtype=np.int64)
    return inverse


def _users(workload: Workload) -> Ints:
    """A number for the user of each job; jobs without one are those of one user."""
    user = workload.facts.get("user")
    if user is None:
        return np.zeros(len(workload), dtype=np.int64)
    return np.unique(user, return_inverse=True)[1].astype(np.int64)
