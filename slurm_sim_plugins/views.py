"""Read-only views: what a hook is shown of the simulated cluster.

Times and durations are float seconds on the workload's clock. A view is one object,
reused for every call: read it during the call, keep nothing but the jobs. A plugin asks
for a change by its answer; to write to a job or a view is an error. The true run time
of a job is not reachable from here.

:class:`Situation` is the state that the views show. It belongs to whoever runs the
hooks: the emulator, or a test.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import repeat
from math import floor
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, overload

from slurm_sim_plugins.cluster import Association, Partition, Qos, ReadOnly, Request
from slurm_sim_plugins.kernels import have_numba
from slurm_sim_plugins.profile import Profile, RunEntry, earliest_start

if TYPE_CHECKING:
    from slurm_sim_plugins.count_plan import CountPlan
    from slurm_sim_plugins.count_windows import CountWindows
    from slurm_sim_plugins.places import Places
    from slurm_sim_plugins.plan import SchedulePlan, WindowPlan
    from slurm_sim_plugins.tiers import Tiers

_ORDER = attrgetter("_order")
HALF_A_MICROSECOND = 5e-7
_LAST = float("inf")
"""Comes after every number of a start."""

JobFacts = Mapping[str, Sequence[Any] | None]
"""Columns of the workload by name, one value a job, in the order of (submit, id); None for
a column that the workload does not have."""


FIRST_PRIORITY = 4294901759
"""Slurm's priority/basic counts down from here, one for each submission (observation Q8)."""


class JobFields:
    """Storage of :class:`Job`; only whoever owns the situation writes to it.

    A job's order is what the queue is sorted by: the position in (submit, id), or, once a
    priority plugin gave a number, (-number, position).
    """

    __slots__ = (
        "_facts",
        "_order",
        "backfilled",
        "id",
        "index",
        "longest",
        "planned",
        "planned_queue",
        "planned_running",
        "processors",
        "requeues",
        "submit",
        "time_limit",
    )

    def __init__(self, facts: JobFacts, index: int, id: int, submit: float, processors: int, time_limit: float) -> None:
        self._facts = facts
        self._order: Any = index
        self.index = index
        self.id = id
        self.submit = submit
        self.processors = processors
        self.time_limit = time_limit
        self.planned = self.planned_queue = self.planned_running = self.longest = time_limit
        self.requeues = 0
        self.backfilled = False


