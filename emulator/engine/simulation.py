"""Puts one simulation together."""

from __future__ import annotations

from emulator.accounting.eventlog import EventLog
from emulator.accounting.witness import Witness
from emulator.config.options import Config
from emulator.engine.apply import Apply
from emulator.engine.events import Event
from emulator.engine.loop import Loop, Progress
from emulator.execution.overdue import OVERDUE
from emulator.execution.progress import Progress as Execution
from emulator.hooks import FAILURES, Hooks
from emulator.scheduling.admission import Admission
from emulator.scheduling.room import RoomMaker
from emulator.scheduling.scheduling_pass import SchedulingPass
from emulator.state.jobs import JobTable
from emulator.validate import Validator
from emulator.workload.workload import Workload
from slurm_sim_plugins.manager import Selection
from slurm_sim_plugins.views import BackfillView, Job, SchedulingView


class Simulation:
    """One simulation of one workload, from the empty machine on.

    Args:
        workload: the jobs.
        processors: size of the machine.
        config: how to simulate.
        selection: the plugins; made for this simulation alone.
        log: the event log, or None.
    """

    def __init__(
        self, workload: Workload, processors: int, config: Config, selection: Selection, log: EventLog | None = None
    ) -> None:
        self.table = JobTable(workload)
        self._situation = SchedulingView(processors, compiled=config.compiled)
        self._hooks = Hooks(selection, config.dispatch)
        heap: list[Event] = []
        execution = Execution(self.table, config.preemption, kill_at_limit=config.kill_at_limit)
        witness = Witness(log, self._hooks) if Witness.needed(log, self._hooks) else None
        apply = Apply(self._situation, self.table, execution, OVERDUE[config.expired], heap, witness)
        self._validate = Validator(self._hooks, self._situation, self.table)
        room = RoomMaker(self._situation, self._hooks, apply, self._validate)
        may_overrun = (
            not config.kill_at_limit or self._hooks.walltime_submit is not None or config.preemption.overhead
        )
        scheduling_pass = SchedulingPass(
            self._situation, self._hooks, apply, self._validate, room, may_overrun=may_overrun
        )
        admission = Admission(self._situation, self.table, self._hooks, apply, self._validate)
        self._loop = Loop(self._situation, self.table, heap, apply, admission, scheduling_pass)
        self._passes = config.passes
        if self._hooks.backfill_candidates is not None:
            self._backfill_view = BackfillView(self._situation)
            self._situation._backfill_order = self._backfill_order

    def run(self, report: Progress | None = None) -> None:
        """Run to the end.

        Raises:
            PluginError: a plugin failed, asked for something impossible, or left jobs waiting.
        """
        self._loop.run(self._passes, report)
        if self._situation.head is not None:
            self._validate.stalled()

    def _backfill_order(self, jobs: list[Job]) -> list[Job]:
        object.__setattr__(self._backfill_view, "to_try", tuple(jobs))
        try:
            answer = self._hooks.backfill_candidates(self._backfill_view)  # type: ignore[misc]
        except FAILURES as error:
            self._hooks.fail("backfill_candidates", error, time=self._situation.now)
        return jobs if answer is None else list(self._validate.order(answer, jobs))
