"""The plan of a machine whose processors are only counted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from slurm_sim_plugins.counts import Counts
from slurm_sim_plugins.jobs import Job, Run
from slurm_sim_plugins.plan import ANYWHERE, NOT_A_TIME, Answer, SchedulePlan
from slurm_sim_plugins.profile import HALF_A_MICROSECOND, Profile, earliest_start

STARTS = Answer(ANYWHERE)
RESOURCES = Answer(None, "Resources", blocks=True)
OVERTAKES = Answer(None, "Priority", overtakes=True)
"""It fits now, but would delay a promise."""


class CountPlan(SchedulePlan):
    """Free processors over time.

    One promise leaves two numbers: how long a job may be that is over by then, and how many
    processors are left over then. More promises are kept in a profile.

    Args:
        view: the cluster.
    """

    __slots__ = ("_barred", "_extra", "_in_time", "_profile", "_promise", "_view")

    def __init__(self, view: Counts) -> None:
        self._view = view
        self._promise: tuple[Job, float] | None = None
        self._in_time = 0.0
        self._extra = 0
        self._profile: Profile | None = None
        self._barred = False

    def heads(self) -> Iterator[Job]:
        """The queue in its order, up to the promised head; as :meth:`SchedulePlan.heads`."""
        view = self._view
        while (head := view.head) is not None and self._promise is None and not self._barred:
            yield head

    def now(self, entry: Job) -> Answer:
        """A place, or why there is none; as :meth:`SchedulePlan.now`."""
        processors = entry.processors
        if processors > self._view.free:
            return RESOURCES
        if self._promise is None or entry.planned <= self._in_time or processors <= self._extra:
            return STARTS if not self._barred else OVERTAKES
        if self._profile is None:
            return OVERTAKES
        return STARTS if self._profile.room(self._view.now, entry.planned) >= processors else OVERTAKES

    def delays(self, entry: Job) -> bool:
        """Whether a job that fits is certain to delay what was promised; False if that has yet to be looked at."""
        promised = self._promise is not None and self._profile is None
        return promised and entry.processors > self._extra and entry.planned > self._in_time

    def promise(self, entry: Job, not_before: float = 0.0) -> float:
        """The earliest start; as :meth:`SchedulePlan.promise`."""
        if not_before != not_before:
            raise ValueError(NOT_A_TIME)
        view = self._view
        if self._promise is not None:
            return self._promise_one_more(entry, not_before)
        known = view._reservation
        if known is not None and known[0] is entry and known[1][0] > view.now:
            time, extra = known[1]
        else:
            time, extra = view.earliest_start(entry)
        if not_before > time:
            time = not_before
            extra = view.free_at(time) - entry.processors
        self._promise = entry, time
        self._in_time, self._extra = time - view.now + HALF_A_MICROSECOND, extra
        view._plan = self
        return time

    def _promise_one_more(self, entry: Job, not_before: float) -> float:
        view = self._view
        if self._profile is None:
            assert self._promise is not None
            first, time = self._promise
            self._profile = Profile(view.now, view.free, view.running)
            self._profile.place([first.processors], [first.planned], time)
            self._in_time, self._extra = -1.0, -1
        return self._profile.place([entry.processors], [entry.planned], max(not_before, view.now))[0]

    def earliest(self, entry: Job, without: Iterable[Run] = ()) -> float:
        """The earliest start; as :meth:`SchedulePlan.earliest`."""
        view, gone = self._view, {run.job for run in without}
        runs = [run for run in view._runs if run[4] not in gone]
        free = view.total - sum([run[2] for run in runs])
        return earliest_start(entry.processors, free, runs, view.now)[0]

    def alone(self, entry: Job) -> float:
        """When it fits as runs end; as :meth:`SchedulePlan.alone`."""
        return self._view.earliest_start(entry)[0]

    def bar(self, entry: Job) -> None:
        """Nothing more starts; as :meth:`SchedulePlan.bar`."""
        self._barred = True

    def fitting(self, entries: Iterable[Job]) -> Iterator[Job]:
        """Those that fit, each looked at when its turn comes; as :meth:`SchedulePlan.fitting`."""
        view = self._view
        if self._promise is None or self._profile is not None:
            for job in entries:
                if job.processors <= view.free:
                    yield job
            return
        in_time, free, extra = self._in_time, view.free, self._extra
        # What is free and what is left over only shrink: most entries are left out here at once.
        for job in [
            job for job in entries if job.processors <= free and (job.planned <= in_time or job.processors <= extra)
        ]:
            if job.processors <= view.free and (job.planned <= in_time or job.processors <= self._extra):
                yield job

    def started(self, job: Job) -> None:
        """A job has started since the first promise: what is left over for others is less."""
        if self._profile is not None:
            self._profile.place([job.processors], [job.planned_running], self._view.now)
        elif job.planned > self._in_time:
            self._extra -= job.processors
