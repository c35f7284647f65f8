"""Runs that are put in and taken out stand as a sorted list has them, in both forms of the kernel."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.scheduling.run_rows import ID, NODE, SPAN
from tests.builders.kernels import NEEDS_KERNELS, forms

pytestmark = [NEEDS_KERNELS, pytest.mark.compiled]
ROOM = 40
STEPS = st.lists(
    st.tuples(st.integers(0, 2**62), st.sampled_from([0.0, 1.0, 1.5, 7.0, 1e12, np.inf]), st.integers(1, 3)),
    max_size=ROOM,
)
"""For each step a number that says what is done, a planned end, and how many nodes."""


@settings(max_examples=200, deadline=None)
@given(STEPS)
def test_runs_stand_by_planned_end_and_then_by_place_in_the_list(steps: list[tuple[int, float, int]]) -> None:
    for kernel in forms("emulator.scheduling.run_kernel"):
        ends, index = np.zeros(ROOM), np.zeros((ROOM, 4), dtype=np.int64)
        expected: list[tuple[float, int, int, int, int]] = []
        for first, (draw, end, many) in enumerate(steps):
            job, place = draw % 1000 * ROOM + first, draw % 7 * ROOM + first
            if draw % 3 == 0 and expected:
                gone = expected.pop(draw % len(expected))
                assert kernel.take_out(ends, index, len(expected) + 1, gone[0], gone[2]) == gone[4]
            else:
                kernel.put_in(ends, index, len(expected), end, job, place, first, many)
                expected.append((end, place, job, first, many))
                expected.sort()
            count = len(expected)
            assert ends[:count].tolist() == [end for end, *_ in expected]
            assert index[:count].tolist() == [[first, many, job, place] for _, place, job, first, many in expected]


def test_a_run_that_is_not_there_is_told() -> None:
    for kernel in forms("emulator.scheduling.run_kernel"):
        ends, index = np.zeros(2), np.zeros((2, 4), dtype=np.int64)
        kernel.put_in(ends, index, 0, 5.0, 1, 3, 0, 1)
        with pytest.raises(LookupError, match="7"):
            kernel.take_out(ends, index, 1, 5.0, 7)
        assert index[0, ID] == 1


def test_what_a_run_gives_back_is_written_node_by_node() -> None:
    for kernel in forms("emulator.scheduling.run_kernel"):
        entries = np.full((NODE + 5, 4), 9, dtype=np.int64)
        kernel.write(entries, 1, (3, 8), (2, 4), (100, 0))
        assert entries[NODE:].tolist() == [[9, 3, 8, 9], [9, 2, 4, 9], [9, 100, 0, 9], [9, -1, -1, 9], [9, 9, 9, 9]]


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 1), st.integers(0, 1)), max_size=12), st.integers(0, 3))
def test_entries_alike_are_neighbours_that_give_back_the_same(rows: list[tuple[int, int, int]], first: int) -> None:
    for kernel in forms("emulator.scheduling.run_kernel"):
        many = len(rows)
        entries = np.full((NODE + 3, first + many + 2), 9, dtype=np.int64)
        entries[NODE:, first : first + many] = np.array(rows, dtype=np.int64).reshape(many, 3).T
        kernel.span(entries, first, many)
        goes_on = [other == (node + 1, *back) for (node, *back), other in pairwise(rows)]
        expected = [
            next((n for n, alike in enumerate([*goes_on[one:], False]) if not alike)) + 1 for one in range(many)
        ]
        assert entries[SPAN].tolist() == [*[9] * first, *expected, 9, 9]
