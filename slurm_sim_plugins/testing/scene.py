"""A scene that a test owns: made from a description, changed as a pass would change it."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Collection, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any, TypeVar

from slurm_sim_plugins.block_state import BlockState
from slurm_sim_plugins.decisions import FIRST_TIER, Move
from slurm_sim_plugins.errors import ConfigurationError
from slurm_sim_plugins.jobs import FIRST_PRIORITY, Job, Run, new_job, new_jobs
from slurm_sim_plugins.plan import Hole
from slurm_sim_plugins.processors import Processors, in_words
from slurm_sim_plugins.profile import RunEntry
from slurm_sim_plugins.records import CountedRecords, JobRecord
from slurm_sim_plugins.renamed import OldName
from slurm_sim_plugins.submission import Submission, submission_of_job
from slurm_sim_plugins.testing.builders import Cluster, JobSpec
from slurm_sim_plugins.testing.chart import Bar, Row, chart
from slurm_sim_plugins.tiers import StayFields, Tiers, seal, work_at
from slurm_sim_plugins.views import Oracle, SchedulingView, View

if TYPE_CHECKING:
    from slurm_sim_plugins.cluster import Partition
    from slurm_sim_plugins.nodes import NodeView

Shown = TypeVar("Shown", bound=View)
MICROSECONDS = 1_000_000
PENDING, RUNNING, COMPLETED = "PENDING", "RUNNING", "COMPLETED"


class Facts(dict[str, list[Any]]):
    """Columns of facts, one value a job by index; None where a job has none."""

    def __init__(self, specs: Sequence[JobSpec]) -> None:
        names = {name for spec in specs for name in spec.facts}
        super().__init__({name: [spec.facts.get(name) for spec in specs] for name in names})
        self._count = len(specs)

    def __missing__(self, name: str) -> list[Any]:
        self[name] = column = [None] * self._count
        return column

    def append(self, spec: JobSpec) -> None:
        """One more job."""
        for name in {*self, *spec.facts}:
            self[name].append(spec.facts.get(name))
        self._count += 1


class Scene:
    """A cluster at one instant, and the changes that a pass and a test make to it.

    Args:
        description: what it begins with.

    Attributes:
        view: what a scheduler sees; every other view can be made of it.
        jobs: all jobs by id, also those that are over.
        reserved: the latest reservation of each job that has one, in seconds, by id.
        woken: the times for which a pass was asked, in seconds.
        ended: runs that are over, with their ends and how: COMPLETED or PREEMPTED.
    """

    def __init__(self, description: Cluster) -> None:
        self.view = SchedulingView(description.processors, now=description.now, compiled=description.compiled)
        self.reserved: dict[int, float] = {}
        self.woken: list[float] = []
        self.ended: list[tuple[Run, float, str]] = []
        self.jobs: dict[int, Job] = {}
        self._state: dict[Job, str] = {}
        self._changed = False
        self._sequence = 0
        given = _given(description)
        ids = numbered([spec for spec, _ in given])
        order = sorted(range(len(given)), key=lambda index: (given[index][1], ids[index]))
        specs = [given[index][0] for index in order]
        self._prioritised = any(spec.priority is not None for spec in specs)
        self._facts = Facts(specs)
        self._true = [_true_run(spec) for spec in specs]
        jobs = new_jobs(
            self._facts,
            [ids[index] for index in order],
            [given[index][1] for index in order],
            [spec.processors for spec in specs],
            [spec.limit for spec in specs],
        )
        for job, spec in zip(jobs, specs, strict=True):
            self._take_in(job, spec)
        if description.tiers:
            self.view.tiers = Tiers(self.view, description.tiers)
        if description.blocks is not None:
            self.view.block_state = BlockState(self.view, description.blocks)
        self._behind: dict[Job, Run] = {}
        self._stays = 0
        self._set_the_scene(description, [self.jobs[each] for each in ids])

    def _set_the_scene(self, description: Cluster, jobs: list[Job]) -> None:
        """Start what runs and queue what waits; ``jobs`` are in the order of the description."""
        for run, job in zip(description.runs, jobs, strict=False):
            self._run(job, run.until, run.since, run.tier, run.where, block=run.block)
        waiting = jobs[len(description.runs) :]
        for job in waiting:
            self._queue(job)
        self.view._arrived.extend(waiting[len(description.queued) :])
        self.view.changed = description.changed

    @property
    def now(self) -> float:
        """Simulated time in seconds."""
        return self.view.now

    @property
    def oracle(self) -> Oracle:
        """The true run times, for plugins that say ``needs_oracle``."""
        return Oracle(self._true)

    def show(self, kind: type[Shown], **shown: Any) -> Shown:
        """A view of the scene, with what it shows besides."""
        view = kind(self.view)
        for name, value in shown.items():
            object.__setattr__(view, name, value)
        return view

    @property
    def new_jobs(self) -> Sequence[Job]:
        """Jobs that were queued since the last pass."""
        return self.view.new_jobs

    newcomers = OldName("new_jobs")

    @property
    def partitions(self) -> Sequence[Partition]:
        """None, where processors are only counted."""
        return ()

    def candidates(self) -> list[Job]:
        """The jobs behind the head that a scheduler may try."""
        return self.view.candidates()

    def submission_of(self, job: Job) -> Submission:
        """What a job asked for when it was submitted."""
        return submission_of_job(job)

    @property
    def job_records(self) -> CountedRecords:
        """What the controller records of jobs and reservations."""
        return CountedRecords(self.view)

    def record_of(self, job: Job) -> JobRecord:
        """What it records of a job."""
        return self.job_records.jobs().get(job.id) or JobRecord(self.submission_of(job))

    def nodes_for(self, job: Job) -> tuple[NodeView, Callable[[Any], object]] | None:
        """What ``select_nodes`` sees of nodes, and what its answer must be; None where there are none."""
        return None

    def holes_for(self, job: Job) -> Sequence[Hole]:
        """What ``bf_topopt`` may choose from.

        Raises:
            ConfigurationError: there are no nodes here, or there is no hole.
        """
        raise ConfigurationError("bf_topopt is asked about nodes; say cluster(nodes=4, ...)")

    def job(self, which: int | Job) -> Job:
        """The job of an id, or the job itself.

        Raises:
            ConfigurationError: there is no such job here.
        """
        found = which if isinstance(which, Job) else self.jobs.get(which)
        if found is None or found not in self._state:
            raise ConfigurationError(f"there is no job {which} here; there are {', '.join(map(str, self.jobs))}")
        return found

    def run_of(self, which: int | Job) -> Run:
        """The run of a job that runs.

        Raises:
            ConfigurationError: it does not run.
        """
        job = self.job(which)
        for run in self.view.running:
            if run.job is job:
                return run
        if job in self._behind:
            return self._behind[job]
        raise ConfigurationError(f"job {job.id} does not run, it is {self.state(job)}")

    def state(self, job: Job) -> str | None:
        """PENDING, RUNNING, COMPLETED; FUTURE for one that was not queued; None for a stranger."""
        return self._state.get(job)

    def add(self, spec: JobSpec) -> Job:
        """One more job, which is not yet in the queue.

        Raises:
            ConfigurationError: it never fits, its id is taken, or it has a priority where no other has.
        """
        if spec.processors > self.view.total:
            raise ConfigurationError(f"{spec} never fits: the cluster has {self.view.total} processors")
        if spec.priority is not None and self.jobs and not self._prioritised:
            raise ConfigurationError(f"{spec} has a priority, and the jobs that are here have none; give them theirs")
        (new_id,) = numbered([spec], self.jobs)
        self._facts.append(spec)
        self._true.append(_true_run(spec))
        submit = self.now if spec.submit is None else float(spec.submit)
        made = new_job(self._facts, len(self.jobs), new_id, submit, spec.processors, spec.limit)
        self._take_in(made, spec)
        return self.jobs[new_id]

    def submit(self, *specs: JobSpec) -> list[Job]:
        """Queue further jobs, as new ones."""
        jobs = [self.add(spec) for spec in specs]
        for job in jobs:
            if self._queue(job):
                self.view.changed = True
            self.view._arrived.append(job)
        return jobs

    def later(self, seconds: float) -> None:
        """Let time pass; what runs goes on running, unless :meth:`end` ends it.

        Raises:
            ConfigurationError: time goes one way.
        """
        if not seconds >= 0:
            raise ConfigurationError(f"later({seconds}): time goes one way; give 0 s or more")
        self.view.now += seconds
        self.view._reservation = None

    def end(self, *which: int | Job) -> None:
        """These jobs end now, for good."""
        for each in which:
            run, tiers = self.run_of(each), self.view.tiers
            stay = tiers.stay(run.job) if tiers is not None else None
            self._leave(run)
            self._state[run.job] = COMPLETED
            if stay is not None and tiers is not None:
                tiers._left.add(stay.tier)
            self.ended.append((run, self.now, COMPLETED))
            self.view.changed = True

    def start(
        self,
        job: Job,
        tier: str = FIRST_TIER,
        where: Processors = 0,
        setup: float = 0.0,
        block: int | None = None,
    ) -> None:
        """A waiting job starts on free processors; where there are blocks, on one of them."""
        ahead = self.view.head is not job
        self._unqueue(job)
        object.__setattr__(job, "backfilled", ahead)
        if setup or job.planned_running != job.planned:
            self._changed = True
        self._run(job, self.now + setup + job.planned_running, self.now, tier, where, setup, block)

    def move(self, decision: Move, where: Processors) -> None:
        """A run moves."""
        job = decision.job
        tiers = self.view.tiers
        assert tiers is not None, "there are tiers"
        old = tiers.stay(job)
        assert old is not None, "the job runs"
        done = tiers.progress(old)
        self._leave(self.run_of(job))
        planned = decision.cost + job.planned_running if decision.planned is None else decision.planned
        self._run(job, self.now + planned, self.now, decision.tier, where, decision.cost)
        stay = tiers.stay(job)
        object.__setattr__(stay, "start", old.start)
        object.__setattr__(stay, "_done", work_at(1.0, round(done * MICROSECONDS)))

    def reserve(self, job: Job, time: float) -> None:
        """A waiting job is planned to start at ``time`` (seconds)."""
        self.reserved[job.id] = time

    def wake(self, time: float) -> None:
        """A pass is asked for at ``time`` (seconds)."""
        self.woken.append(time)

    def preempt(self, run: Run) -> None:
        """A run is killed, and its job waits again at its old rank."""
        job = run.job
        self._leave(run)
        object.__setattr__(job, "requeues", job.requeues + 1)
        object.__setattr__(job, "backfilled", False)
        self.ended.append((run, self.now, "PREEMPTED"))
        self._queue(job)

    def pass_begins(self) -> None:
        """A pass sees what changed before it; what it changes is for the next one."""
        self._changed = False

    def pass_is_over(self, changed: bool = False) -> None:
        """No job is new any more; the view's ``changed`` says what the pass itself changed."""
        self.view._arrived.clear()
        self.view.changed = self._changed or changed
        if self.view.tiers is not None:
            self.view.tiers._left.clear()

    def choose_blocks(self, choose: Callable[[Job, int | None], int | None] | None) -> None:
        """What chooses free blocks; None for the first one."""
        if self.view.block_state is not None:
            self.view.block_state._find = choose or self.view.block_state._first

    def rows(self) -> list[Row]:
        """What is drawn of each job; those that wait last, in the order of the queue."""
        rows = {
            job.id: Row(job.id, job.processors, job.submit) for job in self.jobs.values() if self.state(job) != "FUTURE"
        }
        for run, end, outcome in self.ended:
            rows[run.job.id].bars.append(Bar(run.start, end, end, outcome == "PREEMPTED"))
        now, tiers = self.now, self.view.tiers
        for run in self.view.running:
            stay = tiers.stay(run.job) if tiers is not None else None
            since, where = (stay.since, in_words(stay.where)) if stay is not None else (run.start, "")
            rows[run.job.id].bars.append(Bar(since, max(run.planned_end, now), now, where=where))
        for tier in tiers.names[1:] if tiers is not None else ():
            for stay in tiers.stays(tier) if tiers is not None else ():
                where = f"{tier}:{in_words(stay.where)}"
                rows[stay.job.id].bars.append(Bar(stay.since, now, now, where=where, behind=True))
        for job in self.view.queue:
            rows[job.id].waits_until = now
            rows[job.id].reserved = self.reserved.get(job.id)
        waiting = [rows[job.id] for job in self.view.queue]
        others = [row for row in rows.values() if row.waits_until is None]
        return sorted(others, key=lambda row: (row.first, row.job)) + waiting

    def __repr__(self) -> str:
        return chart(self.rows(), self.view.total, self.now)

    def _take_in(self, job: Job, spec: JobSpec) -> None:
        first_come = 0.0 if self._prioritised else float(FIRST_PRIORITY - job.index)
        number = first_come if spec.priority is None else float(spec.priority)
        for name, value in {
            "_order": (-number, job.index),
            "planned": spec.planned.waiting,
            "planned_queue": spec.planned.queue,
            "planned_running": spec.planned.running,
            "requeues": spec.requeues,
            "backfilled": spec.backfilled,
        }.items():
            object.__setattr__(job, name, value)
        self.jobs[job.id] = job
        self._state[job] = "FUTURE"

    def _run(
        self,
        job: Job,
        until: float,
        since: float,
        tier: str = FIRST_TIER,
        where: Processors = 0,
        setup: float = 0.0,
        block: int | None = None,
    ) -> None:
        view = self.view
        until = round(until, 6)
        self._sequence += 1
        self._state[job] = RUNNING
        if tier == FIRST_TIER:
            view.free = view.free - job.processors
            view._reservation = None
            if view._plan is not None:
                view._plan.started(job)
            entry: RunEntry = (until, self._sequence, job.processors, since, job)
            insort(view._runs, entry)
        else:
            self._behind[job] = Run(float("inf"), self._sequence, job.processors, since, job)
        if view.block_state is not None and block is not None:
            view.free -= view.block_state.blocks.sizes[block] - job.processors
            view.block_state._enter(block, view._runs[bisect_left(view._runs, (until, self._sequence))])
        if view.tiers is not None:
            self._stays += 1
            stay = StayFields(job, self._stays, tier, where, since, since)
            stay._stalled += round(setup * MICROSECONDS)
            view.tiers._enter(seal(stay))

    def _leave(self, run: Run) -> None:
        view = self.view
        if self._behind.pop(run.job, None) is None:
            del view._runs[bisect_left(view._runs, tuple(run))]
            view.free = view.free + run.processors
            view._reservation = None
        if view.block_state is not None:
            view.free += view.block_state.blocks.sizes[view.block_state._leave(run.job)] - run.processors
        stay = view.tiers.stay(run.job) if view.tiers is not None else None
        if view.tiers is not None and stay is not None:
            view.tiers._leave(stay)
        self._changed = True

    def _queue(self, job: Job) -> bool:
        """Insert a job in order; says whether it is the head now."""
        view = self.view
        insort(view._waiting, job, key=lambda other: other._order)
        view.head = view._waiting[0]
        self._state[job] = PENDING
        return view.head is job

    def _unqueue(self, job: Job) -> None:
        view = self.view
        view._waiting.remove(job)
        view.head = view._waiting[0] if view._waiting else None
        if job in view._arrived:
            view._arrived.remove(job)


def _given(description: Cluster) -> list[tuple[JobSpec, float]]:
    """Each job with its submission, in the order of the description."""
    latest = [
        *((run.job, run.since, "it started") for run in description.runs),
        *((spec, description.now, "now") for spec in (*description.queued, *description.arrived)),
    ]
    given = []
    for spec, until, when in latest:
        submit = until if spec.submit is None else float(spec.submit)
        if submit > until:
            raise ConfigurationError(f"{spec} is submitted at {submit:g}, later than {when} ({until:g})")
        given.append((spec, submit))
    return given


def numbered(specs: Sequence[JobSpec], taken: Collection[int] = ()) -> list[int]:
    """Ids as stated; the other jobs get the next ones that are free, in their order."""
    used = set(taken)
    for stated in (spec.id for spec in specs if spec.id is not None):
        if stated in used:
            raise ConfigurationError(f"two jobs have the id {stated}; give each its own")
        used.add(stated)
    free = (number for number in count(1) if number not in used)
    return [next(free) if spec.id is None else spec.id for spec in specs]


def _true_run(spec: JobSpec) -> float:
    return spec.limit if spec.run is None else float(spec.run)
