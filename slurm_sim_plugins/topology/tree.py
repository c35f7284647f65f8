"""topology/tree: switches above the nodes, and in which order a job takes nodes of them.

A job stays below one switch of the highest level, and takes the lightest nodes leaf by leaf. Of two leaves the one is
better that has enough for what is missing, and of two that have enough the one with fewer nodes; where neither has,
the switches above them are compared in the same way. A leaf further from those in use is not taken before one that is
as good. On a leaf nodes are taken by their index. (Asked of slurmctld 22.05, 24.11 and 26.05, some 6,000 jobs;
Slurm's topology guide, "Hierarchical Networks".)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]
FAR = 2**40
"""More links than there are."""


class Missing(NamedTuple):
    """What a job still needs: nodes at least, nodes that are welcome, CPUs, and generic resources in all."""

    least: int
    welcome: int
    cpus: int
    gres: int = 0


@dataclass(frozen=True, eq=False)
class Tree:
    """Switches, in the order of the file.

    Attributes:
        names: of the switches.
        parents: the switch above each; itself where there is none.
        levels: 0 for leaves, to which nodes are connected.
        nodes: which nodes are below each, a row for each switch.
        apart: links between two switches; FAR where none lead there.
        by_cpus: whether a switch has enough only if it has the CPUs, too.
        optional: whether only jobs with ``--switches`` go by it.
    """

    names: Sequence[str]
    parents: Ints
    levels: Ints
    nodes: Mask
    apart: Ints
    by_cpus: bool = True
    optional: bool = False

    @classmethod
    def of(
        cls,
        names: Sequence[str],
        below: Sequence[Sequence[int]],
        nodes: Mask,
        *,
        by_cpus: bool = True,
        optional: bool = False,
    ) -> Tree:
        """A tree.

        Args:
            names: of the switches.
            below: the switches directly below each; there are no circles.
            nodes: which nodes are directly below each, a row for each switch; those further below are added.
            by_cpus: whether a switch has enough only if it has the CPUs, too.
            optional: whether only jobs with ``--switches`` go by it.
        """
        size = len(names)
        parents, levels, nodes, apart = (
            np.arange(size),
            np.zeros(size, np.int64),
            nodes.copy(),
            np.full((size, size), FAR),
        )
        grown = True
        while grown:
            grown = False
            for switch, children in enumerate(below):
                for child in children:
                    parents[child] = switch
                    grown = grown or levels[switch] <= levels[child]
                    levels[switch] = max(levels[switch], levels[child] + 1)
                    nodes[switch] |= nodes[child]
        for switch in range(size):
            apart[switch, switch] = 0
            apart[switch, parents[switch]] = apart[parents[switch], switch] = int(parents[switch] != switch)
        for between in range(size):
            apart = np.minimum(apart, apart[:, between, None] + apart[None, between])
        return cls(tuple(names), parents, levels, nodes, np.minimum(apart, FAR), by_cpus, optional)

    def leaves_of(self, nodes: Sequence[int]) -> list[str]:
        """Names of the leaf switches of nodes."""
        used = self.nodes[:, list(nodes)].any(axis=1) & (self.levels == 0)
        return [self.names[switch] for switch in np.flatnonzero(used).tolist()]

    def joins(self, nodes: Mask) -> bool:
        """Whether there is a switch above all of these nodes."""
        return bool((self.nodes | ~nodes).all(axis=1).any())

    def order(
        self, left: Ints, weights: Ints, held: Mask, missing: Callable[[], Missing], gres: Ints | None = None
    ) -> Iterator[int]:
        """Nodes in the order in which a job takes them, for as long as it wants more.

        Args:
            left: CPUs that it could have on each node that it has not.
            weights: of the nodes.
            held: nodes that it has already.
            missing: says what it still needs.
            gres: what each node has of the generic resources that it wants in all; None if it wants none.
        """
        need = missing()
        top = self._top(left, weights, held, need)
        if top < 0:
            return
        left, held = np.where(self.nodes[top], left, 0), held.copy()
        weight = self._heaviest(left, weights, need, np.zeros_like(left) if gres is None else gres)
        for node in np.flatnonzero((left > 0) & (weights < weight)).tolist():
            held[node] = True
            yield node
        left[held] = 0
        fitting = (left > 0) & (weights == weight)
        leaves = np.flatnonzero(self.levels == 0)
        used = [leaf for leaf in leaves.tolist() if (self.nodes[leaf] & held).any()]
        yield from _taken(used, self.nodes, fitting, left)
        rest = [leaf for leaf in leaves.tolist() if leaf not in used]
        counts = self.nodes @ fitting.astype(np.int64)
        while rest:
            if self.by_cpus:
                counts = self.nodes @ fitting.astype(np.int64)
            best = self._best(rest, counts, self.nodes @ left, self.apart[used].sum(axis=0), missing())
            if best < 0:
                return
            yield from _taken([best], self.nodes, fitting, left)
            counts[best] = 0
            rest.remove(best)
            used.append(best)

    def leaves_for(self, cpus: Ints, named: Mask, least: int, wanted: int) -> Iterator[int]:
        """Nodes in the order in which select/linear of 22.05 takes them, behind those that a job names.

        It goes by the switch of the lowest level that has enough, of these by that with fewest nodes, and takes the
        leaves below it by their free CPUs, the fewest first, but before them those of nodes that the job names.
        (Slurm's sources; asked of slurmctld.)

        Args:
            cpus: that it could have on each node.
            named: nodes that it has already, for it names them.
            least: nodes that it needs.
            wanted: CPUs that it needs.
        """
        counts, sizes = self.nodes @ (cpus > 0).astype(np.int64), self.nodes @ cpus
        enough = (counts >= least) & (sizes >= wanted) & ~(named & ~self.nodes).any(axis=1)
        if not enough.any():
            return
        places = np.flatnonzero(enough)
        top = int(places[np.lexsort((counts[places], self.levels[places]))[0]])
        free = (cpus > 0) & ~named & self.nodes[top]
        leaves, left = np.flatnonzero(self.levels == 0).tolist(), np.where(free, cpus, 0)
        of_named = [leaf for leaf in leaves if (self.nodes[leaf] & named).any()]
        rest = [leaf for leaf in leaves if leaf not in of_named and (self.nodes[leaf] & free).any()]
        rest.sort(key=lambda leaf: int(left[self.nodes[leaf]].sum()))
        yield from _taken([*of_named, *rest], self.nodes, free, left)

    def _top(self, left: Ints, weights: Ints, held: Mask, need: Missing) -> int:
        """The last of the switches of the highest level that will do; -1 if there is none.

        It is above what the job has; or else has enough, and some of it on nodes of the lowest weight.
        """
        usable = left > 0
        lightest = usable & (weights == weights[usable].min(initial=FAR))
        best = -1
        for switch, below in enumerate(self.nodes):
            if held.any():
                good = not bool((held & ~below).any())
            else:
                good = bool((below & usable).sum() >= need.least and (below & lightest).any())
                good = good and (not self.by_cpus or int(left[below].sum()) >= need.cpus)
            if good and (best < 0 or self.levels[switch] >= self.levels[best]):
                best = switch
        return best

    def _heaviest(self, left: Ints, weights: Ints, need: Missing, gres: Ints) -> int:
        """The lowest weight such that the nodes up to it are enough; all that are lighter are needed."""
        least = need.welcome if self.by_cpus else need.least
        weight = 0
        for weight in np.unique(weights[left > 0]).tolist():
            light = (left > 0) & (weights <= weight)
            enough = left[light].sum() >= need.cpus and gres[light].sum() >= need.gres
            if enough and np.count_nonzero(light) >= least:
                break
        return weight

    def _best(self, leaves: Sequence[int], counts: Ints, cpus: Ints, away: Ints, need: Missing) -> int:
        """The best of the leaves, or -1."""
        enough = (counts >= need.welcome) & ((cpus >= need.cpus) | (not self.by_cpus))
        best = -1
        for leaf in leaves:
            if not counts[leaf]:
                continue
            if best < 0:
                best = leaf
                continue
            better = self._compare(leaf, best, counts, enough)
            if self.by_cpus and enough[leaf] and enough[best] and away[leaf] != away[best]:
                better = 1 if away[leaf] < away[best] else -1
            if (better > 0 and away[leaf] <= away[best]) or (not better and away[leaf] < away[best]):
                best = leaf
        return best

    def _compare(self, one: int, other: int, counts: Ints, enough: Mask) -> int:
        """1 if the one is better, -1 if the other is, 0 if they are as good."""
        while not enough[one] and not enough[other]:
            above = int(self.parents[one]), int(self.parents[other])
            if above[0] == above[1] or above == (one, other):
                break
            one, other = above
        if enough[one] != enough[other]:
            return 1 if enough[one] else -1
        if counts[one] != counts[other]:
            # Fewer of two that have enough, more of two that have not.
            return 1 if (counts[one] < counts[other]) == enough[one] else -1
        return int(np.sign(self.levels[other] - self.levels[one]))


def _taken(leaves: Sequence[int], nodes: Mask, fitting: Mask, left: Ints) -> Iterator[int]:
    """Nodes of leaves that are not taken yet; they are, then."""
    for leaf in leaves:
        for node in np.flatnonzero(nodes[leaf] & fitting).tolist():
            fitting[node], left[node] = False, 0
            yield node
