"""Blocks: the pieces in which a partitioned machine is given out.

A Blue Gene is cabled so that only certain sets of midplanes can be one job's machine. These
blocks are fixed; they contain one another and overlap, and of two that overlap one at a time
can be in use. A job takes a block of the smallest size that holds it, and all of it.

Sets of midplanes, of wires and of blocks are whole numbers, as sets of processors are
(:mod:`slurm_sim_plugins.processors`): bit i stands for number i, from 0 on.

Source: the paper on real-time jobs on Mira, sections 2.3 and 5.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from slurm_sim_plugins.errors import ConfigurationError
from slurm_sim_plugins.processors import Processors, in_words, numbers, processors

MIDPLANE = 512
"""Nodes of a midplane of Mira."""
MIRA_MIDPLANES = 96
MIRA_SIZES = (512, 1024, 2048, 4096, 8192, 12288, 16384, 24576, 32768, 49152)
"""Sizes in nodes of Mira's blocks, section 5 of the paper."""


class Blocks:
    """The blocks of a machine, by index: the order in which they were given. Nothing of it changes.

    Args:
        midplanes: how many the machine has, or their names.
        blocks: name and numbers of the midplanes of each block.
        nodes: of one midplane.
        wires: the numbers of the wires that each block takes, too; two blocks without a
            common midplane may need the same cable. Without it wires are not looked at,
            as in the paper.

    Attributes:
        midplanes: names of the midplanes.
        nodes: of one midplane.
        names: of each block.
        sizes: nodes of each block.
        masks: midplanes of each block, as a set.
        takes: all that is in use when a block is: its midplanes and, in the bits above
            those of all midplanes, its wires. A block is free if ``takes[block] & used`` is 0.
        overlaps: of each block the set of the blocks that cannot be in use beside it, itself
            among them.
        by_size: indices, ascending, by size; sizes ascending.

    Raises:
        ConfigurationError: no block; a block without a name, without a midplane, or with
            the name of another; a midplane that the machine does not have, or that stands
            in no block; fewer than 1 node.
    """

    __slots__ = ("_largest", "_steps", "by_size", "masks", "midplanes", "names", "nodes", "overlaps", "sizes", "takes")

    def __init__(
        self,
        midplanes: int | Sequence[str],
        blocks: Iterable[tuple[str, Iterable[int]]],
        *,
        nodes: int = MIDPLANE,
        wires: Sequence[Iterable[int]] | None = None,
    ) -> None:
        self.midplanes = _midplane_names(midplanes)
        if nodes < 1:
            raise ConfigurationError(f"a midplane has {nodes} nodes; give 1 or more")
        self.nodes = nodes
        self.names, self.masks = _named_masks(blocks, self.midplanes)
        self._refuse_idle_midplanes()
        self.sizes = tuple(mask.bit_count() * nodes for mask in self.masks)
        self.takes = _with_wires(self.masks, len(self.midplanes), wires)
        self.overlaps = tuple(self.meeting(taken) for taken in self.takes)
        self.by_size: Mapping[int, tuple[int, ...]] = MappingProxyType(
            {size: self._of_size(size) for size in sorted(set(self.sizes))}
        )
        self._steps = tuple(self.by_size)
        self._largest = self._steps[-1]

    def __len__(self) -> int:
        return len(self.names)

    def __setattr__(self, name: str, value: object) -> None:
        if hasattr(self, "_largest"):  # the last that is set
            raise AttributeError(f"blocks do not change; {name} cannot be set")
        super().__setattr__(name, value)

    def __reduce__(self) -> tuple[object, ...]:
        """What pickle needs to rebuild them."""
        width = len(self.midplanes)
        wires = None if self.takes == self.masks else [numbers(taken >> width) for taken in self.takes]
        blocks = [(name, numbers(mask)) for name, mask in zip(self.names, self.masks, strict=True)]
        return _rebuilt, (self.midplanes, blocks, self.nodes, wires)

    def __repr__(self) -> str:
        return f"<{len(self)} blocks of {len(self.midplanes)} midplanes, up to {self._largest} nodes>"

    @property
    def machine(self) -> int:
        """Nodes of the machine."""
        return len(self.midplanes) * self.nodes

    @property
    def largest(self) -> int:
        """Nodes of the largest block; no larger job can run."""
        return self._largest

    def size_for(self, nodes: int) -> int:
        """The smallest size of a block that holds so many nodes.

        Raises:
            ConfigurationError: there is none.
        """
        index = bisect_left(self._steps, nodes)
        if nodes < 1 or index == len(self._steps):
            raise ConfigurationError(
                f"no block is for a job of {nodes} nodes: they hold 1 to {self._largest}; "
                "leave the job out or take a machine with larger blocks"
            )
        return self._steps[index]

    def blocks_for(self, nodes: int) -> tuple[int, ...]:
        """The blocks that a job of so many nodes may run on: those of the smallest size that holds it, ascending.

        Raises:
            ConfigurationError: there is none.
        """
        return self.by_size[self.size_for(nodes)]

    def first_free(self, nodes: int, used: int) -> int | None:
        """The first block for so many nodes of which nothing is in use; None if there is none.

        Args:
            nodes: of the job.
            used: what is in use: :attr:`takes` of the blocks that are, joined with ``|``.

        Raises:
            ConfigurationError: no block is so large.
        """
        takes = self.takes
        return next((block for block in self.blocks_for(nodes) if not takes[block] & used), None)

    def overlap(self, one: int, other: int) -> bool:
        """Whether two blocks cannot be in use at the same time."""
        return bool(self.takes[one] & self.takes[other])

    def meeting(self, used: int) -> int:
        """The set of the blocks that take any of what is in use."""
        return processors(block for block, taken in enumerate(self.takes) if taken & used)

    def children(self, block: int) -> list[int]:
        """The blocks whose midplanes are some, not all, of this one's; ascending."""
        own = self.masks[block]
        return [other for other in numbers(self.overlaps[block]) if _within(self.masks[other], own)]

    def parents(self, block: int) -> list[int]:
        """The blocks that have all of this one's midplanes and more; ascending."""
        own = self.masks[block]
        return [other for other in numbers(self.overlaps[block]) if _within(own, self.masks[other])]

    def find(self, name: str) -> int:
        """The index of a block.

        Raises:
            ConfigurationError: no block is called so.
        """
        try:
            return self.names.index(name)
        except ValueError:
            raise ConfigurationError(f"no block is called {name!r}; there are {len(self)}") from None

    def _of_size(self, size: int) -> tuple[int, ...]:
        return tuple(block for block, own in enumerate(self.sizes) if own == size)

    def _refuse_idle_midplanes(self) -> None:
        reached = 0
        for mask in self.masks:
            reached |= mask
        idle = numbers(~reached & ((1 << len(self.midplanes)) - 1))
        if idle:
            shown = ", ".join(self.midplanes[number] for number in idle[:5]) + (", ..." if len(idle) > 5 else "")
            raise ConfigurationError(
                f"the blocks leave a hole: midplane {shown} stands in none of them; "
                "add a block that has it, or leave it out of the machine"
            )


