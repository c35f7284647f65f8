"""The heap of what is due beside Python's own heap of tuples, in both forms."""

from __future__ import annotations

from heapq import heappop, heappush
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slurm_sim_plugins.kernels import why_plain
from tests.builders.kernels import forms, plain

NAME = "emulator.engine.event_heap"
INSTANTS = st.integers(0, 4) | st.integers(2**62, 2**63 - 1)
STEPS = st.lists(st.none() | st.tuples(INSTANTS, st.integers(0, 3)), max_size=60)
"""Take out what is next, or note an instant and a kind."""


@pytest.mark.parametrize("form", [plain(NAME)] if why_plain() else forms(NAME), ids=lambda form: form.__name__)
@given(steps=STEPS)
def test_it_gives_out_what_a_heap_of_tuples_does(form: ModuleType, steps: list[tuple[int, int] | None]) -> None:
    ours, theirs = form.EventHeap(), []
    for number, step in enumerate([*steps, *[None] * len(steps)]):
        if step is not None:
            event = (*step, number, -number)
            ours.push(*event)
            heappush(theirs, event)
        elif theirs:
            due = ours.pop()
            assert (due.instant, due.kind, due.sequence, due.index) == heappop(theirs)
        if theirs:
            assert ours.next_instant() == theirs[0][0]
    assert not theirs
