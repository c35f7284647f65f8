"""The configuration files that a recording writes for its daemons."""

from pathlib import PurePosixPath

import pytest

from emulator.record.conf import Site, write_conf, write_slurmdbd_conf
from slurm_sim_plugins.errors import InputError

SITE = Site(PurePosixPath("/tmp/x"), 20000, "root", "here", (22, 5))
TEXT = """\
ClusterName=mine   # a remark
SlurmctldHost=head(10.0.0.1)
SlurmctldPort=6817
SchedulerParameters=bf_interval=30,\\
bf_continue
NodeName=DEFAULT CPUs=4
NodeName=n[1-2] NodeAddr=10.0.0.[1-2] RealMemory=1000 State=UNKNOWN
PartitionName=p Nodes=ALL Default=YES
"""


def lines(text=TEXT, gres=None, site=SITE):
    return write_conf(text, gres, site).files["slurm.conf"].splitlines()


def test_each_node_has_a_line_and_a_port_on_the_loopback_interface():
    written = write_conf(TEXT, None, SITE)
    assert written.nodes == ("n1", "n2")
    shown = [line for line in lines() if line.startswith("NodeName=n")]
    assert shown == [
        f"NodeName=n{number} NodeHostname=here NodeAddr=127.0.0.1 Port={20000 + number} RealMemory=1000 State=UNKNOWN"
        for number in (1, 2)
    ]


def test_defaults_of_nodes_come_before_nodes_that_take_them():
    found = lines()
    assert found.index("NodeName=DEFAULT CPUs=4") < next(i for i, line in enumerate(found) if "NodeName=n1" in line)


def test_addresses_and_paths_are_the_recordings_own():
    found = lines()
    assert "SlurmctldHost=here(127.0.0.1)" in found
    assert "SlurmctldPort=20000" in found
    assert "StateSaveLocation=/tmp/x/state" in found
    assert "AuthType=auth/none" in found
    assert not any("10.0.0" in line or "6817" in line for line in found)


def test_what_the_scenario_says_of_scheduling_stays():
    found = lines()
    assert "ClusterName=mine" in found
    assert "SchedulerParameters=bf_interval=30, bf_continue" in found or (
        "SchedulerParameters=bf_interval=30,bf_continue" in found
    )
    assert found[-1] == "PartitionName=p Nodes=ALL Default=YES"


@pytest.mark.parametrize(
    "line",
    ["Prolog=/tmp/evil", "Include ../other.conf", "JobSubmitPlugins=lua", "PluginDir=x", "Epilog=~/evil"],
)
def test_a_line_that_names_a_file_or_a_program_is_refused(line):
    with pytest.raises(InputError, match="names a file or a program"):
        lines(TEXT + line)


def test_devices_come_from_slurm_conf_and_have_files_of_their_own():
    text = "NodeName=n1 Gres=gpu:a:2,gpu:b:1,tape:3\nNodeName=n2 Gres=gpu:1(S:0)\n"
    files = write_conf(text, None, SITE).files
    assert files["gres.conf"].splitlines() == [
        "NodeName=n1 Name=gpu Type=a Count=2 File=/tmp/x/devices/gpu[0-1]",
        "NodeName=n1 Name=gpu Type=b Count=1 File=/tmp/x/devices/gpu[2-2]",
        "NodeName=n1 Name=tape Count=3",
        "NodeName=n2 Name=gpu Count=1 File=/tmp/x/devices/gpu[0-0]",
    ]
    assert {name for name in files if name.startswith("devices/")} == {f"devices/gpu{number}" for number in range(3)}


def test_files_of_a_gres_conf_are_moved():
    written = write_conf("NodeName=n1 Gres=gpu:2\n", "NodeName=n1 Name=gpu File=/dev/nvidia[0-1]\n", SITE)
    assert written.files["gres.conf"] == "NodeName=n1 Name=gpu File=/tmp/x/devices/nvidia[0-1]\n"
    assert "devices/nvidia1" in written.files


def test_the_topology_lies_beside_and_names_no_file():
    given = {"topology.conf": "SwitchName=s Nodes=n[1-2] # all\n", "topology.yaml": "- topology: a\n  flat: true\n"}
    files = write_conf(TEXT, None, SITE, given).files
    assert files["topology.conf"] == "SwitchName=s Nodes=n[1-2]\n"
    assert files["topology.yaml"] == given["topology.yaml"]
    assert "topology.conf" not in write_conf(TEXT, None, SITE, {"topology.conf": None}).files
    with pytest.raises(InputError, match=r"topology\.conf: 'Include /tmp/x' names a file or a program"):
        write_conf(TEXT, None, SITE, {"topology.conf": "Include /tmp/x\n"})


def test_newer_versions_have_a_cgroup_conf_and_lack_old_plugins():
    new = write_conf(TEXT, None, Site(SITE.folder, 20000, "root", "here", (24, 11)))
    assert new.files["cgroup.conf"] == "CgroupPlugin=disabled\n"
    assert "SwitchType" not in new.files["slurm.conf"]
    assert "SwitchType=switch/none" in lines()


def test_accounts_ask_the_database_daemon_of_this_recording():
    written = write_conf(TEXT + "AccountingStorageType=accounting_storage/slurmdbd\n", None, SITE)
    assert written.accounts
    assert "AccountingStoragePort=20003" in written.files["slurm.conf"].splitlines()
    dbd = write_slurmdbd_conf(SITE, 2, 20004).splitlines()
    assert "DbdPort=20003" in dbd
    assert "StoragePort=20004" in dbd
    assert not write_conf(TEXT, None, SITE).accounts


def test_scripts_sleep_by_the_clock_of_the_machine() -> None:
    written = write_conf(TEXT, None, SITE, scripts={"prolog": 2.5, "epilog_slurmctld": 1.0}).files
    assert written["scripts/prolog"] == "#!/bin/sh\nunset LD_PRELOAD\nexec sleep 2.500\n"
    lines = written["slurm.conf"].splitlines()
    assert f"Prolog={SITE.folder}/scripts/prolog" in lines
    assert f"EpilogSlurmctld={SITE.folder}/scripts/epilog_slurmctld" in lines
    assert not any(line.startswith(("Epilog=", "PrologSlurmctld=")) for line in lines)
