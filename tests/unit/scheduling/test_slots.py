"""Slots of plans: plain and compiled ones are the same."""

from __future__ import annotations

import random

import pytest

from emulator.scheduling.windows_compiled import CompiledSlots
from emulator.state.kept import Slots


def test_a_bound_behind_which_the_same_is_kept_is_no_edge() -> None:
    slots = Slots(2)
    slots.add(60, 120, [0, 1])
    slots.add(120, 180, [0])
    assert slots.edges == [60, 120, 180]
    slots.add(120, 180, [1])
    assert slots.edges == [60, 180]
    assert slots.bounds == {60, 120, 180}
    slots.add(120, 240, [])
    assert slots.edges == [60, 180, 240], "one edge is dropped for each slot"


@pytest.mark.parametrize("kind", [Slots, CompiledSlots])
def test_a_bound_of_two_slots_of_the_same_nodes_is_an_edge(kind: type[Slots]) -> None:
    slots = kind(2)
    for _ in range(2):
        slots.add(60, 120, [0, 1])
    slots.add(180, 240, [0])
    assert slots.edges == [60, 120, 180, 240]


@pytest.mark.parametrize("kind", [Slots, CompiledSlots])
def test_a_slot_keeps_its_nodes_from_a_run_that_ends_as_it_begins(kind: type[Slots]) -> None:
    slots = kind(2)
    slots.add(120, 180, [1])
    assert slots.kept_from_run(60, 120).tolist() == [False, True]
    assert slots.kept_from_run(60, 119).tolist() == slots.kept_from_run(180, 240).tolist() == [False, False]
    assert slots.kept(60, 120).tolist() == [False, False]
    assert slots.first_end(60, 120, [1]) is None


@pytest.mark.parametrize("seed", range(20))
def test_compiled_slots_have_the_same_bounds_and_edges(seed: int) -> None:
    draw = random.Random(seed)
    plain, compiled = Slots(4), CompiledSlots(4)
    for _ in range(60):
        begin = 60.0 * draw.randrange(12)
        end = begin + 60.0 * draw.randrange(1, 5)
        kept = plain.kept(begin, end)
        # Now and then jobs keep the same nodes, as where runs are to be preempted.
        nodes = [node for node in range(4) if (not kept[node] or draw.random() < 0.1) and draw.random() < 0.7]
        plain.add(begin, end, nodes)
        compiled.add(begin, end, nodes)
        assert plain.edges == compiled.edges
        assert plain.bounds == compiled.bounds
