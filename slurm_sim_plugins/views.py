"""Read-only views: what a hook is shown of the simulated cluster.

Times and durations are float seconds on the workload's clock. A view is one object,
reused for every call: read it during the call, keep nothing but the jobs. Assigning
to a view or to a job raises AttributeError; a plugin asks for a change by its answer.
The true run time of a job is not reachable from here.

:class:`Situation` is the state behind the views. It belongs to whoever runs the
hooks (the emulator, or a test), never to a plugin.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn, overload

from slurm_sim_plugins.profile import Profile, earliest_start

JobFacts = Mapping[str, Sequence[Any]]
"""Columns of the workload by name, one value a job, in the order of (submit, id)."""


class ReadOnly:
    """Refuses assignment, with words that name the attribute."""

    __slots__ = ()

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(
            f"{type(self).__name__}.{name} is read-only: a plugin asks for a change by what the hook answers"
        )

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{type(self).__name__}.{name} is read-only")


class JobFields:
    """Storage of :class:`Job`; only whoever owns the situation writes to it."""

    __slots__ = (
        "_facts",
        "_order",
        "id",
        "index",
        "planned",
        "priority",
        "processors",
        "requeues",
        "submit",
        "time_limit",
    )

    def __init__(
        self,
        facts: JobFacts,
        index: int,
        id: int,
        submit: float,
        processors: int,
        time_limit: float,
        priority: float,
        order: Any,
    ) -> None:
        self._facts = facts
        self._order = order
        self.index = index
        self.id = id
        self.submit = submit
        self.processors = processors
        self.time_limit = time_limit
        self.planned = time_limit
        self.priority = priority
        self.requeues = 0


class Job(JobFields, ReadOnly):
    """A job as a plugin may know it.

    Attributes:
        id: the trace's job id.
        index: position in the simulation's order of (submit, id), from 0.
        submit: when it was submitted first; a requeue does not change it.
        processors: how many it wants.
        time_limit: requested seconds; it is killed there if the run kills at the limit.
        planned: seconds that schedulers plan with, as the walltime plugin answered;
            the limit if there is none. A planned time never kills.
        priority: the number that the priority plugin gave last; higher goes first.
        requeues: how often it was sent back to the queue.
    """

    __slots__ = ()

    def fact(self, name: str) -> Any:
        """A further column of the workload, such as ``"user"``; None where it is unknown."""
        column = self._facts.get(name)
        return None if column is None else column[self.index]

    @property
    def user(self) -> Any:
        """Who submitted it, or None."""
        return self.fact("user")

    @property
    def group(self) -> Any:
        """The submitter's group, or None."""
        return self.fact("group")

    @property
    def queue(self) -> Any:
        """The queue that the trace names, or None."""
        return self.fact("queue")

    @property
    def partition(self) -> Any:
        """The partition that the trace names, or None."""
        return self.fact("partition")

    @property
    def predicted(self) -> float | None:
        """A prediction of the run time, in seconds, that came with the workload, or None."""
        value: float | None = self.fact("predicted")
        return value

    def outranks(self, other: Job) -> bool:
        """Whether this job goes before ``other``: priority first, then (submit, id)."""
        return bool(self._order < other._order)

    def __repr__(self) -> str:
        return f"<Job {self.id}: {self.processors} processors, limit {self.time_limit:g} s, submitted {self.submit:g}>"


def new_job(
    facts: JobFacts,
    index: int,
    id: int,
    submit: float,
    processors: int,
    time_limit: float,
    priority: float,
    order: Any,
) -> Job:
    """Make a job. Its storage is filled first and sealed afterwards, which costs least."""
    job = JobFields(facts, index, id, submit, processors, time_limit, priority, order)
    job.__class__ = Job
    return job  # type: ignore[return-value]


class Run(NamedTuple):
    """One run of a job on the machine. Runs sort by planned end, then by start."""

    planned_end: float
    """When it is planned to end, in seconds; may have passed."""
    sequence: int
    """Starts are numbered through a simulation."""
    processors: int
    start: float
    job: Job


class Jobs(Sequence[Job]):
    """A sequence that follows the situation and cannot be changed."""

    __slots__ = ("_items",)

    def __init__(self, items: list[Job]) -> None:
        self._items = items

    @overload
    def __getitem__(self, index: int) -> Job: ...
    @overload
    def __getitem__(self, index: slice) -> list[Job]: ...
    def __getitem__(self, index: int | slice) -> Job | list[Job]:
        return self._items[index]

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[Job]:
        return iter(self._items)

    def __repr__(self) -> str:
        return repr(self._items)


class Runs(Sequence[Run]):
    """The runs of now, by planned end; follows the situation and cannot be changed."""

    __slots__ = ("_items",)

    def __init__(self, items: list[Run]) -> None:
        self._items = items

    @overload
    def __getitem__(self, index: int) -> Run: ...
    @overload
    def __getitem__(self, index: slice) -> list[Run]: ...
    def __getitem__(self, index: int | slice) -> Run | list[Run]:
        return self._items[index]

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[Run]:
        return iter(self._items)

    def __repr__(self) -> str:
        return repr(self._items)


