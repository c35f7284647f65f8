"""The loop of stock plugins as plain Python, beside the compiled one where there is one."""

from __future__ import annotations

import importlib.util
from functools import cache
from types import ModuleType

from emulator.engine import stock_loop
from slurm_sim_plugins.kernels import ROOT, why_plain


@cache
def loops() -> tuple[ModuleType, ...]:
    """The module from its source; and as it is imported, if that is compiled."""
    spec = importlib.util.spec_from_file_location("plain_stock_loop", ROOT / "emulator" / "engine" / "stock_loop.py")
    assert spec is not None and spec.loader is not None
    plain = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(plain)
    return (plain,) if why_plain() else (plain, stock_loop)
