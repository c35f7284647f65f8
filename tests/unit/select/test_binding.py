"""Devices near the cores of one socket, and the cores that jobs get with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.config.slurm import parse_slurm_conf
from emulator.config.slurm.model import SlurmConf
from emulator.scheduling.select_compiled import encode
from emulator.state.machine import machine_of
from slurm_sim_plugins.binding import Binding, Request, Tasks
from slurm_sim_plugins.devices import is_device
from slurm_sim_plugins.nodes import Choice, Want
from slurm_sim_plugins.select.cons_tres import best_fit

CONF = """
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
GresTypes=gpu
NodeName=n[1-2] CPUs=16 Sockets=2 CoresPerSocket=8 ThreadsPerCore=1 Gres=gpu:a100:4
PartitionName=p Nodes=ALL Default=YES
"""
GRES = """
Name=gpu Type=a100 File=/dev/nvidia[0-1] Cores=0-7
Name=gpu Type=a100 File=/dev/nvidia[2-3] Cores=8-15
"""
VERSIONS = ("22.05", "24.11", "26.05")


def conf(gres: str = GRES, version: str = "26.05", text: str = CONF) -> SlurmConf:
    return replace(parse_slurm_conf(text, gres=gres), version=version)


def wanted(cpus: int, **changes: object) -> Want:
    return replace(Want(1, None, 1, cpus, (Choice(np.ones(2, dtype=bool)),)), **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize("version", VERSIONS)
def test_cores_of_other_sockets_are_given_only_where_no_node_has_enough(version: str) -> None:
    machine = machine_of(conf(version=version))
    usable = np.ones(2, dtype=bool)
    several = best_fit(wanted(10, gres=(("gpu", "", 1),)), machine, machine.free(), usable)
    assert several is not None
    assert (several.nodes, several.units) == ((0, 1), (8, 2))
    one = wanted(10, gres=(("gpu", "", 1),), most_nodes=1, cpus_on_node=10, tasks_on_node=10)
    alone = best_fit(one, machine, machine.free(), usable)
    assert alone is not None
    assert (alone.nodes, alone.units) == ((0,), (10,))
    assert [alone.gres["", f"socket {socket}"] for socket in range(2)] == [(8,), (2,)]
    assert best_fit(replace(one, enforces_binding=True), machine, machine.free(), usable) is None


def test_devices_are_those_of_the_sockets_with_the_jobs_cores() -> None:
    machine = machine_of(conf())
    free, usable = machine.free(), np.array([True, False])
    first = best_fit(wanted(6, gres=(("gpu", "", 1),)), machine, free, usable)
    assert first is not None
    assert first.gres["", "@gpu:a100 of socket 0"] == (1,)
    free.take(first)
    # Socket 1 has more free cores now.
    second = best_fit(wanted(4, gres=(("gpu", "", 2),)), machine, free, usable)
    assert second is not None
    assert second.gres["", "socket 1"] == (4,)
    assert second.gres["", "@gpu:a100 of socket 1"] == (2,)
    free.take(second)
    # A GPU is left near socket 0 alone, with two cores.
    third = best_fit(wanted(3, gres=(("gpu", "", 1),), enforces_binding=True), machine, free, usable)
    assert third is None


def test_a_suspended_job_keeps_devices_and_no_cores() -> None:
    machine = machine_of(conf())
    found = best_fit(wanted(6, gres=(("gpu", "", 1),)), machine, machine.free(), np.ones(2, dtype=bool))
    assert found is not None
    kept = [kind for kind in found.gres if is_device(kind)]
    assert kept == [("", "@gpu:a100 of socket 0")]
    assert not any(map(is_device, machine.by_socket.kinds))  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("gres", "bound"),
    [
        ("Name=gpu File=/dev/nvidia[0-3]", False),
        ("Name=gpu File=/dev/nvidia[0-3] Cores=0-15", False),
        ("Name=gpu File=/dev/nvidia[0-3] Cores=0,8", False),
        ("Name=gpu File=/dev/nvidia[0-3] Cores=2,3", True),
        ("Name=gpu Type=a100 File=/dev/nvidia[0-3] Cores=8", True),
        ("Name=gpu Type=v100 File=/dev/nvidia[0-3] Cores=8", False),
    ],
)
def test_devices_are_near_a_socket_unless_they_are_near_all(gres: str, bound: bool) -> None:
    machine = machine_of(conf(gres))
    assert (machine.binding is not None) == bound
    # Where nothing is near anything, nothing is counted by socket.
    assert (machine.by_socket is not None) == bound


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("SelectTypeParameters=CR_Socket", ""),
        ("SelectTypeParameters=CR_Socket PreemptMode=SUSPEND,GANG", "sockets are counted"),
        ("SelectTypeParameters=CR_Core PreemptMode=SUSPEND,GANG", ""),
        ("SelectTypeParameters=CR_Core", ""),
    ],
)
def test_where_cores_have_no_effect_is_said(word: str, reason: str) -> None:
    text = CONF.replace("SelectTypeParameters=CR_Core", "\n".join(word.split()))
    said = [f"{notice}" for notice in parse_slurm_conf(text, gres=GRES).notices]
    about = [sentence for sentence in said if "Cores has no effect" in sentence]
    assert [reason in sentence for sentence in about] == [True] * bool(reason)
    assert (machine_of(parse_slurm_conf(text, gres=GRES)).binding is None) == bool(reason)


def test_cores_that_a_node_has_not_are_noticed() -> None:
    read = parse_slurm_conf(CONF, gres="Name=gpu File=/dev/nvidia[0-3] Cores=8-19")
    assert "gres.conf:1: n1, n2: no core 19; cores are counted from 0, and not by thread" in map(str, read.notices)


def test_a_type_that_a_node_has_not_is_noticed_and_nodes_without_devices_are_not() -> None:
    text = CONF + "NodeName=c1 CPUs=2\n"
    read = parse_slurm_conf(text, gres="Name=gpu Type=v100 File=/dev/nvidia[0-3] Cores=8-15")
    about = [str(notice) for notice in read.notices if "gres.conf" in str(notice)]
    assert about == ["gres.conf:1: n1, n2: no gpu of Type=v100 in slurm.conf: Cores has no effect"]


def test_compiled_selection_leaves_jobs_with_such_devices_to_the_plain_one() -> None:
    machine, job = machine_of(conf()), wanted(10, gres=(("gpu", "", 1),))
    assert encode(job, machine) is None
    assert encode(replace(job, gres=()), machine) is not None
    assert encode(job, machine_of(conf("Name=gpu File=/dev/nvidia[0-3]"))) is not None


def test_no_more_devices_are_near_than_there_are() -> None:
    few = CONF.replace("gpu:a100:4", "gpu:a100:3")
    machine = machine_of(conf(text=few))
    assert machine.binding is not None
    assert machine.binding.near["gpu", "a100"].tolist() == [[2, 2], [1, 1]]


def from_sockets(
    request: Request,
    least: int,
    own: list[int],
    near: Sequence[int],
    others: int,
    *,
    bound: bool,
    first: bool,
    by_cpus: bool,
) -> tuple[int, set[int]]:
    """Devices of the sockets of a node, of which ``own`` are the free cores, and which sockets give any."""
    found, gives, enough, in_all = 0, set(), False, sum(own)
    for socket in sorted(range(len(own)), key=lambda socket: -own[socket]):
        if first and not by_cpus and not near[socket] + others:
            # 22.05 keeps the cores that the node cannot do without.
            while own[socket] and in_all > least:
                own[socket] -= 1
                in_all -= 1
        if bound and not own[socket]:
            continue
        if (others or (near[socket] and not enough)) if by_cpus else not enough:
            gives.add(socket)
        found += near[socket]
        if by_cpus:
            enough |= found + others >= (request.on_node or request.most)
        else:
            enough |= not others and found >= (request.on_node or request.most)
    return found, gives


def reference(
    request: Request,
    tasks: Tasks,
    cpus: int,
    cores: Sequence[int],
    near: Sequence[int],
    others: int,
    threads: int,
    *,
    first: bool,
    enforced: bool,
    by_cpus: bool,
) -> tuple[int, int]:
    """CPUs and devices of one node for a job with one kind of devices, step by step, by a rule of the version."""
    least, most = tasks.least, min(tasks.most, cpus // tasks.cpus)
    each = request.cpus_first if first else request.cpus
    bound, own, there = first or enforced, list(cores), list(near)
    if enforced and by_cpus and not first and request.cpus_first:
        # Sockets that had too few cores for a device have none of them any more.
        there = [many if free * threads >= request.cpus_first else 0 for free, many in zip(own, there, strict=True)]
    if bound and each:
        there = [min(many, free * threads // each) for free, many in zip(own, there, strict=True)]
    needed = -(-least * tasks.cpus // threads)
    found, gives = from_sockets(request, needed, own, there, others, bound=bound, first=first, by_cpus=by_cpus)
    devices = found + others
    if each:
        devices = min(devices, cpus // each)
    if each or by_cpus:
        devices = min(devices, request.most)
    if by_cpus:
        devices = min(devices, request.on_node or devices)
    if most < least or devices < max(request.on_node, request.for_task, 1):
        return 0, 0
    if each and by_cpus:
        few = devices * each < max(least * tasks.cpus, tasks.cpus_on_node)
        most = least if few else min(most, devices * each // tasks.cpus)
    if request.for_task:
        most = min(most, devices // request.for_task)
        devices = min(devices, most * request.for_task) if by_cpus else devices
    if bound:
        own = [free if socket in gives else 0 for socket, free in enumerate(own)]
    cpus = min(cpus, sum(own) * threads)
    most = min(most, sum(own) * threads // tasks.cpus)
    needed = -(-most * tasks.cpus // threads)
    if each:
        counted = request.on_node or (request.for_task * most if request.for_task else max(devices, 1))
        most = min(most, counted * each) if by_cpus else most
        needed = max(needed, -(-counted * each // threads))
    if enforced:
        needed = max(needed, len(gives))
    if most < least or needed > sum(own) or (enforced and needed * threads > cpus):
        return 0, 0
    least_cpus = needed * threads if enforced and by_cpus else 0
    left = sum(own)
    if not bound:
        for socket in range(len(own)):
            while socket not in gives and own[socket] and left > needed:
                own[socket] -= 1
                left -= 1
    while left > needed and any(own[socket] for socket in gives):
        own[max(gives, key=lambda socket: own[socket])] -= 1
        left -= 1
    cpus = min(cpus, left * threads)
    return min(cpus, max(most * tasks.cpus, least_cpus)), min(devices, cpus // each) if each else devices


@given(st.data())
def test_nodes_are_looked_at_one_by_one_alike(data: st.DataObject) -> None:
    nodes, sockets = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 3))
    small = st.integers(0, 5)
    cores = np.array(
        data.draw(st.lists(st.lists(small, min_size=nodes, max_size=nodes), min_size=sockets, max_size=sockets))
    )
    near = np.array(
        data.draw(st.lists(st.lists(small, min_size=nodes, max_size=nodes), min_size=sockets, max_size=sockets))
    )
    others = np.array(data.draw(st.lists(st.integers(0, 1), min_size=nodes, max_size=nodes)))
    threads = data.draw(st.integers(1, 2))
    form, count = data.draw(st.sampled_from(["node", "all", "task"])), data.draw(st.integers(1, 4))
    each = data.draw(st.integers(0, 3))
    request = Request(
        "gpu",
        "",
        count if form == "node" else 0,
        data.draw(st.integers(count, 6)) if form == "task" else count,
        count if form == "task" else 0,
        each,
        data.draw(st.integers(0, 3)) if not each and form != "node" else each,
    )
    least = data.draw(st.integers(1, 3))
    tasks = Tasks(data.draw(st.integers(1, 3)), least, data.draw(st.integers(least, 9)), data.draw(small))
    first, enforced = data.draw(st.booleans()), data.draw(st.booleans())
    by_cpus = data.draw(st.booleans())
    binding = Binding({("gpu", "a"): near}, by_cpus)
    free = {("gpu", "a"): near.sum(axis=0) + others, **binding.rows()}
    cpus = cores.sum(axis=0) * threads
    found = binding.reach(
        free,
        [(request, free["gpu", "a"])],
        tasks,
        cpus,
        cores,
        np.full(nodes, threads),
        first=first,
        enforced=enforced,
    )
    for node in range(nodes):
        of_one = reference(
            request,
            tasks,
            int(cpus[node]),
            cores[:, node].tolist(),
            near[:, node].tolist(),
            int(others[node]),
            threads,
            first=first,
            enforced=enforced,
            by_cpus=by_cpus,
        )
        assert int(found.cpus[node]) == of_one[0]
        if of_one[0]:
            assert int(found.devices["gpu", ""][node]) == of_one[1]
            assert sum(found.cores_of(node)) * threads >= of_one[0]
