"""Which of the plugins that a configuration selects the controller knows."""

from __future__ import annotations

from emulator.config.slurm.model import SlurmConf
from slurm_sim_plugins.errors import ConfigurationError

EMULATED = {
    "SchedulerType": ("sched/backfill", "sched/builtin"),
    "PriorityType": ("priority/basic", "priority/multifactor"),
    "PreemptType": ("preempt/none", "preempt/partition_prio", "preempt/qos"),
    "SelectType": ("select/cons_tres", "select/cons_res", "select/linear"),
}
"""Slurm's plugins that the controller knows."""


def check_plugins(conf: SlurmConf) -> None:
    """Refuse what would be another cluster without its plugin.

    Raises:
        ConfigurationError: the file selects a plugin that is not emulated.
    """
    for slot, known in EMULATED.items():
        name = conf.parameters.text(slot).lower()
        if name not in known:
            place = conf.parameters.place(slot)
            raise ConfigurationError(
                f"{place or conf.source}: {slot}={name} is not emulated; change it to one of {', '.join(known)}"
            )
