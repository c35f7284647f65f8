"""Processors that change hands while the checkpoint of the run before is still being written."""

from __future__ import annotations


class Handover:
    """Knows which idle processors are not yet at work for whoever takes them.

    A job takes the other idle processors first. If it needs some of these, it waits on
    its processors until the last of them is free to work.

    Attributes:
        pending: (instant, processors) for each checkpoint that is being written, in
            microseconds, ascending.
        delays: how long a running job had to wait on its processors, by its index.
    """

    __slots__ = ("delays", "pending")

    def __init__(self) -> None:
        self.pending: list[tuple[int, int]] = []
        self.delays: dict[int, int] = {}

    def begin(self, until: int, processors: int) -> None:
        """A checkpoint is written on ``processors`` until an instant."""
        self.pending.append((until, processors))
        self.pending.sort()

    def delay(self, index: int, processors: int, left_idle: int, now: int) -> int:
        """How long a job waits that takes ``processors`` now and leaves ``left_idle``."""
        self.pending = [(until, held) for until, held in self.pending if until > now]
        clean = processors + left_idle - sum(held for _, held in self.pending)
        wanted, delay = processors - max(0, clean), 0
        while wanted > 0:
            until, held = self.pending.pop(0)
            delay = until - now
            if held > wanted:
                self.pending.insert(0, (until, held - wanted))
            wanted -= held
        if delay:
            self.delays[index] = delay
        return delay
