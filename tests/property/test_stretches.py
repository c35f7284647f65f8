"""Nodes that are alike, beside what is said of each: no stretch holds nodes that differ, and none could be longer.

What could differ is varied on purpose: what runs give back, in which order they have their nodes, what is free, which
nodes may be used while runs tell others apart, and where slots cut.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.scheduling.run_rows import NODE
from tests.builders.kernels import NEEDS_KERNELS, forms

pytestmark = [NEEDS_KERNELS, pytest.mark.compiled]
STRETCHES, RUNS = "emulator.scheduling.stretches", "emulator.scheduling.run_kernel"


class Nodes:
    """Nodes, divided by one form of the kernel, and what is said of each.

    Args:
        form: the kernel.
        runs: that of runs.
        size: how many they are.
    """

    def __init__(self, form: ModuleType, runs: ModuleType, size: int) -> None:
        self.form, self.runs, self.size = form, runs, size
        fixed, self.heads = np.zeros((2, size), dtype=np.uint8)
        self.wide, self.owner, self.pieces, room = np.zeros((4, size), dtype=np.int64)
        self.cuts = np.zeros((2, size), dtype=np.int64)
        self.begins = np.zeros(size + 1, dtype=np.int64)
        arrays = fixed, self.heads, self.wide, self.owner, self.pieces, self.cuts, room, self.begins
        self.stretches = form.Stretches(*arrays)
        form.forget(self.stretches)
        self.apart = np.zeros(size, dtype=bool)

    def tell_apart(self, rows: Any) -> None:
        """By what never changes."""
        self.form.tell_apart(self.stretches, rows, len(rows))
        self.apart[1:] |= (rows[:, 1:] != rows[:, :-1]).any(axis=0)

    def mixes(self, usable: Any) -> bool:
        """Whether a stretch has nodes that may be used and others."""
        differ = usable[1:] != usable[:-1]
        mixed = bool((differ & (self.owner[1:] != np.arange(1, self.size))).any())
        assert self.form.mixes(self.stretches, usable) == mixed
        self.apart[1:] |= differ
        return mixed

    def check_uncut(self, heads: list[int]) -> None:
        """Stretches are as they were before they were cut."""
        self.form.uncut(self.stretches)
        assert np.flatnonzero(self.heads).tolist() == heads
        assert [int(self.pieces[head]) for head in heads] == [int(self.wide[head]) for head in heads]
        assert self.begins[: len(heads) + 1].tolist() == [*heads, self.size]

    def divide(self, draws: np.random.Generator) -> list[list[int]]:
        """Other runs are there; where stretches begin, and which of them each run has."""
        size, many = self.size, int(draws.integers(0, 5))
        free = np.repeat(draws.integers(0, 2, (3, 1)), size, axis=1)
        free[:, int(draws.integers(0, size)) :] += draws.integers(0, 2, (3, 1))
        index, columns, of_runs = np.zeros((many, 3), dtype=np.int64), list[Any](), list[dict[int, tuple[int, ...]]]()
        for run in range(many):
            nodes = np.flatnonzero(draws.random(size) < draws.choice([0.2, 0.9, 1.0]))
            nodes = draws.permutation(nodes) if draws.random() < 0.2 else nodes
            given_back = np.repeat(draws.integers(1, 3, (3, 1)), len(nodes), axis=1)
            given_back[:, len(nodes) // 2 :] = draws.integers(1, 3, (3, 1))
            index[run, :2] = sum(len(one[0]) for one in columns), len(nodes)
            columns.append(np.vstack([nodes, given_back]))
            of_runs.append({int(node): (*map(int, back),) for node, *back in columns[-1].T})
        entries = np.hstack([*columns, np.zeros((4, 1), dtype=np.int64)])
        entries = np.vstack([np.zeros(entries.shape[1], dtype=np.int64), entries])
        for first, length, _ in index.tolist():
            self.runs.span(entries, first, length)
        parts, bounds = np.zeros((2, entries.shape[1]), dtype=np.int64), np.zeros((many, 2), dtype=np.int64)
        self.form.divide(self.stretches, free, index, entries, parts, bounds)
        said = [(*map(int, free[:, node]), *(run.get(node) for run in of_runs)) for node in range(size)]
        begins = [node for node in range(size) if node == 0 or self.apart[node] or said[node] != said[node - 1]]
        heads = np.flatnonzero(self.heads).tolist()
        ascending = all(list(run) == sorted(run) for run in of_runs)
        assert heads == begins if ascending else set(heads) >= {*begins}
        assert [int(self.wide[head]) for head in heads] == [*heads[1:], size]
        assert self.owner.tolist() == [max(head for head in heads if head <= node) for node in range(size)]
        has = []
        for run in range(many):
            first, length = bounds[run].tolist()
            columns_of, nodes_of = parts[:, first : first + length]
            assert sorted(nodes_of.tolist()) == [head for head in heads if head in of_runs[run]]
            assert entries[NODE, columns_of].tolist() == nodes_of.tolist()
            has.append(nodes_of.tolist())
        return [heads, *has]


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**32))
def test_nodes_of_a_stretch_are_alike(seed: int) -> None:
    left = []
    for form, runs in zip(forms(STRETCHES), forms(RUNS), strict=True):
        draws = np.random.default_rng(seed)
        size = int(draws.choice([1, 2, 5, 40, 600]))
        nodes, said = Nodes(form, runs, size), list[Any]()
        nodes.tell_apart(np.sort(draws.integers(0, 2, (2, size)), axis=1))
        for _ in range(4):
            said.append(nodes.divide(draws))
            usable = (np.arange(size) < draws.integers(0, size + 1)).astype(np.uint8)
            if nodes.mixes(usable):
                said.append(nodes.divide(draws))
            for head in said[-1][0]:
                assert len({*usable[head : nodes.wide[head]].tolist()}) == 1
            wide = {*said[-1][0]}
            for node in draws.integers(0, size + 1, 3).tolist():
                nodes.form.cut(nodes.stretches, node)
                wide |= {node} - {size}
            assert np.flatnonzero(nodes.heads).tolist() == sorted(wide)
            assert [int(nodes.pieces[head]) for head in sorted(wide)] == [*sorted(wide)[1:], size]
            assert nodes.begins[: len(wide) + 1].tolist() == [*sorted(wide), size]
            said.append(nodes.cuts.tolist())
            nodes.check_uncut(said[-2][0])
        left.append(said)
    assert left[0] == left[1]
