"""The plugin in the SchedulerType slot, on a cluster: runs its loops, checks and carries out its decisions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from numbers import Real
from types import GeneratorType
from typing import TYPE_CHECKING, Any, NoReturn

from emulator.hooks import FAILURES, Hooks, line_of
from emulator.livelock import IdleWakes
from emulator.scheduling.alike import entries_of, plan_alike
from emulator.scheduling.controls import Controls
from emulator.scheduling.counted_nodes import CountedNodes
from emulator.scheduling.entries import first_of_record, still_waits
from emulator.scheduling.job_mgr import partition_reason
from emulator.scheduling.job_scheduler import schedule
from emulator.scheduling.policies import Policies
from emulator.scheduling.preempt import candidates, make_way, overlaps, preempt_mode, victims
from emulator.scheduling.windows import Habits, Windows, kind_of
from emulator.state.cluster import Cluster
from emulator.state.job import Job
from emulator.state.kept import Slots
from emulator.state.partition import Partition
from emulator.state.run import YEAR, State
from slurm_sim_plugins import answers
from slurm_sim_plugins.cluster import ReadOnly
from slurm_sim_plugins.decisions import FIRST_TIER, MakeRoom, Move, Pause, Preempt, Reserve, Start, Wake
from slurm_sim_plugins.errors import ConfigurationError
from slurm_sim_plugins.jobs import Job as SeenJob
from slurm_sim_plugins.jobs import Jobs, Runs
from slurm_sim_plugins.nodes import Mask
from slurm_sim_plugins.plan import Entry, Place
from slurm_sim_plugins.profile import HALF_A_MICROSECOND
from slurm_sim_plugins.renamed import OldName

if TYPE_CHECKING:
    from emulator.scheduling.node_plan import NodePlan

COUNTED = frozenset(
    {
        "free",
        "head",
        "earliest_start",
        "fitting",
        "free_at",
        "fair_start",
        "overtaking",
        "profile",
        "tiers",
        "block_state",
    }
)
"""What a view of counted processors has, and one of a cluster has not."""
PATIENCE = 10_000
"""Decisions other than starts, over two for each entry of the queue, before a pass counts as stuck."""


NOTHING_KEPT = Slots(0)


class ClusterEntry(Entry):
    """An entry of the controller's queue.

    Args:
        job: the job.
        partition: one of its partitions.
        policies: jobs as plugins see them.
        tried_in: the name of the reservation that draws it, or of one of several that it names; empty for none.
    """

    __slots__ = ("_policies", "_tried_in")

    _pair: tuple[Job, Partition]

    def __init__(self, job: Job, partition: Partition, policies: Policies, tried_in: str = "") -> None:
        self._pair = job, partition
        self._kind = None if tried_in else kind_of(job, partition)
        self._tried_in, self.drawn_by = tried_in, "" if job.options.reservation else tried_in
        self._policies = policies
        self.id, self.partition = job.id, partition.name
        self.user, self.account = job.request.user, job.options.account
        self.array, self.het_job_id = job.request.array, job.request.het_job_id
        self.submit = job.submitted

    @property
    def job(self) -> SeenJob:
        """The job."""
        return self._policies.seen_as(self._pair[0])

    @property
    def priority(self) -> float:
        """The number that orders the queue; higher goes first."""
        return self._pair[0].priority

    @property
    def planned(self) -> float:
        """Seconds for which its run is planned."""
        return self._pair[0].plan_limit

    @property
    def shortest(self) -> float:
        """Seconds that its run has at least."""
        return self._pair[0].shortest

    @property
    def reserves(self) -> bool:
        """Whether resources may be kept for it."""
        return not self._pair[0].reserves_nothing


class ClusterView(ReadOnly):
    """What a scheduler sees of a cluster with nodes and partitions; always current.

    Free resources are not a number there: ``view.plan()`` says what can start.
    """

    __slots__ = ("_scheduler",)

    _scheduler: PluginScheduler

    counted = False
    """Processors are not only counted here."""
    new_jobs: Sequence[Any] = ()
    """Not followed here."""
    newcomers = OldName("new_jobs")

    def __init__(self, scheduler: PluginScheduler) -> None:
        object.__setattr__(self, "_scheduler", scheduler)

    @property
    def now(self) -> float:
        """Simulated time in seconds."""
        return self._scheduler.cluster.now

    @property
    def changed(self) -> bool:
        """Whether other jobs may start than those that were submitted since the last pass."""
        return self._scheduler.submitted is None

    @property
    def job_test_time(self) -> float:
        """Seconds that a look at a job takes; 0 where decisions take no time."""
        return self._scheduler.job_test_time

    @property
    def total(self) -> int:
        """CPUs of the cluster."""
        return int(self._scheduler.cluster.machine.cpus.sum())

    @property
    def queue(self) -> list[Entry]:
        """Entries of the waiting jobs that may be scheduled: by tier of the partition, then by priority."""
        return self._scheduler.queue()

    @property
    def running(self) -> Runs:
        """Runs of now, by planned end."""
        return self._scheduler.policies.running

    @property
    def waiting(self) -> Jobs:
        """Waiting jobs, also those that may not be scheduled yet."""
        return self._scheduler.policies.waiting

    def reason(self, job: SeenJob) -> str:
        """Why a job waits, in the words of ``squeue``, as the last pass left it."""
        return self._scheduler.policies.cluster_state.reason(job)

    def until(self, time: float) -> float:
        """Seconds from now to ``time`` and half a microsecond: what is planned for no more ends by then."""
        return time - self.now + HALF_A_MICROSECOND

    def plan(self) -> NodePlan:
        """The plan of this pass; see :class:`~slurm_sim_plugins.plan.SchedulePlan`."""
        return self._scheduler.plan()

    def window_plan(
        self,
        resolution: float = 60.0,
        window: float = 86_400.0,
        size: int = 500,
        linear: float = 0.0,
        licenses: bool = False,
        busy_nodes: bool = False,
    ) -> Windows:
        """A plan that keeps nodes; see :meth:`~slurm_sim_plugins.views.SchedulingView.window_plan`."""
        return self._scheduler.windows(Habits(resolution, window, size, linear, licenses, busy_nodes))

    def candidates(self, retry: bool = True) -> list[Entry]:
        """The entries that were promised nothing, in the order of the plugin in the BackfillType slot.

        Args:
            retry: False leaves out those that were candidates in an earlier pass.
        """
        return self._scheduler.candidates(retry)

    def __getattr__(self, name: str) -> NoReturn:
        if name in COUNTED:
            raise AttributeError(
                f"view.{name} is for machines whose processors are only counted; on a cluster with nodes and "
                "partitions ask view.plan(): plan.now(entry), plan.promise(entry)"
            )
        raise AttributeError(f"a view of a cluster has no {name!r}")


@dataclass(slots=True)
class Room:
    """Nodes that are being cleared for a job.

    Attributes:
        job: for which.
        nodes: which it is to have.
        victims: jobs that leave them, for whichever preemptor.
        hook: which loop asked for it.
    """

    job: Job
    nodes: Mask
    victims: list[Job]
    hook: str


@dataclass(slots=True)
class Paused:
    """A cycle of backfill that goes on later.

    Attributes:
        seconds: when, from its pause on.
        decisions: of the plugin.
        plans: its plans.
        cleared: nodes that were cleared for jobs before it began.
    """

    seconds: float
    decisions: Any
    plans: list[Windows]
    cleared: list[Room]


class PluginScheduler:
    """Runs a scheduler plugin on a cluster.

    Args:
        cluster: the cluster state.
        controls: the controller.
        hooks: the scheduler's hooks among them.
        policies: jobs as plugins see them.
        wake_at: has another pass made at a time.
        to_come: says whether submissions or commands are to come.
        job_test_time: seconds that a look at a job takes; 0 where decisions take no time.

    Attributes:
        submitted: the jobs that alone may start in this pass; None if any may.
    """

    def __init__(
        self,
        cluster: Cluster,
        controls: Controls,
        hooks: Hooks,
        policies: Policies,
        wake_at: Callable[..., None],
        to_come: Callable[[], bool],
        job_test_time: float = 0.0,
    ) -> None:
        if job_test_time and hooks.schedule is not None and hooks.backfill is None:
            raise ConfigurationError(
                "operation.job_test_time: goes with Slurm's main loop or a plugin with the hook backfill; passes of "
                "this scheduler take no time"
            )
        self.job_test_time = job_test_time
        self._paused: Paused | None = None
        self.cluster = cluster
        self.policies = policies
        self._controls = controls
        self._hooks = hooks
        self._wake_at = wake_at
        self._to_come = to_come
        self._idle = IdleWakes()
        self._view = ClusterView(self)
        self._counts = CountedNodes(cluster, controls)
        self._rooms: dict[int, Room] = {}
        self._het_jobs: set[int] = set()
        self._arrays_make_way: set[int] = set()
        self._hook = ""
        self._plan: NodePlan | None = None
        self._plans: list[NodePlan | Windows] = []
        self._decisions: Any = None
        self.submitted: list[Job] | None = None
        steady = policies.period is None and not policies.plans and hooks.walltime_pending is None
        self._starts_only = hooks.only_starts and steady and not policies.names_victims

    def reconfigure(self) -> None:
        """Nodes and partitions are others: nodes of other partitions may be counted, and a cycle that paused ends."""
        if self._paused is not None:
            self._paused.decisions.close()
        self._counts.close()
        self._counts = CountedNodes(self.cluster, self._controls)

    @property
    def has_main_loop(self) -> bool:
        """Whether the plugin makes the passes of the main loop."""
        return self._hooks.schedule is not None

    def run(self, submitted: Sequence[Job] | None = None, full: bool = False) -> bool:
        """Make a pass of the main loop: the plugin's, or Slurm's if it has none.

        Args:
            submitted: the jobs that were submitted since the last pass, if nothing else has happened.
            full: whether Slurm's goes over the whole queue.

        Returns:
            Whether Slurm's left out no job.
        """
        if self._hooks.schedule is None:
            return schedule(self.cluster, self._controls, full, self.job_test_time)
        if not self.cluster.order:
            return True
        self.submitted = self._fitting(submitted) if submitted is not None and self._starts_only else None
        if self.submitted is None or self.submitted:
            self._make_pass("schedule", self._hooks.schedule)
        for job in list(self.cluster.not_yet_tried.values()):
            if job.reason == "None" and job.eligible is not None:
                job.reason = "Priority"
        return True

    def _fitting(self, submitted: Sequence[Job]) -> list[Job] | None:
        """Of the jobs that were submitted those that fit, where no other can start; None if others may.

        A scheduler that does nothing but start what fits refuses again what it refused before, as long as
        nodes are counted, no job went ahead of the first of a partition, and all runs are planned as before.
        """
        cluster = self.cluster
        idle = self._counts.idle() if cluster.accounting is None and not self._rooms else None
        if idle is None:
            return None
        first: dict[str, Job] = {}
        for _, job, partition in cluster.order:
            # A job that its partition keeps waiting is not the one that is promised a start.
            if partition.name not in first and partition_reason(job, partition) is None:
                first[partition.name] = job
                if len(first) == len(idle):
                    break
        if not set(first.values()).isdisjoint(submitted):
            return None
        where = [(job, job.partitions[0]) for job in submitted if job.eligible is not None]
        return [job for job, partition in where if self._counts.need(job, partition) <= idle[partition.name]]

    def backfill(self, changed: bool = False) -> None:
        """Make a cycle of the plugin's backfill, or go on with one that has paused.

        Args:
            changed: whether anything has happened since it paused.
        """
        assert self._hooks.backfill is not None
        before = self.cluster.planned
        kept = NOTHING_KEPT if before is not None else None
        if self._paused is not None:
            kept = self._go_on(changed) or kept
        elif self.cluster.order:
            kept = self._make_pass("backfill", self._hooks.backfill) or kept
        if self._paused is None:
            self.cluster.planned = kept
            if before is not None and before is not kept and self.cluster.compiled is not None:
                self.cluster.compiled.take_back(before)

    def _make_pass(self, name: str, hook: Callable[[Any], Any]) -> Slots | None:
        """Carry out what a loop decides; what it kept for jobs, if it kept anything."""
        self._hook, self._plan, self._plans = name, None, []
        self._arrays_make_way.clear()
        self._decisions = None
        return self._go_round(self._cleared(), None, hook)

    def _go_on(self, changed: bool) -> Slots | None:
        """Go on with a cycle that has paused; ``changed``: whether anything has happened since."""
        assert self._paused is not None
        paused, self._paused = self._paused, None
        self._hook, self._plan, self._plans = "backfill", None, list(paused.plans)
        self._decisions = paused.decisions
        for plan in paused.plans:
            plan.preempted()
        return self._go_round(paused.cleared, changed)

    def _go_round(
        self, cleared: list[Room], answer: bool | None, hook: Callable[[Any], Any] | None = None
    ) -> Slots | None:
        """Carry out decisions until there are no more, or until a cycle pauses.

        Args:
            cleared: nodes that were cleared for jobs before.
            answer: to the last decision.
            hook: makes the decisions, where they do not go on.
        """
        name = self._hook
        fruitless, patience = 0, PATIENCE + 2 * len(self.cluster.waiting)
        try:
            if hook is not None:
                self._decisions = self._generator(hook)
            decisions = self._decisions
            while True:
                decision = decisions.send(answer)
                if type(decision) is Pause:
                    answer = False
                    if self._pauses(decision, cleared):
                        return None
                    continue
                answer = self._carry_out(decision)
                fruitless = 0 if isinstance(decision, Start) else fruitless + 1
                if fruitless > patience:
                    self._refuse(f"the pass makes no progress: {fruitless} decisions that start nothing, and no end")
        except StopIteration as over:
            if over.value is not None:
                self._refuse(answers.returned(over.value).message)
        except FAILURES as error:
            self._hooks.fail(name, error, time=self.cluster.now)
        kept = [plan.slots for plan in self._plans if isinstance(plan, Windows)] if name == "backfill" else []
        self._plan, self._plans = None, []
        self.cluster.release_drawn()
        self._check_het_jobs()
        for room in cleared:
            # It was cleared, and the scheduler did not use it.
            self._rooms.pop(room.job.id, None)
        return kept[-1] if kept else None

    def _pauses(self, decision: Pause, cleared: list[Room]) -> bool:
        """Leave a cycle that goes on later; False where decisions take no time."""
        try:
            seconds = answers.pause(decision, self._hook)
        except answers.Refused as refused:
            self._refuse(refused.message)
        plans = [plan for plan in self._plans if isinstance(plan, Windows)]
        if len(plans) < len(self._plans):
            self._refuse("Pause: a cycle with view.plan() takes no time; ask for view.window_plan()")
        if not self.job_test_time:
            return False
        self.cluster.release_drawn()
        self._paused = Paused(seconds, self._decisions, plans, cleared)
        self._plan, self._plans = None, []
        return True

    @property
    def pause(self) -> float | None:
        """For how many seconds a cycle of backfill pauses; None if none has begun that is not over."""
        return None if self._paused is None else self._paused.seconds

    def queue(self) -> list[Entry]:
        """Entries of the queue, in Slurm's order; those in reservations that draw jobs are left to backfill."""
        pairs = self.cluster.order.pairs()
        if self.cluster.order.draws and self._hook != "backfill":
            pairs = [pair for pair in pairs if not self.cluster.order.drawn_by(pair)]
        return entries_of(pairs, self._entries_of)

    def entries(self) -> Iterator[Entry]:
        """Those that still wait, each looked at when its turn comes."""
        for index, job, _ in self.cluster.order.pairs():
            if still_waits(job, self.cluster) and index < len(job.partitions):
                yield (job.entries or self._entries_of(job))[index]

    def _submitted(self) -> Iterator[Entry]:
        """The entries of the jobs that alone may start in this pass."""
        order = self.cluster.order
        for job in sorted(self.submitted or (), key=lambda job: tuple(order.ranks(job))):
            if still_waits(job, self.cluster) and not job.names_several:
                yield from (job.entries or self._entries_of(job))[: len(job.partitions)]

    def _entries_of(self, job: Job) -> tuple[Entry, ...]:
        names = ("", *self.cluster.order.magnets_of(job))
        job.entries = tuple(
            ClusterEntry(job, partition, self.policies, name) for name in names for partition in job.partitions
        )
        return job.entries

    def plan(self) -> NodePlan:
        """The plan of this pass: one, however often it is asked for."""
        if self._plan is None:
            from emulator.scheduling.node_plan import NodePlan  # its kernels are loaded as they are used

            self._plan = NodePlan(self.cluster, self._controls, self._counts, self.entries, self._kept())
            self._plans.append(self._plan)
        return self._plan

    def windows(self, habits: Habits) -> Windows:
        """A plan that keeps nodes, without anything kept."""
        plan = windows(self.cluster, self._controls, habits)
        for nodes in self._kept().values():
            plan.slots.add(self.cluster.now, self.cluster.now + YEAR, nodes.nonzero()[0].tolist())
        self._plans.append(plan)
        return plan

    def candidates(self, retry: bool) -> list[Entry]:
        """Entries without a promise, as the plugin in the BackfillType slot orders them."""
        promised, cluster = self.plan().promised, self.cluster
        # The queue is that of now: all of it waits, but for tasks of an array at its limit.
        entries = self.queue() if retry else self._submitted()
        found = [entry for entry in entries if entry not in promised]
        if cluster.tasks:
            found = [entry for entry in found if still_waits(entry._pair[0], cluster)]
        return self.policies.in_backfill_order(found) if found else found

    def started(self, job: Job) -> None:
        """A job has started."""
        self._rooms.pop(job.id, None)
        job.entries = ()
        for plan in self._plans if self._paused is None else (*self._plans, *self._paused.plans):
            plan.started(job)

    def forget_rooms(self) -> None:
        """No run makes room for any job: what was preempted goes on."""
        self._rooms.clear()

    # Decisions

    def _generator(self, hook: Callable[[Any], Any]) -> Any:
        decisions = hook(self._view)
        if decisions is None:
            return _nothing()
        if type(decisions) is not GeneratorType:
            self._refuse(answers.no_generator(decisions).message)
        return decisions

    def _carry_out(self, decision: object) -> bool | None:
        if isinstance(decision, Reserve):
            self._reserve(decision)
        elif isinstance(decision, Start):
            self._start(decision)
        elif isinstance(decision, MakeRoom):
            return self._make_room(decision)
        elif isinstance(decision, Wake):
            self._wake(decision)
        elif isinstance(decision, Preempt):
            self._preempt(decision)
        elif isinstance(decision, Move):
            self._refuse("Move: there are no tiers here; tiers are for counted processors", decision.job)
        else:
            self._refuse(answers.no_decision(decision).message)
        return None

    def _start(self, decision: Start) -> None:
        job, partition = self._waiting(decision.job, "Start")
        where: Any = decision.where
        if not isinstance(decision.reason, str):
            self._refuse(
                f"Start: reason={answers.short(decision.reason)} is no text; say where=, if that is meant", job
            )
        if decision.tier != FIRST_TIER or decision.setup:
            self._refuse("Start: tier and setup are for an ExecutionType with tiers; this one has none", job)
        if where is None or where is not self._known(where, decision.job, "Start").last_place:
            plan: NodePlan | Windows = self.plan() if where is None else where._plan
            answer = plan.again(decision.job, where)  # type: ignore[arg-type]
            where = answer.place
            if where is None:
                self._refuse(
                    f"Start: it cannot start in partition {partition.name} now: {answer.reason}; "
                    "start what plan.now(entry) gives a place",
                    job,
                )
        limit, ahead = where._limit, False
        if self._hook == "schedule":
            ahead = self.plan().overtakes(job, partition)
        else:
            limit = job.granted if limit is None else limit
            job = first_of_record(job, self.cluster)
        self._controls.start(job, partition, where._allocation, limit, where._row, decision.reason, ahead)
        if job.request.het_job_id is not None:
            self._het_jobs.add(job.request.het_job_id)

    def _check_het_jobs(self) -> None:
        """Of a heterogeneous job of which a pass started a component it has to start all."""
        begun, self._het_jobs = self._het_jobs, set()
        for number in sorted(begun):
            waits = [job for job in self.cluster.het_jobs[number] if job.state is State.PENDING]
            if waits:
                numbers = ", ".join(str(job.id) for job in waits)
                self._refuse(
                    f"Start: of heterogeneous job {number} it started components without {numbers}; start all in one "
                    "pass, where plan.together(entries) says",
                    waits[0],
                )

    def _known(self, where: Any, entry: object, what: str) -> NodePlan | Windows:
        """The plan of this pass that gave a place to an entry."""
        if not isinstance(where, Place):
            self._refuse(f"{what}: where={where!r} is no place; give plan.now(entry).place", entry)
        mine = any(where._plan is plan for plan in self._plans)
        if not mine or where._entry is not entry:
            whose = "another entry" if mine else "an earlier pass"
            self._refuse(f"{what}: its place is that of {whose}; ask plan.now(entry) for one in this pass", entry)
        return where._plan  # type: ignore[no-any-return]

    def _reserve(self, decision: Reserve) -> None:
        entries, times, done = decision.job, decision.time, 0
        if isinstance(entries, ClusterEntry) or not isinstance(entries, Sequence):
            self._reserve_one(entries, times)
            return
        if isinstance(entries, list) and isinstance(times, list) and len(entries) == len(times):
            planned = self.policies.cpus_planned if self.policies.counts_cpus else None
            done = plan_alike(entries, times, self.cluster.now, ClusterEntry, planned)
        # What is not as it mostly is: to be refused, or no time at all.
        for entry, time in zip(entries[done:], times[done:], strict=True):
            self._reserve_one(entry, time)

    def _reserve_one(self, entry: object, time: float) -> None:
        # A task of an array at its limit waits, too; that it is planned for a time is a note.
        job, partition = self._waiting(entry, "Reserve", startable=False)
        if not isinstance(time, Real) or not time >= self.cluster.now:
            self._refuse(f"Reserve: the time {answers.short(time)} is not now ({self.cluster.now:g}) or later", job)
        job.planned_start = None if time == float("inf") else float(time)
        if self.policies.counts_cpus and job.planned_start is not None:
            self.policies.planned(job, partition)

    def _make_room(self, decision: MakeRoom) -> bool:
        """Preempt those that have to go for a job, all or none; whether it fits now.

        What they leave is kept for it; until they are gone no more are asked to go. For a hole of a
        plan those that have to go may be on any nodes that the plan keeps for no other; it keeps the hole.
        """
        job, partition = self._waiting(decision.job, "MakeRoom")
        where: Any = decision.where
        if where is not None:
            self._known(where, decision.job, "MakeRoom")
            return where._open is not None and self._makes_way_there(job, partition, where)
        if job.id in self._rooms:
            return False
        usable = self.cluster.usable(job, partition) & self._controls.not_reserved(job)
        for nodes in self._kept().values():
            usable = usable & ~nodes
        if self.cluster.select(job, partition, usable) is not None:
            return True
        chosen, nodes = self._victims(job, partition, usable)
        if not chosen:
            return False
        for victim in chosen:
            self._controls.preempt(victim, job)
        # Some that leave these nodes are preempted for others.
        leaving = [other for other in self.cluster.running.values() if other.vacating and overlaps(other, nodes)]
        self._rooms[job.id] = Room(job, nodes, leaving, self._hook)
        self._gave_way()
        return self.cluster.select(job, partition, usable) is not None

    def _makes_way_there(self, job: Job, partition: Partition, where: Any) -> bool:
        """Preempt those that have to go for a job on nodes that a plan leaves open; whether it fits now.

        If it does not, and is a component, those that had started before it go back.
        """
        usable = self.cluster.settled(where._open)
        if self.cluster.select(job, partition, usable) is not None:
            return True
        if self._make_way(job, partition, usable):
            self._gave_way()
            if self.cluster.select(job, partition, usable) is not None:
                return True
        for other in where._plan.before_room if job.request.het_job_id is not None else ():
            self._controls.put_back(other)
        return False

    def _make_way(self, job: Job, partition: Partition, usable: Mask) -> bool:
        """Preempt those that have to go for a job, if its limits allow it what it would have; whether that was so.

        As in Slurm, where limits are asked of the nodes before any run is preempted for them. Once others make way for
        a task of an array, they do in the same cycle for those behind it as well (Slurm's sources; recorded).
        """
        chosen, there = victims(job, partition, usable, self._controls, self.cluster)
        limit = self.plan().limit(job, partition, there) if there is not None else ""
        if limit:
            job.reason = limit
            return False
        array = job.request.array
        done = make_way(job, chosen, self._controls, self.cluster, again=array in self._arrays_make_way)
        if done and array is not None:
            self._arrays_make_way.add(array)
        return done

    def _gave_way(self) -> None:
        """Jobs were preempted, and may wait again: plugins plan them again, and plans know of other runs."""
        self.policies.plan_pending()
        for plan in self._plans:
            plan.preempted(self._kept())

    def _victims(self, job: Job, partition: Partition, usable: Mask) -> tuple[list[Job], Mask]:
        """The first of the candidates without which a job fits, and the nodes for it.

        Of nodes that are counted it does not matter which they are; else those candidates stay
        whose nodes are of no use.
        """
        cluster, removed = self.cluster, []
        free = cluster.free_without([other for other in cluster.running.values() if other.vacating])
        for candidate in candidates(job, partition, cluster):
            assert candidate.run is not None
            # A suspended job keeps its nodes from its own tier and those below.
            stays = cluster.partitions[candidate.run.partition].tier >= partition.tier
            if not overlaps(candidate, usable) or (stays and preempt_mode(candidate, cluster) == "SUSPEND"):
                continue
            free.release(candidate.run.allocation)
            removed.append(candidate)
            found = cluster.select(job, partition, usable, free)
            if found is not None and (limit := self.plan().limit(job, partition, found)):
                job.reason = limit
                break
            if found is not None:
                nodes = found.mask(len(cluster.machine))
                if not self.plan().counts(partition):
                    removed = [other for other in removed if overlaps(other, nodes)]
                return removed, nodes
        return [], cluster.no_nodes()

    def _kept(self) -> dict[int, Mask]:
        """Nodes that are kept for jobs, by id of the job."""
        return {number: room.nodes for number, room in self._rooms.items()}

    def _cleared(self) -> list[Room]:
        """Forget the rooms of jobs that do not wait; those of this loop that all victims have left."""
        if not self._rooms:
            return []
        self._rooms = {number: room for number, room in self._rooms.items() if still_waits(room.job, self.cluster)}
        mine = [room for room in self._rooms.values() if room.hook == self._hook]
        return [room for room in mine if not any(victim.vacating for victim in room.victims)]

    def _preempt(self, decision: Preempt) -> None:
        job = self.policies.controlled(decision.job)
        if job is None or job.state is not State.RUNNING or job.vacating:
            self._refuse("Preempt: it does not run", decision.job)
        by = self.policies.controlled(decision.by) if decision.by is not None else job
        self._controls.preempt(job, by or job)
        self._gave_way()

    def _wake(self, decision: Wake) -> None:
        waiting = self.policies.waiting
        refusal = self._idle.too_many(len(waiting), bool(self.cluster.running) or self._to_come())
        if refusal:
            self._refuse(refusal, waiting[0] if waiting else None)
        try:
            self._wake_at(answers.wake(decision, self.cluster.now))
        except answers.Refused as refused:
            self._refuse(refused.message)

    def _waiting(self, entry: object, what: str, startable: bool = True) -> tuple[Job, Partition]:
        """The job and the partition of an entry that waits."""
        if not isinstance(entry, ClusterEntry):
            self._refuse(
                f"{what}: {answers.short(entry)} is no entry of view.queue; give one of those, not its job", entry
            )
        job, partition = entry._pair
        waits = still_waits(job, self.cluster) if startable else job.state is State.PENDING
        if entry not in job.entries or not waits:
            self._refuse(f"{what}: it does not wait; it is {job.state.value}", job)
        return job, partition

    def _refuse(self, message: str, job: object = None) -> NoReturn:
        number = getattr(job, "id", None) or getattr(getattr(job, "job", None), "id", None)
        self._hooks.refuse(self._hook, message, time=self.cluster.now, job=number, where=line_of(self._decisions))


def _nothing() -> Iterator[Any]:
    yield from ()


def windows(cluster: Cluster, controls: Controls, habits: Habits) -> Windows:
    """A plan without anything kept, with compiled code where there is any."""
    if cluster.compiled is None:
        return Windows(cluster, controls, habits)
    from emulator.scheduling.windows_compiled import CompiledWindows

    return CompiledWindows(cluster, controls, habits)
