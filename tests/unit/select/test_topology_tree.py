"""Which nodes a job gets below switches, by hand, as slurmctld of each version chose them."""

from __future__ import annotations

import pytest

from emulator.config.slurm import parse_slurm_conf
from emulator.config.slurm.controller import parameters_of
from emulator.engine.controller import Controller
from emulator.scheduling.job_mgr import make_job
from emulator.state.cluster import Cluster
from emulator.workload.request import JobRequest, RejectedError
from emulator.workload.sbatch import parse_sbatch
from slurm_sim_plugins.select.cons_tres import best_fit

TWO = "SwitchName=a Nodes=n[1-3]\nSwitchName=b Nodes=n[4-8]\nSwitchName=top Switches=a,b\n"
FOREST = "SwitchName=a Nodes=n[1-2]\nSwitchName=b Nodes=n[3-4]\n"
ROWS = "SwitchName=a Nodes=n1\nSwitchName=b Nodes=n[2-3]\nSwitchName=c Nodes=n[4-8]\nSwitchName=m Switches=b,c\n"
WEIGHTS = "\n".join(
    f"NodeName=n{node} CPUs=4 Weight={weight}" for node, weight in enumerate((3, 1, 1, 1, 1, 2, 2, 1), 1)
)


def cluster(topology: str, version: str, nodes: str = "NodeName=n[1-8] CPUs=4", more: str = "") -> Cluster:
    conf = parse_slurm_conf(
        f"SelectType=select/cons_tres\nSelectTypeParameters=CR_CPU\nTopologyPlugin=topology/tree\n{more}{nodes}\n"
        "PartitionName=p Nodes=ALL Default=YES\nPartitionName=r Nodes=n[3-4,7-8]\n",
        topology=topology,
    ).under(version)
    return Cluster(conf, parameters_of(conf))


def nodes_of(of: Cluster, words: str, taken: str = "") -> str:
    job = make_job(JobRequest(1, 0, 1, parse_sbatch(words.split())), of)
    if job.unfit:
        raise RejectedError(job.unfit)
    free = of.free.copy()
    for name in taken.split():
        free.units[of.machine.index[name]] = 0
    found = best_fit(job.wants[job.partitions[0].name], of.machine, free, job.partitions[0].nodes)
    return "" if found is None else " ".join(of.machine.names[node] for node in found.nodes)


@pytest.mark.parametrize("version", ["22.05", "24.11", "26.05"])
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("-n5", "n1 n2"),
        ("-N2 -wn3", "n1 n3"),
        ("-N2 -wn6", "n4 n6"),
        ("-N3 -wn1,n6", "n1 n2 n6"),
        ("-N4", "n4 n5 n6 n7"),
        ("-N2-6 -n9", "n1 n4 n5 n6 n7 n8"),
    ],
)
def test_the_leaf_with_fewest_nodes_that_suffices(words: str, expected: str, version: str) -> None:
    assert nodes_of(cluster(TWO, version), words) == expected


@pytest.mark.parametrize("version", ["22.05", "26.05"])
def test_trees_apart_are_not_joined_and_the_last_goes_first(version: str) -> None:
    forest = cluster(FOREST, version)
    assert nodes_of(forest, "-N2") == "n3 n4"
    assert nodes_of(forest, "-N1 -n2 -pr") == "n3"
    for words in ("-N3", "-n10", "-N2 -wn6", "-N2 -wn1,n3", "-N3 -pr"):
        with pytest.raises(RejectedError):
            nodes_of(forest, words)


def test_a_node_on_no_switch_is_for_jobs_of_one_node_only_and_from_26_05_on() -> None:
    assert nodes_of(cluster(FOREST, "26.05"), "-N1 -xn[1-4]") == "n5"
    with pytest.raises(RejectedError):
        nodes_of(cluster(FOREST, "22.05"), "-N1 -xn[1-4]")


