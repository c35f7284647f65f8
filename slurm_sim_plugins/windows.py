"""Percentiles of what has happened lately, kept up to date while it happens.

A percentile of a sliding window needs every value of the window. They are kept sorted; to
take one in or out costs O(log n), and they are never looked through. What has left the
window is forgotten, so the memory is bounded by what the window holds.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import deque
from collections.abc import Callable, Hashable, Iterable

MOST = 4096
"""Values of one list; up to here to shift them is cheaper than to walk a tree."""
LEAST = MOST // 4
"""A list that holds fewer joins a neighbour."""


class SortedBlocks:
    """Many numbers in ascending order, among them equal ones; ``values[rank]`` is the one at a rank from 0.

    The numbers lie in sorted lists of at most ``MOST``; a binary indexed tree over the
    lengths of the lists finds the list of a rank.

    Args:
        values: numbers, already in ascending order.
    """

    __slots__ = ("_blocks", "_count", "_tops", "_tree")

    def __init__(self, values: Iterable[float] = ()) -> None:
        given = list(values)
        half = MOST // 2
        self._blocks = [given[first : first + half] for first in range(0, len(given), half)] or [[]]
        self._count = len(given)
        self._tops: list[float] = []
        self._tree: list[int] = []
        self._index()

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, rank: int) -> float:
        if not 0 <= rank < self._count:
            raise IndexError(f"rank {rank} of {self._count} values")
        tree = self._tree
        index, step = 0, 1 << (len(tree).bit_length() - 1)
        while step:
            if index + step < len(tree) and tree[index + step] <= rank:
                index += step
                rank -= tree[index]
            step >>= 1
        return self._blocks[index][rank]

    def add(self, value: float) -> None:
        """Take a number in."""
        blocks = self._blocks
        self._count += 1
        index = min(bisect_left(self._tops, value), len(blocks) - 1)
        block = blocks[index]
        insort(block, value)
        if len(block) > MOST:
            blocks[index : index + 1] = [block[: MOST // 2], block[MOST // 2 :]]
            self._index()
        else:
            self._tops[index] = block[-1]
            self._lengthen(index, 1)

    def remove(self, value: float) -> None:
        """Take a number out, once.

        Raises:
            ValueError: it is not there.
        """
        blocks = self._blocks
        index = min(bisect_left(self._tops, value), len(blocks) - 1)
        block = blocks[index]
        position = bisect_left(block, value)
        if position == len(block) or block[position] != value:
            raise ValueError(f"{value} is not among the values")
        del block[position]
        self._count -= 1
        if len(block) < LEAST and len(blocks) > 1:
            self._join(index)
        elif block:
            self._tops[index] = block[-1]
            self._lengthen(index, -1)
        else:
            self._index()

    def _join(self, index: int) -> None:
        """A short list and a neighbour become one, or two of half their length."""
        first = max(index - 1, 0)
        both = self._blocks[first] + self._blocks[first + 1]
        middle = len(both) // 2
        self._blocks[first : first + 2] = [both] if len(both) <= MOST else [both[:middle], both[middle:]]
        self._index()

    def _index(self) -> None:
        """Note the last number and the length of each list."""
        self._tops = [block[-1] if block else float("-inf") for block in self._blocks]
        self._tree = tree = [0, *map(len, self._blocks)]
        for index in range(1, len(tree)):
            above = index + (index & -index)
            if above < len(tree):
                tree[above] += tree[index]

    def _lengthen(self, index: int, by: int) -> None:
        tree, index = self._tree, index + 1
        while index < len(tree):
            tree[index] += by
            index += index & -index


Values = list[float] | SortedBlocks
"""Numbers in ascending order: a list while they are few."""


Definition = Callable[[Values, float], float]


def cobalt(values: Values, percentile: float) -> float:
    """The value at rank p·n/100, rounded down, from 0; the last one for p = 100.

    Source: the history manager of the Cobalt resource manager.
    """
    count = len(values)
    rank = int(percentile * count // 100)
    return values[rank] if rank < count else values[count - 1]


def nearest(values: Values, percentile: float) -> float:
    """The nearest-rank percentile: the least value that p % of the values do not exceed."""
    return values[max(int(-(-percentile * len(values) // 100)) - 1, 0)]


def linear(values: Values, percentile: float) -> float:
    """Between the two values around rank p·(n - 1)/100, in proportion."""
    position = percentile * (len(values) - 1) / 100
    rank = int(position)
    low = values[rank]
    return low + (position - rank) * (values[rank + 1] - low) if position > rank else low


DEFINITIONS: dict[str, Definition] = {"cobalt": cobalt, "nearest": nearest, "linear": linear}
"""What a percentile (from 0 to 100) of at least one value is, by name."""


class Windows:
    """A sliding window of values for each key.

    At ``now`` a window holds what ended in [now - span, now): what ends just now is known
    only afterwards. Time goes one way here: an end, or a ``now``, before one that was
    already named counts as if it were that one.

    Args:
        span: length of a window in seconds; infinity forgets nothing.
    """

    __slots__ = ("_fresh", "_kept", "_last_end", "_now", "_span", "_values")

    def __init__(self, span: float) -> None:
        self._span = span
        self._now = self._last_end = float("-inf")
        self._fresh: deque[tuple[float, Hashable, float]] = deque()
        self._kept: deque[tuple[float, Hashable, float]] = deque()
        self._values: dict[Hashable, Values] = {}

    def __len__(self) -> int:
        """How many values are remembered, over all keys."""
        return len(self._fresh) + sum(map(len, self._values.values()))

    def learn(self, key: Hashable, value: float, end: float) -> None:
        """Something ended; it counts from the first instant after its end."""
        if end > self._last_end:
            self._last_end = end
        self._fresh.append((self._last_end, key, value))

    def at(self, key: Hashable, now: float) -> Values | None:
        """The window of a key, to be read before the next call; None if it is empty."""
        if now > self._now:
            self._now = now
            if self._fresh and self._fresh[0][0] < now:
                self._take_in(now)
            if self._kept and self._kept[0][0] < now - self._span:
                self._forget(now - self._span)
        return self._values.get(key)

    def _take_in(self, now: float) -> None:
        fresh, windows = self._fresh, self._values
        kept = self._kept if self._span < float("inf") else None
        while fresh and fresh[0][0] < now:
            entry = fresh.popleft()
            _, key, value = entry
            values = windows.get(key)
            if values is None:
                windows[key] = [value]
            elif isinstance(values, list):
                insort(values, value)
                if len(values) > MOST:
                    windows[key] = SortedBlocks(values)
            else:
                values.add(value)
            if kept is not None:
                kept.append(entry)

    def _forget(self, before: float) -> None:
        kept, windows = self._kept, self._values
        while kept and kept[0][0] < before:
            _, key, value = kept.popleft()
            values = windows[key]
            if isinstance(values, list):
                del values[bisect_left(values, value)]
            else:
                values.remove(value)
            if not values:
                del windows[key]
