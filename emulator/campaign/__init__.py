"""Campaigns: many runs, side by side, interrupted and resumed.

:func:`run_all` makes a list of runs that a program put together, as the papers do.
:mod:`emulator.campaign.file` reads a campaign file, of which ``slurm-sim campaign`` makes
the runs. Both keep results in one kind of folder, :mod:`emulator.campaign.store`.
"""

from emulator.campaign.runs import Outcome, run_all
from emulator.campaign.spec import Measure, RunSpec, identity
from emulator.campaign.work import Numbers

__all__ = ["Measure", "Numbers", "Outcome", "RunSpec", "identity", "run_all"]
