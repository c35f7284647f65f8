"""Puts one simulation together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from emulator.accounting.eventlog import EventLog
from emulator.accounting.notifier import Notifier
from emulator.accounting.stays import stay_table
from emulator.config.options import Config
from emulator.engine.apply import Apply
from emulator.engine.event_heap import EventHeap
from emulator.engine.loop import NO_MORE, Loop, Progress
from emulator.execution.overdue import OVERDUE
from emulator.execution.progress import Progress as Execution
from emulator.execution.progress import Unsaved
from emulator.hooks import Hooks
from emulator.hooktable import BLOCKS, TIERS, check_hooks
from emulator.machines import PROCESSORS, check_companions, check_machines
from emulator.scheduling.admission import Admission
from emulator.scheduling.priorities import Priorities
from emulator.scheduling.room import RoomMaker
from emulator.scheduling.scheduling_pass import SchedulingPass
from emulator.state.jobs import COMPLETED, FUTURE, REJECTED, RUNNING, TIMEOUT, JobTable
from emulator.validate import Validator
from emulator.workload.workload import Workload
from slurm_sim_plugins.errors import ConfigurationError
from slurm_sim_plugins.kernels import why_plain
from slurm_sim_plugins.manager import Selection, names_in
from slurm_sim_plugins.views import SchedulingView

if TYPE_CHECKING:
    from emulator.accounting.stays import StayTable
    from emulator.execution.tiers import PastStay
    from slurm_sim_plugins.tiers import Tiers

OF_PASS = ("_apply", "_schedule", "_main_loop", "_renew", "before")
OF_APPLY = ("_heap", "_overdue", "_queue", "renumber", "replan", "runs")
"""Attributes by which parts of a simulation hold each other, and all jobs."""


class Simulation:
    """One simulation of one workload, from the empty machine on.

    Args:
        workload: the jobs.
        processors: size of the machine.
        config: how to simulate.
        selection: the plugins; made for this simulation alone.
        log: the event log, or None.

    Raises:
        ConfigurationError: plugins or options that cannot go together.
        InputError: the workload lacks a column that a plugin needs.
    """

    def __init__(
        self, workload: Workload, processors: int, config: Config, selection: Selection, log: EventLog | None = None
    ) -> None:
        check_machines(selection, names_in(selection.slots), PROCESSORS)
        check_companions(selection)
        self.table = JobTable(workload)
        kernels = config.kernels(len(self.table))
        compiled = not why_plain() if kernels is None else kernels
        self._cluster_state = SchedulingView(processors, compiled=compiled)
        self._hooks = Hooks(selection, config.dispatch)
        kind = TIERS if self._hooks.tiered else BLOCKS if self._hooks.on_blocks else PROCESSORS
        check_hooks(selection, selection.infos, kind, "ideal")
        heap = EventHeap()
        execution = Execution(self.table, config.preemption, kill_at_limit=config.kill_at_limit)
        notifier = Notifier(log, self._hooks) if Notifier.needed(log, self._hooks) else None
        self._validate = Validator(self._hooks, self._cluster_state, self.table)
        parts = (self._cluster_state, self.table, execution, OVERDUE[config.expired], heap, notifier)
        apply = Apply(*parts)
        make_pass = SchedulingPass
        self._stays: list[PastStay] | None = None
        if self._hooks.tiered:
            from emulator.engine.tiered import make_apply
            from emulator.scheduling.tiered_pass import TieredPass

            make_pass = TieredPass
            apply = make_apply(parts, self._cluster_state, self._hooks, self._validate, selection, workload, config)
            self._stays = apply.past
        check_tiers(selection, self._cluster_state.tiers)
        room = RoomMaker(self._cluster_state, self._hooks, apply, self._validate)
        if self._hooks.on_blocks:
            from emulator.engine.blocks import make_block_parts
            from emulator.scheduling.block_pass import BlockPass, BlockRoomMaker

            make_pass = BlockPass
            apply, selector = make_block_parts(parts, self._cluster_state, self._hooks, self._validate, selection)
            room = BlockRoomMaker(self._cluster_state, self._hooks, apply, self._validate, selector=selector)
        if self._hooks.preempt_candidates is not None and config.preemption.overhead:
            self._cluster_state._unsaved = Unsaved(self._cluster_state, self.table, execution, apply.delay).seconds
        planned = self._hooks.walltime_submit is not None or self._hooks.walltime_pending is not None
        may_overrun = planned or not config.kill_at_limit or config.preemption.overhead
        priorities = Priorities(self._cluster_state, self.table, self._hooks, apply, self._validate)
        if self._hooks.priority_period is not None:
            apply.renumber = priorities.set
        self._pass = make_pass(
            self._cluster_state, self._hooks, apply, self._validate, room, priorities, may_overrun=may_overrun
        )
        admission = Admission(self._cluster_state, self.table, self._hooks, apply, self._validate, priorities)
        self._apply = apply
        self._loop = Loop(self._cluster_state, self.table, heap, apply, admission, self._pass, config.passes)

    def run(self, report: Progress | None = None) -> None:
        """Run to the end.

        Raises:
            PluginError: a plugin failed, asked for something impossible, or left jobs waiting.
        """
        self._loop.run(report)
        if self._cluster_state.head is not None:
            self._validate.stalled()
        if self._cluster_state.tiers is not None:
            self._validate.at_rest(self._cluster_state.tiers)

    def close(self) -> None:
        """Let go of all state. The parts refer to each other, and would wait for Python's collector of cycles."""
        for part, names in ((self._pass, OF_PASS), (self._apply, OF_APPLY)):
            for name in names:
                setattr(part, name, None)
        self._cluster_state._backfill_order = self._cluster_state._unsaved = None

    @property
    def stays(self) -> StayTable | None:
        """Where runs were, if the ExecutionType has tiers; None if it has not."""
        return stay_table(self._stays) if self._stays is not None else None

    @property
    def cluster_state(self) -> SchedulingView:
        """The current state, as schedulers see it."""
        return self._cluster_state

    def advance(self, until: int) -> None:
        """Run up to an instant (microseconds), but not what happens at it.

        Raises:
            PluginError: as :meth:`run`.
        """
        self._loop.advance(until)

    def advance_without_those_below(self, index: int) -> None:
        """Run until a job has started for good, without the waiting jobs that it outranks.

        Lower-priority jobs that run already stay. Where jobs may be preempted, a start is
        for good when the job has ended.

        Raises:
            PluginError: as :meth:`run`.
        """
        job = self.table.jobs[index]
        done = {COMPLETED, TIMEOUT, REJECTED} | (set() if self._hooks.preempt_candidates else {RUNNING})

        before = self._pass.before

        def withdraw() -> None:
            if self.table.state[index] != FUTURE:
                for other in [other for other in self._cluster_state.queue if job.outranks(other)]:
                    self._apply.withdraw(other)
            if before is not None and self._cluster_state.head is not None:
                before()

        self._pass.before = withdraw
        while self.table.state[index] not in done:
            if self._loop.next_instant == NO_MORE:
                self._validate.stalled()
            self._loop.advance(self._loop.next_instant + 1)


def check_tiers(selection: Selection, tiers: Tiers | None) -> None:
    """Check that a scheduler that says ``needs_tiers`` has them.

    Raises:
        ConfigurationError: it has not.
    """
    name = selection.slots["SchedulerType"]
    names = tiers.names if tiers is not None else ()
    missing = [tier for tier in getattr(selection.plugins[name], "needs_tiers", ()) if tier not in names]
    if missing:
        raise ConfigurationError(
            f"{name} needs the tier {missing[0]}, which {selection.slots['ExecutionType']} does not have; "
            "set ExecutionType=execution/two_tier"
        )
