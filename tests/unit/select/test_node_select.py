"""Which nodes a job gets, by hand: observations C1 to C6 and P1 of the recorded runs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.config.slurm import parse_slurm_conf
from emulator.config.slurm.controller import parameters_of
from emulator.scheduling.job_mgr import make_job
from emulator.state.cluster import Cluster
from emulator.state.features import choices
from emulator.workload.request import JobRequest, RejectedError
from emulator.workload.sbatch import parse_sbatch
from slurm_sim_plugins import InputError
from slurm_sim_plugins.nodes import Allocation
from slurm_sim_plugins.select.cons_tres import best_fit

EIGHT_CORES = "CPUs=8 Boards=1 SocketsPerBoard=1 CoresPerSocket=8 ThreadsPerCore=1 RealMemory=8000"


def cluster(nodes: str = f"NodeName=n[1-4] {EIGHT_CORES}", select: str = "CR_Core", partition: str = "") -> Cluster:
    conf = parse_slurm_conf(
        f"SelectType=select/cons_tres\nSelectTypeParameters={select}\nPriorityType=priority/basic\nGresTypes=gpu\n"
        f"{nodes}\nPartitionName=p Nodes=ALL Default=YES {partition}\n"
    ).under("22.05")
    return Cluster(conf, parameters_of(conf))


def given_to(of: Cluster, *words: str, free: tuple[int, ...] | None = None) -> dict[str, int] | None:
    """Units by node that a job gets; ``free`` are the units that are free on each node."""
    job = make_job(JobRequest(1, 0, 1, parse_sbatch(words)), of)
    left = of.free.copy()
    if free is not None:
        left.units[:] = free
        left.jobs[:] = np.array(free) < of.machine.units
    found = best_fit(job.wants["p"], of.machine, left, of.partitions["p"].nodes & of.machine.up)
    return None if found is None else named(of, found)


def named(of: Cluster, found: Allocation) -> dict[str, int]:
    return {of.machine.names[node]: units for node, units in zip(found.nodes, found.units, strict=True)}


def test_one_node_that_suffices_with_least_to_spare() -> None:
    assert given_to(cluster(), "-n3", free=(5, 3, 8, 4)) == {"n2": 3}
    assert given_to(cluster(), "-n3", free=(3, 3, 8, 4)) == {"n1": 3}


def test_the_tightest_set_of_neighbours_that_suffices() -> None:
    assert given_to(cluster(f"NodeName=n[1-6] {EIGHT_CORES}"), "-n3", free=(8, 8, 8, 8, 0, 4)) == {"n6": 3}


def test_a_job_is_split_only_when_no_node_suffices() -> None:
    assert given_to(cluster(), "-n4", free=(3, 0, 1, 0)) == {"n1": 3, "n3": 1}
    assert given_to(cluster(), "-n9", free=(4, 8, 0, 0)) == {"n1": 4, "n2": 5}


def test_light_nodes_first_even_if_that_splits_the_job() -> None:
    nodes = "\n".join(
        f"NodeName=n{number} {EIGHT_CORES} Weight={weight}" for number, weight in enumerate((1, 5, 1, 5), 1)
    )
    assert given_to(cluster(nodes), "-n2", free=(1, 8, 1, 8)) == {"n1": 1, "n3": 1}
    assert given_to(cluster(nodes), "-N2", free=(8, 8, 8, 8)) == {"n1": 1, "n3": 1}


def test_least_loaded_nodes_first_where_that_is_asked_for() -> None:
    assert given_to(cluster(select="CR_Core,CR_LLN"), "-n7", free=(5, 3, 4, 0)) == {"n1": 5, "n3": 2}
    assert given_to(cluster(partition="LLN=YES"), "-n1", free=(5, 8, 8, 0)) == {"n2": 1}


def test_the_least_loaded_node_is_the_one_of_which_the_largest_share_is_free() -> None:
    nodes = "\n".join(f"NodeName=n{number} CPUs={cores}" for number, cores in enumerate((4, 8, 4, 8), 1))
    lln = cluster(nodes, select="CR_CPU,CR_LLN")
    for free, expected in (((2, 6, 4, 8), "n3"), ((2, 6, 1, 8), "n4"), ((2, 6, 1, 5), "n2")):
        assert given_to(lln, "-n1", free=free) == {expected: 1}


def test_nodes_that_are_welcome_and_not_needed_are_the_light_ones() -> None:
    nodes = "\n".join(
        f"NodeName=n{number} {EIGHT_CORES} Weight={weight}" for number, weight in enumerate((9, 1, 9, 5), 1)
    )
    assert given_to(cluster(nodes), "-N1-2", "-n2") == {"n2": 1, "n4": 1}
    assert given_to(cluster(nodes), "-N2-4", "-n16") == {"n1": 1, "n2": 7, "n3": 1, "n4": 7}


def test_a_job_alone_on_its_nodes_has_all_their_memory_and_generic_resources() -> None:
    nodes = f"NodeName=n[1-4] {EIGHT_CORES} RealMemory=9000 Gres=gpu:a:2"
    of = cluster(nodes, select="CR_Core_Memory", partition="DefMemPerCPU=1000")

    def had(*words: str) -> tuple[tuple[int, ...], dict[tuple[str, str], tuple[int, ...]]]:
        job = make_job(JobRequest(1, 0, 1, parse_sbatch(words)), of)
        found = best_fit(job.wants["p"], of.machine, of.free, of.partitions["p"].nodes)
        assert found is not None
        return found.memory, dict(found.gres)

    assert had("-n1") == ((1000,), {})
    assert had("-n1", "--exclusive") == ((8000,), {("gpu", "a"): (2,)})
    assert had("-n1", "--exclusive", "--mem-per-cpu=1100") == ((8800,), {("gpu", "a"): (2,)})
    assert had("-n1", "--exclusive", "--mem=500") == ((500,), {("gpu", "a"): (2,)})


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["-N2"], [1, 1]),
        (["-N2", "-n5"], [4, 1]),
        (["-N4", "-n6"], [3, 1, 1, 1]),
        (["-N1-3", "-n10"], [7, 2, 1]),
        (["-N2-4", "-n3"], [1, 1, 1]),
        (["-N2-4", "-n9"], [6, 1, 1, 1]),
        (["-n4", "-c3"], [8, 3]),
        (["-n3", "-c5"], [8, 5]),
        (["--exclusive", "-n1"], [8]),
    ],
)
def test_shapes(words: list[str], expected: list[int]) -> None:
    assert list((given_to(cluster(), *words) or {}).values()) == expected


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("-N2 --ntasks-per-node=4", [4, 4]),
        ("--ntasks-per-node=4", [4]),
        ("-N2 --ntasks-per-node=2 -c3", [6, 6]),
        ("-wn[2-3] --ntasks-per-node=4", [4, 4]),
        ("-N2 -n3 --ntasks-per-node=2", [2, 2]),
        ("-n4 --ntasks-per-node=2", [2, 2]),
        ("-N3 --ntasks-per-node=9", None),
        ("-N1 -n4 --ntasks-per-node=2", None),
    ],
)
def test_tasks_on_each_node(words: str, expected: list[int] | None) -> None:
    if expected is None:
        with pytest.raises(RejectedError):
            given_to(cluster(), *words.split())
    else:
        assert list((given_to(cluster(), *words.split()) or {}).values()) == expected


def test_a_bound_on_tasks_of_a_node_does_not_change_how_well_it_fits() -> None:
    assert given_to(cluster(), "-N1", "--ntasks-per-node=3", free=(8, 5, 3, 6)) == {"n3": 3}
    assert given_to(cluster(), "-n3", "--ntasks-per-node=3", free=(8, 5, 1, 6)) == {"n4": 3}
    sets = cluster(f"NodeName=n[1-5] {EIGHT_CORES}")
    assert given_to(sets, "-N2", "--ntasks-per-node=2", free=(8, 8, 0, 3, 4)) == {"n4": 2, "n5": 2}
    assert given_to(sets, "-n4", "--ntasks-per-node=2", free=(8, 8, 0, 3, 4)) == {"n4": 2, "n5": 2}
    unequal = cluster("NodeName=n[1-3] CPUs=8")
    assert given_to(unequal, "-n4", "--ntasks-per-node=3", free=(3, 8, 0)) == {"n1": 3, "n2": 3}


def test_whole_tasks_where_each_finds_room() -> None:
    assert given_to(cluster(), "-n2", "-c4", free=(1, 6, 7, 0)) == {"n2": 4, "n3": 4}


def test_threads_come_with_their_cores() -> None:
    of = cluster("NodeName=n1 CPUs=8 Boards=1 SocketsPerBoard=1 CoresPerSocket=4 ThreadsPerCore=2")
    assert given_to(of, "-n1") == {"n1": 1}
    assert given_to(of, "-n5") == {"n1": 3}
    assert given_to(of, "-n1", "-c3") == {"n1": 2}
    assert given_to(of, "-n2", "--ntasks-per-core=1") == {"n1": 2}


def test_an_exclusive_job_wants_idle_nodes() -> None:
    assert given_to(cluster(), "--exclusive", "-N1", free=(7, 8, 8, 8)) == {"n2": 8}
    assert given_to(cluster(), "--exclusive", "-N4", free=(7, 8, 8, 8)) is None


def test_wanted_and_unwanted_nodes() -> None:
    of = cluster("NodeName=n[1-6] CPUs=1")
    assert given_to(of, "-N2", "-wn4") == {"n4": 1, "n5": 1}
    assert given_to(of, "-N3", "-wn[5-6]") == {"n4": 1, "n5": 1, "n6": 1}
    assert given_to(of, "-N1", "-xn[1-2]") == {"n3": 1}
    assert given_to(of, "-N1", "-wn4", free=(1, 1, 1, 0, 1, 1)) is None


def test_memory_limits_what_a_node_can_give() -> None:
    of = cluster(select="CR_Core_Memory", partition="DefMemPerCPU=2000")
    assert given_to(of, "-n6") == {"n1": 4, "n2": 2}
    assert given_to(of, "-n1", "--mem=0") == {"n1": 1}
    assert given_to(of, "-n2", "--mem-per-cpu=4001") == {"n1": 1, "n2": 1}
    with pytest.raises(RejectedError, match="Requested node configuration is not available"):
        given_to(of, "-n1", "--mem=8001")


def test_generic_resources_by_node_and_by_job() -> None:
    nodes = "\n".join(
        f"NodeName=n{number} {EIGHT_CORES} Gres={gres}"
        for number, gres in enumerate(("gpu:a:2", "gpu:a:1,gpu:b:2", "gpu:b:4"), 1)
    )
    of = cluster(nodes)
    assert given_to(of, "-n1", "--gres=gpu:b:3") == {"n3": 1}
    assert given_to(of, "-n1", "--gres=gpu:3") == {"n2": 1}
    assert given_to(of, "-N2", "--gpus=6") is not None
    with pytest.raises(RejectedError):
        given_to(of, "-n1", "--gres=gpu:b:5")


FEATURES = [frozenset(words.split(",")) for words in ("a,b", "a", "b", "c", "a,c", "b,d")]


@pytest.mark.parametrize(
    ("constraint", "expected"),
    [
        ("a&b", [[0]]),
        ("a|c", [[0, 1, 3, 4]]),
        ("[a|b]", [[0, 1, 4], [0, 2, 5]]),
        ("(a&c)|(b&d)", [[4, 5]]),
        ("", [[0, 1, 2, 3, 4, 5]]),
    ],
)
def test_constraints(constraint: str, expected: list[list[int]]) -> None:
    assert [np.flatnonzero(choice.mask).tolist() for choice in choices(constraint, FEATURES)] == expected


def test_counts_of_features() -> None:
    (choice,) = choices("[a*1&b*2]", FEATURES)
    assert [(np.flatnonzero(mask).tolist(), count) for mask, count in choice.counts] == [([0, 1, 4], 1), ([0, 2, 5], 2)]


@pytest.mark.parametrize("constraint", ["a&", "(a", "[a|b", "a*0", "a)b", "z"])
def test_a_constraint_that_cannot_be_is_refused(constraint: str) -> None:
    with pytest.raises(InputError, match="Invalid feature specification"):
        choices(constraint, FEATURES)


@pytest.mark.slow
@given(
    free=st.lists(st.integers(0, 8), min_size=4, max_size=4),
    tasks=st.integers(1, 40),
    per_task=st.integers(1, 3),
    nodes=st.integers(1, 4),
)
def test_nobody_gets_more_than_there_is_and_who_fits_plainly_gets_it(
    free: list[int], tasks: int, per_task: int, nodes: int
) -> None:
    if tasks < nodes or tasks * per_task > 32:
        return
    words = [f"-N{nodes}-4", f"-n{tasks}", f"-c{per_task}"]
    got = given_to(cluster(), *words, free=(free[0], free[1], free[2], free[3]))
    room = [units // per_task for units in free]
    if got is None:
        assert sum(room) < tasks or sum(units > 0 for units in room) < nodes
    else:
        assert all(0 < units <= free[int(name[1:]) - 1] for name, units in got.items())
        assert len(got) >= nodes


# What backfill plans with bf_busy_nodes, as it was asked of 22.05.8, 24.11.5 and 26.05.5: what waits for runs to end,
# the nodes that are in use, those that are never free, and the nodes of the plan.
ALIKE = "NodeName=n[1-8] CPUs=2 State=UNKNOWN"
TWO_WEIGHTS = "NodeName=n[1-4] CPUs=2 State=UNKNOWN\nNodeName=n[5-8] CPUs=2 Weight=5 State=UNKNOWN"
TWO_SIZES = "NodeName=n[1-4] CPUs=2 State=UNKNOWN\nNodeName=n[5-8] CPUs=4 State=UNKNOWN"
PLANNED = [
    (ALIKE, "-N5 -n10", "3456", "1", "23456"),
    (ALIKE, "-n9", "3456", "1", "23456"),
    (ALIKE, "-N2", "3456", "127", "348"),
    (ALIKE, "-n3", "3456", "127", "348"),
    (ALIKE, "-N3", "3456", "127", "3458"),
    (ALIKE, "-N2-4", "3456", "127", "34568"),
    (ALIKE, "-n8", "3456", "12", "34567"),
    (ALIKE, "-n8 -wn7", "3456", "12", "34578"),
    (ALIKE, "-N3 -wn8", "3456", "12", "3478"),
    (TWO_WEIGHTS, "-N5 -n10", "3456", "1", "234567"),
    (TWO_WEIGHTS, "-n4", "3456", "127", "34"),
    (TWO_WEIGHTS, "-N3", "3456", "127", "3458"),
    (TWO_WEIGHTS, "-N3 -wn8", "3456", "12", "348"),
    (TWO_SIZES, "-N1 -n2 -wn3", "1234", "56", "3"),
    (TWO_SIZES, "-N3 -n9", "1234", "56", "1237"),
    (TWO_SIZES, "-n13", "1234", "56", "123478"),
    (TWO_SIZES, "-N4 --ntasks-per-node=2 --exclusive", "1234", "56", "12347"),
    (TWO_SIZES, "-N1 -n3", "567", "8", "5"),
]


@pytest.mark.parametrize(("nodes", "words", "in_use", "never", "planned"), PLANNED)
@pytest.mark.parametrize("select", ["CR_Core", "CR_Core,CR_LLN"])
def test_nodes_in_use_are_planned_with_first(
    nodes: str, words: str, in_use: str, never: str, planned: str, select: str
) -> None:
    of = cluster(nodes, select=select)
    want = make_job(JobRequest(1, 0, 1, parse_sbatch(words.split())), of).wants["p"]
    numbers = np.arange(1, 9)
    busy, usable = (np.isin(numbers, [int(digit) for digit in digits]) for digits in (in_use + never, never))
    found = best_fit(replace(want, in_use=busy, by_looks=False), of.machine, of.free, ~usable)
    assert found is not None
    assert "".join(str(node + 1) for node in found.nodes) == planned
