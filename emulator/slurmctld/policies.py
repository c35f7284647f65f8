"""Plugins in Slurm's timing: what they are asked, and a situation for their views.

``PriorityType``, ``PreemptType`` and ``WalltimeType`` may hold any plugin; the loops stay
Slurm's. A priority is asked for when a job is submitted or requeued. Candidates for preemption are asked for
whenever a job does not fit; of those that it names, those go that Slurm's selection needs.
Planned times are what backfill plans with.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from emulator.hooks import FAILURES, Hooks
from emulator.scheduling.queue import JobQueue
from emulator.slurmctld.job import Job as ControlledJob
from slurm_sim_plugins import answers
from slurm_sim_plugins.decisions import Plan
from slurm_sim_plugins.manager import Selection
from slurm_sim_plugins.profile import RunEntry
from slurm_sim_plugins.views import (
    FIRST_PRIORITY,
    Job,
    PreemptView,
    PriorityView,
    Situation,
    WalltimeView,
    new_jobs,
)


class Policies:
    """Asks plugins, and keeps a situation for them: CPUs as processors, runs, the queue.

    Args:
        selection: the plugins.
        cpus: of the cluster.

    Attributes:
        sets_priorities, names_victims, plans: which of the slots hold a plugin that answers.
    """

    def __init__(self, selection: Selection, cpus: int) -> None:
        self._hooks = Hooks(selection)
        self._situation = Situation(cpus)
        self._queue = JobQueue(self._situation)
        self._seen: dict[int, Job] = {}
        self._controlled: dict[int, ControlledJob] = {}
        self._entries: dict[int, RunEntry] = {}
        self._sequence = 0
        self._priority_view = PriorityView(self._situation)
        self._preempt_view = PreemptView(self._situation)
        self._walltime_view = WalltimeView(self._situation)
        object.__setattr__(self._walltime_view, "oracle", None)
        self.sets_priorities = self._hooks.priority_set is not None
        self.names_victims = self._hooks.preempt_candidates is not None
        self.plans = self._hooks.walltime_submit is not None

    def save(self, unsaved: Callable[[ControlledJob], float]) -> None:
        """Let views say how many seconds of a run would be lost."""
        self._situation._unsaved = lambda run: unsaved(self._controlled[run.job.id])

    def arrived(self, job: ControlledJob, now: float) -> None:
        """A job waits: it is planned and gets a priority if plugins say so."""
        seen = self._seen_as(job)
        self._situation.now = now
        if self.plans and not job.runs:
            job.plan = self._plan(seen)
        if self.sets_priorities:
            job.number = self._priority(seen)
        number = job.priority if job.number is None else job.number
        object.__setattr__(seen, "_order", (-number, seen.index))
        self._queue.add(seen)

    def _priority(self, seen: Job) -> float:
        """The number that the plugin gives a job; first come, first served if it gives none."""
        object.__setattr__(self._priority_view, "to_set", (seen,))
        answer = self._asked("priority_set", self._hooks.priority_set, self._priority_view, seen)
        if answer is None:
            return float(FIRST_PRIORITY - seen.index)
        return float(self._checked("priority_set", seen, answers.priorities, answer, [seen])[0])

    def candidates(self, preemptor: ControlledJob, now: float) -> list[ControlledJob]:
        """Running jobs that the plugin would preempt, first to go first."""
        seen = self._seen_as(preemptor)
        self._situation.now = now
        object.__setattr__(self._preempt_view, "preemptor", seen)
        answer = self._asked("preempt_candidates", self._hooks.preempt_candidates, self._preempt_view, seen)
        if answer is None:
            return []
        runs = self._checked("preempt_candidates", seen, answers.victims, answer, seen, self._situation.running)
        return [self._controlled[run.job.id] for run in runs]

    def left(self, job: ControlledJob) -> None:
        """A job waits no longer."""
        seen = self._seen[job.id]
        if seen in self._situation._waiting:
            self._queue.remove(seen)

    def started(self, job: ControlledJob, now: float, cpus: int) -> None:
        """A job is on the machine."""
        self.left(job)
        seen = self._seen[job.id]
        self._sequence += 1
        length = job.plan.running if job.plan is not None else job.plan_limit
        entry = (now + length, self._sequence, cpus, now, seen)
        self._entries[job.id] = entry
        insort(self._situation._runs, entry)
        self._situation.free -= cpus

    def stopped(self, job: ControlledJob, now: float, ran: float | None = None) -> None:
        """A job is not on the machine any more; ``ran`` are the seconds of its work if it has ended for good."""
        entry = self._entries.pop(job.id, None)
        if entry is None:
            return
        runs = self._situation._runs
        del runs[bisect_left(runs, entry)]
        self._situation.free += entry[2]
        self._situation.now = now
        if ran is not None and self._hooks.walltime_learn is not None:
            try:
                self._hooks.walltime_learn(entry[4], ran, now)
            except FAILURES as error:
                self._hooks.fail("walltime_learn", error, time=now, job=job.id)

    def _plan(self, seen: Job) -> Plan | None:
        object.__setattr__(self._walltime_view, "job", seen)
        answer = self._asked("walltime_submit", self._hooks.walltime_submit, self._walltime_view, seen)
        if answer is None:
            return None
        planned: Plan = self._checked("walltime_submit", seen, answers.plan, answer, seen)
        return planned

    def _asked(self, name: str, hook: Any, view: object, job: Job) -> Any:
        try:
            return hook(view)
        except FAILURES as error:
            self._hooks.fail(name, error, time=self._situation.now, job=job.id)

    def _checked(self, hook: str, job: Job, check: Any, *values: Any) -> Any:
        try:
            return check(*values)
        except answers.Refused as refused:
            self._hooks.refuse(hook, refused.message, time=self._situation.now, job=refused.job or job.id)

    def _seen_as(self, job: ControlledJob) -> Job:
        """A job as plugins see it: CPUs as processors, and user, account, QOS and partition as facts."""
        seen = self._seen.get(job.id)
        if seen is None:
            options = job.options
            facts = _Facts(
                user=job.request.user or None,
                account=options.account or None,
                group=options.account or None,
                qos=options.qos or None,
                partition=job.partitions[0].name,
                requeue=0 if options.requeue is False else 1,
            )
            cpus = max(options.tasks or 1, options.min_nodes or 1) * (options.cpus_per_task or 1)
            (seen,) = new_jobs(facts, [job.id], [job.request.submit], [cpus], [job.plan_limit])
            object.__setattr__(seen, "index", len(self._seen))
            self._seen[job.id] = seen
            self._controlled[job.id] = job
        return seen


class _Facts(Mapping[str, Any]):
    """Facts of one job, in the form of columns."""

    def __init__(self, **values: Any) -> None:
        self._values = values

    def __getitem__(self, name: str) -> Any:
        value = self._values.get(name)
        return None if value is None else _Everywhere(value)

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


class _Everywhere:
    """A column that holds one value."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def __getitem__(self, index: int) -> Any:
        return self._value