def aligned(midplanes: int = MIRA_MIDPLANES, sizes: Iterable[int] = MIRA_SIZES, *, nodes: int = MIDPLANE) -> Blocks:
    """The aligned hierarchy: blocks of k neighbours that begin at the multiples of k.

    Where k does not divide the machine, one more block ends with the last midplane, and
    overlaps the one before: 32,768 nodes of Mira are midplanes 0-63 and 32-95. A block is
    called after its size and its first midplane, such as ``1024-02``. The smallest come first.

    Args:
        midplanes: of the machine.
        sizes: in nodes, in any order.
        nodes: of one midplane.

    Raises:
        ConfigurationError: a size that is not made of whole midplanes, or is larger than the machine.
    """
    if midplanes < 1 or nodes < 1:
        raise ConfigurationError(f"{midplanes} midplanes of {nodes} nodes are no machine; give 1 or more of both")
    width = len(str(midplanes - 1))
    found: list[tuple[str, range]] = []
    for size in sorted(set(sizes)):
        count, rest = divmod(size, nodes)
        if rest or not 1 <= count <= midplanes:
            raise ConfigurationError(
                f"a block of {size} nodes cannot be built of {midplanes} midplanes of {nodes} nodes; "
                f"give multiples of {nodes} up to {midplanes * nodes}"
            )
        found += [(f"{size}-{first:0{width}}", range(first, first + count)) for first in _firsts(midplanes, count)]
    return Blocks(midplanes, found, nodes=nodes)


def doubling_sizes(midplanes: int, *, nodes: int = MIDPLANE) -> tuple[int, ...]:
    """Sizes for :func:`aligned`: 1, 2, 4, 8 ... midplanes, and the whole machine; in nodes."""
    steps = [1 << power for power in range(midplanes.bit_length()) if 1 << power < midplanes]
    return tuple(step * nodes for step in (*steps, midplanes))


def _rebuilt(
    midplanes: tuple[str, ...], blocks: list[tuple[str, list[int]]], nodes: int, wires: list[list[int]] | None
) -> Blocks:
    return Blocks(midplanes, blocks, nodes=nodes, wires=wires)


def _firsts(midplanes: int, count: int) -> list[int]:
    """Where the aligned blocks of a size begin."""
    firsts = list(range(0, midplanes - count + 1, count))
    return firsts if midplanes % count == 0 else [*firsts, midplanes - count]


def _within(part: Processors, whole: Processors) -> bool:
    return part != whole and not part & ~whole


def _midplane_names(midplanes: int | Sequence[str]) -> tuple[str, ...]:
    names = tuple(map(str, range(midplanes))) if isinstance(midplanes, int) else tuple(midplanes)
    if not names:
        raise ConfigurationError("the machine has no midplane; give 1 or more")
    if len(set(names)) < len(names):
        twice = next(name for index, name in enumerate(names) if name in names[:index])
        raise ConfigurationError(f"two midplanes are called {twice!r}; each needs a name of its own")
    return names


def _named_masks(
    blocks: Iterable[tuple[str, Iterable[int]]], midplanes: Sequence[str]
) -> tuple[tuple[str, ...], tuple[Processors, ...]]:
    masks: dict[str, Processors] = {}
    for name, given in blocks:
        own = list(given)
        if not name or name in masks:
            raise ConfigurationError(f"two blocks are called {name!r}; rename one" if name else "a block has no name")
        if not own:
            raise ConfigurationError(f"block {name!r} has no midplane; give it one or leave it out")
        unknown = [number for number in own if not 0 <= number < len(midplanes)]
        if unknown:
            raise ConfigurationError(
                f"block {name!r} has midplane {unknown[0]}, which the machine does not have: "
                f"its {len(midplanes)} midplanes are {in_words((1 << len(midplanes)) - 1)}"
            )
        masks[name] = processors(own)
    if not masks:
        raise ConfigurationError("there is no block; a partitioned machine needs one at least")
    return tuple(masks), tuple(masks.values())


def _with_wires(
    masks: Sequence[Processors], midplanes: int, wires: Sequence[Iterable[int]] | None
) -> tuple[Processors, ...]:
    if wires is None:
        return tuple(masks)
    if len(wires) != len(masks):
        raise ConfigurationError(f"wires are given for {len(wires)} blocks of {len(masks)}; give them for each")
    return tuple(mask | processors(own) << midplanes for mask, own in zip(masks, wires, strict=True))
