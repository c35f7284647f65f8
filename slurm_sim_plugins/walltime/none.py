"""Plan with the requested time limit."""

from __future__ import annotations

from typing import ClassVar


class NoAdjustment:
    """Plan with the requested limit: the default, for which no hook is called."""

    name: ClassVar[str] = "walltime/none"
