"""Jobs that share nothing: each runs at full speed on processors of its own."""

from __future__ import annotations

from typing import ClassVar


class Plain:
    """No tiers, and every run progresses at rate 1: the default, for which no hook is called."""

    name: ClassVar[str] = "execution/plain"