class Job(JobFields, ReadOnly):
    """A job as a plugin may know it.

    Attributes:
        id: the trace's job id.
        index: position in the simulation's order of (submit, id), from 0.
        submit: when it was submitted first; a requeue does not change it.
        processors: how many it wants.
        time_limit: requested seconds; it is killed there if the run kills at the limit.
        planned: seconds for which schedulers plan its next run, as the walltime plugin
            answered; the limit if there is none. A planned time never kills. Of a job that
            kept progress when it was preempted it is what is left, and with checkpoints or
            suspension their overhead is in it; so it is with the next three.
        planned_queue: the same, for the order of the queue.
        planned_running: the same, for the planned end of its run.
        longest: seconds that its next run can last at most.
        requeues: how often it was sent back to the queue.
        backfilled: whether its last start went ahead of the head of the queue.
    """

    __slots__ = ()

    @property
    def job(self) -> Job:
        """Itself: where a machine has no partitions, the entries of the queue are the jobs."""
        return self

    @property
    def priority(self) -> float:
        """The number that the priority plugin gave last; higher goes first."""
        order = self._order
        return -order[0] if isinstance(order, tuple) else float(FIRST_PRIORITY - order)

    def fact(self, name: str) -> Any:
        """A further column of the workload, such as ``"user"``; None where it is unknown."""
        column = self._facts[name]
        return None if column is None else column[self.index]

    @property
    def user(self) -> Any:
        """Who submitted it, or None."""
        return self.fact("user")

    @property
    def group(self) -> Any:
        """The submitter's group, or None."""
        return self.fact("group")

    @property
    def account(self) -> Any:
        """The account on whose behalf, or the group where none is known."""
        column = self._facts.get("account")
        return self.group if column is None else column[self.index]

    @property
    def shortest(self) -> float:
        """Seconds that its run has at least: for as long as it is planned."""
        return self.planned

    @property
    def reserves(self) -> bool:
        """Whether resources may be kept for it."""
        return True

    @property
    def queue(self) -> Any:
        """The queue that the trace names, or None."""
        return self.fact("queue")

    @property
    def partition(self) -> Any:
        """The partition that the trace names, or None."""
        return self.fact("partition")

    @property
    def predicted(self) -> float | None:
        """A prediction of the run time, in seconds, that came with the workload, or None."""
        value: float | None = self.fact("predicted")
        return value

    @property
    def may_requeue(self) -> bool:
        """Whether it may be sent back to the queue: False where the workload's ``requeue`` is 0."""
        return bool(self.fact("requeue") != 0)

    # What a cluster with partitions and accounts knows further. On a flat machine: nothing, or what follows.

    @property
    def requests(self) -> Sequence[Request]:
        """What it asks for in each of its partitions, in their order; one without a partition where there are none."""
        return (_request(self.processors, self._stated("partition", Partition)),)

    def _stated(self, name: str, kind: type) -> Any:
        """A fact, if it is of a kind: a unit test may give a job a partition, a QOS and an association."""
        found = self._facts[name]
        return found[self.index] if found is not None and isinstance(found[self.index], kind) else None

    @property
    def qos(self) -> Qos | None:
        """Its quality of service, or None."""
        found: Qos | None = self._stated("qos", Qos)
        return found

    @property
    def association(self) -> Association | None:
        """On whose account it is, or None."""
        found: Association | None = self._stated("association", Association)
        return found

    @property
    def queued(self) -> float:
        """When it was submitted or requeued last, in seconds; the first submission where that is not followed."""
        return self.submit

    @property
    def eligible(self) -> float | None:
        """Since when it may be scheduled, in seconds; None while it is held or waits for another job or its time."""
        return self.submit

    @property
    def accrued(self) -> float | None:
        """Since when its age counts (AccrueTime), in seconds; None while it does not."""
        return self.submit

    @property
    def held(self) -> bool:
        """Whether it is on hold."""
        return False

    @property
    def nice(self) -> int:
        """Its nice value, which its priority is lowered by."""
        return 0

    @property
    def site(self) -> int:
        """What an operator adds to its priority (SiteFactor)."""
        return 0

    @property
    def licenses(self) -> Sequence[tuple[str, int]]:
        """Names and counts of the licences that it asks for."""
        return ()

    @property
    def dependencies(self) -> Sequence[int]:
        """Ids of the jobs that it depends on."""
        return ()

    @property
    def array(self) -> int | None:
        """The id of the array that it is a task of, or None."""
        return None

    @property
    def answered(self) -> Sequence[Any]:
        """What the priority plugin answered for it last, one for each of ``requests``; empty where that is not kept."""
        return ()

    @property
    def runs_in(self) -> Partition | None:
        """The partition in which it runs, or None."""
        return self.requests[0].partition

    @property
    def nodes(self) -> int:
        """How many nodes it runs on; its processors where they are only counted."""
        return self.processors

    def outranks(self, other: Job) -> bool:
        """Whether this job goes before ``other``: priority first, then (submit, id)."""
        return bool(self._order < other._order)

    def __repr__(self) -> str:
        return f"<Job {self.id}: {self.processors} processors, limit {self.time_limit:g} s, submitted {self.submit:g}>"


@lru_cache(maxsize=4096)
def _request(processors: int, partition: Partition | None) -> Request:
    """What is asked for where processors are only counted: so many nodes of one CPU."""
    return Request(partition, processors, float(processors), {"CPU": float(processors), "NODE": float(processors)})


def new_jobs(
    facts: JobFacts,
    ids: Sequence[int],
    submit: Sequence[float],
    processors: Sequence[int],
    time_limit: Sequence[float],
) -> list[Job]:
    """Make jobs, in the order of (submit, id). Their storage is filled first and sealed afterwards."""
    jobs = list(map(JobFields, repeat(facts), range(len(ids)), ids, submit, processors, time_limit))
    for job in jobs:
        job.__class__ = Job
    return jobs  # type: ignore[return-value]


class Run(NamedTuple):
    """One run of a job on the machine."""

    planned_end: float
    """When it is planned to end, in seconds; may have passed."""
    sequence: int
    """Starts are numbered through a simulation."""
    processors: int
    start: float
    job: Job

    @property
    def partition(self) -> Partition | None:
        """Its partition, or None."""
        return self.job.runs_in

    @property
    def nodes(self) -> int:
        """How many nodes it has; its processors where they are only counted."""
        return self.job.nodes


