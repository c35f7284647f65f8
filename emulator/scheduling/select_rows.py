"""Names of rows and columns that :mod:`emulator.scheduling.select_kernel` works on."""

from __future__ import annotations

FREE_UNITS, FREE_MEMORY, FREE_JOBS, FREE_GRES = range(4)
"""Rows of what is free; kinds of generic resources follow."""
MACHINE_UNITS, MACHINE_MEMORY, MACHINE_WEIGHT, MACHINE_THREADS, MACHINE_CORES = range(5)
"""Rows of the machine."""
FIRST, BEHIND, SUM, LARGE, ORDER = range(5)
"""Rows of sets of neighbours: the first node, the one behind the last, CPUs; room for larger nodes and for an order."""
TAKEN = -1
"""The sum of a set that was taken."""
SETS = 5
"""How many rows sets have."""
