"""A page of a run on a small cluster."""

from __future__ import annotations

from pathlib import Path

from emulator.api import simulate
from emulator.config.slurm import parse_slurm_conf
from emulator.operator.commands import read_commands
from emulator.report.page.sources import read_sources
from emulator.report.page.write import write_page
from emulator.workload.request import JobRequest
from emulator.workload.sbatch import parse_sbatch
from emulator.workload.submissions import Submissions

CONF = """
ClusterName=small
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
NodeName=n[1-4] CPUs=4
PartitionName=all Nodes=ALL Default=YES MaxTime=2:00:00
"""


def cluster_page(folder: Path, name: str) -> Path:
    """Write it: a run on four nodes, of which the last is drained from 1,000 s to 6,000 s; it lies in ``run``."""
    jobs = [JobRequest(number, 50.0 * number, 1500, parse_sbatch(["-n2", "-t40"]), "ann") for number in range(1, 40)]
    commands = folder / "commands"
    commands.write_text("1000 scontrol update NodeName=n4 State=DRAIN\n6000 scontrol update NodeName=n4 State=RESUME\n")
    simulate(
        Submissions(jobs, "cluster"),
        parse_slurm_conf(CONF, "slurm.conf"),
        out=folder / "run",
        actions=[(each.at, each) for each in read_commands(commands)],
    )
    write_page(read_sources([folder / "run"]), folder / name)
    return folder / name
