"""What is submitted: a job or an array of them, and what its work will be."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TypeVar

from emulator.workload.sbatch import BatchOptions
from slurm_sim_plugins.errors import InputError

T = TypeVar("T")
UNLIMITED = float("inf")


class RejectedError(InputError):
    """A submission that Slurm refuses, with its words."""


class PartlyRefusedError(InputError):
    """Some of the jobs that a command names refused it; the others took it."""


@dataclass(frozen=True, slots=True)
class JobRequest:
    """A submission.

    Attributes:
        id: job id, unique.
        submit: when it is submitted, in seconds.
        run: seconds of work; the job ends by itself after that.
        options: what it asks for.
        user: for whom.
        exit_code: what its work ends with.
        ignores_term: whether only SIGKILL ends it.
        signal_time: seconds before its limit at which a signal ends its work (``--signal=B:``); None if none does.
        dies_in: seconds from SIGTERM to its end; None for at once, or ``KillWait`` if it ignores that.
        noticed: the second from which on the scheduler knows of it, if that is later.
        learnt: seconds that plugins are told it has taken, if these are not what it took.
        epilogs: seconds from the end of each of its runs until its nodes are free; beyond these, what the cluster says.
        outlasts: of each of its tasks or components (or of itself), by how many seconds each run outlasts its work;
            None, and beyond these, what the cluster says.
        clears: in the same way, seconds from the end of a run until its nodes are clear.
        asked_clear: in the same way, whether they do not say so themselves, for which there is a pass at once.
        task_runs, task_exits: of an array whose tasks differ: ``run`` and ``exit_code`` of each, in order.
        array: id of the array that it is a task of, or None.
        task: index in that array.
        het_job_id: id of the first component of the heterogeneous job that it is a component of, or None.
        het_job_offset: its place among the components, from 0 on.
        realtime: whether a log says that it is a real-time job.
        called: its name, where it is not in ``options``, which jobs that ask for the same share.
        location: file and line where it stands, if it does.
    """

    id: int
    submit: float
    run: float
    options: BatchOptions = field(default_factory=BatchOptions)
    user: str = ""
    exit_code: int = 0
    ignores_term: bool = False
    signal_time: float | None = None
    dies_in: float | None = None
    noticed: float = -math.inf
    learnt: float | None = None
    epilogs: tuple[float, ...] = ()
    outlasts: tuple[tuple[float | None, ...], ...] = ()
    clears: tuple[tuple[float | None, ...], ...] = ()
    asked_clear: tuple[tuple[bool | None, ...], ...] = ()
    task_runs: tuple[float, ...] = ()
    task_exits: tuple[int, ...] = ()
    array: int | None = None
    task: int = 0
    het_job_id: int | None = None
    het_job_offset: int = 0
    realtime: bool = False
    called: str = ""
    location: str = field(default="", compare=False)

    @property
    def name(self) -> str:
        """Its name."""
        return self.called or self.options.name

    @property
    def cpus_per_task(self) -> int:
        """CPUs of each task."""
        return self.options.cpus_per_task or 1

    def outlasts_by(self, run: int) -> float | None:
        """By how many seconds one of its runs, counted from 0, outlasts its work; None if that is not known."""
        return _of_run(self.outlasts, run)

    def clears_in(self, run: int) -> float | None:
        """Seconds from the end of one of its runs until its nodes are free; None if that is not known."""
        own = self.epilogs[run : run + 1]
        return own[0] if own else _of_run(self.clears, run)

    def was_killed(self, run: int) -> bool:
        """Whether one of its runs is known to have left its nodes without an end of its own."""
        return _of_run(self.clears, run) is not None and self.outlasts_by(run) is None

    def says_clear(self, run: int) -> bool:
        """Whether nodes of one of its runs say themselves that they are clear, as they do after an epilog."""
        return not _of_run(self.asked_clear, run)

    def named(self) -> JobRequest:
        """Itself, with its name among what it asks for."""
        return replace(self, options=replace(self.options, name=self.called), called="") if self.called else self

    def components(self) -> list[JobRequest]:
        """The components of a heterogeneous job, which have the ids that follow; or the job itself."""
        further = self.options.components
        if not further:
            return [self]
        parts = (replace(self.options, components=()), *further)
        return [
            replace(
                self,
                id=self.id + offset,
                options=options,
                het_job_id=self.id,
                het_job_offset=offset,
                outlasts=self.outlasts[offset : offset + 1],
                clears=self.clears[offset : offset + 1],
                asked_clear=self.asked_clear[offset : offset + 1],
            )
            for offset, options in enumerate(parts)
        ]

    def tasks(self, free_ids: Iterator[int]) -> list[JobRequest]:
        """The tasks of an array, or the job itself.

        The last task keeps the id of the array, as in Slurm, which takes it for the tasks
        that are still together and gives each that leaves them a new one.

        Args:
            free_ids: ids for the others, in order.
        """
        array = self.options.array
        if array is None:
            return [self]
        last = len(array.indices) - 1
        return [
            replace(
                self,
                id=self.id if position == last else next(free_ids),
                run=self.task_runs[position] if self.task_runs else self.run,
                exit_code=self.task_exits[position] if self.task_exits else self.exit_code,
                # A log has each task by itself, and says of which array it is.
                array=self.id if self.array is None else self.array,
                task=index,
                outlasts=self.outlasts[position : position + 1],
                clears=self.clears[position : position + 1],
                asked_clear=self.asked_clear[position : position + 1],
            )
            for position, index in enumerate(array.indices)
        ]


def _of_run(known: tuple[tuple[T | None, ...], ...], run: int) -> T | None:
    own = known[0] if known else ()
    return own[run] if run < len(own) else None
