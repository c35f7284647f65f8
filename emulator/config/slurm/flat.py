"""The cluster that counted processors are under Slurm's clock: one partition with one node, which has them all."""

from __future__ import annotations

from dataclasses import replace

from emulator.config.options import Config
from emulator.config.preemption import Preemption
from emulator.config.slurm.model import SlurmConf
from emulator.config.slurm.reader import parse_slurm_conf
from slurm_sim_plugins.errors import ConfigurationError
from slurm_sim_plugins.hookspecs import DEFAULTS

STATED = ("SchedulerType", "PriorityType", "PreemptType")
"""Slots whose plugins are those of counted processors where none are named."""
TEXT = """ClusterName=flat
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
PreemptMode={mode}
{plugins}
NodeName=flat CPUs={processors}
PartitionName=flat Nodes=ALL Default=YES MaxTime=INFINITE
"""


def flat_cluster(processors: int, config: Config) -> tuple[SlurmConf, Config]:
    """Counted processors as a cluster.

    Args:
        processors: how many.
        config: how to simulate; plugins that it does not name are those of any run on processors.

    Returns:
        Its configuration, and the options that are left to state.

    Raises:
        ConfigurationError: an option, or a mode of preemption, that only the ideal clock has.
    """
    mode, usual = config.preemption.mode, Config()
    for name in ("kill_at_limit", "expired", "dispatch"):
        if getattr(config, name) != getattr(usual, name):
            raise ConfigurationError(f"{name} is for the ideal clock; leave it out, or give clock=ideal")
    if mode == "SUSPEND":
        raise ConfigurationError(
            "preemption with mode SUSPEND is that of virtual machines, which the ideal clock has; under Slurm's "
            "clock take REQUEUE or CHECKPOINT, or a slurm.conf with PreemptMode=SUSPEND,GANG"
        )
    plugins = "\n".join(f"{slot}={config.slots.get(slot, DEFAULTS[slot])}" for slot in STATED)
    text = TEXT.format(mode=mode, plugins=plugins, processors=processors)
    preemption = config.preemption if mode == "CHECKPOINT" else Preemption()
    return parse_slurm_conf(text, "flat"), replace(config, processors=None, preemption=preemption)
