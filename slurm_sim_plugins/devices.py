"""GPUs one by one, where jobs may share them: a job has a GPU whole, or some of its shares (``shard``, ``mps``).

The shares of a node are spread over its GPUs. All shares that a job has on a node are of one GPU, the first that has
enough of them and is not given whole; ``SelectTypeParameters`` may say otherwise. Whether a GPU of which shares are
taken may be given whole is a rule of the version. (Slurm's pages on generic resources and gres.conf; observed on 22.05,
24.11 and 26.05.)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Masks = NDArray[np.bool_]
Gres = tuple[str, str]
SHARING = "gpu"
"""What is shared."""
SHARED = ("shard", "mps")
"""What shares of it are called."""
OF_GPUS = (SHARING, *SHARED)
MARK = "@"
"""What resources without a name begin with that are devices, which a job keeps while it is suspended."""


def is_device(kind: Gres) -> bool:
    """Whether a resource is a GPU of its own, its shares, or GPUs near a socket."""
    return not kind[0] and kind[1].startswith(MARK)


@dataclass(eq=False)
class Devices:
    """The GPUs of nodes on which jobs share them.

    Attributes:
        shares: of each GPU of each node, (GPUs, nodes); 0 where a node has none, or none of its GPUs is shared.
        types: which of them are of each type that is named, in the same shape.
        one: nodes on which all jobs share the same GPU.
        kept: those that are not given whole as long as shares of them are taken, in the same shape.
        least_loaded: whether the GPU with the largest part of its shares left goes first (``LL_SHARED_GRES``).
        several: whether a job may have shares of several GPUs of a node (``MULTIPLE_SHARING_GRES_PJ``).
        one_task: whether tasks of a job, which then have shares each, do not have them of the same GPU
            (``ONE_TASK_PER_SHARING_GRES``).
        of_whole: resources without a name, one for each GPU of a node, of which the node has 1 where the GPU is shared.
        of_shares: the same, of which the node has as many as the GPU has shares.
    """

    shares: Ints
    types: Mapping[str, Masks]
    one: NDArray[np.bool_]
    kept: Masks
    least_loaded: bool = False
    several: bool = False
    one_task: bool = False

    def __post_init__(self) -> None:
        self.of_whole = [("", f"{MARK}{number}") for number in range(len(self.shares))]
        self.of_shares = [("", f"{MARK}{number}/") for number in range(len(self.shares))]

    def rows(self) -> dict[Gres, Ints]:
        """What nodes have of those resources."""
        whole = (self.shares > 0).astype(np.int64)
        return dict(zip((*self.of_whole, *self.of_shares), (*whole, *self.shares), strict=True))

    def has(self, name: str, node: int) -> bool:
        """Whether a resource of a node is GPUs that jobs share, or shares of them."""
        return name in OF_GPUS and bool(self.shares[:, node].any())

    def counts(self, free: Mapping[Gres, Ints], name: str, kind: str) -> Ints:
        """How many of a resource each node has for one job: whole GPUs, or shares.

        Args:
            free: what is free on each node, by kind.
            name: of the resource, which is a GPU or shares of it.
            kind: its type; empty for any.
        """
        if name != SHARING:
            left = self._shares_of(free, kind)
            return np.asarray(left.sum(axis=0) if self.several else left.max(axis=0))
        plain = np.sum([many for (other, of), many in free.items() if other == name and kind in ("", of)], axis=0)
        there: Ints = np.where(self.shares.any(axis=0), self._whole(free, kind).sum(axis=0), plain)
        return there

    def tasks(self, free: Mapping[Gres, Ints], name: str, kind: str, count: int) -> Ints:
        """How many tasks each node has so many of a resource for; see :meth:`counts`."""
        if name == SHARING or not self.several:
            return self.counts(free, name, kind) // count
        of_each = self._shares_of(free, kind) // count
        return np.asarray((of_each.clip(max=1) if self.one_task else of_each).sum(axis=0))

    def of_one(self, wanted: tuple[tuple[str, str, int], ...]) -> tuple[tuple[str, str, int], ...]:
        """What a job wants, with no more shares than it can have, where some node has enough of them in all."""
        if self.several:
            return wanted
        largest, in_all = int(self.shares.max()), int(self.shares.sum(axis=0).max())
        return tuple(
            (name, kind, min(count, largest) if name in SHARED and count <= in_all else count)
            for name, kind, count in wanted
        )

    def given(
        self, free: Mapping[Gres, Ints], name: str, kind: str, node: int, count: int, tasks: int = 0
    ) -> Iterator[tuple[Gres, int]]:
        """What a job gets: so many of a resource, and of which GPUs of the node; less than it wants if there is less.

        Args:
            free: what is free on each node, by kind.
            name: of the resource.
            kind: its type; empty for any.
            node: where.
            count: how many it wants.
            tasks: that want so many each; 0 if it wants them for the node.
        """
        if name == SHARING:
            for number in np.flatnonzero(self._whole(free, kind)[:, node])[: count * max(tasks, 1)].tolist():
                yield (name, self._type_of(number, node)), 1
                yield self.of_whole[number], 1
            return
        left: list[int] = self._shares_of(free, kind)[:, node].tolist()
        order = self._order(left, node)
        for part in [count] * tasks if tasks and self.several else [count * max(tasks, 1)]:
            for number, share in self._parts(left, order, part, bool(tasks)):
                yield (name, ""), share
                yield self.of_shares[number], share
                left[number] = 0 if self.one_task and tasks else left[number] - share

    def _order(self, left: Sequence[int], node: int) -> list[int]:
        """The GPUs of a node, those first of which shares are taken first."""
        shares: list[int] = self.shares[:, node].tolist()
        # What is left is compared in parts of all shares of the node, in whole numbers, as Slurm does.
        return sorted(
            range(len(left)),
            key=lambda number: -(left[number] * sum(shares) // max(shares[number], 1)) if self.least_loaded else 0,
        )

    def _parts(self, left: Sequence[int], order: Sequence[int], count: int, whole: bool) -> list[tuple[int, int]]:
        """So many shares: of one GPU, or of several if they need not be of one."""
        one = next((number for number in order if left[number] >= count), None)
        if one is not None:
            return [(one, count)]
        found = []
        for number in order if self.several and not whole else ():
            share = min(left[number], count)
            if share:
                found.append((number, share))
                count -= share
        return found

    def likely(
        self, free: Mapping[Gres, Ints], nodes: Sequence[int], gres: Mapping[Gres, tuple[int, ...]]
    ) -> dict[Gres, tuple[int, ...]]:
        """Of which GPUs of its nodes a job has so many of each resource, if it got them as things stand.

        Args:
            free: what is free on each node, by kind.
            nodes: of the job.
            gres: what it has on each of them, by kind.
        """
        found: dict[Gres, list[int]] = {}
        for (name, kind), counts in gres.items():
            for index, (node, count) in enumerate(zip(nodes, counts, strict=True)):
                taken = self.given(free, name, kind, node, count) if count and self.has(name, node) else ()
                for row, share in taken:
                    if is_device(row):
                        found.setdefault(row, [0] * len(nodes))[index] += share
        return {row: tuple(shares) for row, shares in found.items()}

    def _type_of(self, number: int, node: int) -> str:
        return next((kind for kind, of in self.types.items() if of[number, node]), "")

    def _whole(self, free: Mapping[Gres, Ints], kind: str) -> Masks:
        """GPUs that a job may have whole."""
        shared = self.kept & (_of(self.of_shares, free) < self.shares)
        return (_of(self.of_whole, free) > 0) & ~shared & self._of_type(kind)

    def _shares_of(self, free: Mapping[Gres, Ints], kind: str) -> Ints:
        """Shares of each GPU that a job may have."""
        left = _of(self.of_shares, free)
        others = self.one & (left < self.shares).any(axis=0) & (left == self.shares)
        usable = (_of(self.of_whole, free) > 0) & ~others & self._of_type(kind)
        return np.where(usable, left, 0)

    def _of_type(self, kind: str) -> Masks:
        if not kind:
            return self.shares > 0
        return self.types.get(kind, np.zeros(self.shares.shape, dtype=bool))


def _of(rows: Sequence[Gres], free: Mapping[Gres, Ints]) -> Ints:
    return np.array([free[row] for row in rows])
