"""For tests: of the emulator, and of plugins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurm_sim_plugins.lazily import homes

if TYPE_CHECKING:
    from emulator.testing.conformance import CHECKS, check_plugin
    from emulator.testing.invariants import check_invariants
    from emulator.testing.on_nodes import call
    from emulator.testing.playing import Played, play
    from emulator.testing.simulating import Simulated, simulate_jobs

__all__ = ["CHECKS", "Played", "Simulated", "call", "check_invariants", "check_plugin", "play", "simulate_jobs"]

__getattr__ = homes(  # pytest loads this package wherever it is installed
    __name__,
    {
        "conformance": "CHECKS check_plugin",
        "invariants": "check_invariants",
        "on_nodes": "call",
        "playing": "Played play",
        "simulating": "Simulated simulate_jobs",
    },
)
