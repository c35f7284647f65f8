"""One scheduling pass: the selected scheduler decides, each decision is checked and applied."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

from emulator.engine.apply import Apply
from emulator.hooks import Hooks
from emulator.scheduling.room import RoomMaker
from emulator.validate import Validator
from slurm_sim_plugins.decisions import Decision, MakeRoom, Reserve, Start, Wake
from slurm_sim_plugins.views import SchedulingView, Situation

PATIENCE = 10_000
"""Decisions that change nothing, over twice the length of the queue, before a pass counts as stuck."""


class SchedulingPass:
    """Runs passes.

    Args:
        situation: the current state.
        hooks: the scheduler's hook among them.
        apply: carries decisions out.
        validate: checks them.
        room: makes room by preemption.
    """

    def __init__(
        self, situation: Situation, hooks: Hooks, apply: Apply, validate: Validator, room: RoomMaker
    ) -> None:
        self._situation = situation
        self._hooks = hooks
        self._apply = apply
        self._validate = validate
        self._room = room
        self._view = SchedulingView(situation)
        self._fruitless = 0
        self._carry_out: dict[type, Callable[[Any], bool]] = {
            Start: self._start,
            Reserve: self._reserve,
            MakeRoom: self._make_room,
            Wake: self._wake,
        }

    def run(self) -> None:
        """Make one pass."""
        situation, apply = self._situation, self._apply
        running = situation.running
        if running and running[0][0] < situation.now:
            apply.replan_overdue()
        situation.changed = apply.changed
        apply.changed = False
        self._fruitless = 0
        schedule = self._hooks.schedule
        if schedule is not None:
            try:
                decisions = schedule(self._view)
                if decisions is not None:
                    self._follow(decisions)
            except Exception as error:
                self._hooks.fail("schedule", error, time=situation.now)
        situation.newcomers.clear()
        if situation.queue:
            apply.left_blocked(situation.queue[0], apply.now)
        if self._hooks.pass_done is not None:
            self._pass_done()

    def _follow(self, decisions: Generator[Decision, bool, None]) -> None:
        self._validate.generator(decisions)
        self._validate.decisions = decisions
        carry_out = self._carry_out
        send = decisions.send
        try:
            decision = next(decisions)
            while True:
                handler = carry_out.get(type(decision))
                if handler is None:
                    self._validate.unknown(decision)
                decision = send(handler(decision))  # type: ignore[misc]
        except StopIteration:
            pass

    def _start(self, decision: Start) -> bool:
        self._apply.start(self._validate.start(decision), decision.reason)
        self._fruitless = 0
        return True

    def _reserve(self, decision: Reserve) -> bool:
        self._apply.reserve(self._validate.reserve(decision), decision.time, decision.reason)
        self._count_fruitless()
        return True

    def _make_room(self, decision: MakeRoom) -> bool:
        made = self._room.make(self._validate.make_room(decision), decision.reason)
        self._count_fruitless()
        return made

    def _wake(self, decision: Wake) -> bool:
        self._apply.wake(self._validate.wake(decision))
        self._count_fruitless()
        return True

    def _count_fruitless(self) -> None:
        self._fruitless += 1
        if self._fruitless > PATIENCE + 2 * len(self._situation.queue):
            self._validate.no_progress(self._fruitless)

    def _pass_done(self) -> None:
        try:
            self._hooks.pass_done(self._view)  # type: ignore[misc]
        except Exception as error:
            self._hooks.fail("pass_done", error, time=self._situation.now)
