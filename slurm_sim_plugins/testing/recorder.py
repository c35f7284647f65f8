"""Record what the hooks of a simulation are asked and what they answer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from slurm_sim_plugins.decisions import Plan
from slurm_sim_plugins.hookspecs import LOOPS, PROJECT
from slurm_sim_plugins.interposing import Around, around_every_hook, hooks, jobs_of, steps, time_of
from slurm_sim_plugins.job_update import JobUpdate
from slurm_sim_plugins.jobs import Job, Run
from slurm_sim_plugins.submission import Reject, Submission

ANSWERED = frozenset(name for name, hook in hooks() if getattr(hook, f"{PROJECT}_spec")["firstresult"])
"""Hooks whose answers count; the others are only told."""


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
            answered None, where no plugin implements the hook, and where it is only told.
    """

    hook: str
    time: float
    about: tuple[int, ...]
    answer: Any


@around_every_hook
class HookRecorder:
    """Observes every hook of a simulation, and changes nothing.

    Attributes:
        calls: in the order in which they were begun.
    """

    name: ClassVar[str] = "observer/hook_recorder"

    def __init__(self) -> None:
        self.calls: list[HookCall] = []
        self._time = 0.0

    def of(self, hook: str) -> list[HookCall]:
        """The calls of one hook."""
        return [each for each in self.calls if each.hook == hook]

    def __len__(self) -> int:
        return len(self.calls)

    def __iter__(self) -> Iterator[HookCall]:
        return iter(self.calls)

    def around(self, hook: str, values: dict[str, Any]) -> Around:
        """Record one call."""
        # A plugin that chooses nodes is shown no time: it is that of the pass that asks.
        index, time = len(self.calls), time_of(values, self._time)
        self._time = time
        about = tuple(job.id for job in jobs_of(hook, values))
        if hook == "job_submit":
            about = (values["view"].submission.id,)
        elif hook == "job_modify":
            about = (values["view"].job.submission.id,)
        self.calls.append(HookCall(hook, time, about, None))
        answer = yield
        if hook not in ANSWERED or answer is None:
            return answer
        if hook in LOOPS and hasattr(answer, "send"):
            decisions: list[Any] = []
            self.calls[index] = HookCall(hook, time, about, decisions)
            return steps(answer, _nothing, lambda decision: _keep(decisions, decision))
        self.calls[index] = HookCall(hook, time, about, _plain(answer))
        return answer


def _nothing() -> None:
    """Before a decision there is nothing to record."""


def _keep(decisions: list[Any], decision: Any) -> None:
    if decision is not None:
        decisions.append(decision)


def _plain(answer: Any) -> Any:
    """An answer that stays what it is: a copy, with ids instead of jobs."""
    if isinstance(answer, Job):
        return answer.id
    if isinstance(answer, Run):
        return answer.job.id
    if isinstance(answer, Plan | Submission | JobUpdate | Reject | str):
        return answer
    try:
        return [_plain(item) for item in answer]
    except TypeError:
        return answer
