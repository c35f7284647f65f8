"""Cells of a paper's tables beside ours: how far apart, and how many are near."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

NEAR = 0.05
FAR = 0.12
COUNTING_RULES = (1, 2)
"""Tables of which the papers do not say how they count; no other paper's table has these numbers."""
TRIVIAL = ("jobs", "total_load_pct", "preempted_pct")
"""Metrics that follow from the log and from other cells, whatever the policy does: how many jobs the log has; its load
and the wasted load; preempted jobs over jobs."""


@dataclass(frozen=True)
class Cell:
    """One number of a paper, and ours.

    Attributes:
        paper, table: where it is printed.
        title: of the table.
        row: what it is.
        column: of what, such as a workload.
        printed: the paper's values; several where it contradicts itself.
        ours: what comes out here; NaN if the run failed.
    """

    paper: str
    table: int
    title: str
    row: str
    column: str
    printed: tuple[float, ...]
    ours: float

    @property
    def trivial(self) -> bool:
        """Whether it says nothing of a policy that other cells do not say, see :data:`TRIVIAL`."""
        return self.row.rpartition(" ")[2] in TRIVIAL

    @property
    def nearest(self) -> float:
        """The paper's value that ours is nearest to."""
        return min(self.printed, key=lambda value: (abs(value - self.ours), value))

    @property
    def difference(self) -> float:
        """Ours over the nearest, less 1."""
        return self.ours / self.nearest - 1 if self.nearest else math.nan

    @property
    def distance(self) -> float:
        """Absolute logarithm of ours over the nearest: twice too much is as far off as half; at most that of 10."""
        if not (self.ours > 0 and self.nearest > 0):
            return math.log(10)
        return min(abs(math.log(self.ours / self.nearest)), math.log(10))

    def data(self) -> dict[str, Any]:
        """For JSON."""
        return {**asdict(self), "difference": self.difference}


def counted(cells: Iterable[Cell]) -> list[Cell]:
    """Cells that are not trivial, each number once: the papers print a number again wherever it is compared."""
    return list({(cell.row, cell.column): cell for cell in cells if not cell.trivial}.values())


def within(cells: Sequence[Cell], bound: float) -> float:
    """The share of cells that differ by at most ``bound`` from the paper."""
    return sum(abs(cell.difference) <= bound for cell in cells) / len(cells) if cells else math.nan


def beyond(cells: Iterable[Cell], bound: float = FAR) -> list[Cell]:
    """Cells that differ by more, worst first."""
    far = [cell for cell in cells if not abs(cell.difference) <= bound]
    return sorted(far, key=lambda cell: -cell.distance)


def mean_distance(cells: Sequence[Cell]) -> float:
    """Mean of the distances."""
    return sum(cell.distance for cell in cells) / len(cells) if cells else math.nan
