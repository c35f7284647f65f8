"""The parts of a simulation whose ExecutionType has tiers; only such a simulation loads them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from emulator.engine.apply_tiers import TieredApply
from emulator.execution.rates import Rates
from emulator.execution.tiers import check_columns, check_handover, tier_names
from slurm_sim_plugins.tiers import Tiers

if TYPE_CHECKING:
    from emulator.config.options import Config
    from emulator.hooks import Hooks
    from emulator.validate import Validator
    from emulator.workload.workload import Workload
    from slurm_sim_plugins.manager import Selection
    from slurm_sim_plugins.views import ClusterState


def make_apply(
    parts: tuple[Any, ...],
    cluster_state: ClusterState,
    hooks: Hooks,
    validate: Validator,
    selection: Selection,
    workload: Workload,
    config: Config,
) -> TieredApply:
    """Give the cluster state its tiers, and make what changes it.

    Raises:
        ConfigurationError: preemption that is not possible in tiers.
        InputError: the workload lacks a column.
        PluginError: tiers that make no sense.
    """
    check_columns(selection, workload)
    check_handover(config.preemption)
    cluster_state.tiers = Tiers(cluster_state, tier_names(selection))
    plugin = selection.plugins[selection.slots["ExecutionType"]]
    return TieredApply(*parts, rates=Rates(cluster_state, hooks, validate, getattr(plugin, "changes", ())))
