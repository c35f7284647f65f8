"""For tests: of the emulator, and of plugins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from emulator.testing.conformance import CHECKS, check_plugin
    from emulator.testing.invariants import check_invariants
    from emulator.testing.on_nodes import call
    from emulator.testing.playing import Played, play
    from emulator.testing.simulating import Simulated, simulate_jobs

__all__ = ["CHECKS", "Played", "Simulated", "call", "check_invariants", "check_plugin", "play", "simulate_jobs"]

_HOMES = {
    "CHECKS": "conformance",
    "Played": "playing",
    "Simulated": "simulating",
    "call": "on_nodes",
    "check_invariants": "invariants",
    "check_plugin": "conformance",
    "play": "playing",
    "simulate_jobs": "simulating",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: pytest loads this package wherever it is installed."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
