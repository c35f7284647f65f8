"""select/linear of Slurm 22.05 beside a walk over the nodes in their order, one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slurm_sim_plugins.nodes import FAR, Choice, Machine, NodeView, Want
from slurm_sim_plugins.select.linear import Linear

NODES = st.tuples(st.sampled_from([2, 4, 8]), st.integers(1, 3), st.booleans(), st.booleans())


def walked(view: NodeView) -> list[int] | None:
    """The nodes that are taken: idle ones by weight and place, until there are enough, with CPUs enough."""
    machine, want = view.machine, view.want
    weight = np.zeros(len(machine), dtype=np.int64) if want.unweighed else machine.weight
    order = sorted(np.flatnonzero(view.usable & (view.free.jobs == 0)).tolist(), key=lambda node: (weight[node], node))
    taken: list[int] = []
    for node in order:
        if len(taken) >= want.min_nodes and machine.cpus[taken].sum() >= want.cpus:
            break
        taken.append(node)
    enough = len(taken) >= want.min_nodes and machine.cpus[taken].sum() >= want.cpus
    return sorted(taken) if enough else None


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(st.lists(NODES, min_size=1, max_size=40), st.integers(1, 12), st.integers(1, 60), st.booleans())
def test_the_fewest_nodes_of_the_order_are_those_of_a_walk(drawn, nodes, cpus, unweighed):
    units, weights, usable, busy = (np.array(column) for column in zip(*drawn, strict=True))
    ones, size = np.ones(len(drawn), dtype=np.int64), len(drawn)
    names, features = [f"n{number}" for number in range(size)], [frozenset[str]()] * size
    machine = Machine(names, units, ones * 1000, units, ones, ones, weights, ones > 0, features)
    free = machine.free()
    free.units[busy], free.jobs[busy] = 0, 1
    want = Want(
        min_nodes=nodes,
        most_nodes=None,
        target_nodes=nodes,
        cpus=max(nodes, cpus),
        choices=(Choice(ones > 0, ()),),
        cpus_per_task=1,
        cpus_on_node=1,
        cpus_given=1,
        per_node=FAR,
        whole=True,
        first_fit=True,
        unweighed=unweighed,
    )
    view = NodeView(want, machine, free, usable)
    found = Linear().select_nodes(view)
    assert (None if found is None else sorted(found.nodes)) == walked(view)
