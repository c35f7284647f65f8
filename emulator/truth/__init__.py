"""Truth: a recorded run of a real Slurm beside the emulator's run of the same submissions.

:mod:`inputs` takes from a scenario what was done, :mod:`emulated` runs it, :mod:`recorded`
takes what came of it, :mod:`compare` lists how the two differ. ``docs/truth.md`` says what
is compared and how.
"""

from emulator.truth.known import Known, read_known
from emulator.truth.verdict import Verdict, judge

__all__ = ["Known", "Verdict", "judge", "read_known"]
