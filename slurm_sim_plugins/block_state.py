"""Which job runs on which block on a machine that is given out in blocks.

Where the plugin in the SelectType slot gives out blocks, a run has one of them, and all of
it. A block is known by its number in :class:`~slurm_sim_plugins.blocks.Blocks`; a set of
blocks is a whole number of which bit b is block b.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from slurm_sim_plugins.blocks import Blocks
from slurm_sim_plugins.counts import Counts
from slurm_sim_plugins.jobs import Job, Run
from slurm_sim_plugins.processors import Processors, processors
from slurm_sim_plugins.profile import RunEntry

Find = Callable[[Job, int | None], int | None]


class BlockState:
    """Which blocks are in use, and by which runs; follows the cluster state and cannot be changed.

    Args:
        cluster_state: to which they belong.
        blocks: of the machine.

    Attributes:
        blocks: of the machine.

    What begins with an underscore is for the owner of the cluster_state: block and run of each
    job that runs, what is free if that is known, and what to ask for a block.
    """

    __slots__ = ("_all", "_by_size", "_cluster_state", "_entries", "_find", "_free", "_of", "blocks")

    def __init__(self, cluster_state: Counts, blocks: Blocks) -> None:
        self.blocks = blocks
        self._cluster_state = cluster_state
        self._all: Processors = (1 << len(blocks)) - 1
        self._by_size = {size: processors(own) for size, own in blocks.by_size.items()}
        self._of: dict[Job, int] = {}
        self._entries: dict[Job, RunEntry] = {}
        self._free: Processors | None = self._all
        self._find: Find = self._first

    @property
    def free(self) -> Processors:
        """The blocks of which nothing is in use."""
        if self._free is None:
            self._free = self.free_without(())
        return self._free

    def free_without(self, over: Collection[Job]) -> Processors:
        """The blocks of which nothing would be in use if these jobs did not run."""
        overlaps, taken = self.blocks.overlaps, 0
        for job, block in self._of.items():
            if job not in over:
                taken |= overlaps[block]
        return self._all & ~taken

    def choices(self, job: Job) -> Processors:
        """The blocks on which a job may run: those of the smallest size that holds it.

        Raises:
            ConfigurationError: no block is so large.
        """
        return self._by_size[self.blocks.size_for(job.processors)]

    def block_of(self, job: Job) -> int | None:
        """The block on which a job runs; None if it does not run."""
        return self._of.get(job)

    def on(self, block: int) -> list[Run]:
        """The runs that hold anything of a block, in the order in which they started."""
        overlaps = self.blocks.overlaps
        return [Run._make(self._entries[job]) for job, own in self._of.items() if overlaps[own] >> block & 1]

    def find(self, job: Job, beside: int | None = None) -> int | None:
        """A free block for a job, as the plugin in the SelectType slot chooses; None if there is none.

        Args:
            job: the job that is to start.
            beside: a block of which it must not take anything.
        """
        return self._find(job, beside)

    def earliest(self, job: Job) -> tuple[float, int]:
        """When a job gets a block if nothing else starts, and which one: the first of those that are free then.

        A run that has outlived its planned end counts as ending now.
        """
        now, overlaps = self._cluster_state.now, self.blocks.overlaps
        left = self.choices(job)
        for entry in reversed(self._cluster_state._runs):
            still = left & ~overlaps[self._of[entry[4]]]
            if not still:
                end = entry[0]
                return max(now, end), lowest(self._until(max(now, end), self.choices(job)))
            left = still
        return now, lowest(left)

    def _until(self, time: float, left: Processors) -> Processors:
        """Of some blocks those that are free when all has ended that is planned to end by then."""
        overlaps = self.blocks.overlaps
        for entry in reversed(self._cluster_state._runs):
            if entry[0] <= time:
                break
            left &= ~overlaps[self._of[entry[4]]]
        return left

    def _first(self, job: Job, beside: int | None) -> int | None:
        """The first free block, where no plugin chooses."""
        free = self.choices(job) & self.free
        if beside is not None:
            free &= ~self.blocks.overlaps[beside]
        return lowest(free) if free else None

    def _enter(self, block: int, entry: RunEntry) -> None:
        """A run begins."""
        job = entry[4]
        self._of[job] = block
        self._entries[job] = entry
        if self._free is not None:
            self._free &= ~self.blocks.overlaps[block]

    def _leave(self, job: Job) -> int:
        """A run is over."""
        self._free = None
        del self._entries[job]
        return self._of.pop(job)

    def _replan(self, entry: RunEntry) -> None:
        """A run is planned to end at another time."""
        self._entries[entry[4]] = entry


def lowest(of: Processors) -> int:
    """The lowest number of a set that is not empty."""
    return (of & -of).bit_length() - 1