def test_a_leaf_that_has_the_nodes_and_not_the_units() -> None:
    tree = "SwitchName=a Nodes=n1\nSwitchName=b Nodes=n[2-8]\nSwitchName=top Switches=a,b\n"
    assert nodes_of(cluster(tree, "22.05"), "-n11") == "n1 n2 n3"
    assert nodes_of(cluster(tree, "24.11"), "-n11") == "n2 n3 n4"


def test_of_leaves_that_suffice_the_nearest_from_24_11_on() -> None:
    tree = ROWS + "SwitchName=top Switches=a,m\n"
    assert nodes_of(cluster(tree, "22.05"), "-N6") == "n1 n4 n5 n6 n7 n8"
    assert nodes_of(cluster(tree, "24.11"), "-N6") == "n2 n4 n5 n6 n7 n8"


def test_light_nodes_that_do_not_suffice_are_all_taken() -> None:
    weighted = cluster(TWO, "22.05", WEIGHTS)
    assert nodes_of(weighted, "-N2") == "n2 n3"
    assert nodes_of(weighted, "-N6") == "n2 n3 n4 n5 n6 n8"
    # Nodes that are welcome and not needed may be heavier from 24.11 on.
    assert nodes_of(weighted, "-N2-6 -n6") == "n2 n3 n4 n5 n8"
    assert nodes_of(cluster(TWO, "24.11", WEIGHTS), "-N2-6 -n6") == "n2 n3 n4 n5 n6 n8"


def test_leaves_of_nodes() -> None:
    tree = cluster(TWO, "26.05").machine.tree
    assert tree is not None
    assert tree.leaves_of([0, 2, 7]) == ["a", "b"]


def starts(words: str, more: str = "") -> tuple[float, list[int]]:
    """When and where a job starts beside runs that leave a node on each of two leaves until second 100."""
    conf = parse_slurm_conf(
        "SelectType=select/cons_tres\nSelectTypeParameters=CR_CPU\nTopologyPlugin=topology/tree\nPriorityType=priority/basic\n"
        f"SchedulerParameters=bf_interval=10{more}\nNodeName=n[1-6] CPUs=4\nPartitionName=p Nodes=ALL Default=YES\n",
        topology="SwitchName=a Nodes=n[1-3]\nSwitchName=b Nodes=n[4-6]\nSwitchName=top Switches=a,b\n",
    ).under("22.05")
    lines = ["-N2 -wn[1-2] -t9 --exclusive", "-N2 -wn[4-5] -t9 --exclusive", words]
    requests = [JobRequest(number, number * 5, 100, parse_sbatch(line.split())) for number, line in enumerate(lines)]
    controller = Controller(conf, requests)
    controller.run()
    run = controller.cluster.jobs[2].runs[0]
    return run.start, list(run.allocation.nodes)


def test_a_job_waits_for_few_switches_no_longer_than_it_or_the_cluster_says() -> None:
    assert starts("-N2 -t1") == (pytest.approx(10, abs=2), [2, 5])
    assert starts("-N2 -t1 --switches=1") == (pytest.approx(101, abs=2), [0, 1])
    for words, more, wait in (("--switches=1@0:40", "", 40), ("--switches=1", ",max_switch_wait=40", 40)):
        start, nodes = starts(f"-N2 -t1 {words}", more)
        assert nodes == [2, 5]
        assert 10 + wait <= start <= 10 + wait + 62
    assert starts("-N2 -t1 --switches=2") == (pytest.approx(10, abs=2), [2, 5])
    assert starts("-N2 -t1 --switches=1@0:40", ",max_switch_wait=0")[1] == [2, 5]


def test_an_optional_tree_is_for_jobs_that_ask_for_switches() -> None:
    optional = cluster(TWO, "26.05", more="TopologyParam=TopoOptional\n")
    assert nodes_of(optional, "-N4") == "n1 n2 n3 n4"
    assert nodes_of(optional, "-N4 --switches=1") == "n4 n5 n6 n7"
