"""Plugins beside a running slurmctld: what they would do, or, if they are let, what they do.

One job, one queue: what Slurm's commands show of the cluster (:mod:`emulator.live.sight`) is followed by the emulator's
own controller (:mod:`emulator.live.mirror`), which calls the hooks as in a run. What they decide
(:mod:`emulator.live.trial`) is printed, and carried out in Slurm only with ``--apply``.
"""
