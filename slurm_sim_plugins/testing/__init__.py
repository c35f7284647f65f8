"""For the unit tests of plugins: builders of scenes, calls of hooks, drawings.

>>> from slurm_sim_plugins.priority.sjf import Sjf
>>> from slurm_sim_plugins.testing import call, cluster, job
>>> call(Sjf, "priority_set", cluster(10).waiting(job(8, limit=50), job(4, limit=7)))
[-50.0, -7.0]

A scheduling pass is played, and jobs are simulated, by :mod:`emulator.testing`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from slurm_sim_plugins.testing.builders import Cluster, JobSpec, association, cluster, job, partition, qos
    from slurm_sim_plugins.testing.calling import call
    from slurm_sim_plugins.testing.drawing import draw
    from slurm_sim_plugins.testing.recorder import HookCall, HookRecorder
    from slurm_sim_plugins.testing.scene import Scene

__all__ = [
    "Cluster",
    "HookCall",
    "HookRecorder",
    "JobSpec",
    "Scene",
    "association",
    "call",
    "cluster",
    "draw",
    "job",
    "partition",
    "qos",
]

_HOMES = {
    "Cluster": "builders",
    "HookCall": "recorder",
    "HookRecorder": "recorder",
    "JobSpec": "builders",
    "Scene": "scene",
    "association": "builders",
    "call": "calling",
    "cluster": "builders",
    "draw": "drawing",
    "job": "builders",
    "partition": "builders",
    "qos": "builders",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: pytest loads this package wherever it is installed."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
