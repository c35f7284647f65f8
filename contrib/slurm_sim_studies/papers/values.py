"""What papers print, in a TOML file for each."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any


@cache
def values_of(paper: str) -> dict[str, Any]:
    """The values of a paper, such as ``pv_easy``."""
    return tomllib.loads(Path(__file__).with_name(f"{paper}_values.toml").read_text(encoding="utf-8"))
