"""Cores of each socket of a node that a job gets."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.config.slurm import parse_slurm_conf
from emulator.state.machine import machine_of
from slurm_sim_plugins.nodes import Choice, Want
from slurm_sim_plugins.select.cons_tres import best_fit
from slurm_sim_plugins.sockets import Asked, over_sockets, with_system_cores

CONF = """
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
NodeName=n[1-2] CPUs=16 Sockets=2 CoresPerSocket=4 ThreadsPerCore=2
PartitionName=p Nodes=ALL Default=YES
"""


@pytest.mark.parametrize(
    ("left", "asked", "given_"),
    [
        ([4, 4], Asked(3), [2, 1]),
        ([1, 4], Asked(4), [1, 3]),
        # CPUs of a task are of one socket where that can be; what is left over goes round.
        ([4, 4], Asked(4, per_task=2), [4, 0]),
        ([3, 3], Asked(4, per_task=2), [2, 2]),
        ([3, 3], Asked(6, per_task=2), [3, 3]),
        ([4, 4], Asked(3, threads=2, per_task=3), [3, 0]),
        # With so many tasks of a socket the first one is left alone, if the other suffices.
        ([4, 4], Asked(2, most=2), [0, 2]),
        ([4, 4], Asked(3, most=2), [2, 1]),
        # With generic resources cores are taken away from the fullest socket first.
        ([4, 4], Asked(1, needed=1), [0, 1]),
        ([1, 4], Asked(2, needed=2), [1, 1]),
        ([4, 4], Asked(1, needed=2), [1, 0]),
        # Tasks that fill sockets: the smallest that suffices, else the largest.
        ([4, 2], Asked(2, fills=True), [0, 2]),
        ([2, 3, 1], Asked(4, fills=True), [1, 3, 0]),
        ([1, 2, 2, 2], Asked(3, fills=True), [0, 2, 1, 0]),
        # The first cores that are those of whole tasks, or of the tasks that are stated.
        ([3, 4], Asked(4, per_task=4, tasks=0), [3, 1]),
        ([1, 2, 2, 2], Asked(2, per_task=2, tasks=0), [0, 2, 0, 0]),
        ([1, 1, 1, 2], Asked(2, per_task=2, tasks=0), [1, 1, 0, 0]),
        ([1, 2], Asked(2, threads=2, tasks=3), [1, 1]),
    ],
)
def test_cores_of_each_socket(left: list[int], asked: Asked, given_: list[int]) -> None:
    assert over_sockets(left, asked) == given_


@given(
    st.lists(st.integers(0, 6), min_size=1, max_size=4),
    st.data(),
)
def test_a_job_gets_all_its_cores_and_none_that_is_taken(left: list[int], data: st.DataObject) -> None:
    cores = data.draw(st.integers(0, sum(left)))
    small = st.integers(0, 4)
    asked = Asked(cores, data.draw(st.integers(1, 2)), data.draw(st.integers(1, 4)), data.draw(small), data.draw(small))
    found = over_sockets(left, asked._replace(fills=data.draw(st.booleans())))
    assert sum(found) == cores
    assert all(0 <= had <= own for had, own in zip(found, left, strict=True))


@given(st.lists(st.integers(0, 6), min_size=1, max_size=4), st.integers(0, 24))
def test_cores_in_turn_are_those_of_a_walk_over_single_cores(left: list[int], cores: int) -> None:
    walk = [socket for turn in range(6) for socket, own in enumerate(left) if turn < own][:cores]
    assert over_sockets(left, Asked(min(cores, sum(left)))) == [walk.count(socket) for socket in range(len(left))]


def test_cores_of_the_system_are_the_last() -> None:
    assert with_system_cores(2, 4, 3) == [3, 2]


def test_tasks_of_a_socket_need_free_cores_of_it() -> None:
    """Jobs that took cores of both sockets in turn leave less than what one socket less would."""
    machine = machine_of(parse_slurm_conf(CONF), by_socket=True)
    everywhere = np.ones(2, dtype=bool)
    plain = Want(min_nodes=1, most_nodes=1, target_nodes=1, cpus=12, choices=(Choice(everywhere),))
    of_sockets = replace(plain, cpus=6, cpus_on_node=6, socket_tasks=4)
    free = machine.free()
    for _ in range(2):
        found = best_fit(plain, machine, free, everywhere)
        assert found is not None
        free.take(found)
    assert free.units.tolist() == [2, 2]
    assert [free.gres["", f"socket {number}"].tolist() for number in range(2)] == [[1, 1], [1, 1]]
    assert best_fit(of_sockets, machine, free, everywhere) is None
    free.release(found)
    found = best_fit(of_sockets, machine, free, everywhere)
    assert found is not None
    assert found.nodes == (1,)


def test_sockets_with_free_cores() -> None:
    machine = machine_of(parse_slurm_conf(CONF), by_socket=True)
    everywhere = np.ones(2, dtype=bool)
    want = Want(min_nodes=1, most_nodes=1, target_nodes=1, cpus=2, choices=(Choice(everywhere),))
    free = machine.free()
    taken = best_fit(replace(want, cpus=12), machine, free, everywhere)
    assert taken is not None
    free.take(taken)
    on_first = best_fit(want, machine, free, everywhere)
    on_second = best_fit(replace(want, socket_cores=2), machine, free, everywhere)
    assert on_first is not None
    assert on_second is not None
    assert (on_first.nodes, on_second.nodes) == ((0,), (1,))
    assert best_fit(replace(want, node_sockets=3), machine, free, everywhere) is None


@pytest.mark.parametrize(
    "others",
    [
        "SelectTypeParameters=CR_Memory\nNodeName=n1 CPUs=8 Sockets=2 CoresPerSocket=4\nPartitionName=p Nodes=ALL",
        "SelectTypeParameters=CR_Core\nNodeName=n1 CPUs=8\nPartitionName=p Nodes=ALL",
        "SelectTypeParameters=CR_Socket\nNodeName=n1 CPUs=8 Sockets=2 CoresPerSocket=4\nPartitionName=p Nodes=ALL",
    ],
)
def test_where_sockets_are_not_counted(others: str) -> None:
    """Only memory is counted, sockets have one core each, sockets are what is counted."""
    conf = parse_slurm_conf(f"SelectType=select/cons_tres\n{others} Default=YES\n")
    assert machine_of(conf, by_socket=True).by_socket is None
