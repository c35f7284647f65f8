"""Tells the event log, the observers and who learns from run times what happened."""

from __future__ import annotations

from emulator.accounting.eventlog import EventLog, Place
from emulator.engine.clock import MICROSECONDS
from emulator.hooks import FAILURES, Hook, Hooks
from slurm_sim_plugins.views import Job, Run


class Witness:
    """Is told of every change, after it was made; instants are in microseconds.

    Args:
        log: the event log, or None.
        hooks: the observers' hooks among them.

    Attributes:
        of_submissions, of_starts, of_ends: the witness itself, or None if nobody wants to
            know of them.
        of_run_times: :meth:`learnt`, or None if nobody learns.
    """

    def __init__(self, log: EventLog | None, hooks: Hooks) -> None:
        self._log = log
        self._hooks = hooks
        self.of_submissions = self if log is not None or hooks.job_submitted is not None else None
        self.of_starts = self if log is not None or hooks.job_started is not None else None
        self.of_ends = self if log is not None or hooks.job_ended is not None else None
        self.of_run_times = self.learnt if hooks.walltime_learn is not None else None

    @staticmethod
    def needed(log: EventLog | None, hooks: Hooks) -> bool:
        """Whether anybody listens at all."""
        observers = (
            hooks.job_submitted,
            hooks.job_started,
            hooks.job_requeued,
            hooks.job_ended,
            hooks.walltime_learn,
        )
        return log is not None or any(hook is not None for hook in observers)

    def rejected(self, now: int, job: Job, reason: str) -> None:
        """A submission was not taken in."""
        if self._log is not None:
            self._log.reject(now, job.id, reason)

    def submitted(self, now: int, job: Job) -> None:
        """A job was queued."""
        if self._log is not None:
            self._log.submit(now, job.id)
        self._tell("job_submitted", self._hooks.job_submitted, now, job, job)

    def started(
        self, now: int, run: Run, backfilled: bool, reason: str, place: Place | None = None, block: str | None = None
    ) -> None:
        """A job was started; the place is known where there are tiers, the name of its block where there are blocks."""
        if self._log is not None:
            self._log.start(now, run.job.id, run.processors, backfilled, reason, place, block)
        self._tell("job_started", self._hooks.job_started, now, run.job, run)

    def moved(self, now: int, job: Job, place: Place, reason: str) -> None:
        """A run went to another place."""
        if self._log is not None:
            self._log.move(now, job.id, place, reason)

    def rated(self, now: int, job: Job, rate: float) -> None:
        """A run works at a rate from now on."""
        if self._log is not None:
            self._log.rate(now, job.id, rate)

    def requeued(self, now: int, run: Run, preemptor: Job, reason: str) -> None:
        """A run was ended by preemption."""
        if self._log is not None:
            self._log.requeue(now, run.job.id, preemptor.id, reason)
        self._tell("job_requeued", self._hooks.job_requeued, now, run.job, run.job, run)

    def returned(self, now: int, job: Job) -> None:
        """The checkpoint of a preempted job is written: it waits again."""
        if self._log is not None:
            self._log.returned(now, job.id)

    def reserved(self, now: int, job: Job, time: float, reason: str) -> None:
        """A job is planned to start at ``time`` (seconds)."""
        if self._log is not None:
            self._log.reserve(now, job.id, time, reason)

    def learnt(self, now: int, job: Job, ran: float) -> None:
        """A job has ended for good, after ``ran`` seconds of work."""
        time = now / MICROSECONDS
        try:
            self._hooks.walltime_learn(job, ran, time)  # type: ignore[misc]
        except FAILURES as error:
            self._hooks.fail("walltime_learn", error, time=time, job=job.id)

    def ended(self, now: int, run: Run, state: str) -> None:
        """A job left the machine for good."""
        if self._log is not None:
            self._log.end(now, run.job.id, state)
        self._tell("job_ended", self._hooks.job_ended, now, run.job, run.job, run, state)

    def _tell(self, name: str, hook: Hook, now: int, job: Job, *values: object) -> None:
        if hook is None:
            return
        time = now / MICROSECONDS
        try:
            hook(*values, time)
        except FAILURES as error:
            self._hooks.fail(name, error, time=time, job=job.id)
