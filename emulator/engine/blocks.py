"""The parts of a simulation whose SelectType gives out blocks; only such a simulation loads them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from emulator.engine.apply_blocks import BlockApply
from emulator.scheduling.selector import Selector
from slurm_sim_plugins.block_state import BlockState
from slurm_sim_plugins.blocks import Blocks
from slurm_sim_plugins.errors import ConfigurationError, PluginError
from slurm_sim_plugins.renamed import stated

if TYPE_CHECKING:
    from emulator.hooks import Hooks
    from emulator.validate import Validator
    from slurm_sim_plugins.manager import Selection
    from slurm_sim_plugins.views import ClusterState


def make_block_parts(
    parts: tuple[Any, ...], cluster_state: ClusterState, hooks: Hooks, validate: Validator, selection: Selection
) -> tuple[BlockApply, Selector]:
    """Give the cluster state the state of its blocks, and make what changes it and what chooses blocks.

    Raises:
        ConfigurationError: plugins that cannot go together, or a machine that has no such blocks.
        PluginError: blocks that are none.
    """
    _check_companions(hooks, selection)
    cluster_state.block_state = block_state = BlockState(cluster_state, blocks_of(selection, cluster_state.total))
    selector = Selector(cluster_state, hooks, validate)
    block_state._find = selector.find
    return BlockApply(*parts, selector=selector), selector


def blocks_of(selection: Selection, processors: int) -> Blocks:
    """The blocks of the plugin in the SelectType slot.

    Raises:
        ConfigurationError: the machine has no such blocks.
        InputError: a file of blocks cannot be used.
        PluginError: the plugin does not say them.
    """
    name = selection.slots["SelectType"]
    say = getattr(selection.plugins[name], "blocks", None)
    blocks = say(processors) if callable(say) else None
    if not isinstance(blocks, Blocks) or blocks.machine != processors:
        raise PluginError(
            f"it implements select_nodes, and its blocks({processors}) gave {blocks!r}; give it a method blocks that "
            f"answers Blocks of a machine of {processors} processors",
            plugin=name,
        )
    return blocks


def _check_companions(hooks: Hooks, selection: Selection) -> None:
    select = selection.slots["SelectType"]
    if hooks.tiered:
        raise ConfigurationError(
            f"{select} gives out blocks and {selection.slots['ExecutionType']} has tiers, which cannot go together; "
            "leave one of them out"
        )
    scheduler = selection.slots["SchedulerType"]
    if not stated(selection.plugins[scheduler], "knows_blocks", old="knows_places", default=False):
        raise ConfigurationError(
            f"{scheduler} counts free processors, and {select} gives the machine out in blocks, of which none may be "
            "free; take SchedulerType=sched/realtime, or one whose class says knows_blocks = True"
        )
