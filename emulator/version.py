"""The version of the installed distribution."""

from __future__ import annotations

import importlib.metadata
from functools import cache


@cache
def version() -> str:
    """Such as ``0.1.0``."""
    return importlib.metadata.version("slurm-sim-plugins")
