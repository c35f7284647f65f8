"""Checks every answer of a plugin before it is applied.

An answer that cannot be used ends the simulation with an error that names plugin, hook,
job and simulated time; what was logged so far is kept. What may be answered is said in
:mod:`slurm_sim_plugins.answers`, for unit tests too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from emulator.hooks import Hooks, line_of
from emulator.livelock import IdleWakes
from emulator.state.jobs import FUTURE, JobState, JobTable
from slurm_sim_plugins import answers
from slurm_sim_plugins.answers import Refused
from slurm_sim_plugins.block_state import BlockState
from slurm_sim_plugins.decisions import MakeRoom, Move, Plan, Preempt, Reserve, Start, Wake
from slurm_sim_plugins.jobs import Job, Run
from slurm_sim_plugins.processors import Processors
from slurm_sim_plugins.tiers import Stay, Tiers
from slurm_sim_plugins.views import ClusterState

STATES = tuple(state.name for state in JobState)
"""Words for the states of jobs."""


class Validator:
    """Knows what may be asked for in the current cluster state.

    Attributes:
        decisions: the generator that is being run, for ``file:line`` in a message.
        hook: which of the scheduler's hooks made it.
    """

    def __init__(self, hooks: Hooks, cluster_state: ClusterState, table: JobTable) -> None:
        self._hooks = hooks
        self._cluster_state = cluster_state
        self._table = table
        self._idle = IdleWakes()
        self.decisions: Any = None
        self.hook = "schedule"

    def start(self, decision: Start, free: int) -> Job:
        """The job of a start that can be carried out on ``free`` processors."""
        try:
            return answers.start(decision, self._state, free)
        except Refused as refused:
            self._refuse(refused)

    def site_factors(self, answer: Sequence[int], jobs: Sequence[Job]) -> list[int]:
        """Numbers of a site for some jobs."""
        try:
            return answers.site_factors(answer, jobs)
        except Refused as refused:
            self._refuse_answer("site_factor", refused)

    def start_in_tier(self, decision: Start) -> Processors:
        """The processors of a start that can be carried out, where there are tiers."""
        cluster_state = self._cluster_state
        assert cluster_state.tiers is not None, "there are no tiers"
        try:
            return answers.start_in_tier(decision, self._state, cluster_state.tiers, cluster_state.total)
        except Refused as refused:
            self._refuse(refused)

    def start_on_block(self, decision: Start) -> int | None:
        """The block of a start that can be carried out, where there are blocks; None if it does not say."""
        block_state = self._cluster_state.block_state
        assert block_state is not None, "there are no blocks"
        try:
            return answers.start_on_block(decision, self._state, block_state)
        except Refused as refused:
            self._refuse(refused)

    def no_block(self, job: Job) -> NoReturn:
        """A job is to start, and no block is free for it."""
        self._refuse(answers.no_block(job))

    def block(
        self, answer: int, job: Job, block_state: BlockState, candidates: Sequence[Run], beside: int | None
    ) -> int:
        """A block on which a job can be."""
        try:
            return answers.block(answer, job, block_state, candidates, beside)
        except Refused as refused:
            self._refuse_answer("select_nodes", refused)

    def move(self, decision: Move) -> tuple[Stay, Processors]:
        """The stay that a move ends, and the processors to which it leads."""
        try:
            return answers.move(decision, self._state, self._cluster_state.tiers, self._cluster_state.total)
        except Refused as refused:
            self._refuse(refused)

    def preempt(self, decision: Preempt) -> Job:
        """The job whose run is to be preempted."""
        try:
            return answers.preempt(decision, self._state)
        except Refused as refused:
            self._refuse(refused)

    def reserve(self, decision: Reserve) -> Job:
        """The job of a reservation that can be noted."""
        try:
            return answers.reserve(decision, self._state, self._cluster_state.now)
        except Refused as refused:
            self._refuse(refused)

    def make_room(self, decision: MakeRoom) -> Job:
        """The job of a request for room."""
        try:
            return answers.waiting(decision, self._state)
        except Refused as refused:
            self._refuse(refused)

    def wake(self, decision: Wake) -> float:
        """The time of a wake-up; not for ever while nothing else happens."""
        try:
            time = answers.wake(decision, self._cluster_state.now)
        except Refused as refused:
            self._refuse(refused)
        queue = self._cluster_state.queue
        busy = bool(self._cluster_state.running) or self._table.state[-1] == FUTURE
        refusal = self._idle.too_many(len(queue), busy)
        if refusal:
            self._refuse(Refused(refusal, queue[0] if queue else None))
        return time

    def unknown(self, decision: object) -> None:
        """Something was yielded that is no decision."""
        self._refuse(answers.no_decision(decision))

    def no_progress(self, count: int) -> None:
        """A pass yields and yields."""
        head = self._cluster_state.queue[0] if self._cluster_state.queue else None
        self._refuse(
            Refused(
                f"the pass makes no progress: {count} decisions and no end; return when there is nothing more to start",
                head,
            )
        )

    def view_changed(self) -> None:
        """A scheduler wrote to its view."""
        self._refuse(
            Refused("wrote to view.free, view.now or view.head; a view is only read, ask with a decision"),
        )

    def stalled(self) -> None:
        """Jobs wait, nothing runs, and nothing more will happen."""
        queue = self._cluster_state.queue
        self._hooks.refuse(
            "schedule",
            f"{len(queue)} jobs still wait and nothing more will happen: {self._cluster_state.free} of "
            f"{self._cluster_state.total} processors are free and the first job needs {queue[0].processors}; "
            "start it, or yield Wake to come back",
            time=self._cluster_state.now,
            job=queue[0].id,
        )

    def at_rest(self, tiers: Tiers) -> None:
        """Nothing more will happen: no run may be left at rate 0."""
        for tier in tiers.names:
            for stay in tiers.stays(tier):
                self._hooks.refuse(
                    "progress_rate",
                    f"the run of this job in {tier} is left at rate {stay.rate:g}, and nothing more will happen",
                    time=self._cluster_state.now,
                    job=stay.job.id,
                )

    def priorities(self, answer: Sequence[float], jobs: list[Job]) -> Sequence[float]:
        """One finite number a job."""
        try:
            return answers.numbers(answers.priorities(answer, jobs))
        except Refused as refused:
            self._refuse_answer("priority_set", refused)

    def plan(self, answer: float | Plan, job: Job) -> tuple[float, float, float]:
        """Planned seconds, one number for everything or three."""
        limit = job.time_limit
        # The many; whatever else it is, is looked at more closely.
        if type(answer) is float:
            if 0 < answer <= limit:
                return answer, answer, answer
        elif type(answer) is Plan:
            queue, waiting, running = answer
            are_floats = type(queue) is type(waiting) is type(running) is float
            if are_floats and 0 < queue <= limit and 0 < waiting <= limit and 0 < running <= limit:
                return answer
        try:
            return answers.plan(answer, job)
        except Refused as refused:
            self._refuse_answer("walltime_submit", refused)

    def plans(self, answer: Sequence[float], jobs: Sequence[Job]) -> list[Plan]:
        """Planned seconds of each waiting job."""
        try:
            return answers.plans(answer, jobs)
        except Refused as refused:
            self._refuse_answer("walltime_pending", refused)

    def order(self, answer: Sequence[Job], jobs: list[Job]) -> Sequence[Job]:
        """Jobs out of those that were to be tried, each once."""
        try:
            return answers.order(answer, jobs)
        except Refused as refused:
            self._refuse_answer("backfill_candidates", refused)

    def victims(self, answer: Sequence[Run], preemptor: Job) -> list[Run]:
        """Runs of now, each once."""
        try:
            return answers.victims(answer, preemptor, self._cluster_state.running)
        except Refused as refused:
            self._refuse_answer("preempt_candidates", refused)

    def rates(self, answer: Sequence[float], stays: Sequence[Stay]) -> list[float]:
        """One rate a run."""
        try:
            return answers.rates(answer, stays)
        except Refused as refused:
            self._refuse_answer("progress_rate", refused)

    def generator(self, answer: object) -> None:
        """What ``schedule`` answers is a generator."""
        if not (hasattr(answer, "send") and hasattr(answer, "__next__")):
            self._refuse_answer(self.hook, answers.no_generator(answer))

    def _state(self, job: Job) -> str | None:
        table = self._table
        if job.index >= len(table) or table.jobs[job.index] is not job:
            return None
        return STATES[table.state[job.index]]

    def _refuse(self, refused: Refused) -> NoReturn:
        """A decision cannot be carried out."""
        where = line_of(self.decisions)
        self._hooks.refuse(self.hook, refused.message, time=self._cluster_state.now, job=refused.job, where=where)

    def _refuse_answer(self, hook: str, refused: Refused) -> NoReturn:
        self._hooks.refuse(hook, refused.message, time=self._cluster_state.now, job=refused.job)
