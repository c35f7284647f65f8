"""A finished run as an administrator sees a cluster: ``squeue``, ``sinfo``, ``sacct``, ``sprio``, ``sshare``.

Each is a module with a table of its columns. What they show comes from the folder of the run
alone (:mod:`emulator.views.recorded`); how it is printed is in :mod:`emulator.views.columns`.
Names, headings, widths and defaults are those of Slurm's documentation of the commands.
"""