class Jobs(Sequence[Job]):
    """A sequence that follows the situation and cannot be changed."""

    __slots__ = ("_items",)

    def __init__(self, items: list[Job]) -> None:
        self._items = items

    @overload
    def __getitem__(self, index: int) -> Job: ...
    @overload
    def __getitem__(self, index: slice) -> list[Job]: ...
    def __getitem__(self, index: int | slice) -> Job | list[Job]:
        return self._items[index]

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[Job]:
        return iter(self._items)

    def __repr__(self) -> str:
        return repr(self._items)


class Runs(Sequence[Run]):
    """The runs of now, by planned end; follows the situation and cannot be changed."""

    __slots__ = ("_entries",)

    def __init__(self, entries: list[RunEntry]) -> None:
        self._entries = entries

    @overload
    def __getitem__(self, index: int) -> Run: ...
    @overload
    def __getitem__(self, index: slice) -> list[Run]: ...
    def __getitem__(self, index: int | slice) -> Run | list[Run]:
        if isinstance(index, slice):
            return [Run._make(entry) for entry in self._entries[index]]
        return Run._make(self._entries[index])

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[Run]:
        return map(Run._make, self._entries)

    def __contains__(self, run: object) -> bool:
        entries = self._entries
        place = bisect_left(entries, run[:2]) if isinstance(run, Run) else len(entries)
        return place < len(entries) and entries[place] == run

    def __repr__(self) -> str:
        return repr(list(self))


class Situation:
    """The cluster at one instant, and what a scheduler sees of it.

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
        newcomers: the jobs queued since the last pass, in the order of their arrival.
        tiers: who is where, if the ExecutionType has tiers; then ``free`` and ``running``
            are those of the first tier. Else None.
        places: who is on which block, if the SelectType gives out blocks; then ``free`` counts
            the processors of no block that is in use. Else None.

    What begins with an underscore is for the owner of the situation: the lists behind
    the three sequences; the answers of the plugin in the BackfillType slot, or None for
    the order of the queue; whether to use the compiled profile; the last question to
    :meth:`SchedulingView.earliest_start` and its answer, None as soon as ``running`` or
    ``free`` has changed; the plan that has to follow starts, or None, and what makes a
    plan; seconds of a run that would be lost, or None if that is all of it.
    """

    __slots__ = (
        "_arrived",
        "_backfill_order",
        "_compiled",
        "_new_plan",
        "_plan",
        "_reservation",
        "_runs",
        "_total",
        "_unsaved",
        "_waiting",
        "changed",
        "free",
        "head",
        "now",
        "places",
        "tiers",
    )

    def __init__(self, total: int, *, now: float = 0.0, compiled: bool = False) -> None:
        self.now = now
        self.free = total
        self.head: Job | None = None
        self.changed = True
        self.tiers: Tiers | None = None
        self.places: Places | None = None
        self._unsaved: Callable[[Run], float] | None = None
        self._total = total
        self._waiting: list[Job] = []
        self._runs: list[RunEntry] = []
        self._arrived: list[Job] = []
        self._backfill_order: Callable[[list[Job]], list[Job]] | None = None
        self._compiled = compiled
        self._reservation: tuple[Job, tuple[float, int]] | None = None
        self._plan: CountPlan | CountWindows | None = None
        from slurm_sim_plugins.count_plan import CountPlan

        self._new_plan: Callable[[Any], SchedulePlan] = CountPlan

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

    @property
    def queue(self) -> Jobs:
        """Waiting jobs, highest priority first."""
        return Jobs(self._waiting)

    @property
    def running(self) -> Runs:
        """Runs of now, ascending by (planned end, sequence)."""
        return Runs(self._runs)

    @property
    def newcomers(self) -> Jobs:
        """The jobs queued since the last pass, in the order of their arrival."""
        return Jobs(self._arrived)


