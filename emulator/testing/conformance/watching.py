"""Observers that watch what a plugin does to what it is shown."""

from __future__ import annotations

from operator import attrgetter
from typing import Any, ClassVar

from slurm_sim_plugins.hookspecs import LOOPS, hookimpl
from slurm_sim_plugins.interposing import Around, around_every_hook, jobs_of, steps
from slurm_sim_plugins.job_fields import JobFields
from slurm_sim_plugins.jobs import Job
from slurm_sim_plugins.views import ClusterState, View

Snapshot = dict[Any, Any]
"""What is seen, by the name of it; of a job all fields, by the job."""
JOB_FIELDS = tuple(name for name in JobFields.__slots__ if name != "_facts")
_FIELDS_OF_JOB = attrgetter(*JOB_FIELDS)
STATE_FIELDS = ("now", "free", "head", "changed")


@around_every_hook
class Watcher:
    """Compares the cluster state before and after each hook, and a view's own attributes.

    Attributes:
        changes: (hook, what was changed), in order; a scheduler's decisions are carried
            out between two of its steps, and are not counted.
    """

    name: ClassVar[str] = "observer/watcher"

    def __init__(self) -> None:
        self.changes: list[tuple[str, str]] = []

    def around(self, hook: str, values: dict[str, Any]) -> Around:
        """Watch one call, of a scheduler each of its steps."""
        view, about = values.get("view"), jobs_of(hook, values)
        before = _snapshot(view, about)
        try:
            answer = yield
        finally:
            self._compare(hook, before, _snapshot(view, about))
        if hook not in LOOPS or not hasattr(answer, "send"):
            return answer
        seen: list[Snapshot] = []
        return steps(
            answer,
            lambda: seen.append(_snapshot(view, ())),
            lambda _: self._compare(hook, seen.pop(), _snapshot(view, ())),
        )

    def _compare(self, hook: str, before: Snapshot, after: Snapshot) -> None:
        for name, value in before.items():
            if after.get(name, value) != value:
                self.changes.append((hook, _in_words(name, value, after[name])))
                return


def _snapshot(view: ClusterState | View | None, jobs: tuple[Job, ...]) -> Snapshot:
    """All that can be seen."""
    seen: Snapshot = {}
    cluster_state = view if isinstance(view, ClusterState) else view._cluster_state if view is not None else None
    if cluster_state is not None:
        seen |= {f"view.{name}": getattr(cluster_state, name) for name in STATE_FIELDS}
        seen["view.queue"] = cluster_state._waiting.copy()
        seen["view.running"] = cluster_state._runs.copy()
        seen["view.new_jobs"] = cluster_state._arrived.copy()
        seen |= {job: _FIELDS_OF_JOB(job) for job in cluster_state._waiting}
        seen |= {entry[4]: _FIELDS_OF_JOB(entry[4]) for entry in cluster_state._runs}
    if isinstance(view, View):
        own = [name for name in type(view).__slots__ if name != "_cluster_state"]
        seen |= {f"view.{name}": _copied(getattr(view, name)) for name in own}
    return seen | {job: _FIELDS_OF_JOB(job) for job in jobs}


def _copied(value: Any) -> Any:
    return list(value) if isinstance(value, list | tuple) else value


def _in_words(name: Any, before: Any, after: Any) -> str:
    if isinstance(name, Job):
        index = next(index for index, value in enumerate(before) if after[index] != value)
        return f"job {name.id}'s {JOB_FIELDS[index]} was {before[index]!r} and is {after[index]!r}"
    return f"{name} was {before!r} and is {after!r}"


class Requeues:
    """Counts preemptions, and ends a simulation in which there is no end to them.

    Attributes:
        most: so many there may be.
    """

    name: ClassVar[str] = "observer/requeues"
    most: ClassVar[int] = 0

    def __init__(self) -> None:
        self._count = 0

    @hookimpl
    def job_requeued(self, now: float) -> None:
        """Count it."""
        self._count += 1
        if self._count > self.most:
            raise Endless(self._count, now)


class Endless(Exception):  # noqa: N818 - it is a finding
    """There were too many preemptions."""

    def __init__(self, count: int, now: float) -> None:
        self.count = count
        self.now = now
        super().__init__(f"{count} preemptions until {now:g} s")
