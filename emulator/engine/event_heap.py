"""What is due at which instant, the next first; a :mod:`kernel <slurm_sim_plugins.kernels>`."""

from __future__ import annotations


class Due:
    """An end, the return of a job, or a wake-up.

    Attributes:
        instant: when, in microseconds.
        kind: its :class:`~emulator.state.events.EventKind`.
        sequence: starts and wake-ups are numbered through a simulation.
        index: of the job; -1 for a wake-up.
    """

    __slots__ = ("index", "instant", "kind", "sequence")

    instant: int
    kind: int
    sequence: int
    index: int

    def before(self, other: Due) -> bool:
        """Whether it is handled before ``other``: by instant, then by kind, then by sequence."""
        if self.instant != other.instant:
            return self.instant < other.instant
        if self.kind != other.kind:
            return self.kind < other.kind
        return self.sequence < other.sequence


class EventHeap:
    """A binary heap of what is due; it is never asked while it is empty, for the last instant always stands in it."""

    __slots__ = ("_heap",)

    def __init__(self) -> None:
        self._heap: list[Due] = []

    def next_instant(self) -> int:
        """When something is due next."""
        due = self._heap[0]
        return due.instant

    def push(self, instant: int, kind: int, sequence: int, index: int) -> None:
        """Note what is due, as the attributes of :class:`Due`."""
        # By __new__ and not by a call with arguments, for which compiled code would make an object of each number.
        due = Due.__new__(Due)
        due.instant = instant
        due.kind = kind
        due.sequence = sequence
        due.index = index
        heap = self._heap
        place = len(heap)
        heap.append(due)
        while place:
            above = (place - 1) >> 1
            other = heap[above]
            if not due.before(other):
                break
            heap[place] = other
            place = above
        heap[place] = due

    def pop(self) -> Due:
        """Take out what is due next."""
        heap = self._heap
        last = heap.pop()
        beyond = len(heap)
        if not beyond:
            return last
        first = heap[0]
        place, below = 0, 1
        while below < beyond:
            least = heap[below]
            if below + 1 < beyond:
                other = heap[below + 1]
                if other.before(least):
                    least = other
                    below += 1
            if not least.before(last):
                break
            heap[place] = least
            place = below
            below = 2 * place + 1
        heap[place] = last
        return first
