"""Logs of a real Slurm: what is needed to run each job again, and apart from it what became of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from emulator.workload.request import JobRequest
from emulator.workload.workload import Changed

UNTIL_ITS_LIMIT = 1e9
"""Seconds of work of a job of which is known only that it ran into its limit, or not how long it would run."""


@dataclass(frozen=True, slots=True)
class LoggedRun:
    """One run of a job on the real cluster; times in seconds on the log's clock.

    Attributes:
        start: when it started.
        end: when it ended; None if it had not.
        elapsed: seconds that it ran, which no clock change touches.
        state: what it ended with, such as ``COMPLETED``.
        nodes: where it ran, as a host list.
        cpus: CPUs that it had; 0 for unknown.
        partition: where it ran.
        shares: CPUs that it had of each node, such as ``4,2``; empty for unknown.
        decided: whether a record says that a plugin decided on it.
        seen: when the session of a record saw that it had begun; None for a run that was held back before.
        began: when it began by Slurm's clock, where ``start`` is the second of the decision.
        wanted: the nodes that were decided on, where Slurm started it on others; else empty.
    """

    start: float
    end: float | None
    elapsed: float
    state: str
    nodes: str
    cpus: int
    partition: str
    decided: bool = False
    shares: str = ""
    seen: float | None = None
    began: float | None = None
    wanted: str = ""

    @property
    def decided_nodes(self) -> str:
        """The nodes that were decided on."""
        return self.wanted or self.nodes


@dataclass(frozen=True, slots=True)
class Happened:
    """What became of a job on the real cluster. It is only compared; nothing of it is needed to run the job.

    Attributes:
        state: the last state, such as ``COMPLETED``.
        eligible: when it became eligible; None where that is not known.
        runs: in order.
        reason: why it waited last.
        not_started: runs that a plugin decided on and Slurm did not start, until they were given up.
    """

    state: str
    eligible: float | None
    runs: tuple[LoggedRun, ...]
    reason: str = ""
    not_started: tuple[LoggedRun, ...] = ()

    @property
    def start(self) -> float | None:
        """When it first started, or None."""
        return self.runs[0].start if self.runs else None


@dataclass(frozen=True, slots=True)
class LoggedJob:
    """A job of a log.

    Attributes:
        label: its id as the log has it, such as ``123_4``.
        request: what is needed to run it: its submission.
        cancel_at: when it was taken back while it waited, which is needed to run it, too; None if it was not.
        happened: what became of it.
        line: where it stands in the file.
    """

    label: str
    request: JobRequest
    cancel_at: float | None
    happened: Happened
    line: int


@dataclass(frozen=True, slots=True)
class Unusable:
    """Lines that could not be used.

    Attributes:
        first, last: numbers of the lines.
        why: in words.
    """

    first: int
    last: int
    why: str

    def text(self, file: str) -> str:
        """As a message."""
        lines = f"{self.first}" if self.first == self.last else f"{self.first}-{self.last}"
        return f"{file}:{lines}: {self.why}"


@dataclass(frozen=True)
class SiteLog:
    """The jobs of a log in the order of (submit, id).

    Attributes:
        name: what to call it.
        file: where it was read from.
        jobs: each of them.
        epoch: Unix time of second 0 of the log's clock.
        read: how many records the file held.
        steps: how many of them were steps of jobs, which the jobs' own records cover.
        unusable: lines that could not be used, in their order.
        changed: what was read otherwise than it stands there, and why.
        source_hash: SHA-256 of the file's bytes.
    """

    name: str
    file: str
    jobs: tuple[LoggedJob, ...]
    epoch: int
    read: int
    steps: int
    unusable: tuple[Unusable, ...]
    changed: tuple[Changed, ...]
    source_hash: str

    def __len__(self) -> int:
        return len(self.jobs)

    @property
    def requests(self) -> list[JobRequest]:
        """The submissions: all that is needed to run the jobs, but for when some are taken back."""
        return [job.request for job in self.jobs]

    def notices(self) -> Iterator[str]:
        """What was left out or read otherwise, one sentence each."""
        yield from (unusable.text(self.file) for unusable in self.unusable)
        for note in self.changed:
            yield f"{note.first}: {note.count:,} {note.reason}"
