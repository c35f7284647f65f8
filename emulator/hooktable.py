"""On which machine and under which clock each hook is called: the one declaration, that runs and docs go by.

A new hook gets a row here; ``tests/unit/test_hooktable.py`` compares the table with what is called.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from typing import Literal

from emulator.machines import NODES, PROCESSORS
from slurm_sim_plugins.errors import ConfigurationError
from slurm_sim_plugins.manager import Selection

Answer = Literal["called", "no occasion", "warned", "refused"]
"""Of a plugin with the hook: it is called where there is occasion to; there never is, and nothing is lost; the run goes
on with a warning; there is none."""
BLOCKS, TIERS = "blocks", "tiers"
COMBINATIONS = ((PROCESSORS, "ideal"), (BLOCKS, "ideal"), (TIERS, "ideal"), (NODES, "ideal"), (NODES, "slurm"))
"""Machine and clock; under Slurm's clock counted processors are one node, and blocks and tiers are refused."""
Row = Mapping[tuple[str, str], Answer]


def _on(*machines: str, elsewhere: Answer = "refused") -> Row:
    """Called on some machines, under either clock."""
    return {(machine, clock): "called" if machine in machines else elsewhere for machine, clock in COMBINATIONS}


EVERYWHERE = _on(PROCESSORS, BLOCKS, TIERS, NODES)
HOOKS: Mapping[str, Row] = {
    "priority_set": EVERYWHERE,
    "schedule": EVERYWHERE,
    "backfill": EVERYWHERE,
    "backfill_candidates": EVERYWHERE,
    "bf_topopt": _on(NODES),
    "preempt_candidates": EVERYWHERE,
    "preempt_mode": _on(NODES),
    "preempt_grace": _on(NODES),
    "select_nodes": _on(BLOCKS, NODES),
    "walltime_submit": EVERYWHERE,
    "walltime_pending": EVERYWHERE,
    "walltime_learn": EVERYWHERE,
    "progress_rate": _on(TIERS),
    "site_factor": EVERYWHERE,
    "job_submit": EVERYWHERE,
    "job_modify": _on(NODES, elsewhere="no occasion"),
    "run_begun": EVERYWHERE,
    "job_submitted": EVERYWHERE,
    "job_started": EVERYWHERE,
    "job_requeued": EVERYWHERE,
    "job_suspended": _on(NODES, elsewhere="warned"),
    "job_resumed": _on(NODES, elsewhere="warned"),
    "job_ended": EVERYWHERE,
    "pass_done": EVERYWHERE,
    "run_ended": EVERYWHERE,
}
"""By hook."""


def check_hooks(selection: Selection, names: Collection[str], machine: str, clock: str) -> None:
    """Refuse plugins with hooks that are not called in a combination, or warn of them.

    Args:
        selection: the plugins of a run.
        names: of those that are looked at.
        machine: one of those in :data:`COMBINATIONS`.
        clock: that goes with it.

    Raises:
        ConfigurationError: a plugin has a hook that is refused.
    """
    for hook, row in HOOKS.items():
        answer = row[machine, clock]
        if answer in ("called", "no occasion"):
            continue
        for name, implementation in selection.implementations(hook):
            # A wrapper stands around what others answer, if anything does.
            if name not in names or implementation.wrapper or implementation.hookwrapper:
                continue
            words = f"{name} implements {hook}, which is not called on a machine of {machine} under the {clock} clock"
            if answer == "refused":
                machines = " or ".join(dict.fromkeys(kind for (kind, _), cell in row.items() if cell == "called"))
                raise ConfigurationError(f"{words}; leave the plugin out, or run it on a machine of {machines}")
            logging.getLogger(__name__).warning("%s", words)
