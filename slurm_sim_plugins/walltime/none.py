"""Plan with the requested time limit."""

from __future__ import annotations

from typing import ClassVar


class NoAdjustment:
    """The default. It implements no hook: schedulers plan with the limit."""

    name: ClassVar[str] = "walltime/none"
