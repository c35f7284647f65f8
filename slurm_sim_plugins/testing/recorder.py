"""Record what the hooks of a simulation are asked and what they answer."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from slurm_sim_plugins.decisions import Plan
from slurm_sim_plugins.hookspecs import hookimpl
from slurm_sim_plugins.views import Job, Run


@dataclass(frozen=True)
class HookCall:
    """One call of a hook.

    Attributes:
        hook: its name.
        time: simulated time in seconds.
        about: ids of the jobs that it was about: those to set, to try, waiting; the
            preemptor, the job.
        answer: what it answered, jobs and runs by the ids of the jobs; of ``schedule`` the
            decisions, in the order in which they were carried out. None where the plugin
            answered None and where nobody implements the hook.
    """

    hook: str
    time: float
    about: tuple[int, ...]
    answer: Any


class HookRecorder:
    """Observes every hook of a simulation, and changes nothing.

    Attributes:
        calls: in the order in which they were begun.
    """

    name: ClassVar[str] = "observer/hook_recorder"

    def __init__(self) -> None:
        self.calls: list[HookCall] = []

    def of(self, hook: str) -> list[HookCall]:
        """The calls of one hook."""
        return [each for each in self.calls if each.hook == hook]

    def __len__(self) -> int:
        return len(self.calls)

    def __iter__(self) -> Iterator[HookCall]:
        return iter(self.calls)

    @hookimpl(wrapper=True)
    def priority_set(self, view: Any) -> Generator[None, Any, Any]:
        """Record it."""
        return (yield from self._note("priority_set", view.now, view.to_set))

    @hookimpl(wrapper=True)
    def backfill_candidates(self, view: Any) -> Generator[None, Any, Any]:
        """Record it."""
        return (yield from self._note("backfill_candidates", view.now, view.to_try))

    @hookimpl(wrapper=True)
    def preempt_candidates(self, view: Any) -> Generator[None, Any, Any]:
        """Record it."""
        return (yield from self._note("preempt_candidates", view.now, (view.preemptor,)))

    @hookimpl(wrapper=True)
    def walltime_submit(self, view: Any) -> Generator[None, Any, Any]:
        """Record it."""
        return (yield from self._note("walltime_submit", view.now, (view.job,)))

    @hookimpl(wrapper=True)
    def walltime_pending(self, view: Any) -> Generator[None, Any, Any]:
        """Record it."""
        return (yield from self._note("walltime_pending", view.now, view.waiting))

    @hookimpl(wrapper=True)
    def walltime_learn(self, job: Job, ran: float, now: float) -> Generator[None, Any, Any]:
        """Record it."""
        return (yield from self._note("walltime_learn", now, (job,), answers=False))

    @hookimpl(wrapper=True)
    def schedule(self, view: Any) -> Generator[None, Any, Any]:
        """Record it, with the decisions as they are made."""
        decisions: list[Any] = []
        self.calls.append(HookCall("schedule", view.now, tuple(job.id for job in view.queue), decisions))
        answer = yield
        return answer if answer is None or not hasattr(answer, "send") else _recorded(answer, decisions)

    @hookimpl(wrapper=True)
    def job_submitted(self, job: Job, now: float) -> Generator[None, Any, Any]:
        """Record it."""
        return (yield from self._note("job_submitted", now, (job,), answers=False))

    @hookimpl(wrapper=True)
    def job_started(self, run: Run, now: float) -> Generator[None, Any, Any]:
        """Record it."""
        return (yield from self._note("job_started", now, (run.job,), answers=False))

    @hookimpl(wrapper=True)
    def job_requeued(self, job: Job, now: float) -> Generator[None, Any, Any]:
        """Record it."""
        return (yield from self._note("job_requeued", now, (job,), answers=False))

    @hookimpl(wrapper=True)
    def job_ended(self, job: Job, now: float) -> Generator[None, Any, Any]:
        """Record it."""
        return (yield from self._note("job_ended", now, (job,), answers=False))

    @hookimpl(wrapper=True)
    def pass_done(self, view: Any) -> Generator[None, Any, Any]:
        """Record it."""
        return (yield from self._note("pass_done", view.now, (), answers=False))

    def _note(self, hook: str, time: float, jobs: Iterable[Job], answers: bool = True) -> Generator[None, Any, Any]:
        place = len(self.calls)
        about = tuple(job.id for job in jobs)
        self.calls.append(HookCall(hook, time, about, None))
        answer = yield
        if answers and answer is not None:
            self.calls[place] = HookCall(hook, time, about, _plain(answer))
        return answer


def _recorded(decisions: Any, into: list[Any]) -> Generator[Any, Any, None]:
    """The same decisions, noted when the pass goes on after each."""
    answer = None
    while True:
        try:
            decision = decisions.send(answer)
        except StopIteration:
            return
        into.append(decision)
        answer = yield decision


def _plain(answer: Any) -> Any:
    """An answer that stays what it is: a copy, with ids in the place of jobs."""
    if isinstance(answer, Job):
        return answer.id
    if isinstance(answer, Run):
        return answer.job.id
    if isinstance(answer, Plan | str):
        return answer
    try:
        return [_plain(item) for item in answer]
    except TypeError:
        return answer
