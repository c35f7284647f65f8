"""The total order of simultaneous events.

An event is a tuple ``(instant, kind, sequence, job index)`` in one heap. Events of one
instant are handled in the order of :class:`EventKind`, those of one kind in the order
of ``sequence``, which numbers the starts (and the wake-ups) of a simulation.
Submissions do not stand in the heap: the workload is already sorted by (submit, id).
"""

from __future__ import annotations

from enum import IntEnum

Event = tuple[int, int, int, int]


class EventKind(IntEnum):
    """Kinds of events, in the order in which those of one instant are handled."""

    FINISH = 0
    """A job has done its work. When it reaches its limit just then, finishing wins."""
    RETURN = 1
    """The checkpoint of a preempted job is written: the job waits again."""
    TIMEOUT = 2
    """A job reaches its time limit and is killed."""
    WAKE = 3
    """A scheduler asked for a pass."""
    SUBMIT = 4
    """A job is submitted."""


FINISH = int(EventKind.FINISH)
RETURN = int(EventKind.RETURN)
TIMEOUT = int(EventKind.TIMEOUT)
WAKE = int(EventKind.WAKE)