class Situation:
    """The cluster at one instant: what every view shows. Plain and mutable.

    Attributes:
        now: simulated time.
        total: processors of the machine.
        free: processors that are idle.
        queue: waiting jobs, highest priority first.
        running: runs, ascending by (planned end, sequence).
        version: grows whenever ``running`` or ``free`` changes.
        changed: whether anything but submissions behind the head of the queue has
            happened since the scheduler's last pass.
        newcomers: jobs queued since then, in the order of the queue.
        backfill_order: answers for the plugin in the BackfillType slot, or None for
            the order of the queue.
        compiled: use the compiled profile.
        reservation: the last answer of :meth:`SchedulingView.earliest_start`, kept:
            (job, version, answer).
    """

    __slots__ = (
        "backfill_order",
        "changed",
        "compiled",
        "free",
        "newcomers",
        "now",
        "queue",
        "reservation",
        "running",
        "total",
        "version",
    )

    def __init__(self, total: int, *, now: float = 0.0, compiled: bool = False) -> None:
        self.now = now
        self.total = total
        self.free = total
        self.queue: list[Job] = []
        self.running: list[Run] = []
        self.version = 0
        self.changed = True
        self.newcomers: list[Job] = []
        self.backfill_order: Callable[[list[Job]], Sequence[Job]] | None = None
        self.compiled = compiled
        self.reservation: tuple[Job | None, int, tuple[float, int]] = (None, -1, (0.0, 0))


class View(ReadOnly):
    """What every hook may see.

    Args:
        situation: the state to show; the view follows it.
    """

    __slots__ = ("_situation", "queue", "running")

    queue: Jobs
    """Waiting jobs, highest priority first."""
    running: Runs
    """Runs of now, by planned end, then by start."""

    def __init__(self, situation: Situation) -> None:
        write = object.__setattr__
        write(self, "_situation", situation)
        write(self, "queue", Jobs(situation.queue))
        write(self, "running", Runs(situation.running))

    _situation: Situation

    @property
    def now(self) -> float:
        """Simulated time in seconds."""
        return self._situation.now

    @property
    def total(self) -> int:
        """Processors of the machine."""
        return self._situation.total

    @property
    def free(self) -> int:
        """Processors that are idle now."""
        return self._situation.free

    @property
    def head(self) -> Job | None:
        """The waiting job of the highest priority, or None."""
        queue = self._situation.queue
        return queue[0] if queue else None


class PriorityView(View):
    """What ``priority_set`` sees."""

    __slots__ = ("to_set",)

    to_set: Sequence[Job]
    """The jobs that want a number, in the order of (submit, id)."""


class BackfillView(View):
    """What ``backfill_candidates`` sees."""

    __slots__ = ("to_try",)

    to_try: Sequence[Job]
    """The jobs to put in order: they wait behind the head and fit into what is free."""


class PreemptView(View):
    """What ``preempt_candidates`` sees."""

    __slots__ = ("preemptor",)

    preemptor: Job
    """The waiting job for which room is to be made."""


class WalltimeView(View):
    """What ``walltime_submit`` sees."""

    __slots__ = ("job",)

    job: Job
    """The job that is being submitted; it is not yet in the queue."""


class SchedulingView(View):
    """What ``schedule`` sees; always current, also between two decisions of a pass."""

    __slots__ = ()

    @property
    def changed(self) -> bool:
        """False if, since the last pass, jobs were only submitted, behind the head.

        Then every reservation stands where it stood, and who was refused for want of
        processors or time would be refused again.
        """
        return self._situation.changed

    @property
    def newcomers(self) -> Sequence[Job]:
        """The jobs queued since the last pass, in the order of the queue."""
        return tuple(self._situation.newcomers)

    def earliest_start(self, job: Job) -> tuple[float, int]:
        """When ``job`` fits if nothing else starts, and the extra processors then.

        Returns:
            ``(time, extra)``: the first planned time at which enough processors are
            free, and how many of them the job leaves over. It is now for a job that
            waits for nothing but runs which have outlived their planned ends.
        """
        situation = self._situation
        kept_for, version, answer = situation.reservation
        if kept_for is not job or version != situation.version or answer[0] <= situation.now:
            answer = earliest_start(job.processors, situation.free, situation.running, situation.now)
            situation.reservation = (job, situation.version, answer)
        return answer

    def candidates(self, *, retry: bool = True) -> Iterator[Job]:
        """Waiting jobs, but for the head, that fit into what is free when their turn comes.

        They come in the order of the plugin in the BackfillType slot.

        Args:
            retry: False leaves out who was a candidate in an earlier pass; right for a
                scheduler that would refuse it again (see :attr:`changed`).
        """
        situation = self._situation
        free = situation.free
        if not free:
            return
        pool = situation.queue[1:] if retry else situation.newcomers
        fitting = [job for job in pool if job.processors <= free]
        if not fitting:
            return
        if not retry and fitting[0] is situation.queue[0]:
            del fitting[0]
        if situation.backfill_order is not None and fitting:
            fitting = list(situation.backfill_order(fitting))
        for job in fitting:
            if job.processors <= situation.free:
                yield job

    def profile(self) -> Profile:
        """Free processors over time as planned: what runs, until its planned ends."""
        situation = self._situation
        if situation.compiled:
            from slurm_sim_plugins.profile_compiled import CompiledProfile

            return CompiledProfile(situation.now, situation.free, situation.running)
        return Profile(situation.now, situation.free, situation.running)
