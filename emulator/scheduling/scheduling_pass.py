# cython: boundscheck=True, wraparound=True, nonecheck=True
"""One scheduling pass: the selected scheduler decides, each decision is checked and applied.

A :mod:`kernel <slurm_sim_plugins.kernels>`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable
from functools import partial
from types import GeneratorType
from typing import Any

from emulator.engine.apply import Apply
from emulator.hooks import FAILURES, Hooks
from emulator.scheduling.priorities import Priorities
from emulator.scheduling.room import RoomMaker
from emulator.state.jobs import PENDING
from emulator.validate import Validator
from slurm_sim_plugins.decisions import Decision, MakeRoom, Move, Preempt, Reserve, Wake
from slurm_sim_plugins.jobs import Job
from slurm_sim_plugins.main_loop import in_order
from slurm_sim_plugins.start import Start
from slurm_sim_plugins.views import BackfillView, PendingView, SchedulingView

PATIENCE = 10_000
"""Decisions other than starts, over two for each job of the workload, before a pass counts as stuck."""


class SchedulingPass:
    """Runs passes.

    Args:
        cluster_state: the current state.
        hooks: the scheduler's hook among them.
        apply: carries decisions out.
        validate: checks them.
        room: makes room by preemption.
        priorities: sets the waiting jobs' priorities, if the plugin asks for it.
        may_overrun: whether a run may outlive its planned end.

    Attributes:
        before: what is to be done before each pass, or None.
        always: whether to offer a pass at every event; else only when ``apply`` says
            ``changed`` or ``hopeful``.
    """

    __slots__ = (
        *("_apply", "_backfill_view", "_behind", "_cycle", "_decisions", "_every_pass", "_facts", "_fruitless"),
        *("_hooks", "_main_loop", "_may_overrun", "_observed", "_patience", "_patient_with", "_pending_view", "_renew"),
        *("_room", "_schedule", "_sendable", "_state", "_validate", "_view", "always", "before"),
    )

    def __init__(
        self,
        cluster_state: SchedulingView,
        hooks: Hooks,
        apply: Apply,
        validate: Validator,
        room: RoomMaker,
        priorities: Priorities,
        *,
        may_overrun: bool,
    ) -> None:
        self._view = cluster_state
        # Jobs for which a pass is made even if no job waits: those in other tiers than the first.
        self._behind: Collection[Job] = ()
        self._hooks = hooks
        self._apply = apply
        self._validate = validate
        self._room = room
        self._may_overrun = may_overrun
        self._renew = priorities.renew if hooks.priority_period is not None else None
        renewed = self._renew is not None or hooks.walltime_pending is not None
        self._every_pass = renewed or not hooks.only_starts
        self.always = self._every_pass or may_overrun
        self._state, self._facts = apply.state, apply.facts
        self._main_loop = hooks.schedule or partial(in_order, preempts=hooks.preempt_candidates is not None)
        plain = inspect.isgeneratorfunction(hooks.schedule)
        self._schedule: Callable[[SchedulingView], Any] = (
            hooks.schedule if hooks.schedule is not None and plain else self._checked_schedule
        )
        self._cycle = hooks.backfill
        self._decisions: Any = None
        self._sendable: type = GeneratorType
        self._observed = hooks.pass_done is not None
        self._patient_with: object = None
        self._patience = PATIENCE + 2 * len(apply.state)
        self._fruitless = 0
        self._pending_view = PendingView(cluster_state)
        self._backfill_view = BackfillView(cluster_state)
        if hooks.backfill_candidates is not None:
            cluster_state._backfill_order = self._in_backfill_order
        self.before = apply.replan = self._plan_pending if hooks.walltime_pending is not None else None

    def run(self) -> None:  # noqa: C901 - in one piece: a further call would cost every pass
        """Make one pass, if there is anything for it to do."""
        view, apply = self._view, self._apply
        if view.head is None and not self._behind:
            return
        if self._may_overrun and view._runs and view._runs[0][0] <= view.now:
            apply.replan_overdue()
        if not (apply.changed or apply.hopeful or self._every_pass):
            return
        if self.before is not None and view.head is not None:
            self.before()
            if view.head is None and not self._behind:
                return
        if self._renew is not None:
            self._renew()
        view.changed = apply.changed
        apply.changed = apply.hopeful = False
        if apply.watch.missing <= 0:
            apply.watch.seen(view.head, apply.now)

        now = view.now
        try:
            self._decisions = decisions = self._schedule(view)
            for decision in decisions:
                if type(decision) is not Start:
                    self._carry_out(decision)
                    continue
                start = decision
                if start._there is not None:
                    self._carry_out(start)
                    continue
                job = start.job
                if type(job) is not Job or not self._may_start(job):
                    self._validate.decisions = decisions
                    self._validate.start(start, apply.free)
                apply.start(job, start.reason)
            if self._cycle is not None and view.head is not None:
                self._backfill(self._cycle)
        except FAILURES as error:
            self._refuse_writes(now)
            self._hooks.fail(self._validate.hook, error, time=now)

        if view._arrived:
            view._arrived.clear()
        watch, head = apply.watch, view.head
        if view.free != apply.free or view.now != now:
            self._refuse_writes(now)
        if (head is not watch.head or watch.missing <= 0) and head is not None:
            watch.left_blocked(head, apply.now)
        if self._observed:
            apply.passed()

    def _may_start(self, job: Job) -> bool:
        """What Validator.start checks, without the call: starts are the many."""
        return self._waits(job) and job.processors <= self._apply.free

    def _waits(self, job: Job) -> bool:
        """Whether it is a job of this simulation that waits."""
        if job._facts is not self._facts:
            return False
        state = self._state[job.index]
        return state == PENDING

    def _backfill(self, hook: Callable[[SchedulingView], Any]) -> None:
        """Make a cycle of the scheduler's backfill."""
        self._validate.hook = "backfill"
        self._decisions = decisions = self._checked(hook)
        for decision in decisions:
            self._carry_out(decision)
        self._view._plan = None
        self._validate.hook = "schedule"

    def _in_backfill_order(self, jobs: list[Job]) -> list[Job]:
        """The candidates as the plugin in the BackfillType slot orders them."""
        object.__setattr__(self._backfill_view, "to_try", tuple(jobs))
        try:
            answer = self._hooks.backfill_candidates(self._backfill_view)  # type: ignore[misc]
        except FAILURES as error:
            self._hooks.fail("backfill_candidates", error, time=self._view.now)
        if answer is None:
            return jobs
        ordered = list(self._validate.order(answer, jobs))
        if len(ordered) < len(jobs):
            # A job that was left out was not refused.
            self._apply.changed = True
        return ordered

    def _plan_pending(self) -> None:
        """Let the walltime plugin plan again for the jobs that wait."""
        waiting = self._view.queue
        object.__setattr__(self._pending_view, "waiting", waiting)
        try:
            answer = self._hooks.walltime_pending(self._pending_view)  # type: ignore[misc]
        except FAILURES as error:
            self._hooks.fail("walltime_pending", error, time=self._view.now, job=waiting[0].id)
        if answer is None:
            return
        for job, plan in zip(waiting, self._validate.plans(answer, waiting), strict=True):
            self._apply.plan(job, plan)
        # A job that was refused before may not be refused again.
        self._apply.changed = True

    def _refuse_writes(self, now: float) -> None:
        """Name a scheduler that wrote to its view, instead of what came of it."""
        view = self._view
        self._validate.decisions = self._decisions
        if view.free != self._apply.free or view.now != now or view.head is not next(iter(view._waiting), None):
            view.now = now
            self._validate.view_changed()

    def _checked_schedule(self, view: SchedulingView) -> Iterable[Decision]:
        """The generator of the main loop, where its code does not already say that it is one."""
        return self._checked(self._main_loop)

    def _checked(self, hook: Callable[[SchedulingView], Any]) -> Iterable[Decision]:
        decisions = hook(self._view)
        if decisions is None:
            return ()
        if type(decisions) is not self._sendable:
            self._validate.generator(decisions)
            self._sendable = type(decisions)
        return decisions  # type: ignore[no-any-return]

    def _carry_out(self, decision: Decision) -> None:
        """Check and apply a decision, and those that follow from its answer.

        Only a request for room is answered; what the generator yields in return is the
        next decision.
        """
        self._validate.decisions = decisions = self._decisions
        try:
            while (answer := self._check_and_apply(decision)) is not None:
                decision = decisions.send(answer)
        except StopIteration:
            return

    def _check_and_apply(self, decision: Decision) -> bool | None:
        validate, apply = self._validate, self._apply
        if self._decisions is not self._patient_with:
            self._patient_with, self._fruitless = self._decisions, 0
        self._fruitless += 1
        if self._fruitless > self._patience:
            validate.no_progress(self._fruitless)
        if isinstance(decision, Start):
            apply.start(validate.start(decision, apply.free), decision.reason)
        elif type(decision) is Reserve:
            self._reserve(decision.job, decision.time, decision.reason, decision)
        elif type(decision) is MakeRoom:
            job = validate.make_room(decision)
            # At a place of a plan runs leave by themselves, since processors are only counted.
            return job.processors <= apply.free if decision.where else self._room.make(job, decision.reason)
        elif type(decision) is Wake:
            apply.wake(validate.wake(decision))
        elif type(decision) is Move:
            self._move(decision)
        elif type(decision) is Preempt:
            job = validate.preempt(decision)
            apply.preempt(apply.run_of(job), decision.by or job, decision.reason)
        else:
            validate.unknown(decision)
        return None

    def _reserve(self, job: Any, time: Any, reason: str, decision: Reserve) -> None:
        """Note a reservation; of one job without the calls of Validator.reserve."""
        if type(job) is Job and type(time) is float and time >= self._view.now and self._waits(job):
            self._apply.reserve(job, time, reason)
            return
        for one in decision.parts():
            self._apply.reserve(self._validate.reserve(one), one.time, one.reason)

    def _move(self, decision: Move) -> None:
        """Refused, where there are no tiers."""
        self._validate.move(decision)
