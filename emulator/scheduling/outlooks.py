"""What is known of the nodes as runs end, for all searches of a cycle; the kernel is in :mod:`.outlook_kernel`."""

from __future__ import annotations

import numpy as np

from emulator.scheduling.outlook_kernel import Machine, Outlook, Runs, free_after, look
from emulator.scheduling.runs import RunTable
from emulator.scheduling.select_compiled import Selector
from emulator.scheduling.select_kernel import Code
from emulator.state.cluster import Cluster
from emulator.state.job import Job
from emulator.state.partition import Partition
from emulator.state.scratch import Scratch
from slurm_sim_plugins.nodes import Free, Ints


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
        self._known: dict[int, tuple[Outlook, Ints]] = {}
        self._spare: list[Ints] = []
        self._runs: Runs
        self._many = 0

    def begin(self) -> None:
        """Other runs are there, or end at other times: look again."""
        ends, index = self._table.planned()
        self._runs, self._many = Runs(ends, index, self._table.entries), len(ends)
        self._spare += [room for _, room in self._known.values()]
        self._known.clear()

    def of(self, job: Job, partition: Partition, code: Code) -> Outlook:
        """What a plain job finds in a partition."""
        key = (job.request_class, partition.name)
        kind = self._kind_of.get(key)
        if kind is None:
            asked = _kind(code), partition.nodes.tobytes(), job.wants[partition.name].choices[0].mask.tobytes()
            kind = self._kind_of[key] = self._kinds.setdefault(asked, len(self._kinds))
        known = self._known.get(kind)
        if known is None:
            known = self._known[kind] = self._look(job, partition, code)
        return known[0]

    def free_after(self, many: int) -> Free:
        """What is free after so many runs."""
        now = self._cluster.free
        if not many:
            return now
        later = now.copy()
        free_after(self._runs, many, later.table)
        return later

    def _look(self, job: Job, partition: Partition, code: Code) -> tuple[Outlook, Ints]:
        usable = partition.nodes & self._cluster.machine.up & job.wants[partition.name].choices[0].mask
        now, entries, many = self._cluster.free.table, self._table.entries.shape[1], self._many + 1
        size, needed = now.shape[1], now.size + 2 * (now.shape[1] + entries + many)
        room = self._spare.pop() if self._spare else np.empty(needed, dtype=np.int64)
        if len(room) < needed:
            room = np.empty(2 * needed, dtype=np.int64)
        state, pairs = room[: now.size].reshape(now.shape), room[now.size : needed]
        first, last = pairs[: 2 * size].reshape(2, size)
        before, after = pairs[2 * size : 2 * (size + entries)].reshape(2, entries)
        cpus, nodes = pairs[2 * (size + entries) :].reshape(2, many)
        columns = state, first, last, before, after, cpus, nodes
        outlook = Outlook(code, usable.view(np.uint8), self._machine, self._runs, *columns)
        look(outlook)
        return outlook, room


def _kind(code: Code) -> tuple[int, ...]:
    """What a request asks of each node: others that ask for the same of each find the same there."""
    memory = code.memory_per_node, code.memory_per_cpu, code.memory_of_core, code.all_memory
    units = code.per_task, code.whole_tasks, code.on_node, code.ranked, code.per_core, code.whole
    return *units, *memory, code.gres, code.gres_kinds
