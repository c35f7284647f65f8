"""For the unit tests of plugins: builders of scenes, calls of hooks, drawings.

>>> from slurm_sim_plugins.priority.sjf import Sjf
>>> from slurm_sim_plugins.testing import call, cluster, job
>>> call(Sjf, "priority_set", cluster(10).waiting(job(8, limit=50), job(4, limit=7)))
[-50.0, -7.0]

A scheduling pass is played, and jobs are simulated, by :mod:`emulator.testing`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurm_sim_plugins.lazily import homes

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

__getattr__ = homes(  # pytest loads this package wherever it is installed
    __name__,
    {
        "builders": "Cluster JobSpec association cluster job partition qos",
        "calling": "call",
        "drawing": "draw",
        "recorder": "HookCall HookRecorder",
        "scene": "Scene",
    },
)