class SchedulingView(Situation):
    """What ``schedule`` sees; always current, also between two decisions of a pass."""

    __slots__ = ()

    counted: ClassVar[bool] = True
    """Whether processors are only counted; False on a cluster with nodes, where :meth:`plan` knows what is free."""

    def plan(self) -> SchedulePlan:
        """The plan of this pass; see :class:`~slurm_sim_plugins.plan.SchedulePlan`."""
        self._plan = None
        return self._new_plan(self)

    def window_plan(
        self,
        resolution: float = 60.0,
        window: float = 86_400.0,
        size: int = 500,
        linear: float = 0.0,
        licenses: bool = False,
    ) -> WindowPlan:
        """A plan in which each entry keeps the first hole that it fits into, as Slurm's backfill does.

        Args:
            resolution: holes are kept in whole steps of so many seconds.
            window: holes later than so many seconds from now are not kept.
            size: times at which a kept hole begins or ends, at most.
            linear: on a cluster with nodes, the growth in seconds of the windows in which ends of
                runs are taken together; 0: they double. Counted processors know no such windows.
            licenses: on a cluster with nodes, whether licences are planned.
        """
        from slurm_sim_plugins.count_windows import CountWindows

        return CountWindows(self, resolution, window, size)

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
        answer = earliest_start(job.processors, self.free, self._runs, self.now)
        self._reservation = (job, answer)
        return answer

    def until(self, time: float) -> float:
        """Seconds from now to ``time`` and half a microsecond: who is planned for no more ends by then.

        Simulated time has whole microseconds, which few floats hold exactly: a sum such as
        ``now + job.planned`` can come out later than the time that it is equal to.
        """
        return time - self.now + HALF_A_MICROSECOND

    def free_at(self, time: float) -> int:
        """Processors that are free at ``time`` if nothing else starts, as planned."""
        return self.free + sum([entry[2] for entry in self._runs[: bisect_right(self._runs, (time, _LAST))]])

    def fair_start(self, job: Job, pinned: bool = False) -> tuple[float, int]:
        """As :meth:`earliest_start`, if all runs that ``job`` outranks, and that may be requeued, made room for it.

        Args:
            job: a waiting job.
            pinned: whether runs that were not backfilled stay, whatever their priority.
        """
        order, some_stay = job._order, job._facts["requeue"] is not None
        keeping = [
            entry
            for entry in self._runs
            if entry[4]._order < order
            or (pinned and not entry[4].backfilled)
            or (some_stay and not entry[4].may_requeue)
        ]
        free = self._total - sum([entry[2] for entry in keeping])
        return earliest_start(job.processors, free, keeping, self.now)

    def candidates(self, retry: bool = True) -> list[Job]:
        """The waiting jobs, but for the head, that fit into what is free now.

        They come in the order of the plugin in the BackfillType slot. What is free
        shrinks with each start; ask again before the next one.

        Args:
            retry: False leaves out who was a candidate in an earlier pass; right for a
                scheduler that would refuse it again (see ``changed``).
        """
        free = self.free
        if not free:
            return []
        fitting = [job for job in (self._waiting if retry else self._arrived) if job.processors <= free]
        if not retry and len(fitting) > 1:
            fitting.sort(key=_ORDER)
        if fitting and fitting[0] is self.head:
            del fitting[0]
        if self._backfill_order is not None and fitting:
            return self._backfill_order(fitting)
        return fitting

    def profile(self) -> Profile:
        """Free processors over time as planned: what runs, until its planned ends."""
        if self._compiled:
            from slurm_sim_plugins.profile_compiled import CompiledProfile

            return CompiledProfile(self.now, self.free, self._runs)
        have_numba("view.profile(), as sched/conservative uses it,")
        return Profile(self.now, self.free, self._runs)


class View(ReadOnly):
    """What every other hook may see.

    Args:
        situation: the state to show; the view follows it.
    """

    __slots__ = ("_situation",)

    _situation: Situation

    def __init__(self, situation: Situation) -> None:
        object.__setattr__(self, "_situation", situation)

    @property
    def now(self) -> float:
        """Simulated time in seconds."""
        return self._situation.now

    @property
    def total(self) -> int:
        """Processors of the machine."""
        return self._situation.total

    @property
    def free(self) -> int:
        """Processors that are idle now."""
        return self._situation.free

    @property
    def head(self) -> Job | None:
        """The waiting job of the highest priority, or None."""
        return self._situation.head

    @property
    def queue(self) -> Jobs:
        """Waiting jobs, highest priority first."""
        return self._situation.queue

    @property
    def running(self) -> Runs:
        """Runs of now, by planned end, then by start; where there are tiers, those of the first."""
        return self._situation.running

    @property
    def tiers(self) -> Tiers | None:
        """Who is where, if the ExecutionType has tiers; else None."""
        return self._situation.tiers

    @property
    def places(self) -> Places | None:
        """Who is on which block, if the SelectType gives out blocks; else None."""
        return self._situation.places

    @property
    def nodes(self) -> int:
        """Nodes of the machine; its processors where they are only counted."""
        return self._situation.nodes


