"""For the unit tests of plugins: builders of situations, calls of hooks, drawings.

>>> from slurm_sim_plugins.sched.easy import Easy
>>> from slurm_sim_plugins.testing import cluster, job, play
>>> here = cluster(10).running(job(6, planned=100), since=-20).waiting(job(8), job(4, limit=60))
>>> play(Easy, here).started
[3]
"""

from slurm_sim_plugins.testing.builders import Cluster, JobSpec, cluster, job
from slurm_sim_plugins.testing.calling import call
from slurm_sim_plugins.testing.drawing import draw
from slurm_sim_plugins.testing.playing import Played, play
from slurm_sim_plugins.testing.recorder import HookCall, HookRecorder
from slurm_sim_plugins.testing.scene import Scene

__all__ = [
    "Cluster",
    "HookCall",
    "HookRecorder",
    "JobSpec",
    "Played",
    "Scene",
    "call",
    "cluster",
    "draw",
    "job",
    "play",
]
