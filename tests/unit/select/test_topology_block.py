"""Which nodes a job gets in blocks, as slurmctld of two versions chose them."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from emulator.config.slurm import parse_slurm_conf
from emulator.config.slurm.controller import parameters_of
from emulator.engine.controller import Controller
from emulator.scheduling.job_mgr import make_job
from emulator.scheduling.select_compiled import encode
from emulator.state.cluster import Cluster
from emulator.workload.request import JobRequest, RejectedError
from emulator.workload.sbatch import parse_sbatch
from slurm_sim_plugins.select.cons_tres import best_fit

NEITHER = "-"


class Layout(NamedTuple):
    """What slurmctld answered on one cluster: free CPUs, options and CPUs given, node by node."""

    version: str
    cpus: int
    blocks: list[int]
    sizes: str
    answers: list[tuple[str, str, str]]


def layouts() -> Iterator[Layout]:
    layout, free = None, ""
    for line in Path(__file__).with_name("block_answers.txt").read_text().splitlines():
        if found := re.fullmatch(r"slurm (\S+) cpus (\d) blocks (\S+) sizes (\S+)", line):
            if layout is not None:
                yield layout
            blocks = [int(word) for word in found[3].split(",")]
            layout = Layout(found[1], int(found[2]), blocks, found[4], [])
        elif line.startswith("free "):
            free = line[5:]
        elif line.startswith("  ") and layout is not None:
            words, _, given = line[2:].rpartition(" ")
            layout.answers.append((free, words.strip(), given))
    assert layout is not None
    yield layout


def cluster(version: str, blocks: list[int], sizes: str, cpus: int = 4, more: str = "") -> Cluster:
    first, topology = 1, ""
    for number, nodes in enumerate(blocks):
        topology += f"BlockName=b{number} Nodes=n[{first}-{first + nodes - 1}]\n"
        first += nodes
    conf = parse_slurm_conf(
        "SelectType=select/cons_tres\nSelectTypeParameters=CR_CPU\nTopologyPlugin=topology/block\n"
        f"NodeName=n[1-{first - 1}] CPUs={cpus}\n{more}PartitionName=p Nodes=ALL Default=YES\n",
        topology=topology + (f"BlockSizes={sizes}\n" if sizes else ""),
    ).under(version)
    return Cluster(conf, parameters_of(conf))


def given(of: Cluster, words: str, blocks: list[int], free_cpus: str = "") -> str:
    """CPUs of each node, as in the file; outside of blocks by name."""
    free = of.free.copy()
    for node, left in enumerate(free_cpus.replace("|", "")):
        free.jobs[node] += int(left) < free.units[node]
        free.units[node] = int(left)
    try:
        job = make_job(JobRequest(1, 0, 1, parse_sbatch(words.split())), of)
    except RejectedError:
        return NEITHER
    want = job.wants[job.partitions[0].name]
    assert encode(want, of.machine) is None  # kernels know no blocks
    found = best_fit(want, of.machine, free, job.partitions[0].nodes)
    if found is None:
        return NEITHER
    has = dict(zip(found.nodes, found.units, strict=True))
    bounds = [0, *np.cumsum(blocks).tolist()]
    pictures = (
        "".join(str(has.get(node, ".")) for node in range(begin, end)) for begin, end in itertools.pairwise(bounds)
    )
    return "|".join(pictures) if any(node < bounds[-1] for node in has) else "outside"


@pytest.mark.parametrize("layout", [*layouts()], ids=lambda layout: f"{layout.version} {layout.blocks} {layout.sizes}")
def test_a_job_gets_the_nodes_that_slurm_gave_it(layout: Layout) -> None:
    of = cluster(layout.version, layout.blocks, layout.sizes, layout.cpus)
    for free, words, expected in layout.answers:
        assert given(of, words, layout.blocks, free) == expected, f"{words} where {free} is free"


def test_there_are_answers_of_both_versions_and_all_kinds() -> None:
    answers = [(layout.version[:5], *answer) for layout in layouts() for answer in layout.answers]
    assert {version for version, *_ in answers} == {"24.11", "26.05"}
    assert sum(got != NEITHER for *_, got in answers) > 500
    assert sum(got == NEITHER for *_, got in answers) > 200
    for kind in ("--segment", "-w", "-n"):
        assert sum(kind in words and got != NEITHER for _, _, words, got in answers) > 20


def test_without_sizes_blocks_are_joined_to_two_and_four_and_more() -> None:
    for version in ("24.11", "26.05"):
        of = cluster(version, [3, 3, 3, 3], "")
        assert given(of, "-N4", [3] * 4) == "...|...|1..|111"
        assert given(of, "-N6 -wn1,n10", [3] * 4) == NEITHER
        assert given(of, "-N12", [3] * 4) == "111|111|111|111"


def test_a_node_in_no_block_is_for_jobs_of_one_node() -> None:
    more = "NodeName=n7 CPUs=4\n"
    for version in ("24.11", "26.05"):
        of = cluster(version, [3, 3], "3,6", more=more)
        assert given(of, "-N1 -xn[1-6]", [3, 3]) == "outside"
        assert given(of, "-N7", [3, 3]) == NEITHER
    assert given(cluster("24.11", [3, 3], "3,6", more=more), "-N1 -wn7", [3, 3]) == NEITHER
    assert given(cluster("26.05", [3, 3], "3,6", more=more), "-N1 -wn7", [3, 3]) == "outside"


IN_YAML = """
- topology: racks
  cluster_default: true
  block:
    block_sizes: [2, 4]
    blocks:
    - {block: a, nodes: "n[1-2]"}
    - {block: b, nodes: "n[3-4]"}
    - {block: c, nodes: "n[5-6]"}
    - {block: d, nodes: "n[7-8]"}