class PriorityView(View):
    """What ``priority_set`` sees."""

    __slots__ = ("to_set",)

    to_set: Sequence[Job]
    """The jobs that want a number, in the order of (submit, id)."""

    def whole(self, time: float) -> float:
        """A time in whole seconds of the cluster's clock, as ages are counted."""
        return self._situation.whole(time)

    def tres(self, partition: Partition | None) -> Mapping[str, float]:
        """What a partition has of each resource, or the machine, by upper-case name."""
        total = float(self.total)
        return {"CPU": total, "NODE": total} if partition is None else partition.tres


class BackfillView(View):
    """What ``backfill_candidates`` sees."""

    __slots__ = ("to_try",)

    to_try: Sequence[Job]
    """The jobs to put in order: they wait behind the head and fit into what is free."""


class PreemptView(View):
    """What ``preempt_candidates`` sees."""

    __slots__ = ("preemptor",)

    counted: ClassVar[bool] = True
    """Whether processors are only counted; False on a cluster with nodes, where it matters which they are."""
    preemptor: Job
    """The waiting job for which room is to be made."""

    @property
    def partition(self) -> Partition | None:
        """The partition in which the preemptor is to start; None where there are none."""
        return self.preemptor.requests[0].partition

    def shares_nodes(self, run: Run) -> bool:
        """Whether a run has nodes of that partition; true where processors are only counted."""
        return True

    def outranked(self, pinned: bool = False) -> list[Run]:
        """The runs of jobs that the preemptor outranks, lowest priority first.

        Args:
            pinned: whether to leave out runs that were not backfilled.
        """
        entries = self._outranked(pinned)
        entries.sort(key=lambda entry: entry[4]._order, reverse=True)
        return [Run._make(entry) for entry in entries]

    def unsaved(self, run: Run) -> float:
        """Seconds since the last complete checkpoint of a run, or since its beginning if it has none.

        0 where nothing is lost: with checkpoints just in time, and with suspension.
        """
        unsaved = self._situation._unsaved
        return self.now - run.start if unsaved is None else unsaved(run)

    def outranked_processors(self, pinned: bool = False) -> int:
        """How many processors those runs hold; cheaper than to name them."""
        return sum([entry[2] for entry in self._outranked(pinned)])

    def _outranked(self, pinned: bool) -> list[RunEntry]:
        order = self.preemptor._order
        entries = self._situation._runs
        if pinned:
            return [entry for entry in entries if entry[4]._order > order and entry[4].backfilled]
        return [entry for entry in entries if entry[4]._order > order]


class VictimView(View):
    """What ``preempt_mode`` and ``preempt_grace`` see."""

    __slots__ = ("victim",)

    victim: Job
    """A job that runs: ``victim.runs_in`` is its partition, ``victim.qos`` its quality of service."""


class SelectView(View):
    """What ``select_nodes`` sees."""

    __slots__ = ("beside", "candidates", "job")

    job: Job
    """The waiting job for which a block is wanted."""
    candidates: Sequence[Run]
    """The runs that may be preempted for it, first to go first; empty if it is to start on what is free."""
    beside: int | None
    """The number of a block of which nothing may be taken; None if there is none."""


class Oracle(ReadOnly):
    """The true run times, for plugins that say ``needs_oracle``.

    Args:
        run_times: seconds of work, by index of the job.
    """

    __slots__ = ("_run_times",)

    _run_times: Sequence[float]

    def __init__(self, run_times: Sequence[float]) -> None:
        object.__setattr__(self, "_run_times", run_times)

    def run_time(self, job: Job) -> float:
        """Seconds that the job would run if nobody killed it."""
        return self._run_times[job.index]


class WalltimeView(View):
    """What ``walltime_submit`` sees."""

    __slots__ = ("job", "oracle")

    job: Job
    """The job that is being submitted; it is not yet in the queue."""
    oracle: Oracle | None
    """True run times, if the plugin's class says ``needs_oracle = True``; else None."""


class PendingView(View):
    """What ``walltime_pending`` sees."""

    __slots__ = ("waiting",)

    waiting: Sequence[Job]
    """The waiting jobs, highest priority first."""
