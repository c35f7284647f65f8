# cython: boundscheck=True, wraparound=True, nonecheck=True
"""Tells the event log, the observers and plugins that learn from run times what happened."""

from __future__ import annotations

from typing import Any, Protocol

from emulator.accounting.eventlog import EventLog, Nodes, Where
from emulator.hooks import FAILURES, Hooks
from emulator.state.instants import MICROSECONDS
from slurm_sim_plugins.jobs import Job, Run
from slurm_sim_plugins.views import ClusterState, View

HEARD = (
    *("job_submitted", "job_started", "job_requeued", "job_suspended", "job_resumed", "job_ended"),
    *("walltime_learn", "pass_done"),
)
"""Hooks that hear what has happened."""
LOGGED = ("preemption", "operator")
"""Causes of suspensions that are logged; turns of time slicing are many, and run records tell them."""


class Known(Protocol):
    """A job, or the request for one."""

    @property
    def id(self) -> int:
        """Its id."""


class Notifier:
    """Is told of every change, on any machine, after it was made; instants are in microseconds.

    Args:
        log: the event log, or None.
        hooks: the observers' hooks among them.

    Attributes:
        of_submissions, of_starts, of_ends: the notifier itself, or None if nothing wants to
            know of them.
        of_run_times: :meth:`learnt`, or None if no plugin learns.
    """

    __slots__ = ("_heard", "_hooks", "_log", "of_ends", "of_run_times", "of_starts", "of_submissions")

    def __init__(self, log: EventLog | None, hooks: Hooks) -> None:
        self._log = log
        self._hooks: Any = hooks
        self._heard = {name: getattr(hooks, name) for name in HEARD}
        self.of_submissions = self if log is not None or self._heard["job_submitted"] is not None else None
        self.of_starts = self if log is not None or self._heard["job_started"] is not None else None
        self.of_ends = self if log is not None or self._heard["job_ended"] is not None else None
        self.of_run_times = self.learnt if self._heard["walltime_learn"] is not None else None

    @staticmethod
    def needed(log: EventLog | None, hooks: Hooks) -> bool:
        """Whether anything listens at all."""
        return log is not None or any(getattr(hooks, name) is not None for name in HEARD)

    def rejected(self, now: int, job: Known, reason: str) -> None:
        """A submission was not taken in."""
        if self._log is not None:
            self._log.reject(now, job.id, reason)

    def submitted(self, now: int, job: Job) -> None:
        """A job was queued."""
        if self._log is not None:
            self._log.submit(now, job.id)
        self._tell("job_submitted", now, job, job)

    def started(
        self,
        now: int,
        run: Run,
        backfilled: bool,
        reason: str,
        where: Where | None = None,
        block: str | None = None,
        nodes: Nodes | None = None,
    ) -> None:
        """A job was started; where, is known where there are tiers, blocks (by name) or nodes."""
        if self._log is not None:
            self._log.start(now, run.job.id, run.processors, backfilled, reason, where, block, nodes)
        self._tell("job_started", now, run.job, run)

    def configured(self, now: int, job: Known) -> None:
        """The nodes of a run have been resumed."""
        if self._log is not None:
            self._log.note(now, "configured", {"job": job.id})

    def moved(self, now: int, job: Job, where: Where, reason: str) -> None:
        """A run moved."""
        if self._log is not None:
            self._log.move(now, job.id, where, reason)

    def rated(self, now: int, job: Job, rate: float) -> None:
        """A run works at a rate from now on."""
        if self._log is not None:
            self._log.rate(now, job.id, rate)

    def preempted(self, now: int, job: Known, preemptor: Known, mode: str, chosen: bool) -> None:
        """A run is preempted, at once or when its grace time is over; whether it was chosen among those named."""
        if self._log is not None:
            self._log.preempt(now, job.id, preemptor.id, mode, chosen)

    def suspended(self, now: int, run: Run, cause: str) -> None:
        """A run stands still."""
        self._log_pause(now, "suspend", run, cause)
        self._tell("job_suspended", now, run.job, run.job, run, cause)

    def resumed(self, now: int, run: Run, cause: str) -> None:
        """A run goes on."""
        self._log_pause(now, "resume", run, cause)
        self._tell("job_resumed", now, run.job, run.job, run, cause)

    def _log_pause(self, now: int, event: str, run: Run, cause: str) -> None:
        if self._log is not None and cause in LOGGED:
            self._log.note(now, event, {"job": run.job.id, "cause": cause})

    def requeued(self, now: int, run: Run, preemptor: Known | None, reason: str) -> None:
        """A run was ended, by preemption if there is a preemptor, and its job waits again."""
        if self._log is not None:
            self._log.requeue(now, run.job.id, preemptor.id if preemptor is not None else None, reason)
        self._tell("job_requeued", now, run.job, run.job, run)

    def returned(self, now: int, job: Job) -> None:
        """The checkpoint of a preempted job is written: it waits again."""
        if self._log is not None:
            self._log.returned(now, job.id)

    def reserved(self, now: int, job: Known, time: float, reason: str) -> None:
        """A job is planned to start at ``time`` (seconds)."""
        if self._log is not None:
            self._log.reserve(now, job.id, time, reason)

    def learnt(self, now: int, job: Job, ran: float) -> None:
        """A job has ended for good, after ``ran`` seconds of work."""
        time = now / MICROSECONDS
        try:
            self._hooks.walltime_learn(job, ran, time)
        except FAILURES as error:
            self._hooks.fail("walltime_learn", error, time=time, job=job.id)

    def ended(self, now: int, job: Job, run: Run | None, state: str, ended: int | None = None) -> None:
        """A job left for good; it has no run if it never ran, ``ended`` is when it ended if that was before."""
        if self._log is not None:
            self._log.end(now, job.id, state, ended)
        self._tell("job_ended", now, job, job, run, state)

    def nodes(self, now: int, nodes: str, state: str, reason: str) -> None:
        """Nodes are in another state from now on."""
        if self._log is not None:
            self._log.note(now, "nodes", {"nodes": nodes, "state": state, "reason": reason})

    def passed(self, now: int, view: View | ClusterState) -> None:
        """A pass is over."""
        hook = self._heard["pass_done"]
        if hook is None:
            return
        try:
            hook(view)
        except FAILURES as error:
            self._hooks.fail("pass_done", error, time=now / MICROSECONDS)

    def _tell(self, name: str, now: int, job: Job, *values: object) -> None:
        hook = self._heard[name]
        if hook is None:
            return
        time = now / MICROSECONDS
        try:
            hook(*values, time)
        except FAILURES as error:
            self._hooks.fail(name, error, time=time, job=job.id)
