"""Reservations of so many nodes where there are switches."""

from __future__ import annotations

import pytest

from emulator.config.slurm import parse_slurm_conf
from emulator.engine.controller import Controller
from emulator.operator.scontrol import scontrol

CONF = """\
SelectType=select/cons_tres
NodeName=a[1-6] CPUs=1
PartitionName=p Nodes=ALL Default=YES
TopologyPlugin=topology/tree
"""
SWITCHES = """\
SwitchName=s0 Nodes=a[1-3]
SwitchName=s1 Nodes=a[4-5]
SwitchName=s2 Nodes=a6
SwitchName=top Switches=s[0-2]
"""


@pytest.mark.parametrize(
    ("count", "nodes"), [(1, "a6"), (2, "a4,a5"), (3, "a1,a2,a3"), (4, "a1,a2,a3,a6"), (5, "a1,a2,a3,a4,a5")]
)
def test_a_reservation_is_below_the_switch_that_fits_best(count: int, nodes: str) -> None:
    """Recorded on 22.05 for one node; Slurm's sources."""
    command = f"create reservation ReservationName=r StartTime=now+60 Duration=1 NodeCnt={count} Users=root"
    action = (1.0, lambda controller: scontrol(f"scontrol {command}", controller))
    controller = Controller(parse_slurm_conf(CONF, topology=SWITCHES), [], [action], slurm_version="22.05.8")
    controller.run(2)
    found = controller.reservations.by_name["r"].nodes
    machine = controller.cluster.machine
    assert ",".join(machine.names[place] for place in found.nonzero()[0].tolist()) == nodes
