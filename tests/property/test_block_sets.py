"""Blocks against sets of numbers, which are slow and plain."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from slurm_sim_plugins.blocks import Blocks, aligned, doubling_sizes
from slurm_sim_plugins.processors import numbers

Sets = list[frozenset[int]]


@st.composite
def machines(draw: st.DrawFn) -> tuple[Blocks, Sets]:
    """Any blocks, the whole machine among them, and the sets that they are."""
    count = draw(st.integers(1, 12))
    sets = draw(st.lists(st.frozensets(st.integers(0, count - 1), min_size=1), max_size=12))
    sets.insert(draw(st.integers(0, len(sets))), frozenset(range(count)))
    return Blocks(count, [(f"b{place}", own) for place, own in enumerate(sets)], nodes=draw(st.integers(1, 9))), sets


@given(machines())
def test_overlaps_children_and_parents_are_those_of_the_sets(machine: tuple[Blocks, Sets]) -> None:
    blocks, sets = machine
    for one, own in enumerate(sets):
        assert numbers(blocks.overlaps[one]) == [other for other, of in enumerate(sets) if own & of]
        assert blocks.children(one) == [other for other, of in enumerate(sets) if of < own]
        assert blocks.parents(one) == [other for other, of in enumerate(sets) if of > own]
        assert all(blocks.overlap(one, other) == blocks.overlap(other, one) for other in range(len(sets)))
        assert all(one in blocks.parents(child) for child in blocks.children(one))


@given(machines(), st.data())
def test_the_first_free_block_is_that_of_a_plain_search(machine: tuple[Blocks, Sets], data: st.DataObject) -> None:
    blocks, sets = machine
    nodes = data.draw(st.integers(1, blocks.largest))
    running = data.draw(st.frozensets(st.integers(0, len(sets) - 1), max_size=3))
    used, busy = 0, frozenset[int]()
    for block in running:
        used |= blocks.takes[block]
        busy |= sets[block]
    size = min(len(own) for own in sets if len(own) * blocks.nodes >= nodes)
    free = [place for place, own in enumerate(sets) if len(own) == size and not own & busy]
    assert blocks.size_for(nodes) == size * blocks.nodes
    assert blocks.first_free(nodes, used) == (free[0] if free else None)
    assert numbers(blocks.meeting(used)) == [place for place, own in enumerate(sets) if own & busy]


@given(st.integers(1, 100), st.data())
def test_aligned_blocks_cover_the_machine_at_every_size(midplanes: int, data: st.DataObject) -> None:
    counts = data.draw(st.sets(st.integers(1, midplanes), min_size=1, max_size=4))
    blocks = aligned(midplanes, [count * 512 for count in counts])
    assert sorted(blocks.by_size) == sorted(count * 512 for count in counts)
    for size, of in blocks.by_size.items():
        count = size // 512
        assert len(of) == -(-midplanes // count)
        covered = 0
        for block in of:
            own = numbers(blocks.masks[block])
            assert own == list(range(own[0], own[0] + count))
            assert own[0] % count == 0 or own[-1] == midplanes - 1
            covered |= blocks.masks[block]
        assert covered == (1 << midplanes) - 1


@given(st.integers(0, 6))
def test_where_sizes_double_two_blocks_are_apart_or_one_is_in_the_other(power: int) -> None:
    blocks = aligned(1 << power, doubling_sizes(1 << power))
    for one in range(len(blocks)):
        inside = {*blocks.children(one), *blocks.parents(one), one}
        assert set(numbers(blocks.overlaps[one])) == inside
