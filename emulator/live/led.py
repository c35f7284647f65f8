"""An emulation that is led by what a session saw: Slurm's own starts are made in it, and each pass can be asked alone.

In the emulation of a record one decision follows from another. :class:`Given` takes that away: what the plugins decide
in a pass is noted and taken back, and what the session decided is done instead. So each pass is asked in the state that
the session had, and what is decided otherwise there is another decision by itself.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from emulator.engine.controller import Controller
from emulator.live.dealt import Change, Dealer, begin_as, cpus_of, nodes_of, placed
from emulator.live.order import Looks
from emulator.live.trial import Decided, Start, Trial
from emulator.state.job import Job
from emulator.state.run import State
from emulator.workload.sitelog import LoggedJob, LoggedRun, SiteLog
from slurm_sim_plugins.nodes import Allocation

Happens = tuple[LoggedJob, LoggedRun]


@dataclass(frozen=True, slots=True)
class Has:
    """What a job has at a look: a run, or a place in the queue.

    Attributes:
        nodes, cpus: of its run; empty while it waits.
        since: when the run began, in seconds.
        leaves: whether it is leaving its nodes.
        planned: seconds for which it is planned.
    """

    nodes: str
    cpus: str
    since: float
    leaves: bool
    planned: float

    def __str__(self) -> str:
        if not self.nodes:
            return f"waits, planned for {self.planned:g} s"
        leaves = ", leaving" if self.leaves else ""
        return f"{self.cpus} of {self.nodes} since {self.since:.1f} s, planned for {self.planned:g} s{leaves}"


@dataclass(frozen=True, slots=True)
class Otherwise:
    """What a session decided in a pass, and what is decided in the same state; empty for nothing."""

    at: float
    job: str
    live: str
    again: str

    def __str__(self) -> str:
        return (
            f"{self.job} at {self.at:.1f} s: {self.live or 'nothing'} in the session, {self.again or 'nothing'} again"
        )


@dataclass(slots=True)
class Script:
    """What a session decided, and what Slurm did by itself, by second.

    Attributes:
        looks: when the session made a pass.
        labels: names of jobs by id.
        starts: runs that it decided on, also those that Slurm never started.
        victims: jobs that had to make room.
        own: runs that Slurm started by itself, by the look that showed them.
        waited: what was released and not started.
    """

    looks: Looks
    labels: Mapping[int, str]
    starts: dict[float, list[Happens]] = field(default_factory=lambda: defaultdict(list))
    victims: dict[float, list[LoggedJob]] = field(default_factory=lambda: defaultdict(list))
    own: dict[float, list[Happens]] = field(default_factory=lambda: defaultdict(list))
    waited: list[Happens] = field(default_factory=list)

    @classmethod
    def of(cls, log: SiteLog, looks: Looks) -> Script:
        """What a record says, read at the times at which the session saw it."""
        script = cls(looks, {job.request.id: job.label for job in log.jobs})
        for job in log.jobs:
            for run in job.happened.runs:
                (script.starts if run.decided else script.own)[run.start].append((job, run))
                if run.state == "REQUEUED" and run.end is not None:
                    script.victims[run.end].append(job)
            for run in job.happened.not_started:
                script.starts[run.start].append((job, run))
                script.waited.append((job, run))
        return script

    def rests(self, job: LoggedJob, now: float) -> bool:
        """Whether a job was released in vain before, and the session has not released it again since."""
        vain = [run for run in job.happened.not_started if run.end is not None and run.end <= now]
        if not vain:
            return False
        since = max(run.start for run in vain)
        return not any(since < run.start <= now for run in (*job.happened.runs, *job.happened.not_started))


class Led:
    """The scheduler of an emulation in which Slurm starts by itself what it started so in the session.

    Args:
        controller: of the emulation; its passes are made by this from now on.
        script: what happened.
        dealer: knows what Slurm can deal.

    Attributes:
        states: what each job had at each look, when the plugins were asked.
        refused: runs of Slurm's own that could not be made: the job did not wait, or its nodes were not free.
    """

    def __init__(self, controller: Controller, script: Script, dealer: Dealer) -> None:
        self._controller, self._script, self._dealer = controller, script, dealer
        self._scheduler = controller.scheduler
        self.states: dict[float, dict[str, Has]] = {}
        self.refused: list[str] = []
        controller.passes.scheduler = self

    @property
    def has_main_loop(self) -> bool:
        """Whether the plugin makes the passes of the main loop."""
        return self._scheduler.has_main_loop

    def run(self, submitted: Sequence[Job] | None = None, full: bool = False) -> bool:
        """Make a pass of the main loop; see :meth:`PluginScheduler.run`."""
        if self._script.looks.is_just_before(self._controller.cluster.now):
            return True
        own = self._look()
        return self._scheduler.run(None if own else submitted, full)

    @property
    def pause(self) -> float | None:
        """For how many seconds a cycle of backfill pauses; None if none has begun that is not over."""
        return self._scheduler.pause

    def backfill(self, changed: bool = False) -> None:
        """Make a cycle of backfill, or go on with one; see :meth:`PluginScheduler.backfill`."""
        if self._script.looks.is_just_before(self._controller.cluster.now):
            return
        self._look()
        self._scheduler.backfill(changed)

    def started(self, job: Job) -> None:
        """A job has started."""
        self._scheduler.started(job)

    def _look(self) -> bool:
        """Note what there is at a look, with what Slurm started before; whether it did."""
        now = self._controller.cluster.now
        if now not in self._script.looks or now in self.states:
            return False
        own = self._script.own.get(now, [])
        for logged, run in own:
            if not self._start(logged, run):
                self.refused.append(logged.label)
        self.states[now] = self._state()
        return bool(own)

    def _state(self) -> dict[str, Has]:
        cluster, labels = self._controller.cluster, self._script.labels
        state = {}
        for number, job in cluster.running.items():
            assert job.run is not None
            run, leaves = job.run, job.vacating or job.state is State.COMPLETING
            # When it will have left, no plan asks.
            planned = 0.0 if leaves else round(cluster.planned_end(job) - run.start, 3)
            nodes, cpus = nodes_of(run, self._controller), cpus_of(run, self._controller)
            state[labels[number]] = Has(nodes, cpus, run.start, leaves, planned)
        for number, job in cluster.waiting.items():
            state[labels[number]] = Has("", "", 0.0, False, round(job.plan_limit, 3))
        return state

    def _start(self, logged: LoggedJob, run: LoggedRun) -> bool:
        """Let a run begin as Slurm had it; whether it can."""
        controller = self._controller
        job = controller.cluster.jobs.get(logged.request.id)
        if job is None or job.state is not State.PENDING:
            return False
        has = placed(job, run, self._controller)
        if has is None or not self._is_room(has):
            return False
        controller.starts.start(job, job.partitions[0], has)
        assert job.run is not None
        begin_as(Change(job, job.run, has, job.run.start if run.began is None else run.began), controller)
        return True

    def _is_room(self, has: Allocation) -> bool:
        """Whether Slurm could deal that."""
        return self._dealer.forced or bool((self._dealer.room(self._controller)[has.where] >= list(has.units)).all())


class Given(Led):
    """The same, in which the session's decisions are made; what the plugins would decide is compared with them.

    Attributes:
        same: how many decisions of the session the plugins make, too.
        otherwise: the others, and those that the session did not make.
        lost: decisions of the session that could not be made here: the job, and when.
    """

    def __init__(self, controller: Controller, script: Script, dealer: Dealer) -> None:
        super().__init__(controller, script, dealer)
        dealer.forced = True
        self._trial = Trial(controller, lasting=True)
        self._scheduler = controller.scheduler
        controller.passes.scheduler = self
        self.same = 0
        self.otherwise: list[Otherwise] = []
        self.lost: list[tuple[str, float]] = []
        self._promised: dict[str, Start] = {}

    def run(self, submitted: Sequence[Job] | None = None, full: bool = False) -> bool:
        """Ask the plugins, where the session did, and do what it decided."""
        now = self._controller.cluster.now
        if now in self._script.looks and now not in self.states:
            self._look()
            decided = self._trial.make_pass(self._under_way(now))
            starts = {self._script.labels[start.job.id]: start for start in decided.starts}
            self._compare(decided, starts, now)
            self._do(decided, starts, now)
        return True

    def backfill(self, changed: bool = False) -> None:
        """It was asked with the main loop, as in the session."""

    def _under_way(self, now: float) -> list[Start]:
        """What Slurm was told to start and never did, as long as the session waited for it."""
        waited = [
            job.label for job, run in self._script.waited if run.start < now and (run.end is None or now < run.end)
        ]
        found = [self._promised[label] for label in waited if label in self._promised]
        return [start for start in found if start.job.state is State.PENDING]

    def _compare(self, decided: Decided, starts: Mapping[str, Start], now: float) -> None:
        labels, script = self._script.labels, self._script
        logged = {job.label: job for job, _ in script.starts.get(now, [])}
        live = {job.label: f"starts on {run.decided_nodes}" for job, run in script.starts.get(now, [])}
        again = {label: f"starts on {self._trial.nodes(start)}" for label, start in starts.items()}
        resting = {job.label for job, _ in script.waited if job.label not in logged and script.rests(job, now)}
        again = {label: words for label, words in again.items() if label not in resting}
        for job in script.victims.get(now, []):
            live[job.label] = live.get(job.label, "") + "makes room"
        for victim in decided.victims:
            label = labels[victim.job.id]
            again[label] = again.get(label, "") + "makes room"
        for label in sorted(live.keys() | again.keys()):
            one, other = live.get(label, ""), again.get(label, "")
            if one == other:
                self.same += 1
            else:
                self.otherwise.append(Otherwise(now, label, one, other))

    def _do(self, decided: Decided, starts: Mapping[str, Start], now: float) -> None:
        """What the session decided."""
        controller, cluster = self._controller, self._controller.cluster
        preemptors = {victim.job.id: victim.preemptor for victim in decided.victims}
        for logged in self._script.victims.get(now, []):
            job = cluster.jobs.get(logged.request.id)
            if job is None or job.state is not State.RUNNING or job.vacating:
                self.lost.append((logged.label, now))
                continue
            controller.starts.preempt(job, preemptors.get(job.id, job))
        for logged, run in self._script.starts.get(now, []):
            start = starts.get(logged.label)
            if start is None or self._trial.nodes(start) != run.decided_nodes:
                start = self._bound(logged, run)
            if start is None or start.job.state is not State.PENDING:
                self.lost.append((logged.label, now))
            elif run in logged.happened.not_started:
                self._promised[logged.label] = start
            else:
                controller.starts.start(
                    start.job, start.partition, start.allocation, None, 0, start.reason, start.backfilled
                )

    def _bound(self, logged: LoggedJob, run: LoggedRun) -> Start | None:
        """A start on the nodes that the session chose."""
        job = self._controller.cluster.jobs.get(logged.request.id)
        has = None if job is None else placed(job, run, self._controller)
        if job is None or has is None:
            return None
        return Start(job, job.partitions[0], has, self._controller.cluster.now)


def apart(live: Mapping[str, Has], emulated: Mapping[str, Has]) -> dict[str, tuple[str, str]]:
    """What jobs have otherwise: in the session, and in its emulation."""
    found = {}
    for job in sorted(live.keys() | emulated.keys()):
        one, other = live.get(job), emulated.get(job)
        if one != other:
            found[job] = ("is not there" if one is None else str(one), "is not there" if other is None else str(other))
    return found
