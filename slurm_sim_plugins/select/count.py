"""The machine is a number of processors, of which any are as good as any others."""

from __future__ import annotations

from typing import ClassVar


class Count:
    """Processors are counted: a job fits when so many are free, wherever they are."""

    name: ClassVar[str] = "select/count"
    machines: ClassVar[tuple[str, ...]] = ("processors",)
