"""Processors that change hands while the checkpoint of the run before is still being written."""

from __future__ import annotations

from slurm_sim_plugins.processors import Processors

Pieces = list[tuple[int, int]]
"""(instant in microseconds, processors) for each checkpoint that is being written, ascending."""


class Handover:
    """Knows which idle processors are not yet at work for the job that takes them.

    A job takes the other idle processors first. If it needs some of these, it waits on
    its processors until the last of them is free to work. If it has to leave before that,
    they are written on as before.

    Attributes:
        pending: checkpoints that are being written on idle processors.
    """

    __slots__ = ("_delays", "_taken", "pending")

    def __init__(self) -> None:
        self.pending: Pieces = []
        self._delays: dict[int, int] = {}
        self._taken: dict[int, Pieces] = {}

    def begin(self, until: int, processors: int) -> None:
        """A checkpoint is written on ``processors`` until an instant."""
        self.pending.append((until, processors))
        self.pending.sort()

    def take(self, index: int, processors: int, left_idle: int, now: int) -> int:
        """The job at ``index`` takes ``processors`` and leaves ``left_idle``; says how long it waits on them."""
        self.pending = [(until, held) for until, held in self.pending if until > now]
        wanted = sum(held for _, held in self.pending) - left_idle
        if wanted <= 0:
            return 0
        taken: Pieces = []
        while wanted > 0:
            until, held = self.pending.pop(0)
            part = min(held, wanted)
            taken.append((until, part))
            if part < held:
                self.pending.insert(0, (until, held - part))
            wanted -= part
        self._taken[index] = taken
        self._delays[index] = delay = taken[-1][0] - now
        return delay

    def delay(self, index: int) -> int:
        """How long the current run of a job waited, or waits, on its processors."""
        return self._delays.get(index, 0)

    def give_back(self, index: int, now: int) -> int:
        """The run of a job is preempted; says how long it was to wait on its processors."""
        for until, held in self._taken.pop(index, ()):
            if until > now:
                self.begin(until, held)
        return self._delays.pop(index, 0)


class BlockHandover(Handover):
    """The same, where it is known which parts of the machine a checkpoint is written on.

    Attributes:
        leaving: what the run that is being preempted takes of the machine, as a set.
    """

    __slots__ = ("_writes", "leaving")

    def __init__(self) -> None:
        super().__init__()
        self.leaving: Processors = 0
        self._writes: list[tuple[int, Processors]] = []

    def begin(self, until: int, processors: int) -> None:
        """A checkpoint is written until an instant, on what the run takes that leaves."""
        self._writes.append((until, self.leaving))

    def enter(self, index: int, taken: Processors, now: int) -> int:
        """The job at ``index`` takes a part of the machine; says how long it waits there."""
        if not self._writes:
            return 0
        self._writes = [(until, where) for until, where in self._writes if until > now]
        delay = max((until - now for until, where in self._writes if where & taken), default=0)
        if delay:
            self._delays[index] = delay
        return delay
