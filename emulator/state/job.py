# cython: boundscheck=True, wraparound=True, nonecheck=True
"""A job as the controller knows it; a :mod:`kernel <slurm_sim_plugins.kernels>`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Never

from emulator.limits.acct_policy import Account
from emulator.state.partition import Partition
from emulator.state.run import YEAR, Run, State
from emulator.workload.request import UNLIMITED, JobRequest
from emulator.workload.sbatch import BatchOptions
from slurm_sim_plugins.decisions import Plan
from slurm_sim_plugins.jobs import Job as SeenJob
from slurm_sim_plugins.nodes import Want
from slurm_sim_plugins.plan import Entry

EMPTY: Mapping[str, Never] = {}
"""For all jobs that have nothing of the kind; never to be changed."""
REQUEUED_HELD = "job_requeued_in_held_state"
"""The reason of a job that was requeued to be held."""
LICENSES = "Licenses"
RESOURCES = "Resources"
RESERVED_FOR_HIGHER = "Nodes_required_for_job_are_DOWN,_DRAINED_or_reserved_for_jobs_in_higher_priority_partitions"
NOT_YET_TRIED = frozenset({"None", RESOURCES, RESERVED_FOR_HIGHER})
"""What ``Priority`` replaces where the queue is not followed as far as the job."""


NOTHING: frozenset[str] = frozenset()
MOST_TASKS = 2**31
"""More than an array may have."""


class Job:
    """A job from submission to its end; times in seconds.

    Attributes:
        id: its id.
        came: in which second it came or was requeued last; 0 under the ideal clock. By that jobs of equal priority go.
        first, task: then by these: its id, or that of its array and the index of the task.
        request: what it asked for.
        partitions: where it may run, highest tier first.
        wants: what it needs of the machine in each partition, by name.
        limit: its limit; infinite for none.
        priority: what the priority plugin, the job or an operator gave it; 0 on hold.
        request_class: a number; equal for jobs that ask for the same of the machine.
        plan: with what a walltime plugin plans it, or None.
        priorities: those of a job in several partitions, by name of the partition.
        state: as ``squeue`` shows it.
        not_yet_tried: where it is to be noted while its reason is one of ``NOT_YET_TRIED``, or None.
        eligible: when it became eligible, or None.
        begin: not before this.
        blocked: whether it was the first of a partition that did not fit, for which nodes are kept.
        deadline: it must be over by this; infinite for none.
        site: what an operator adds to its priority (``SiteFactor``).
        lift: what ``scontrol top`` gave to its priority or took from it.
        restarts: how often it was requeued.
        held_by: ``JobHeldUser`` or ``JobHeldAdmin`` while on hold.
        run: the current run, or None.
        runs: all runs.
        planned_start: when backfill means to start it, or None.
        made_way: when others were last preempted for it, or None.
        left: seconds that its run has still to go, as of ``work_since``.
        saved: microseconds of its work that it has not to do again.
        worked: seconds of work that its runs have done and that were not lost, if the last one saves its work.
        account: on whose account it is, or None.
        answer: what the priority plugin answered for it last, in each of its partitions, or the column that has it.
        place: in that column.
        row: in which the priority plugin keeps its facts; -1 for none.
        seen: itself as plugins see it, or None if none has looked yet, or it is over.
        fixed_priority: whether it was given its priority.
        lifted: bounds of partitions that its quality of service lifts, as its flags name them.
        barred: why it may not use partitions, by their names.
        unfit: in which words it is refused, for no nodes could ever hold it; empty if they could.
        entries: itself in each of its partitions, as schedulers see it while it waits.
        limit_of_operator: whether an operator gave it its limit, which partitions and accounts do not bound then.
        counted_cpus: with how many CPUs its priority counts it; 0 for as many as it asks for.
        planned_cpus: with how many its next number will, for it was planned or has run.
        graced: whether it was given a grace time, and has not ended by itself since: Slurm takes that for preemption.
        least_nodes: how many it wanted at least before MinNodes was updated; 0 if that was not.
        counted: how a plan of counted nodes was last asked about it, or None.
        drawn: the name of the reservation that draws it, or the one of several that it names, in which it is tried now,
            or runs; empty for none.
    """

    __slots__ = (
        *("_accrue", "_nice", "_reason", "_site", "account", "answer", "barred", "begin", "blocked", "came", "counted"),
        *("counted_cpus", "deadline", "drawn", "eligible", "end_limit", "entries", "first"),
        *("fixed_priority", "graced", "held_by", "hold_after", "id", "least_nodes", "left", "lift", "lifted", "limit"),
        *("limit_of_operator", "made_way", "not_yet_tried", "partitions", "place", "plan", "planned_cpus"),
        *("planned_start", "priorities", "priority"),
        *("request", "request_class", "requeue_after", "restarts", "row", "run", "runs", "saved", "seen", "sequence"),
        *("state", "submitted", "suspended_by_operator", "task", "time_min", "unfit", "vacating", "wants"),
        *("work_since", "worked"),
    )

    def __init__(
        self,
        request: JobRequest,
        partitions: Sequence[Partition],
        wants: Mapping[str, Want],
        limit: float,
        time_min: float | None,
        request_class: int = -1,
        plan: Plan | None = None,
        submitted: float = 0.0,
        lifted: frozenset[str] = NOTHING,
        barred: Mapping[str, str] = EMPTY,
    ) -> None:
        self.id: int = request.id
        self.came: float = 0.0
        self.first, self.task = (request.id, 0) if request.array is None else (request.array, request.task)
        self.request, self.partitions, self.wants = request, partitions, wants
        self.limit, self.time_min, self.request_class, self.plan = limit, time_min, request_class, plan
        self.submitted, self.lifted, self.barred = submitted, lifted, barred
        self.priority: float = 0
        self.priorities: Mapping[str, float] = EMPTY
        self.seen: SeenJob | None = None
        self.answer: Any = ()
        self.row = self.place = -1
        self._nice, self._site = request.options.nice, 0
        self.lift: float = 0
        self.state = State.PENDING
        self.not_yet_tried: dict[int, Job] | None = None
        self._reason = "None"
        self.eligible: float | None = None
        self._accrue: float | None = None
        self.begin, self.deadline, self.blocked = 0.0, UNLIMITED, False
        self.restarts = 0
        self.held_by, self.fixed_priority, self.unfit = "", False, ""
        self.run: Run | None = None
        self.runs: list[Run] = []
        self.planned_start: float | None = None
        self.left = self.work_since = self.worked = 0.0
        self.saved = self.sequence = 0
        self.requeue_after = self.hold_after = self.suspended_by_operator = self.vacating = self.graced = False
        self.end_limit = UNLIMITED
        self.account: Account | None = None
        self.entries: tuple[Entry, ...] = ()
        self.counted: Any = None
        self.counted_cpus = self.planned_cpus = 0.0
        self.limit_of_operator = False
        self.made_way: float | None = None
        self.drawn = ""
        self.least_nodes = 0

    @property
    def waits_with_others(self) -> bool:
        """Whether it shares a record with the other tasks of its array that wait: none of its own yet."""
        of_array = self.request.array is not None and self.state is State.PENDING
        return of_array and not self.runs and self.task >= 0

    def split_off(self) -> None:
        """As a task of an array it gets a record of its own: of equal numbers that goes before that of the others."""
        if self.waits_with_others:
            self.task = self.request.task - MOST_TASKS

    def came_in(self, second: float) -> None:
        """It came, or was requeued, in a second: of equal priority those before it go first."""
        self.came = second

    @property
    def tie_break(self) -> tuple[float, int, int]:
        """Its order among those of equal priority."""
        return self.came, self.first, self.task

    @property
    def reason(self) -> str:
        """Why it waits, or ended as it did, as ``squeue`` shows it."""
        return self._reason

    @reason.setter
    def reason(self, reason: str) -> None:
        self._reason = reason
        if self.not_yet_tried is None:
            return
        if reason in NOT_YET_TRIED:
            self.not_yet_tried[self.id] = self
        else:
            self.not_yet_tried.pop(self.id, None)

    @property
    def nice(self) -> int:
        """What its priority is lowered by."""
        return self._nice

    @nice.setter
    def nice(self, nice: int) -> None:
        self._nice = nice
        self.row = -1

    @property
    def site(self) -> int:
        """The number of the plugin in the SiteFactor slot."""
        return self._site

    @site.setter
    def site(self, site: int) -> None:
        if site != self._site:
            self._site = site
            self.row = -1

    @property
    def accrue(self) -> float | None:
        """From when on its age counts, or None."""
        return self._accrue

    @accrue.setter
    def accrue(self, since: float | None) -> None:
        self._accrue = since
        self.row = -1

    @property
    def options(self) -> BatchOptions:
        """What it asks for."""
        return self.request.options

    @property
    def reservation(self) -> str:
        """The name of the reservation that it asks for, or that draws it; empty for none.

        Of several that it asks for it is the one in which it is tried, or runs, or all of them.
        """
        return self.drawn or self.request.options.reservation

    @property
    def names_several(self) -> bool:
        """Whether it asks for several reservations: it is tried in each of them, and nowhere else."""
        return self.request.options.names_several

    @property
    def reservations(self) -> list[str]:
        """Names of the reservations that it asks for."""
        asked = self.request.options.reservation
        return asked.split(",") if asked else []

    @property
    def name(self) -> str:
        """Its name."""
        return self.request.name

    @property
    def last_start(self) -> float:
        """When it must have started to be over by its deadline: with its least limit, or a minute if it has none.

        One that states no limit has its partition's ``DefaultTime`` (recorded).
        """
        return self.deadline - (self.time_min if self.time_min is not None else self.limit if self.has_limit else 60.0)

    @property
    def named_first(self) -> Partition:
        """The partition that it names first, of those that it has: its ``DefaultTime`` counts in all (recorded)."""
        names = self.options.partitions
        if len(self.partitions) == 1 or not names:
            return self.partitions[0]
        places = {name: place for place, name in reversed(tuple(enumerate(names)))}
        return min(self.partitions, key=lambda one: places.get(one.name, len(names)))

    @property
    def has_limit(self) -> bool:
        """Whether it states a limit; the DefaultTime of the partition that it names first counts as one (recorded)."""
        return self.options.time_limit is not None or self.named_first.default_time is not None

    def cut_at_deadline(self, now: float) -> None:
        """It starts: one that states no limit, or a least one, gets the whole minutes up to its deadline (K2)."""
        if self.deadline < UNLIMITED and (self.options.time_limit is None or self.time_min is not None):
            self.limit = min(self.limit, (self.deadline - now) // 60.0 * 60.0)

    def number_in(self, partition: str) -> float:
        """The number that orders the queue of a partition."""
        return self.priorities.get(partition, self.priority) if len(self.partitions) > 1 else self.priority

    @property
    def on_hold(self) -> bool:
        """Whether it is on hold, or was given the priority 0, which is the same."""
        return bool(self.held_by) or (self.fixed_priority and not self.priority)

    def hold(self, why: str) -> None:
        """Put it on hold while it waits."""
        self.held_by, self.priority, self.eligible = why, 0, None

    def shift(self, amount: float) -> None:
        """Raise its priority, but not below 1 if it is not there."""
        self.priority = max(min(1, self.priority), self.priority + amount)
        self.priorities = {name: max(min(1, each), each + amount) for name, each in self.priorities.items()}

    @property
    def writes(self) -> bool:
        """Whether it writes a checkpoint, for it is preempted."""
        return self.state is State.COMPLETING and self.run is not None and self.run.end is None

    @property
    def is_cleared(self) -> bool:
        """Whether it has ended, and its nodes are being cleared of it."""
        return self.state is State.COMPLETING and self.run is not None and self.run.end is not None

    @property
    def over(self) -> bool:
        """Whether it has left for good."""
        return self.state not in (State.PENDING, State.RUNNING, State.SUSPENDED, State.COMPLETING)

    @property
    def below_threshold(self) -> bool:
        """Whether it has less priority than what resources are kept for (``MinPrioThreshold``)."""
        least = 0.0 if self.account is None else self.account.least_priority
        return bool(least) and self.priority < least

    @property
    def reserves_nothing(self) -> bool:
        """Whether its quality of service says ``NoReserve``, or it has not the priority to keep resources."""
        quality = self.account.quality if self.account is not None else None
        return (quality is not None and "NORESERVE" in quality.flags) or self.below_threshold

    @property
    def tries_a_minute(self) -> bool:
        """Whether backfill asks where it has room for a minute, though it may run for longer."""
        quality = self.account.quality if self.account is not None else None
        return quality is not None and quality.tries_a_minute

    @property
    def shortest(self) -> float:
        """For how long backfill plans it: its least limit, but by its own where it has a deadline (recorded)."""
        if self.tries_a_minute:
            return 60.0
        return self.plan_limit if self.time_min is None or self.deadline < UNLIMITED else self.time_min

    @property
    def granted(self) -> float:
        """For how long it may run that backfill starts."""
        return self.plan_limit if self.tries_a_minute else self.shortest

    @property
    def plan_limit(self) -> float:
        """The length to plan with: the limit, for which a year stands if there is none; less if a plugin says so."""
        limit = self.limit if self.limit < YEAR else YEAR
        return limit if self.plan is None else min(self.plan.waiting, limit)
