"""What the columns of runs hold."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]
FIRST, MANY, ID, PLACE = range(4)
"""Columns of the index: where its entries begin, how many there are, whose they are, its job's place in the list."""
SPAN, NODE = range(2)
"""Rows of the entries: how many are alike from it on, on neighbours in their order; its node, and behind that the rows
of :attr:`slurm_sim_plugins.nodes.Free.table`."""
COLUMN = 0
"""Row of the parts of a run, before the first node of each: the entry of that node."""
PARENT, CHILD = range(2)
"""Rows of cuts of stretches: the piece that was cut, and the one that begins there since."""