- topology: wires
  cluster_default: false
  tree: {switches: [{switch: s, nodes: "n[1-3]"}, {switch: t, nodes: "n[4-8]"}, {switch: top, children: "s,t"}]}
- topology: none
  cluster_default: false
  flat: true
"""


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("-N3", "n5 n7 n8"),
        ("-N3 -pq", "n1 n2 n3"),
        ("-N3 -pr", "n1 n2 n3"),
        ("-N4 -pq", "n4 n5 n6 n7"),
        ("-N5 -pq", "n4 n5 n6 n7 n8"),
        ("-N5 -pr", "n1 n2 n3 n4 n5"),
        ("-N5", "n3 n5 n6 n7 n8"),
        ("-N2 -pq -n5", "n1 n2"),
        ("-N3 -pq --switches=1", "n1 n2 n3"),
        ("-N6 -pq --segment=2", "n1 n4 n5 n6 n7 n8"),
    ],
)
@pytest.mark.parametrize("compiled", [False, pytest.param(True, marks=pytest.mark.compiled)])
def test_jobs_of_a_partition_go_by_its_topology(words: str, expected: str, compiled: bool) -> None:
    """Asked of 26.05."""
    conf = parse_slurm_conf(
        "SelectType=select/cons_tres\nSelectTypeParameters=CR_CPU\nPriorityType=priority/basic\n"
        "NodeName=n[1-8] CPUs=4\nPartitionName=p Nodes=ALL Default=YES\n"
        "PartitionName=q Nodes=ALL Topology=wires\nPartitionName=r Nodes=ALL Topology=none\n",
        topology_yaml=IN_YAML,
    )
    controller = Controller(conf, [JobRequest(1, 0, 10, parse_sbatch([*words.split(), "-t1"]))], compiled=compiled)
    controller.run()
    nodes = controller.cluster.jobs[1].runs[0].allocation.nodes
    assert " ".join(controller.cluster.machine.names[node] for node in nodes) == expected


def test_backfill_plans_by_blocks() -> None:
    """A job of three nodes waits for a block, though three nodes are idle."""
    conf = parse_slurm_conf(
        "SelectType=select/cons_tres\nSelectTypeParameters=CR_CPU\nTopologyPlugin=topology/block\n"
        "PriorityType=priority/basic\nSchedulerParameters=bf_interval=10\nNodeName=n[1-6] CPUs=4\n"
        "PartitionName=p Nodes=ALL Default=YES\n",
        topology="BlockName=a Nodes=n[1-3]\nBlockName=b Nodes=n[4-6]\nBlockSizes=3\n",
    ).under("24.11")
    lines = ["-N1 -wn1 -t9 --exclusive", "-N1 -wn4 -t9 --exclusive", "-N3 -t1", "-N2 -t1"]
    requests = [JobRequest(number, number * 5, 100, parse_sbatch(line.split())) for number, line in enumerate(lines)]
    controller = Controller(conf, requests)
    controller.run()
    three, two = (controller.cluster.jobs[number].runs[0] for number in (2, 3))
    assert list(three.allocation.nodes) == [0, 1, 2]
    assert three.start == pytest.approx(101, abs=2)
    assert list(two.allocation.nodes) == [4, 5]
    assert two.start < 40
