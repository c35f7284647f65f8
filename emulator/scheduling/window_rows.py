"""Names of rows and numbers that :mod:`emulator.scheduling.windows_kernel` works with."""

from __future__ import annotations

BEGIN, END = range(2)
"""Rows of times of slots."""
LEFT, SEEN = range(2, 4)
"""Rows of parts of slots: a node that no other slot keeps when this one ends, and of how many slots that is known."""
RANGE, RANGES = range(4, 6)
"""Rows of parts of slots: where the ranges of neighbours begin that its nodes make, and how many they are."""
PARTS = 6
"""How many rows parts have."""
UNKNOWN, NO_NODE = -1, -2
"""Instead of such a node: it is yet to be looked for; there is none."""
CHANGE, EDGE = range(2)
"""Rows of turns of marks: of which nodes it changes whether they are kept, and whether Slurm keeps both sides apart."""
COUNT, USED, MARKS, DELAY, RESERVED, RANGED = range(6)
"""Sizes of slots: how many, how many nodes they have, how many marks, whether one delays a job.

And how many of them are reservations: the first ones; and how many ranges of neighbours their nodes make.
"""
SIZES = 6
"""How many sizes there are."""
NEVER, FOUND, STARTS, KEPT, FULL, GROW = range(6)
"""What came of it: nothing, a place, a place now, slots for all, no more slots, more room is needed."""
