"""What is known of the nodes as runs end, for all searches of a cycle; the kernel is in :mod:`.outlook_kernel`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from emulator.scheduling.outlook_kernel import Machine, Outlook, Runs, come, free_after, look
from emulator.scheduling.run_rows import MANY
from emulator.scheduling.runs import RunTable
from emulator.scheduling.select_compiled import Selector
from emulator.scheduling.select_kernel import Code
from emulator.state.cluster import Cluster
from emulator.state.job import Job
from emulator.state.partition import Partition
from emulator.state.scratch import Scratch
from slurm_sim_plugins.nodes import Free, Mask

FEW = 2
"""A run on more nodes has all of them looked at from nothing: each node costs a look through all runs."""


class Known(NamedTuple):
    """What requests of a kind find, and then, in the same room, those of another.

    Attributes:
        outlook: that.
        usable: nodes that may be used, as ``outlook`` sees them.
        entries, runs: for how many there is room.
    """

    outlook: Outlook
    usable: Mask
    entries: int
    runs: int


class Outlooks(Scratch):
    """What requests find on the nodes, as runs are planned to end now.

    Args:
        cluster: the cluster state.
        selector: chooses nodes.
        table: its runs.
    """

    def __init__(self, cluster: Cluster, selector: Selector, table: RunTable) -> None:
        self._cluster = cluster
        self._table = table
        self._machine = Machine(selector.rows, selector.weights, cluster.free.table)
        self._kinds: dict[tuple[object, ...], int] = {}
        self._kind_of: dict[tuple[int, str], int] = {}
        self._known: dict[tuple[int, str, bool], Known] = {}
        self._spare: list[Known] = []
        self._runs: Runs
        self._many = self._seen = 0

    def begin(self, another: bool = False) -> None:
        """Other runs are there, or end at other times: look again.

        Args:
            another: whether nothing has happened since but that a job has started.
        """
        row = self._table.newest(self._seen) if another else -1
        (ends, index), entries = self._table.planned(), self._table.entries
        self._runs, self._many, self._seen = Runs(ends, index, entries), len(ends), self._table.changes
        goes_on = row >= 0 and not self._table.late and index[row, MANY] <= FEW
        for key, known in list(self._known.items()):
            # Where users have nodes alone, others may use other nodes now.
            if goes_on and not key[1] and self._keeps(known, entries.shape[1], self._many):
                come(known.outlook, self._runs, row)
            else:
                self._spare.append(self._known.pop(key))

    def _keeps(self, known: Known, entries: int, runs: int) -> bool:
        """Whether there is room for so many."""
        return known.entries >= entries and known.runs >= runs

    def of(self, job: Job, partition: Partition, code: Code) -> Outlook:
        """What a plain job finds in a partition."""
        key = (job.request_class, partition.name)
        kind = self._kind_of.get(key)
        if kind is None:
            asked = _kind(code), partition.nodes.tobytes(), job.wants[partition.name].choices[0].mask.tobytes()
            kind = self._kind_of[key] = self._kinds.setdefault(asked, len(self._kinds))
        whose, alone = "", False
        if self._cluster.parts_users(job):
            whose, alone = job.request.user, partition.exclusive_user or job.options.exclusive_to == "user"
        known = self._known.get((kind, whose, alone))
        if known is None:
            known = self._known[kind, whose, alone] = self._look(job, partition, code)
        return known.outlook

    def free_after(self, many: int) -> Free:
        """What is free after so many runs."""
        now = self._cluster.free
        if not many:
            return now
        later = now.copy()
        free_after(self._runs, many, later.table)
        return later

    def _look(self, job: Job, partition: Partition, code: Code) -> Known:
        known, entries = self._spare.pop() if self._spare else None, self._table.entries.shape[1]
        if known is None or not self._keeps(known, entries, self._many):
            known = self._with_room(code, entries, 2 * self._many)
        usable = self._cluster.usable(job, partition)
        np.logical_and(usable, job.wants[partition.name].choices[0].mask, out=known.usable)
        look(known.outlook, code, self._runs)
        return known

    def _with_room(self, code: Code, entries: int, runs: int) -> Known:
        """Room to look at so many runs, with so many nodes together."""
        now = self._cluster.free.table
        usable = np.zeros(now.shape[1], dtype=bool)
        state, (first, last) = np.empty_like(now), np.empty((2, now.shape[1]), dtype=np.int64)
        before, after = np.empty((2, entries), dtype=np.int64)
        cpus, nodes = np.empty((2, runs + 1), dtype=np.int64)
        columns = state, first, last, before, after, cpus, nodes
        return Known(Outlook(code, usable.view(np.uint8), self._machine, self._runs, *columns), usable, entries, runs)


def _kind(code: Code) -> tuple[int, ...]:
    """What a request asks of each node: others that ask for the same of each find the same there."""
    memory = code.memory_per_node, code.memory_per_cpu, code.memory_of_core, code.all_memory
    units = code.per_task, code.whole_tasks, code.on_node, code.ranked, code.per_core, code.whole
    return *units, *memory, code.gres, code.gres_kinds
