"""topology/block: nodes in blocks, and in which order a job takes nodes of them.

Neighbouring blocks form larger ones, of each of ``BlockSizes``. A job is placed in one block of the smallest size that
is large enough, and there in no more parts, blocks of the next size below, than so many nodes fill. Of such blocks the
one with fewest free nodes is taken. If it has more parts than the job may have, these are filled one after the other;
else its base blocks are. Parts and base blocks go by the same rule: the one with fewest free nodes that suffices, else
the one with most; of several the last. Parts with nodes that the job must have go first. A job that is larger than all
sizes has blocks of the largest for its parts, but no more than there are whole ones.

With ``--segment`` each segment is placed for itself, one after the other. (Asked of slurmctld 24.11 and 26.05, some
1,500 jobs.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple, TypeVar

import numpy as np

from slurm_sim_plugins.topology.tree import Ints, Mask, Missing

T = TypeVar("T")


class _Place(NamedTuple):
    """Where a job may be placed: the parts of a block, each as its base blocks, and how many of them it may have."""

    parts: Sequence[range]
    limit: int


@dataclass(frozen=True, eq=False)
class Blocks:
    """Blocks, in the order of the file.

    Attributes:
        names: of the blocks.
        nodes: which nodes are in each, a row for each block; no node is in two.
        sizes: nodes of blocks, ascending: of a base block, and those of which larger ones are made.
    """

    names: Sequence[str]
    nodes: Mask
    sizes: Sequence[int]

    @cached_property
    def block_of(self) -> Ints:
        """The block of each node; -1 for those in none."""
        return np.where(self.nodes.any(axis=0), self.nodes.argmax(axis=0), -1)

    def leaves_of(self, nodes: Sequence[int]) -> list[str]:
        """Names of the blocks of nodes."""
        return [self.names[block] for block in np.flatnonzero(self.nodes[:, list(nodes)].any(axis=1)).tolist()]

    def joins(self, held: Mask, many: int) -> bool:
        """Whether a job of so many nodes may have all of these."""
        return any(self._may_have(place, held) for place in self._places(many))

    def order(self, left: Ints, held: Mask, missing: Callable[[], Missing], segment: int) -> Iterator[int]:
        """Nodes in the order in which a job takes them, for as long as it wants more.

        Args:
            left: CPUs that it could have on each node that it has not.
            held: nodes that it has already.
            missing: says what it still needs.
            segment: nodes of each segment; 0 if it has none.
        """
        left, many = left.copy(), missing().least
        if not segment or segment == many:
            yield from self._placed(left, held, missing, many + int(held.sum()))
            return
        for rest in range(many - segment, -1, -segment):
            for node in self._placed(left, held, partial(_but, missing, rest), segment):
                yield node
                if missing().least == rest:
                    break
            if missing().least > rest:
                return

    def _placed(self, left: Ints, held: Mask, missing: Callable[[], Missing], many: int) -> Iterator[int]:
        """Nodes of a job, or of a segment, of so many; they are not left, then."""
        place = self._best_place(left, held, missing(), many)
        if place is None:
            return
        if len(place.parts) <= place.limit:
            yield from self._filled(_whole(place), left, missing)
            return
        counts, has = _Sums(self._counts(left)), _Sums(self._counts(held))
        first = [part for part in place.parts if has.of(part)]
        others = [(part, counts.of(part)) for part in place.parts if not has.of(part)]
        for _ in range(place.limit):
            part = first.pop(0) if first else others.pop(_best(others, missing().least))[0]
            yield from self._filled(part, left, missing)

    def _filled(self, blocks: Sequence[int], left: Ints, missing: Callable[[], Missing]) -> Iterator[int]:
        """Nodes of base blocks, one block after the other."""
        counts = self._counts(left)
        rest = [(block, int(counts[block])) for block in blocks]
        while rest:
            block, _ = rest.pop(_best(rest, missing().least))
            for node in np.flatnonzero(self.nodes[block] & (left > 0)).tolist():
                left[node] = 0
                yield node

    def _best_place(self, left: Ints, held: Mask, need: Missing, many: int) -> _Place | None:
        """Where a job is placed: where fewest nodes are left that suffice; None if it fits nowhere."""
        counts, cpus, has = _Sums(self._counts(left)), _Sums(self._sums(left)), _Sums(self._counts(held))
        best, fewest, all_held = None, 0, int(np.count_nonzero(held))
        for place in self._places(many):
            must = [counts.of(part) for part in place.parts if has.of(part)]
            others = sorted((counts.of(part) for part in place.parts if not has.of(part)), reverse=True)
            there, whole = sum(must) + sum(others[: place.limit - len(must)]), _whole(place)
            enough = there >= need.least and cpus.of(whole) >= need.cpus
            enough = enough and len(must) <= place.limit and has.of(whole) == all_held
            if enough and (best is None or counts.of(whole) <= fewest):
                best, fewest = place, counts.of(whole)
        return best

    def _may_have(self, place: _Place, held: Mask) -> bool:
        """Whether nodes are all in one place, and there in no more parts than may be."""
        has = _Sums(self._counts(held))
        inside = [has.of(part) for part in place.parts]
        return bool(np.count_nonzero(inside) <= place.limit and sum(inside) == np.count_nonzero(held))

    def _places(self, many: int) -> Iterator[_Place]:
        """Where a job of so many nodes may be placed."""
        size = next((size for size in self.sizes if size >= many), 0)
        if not size:
            largest = self.sizes[-1]
            whole = len(self.names) * self.sizes[0] // largest
            yield _Place(self._parts(0, len(self.names), largest), min(-(-many // largest), max(whole, 1)))
            return
        below = max((each for each in self.sizes if each < size), default=size)
        step = size // self.sizes[0]
        for first in range(0, len(self.names), step):
            yield _Place(self._parts(first, min(first + step, len(self.names)), below), -(-many // below))

    def _parts(self, first: int, behind: int, size: int) -> list[range]:
        """Base blocks of each block of a size."""
        step = size // self.sizes[0]
        return [range(begin, min(begin + step, behind)) for begin in range(first, behind, step)]

    def _counts(self, left: Ints | Mask) -> Ints:
        """Of each base block how many nodes are left."""
        return self._sums((left > 0).astype(np.int64))

    def _sums(self, column: Ints) -> Ints:
        """The sum over the nodes of each base block."""
        inside = self.block_of >= 0
        sums: Ints = np.zeros(len(self.names), dtype=np.int64)
        np.add.at(sums, self.block_of[inside], column[inside])
        return sums


class _Sums:
    """Sums over neighbouring blocks."""

    def __init__(self, of_blocks: Ints) -> None:
        self._before: list[int] = [0, *np.cumsum(of_blocks).tolist()]

    def of(self, blocks: range) -> int:
        """The sum over these."""
        return self._before[blocks.stop] - self._before[blocks.start]


def _whole(place: _Place) -> range:
    """The base blocks of all parts."""
    return range(place.parts[0].start, place.parts[-1].stop)


def _best(parts: Sequence[tuple[T, int]], least: int) -> int:
    """Of parts and how many nodes they have, which has fewest that suffice, or else most; of several the last."""
    return min(reversed(range(len(parts))), key=lambda at: (parts[at][1] < least, abs(parts[at][1] - least)))


def _but(missing: Callable[[], Missing], rest: int) -> Missing:
    """What a segment needs, where so many nodes are needed behind it."""
    need = missing()
    return Missing(need.least - rest, need.welcome - rest, need.cpus if not rest else 0)
