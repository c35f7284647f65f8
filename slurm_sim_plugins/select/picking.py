"""Which nodes a job takes of those that have something for it, and in which order."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from slurm_sim_plugins.binding import Reach
from slurm_sim_plugins.nodes import FAR, Ints, Machine, Mask, Want
from slurm_sim_plugins.select.capacity import all_units, core_threads, cpus_of_socket
from slurm_sim_plugins.topology.block import Blocks
from slurm_sim_plugins.topology.tree import Missing, Tree

Floats = NDArray[np.float64]


class Picker:
    """Picks nodes."""

    def __init__(
        self,
        want: Want,
        machine: Machine,
        capacity: Ints,
        gres: Ints | None,
        share: Floats,
        sizes: Ints | None = None,
        near: Reach | None = None,
    ) -> None:
        self._want = want
        self._near = near
        self._sizes = sizes
        self._share = share
        self._machine = machine
        self._capacity = capacity
        named = 0 if want.required is None else int(np.count_nonzero(want.required))
        self._nodes = max(want.least_nodes, named)
        self._target = max(want.least_nodes, want.target_nodes)
        self._missing = want.cpus
        self._gres_missing = sum(count for _, _, count in want.gres_total)
        # More than the job wants in all does not make a node better.
        tasks = -(-want.cpus // want.cpus_per_task)
        most = self._gres_missing + sum(count for _, _, count in want.gres_per_task) * tasks
        self._gres = np.zeros_like(capacity) if gres is None else np.minimum(gres, most)
        self._taken: dict[int, int] = {}
        self._of_unit = core_threads(want, machine) * machine.cores
        if want.pool in machine.of_whole_sockets and not want.whole:
            # For each node that is to follow a whole socket is set aside.
            self._of_unit = core_threads(want, machine) * (cpus_of_socket(machine) // machine.core_threads)
        self._required = np.zeros(len(machine), dtype=bool) if want.required is None else want.required

    @property
    def taken(self) -> Mapping[int, int]:
        """CPUs by node of those that were taken, whether they are enough or not."""
        return self._taken

    def pick(self) -> dict[int, int] | None:
        """CPUs that are counted on, by node in the order in which they are taken; or None."""
        want, left = self._want, self._capacity.copy()
        if want.required is not None:
            for node in np.flatnonzero(want.required).tolist():
                self._take(node)
                left[node] = 0
        if isinstance(want.tree, Blocks) and self._in_blocks(left, want.tree):
            # They matter more than how loaded nodes are, and whether a job is to be spread.
            self._by_blocks(left, want.tree)
        elif want.spread:
            self._by_spread(left)
        elif want.in_use is not None and not want.contiguous:
            self._by_use(left, want.in_use)
        elif want.by_looks:
            self._by_looks(left)
        elif want.least_loaded:
            self._by_load(left)
        elif isinstance(want.tree, Tree):
            (self._by_leaves if want.by_leaves else self._by_switches)(left, want.tree)
        else:
            self._by_sets(left)
        enough = self._missing <= 0 and self._gres_missing <= 0 and len(self._taken) >= self._nodes
        return self._taken if enough else None

    def _done(self) -> bool:
        """Whether there is enough, on as many nodes as are welcome."""
        return self._missing <= 0 and self._gres_missing <= 0 and len(self._taken) >= self._target

    def _full(self) -> bool:
        return self._want.most_nodes is not None and len(self._taken) >= self._want.most_nodes

    def _take(self, node: int, counted: int | None = None) -> None:
        """Take what the node has, but leave a core, or a socket, for each other node that is needed.

        Args:
            node: which one.
            counted: CPUs with which it counts, if they are not its own.
        """
        others = max(0, self._nodes - len(self._taken) - 1) * int(self._of_unit[node])
        wanted = max(self._missing - others, self._want.cpus_on_node, self._want.cpus_free)
        if self._near is not None and self._near.least is not None:
            wanted = max(wanted, int(self._near.least[node]))
        own, most = int(self._capacity[node]), self._want.per_node
        counted = own if counted is None else counted
        self._taken[node] = min(wanted if counted > wanted else own, most)
        # Whole nodes count with their own CPUs where those of another one would not be enough.
        self._missing -= min(own if self._want.whole and counted < wanted else counted, wanted, most)
        self._gres_missing -= int(self._gres[node])

    def _by_use(self, left: Ints, in_use: Mask) -> None:
        """Take nodes in use, and then idle ones, of each weight.

        Slurm looks for what is missing only after a node was taken: an idle node comes along where those in use of its
        weight suffice, even if that is one more than the job may have.
        """
        nodes, weights = np.flatnonzero(left > 0), self._machine.weight
        for weight in np.unique(weights[nodes]).tolist() if not self._done() else ():
            for those in (in_use, ~in_use):
                for node in nodes[(weights[nodes] == weight) & those[nodes]].tolist():
                    self._take(node)
                    if self._done() or self._full():
                        break
            if self._done() or self._full():
                return

    def _small_ones_lack(self) -> bool:
        """Whether so many of the smallest nodes as are welcome lack CPUs, and others are larger."""
        sizes = self._capacity[self._capacity > 0]
        least = int(sizes.min(initial=FAR))
        return bool((sizes > least).any()) and self._missing > least * (self._target - len(self._taken))

    def _by_size(self, left: Ints) -> None:
        """Take the largest nodes, of those alike the last."""
        nodes = np.flatnonzero(left > 0)
        for node in nodes[np.lexsort((-nodes, -left[nodes]))].tolist():
            if self._done() or self._full():
                return
            self._take(node)

    def _by_load(self, left: Ints) -> None:
        """Take the nodes first of which the largest share is free, whatever of that the job can use.

        As those of a weight are looked at for the first time, each is bound by what is missing then, for good. So a
        job of more tasks than nodes, but of fewer than one for each thread of a core on each, does not fit.
        """
        nodes, weights = np.flatnonzero(left > 0), self._machine.weight
        for weight in np.unique(weights[nodes]).tolist():
            group, last = nodes[weights[nodes] == weight].tolist(), -1.0
            if not self._want.whole and not self._done() and not self._full():
                others = max(0, self._nodes - len(self._taken) - 1)
                least = max(self._want.cpus_on_node, self._want.cpus_free)
                wanted = np.maximum(self._missing - others * self._of_unit, least)
                self._capacity = np.where(weights == weight, np.minimum(self._capacity, wanted), self._capacity)
            while group and not self._done() and not self._full():
                best, _ = self._least_loaded(group, last)
                last = self._free_cpus[best]
                group.remove(best)
                self._take(best)

    @cached_property
    def _shares(self) -> list[float]:
        """Which share of each node is free."""
        found: list[float] = self._share.tolist()
        return found

    @cached_property
    def _free_cpus(self) -> list[float]:
        """CPUs of each node that are free."""
        machine = self._machine
        found: list[float] = np.rint(self._share * all_units(machine) * machine.threads).tolist()
        return found

    def _least_loaded(self, group: list[int], last: float) -> tuple[int, int]:
        """The node of which the largest share is free, and the node that was looked at last.

        They are looked at in their order, until the one that has the largest share so far has as many free CPUs as the
        ``last`` that was taken.
        """
        share, cpus = self._shares, self._free_cpus
        best = looked_at = group[0]
        for looked_at in group:
            if share[looked_at] > share[best]:
                best = looked_at
            if cpus[best] == last:
                break
        return best, looked_at

    def _by_looks(self, left: Ints) -> None:
        """Take the nodes first of which the largest share is free, as Slurm 26.05 does it.

        The one that is taken counts with the CPUs of the one that was looked at last. Where it counts with more than
        are missing it gives what is missing, else what it has itself.
        """
        nodes = np.flatnonzero(left > 0)
        for weight in np.unique(self._machine.weight[nodes]).tolist():
            group, last = nodes[self._machine.weight[nodes] == weight].tolist(), -1.0
            while group and not self._done() and not self._full():
                best, looked_at = self._least_loaded(group, last)
                last = self._free_cpus[best]
                group.remove(best)
                self._take(best, int(left[looked_at]))

    def _by_spread(self, left: Ints) -> None:
        """Take nodes in their order, weight by weight.

        In Slurm 26.05 with all that they have, and what is enough ends a weight only: each that follows gives a node.
        Where the nodes that a job names are enough, it gets no others.
        """
        if self._done() or self._full():
            return
        nodes, most = np.flatnonzero(left > 0), self._want.spread
        for weight in np.unique(self._machine.weight[nodes]).tolist():
            for node in nodes[self._machine.weight[nodes] == weight].tolist():
                (self._take_all if most > 1 else self._take)(node)
                if self._done() or self._full():
                    break
            if (self._done() or self._full()) and len(self._taken) >= most:
                return

    def _by_switches(self, left: Ints, tree: Tree) -> None:
        if self._one_node(left):
            return
        held = np.zeros(len(left), dtype=bool)
        held[list(self._taken)] = True
        if not tree.joins(held):
            self._missing = FAR
            return
        for node in tree.order(left, self._ranks(), held, self._still, self._gres):
            if self._done() or self._full():
                return
            self._take(node)

    def _ranks(self) -> Ints:
        """Nodes by weight, and of one weight those first with most of the generic resources that are wanted in all."""
        if not self._gres.any():
            return self._machine.weight
        most = self._gres if self._near is None else self._near.nearby
        _, ranks = np.unique(np.stack([self._machine.weight, -most]), axis=1, return_inverse=True)
        return ranks.reshape(-1)

    def _by_leaves(self, left: Ints, tree: Tree) -> None:
        named = self._required & (left == 0)
        for node in tree.leaves_for(self._capacity, named, self._nodes, self._want.cpus):
            if self._done() or self._full():
                return
            self._take(node)

    def _in_blocks(self, left: Ints, blocks: Blocks) -> bool:
        """Whether any node that the job can use is in a block: if none is, blocks do not matter (recorded).

        A job that names nodes can use others as well, as far as that is asked.
        """
        if self._required.any():
            return True
        usable = left > 0
        usable[list(self._taken)] = True
        return bool((usable & blocks.nodes.any(axis=0)).any())

    def _by_blocks(self, left: Ints, blocks: Blocks) -> None:
        if self._one_node(left):
            return
        held = np.zeros(len(left), dtype=bool)
        held[list(self._taken)] = True
        if held.any() and not self._want.first_node and not blocks.joins(held, self._nodes):
            self._missing = FAR
            return
        if self._nodes == 1 and not self._taken and np.count_nonzero(left) == 1:
            # In no block it may be, too.
            self._take(int(left.argmax()))
            return
        for node in blocks.order(left, held, self._still, self._want.segment):
            if self._done() or self._full():
                return
            if self._want.segment:
                self._take_all(node)
            else:
                self._take(node)

    def _take_all(self, node: int) -> None:
        """Take what the node has: tasks are shared out among all nodes."""
        self._taken[node] = min(int(self._capacity[node]), self._want.per_node)
        self._missing -= self._taken[node]
        self._gres_missing -= int(self._gres[node])

    def _still(self) -> Missing:
        """What is still missing."""
        taken = len(self._taken)
        return Missing(self._nodes - taken, self._target - taken, self._missing, max(self._gres_missing, 0))

    def _one_node(self, left: Ints) -> bool:
        """Whether a node was taken for a job to which its neighbours do not matter."""
        nodes, weights = np.flatnonzero(left > 0), self._machine.weight
        of_gpus = bool(self._want.cpus_of_gpus or self._want.gres_total)  # More CPUs than one come with GPUs alone.
        if self._want.last_first and (self._want.cpus <= 1 or of_gpus) and not self._taken:
            # Of nodes of the lightest weight those that suffice, if any do.
            alone = nodes[self._enough(left)[nodes] & (weights[nodes] == weights[nodes].min(initial=FAR))]
            nodes = alone if len(alone) else nodes
            for node in nodes[np.lexsort((-nodes, weights[nodes]))].tolist():
                if self._done() or self._full():
                    break
                self._take(node)
            return bool(len(nodes))
        first = self._want.first_node and not self._taken
        enough = self._first_with_gres(left) if first and self._gres_missing else nodes[self._enough(left)[nodes]]
        if first and len(enough):
            self._take(int(enough[np.argmin(weights[enough])]))
            return True
        return False

    def _first_with_gres(self, left: Ints) -> Ints:
        """The first node for a job that wants generic resources in all; those of nodes before it count, too.

        26.05 looks at one node after the other, and does not give back what it has counted on those that do not
        suffice: the job may get fewer than it wants (recorded).
        """
        nodes = np.flatnonzero(left > 0)
        nodes = nodes[np.argsort(self._machine.weight[nodes], kind="stable")]
        counted = np.cumsum(self._gres[nodes]) >= self._gres_missing
        found = nodes[counted & (np.minimum(left, self._want.per_node)[nodes] >= self._missing)][:1]
        self._gres_missing = 0 if len(found) else self._gres_missing
        return found

    def _by_sets(self, left: Ints) -> None:
        if self._one_node(left):
            return
        if self._want.largest_first and self._small_ones_lack():
            self._by_size(left)
            return
        gres, required = self._gres, self._required & (left == 0)
        # Nodes with most of what is wanted in all go first.
        groups = np.stack([self._machine.weight, -(gres if self._near is None else self._near.nearby)])
        sets = _sets(np.flatnonzero((left > 0) | required).tolist(), groups, required, self._want.contiguous)
        while sets and not self._done() and not self._full():
            best = self._best(sets, left)
            if self._want.contiguous and not self._suffices(best[1], left):
                return
            sets = [one for one in sets if one is not best]
            self._take_from(best[1], left)

    def _best(self, sets: list[tuple[tuple[int, ...], Ints]], left: Ints) -> tuple[tuple[int, ...], Ints]:
        """The first set with required nodes, else the lightest; of those alike the tightest that suffices, or largest.

        One that is lighter or tighter takes the place of one with required nodes, too, if it comes after that; and so
        does a larger one with too few nodes that of one which suffices.
        """
        best = sets[0]
        for one in sets[1:]:
            required = not self._required[best[1]].any() and self._required[one[1]].any()
            if required or one[0] < best[0]:
                best = one
            elif one[0] == best[0]:
                total, least = int(left[one[1]].sum()), int(left[best[1]].sum())
                suffices, before = self._suffices(one[1], left), self._suffices(best[1], left)
                if (not before or total < least) if suffices else total > least:
                    best = one
        return best

    def _suffices(self, members: Ints, left: Ints) -> bool:
        """Whether a set has all that is missing."""
        enough = int(left[members].sum()) >= self._missing and int(self._gres[members].sum()) >= self._gres_missing
        return enough and bool(np.count_nonzero(left[members]) >= self._nodes - len(self._taken))

    def _enough(self, left: Ints) -> Mask:
        """Which nodes have all that is missing."""
        most = np.minimum(left, self._want.per_node)
        enough: Mask = (most >= self._missing) & (self._gres >= self._gres_missing)
        return enough

    def _take_from(self, members: Ints, left: Ints) -> None:
        required, nodes = self._required[members], members.tolist()
        if required.any():
            # Upward from the first that is required, then downward.
            first = int(required.argmax())
            nodes = nodes[first:] + nodes[:first][::-1]
        elif self._target - len(self._taken) <= 1:
            enough = members[self._enough(left)[members]].tolist()
            if enough:
                sizes = left if self._sizes is None or self._taken else self._sizes
                # select/linear takes the first (asked of 24.11), not the smallest.
                alike = self._want.largest_first
                self._take(min(enough, key=lambda node: (0 if alike else int(sizes[node]), node)))
                return
        for node in nodes:
            if self._done() or self._full():
                return
            if left[node] > 0 and self._may_take(node, left):
                self._take(node)

    def _may_take(self, node: int, left: Ints) -> bool:
        """Whether a node may be taken: the last of as many as there may be must give all that is missing."""
        last = self._want.most_nodes is not None and len(self._taken) == self._want.most_nodes - 1
        return not last or bool(self._enough(left)[node])


def _sets(nodes: list[int], groups: Ints, required: Mask, contiguous: bool) -> list[tuple[tuple[int, ...], Ints]]:
    """Sets of neighbours of one group, in the order of the nodes, with the required nodes among them.

    Required nodes with which a set of another group begins do not belong to it (recorded).

    Args:
        nodes: those that may be taken, and those that are required.
        groups: what neighbours of one set have in common, a column for each node.
        required: nodes that the job has already.
        contiguous: whether neighbours belong together whatever their group.
    """
    sets: list[tuple[tuple[int, ...], Ints]] = []
    members: list[int] = []
    group: tuple[int, ...] | None = None
    fresh, last = True, None
    for node in nodes:
        own = tuple(groups[:, node].tolist())
        hole = last is not None and node > last + 1
        if hole or (not contiguous and own != group and not fresh):
            if group is not None:
                sets.append((group, np.array(members)))
            members, group, fresh = [], None, hole
        members.append(node)
        last = node
        if not required[node]:
            group, fresh = own, False
    if group is not None:
        sets.append((group, np.array(members)))
    return sets
