"""What compiled code keeps of a cluster."""

from __future__ import annotations

from emulator.scheduling.outlooks import Outlooks
from emulator.scheduling.runs import RunTable
from emulator.scheduling.searches import Searches
from emulator.scheduling.select_compiled import Selector, encode, encode_planned
from emulator.scheduling.select_kernel import Code
from emulator.scheduling.select_rows import MACHINE_WEIGHT
from emulator.scheduling.windows import Kind
from emulator.state.cluster import Cluster
from emulator.state.job import Job
from emulator.state.kept import Slots
from emulator.state.partition import Partition
from emulator.state.scratch import Scratch
from slurm_sim_plugins.nodes import Allocation, Free, Mask, Want


class Codes(Scratch):
    """What jobs ask as numbers, by class of request and partition; what C keeps no snapshot can fill in.

    Attributes:
        known: that; None for what is not plain.
        planned: the same of what jobs are planned with, where nodes are taken in another order as they start.
        steady: by kind, whether nothing but nodes, time and preemption decides on jobs, as long as that holds in all
            cycles.
    """

    def __init__(self) -> None:
        self.known: dict[tuple[int, str], Code | None] = {}
        self.planned: dict[tuple[int, str], Code | None] = {}
        self.steady: dict[Kind, bool] = {}


class Compiled:
    """Requests as numbers, runs as columns, and room for the kernels.

    Attributes:
        selector: chooses nodes.
        runs: running jobs by planned end.
        searches: those of a cycle of backfill.
        outlooks: what these find on the nodes as runs end.
        up: which nodes were up in the last cycle.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.runs = RunTable(cluster)
        self.searches = Searches(len(cluster.machine))
        self.reconfigure()

    def reconfigure(self) -> None:
        """Nodes and partitions are others from now on."""
        self.selector = Selector(self._cluster.machine)
        self.outlooks = Outlooks(self._cluster, self.selector, self.runs)
        self._codes = Codes()
        self.up = self._cluster.machine.up.tobytes()

    def take_back(self, slots: Slots) -> None:
        """What a cycle kept is wanted no more: the next one may have the room for it."""
        if slots.of_stock:
            self.outlooks.spare_slots.append(slots)

    @property
    def steady(self) -> dict[Kind, bool]:
        """See :class:`Codes`."""
        return self._codes.steady

    def code(self, job: Job, partition: Partition) -> Code | None:
        """What a job asks of a partition as numbers; None if it is not plain."""
        key = (job.request_class, partition.name)
        codes = self._codes.known
        known = codes.get(key)
        if known is None and key not in codes:
            known = codes[key] = encode(job.wants[partition.name], self._cluster.machine)
        return known

    def planned_code(self, job: Job, partition: Partition) -> Code | None:
        """What a job is planned with as numbers, where it takes nodes in another order as it starts; else None."""
        key = (job.request_class, partition.name)
        codes = self._codes.planned
        if key not in codes:
            codes[key] = encode_planned(job.wants[partition.name], self._cluster.machine)
        return codes[key]

    def note(self, job: Job, partition: Partition) -> None:
        """Note what a job asks for, before it is to ask for something else for a while: that is not noted then."""
        self.code(job, partition)
        self.planned_code(job, partition)

    def weigh(self, node: int, weight: int) -> None:
        """A node has another weight from now on."""
        self._codes.steady.clear()
        self.selector.rows[MACHINE_WEIGHT, node] = weight
        self.outlooks.weighed()

    def select(self, want: Want, code: Code, usable: Mask, free: Free) -> Allocation | None:
        """The nodes for a plain request out of what is free, or None if it does not fit; see :meth:`code`."""
        return self.selector.select(want, code, free, usable)

    def choose(self, want: Want, free: Free, usable: Mask) -> Allocation | None:
        """As :meth:`Cluster.choose`, which it asks if the request is not plain."""
        code = encode(want, self._cluster.machine)
        if code is None:
            return self._cluster.choose(want, free, usable)
        return self.selector.select(want, code, free, usable)
