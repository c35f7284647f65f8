"""A pass on the mirror: what is decided is noted, holds for the rest of the pass, and is taken back at its end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from emulator.config.slurm.hostlist import compress
from emulator.engine.controller import Controller
from emulator.scheduling.gang import Rows
from emulator.scheduling.plugin_scheduler import PluginScheduler
from emulator.scheduling.preempt import configured_mode, preempt_mode
from emulator.state.job import Job
from emulator.state.partition import Partition
from emulator.state.reservations import Reservations
from emulator.state.run import Run, State
from slurm_sim_plugins.nodes import Allocation, Mask


@dataclass(frozen=True, slots=True, eq=False)
class Start:
    """A job is to start.

    Attributes:
        job: which.
        partition: where.
        allocation: on what.
        reason: the scheduler's words.
        backfilled: whether it goes ahead of one that waits.
        at: the second of the decision.
    """

    job: Job
    partition: Partition
    allocation: Allocation
    at: float
    reason: str = ""
    backfilled: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Victim:
    """A run is to make room; ``mode`` is what is to become of it."""

    job: Job
    preemptor: Job
    mode: str


@dataclass(slots=True)
class Decided:
    """What a pass decided.

    Attributes:
        starts, victims: in their order.
        numbers: the priority of each waiting job by its id, where a priority plugin gives it.
        sites: the same of site factors.
        planned: the same of planned seconds.
    """

    starts: list[Start] = field(default_factory=list)
    victims: list[Victim] = field(default_factory=list)
    numbers: dict[int, float] = field(default_factory=dict)
    sites: dict[int, int] = field(default_factory=dict)
    planned: dict[int, float] = field(default_factory=dict)


class Trial:
    """The :class:`~emulator.scheduling.controls.Controls` of a pass that is only tried.

    Args:
        controller: the mirror's.
        lasting: whether victims go, so that what they leave is kept for the job for which they go.

    Attributes:
        wakes: seconds at which the plugin wants another pass.
    """

    rows: Rows
    reservations: Reservations

    def __init__(self, controller: Controller, lasting: bool = False) -> None:
        self._controller, self._lasting = controller, lasting
        self.rows, self.reservations = controller.starts.rows, controller.starts.reservations
        self.wakes: list[float] = []
        self._decided = Decided()
        self._taken: list[Job] = []
        self._leaving: list[Job] = []
        self._period_at = self._backfill_at = float("-inf")
        self._scheduler = PluginScheduler(
            controller.cluster,
            self,
            controller.policies.hooks,
            controller.policies,
            lambda *times: self.wakes.extend(times),
            lambda: True,
        )
        # Starts that are followed are told to the plans of this scheduler, too.
        controller.scheduler = controller.passes.scheduler = self._scheduler

    def make_pass(self, under_way: Sequence[Start] = (), leaving: Sequence[Job] = ()) -> Decided:
        """Ask the plugins what they would do now.

        Args:
            under_way: starts that Slurm was told of and has not made yet; their nodes are taken.
            leaving: runs that are being preempted.

        Raises:
            PluginError: a plugin failed, or its answer cannot be used.
        """
        controller, scheduler = self._controller, self._scheduler
        self._decided, self.wakes = Decided(), []
        try:
            controller.passes.refresh()
            for start in under_way:
                self._take(start)
            for job in leaving:
                self._leave(job)
            self._renew()
            scheduler.run(None, full=True)
            if controller.policies.hooks.backfill is not None and self._due():
                scheduler.backfill()
            controller.telling.passed()
        finally:
            decided = self._take_back()
        self._note_numbers(decided)
        return decided

    def start(
        self,
        job: Job,
        partition: Partition,
        allocation: Allocation,
        limit: float | None = None,
        row: int = 0,
        reason: str = "",
        backfilled: bool = False,
    ) -> None:
        """Note a start; the nodes are taken for the rest of the pass."""
        at = self._controller.cluster.now
        start = Start(job, partition, allocation, at, reason, backfilled or limit is not None)
        self._decided.starts.append(start)
        self._take(start, row)

    def give_up_late(self, job: Job) -> bool:
        """Whether a job cannot be over by its deadline any more: it is passed over, and Slurm gives it up by itself."""
        return self._controller.cluster.too_late(job)

    def preempt(self, job: Job, preemptor: Job) -> None:
        """Note a victim; it is leaving for the rest of the pass."""
        mode = preempt_mode(job, self._controller.cluster)
        if mode == "OFF":
            mode = configured_mode(job, self._controller.cluster)
        self._decided.victims.append(Victim(job, preemptor, mode))
        self._leave(job)

    def put_back(self, job: Job) -> None:
        """A component waits for a while, which matters in later passes alone."""

    def not_reserved(self, job: Job, at: float | None = None, length: float | None = None) -> Mask:
        """Nodes that no reservation keeps from a job."""
        return self._controller.starts.not_reserved(job, at, length)

    def nodes(self, start: Start) -> str:
        """The nodes of a start, as a host list."""
        names = self._controller.cluster.machine.names
        return compress([names[node] for node in start.allocation.nodes])

    def _due(self) -> bool:
        """Whether backfill's interval is over."""
        now, interval = self._controller.cluster.now, self._controller.policies.hooks.backfill_interval
        if now - self._backfill_at < interval:
            return False
        self._backfill_at = now
        return True

    def _renew(self) -> None:
        """Let the plugins plan and give numbers, as before each pass, or at the end of their period."""
        policies, now = self._controller.policies, self._controller.cluster.now
        policies.before_pass()
        if policies.period and now - self._period_at >= policies.period:
            self._period_at = now
            policies.renew()

    def _note_numbers(self, decided: Decided) -> None:
        for number, job in self._controller.cluster.waiting.items():
            decided.numbers[number], decided.sites[number] = job.priority, job.site
            if job.plan is not None:
                decided.planned[number] = job.plan.waiting

    # Until the end of the pass

    def _take(self, start: Start, row: int = 0) -> None:
        job, cluster = start.job, self._controller.cluster
        number = job.number_in(start.partition.name)
        # One that is under way is planned to end as if it had begun when it was decided on.
        job.run = Run(start.at, start.allocation, start.partition.name, job.limit, row, start.backfilled, number)
        job.runs.append(job.run)
        job.state = State.RUNNING
        cluster.dequeue(job)
        cluster.running[job.id] = job
        cluster.array_tasks[job.request.array or 0] += 1
        self._controller.policies.cluster_state.begun(job, cluster.machine.cpus_of(start.allocation))
        self._scheduler.started(job)
        self.rows.take(job, job.run)
        self._taken.append(job)

    def _leave(self, job: Job) -> None:
        assert job.run is not None
        job.vacating = True
        self._controller.stints.ends_otherwise(job)
        # Its nodes will be COMPLETING, and take no other job.
        self._controller.cluster.epilog(job.run.allocation, 1)
        self._leaving.append(job)

    def _take_back(self) -> Decided:
        cluster = self._controller.cluster
        for job in self._leaving:
            assert job.run is not None
            job.vacating = job.state is State.COMPLETING
            cluster.epilog(job.run.allocation, -1)
        for job in reversed(self._taken):
            assert job.run is not None
            self.rows.release(job, job.run)
            self._controller.policies.cluster_state.over(job)
            del cluster.running[job.id]
            cluster.array_tasks[job.request.array or 0] -= 1
            job.runs.pop()
            job.run, job.state, job.vacating = None, State.PENDING, False
            cluster.enqueue(job)
            cluster.order.settle(job)
        self._taken, self._leaving = [], []
        if not self._lasting:
            self._scheduler.forget_rooms()
        return self._decided
