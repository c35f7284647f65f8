"""No preemption: Slurm's preempt/none."""

from __future__ import annotations

from typing import ClassVar


class NoPreemption:
    """The default. It implements no hook: whoever asks for room is refused."""

    name: ClassVar[str] = "preempt/none"
