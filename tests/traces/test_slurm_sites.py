"""Configurations of real clusters: all of them are read, and what is in them is what the sites have."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from emulator.config.slurm import SlurmConf, read_slurm_conf
from emulator.config.slurm.hostlist import compress, expand
from emulator.config.slurm.vocabulary import IGNORED


@pytest.fixture(scope="module")
def sites(traces: Path) -> Path:
    """The folder of Slurm configurations, beside the logs or in the same folder."""
    for folder in (traces / "slurm", traces.parent / "slurm"):
        if folder.is_dir():
            return folder
    pytest.skip(f"no Slurm configurations at {traces}/slurm")


def gres_of(conf: SlurmConf) -> Counter[str]:
    counts: Counter[str] = Counter()
    for node in conf.nodes:
        counts.update({f"{gres.name}:{gres.type}": gres.count for gres in node.gres})
    return counts


def test_a_university_cluster(sites):
    conf = read_slurm_conf(sites / "ub-hpc")
    assert len(conf.nodes) == 974
    assert {name: len(partition.nodes) for name, partition in conf.partition.items()} == {
        "general-compute": 914,
        "debug": 11,
        "viz": 5,
        "scavenger": 922,
    }
    assert conf.parameters.amount("SchedulerParameters.bf_window") == 4320 * 60
    assert conf.parameters.flag("DependencyParameters.kill_invalid_depend")
    assert conf.parameters.numbers("Licenses")["STARCCM"] == 800
    assert conf.partition["viz"].lln
    assert conf.partition["scavenger"].preempt_mode == ("REQUEUE",)
    assert conf.node["cpn-d07-24-01"].real_memory == 23000
    assert conf.node["cpn-d07-24-01"].features == ("UBHPC", "CPU-L5630", "INTEL", "d07")
    assert gres_of(conf)["gpu:tesla_v100-pcie-32gb"] == 16
    assert len(conf.topology.switches) == 17


def test_the_same_cluster_as_a_simulator_saw_it(sites):
    conf = read_slurm_conf(sites / "ub-hpc" / "slurm_sim.conf")
    assert len(conf.nodes) == 217


def test_a_small_cluster_with_keys_of_old_versions(sites):
    conf = read_slurm_conf(sites / "ub-micro2" / "etc")
    assert [node.name for node in conf.nodes] == [*expand("n[1-4],m[1-4]"), "g1", "b1"]
    assert {node.cpus for node in conf.nodes} == {12}
    assert conf.node["b1"].real_memory == 512000
    statuses = {setting.word.name: setting.word.status for _, setting in conf.entries}
    assert statuses["CacheGroups"] is statuses["CheckpointType"] is IGNORED


def test_a_national_service(sites):
    conf = read_slurm_conf(sites / "sites" / "cirrus-slurm.conf")
    assert len(conf.nodes) == len(conf.partition["maintenance-all"].nodes) == 407
    assert conf.partition["standard"].default_time == 3600
    assert conf.partition["gpu"].tres_billing_weights == {"gres/gpu": 1.0}
    assert conf.node["highmem01"].sockets == 4
    assert conf.node["r1i0n0"].cpus == 36
    assert compress(conf.partition["gpu-tds"].nodes) == "r2i7n[7-8]"
    # The site's topology.conf is not among what it published.
    assert ["topology.conf" in notice.text for notice in conf.notices] == [True]


def test_a_template_is_read_around_what_is_to_be_filled_in(sites):
    conf = read_slurm_conf(sites / "sites" / "archer2-slurm-template.conf")
    templates = [notice.location.line for notice in conf.notices if notice.text.startswith("template, not a value")]
    assert templates == [4, 5, 6, 7, 58, 59, 60, 67, 68, 69, 72, 79, 81, 139, 140, 141]
    assert any(notice.text.endswith("(so in 3 more lines)") and notice.location.line == 7 for notice in conf.notices)
    assert [node.name for node in conf.nodes] == ["dvn01", "dvn02"]
    assert conf.partition["serial"].nodes == ("dvn01", "dvn02")
    assert conf.partition["standard"].oversubscribe == "EXCLUSIVE"
    assert conf.parameters.words("GresTypes") == ("gpu", "archer2-node", "compute-node")
    assert any("did you mean 'max_rpc_cnt'?" in notice.text for notice in conf.notices)
