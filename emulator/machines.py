"""Which plugins can run on which machine, and beside each other."""

from __future__ import annotations

from collections.abc import Iterable

from slurm_sim_plugins.errors import ConfigurationError
from slurm_sim_plugins.manager import Selection

PROCESSORS, NODES = "processors", "nodes"
REMEDY = {
    PROCESSORS: "give a slurm.conf, or leave the plugin out",
    NODES: "leave it out, or take one that knows nodes, such as sched/easy (which asks view.plan()) or select/linear",
}
"""What to do where a plugin is not for the machine."""


def check_machines(selection: Selection, names: Iterable[str], machine: str) -> None:
    """Refuse plugins whose class says that they are for other machines (``machines``).

    Args:
        selection: the plugins of a run.
        names: of those that are looked at.
        machine: ``processors`` or ``nodes``.

    Raises:
        ConfigurationError: one is for others.
    """
    for name in names:
        plugin = selection.plugins[name]
        # Tiers are of counted processors.
        machines = getattr(plugin, "machines", (PROCESSORS,) if getattr(plugin, "needs_tiers", ()) else (machine,))
        if machine not in machines:
            raise ConfigurationError(
                f"{name} is for machines of {' or '.join(machines)}, and this one is of {machine}; {REMEDY[machine]}"
            )


def check_companions(selection: Selection) -> None:
    """Refuse what no other plugin asks for: an order of candidates, and a site factor.

    Raises:
        ConfigurationError: the scheduler leaves the main loop to the emulator, or the priority plugin gives no numbers.
    """
    scheduler, order = selection.slots["SchedulerType"], selection.slots["BackfillType"]
    if selection.deciders("backfill_candidates") and not selection.deciders("schedule"):
        raise ConfigurationError(
            f"BackfillType={order}: {scheduler} tries jobs in the order of the queue; select a scheduler that asks "
            "view.candidates(), such as sched/easy"
        )
    priority, factor = selection.slots["PriorityType"], selection.slots["PrioritySiteFactorPlugin"]
    if selection.deciders("site_factor") and not selection.deciders("priority_set"):
        raise ConfigurationError(
            f"PrioritySiteFactorPlugin={factor}: {priority} gives no numbers that it could be added to; select "
            "priority/multifactor, or a priority plugin of your own that reads job.site"
        )
