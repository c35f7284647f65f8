"""A policy on its way to Slurm: a plugin in C, complete for the version of a source tree.

:mod:`source` reads what the version demands; :mod:`policy` and :mod:`formula` what of the policy is arithmetic on
facts of a job; :mod:`submission` what of it changes a submission; :mod:`bodies` knows the functions, and :mod:`write`
is the door. ``docs/porting.md`` is for users.
"""

from emulator.port.write import HOOKS, Ported, write_port

__all__ = ["HOOKS", "Ported", "write_port"]
