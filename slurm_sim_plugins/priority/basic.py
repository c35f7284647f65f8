"""First come, first served: Slurm's priority/basic."""

from __future__ import annotations

from typing import ClassVar


class Basic:
    """First come, first served: the default, for which no hook is called.

    A job's number is 4294901759 less one for each earlier job and less its nice value, and stays
    what it is when the job is requeued. Past usage neither is tracked nor decays.

    Source: recorded from Slurm 22.05 (observation Q8).
    """

    name: ClassVar[str] = "priority/basic"
    tracks_usage: ClassVar[bool] = False
