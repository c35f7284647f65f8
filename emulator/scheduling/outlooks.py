"""What is known of the nodes as runs end, for all searches of a cycle; the kernel is in :mod:`.outlook_kernel`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from emulator.scheduling.outlook_kernel import Machine, Outlook, Runs, ask_again, free_after, look, look_later
from emulator.scheduling.run_kernel import span
from emulator.scheduling.run_rows import ID, NODE
from emulator.scheduling.runs import RunTable
from emulator.scheduling.select_compiled import Selector
from emulator.scheduling.select_kernel import Code
from emulator.scheduling.select_rows import MACHINE_CORES
from emulator.scheduling.stretches import Stretches, forget, mixes, tell_apart, uncut
from emulator.state.cluster import Cluster
from emulator.state.job import Job
from emulator.state.kept import Slots
from emulator.state.partition import Partition
from emulator.state.scratch import Scratch
from slurm_sim_plugins.nodes import Free, Ints, Mask

MOST_KNOWN = 64
"""From one cycle to the next it is kept what so many kinds of requests find, at most."""


GivenBack = Callable[[Sequence[int]], Sequence[Sequence[int]]]
"""How many units of each of their nodes jobs give back, by their ids, if they leave in this order."""


class Known(NamedTuple):
    """What requests of a kind find, and then, in the same room, those of another.

    Attributes:
        outlook: that.
        usable: nodes that may be used, as ``outlook`` sees them.
    """

    outlook: Outlook
    usable: Mask


def stretches_of(nodes: int) -> Stretches:
    """Room for the stretches of so many nodes."""
    fixed, heads = np.zeros((2, nodes), dtype=np.uint8)
    wide, owner, pieces, room = np.empty((4, nodes), dtype=np.int64)
    cuts, begins = np.empty((2, nodes), dtype=np.int64), np.empty(nodes + 1, dtype=np.int64)
    stretches = Stretches(fixed, heads, wide, owner, pieces, cuts, room, begins)
    forget(stretches)
    return stretches


class Outlooks(Scratch):
    """What requests find on the nodes, as runs are planned to end now.

    Args:
        cluster: the cluster state.
        selector: chooses nodes.
        table: its runs.

    Attributes:
        stretches: nodes that are alike.
        divided: how often these were found, which slots cut then; see :func:`.windows_kernel.cut_again`.
        spare_slots: room for slots of a cycle to come, which costs as much to make as to look for a hole or two.
    """

    def __init__(self, cluster: Cluster, selector: Selector, table: RunTable) -> None:
        self._cluster = cluster
        self._table = table
        self._planned, self._entries = (table.ends[:0], table.index[:0]), table.entries
        self._base, self._there = cluster.free, cluster.free.table.copy()
        self._rows, self.stretches, self.divided = selector.rows, stretches_of(len(cluster.machine)), 0
        of_runs = Runs(*self._planned, table.entries), self.stretches, *np.empty((2, 2, 0), dtype=np.int64)
        self._machine = Machine(selector.rows, selector.weights, self._there, *of_runs)
        self.weighed()
        self._kinds: dict[tuple[object, ...], int] = {}
        self._kind_of: dict[tuple[int, str], int] = {}
        self._known: dict[tuple[int, str, bool], Known] = {}
        self._alone: list[tuple[int, str, bool]] = []
        self._spare: list[Known] = []
        self._room, self._up = (0, 0), b""
        self._seen: tuple[int, int] | None = None
        self.spare_slots: list[Slots] = []

    def begin(self, first: bool, parted: bool, given_back: GivenBack | None = None) -> bool:
        """Other runs are there, or end at other times: the nodes are looked at again.

        Args:
            first: whether nothing that was found before is in use.
            parted: whether any job may find nodes that it does not get because of its user.
            given_back: says how many units jobs give back in their order, where several have the same.

        Returns:
            Whether it is to be asked again what all jobs find: else only what those do whose user matters.
        """
        self._base, self._planned = self._cluster.free, self._table.planned()
        if self._cluster.epilogs is not None:
            self._leave_out_dead()
        self._entries = self._table.entries if given_back is None else self._shared(given_back)
        up, room = self._cluster.machine.up.tobytes(), (self._table.entries.shape[1], len(self._table.ends))
        wider, others_up = room != self._room, up != self._up
        all_again = parted or wider or others_up or (first and len(self._known) > MOST_KNOWN)
        self._up, self._room = up, room
        if wider:
            self._machine.parts = np.empty((2, room[0]), dtype=np.int64)
            self._machine.bounds = np.empty((room[1], 2), dtype=np.int64)
        if parted or others_up:
            # Nodes that were told apart may be used by the same jobs again.
            forget(self.stretches)
            self.weighed()
        seen = self._as_seen(given_back)
        if seen is not None and seen == self._seen:
            self._look_as_before()
        else:
            self._there[:] = self._base.table
            self._divide()
        self._seen = seen
        self._spare += map(self._known.pop, list(self._known) if all_again else self._alone)
        self._alone.clear()
        if wider:
            # They have room for fewer runs.
            self._spare.clear()
        return all_again

    def _as_seen(self, given_back: GivenBack | None) -> tuple[int, int] | None:
        """How often jobs came and went by now, and runs became others; None if what is found goes by more than that."""
        if given_back is not None or self._cluster.epilogs is not None or self._table.is_late():
            return None
        return self._base.changes, self._table.changes

    def _look_as_before(self) -> None:
        """No run came or went since the cycle before: what was found is true still, but for what slots leave of it."""
        uncut(self.stretches)
        for known in self._known.values():
            ask_again(known.outlook)

    def _leave_out_dead(self) -> None:
        """What runs had that have ended is there at once: jobs that look find nothing now, not even on their nodes."""
        self._base = self._cluster.free_if_clear()
        ends, index = self._planned
        dead = [job.id for job in self._cluster.running.values() if job.is_cleared]
        there = np.isin(index[:, ID], dead, invert=True)
        self._planned = ends[there], index[there]

    def _shared(self, given_back: GivenBack) -> Ints:
        """The entries of runs of which several have the same units: the last of these gives them back."""
        index, entries = self._planned[1], self._table.entries.copy()
        for (first, many), units in zip(index[:, :ID].tolist(), given_back(index[:, ID].tolist()), strict=True):
            entries[NODE + 1, first : first + many] = units
            span(entries, first, many)
        return entries

    def weighed(self) -> None:
        """Nodes may have other weights."""
        self._seen = None
        tell_apart(self.stretches, self._rows, MACHINE_CORES + 1)

    def _divide(self) -> None:
        """Nodes that are alike are found again, and looked at again."""
        look_later(self._machine, Runs(*self._planned, self._entries))
        self.divided += 1

    def of(self, job: Job, partition: Partition, code: Code) -> Outlook:
        """What a plain job finds in a partition."""
        key = (job.request_class, partition.name)
        kind = self._kind_of.get(key)
        if kind is None:
            asked = _kind(code), partition.nodes.tobytes(), job.wants[partition.name].choices[0].mask.tobytes()
            kind = self._kind_of[key] = self._kinds.setdefault(asked, len(self._kinds))
        whose, alone = "", False
        if self._cluster.parts_users(job):
            whose, alone = job.request.user, partition.exclusive_user or job.options.exclusive_to in ("user", "topo")
        known = self._known.get((kind, whose, alone))
        if known is None:
            known = self._known[kind, whose, alone] = self._look(job, partition, code)
            if alone:
                self._alone.append((kind, whose, alone))
        return known.outlook

    def free_after(self, many: int) -> Free:
        """What is free after so many runs."""
        if not many:
            return self._base
        later = self._base.copy()
        free_after(self._machine.runs, many, later.table)
        return later

    def _look(self, job: Job, partition: Partition, code: Code) -> Known:
        known = self._spare.pop() if self._spare else self._new(code)
        usable = self._cluster.usable(job, partition)
        np.logical_and(usable, job.wants[partition.name].choices[0].mask, out=known.usable)
        if mixes(self.stretches, known.usable.view(np.uint8)):
            self._divide()
        look(known.outlook, code)
        return known

    def _new(self, code: Code) -> Known:
        """Of which nothing is looked at yet, with room for as many runs as the table has."""
        now, (entries, runs), machine = self._cluster.free.table, self._room, self._machine
        usable = np.zeros(now.shape[1], dtype=bool)
        first, last = np.empty((2, len(usable)), dtype=np.int64)
        before, after = np.empty((2, entries), dtype=np.int64)
        touched, cpus, nodes = np.empty((3, runs + 1), dtype=np.int64)
        columns = np.empty_like(now), first, last, before, after, touched, cpus, nodes
        return Known(Outlook(code, usable.view(np.uint8), machine, machine.runs, *columns), usable)


def _kind(code: Code) -> tuple[int, ...]:
    """What a request asks of each node: others that ask for the same of each find the same there."""
    memory = code.memory_per_node, code.memory_per_cpu, code.memory_of_core, code.all_memory
    units = code.per_task, code.whole_tasks, code.on_node, code.ranked, code.per_core, code.whole
    return *units, *memory, code.gres, code.gres_kinds
