"""A partitioned machine: each job has a block of its own."""

from __future__ import annotations

from typing import ClassVar, Literal

from slurm_sim_plugins.block_state import BlockState, lowest
from slurm_sim_plugins.blockfiles import read_blocks
from slurm_sim_plugins.blocks import MIDPLANE, MIRA_MIDPLANES, MIRA_SIZES, Blocks, aligned, doubling_sizes
from slurm_sim_plugins.errors import ConfigurationError
from slurm_sim_plugins.hookspecs import hookimpl
from slurm_sim_plugins.processors import Processors, numbers
from slurm_sim_plugins.views import SelectView

MOST_MIDPLANES = 128
"""Into so many midplanes, or fewer, a machine is parted of which nothing is said."""


class InBlocks:
    """A job takes a block of the smallest size that holds it, and all of it.

    Args:
        file: which blocks there are: Blue Gene's XML or TOML, gzipped or not. Without it the
            aligned ones: blocks of k midplanes that begin at multiples of k; on a machine of
            Mira's size of Mira's sizes, else of 1, 2, 4, 8 ... midplanes and of all.
        midplane: nodes of a midplane; 0: 512 if the machine is made of them, else as few as
            part it evenly into 128 or fewer. With an XML file 0 means 512.
        wires: whether blocks whose cables use the same switch exclude each other; only XML
            knows.
        choose: which of several free blocks is taken. ``first``: the first one. ``least``:
            the one that makes the fewest other free blocks unusable.

    Source: the paper on real-time jobs on Mira, sections 2.3 and 5.2; ``least`` is what
    Cobalt, the scheduler of Mira, does.
    """

    name: ClassVar[str] = "select/blocks"
    machines: ClassVar[tuple[str, ...]] = ("processors",)

    def __init__(
        self, file: str = "", midplane: int = 0, wires: bool = False, choose: Literal["first", "least"] = "first"
    ) -> None:
        if midplane < 0:
            raise ConfigurationError(f"select/blocks.midplane is {midplane}; give 1 node or more, or 0")
        if wires and not file:
            raise ConfigurationError("select/blocks.wires needs a file that knows them: name it with file")
        self._file = file
        self._midplane = midplane
        self._wires = wires
        self._choose = choose

    def blocks(self, processors: int) -> Blocks:
        """The blocks of the machine; the emulator asks once, when a simulation begins.

        Args:
            processors: nodes of the machine.

        Raises:
            ConfigurationError: it has not as many nodes as the blocks, or is not made of such midplanes.
            InputError: the file cannot be used.
        """
        if not self._file:
            return self._aligned(processors)
        found = read_blocks(self._file, nodes=self._midplane or MIDPLANE, wires=self._wires)
        if found.machine != processors:
            raise ConfigurationError(
                f"{self._file}: the blocks are of a machine of {found.machine:,} nodes, and the simulation has "
                f"{processors:,} processors; give processors={found.machine}"
            )
        return found

    def _aligned(self, processors: int) -> Blocks:
        nodes = self._midplane or _midplane_of(processors)
        midplanes, rest = divmod(processors, nodes)
        if rest or not midplanes:
            raise ConfigurationError(
                f"a machine of {processors:,} processors is not made of midplanes of {nodes:,} nodes; give "
                "select/blocks.midplane, or a file of blocks"
            )
        mira = (midplanes, nodes) == (MIRA_MIDPLANES, MIDPLANE)
        return aligned(midplanes, MIRA_SIZES if mira else doubling_sizes(midplanes, nodes=nodes), nodes=nodes)

    @hookimpl
    def select_nodes(self, view: SelectView) -> int | None:
        block_state = view.block_state
        assert block_state is not None, "there are blocks"
        wanted = block_state.choices(view.job)
        if view.beside is not None:
            wanted &= ~block_state.blocks.overlaps[view.beside]
        if free := wanted & block_state.free:
            return self._chosen(free, block_state, block_state.free)
        over = set()
        for run in view.candidates:
            over.add(run.job)
            left = block_state.free_without(over)
            if free := wanted & left:
                return self._chosen(free, block_state, left)
        return None

    def _chosen(self, free: Processors, block_state: BlockState, all_free: Processors) -> int:
        if self._choose == "first":
            return lowest(free)
        overlaps = block_state.blocks.overlaps
        return min(numbers(free), key=lambda block: ((overlaps[block] & all_free).bit_count(), block))


def _midplane_of(processors: int) -> int:
    """Nodes of a midplane of a machine of which only the size is known."""
    if processors % MIDPLANE == 0 and processors // MIDPLANE <= MOST_MIDPLANES:
        return MIDPLANE
    least = -(-processors // MOST_MIDPLANES)
    return next(nodes for nodes in range(least, processors + 1) if processors % nodes == 0)
