"""Names of rows and numbers that :mod:`emulator.scheduling.windows_kernel` works with."""

from __future__ import annotations

BEGIN, END = range(2)
"""Rows of times of slots."""
COUNT, USED, MARKS, DELAY, RESERVED = range(5)
"""Sizes of slots: how many, how many nodes they have, how many marks, whether one delays a job.

And how many of them are reservations: the first ones.
"""
NEVER, FOUND, STARTS, KEPT, FULL, GROW = range(6)
"""What came of it: nothing, a place, a place now, slots for all, no more slots, more room is needed."""
