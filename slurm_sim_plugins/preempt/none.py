"""No preemption: Slurm's preempt/none."""

from __future__ import annotations

from typing import ClassVar


class NoPreemption:
    """No job is preempted: the default, for which no hook is called."""

    name: ClassVar[str] = "preempt/none"
    by_order: ClassVar[bool] = True
